"""Data dictionaries: what others have written down about a table, as a draft of a schema.

Bounds and categories that a dictionary states are public and are used. What it does not state is `estimate`, or open (`?`).
No table is read. The format is recognised from the content, or named.
"""

import os
from pathlib import Path

from understudy.errors import UsageError
from understudy.schema.frictionless import from_frictionless, is_frictionless
from understudy.schema.nist import from_nist, is_nist
from understudy.schema.sdv import from_sdv, is_sdv
from understudy.schema.sketch import Entry, write
from understudy.schema.text import read_document

FORMATS = {"sdv": is_sdv, "frictionless": is_frictionless, "nist": is_nist}


def import_dictionary(path: str | os.PathLike[str], format: str | None = None, table: str | None = None) -> str:
    """The text of a schema file for the table that the dictionary at `path` describes."""
    content = read_document(path, "data dictionary")
    name = format or recognised(content)
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        said = f"unknown format {name!r}" if name else f"data dictionary {str(path)!r} is not recognised"
        raise UsageError(f"{said}; the formats are {known}")
    entries, remarks = _read(name, content, table)
    source = {"sdv": "SDV metadata", "frictionless": "a Frictionless schema", "nist": "a NIST data dictionary"}[name]
    return write(entries, what="a table", source=f"{source} ({Path(path).name!a})", remarks=remarks)


def recognised(content: object) -> str:
    """The format a parsed dictionary is in; empty when none fits."""
    return next((name for name, fits in FORMATS.items() if fits(content)), "")


def _read(name: str, content: object, table: str | None) -> tuple[list[Entry], list[str]]:
    if name == "frictionless":
        return from_frictionless(content, table)
    if name == "sdv":
        return from_sdv(content, table), []
    if table is not None:
        raise UsageError(f"a NIST dictionary describes one table, not {table!r}")
    return from_nist(content), []
