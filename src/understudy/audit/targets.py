"""Which two neighbouring tables to tell apart.

A pair is D (with one more unit: the target) and D' (without it). The guarantee holds for every pair, so an auditor picks the pair
in which a unit shows most:

    worst-case    four records (0, 0, 0) against the same plus (1, 1, 1): the target lies outside of what the others span
                  (Ganev et al. 2025, Section 6.2)
    lonely        nobody against one record (1, 1, 1): every answer is about the target, so every answer moves as far as it can
    corner        nobody against one record at the upper bounds of three numeric columns: the same for methods that clip vectors
    opposite      one record at the lower bounds against the same plus one at the upper bounds, for teachers that answer with
                  vectors: the only teacher changes its mind, which moves an answer twice as far as one that appears
    rare-class    four records of class 0 against the same plus the only one of class 1, for methods that condition on the class
    numeric       worst-case with whole numbers in public bounds instead of categories, for methods that read bounds
    person        four persons with one record each against the same plus a person with many records (1, 1, 1)
    labelled-corner, labelled-person
                  the same with a class label: what methods ask about classes is asked of the target too. The person is of both
                  classes, so that sums of both move
    rare-person   four persons of class 0 at the lower bounds against the same plus one with many records at the upper bounds, the
                  only one of class 1: labelled-person without anything that shares its class
    crowd         persons enough that a method counts pairs of columns with the label, plus one with many records of a value that
                  nobody else has in any column
    alike         persons enough, and columns that show one thing, so that a method may ask for a number of every pair
                  instead of counts; plus one with many records far from the middle in all columns
    odd-cell      two CSV files, read like any file of a fit: persons with long numbers for identifiers and late dates against the
                  same plus a person none of whose cells is of the kind of its column. A reader that lets one cell decide how a
                  column is parsed changes everybody's rows here
    record        a real table with and without one of its rows: the one furthest from all others, or the one that small attacks
                  tell best (`vulnerable.py`)
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from understudy.errors import UsageError
from understudy.schema import Codec, Column, Schema

NAMES, LABEL = ("a", "b", "c"), "label"
OTHERS = 4
ROWS_OF_A_PERSON = 5
MANY_OTHERS = 40  # whose cells an odd one could change
CROWD = 300  # at epsilon 1 `clique-tree` counts pairs of two columns and a label from 130 rows on
VALUES = 8  # of a category in a crowd
ALIKE = tuple(f"q{number}" for number in range(6))
NEVER, ALWAYS, ONCE = 160, 48, 32  # persons who say 0 everywhere, 1 everywhere, 1 in one column: one in five says 1
FIRST_NUMBER = 2**53  # of a person; floating-point numbers run together from here on

Side: TypeAlias = pd.DataFrame | Path  # a table in memory, or a file that every fit reads by itself


@dataclass(frozen=True)
class Pair:
    """Neighbouring tables: `with_` has one unit more than `without`."""

    schema: Schema
    without: Side
    with_: Side
    name: str
    note: str
    sizes: Mapping[str, int] = field(
        default_factory=dict
    )  # options under which the target shows most; others may be set

    def side(self, secret: int) -> Side:
        """The table with the target for 1, without it for 0."""
        return self.with_ if secret else self.without


def zeros_and_ones(zeros: int, ones: int) -> pd.DataFrame:
    """A binary table of rows of zeros and rows of ones."""
    return pd.DataFrame({name: np.repeat(np.array([0, 1], np.int64), [zeros, ones]) for name in NAMES})


def binary_columns() -> tuple[Column, ...]:
    """Three columns of 0 and 1."""
    return tuple(Column(name=name, kind="categorical", categories=(0, 1)) for name in NAMES)


def worst_case() -> Pair:
    """A record unlike all others, which are alike."""
    note = f"{OTHERS} records (0, 0, 0) against the same plus (1, 1, 1)"
    return Pair(
        Schema(columns=binary_columns()), zeros_and_ones(OTHERS, 0), zeros_and_ones(OTHERS, 1), "worst-case", note
    )


def lonely() -> Pair:
    """The target is the whole table."""
    schema = Schema(columns=binary_columns())
    return Pair(schema, zeros_and_ones(0, 0), zeros_and_ones(0, 1), "lonely", "no record against the record (1, 1, 1)")


def corner() -> Pair:
    """The target is the whole table and lies at every upper bound: the largest it can be after clipping."""
    schema = Schema(columns=tuple(Column(name=name, kind="continuous", lower=-1.0, upper=1.0) for name in NAMES))
    with_ = pd.DataFrame({name: [1.0] for name in NAMES})
    return Pair(schema, with_[:0], with_, "corner", "no record against one at the upper bound of every column")


def labelled(pair: Pair, classes: Sequence[int]) -> Pair:
    """The same pair with a label of two classes: those of the rows that `with_` has, in their order."""
    schema = replace(
        pair.schema,
        columns=(*pair.schema.columns, Column(name=LABEL, kind="categorical", categories=(0, 1))),
        label=LABEL,
    )
    assert isinstance(pair.with_, pd.DataFrame) and isinstance(pair.without, pd.DataFrame)
    with_ = pair.with_.assign(**{LABEL: np.asarray(classes, np.int64)})
    return Pair(
        schema, with_[: len(pair.without)], with_, f"labelled-{pair.name}", f"{pair.note}; with a label of two classes"
    )


def labelled_corner() -> Pair:
    """The corner, of class 1."""
    return labelled(corner(), [1])


def labelled_person() -> Pair:
    """Persons of class 0, and the target with records of both classes in turn."""
    return labelled(person(), [*[0] * OTHERS, *(row % 2 for row in range(ROWS_OF_A_PERSON))])


def opposite() -> Pair:
    """One other record, at the far end of every column, and one teacher, who holds it with the target or without."""
    note = "one record at the lower bound of every column against the same plus one at the upper bound"
    with_ = pd.DataFrame({name: [-1.0, 1.0] for name in NAMES})
    return replace(corner(), without=with_[:1], with_=with_, name="opposite", note=note, sizes={"teachers": 1})


def rare_class() -> Pair:
    """The target is alone in its class."""
    note = f"{OTHERS} records (0, 0, 0) of class 0 against the same plus (1, 1, 1), the only one of class 1"
    schema = Schema(columns=(*binary_columns(), Column(name=LABEL, kind="categorical", categories=(0, 1))), label=LABEL)
    without, with_ = (
        frame.assign(**{LABEL: frame["a"]}) for frame in (zeros_and_ones(OTHERS, 0), zeros_and_ones(OTHERS, 1))
    )
    return Pair(schema, without, with_, "rare-class", note)


def numeric() -> Pair:
    """As worst-case, with numbers in the place of categories."""
    schema = Schema(columns=tuple(Column(name=name, kind="integer", lower=0, upper=1) for name in NAMES))
    return replace(
        worst_case(), schema=schema, name="numeric", note="worst-case, with whole numbers between public bounds 0 and 1"
    )


def person() -> Pair:
    """The target is a unit of many rows."""
    many = ROWS_OF_A_PERSON
    note = f"{OTHERS} persons with a record (0, 0, 0) each against the same plus a person with {many} records (1, 1, 1)"
    columns = (*binary_columns(), Column(name="who", kind="identifier", dtype="int64"))
    schema = Schema(columns=columns, unit="who", max_rows_per_unit=ROWS_OF_A_PERSON)
    whole = zeros_and_ones(OTHERS, ROWS_OF_A_PERSON).assign(who=[*range(OTHERS), *[OTHERS] * ROWS_OF_A_PERSON])
    return Pair(schema, whole[:OTHERS], whole, "person", note)


def with_person(others: pd.DataFrame, person: Mapping[str, object], columns: Sequence[Column], name: str) -> Pair:
    """One record for each of the others, against the same plus a person with as many alike records as are kept."""
    many, label = ROWS_OF_A_PERSON, LABEL if LABEL in others else None
    target = pd.DataFrame([person] * many).astype(others.dtypes)
    whole = pd.concat([others, target], ignore_index=True)
    whole = whole.assign(who=[*range(len(others)), *[len(others)] * many])
    schema = Schema(
        columns=(*columns, Column(name="who", kind="identifier", dtype="int64")),
        label=label,
        unit="who",
        max_rows_per_unit=many,
    )
    note = f"{len(others)} persons with a record each against the same plus a person with {many} alike records"
    return Pair(schema, whole[: len(others)], whole, name, note)


def rare_person() -> Pair:
    """The target is alone in its class and lies at every upper bound, with all records that it may have."""
    columns = labelled_corner().schema.columns
    others = pd.DataFrame({name: [-1.0] * OTHERS for name in NAMES}).assign(**{LABEL: 0})
    return with_person(others, dict.fromkeys(NAMES, 1.0) | {LABEL: 1}, columns, "rare-person")


def crowd() -> Pair:
    """So many others that pairs are counted; the target has what nobody else has, in every column."""
    columns = (
        Column(name="x", kind="continuous", lower=-1.0, upper=1.0),
        Column(name="c", kind="categorical", categories=tuple(range(VALUES))),
        Column(name=LABEL, kind="categorical", categories=(0, 1)),
    )
    number = np.arange(CROWD)
    others = pd.DataFrame({"x": np.full(CROWD, -1.0), "c": number % (VALUES - 1), LABEL: number % 2})
    return with_person(others, {"x": 1.0, "c": VALUES - 1, LABEL: 1}, columns, "crowd")


def alike() -> Pair:
    """Columns that show one thing: six of them tell of each other what one number tells, and no pair tells all of it."""
    size = len(ALIKE)
    says = [np.zeros((NEVER, size)), np.ones((ALWAYS, size)), np.repeat(np.eye(size), ONCE, axis=0)]
    others = pd.DataFrame(np.concatenate(says).astype(np.int64), columns=list(ALIKE))
    columns = [Column(name=name, kind="categorical", categories=(0, 1)) for name in ALIKE]
    return with_person(others, dict.fromkeys(ALIKE, 1), columns, "alike")


def odd_cell() -> Pair:
    """A pair of CSV files that differ in one row whose cells no parser reads as a number."""
    columns = (
        Column(name="who", kind="identifier", dtype="int64"),
        Column(name="n", kind="integer", lower=0, upper=1, missing=True),
        Column(name="day", kind="datetime", lower="2000-01-01", upper="9999-12-31", missing=True),
        Column(name="c", kind="categorical", categories=(0, 1)),
    )
    others = [f"{FIRST_NUMBER + i},0,9999-12-31,0\n" for i in range(MANY_OTHERS)]
    odd = f"{'9' * 20},1e400,2000-01-01T00:00:00.000000001,1.0\n"
    folder = Path(tempfile.mkdtemp(prefix="understudy-audit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, lines in (("without.csv", others), ("with.csv", [*others, odd])):
        (folder / name).write_text("who,n,day,c\n" + "".join(lines), encoding="utf-8")
    schema = Schema(columns=columns, unit="who", max_rows_per_unit=1)
    note = f"files of {MANY_OTHERS} persons, against the same plus a person with an odd identifier, number and date"
    return Pair(schema, folder / "without.csv", folder / "with.csv", "odd-cell", note)


TARGETS: dict[str, Callable[[], Pair]] = {
    "worst-case": worst_case,
    "lonely": lonely,
    "corner": corner,
    "opposite": opposite,
    "rare-class": rare_class,
    "numeric": numeric,
    "person": person,
    "labelled-corner": labelled_corner,
    "labelled-person": labelled_person,
    "rare-person": rare_person,
    "crowd": crowd,
    "alike": alike,
    "odd-cell": odd_cell,
}
TIGHTEST = {
    "independent": "lonely",
    "mst": "lonely",
    "aim": "lonely",
    "clique-tree": "lonely",
    "pate-gan-joint": "opposite",
}  # where a unit shows most to who sees every answer
RECORD = "record"  # a row (or person) of the user's own table


def made_up(name: str) -> Pair:
    """One of the pairs that need no table."""
    if name not in TARGETS:
        known = ", ".join([*TARGETS, RECORD])
        raise UsageError(f"target {name!r} is unknown; choose one of {known} ({RECORD} needs a table)")
    return TARGETS[name]()


def record_pair(frame: pd.DataFrame, schema: Schema, row: int) -> Pair:
    """A table with and without the unit of the row in position `row`."""
    frame = frame.reset_index(drop=True)
    if schema.unit is None:
        others, unit = frame.drop(index=row), "row"
    else:
        others, unit = frame[frame[schema.unit] != frame[schema.unit].iloc[row]], "person"
    others = others.reset_index(drop=True)
    return Pair(schema, others, frame, RECORD, f"a table of {len(frame)} rows with and without one {unit}")


def remote_rows(frame: pd.DataFrame, schema: Schema, count: int = 64) -> np.ndarray:
    """Positions of the rows that are furthest from their nearest neighbour, the furthest first.

    Distances between encoded rows, each column scaled by its spread. For auditing a table one holds; not private.
    """
    if not schema.resolved:
        raise UsageError("a target row is found by distance, which needs bounds and categories in the schema")
    rows = Codec(replace(schema, label=None, positive=None)).encode(frame).rows.astype(np.float64)
    spread = rows.std(axis=0)
    rows = rows[:, spread > 0] / spread[spread > 0]
    nearest = np.full(len(rows), np.inf)
    squares = (rows * rows).sum(axis=1)
    for number, row in enumerate(rows):
        distance = squares + squares[number] - 2.0 * rows @ row
        distance[number] = np.inf
        nearest[number] = distance.min(initial=np.inf)
    return np.argsort(-nearest, kind="stable")[:count]
