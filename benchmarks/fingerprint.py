"""A fingerprint of the code behind a method, so that results which older code made are seen and made again.

It covers the method's own folder and what every method stands on: `measure`, `questions`, `private`. Source is compared as parsed
without docstrings, so that words, comments and layout do not count. Another package's method is known by its version.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

SHARED = ("measure", "questions", "private")


@functools.cache
def fingerprint(method: str) -> str:
    """Eight letters that change with the code of a method of ours; none for other names."""
    import understudy
    from understudy.methods.registry import METHODS

    if method not in METHODS:
        return ""
    package = Path(understudy.__file__).parent
    folder = "/".join(
        METHODS[method].estimator.split(":")[0].split(".")[1:-1]
    )  # module without its package and its file
    whole = hashlib.sha256()
    for file in sorted(file for part in (folder, *SHARED) for file in (package / part).rglob("*.py")):
        whole.update(file.relative_to(package).as_posix().encode())
        whole.update(meaning_of(file).encode())
    return whole.hexdigest()[:8]


@functools.cache
def meaning_of(file: Path) -> str:
    """Parsed once for all methods that stand on it."""
    return meaning(file.read_text(encoding="utf-8"))


def meaning(source: str) -> str:
    """The program without docstrings, comments and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return ast.dump(tree)
