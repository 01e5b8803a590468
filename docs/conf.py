"""The manual: Sphinx, MyST and furo over the Markdown of this folder, offline (`make docs`).

The pages are written to be read in the repository too, so nothing in them is special to Sphinx: the table of contents is added
here, pages of the root (SECURITY.md and others) are taken in, links between the two are turned, and the reference is
generated (`reference.py`). Warnings are errors.
"""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "src")]

import reference  # noqa: E402  (beside this file)

from understudy import __version__  # noqa: E402

project, author, copyright = "Understudy", "the Understudy project", "the Understudy project, Apache-2.0"
version = release = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["images/**"]
html_theme = "furo"
html_title = "Understudy"
html_static_path: list[str] = []
html_show_sphinx = False
html_copy_source = False
highlight_language = "none"
smartquotes = False  # `--kind` is two hyphens

CONTENTS = {
    "Tutorial": ["tutorial", "serve"],
    "How to": [
        "how-to/data-dictionary",
        "how-to/choose-epsilon",
        "how-to/person-level",
        "how-to/publish",
        "how-to/publish-quality",
        "how-to/audit-another-tool",
    ],
    "Reference": ["generated/commands", "generated/api", "cli", "schema", "certificate", "report", "project/changes"],
    "Methods": ["adviser", "clique-tree", "mean-embedding", "marginals", "pate-gan", "g-pate", "gradients", "images"],
    "Explanation": [],  # every other page
    "Project": ["project/readme", "project/security", "project/wall", "project/contributing"],
}
PROJECT = {  # pages outside this folder: where they are in the repository, and in the manual
    "README.md": "project/readme",
    "SECURITY.md": "project/security",
    "CONTRIBUTING.md": "project/contributing",
    "CHANGELOG.md": "project/changes",
    "src/understudy/private/README.md": "project/wall",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def turned(text: str, source: str, docname: str) -> str:
    """`text`, which stands at `source` in the repository, with links that hold on the page `docname`."""

    def one(found: re.Match[str]) -> str:
        picture, words, target, place = found[1], found[2], found[3], found[4] or ""
        path = os.path.normpath(os.path.join(os.path.dirname(source), target))
        page = PROJECT.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
        if page is None:
            return words  # not part of the manual
        suffix = ".md" if path in PROJECT else ""
        to = os.path.relpath(page + suffix, os.path.dirname(docname) or ".")
        return f"{picture}[{words}]({to}{place})"

    return LINK.sub(one, text)


def contents() -> str:
    """The table of contents; pages that no section names are explanations, or in `how-to/` the last ones there."""
    listed = {"index", *(page for pages in CONTENTS.values() for page in pages)}
    others = {
        title: sorted(page for file in HERE.glob(f"{place}*.md") if (page := place + file.stem) not in listed)
        for title, place in (("How to", "how-to/"), ("Explanation", ""))
    }
    parts = []
    for title, pages in CONTENTS.items():
        lines = "\n".join([*pages, *others.get(title, [])])
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n{lines}\n```\n")
    return "\n".join(parts)


def read(app: object, docname: str, source: list[str]) -> None:
    """Links of a page of this folder, and the contents at the end of the first one."""
    if docname.startswith(("project/", "generated/")):
        return
    source[0] = turned(source[0], f"docs/{docname}.md", docname)
    if docname == "index":
        source[0] += "\n" + contents()


def write(file: Path, text: str) -> None:
    """Only what is new, so that a second build is quick."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


def setup(app: object) -> None:
    for path, docname in PROJECT.items():
        write(HERE / f"{docname}.md", turned((ROOT / path).read_text("utf-8"), path, docname))
    write(HERE / "generated" / "commands.md", reference.commands())
    write(HERE / "generated" / "api.md", reference.api())
    app.connect("source-read", read)  # type: ignore[attr-defined]
