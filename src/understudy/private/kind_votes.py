"""Votes of cells on the kinds of their columns, counted line by line and released with noise.

Each line of a CSV file is a row by itself: it is decoded, split and read without a look at any other (an odd byte, an
open quote or a missing field make cells of that line odd or empty, nothing else). A row gives one vote per column to
the sort of its cell (`schema.kinds.cell_kind`), so its vector of votes has L2 norm sqrt(columns); a unit of at most m
rows, norm

    m sqrt(columns)      =>   votes + discrete Gaussian of scale sigma m sqrt(columns)   is one answer, GaussianDpEvent(sigma).

With a unit column the first m rows of every unit count, and rows without a unit are left out: both are decided by the
unit's own rows. Counts are integers, and the ledger is charged before the first row is read.
"""

import csv
import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Ledger
from understudy.accounting.prior import KINDS
from understudy.errors import UsageError
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.release import Release
from understudy.schema.header import first_line, header_names, open_lines, separator
from understudy.schema.kinds import EMPTY, SORTS, cell_kind, vote_deviation

__all__ = ["KindVotes", "ask_kinds"]


@dataclass(frozen=True)
class KindVotes:
    """The public side of the question: which columns vote, who is protected, how much noise."""

    sigma: float
    names: tuple[str, ...]
    unit: str | None = None
    max_rows_per_unit: int = 1

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        return vote_deviation(self.sigma, len(self.names), self.max_rows_per_unit)


def ask_kinds(
    path: str | os.PathLike[str], question: KindVotes, ledger: Ledger, noise: NoiseSource
) -> Release[IntArray]:
    """Noisy votes [columns, sorts] of the cells of a CSV file."""
    header = header_names(path)
    ledger.charge(KINDS, question.event, token=secrets.token_hex(16))
    votes = _count(path, question, header)
    return Release(votes + noise.draw("gaussian", question.deviation, votes.shape), question.event)


def _count(path: str | os.PathLike[str], question: KindVotes, header: Sequence[str]) -> IntArray:
    places = [header.index(name) for name in question.names]
    unit = None if question.unit is None else header.index(question.unit)
    votes = [[0] * len(SORTS) for _ in places]
    seen: dict[bytes, int] = {}
    key = secrets.token_bytes(32)
    for row in _rows(path):
        if unit is not None and not _counts(row, unit, question.max_rows_per_unit, seen, key):
            continue
        for column, place in zip(votes, places, strict=True):
            column[cell_kind(row[place]) if place < len(row) else EMPTY] += 1
    return np.asarray(votes, np.int64).reshape(len(places), len(SORTS))


def _counts(row: Sequence[str], unit: int, limit: int, seen: dict[bytes, int], key: bytes) -> bool:
    """Whether this row has a unit and is among its first `limit` rows; ids are kept as keyed hashes."""
    name = row[unit].strip() if unit < len(row) else ""
    if cell_kind(name) == EMPTY:
        return False
    hashed = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()
    seen[hashed] = seen.get(hashed, 0) + 1
    return seen[hashed] <= limit


def _rows(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    mark = separator(path)
    try:
        with open_lines(path) as file:
            first_line(file)
            for line in file:
                if line.strip(b"\r\n"):
                    yield _fields(line, mark)
    except (OSError, EOFError):  # the file as a whole, such as a packed one that was cut off
        raise UsageError(f"table {str(path)!r} is not a readable CSV file; it may be truncated or damaged") from None


def _fields(line: bytes, mark: str) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8", "replace").rstrip("\r\n")], delimiter=mark), [])
    except csv.Error:  # a field beyond the reader's limit: a row of empty cells
        return []
