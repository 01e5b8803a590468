"""Neighbouring files: 200 odd rows, each put into a table, and every other row is encoded as if it were not there.

The files go the way that `understudy fit` takes them (`PrivateTable`, with and without a unit column). Odd lines of CSV hold any
bytes; odd rows of Parquet the extremes of their types, which differ from file to file. Row by row the encodings must agree before
and after the odd row; with a unit column every other unit must hold the same encoded rows. The old reader is the mutant.
"""

from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.private import PrivateTable
from understudy.private import table as private_table
from understudy.schema import Codec, Column, Schema

from ..schema.old_reader import OldTable

ROWS, ODD = 12, 200
CSV = (
    Column(name="who", kind="identifier", dtype="int64"),
    Column(name="x", kind="continuous", lower=0, upper=20, missing=True),
    Column(name="n", kind="integer", lower=0, upper=20, missing=True),
    Column(name="d", kind="datetime", lower="2000-01-01", upper="9999-12-31", missing=True),
    Column(name="c", kind="categorical", categories=("a", "1", "NA"), other=True),
    Column(name="o", kind="ordinal", categories=(1, 2, 3), missing=True),
    Column(name="b", kind="boolean", missing=True),
    Column(name="y", kind="categorical", categories=("no", "yes")),
)
PARQUET = (*CSV, Column(name="i", kind="image", height=1, width=2))

CELLS = [  # of a line of CSV: what the ten cases of the review are made of, and what else a file may hold
    b"", b"NA", b"nan", b"7", b"07", b" 7 ", b"7.0", b"0x10", b"1_0", b"1e400", b"-inf", b"9" * 19, b"9" * 20, b"9" * 400, b"A1",
    b"0.5", b"true", b"T", b"2015-06-01", b"9999-12-31", b"2015-06-01T00:00:00.123456789", b"2016-12-31T23:59:60", b"0000-01-01",
    b"10000-01-01", b"2015-06-01T10:00+02:00", b"\xff", b"\xed\xa0\x80", b"\x00", b"\xef\xbb\xbf7", b"\xc2\xa07", b"\xd9\xa3",
    b"\r", b'"', b'"a""', b'"a,b"', b"'", b"\\", b"\x1a", b"\x0b", b"x" * 5000, b"yes", b"a", b"1",
]  # fmt: skip
SPELLED = {  # what an odd cell of somebody else could change: ids past 2^53, dates past 2262, text like numbers
    "who": lambda i: 9007199254740992 + i // 2, "x": lambda i: i + 0.25, "n": lambda i: i,
    "d": lambda i: "9999-12-31" if i % 2 else f"2015-06-{i + 1:02d}", "c": lambda i: "a1"[i % 2], "o": lambda i: i % 3 + 1,
    "b": lambda i: ("true", "no")[i % 2], "y": lambda i: ("no", "yes")[i % 2],
}  # fmt: skip

TYPED = {"x": float, "b": lambda i: i % 2 == 0, "i": lambda i: [i, 2 * i]}  # in Parquet


def schema_of(columns: tuple[Column, ...], unit: bool) -> Schema:
    return Schema(columns=columns, label="y", unit="who" if unit else None, max_rows_per_unit=2 if unit else 1)


# -- files ---------------------------------------------------------------------------------------------------------------
def odd_line(rng: np.random.Generator) -> bytes:
    cells = [CELLS[i] for i in rng.integers(len(CELLS), size=len(CSV) + rng.choice([0, 0, 0, -1, 1]))]
    return b",".join(cells)


def write_csv(path, odd: bytes | None, place: int) -> None:
    lines = [",".join(str(spell(i)) for spell in SPELLED.values()).encode() for i in range(ROWS)]
    lines = lines if odd is None else [*lines[:place], odd, *lines[place:]]
    path.write_bytes(b"\n".join([",".join(SPELLED).encode(), *lines]))


LARGE = 2**50
TYPES = {  # name: (types the column may have in a file, odd cells that one of them may hold)
    "who": ((pa.string(), pa.large_string(), pa.int64(), pa.uint64(), pa.decimal128(38, 0),
             pa.dictionary(pa.int32(), pa.string())),
            ("", " ", "x" * 5000, "A1", 0, -1, 2**63 - 1, Decimal(10**37), None)),
    "x": ((pa.float64(), pa.float32(), pa.int8(), pa.decimal128(20, 3), pa.decimal256(60, 3), pa.bool_()),
          (np.nan, np.inf, -np.inf, 1e308, -0.0, 127, Decimal(10**16), True, None)),
    "n": ((pa.int64(), pa.uint8(), pa.float64(), pa.null()), (2**63 - 1, -(2**63), 255, np.nan, 1e300, None)),
    "d": ((pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", tz="Asia/Tokyo"), pa.date32(), pa.date64(), pa.string()),
          (0, -1, LARGE, -LARGE, 2**31 - 1, "9999-12-31T23:59:60", "2015-06-01T00:00:00.123456789", "", None)),
    "c": ((pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.int64(), pa.null()),
          ("", "NA", "\x00", "x" * 5000, 1, 2**62, None)),
    "o": ((pa.int8(), pa.float64(), pa.string(), pa.dictionary(pa.int32(), pa.int64())),
          (0, 3, np.nan, 1e300, "07", " 1 ", None)),
    "b": ((pa.bool_(), pa.int8(), pa.float32(), pa.string()), (True, 2, np.nan, "TRUE ", "2", None)),
    "y": ((pa.string(), pa.dictionary(pa.int32(), pa.large_string())), ("", "YES", None)),
    "i": ((pa.list_(pa.uint8()), pa.list_(pa.int64()), pa.large_list(pa.int16()), pa.list_(pa.uint8(), 2)),
          ([], [1], [1, None], [300, -5], [0, 255], None)),
}  # fmt: skip


def cells_of(values: list, kind: pa.DataType) -> pa.Array:
    """Values as a type, each by itself; null where it does not fit."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    found = [one_cell(value, plain) for value in values]
    array = pa.concat_arrays(found)
    return array.dictionary_encode().cast(kind) if plain is not kind else array


def one_cell(value, kind: pa.DataType) -> pa.Array:
    for steps in ((kind,), (pa.string(), kind), (pa.timestamp("us"), kind)):
        try:
            cell = pa.array([value])
            for step in steps:
                cell = cell.cast(step)
            return cell
        except (pa.ArrowException, ValueError, OverflowError):
            continue
    return pa.nulls(1, kind)


def write_parquet(path, layout: np.random.Generator, odd: np.random.Generator | None, place: int) -> None:
    """`layout` decides on types and row groups, which both files of a pair have in common; `odd` on the odd row."""
    columns = {}
    for name, (kinds, cells) in TYPES.items():
        values = [TYPED.get(name, SPELLED.get(name))(i) for i in range(ROWS)]
        if odd is not None:
            values.insert(place, cells[odd.integers(len(cells))])
        columns[name] = cells_of(values, kinds[layout.integers(len(kinds))])
    size, listed = int(layout.integers(3, ROWS + 2)), bool(layout.integers(2))
    pq.write_table(pa.table(columns), path, row_group_size=size, use_dictionary=listed)


# -- what is read of them ------------------------------------------------------------------------------------------------
def encoded(path, columns: tuple[Column, ...]) -> list[bytes]:
    """The rows of a file, encoded, with their class."""
    schema = schema_of(columns, unit=False)
    block = PrivateTable(path, schema)._blocks(Codec(schema)).gathered()
    return [row.tobytes() + bytes(label) for row, label in zip(block.rows, block.classes, strict=True)]


def by_unit(path, columns: tuple[Column, ...]) -> list[list[bytes]]:
    """The encoded rows of every unit; units and their rows in no order."""
    schema = schema_of(columns, unit=True)
    block = PrivateTable(path, schema)._blocks(Codec(schema)).gathered()
    units: dict[int, list[bytes]] = {}
    for row, label, unit in zip(block.rows, block.classes, block.units, strict=True):
        units.setdefault(int(unit), []).append(row.tobytes() + bytes(label))
    return sorted(sorted(rows) for rows in units.values())


def read(path, columns: tuple[Column, ...]) -> tuple[list[bytes], list[list[bytes]]]:
    return encoded(path, columns), by_unit(path, columns)


def compare(without, with_, place: int) -> None:
    """Nothing but the odd row itself differs between what was read of the two files."""
    (before, units), (after, all_units) = without, with_
    more = len(after) - len(before)
    assert more in (0, 1)  # a blank line is no row
    assert after[:place] == before[:place] and after[place + more :] == before[place:]
    others = [unit for unit in all_units if unit in units]
    assert others == units and len(all_units) - len(units) in (0, 1)


@cache
def generators() -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(13).spawn(ODD)


def write_odd(path, number: int) -> int:
    """An odd line somewhere in a file; where."""
    rng = np.random.default_rng(generators()[number])
    odd, place = odd_line(rng), int(rng.integers(ROWS + 1))
    write_csv(path, odd, place)
    return place


def test_an_odd_line_of_csv_changes_no_other_row(tmp_path, capfd):
    write_csv(tmp_path / "without.csv", None, 0)
    without = read(tmp_path / "without.csv", CSV)
    for number in range(ODD):
        place = write_odd(tmp_path / "with.csv", number)
        compare(without, read(tmp_path / "with.csv", CSV), place)
    assert capfd.readouterr() == ("", "")


def test_an_odd_row_of_parquet_changes_no_other_row(tmp_path, capfd):
    """Ten odd rows for each of twenty layouts."""
    path = tmp_path / "t.parquet"
    for number, rng in enumerate(map(np.random.default_rng, generators())):
        layout, place = number // 10, int(rng.integers(ROWS + 1))
        if number % 10 == 0:
            write_parquet(path, np.random.default_rng(layout), None, place)
            without = read(path, PARQUET)
        write_parquet(path, np.random.default_rng(layout), rng, place)
        compare(without, read(path, PARQUET), place)
    assert capfd.readouterr() == ("", "")


def test_the_old_reader_is_caught(tmp_path, monkeypatch):
    """Columns parsed as a whole: most odd lines change how others are read, or end the fit with a message."""
    monkeypatch.setattr(private_table, "open_table", OldTable)
    write_csv(tmp_path / "without.csv", None, 0)
    without, caught = read(tmp_path / "without.csv", CSV), 0
    for number in range(20):
        place = write_odd(tmp_path / "with.csv", number)
        try:
            compare(without, read(tmp_path / "with.csv", CSV), place)
        except (AssertionError, pa.ArrowException):
            caught += 1
    assert caught > 10


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_a_column_holds_ordinary_and_odd_cells(name):
    """The generator itself: no type is all null, and each odd cell fits one of the types."""
    kinds, cells = TYPES[name]
    ordinary = [TYPED.get(name, SPELLED.get(name))(i) for i in range(ROWS)]
    assert all(cells_of(ordinary, kind).null_count < ROWS for kind in kinds if not pa.types.is_null(kind))
    assert all(any(one_cell(cell, k)[0].is_valid for k in map(plain_type, kinds)) for cell in cells if cell is not None)


def plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
