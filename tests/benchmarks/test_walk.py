"""The counts behind docs/design.md, and the two that must stay 0."""

import importlib
import sys

import pytest

from benchmarks.walk import LAYERS, Walk, bare_any, code_lines, cycles, edges, imports, lines_by_folder, package_of

RING = {"u.a.x": {"u.b.y"}, "u.b.y": {"u.c.z"}, "u.c.z": {"u.a.x"}, "u.d": {"u.a.x"}, "u.e": set()}


@pytest.fixture(scope="module")
def graph():
    return imports()


def test_packages_are_folders_or_files():
    assert package_of("methods/pate_gan/method.py") == "methods" and package_of("fit.py") == "fit"


def test_a_ring_of_imports_is_found_and_nothing_else():
    assert cycles(RING) == [["u.a.x", "u.b.y", "u.c.z"]]
    assert cycles(RING | {"u.c.z": set()}) == []


def test_imports_within_a_package_are_no_edges():
    assert edges({"u.a.x": {"u.a.y", "u.b.y", "u"}, "u.a.y": {"u.b.y"}}) == {("a", "b"): 2}


CODE = '''"""A docstring
of two lines."""

import os  # counts


def f(x):
    """Another."""
    # a comment
    y = """text
    that is used"""
    return (
        x,

        y,
    )
'''


def test_lines_of_code_have_no_comments_docstrings_and_blank_lines(tmp_path):
    assert code_lines(CODE) == 8 and code_lines("") == code_lines('"""Nothing."""\n') == 0
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    for name in ("a.py", "folder/b.py", "folder/inner/c.py"):
        (tmp_path / name).write_text(CODE)
    assert lines_by_folder(tmp_path) == {"files beside the folders": 8, "folder": 16}


def test_what_is_called_counts_and_what_is_imported_does_not(tmp_path, monkeypatch):
    """A class body and a decorator run while their module is imported; `f` is called."""
    (tmp_path / "walked").mkdir()
    for name, text in {
        "__init__": "",
        "a": "from walked import b\ndef f():\n    b.g()",
        "b": "class B:\n    pass\ndef g():\n    import walked.c",
    }.items():
        (tmp_path / "walked" / f"{name}.py").write_text(text)
    (tmp_path / "walked" / "c.py").write_text("def wrap(one):\n    return one\n@wrap\nclass C:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = Walk(tmp_path / "walked")
    sys.setprofile(found.see)
    try:
        importlib.import_module("walked.a").f()
    finally:
        sys.setprofile(None)
    assert dict(found.files) == {"a.py": 1, "b.py": 1} and dict(found.moves) == {("a", "b"): 1}


def test_bare_any_is_counted_and_any_within_a_type_is_not():
    assert bare_any("def f(a: Any, *b: Any, c: int, d: list[Any]) -> Any:\n    e: Any = 1\n") == 4


def test_the_package_has_no_ring_and_the_wall_knows_no_method(graph):
    assert len(graph) > 100 and cycles(graph) == []
    between = edges(graph)
    assert between["private", "methods"] == 0 and 0 < between["methods", "private"] < 16
    assert {name for layer in LAYERS for name in layer} <= {module.split(".")[1] for module in graph if "." in module}
