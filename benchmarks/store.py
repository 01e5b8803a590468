"""Results as JSON lines: one finished cell a line, only ever appended.

A run that is stopped loses the cells it was computing and nothing else; the next run reads the file and leaves out
what is done. A line cut short by a full disk or a killed process is ignored. Failed cells are kept with their error
and tried again by the next run; of several lines for one cell the last counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from understudy.errors import UsageError

Record = Mapping[str, Any]


def append(path: Path, record: Record) -> None:
    """One line in one write, so that lines of parallel processes do not mix."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def read(path: Path) -> list[dict[str, Any]]:
    """Every readable line, in order; an absent file has none."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict) and isinstance(record.get("cell"), str):
            found.append(record)
    return found


def latest(records: Iterable[Record]) -> dict[str, Record]:
    """The last record of each cell, a success before any failure."""
    best: dict[str, Record] = {}
    for record in records:
        before = best.get(record["cell"])
        if before is None or record["status"] == "ok" or before["status"] != "ok":
            best[record["cell"]] = record
    return best


def newest(records: Iterable[Record]) -> list[Record]:
    """Every finished run once, and of one computation only the seeds that its newest code made: a mean mixes no two versions."""
    last: dict[tuple[Any, ...], dict[int, Record]] = {}
    done = (record for record in latest(records).values() if record["status"] == "ok")
    for record in sorted(done, key=lambda record: str(record.get("finished", ""))):
        own = computation(record)
        kept = {
            seed: one
            for seed, one in last.get(own, {}).items()
            if (one.get("code") or "") == (record.get("code") or "")
        }
        last[own] = kept | {record["seed"]: record}
    return [record for seeds in last.values() for record in seeds.values()]


def computation(record: Record) -> tuple[Any, ...]:
    """What a run computed and how it was judged, whatever its seed and the version of its code."""
    options = tuple(sorted((name, str(value)) for name, value in record["options"].items()))
    judged = (record.get("scoring") or "utility", *(record.get("classifiers") or ()))
    fitted = ("dataset", "method", "epsilon", "delta", "split", "rows", "max_rows")
    return (*(record.get(name) for name in fitted), options, judged)


def prepare(folder: Path) -> None:
    """Make the folder for results, or say why that is not possible, before anything is computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {str(folder)!r}: {error.strerror}; choose another place") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"--out {str(folder)!r}: cannot write there; choose another place")
