"""Where a table lies: on this machine's disk, or at an address that PyArrow's file systems read (`s3://bucket/rows`).

| scheme | read by PyArrow's |
| --- | --- |
| `file` | local file system |
| `s3` | Amazon S3 and what speaks like it (`?endpoint_override=...&region=...`) |
| `gs`, `gcs` | Google Cloud Storage |
| `abfs`, `abfss` | Azure |
| `hdfs`, `viewfs` | Hadoop |

Credentials are taken from the environment of whoever reads (each worker its own), as these systems do by themselves. An address
that carries any is refused: addresses stand in messages, tasks and records. Messages show an address without what follows `?`.

`pathlib` makes one slash of two, so `s3:/bucket` is taken for the same.
"""

import os
import re
from typing import NamedTuple

import pyarrow as pa
from pyarrow import fs

from understudy.errors import UsageError

SCHEMES = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+(.*)", re.DOTALL)
_SECRETS = re.compile(r"secret|password|token|credential|access_key|account_key|sas", re.IGNORECASE)
FAILURES = (pa.ArrowException, OSError, ValueError)


from_uri = fs.FileSystem.from_uri


class Place(NamedTuple):
    """A file system and a path in it; no file system: a path of this machine."""

    path: str
    system: fs.FileSystem | None = None


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path names another file system."""
    return _ADDRESS.fullmatch(os.fspath(path)) is not None


def shown(path: str | os.PathLike[str]) -> str:
    """An address as messages may show it."""
    text = os.fspath(path)
    if not is_address(text):
        return text
    scheme, _, rest = text.partition(":")
    return f"{scheme}://{'/' if scheme == 'file' else ''}{rest.lstrip('/').partition('?')[0].rpartition('@')[2]}"


def place_of(path: str | os.PathLike[str]) -> Place:
    """Where to read a path; UsageError for an address that carries credentials or that nobody can read."""
    text = os.fspath(path)
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return Place(text)
    scheme, rest = found.groups()
    if carries_credentials(rest):
        raise UsageError(
            f"table {shown(text)!r}: an address must not carry credentials; set them in the environment of whoever reads"
        )
    try:
        system, inside = from_uri(f"{scheme}://{'/' if scheme == 'file' else ''}{rest}")
    except (*FAILURES, ImportError):
        raise unreachable(text) from None
    return Place(inside, system)


def carries_credentials(rest: str) -> bool:
    """Whether the part of an address behind its scheme holds a key or a password."""
    user, _, _ = rest.partition("/")[0].rpartition("@")  # Azure has a container there, and Google's may say anonymous
    return ":" in user or _SECRETS.search(rest.partition("?")[2]) is not None


def about(path: str | os.PathLike[str]) -> fs.FileInfo:
    """What the file system says about an address: a file, a folder, or nothing there."""
    place = place_of(path)
    if place.system is None:
        raise ValueError("only addresses are asked about")
    try:
        return place.system.get_file_info(place.path)
    except FAILURES:
        raise unreachable(path) from None


def names_in(path: str | os.PathLike[str]) -> list[str]:
    """Names of the files in the folder at an address."""
    place = place_of(path)
    try:
        found = place.system.get_file_info(fs.FileSelector(place.path))  # type: ignore[union-attr]
    except FAILURES:
        raise unreachable(path) from None
    return [one.base_name for one in found if one.type == fs.FileType.File]


def inside(path: str | os.PathLike[str], name: str) -> str:
    """The address of a file in the folder at an address."""
    front, mark, query = os.fspath(path).partition("?")
    return f"{front.rstrip('/')}/{name}{mark}{query}"


def opened(path: str | os.PathLike[str]) -> pa.NativeFile:
    """The bytes of a file, wherever it is."""
    place = place_of(path)
    return open(place.path, "rb") if place.system is None else place.system.open_input_stream(place.path)


def unreachable(path: str | os.PathLike[str]) -> UsageError:
    """The error for an address behind which nothing answers."""
    return UsageError(
        f"table {shown(path)!r} cannot be reached; check the address, the network, and the credentials in the environment"
    )
