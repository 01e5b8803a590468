"""Which model made a file of synthetic rows: a note beside the file, bound to both by hashes.

`understudy sample` leaves `FILE.manifest.json` beside FILE: the SHA-256 of the file, and of the model's certificate, which
in turn names the hash of every file of the model. Who has the model folder can so tell its rows from others, from altered
ones and from rows of another model; the release report is written for such rows only. A manifest is no signature: whoever
can write the file can write a manifest too (`certificate sign` is for that).
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from understudy.accounting.certificate import Certificate
from understudy.accounting.verification import verify
from understudy.errors import UsageError
from understudy.files import write_atomically

FORMAT = "understudy manifest 1"
SUFFIX = ".manifest.json"
_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What is stated about a file of synthetic rows."""

    file: str
    sha256: str
    model: str  # digest of the model that made it
    rows: int
    where: str = ""
    people: bool = False  # rows stand for people: those of a person shared a weight of 1 in every answer
    made: str = ""  # the day, UTC
    format: str = FORMAT


def path_of(file: str | Path) -> Path:
    """Where the manifest of a file stands."""
    return Path(f"{file}{SUFFIX}")


def sha256(file: str | Path) -> str:
    """Of a file of any size; of a folder of parts, over their names and hashes."""
    found = hashlib.sha256()
    if Path(file).is_dir():
        for part in sorted(Path(file).iterdir()):
            found.update(f"{part.name} {sha256(part)}\n".encode())
        return found.hexdigest()
    with open(file, "rb") as source:
        while block := source.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def model_digest(folder: str | Path) -> str:
    """One value for a whole model: the hash of its certificate, which holds the hashes of everything else."""
    try:
        return sha256(Path(folder) / "certificate.json")
    except FileNotFoundError:
        raise UsageError(
            f"{str(folder)!r} holds no certificate.json: not a model folder, or an incomplete one"
        ) from None


def write(file: str | Path, folder: str | Path, rows: int, where: str | None = None, *, people: bool = False) -> Path:
    """State that the model in `folder` made `file`."""
    stated = Manifest(
        file=Path(file).name,
        sha256=sha256(file),
        model=model_digest(folder),
        rows=rows,
        where=where or "",
        people=people,
        made=datetime.now(UTC).date().isoformat(),
    )
    return write_atomically(path_of(file), json.dumps(asdict(stated), indent=1, ensure_ascii=False) + "\n")


def read(file: str | Path) -> Manifest:
    """The manifest beside a file. UsageError if there is none, or none of ours."""
    place = path_of(file)
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        stated = Manifest(**found) if found["format"] == FORMAT else None
    except FileNotFoundError:
        raise UsageError(
            f"{str(file)!r} has no manifest ({place.name!r}), so nothing says which model made it; take the file that "
            "'understudy sample' wrote, with its manifest"
        ) from None
    except (OSError, ValueError, TypeError, KeyError):
        raise UsageError(f"{str(place)!r} is damaged; sample again") from None
    if stated is None:
        raise UsageError(f"{str(place)!r} is not a manifest of this version")
    return stated


def check(file: str | Path, folder: str | Path) -> Manifest:
    """The manifest of a file that the model in `folder` made and nobody altered. UsageError otherwise."""
    stated = read(file)
    if stated.sha256 != sha256(file):
        raise UsageError(f"{str(file)!r} was altered after it was sampled; sample again")
    if stated.model != model_digest(folder):
        raise UsageError(f"{str(file)!r} was made by another model than {str(folder)!r}")
    return stated


def verified(folder: str | Path) -> Certificate:
    """The certificate of a model folder in which every check of `certificate verify` passes. UsageError otherwise."""
    failed = [finding for finding in verify(folder) if not finding.ok]
    if failed:
        raise UsageError(
            f"the certificate of {str(folder)!r} does not hold ({failed[0].check}: {failed[0].detail}); see "
            "'understudy certificate verify'"
        )
    return Certificate.from_dict(json.loads((Path(folder) / "certificate.json").read_text(encoding="utf-8")))
