"""Reports: a saved `result.json` in, self-contained HTML pages out. No table ever comes here.

    understudy.report.write("evaluation/result.json", "evaluation/")   # internal.html and release.html

- internal.html compares with real rows. Not private: it carries a red banner and must stay in the house.
- release.html shows the certificate, the schema and statistics of the synthetic table, and nothing else. It is written only for
  rows that a model with a valid certificate made (`evaluate(..., model=FOLDER)` checked the manifest), never for copies.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.report import internal, release
from understudy.report.node import Element, read
from understudy.report.page import LIMIT_BYTES

__all__ = ["FILES", "KINDS", "LIMIT_BYTES", "kind_of", "render", "write"]

KINDS: Mapping[str, Callable[[Element], str]] = {"internal": internal.render, "release": release.render}
FILES = {"internal": "internal.html", "release": "release.html"}


def render(result: str | Path, kind: str) -> str:
    """One page as text, from the path of a result file."""
    return KINDS[_known(kind)](read(result))


def write(result: str | Path, out: str | Path, kind: str = "both") -> list[Path]:
    """Draw the pages of `kind` (internal, release, both) into the folder `out`; returns their paths.

    Pages are drawn before anything is written, each whole or not at all. `both` leaves the release report out where the
    rows do not belong to a model (and takes an old one away); asked for by name it is refused, with the reason.
    """
    kinds = list(KINDS) if kind == "both" else [_known(kind)]
    root = read(result)
    why_not = release.refusal(root) if "release" in kinds else ""
    if why_not and kind == "release":
        raise UsageError(f"no release report: {why_not}")
    kinds = [one for one in kinds if one != "release" or not why_not]
    pages = {one: KINDS[one](root) for one in kinds}
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"out={str(out)!r} is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    if why_not:
        (folder / FILES["release"]).unlink(missing_ok=True)
    return [write_atomically(folder / FILES[one], text) for one, text in pages.items()]


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise UsageError(f"kind={kind!r} is not known; choose one of {', '.join(KINDS)}, both")
    return kind


def kind_of(path: Path) -> str:
    """Which kind of report a written file is."""
    return next(kind for kind, file in FILES.items() if file == path.name)
