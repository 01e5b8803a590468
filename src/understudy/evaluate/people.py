"""Rows of people with several rows, against tables of a model that counts people.

Methods that count let the rows of a person share a weight of 1, so that their stand-ins describe people: 14 % are ill, and may
have 42 % of the rows, because the ill come more often. Against all rows such a table looks wrong where it is right. So
distributions (columns, the whole table, MMD, with their floors) are then compared with one row of each person, drawn at random:
each person counts once, a row in its place with probability 1 / rows of the person. Who counts people is said by the caller, or
by the manifest that `understudy sample` left beside the file; otherwise rows are compared, and a note says so where it matters.
Models that predict, and copies, have all rows.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from understudy import manifest
from understudy.errors import UsageError
from understudy.evaluate.table import Table
from understudy.schema import Schema
from understudy.schema.reading import open_table

COUNTS = ("people", "rows")
WITH = "columns, the whole table and MMD are compared with"


class Compared(NamedTuple):
    """The rows of the real tables with which distributions are compared (None: all), and what there is to say about it."""

    test: np.ndarray | None = None
    train: np.ndarray | None = None
    note: str = ""

    def of(self, held: Table, known: Table | None) -> tuple[Table, Table | None]:
        """Those rows."""
        thin = held if self.test is None else held.take(self.test)
        return thin, known if known is None or self.train is None else known.take(self.train)


class Drawn(NamedTuple):
    """One row of each unit."""

    places: np.ndarray
    rows: int  # of the table


def compared(
    synthetic: Sequence[object], test: object, train: object, schema: Schema, count: str | None, seed: int
) -> Compared:
    """What is compared: by `count` ("people", "rows"), or by the manifests of the synthetic files."""
    if count not in (None, *COUNTS):
        raise UsageError(f"count: {count!r} must be 'people' or 'rows'")
    unit = schema.unit
    if unit is None:
        if count == "people":
            raise UsageError("count: the schema names no unit, so nothing says which rows belong to one person")
        return Compared()
    stated = all(counts_people(source) for source in synthetic)
    people = count == "people" or (count is None and stated)
    found = [None if source is None else one_of_each(source, schema, seed) for source in (test, train)]
    if found[0] is None or (train is not None and found[1] is None):
        if count == "people":
            raise UsageError(f"count: the real rows have no readable column {unit!r}, which says whom they belong to")
        lacking = f"the model counts people, but the real rows have no readable column {unit!r}: {WITH} all rows"
        return Compared(note=lacking if people else "")
    drawn = [one for one in found if one is not None]
    if all(len(one.places) == one.rows for one in drawn) or count == "rows":
        return Compared()
    persons, rows = sum(len(one.places) for one in drawn), sum(one.rows for one in drawn)
    if not people:
        own = (
            f"{WITH} all {rows:,} real rows of {persons:,} people; if the model counts people (clique-tree, mst, aim, "
        )
        return Compared(note=f"{own}independent, mean-embedding), compare with people: --count people")
    by = "as asked" if count is not None else "because the model counts people"
    note = f"{WITH} one real row of each of {persons:,} people, drawn at random ({rows:,} rows in all), {by}"
    return Compared(found[0].places, None if found[1] is None else found[1].places, note)


def counts_people(source: object) -> bool:
    """Whether a file has an intact manifest of a model that counts people."""
    if not isinstance(source, str | Path) or not manifest.path_of(source).is_file():
        return False
    try:
        stated = manifest.read(source)
    except UsageError:  # of another version: nothing is known of the model
        return False
    return stated.people and stated.sha256 == manifest.sha256(source)


def one_of_each(source: object, schema: Schema, seed: int) -> Drawn | None:
    """A row of each unit, drawn at random; rows of nobody are left out, as in a fit. None without the unit's column."""
    column = schema.column(schema.unit or "")
    try:
        blocks = open_table(source, schema, columns=[column]).blocks()
        parts = [rows.identities(column).cast(pa.large_string()) for rows in blocks]
    except UsageError:
        return None
    names = pa.chunked_array(parts, pa.large_string()).combine_chunks().dictionary_encode()
    who = np.asarray(names.indices.fill_null(-1)).astype(np.int64)
    order = np.random.default_rng([seed, 3]).permutation(len(who))
    units, first = np.unique(who[order], return_index=True)
    return Drawn(np.sort(order[first[units >= 0]]), len(who))
