"""Neighbouring files on the command line: `understudy fit` on a file with and without an odd row encodes all other rows
alike, and says the same.

The command runs as it is, from its words to the encoded table, and is stopped there, before anything is asked. The pairs are
the 200 and 200 of `tests/fit/test_neighbours.py`; all of them are read row by row, every tenth by unit, too. The quick tests have
50 lines of CSV (the old reader fails on every second one) and two rows for each layout of Parquet; the others are read there
without the command, and here by `make test-slow`.
"""

import json

import numpy as np
import pytest

from understudy.cli import main
from understudy.private import Curator
from understudy.private import table as private_table

from ..fit.test_neighbours import CSV, ODD, PARQUET, compare, generators, schema_of, write_csv, write_odd, write_parquet
from ..schema.old_reader import OldTable

BY_UNIT = 10  # one odd row of so many is read by unit, too


class EnoughSeen(BaseException):
    """Stops the command when its rows are encoded."""


@pytest.fixture
def fitted(tmp_path, monkeypatch, capfd):
    """`understudy fit FILE` by row or by unit: the encoded rows, and what was printed."""
    seen = []

    def adopt(curator, codec):
        seen.append(curator._table._blocks(codec).gathered())
        raise EnoughSeen

    monkeypatch.setattr(Curator, "adopt", adopt)

    def run(path, columns, unit):
        schema = tmp_path / f"{path.suffix[1:]}-{unit}.json"
        if not schema.exists():
            schema.write_text(json.dumps(schema_of(columns, unit).to_dict()))
        with pytest.raises(EnoughSeen):
            main(["fit", str(path), "--schema", str(schema), "--method", "mst", "--epsilon", "1",
                  "--out", str(tmp_path / "model")])  # fmt: skip
        block, (out, err) = seen.pop(), capfd.readouterr()
        keys = [row.tobytes() + bytes(label) for row, label in zip(block.rows, block.classes, strict=True)]
        if not unit:
            return keys, out + err
        units: dict[int, list[bytes]] = {}
        for key, number in zip(keys, block.units, strict=True):
            units.setdefault(int(number), []).append(key)
        return sorted(sorted(rows) for rows in units.values()), out + err

    def read(path, columns, number=0):
        rows, said = run(path, columns, unit=False)
        if number % BY_UNIT:
            return (rows, None), (said, None)
        units, said_too = run(path, columns, unit=True)
        return (rows, units), (said, said_too)

    return read


def same_but_one(without, found, place):
    """Encodings and words of a pair of files: all alike but for the odd row, where both were read."""
    (rows, units), words = without
    (rows_too, units_too), words_too = found
    compare((rows, units if units_too is not None else []), (rows_too, units_too or []), place)
    assert words_too[0] == words[0]
    assert words_too[1] in (None, words[1])


@pytest.mark.parametrize("numbers", [range(50), pytest.param(range(50, ODD), marks=pytest.mark.slow)], ids=str)
def test_an_odd_line_of_csv_changes_no_other_row_and_no_word(numbers, tmp_path, fitted):
    path = tmp_path / "table.csv"
    write_csv(path, None, 0)
    without = fitted(path, CSV)
    assert all(without[1])
    for number in numbers:
        place = write_odd(path, number)
        same_but_one(without, fitted(path, CSV, number), place)


@pytest.mark.parametrize("rows", [range(2), pytest.param(range(2, 10), marks=pytest.mark.slow)], ids=str)
def test_an_odd_row_of_parquet_changes_no_other_row_and_no_word(rows, tmp_path, fitted):
    path = tmp_path / "table.parquet"
    for number, rng in enumerate(map(np.random.default_rng, generators())):
        layout, place = number // 10, 5
        if number % 10 not in rows:
            continue
        if number % 10 == rows[0]:
            write_parquet(path, np.random.default_rng(layout), None, place)
            without = fitted(path, PARQUET)
        write_parquet(path, np.random.default_rng(layout), rng, place)
        same_but_one(without, fitted(path, PARQUET, number), place)


def test_the_old_reader_is_caught_on_the_command_line(tmp_path, fitted, monkeypatch):
    monkeypatch.setattr(private_table, "open_table", OldTable)
    path, caught = tmp_path / "table.csv", 0
    write_csv(path, None, 0)
    without = fitted(path, CSV)
    for number in range(10):
        place = write_odd(path, number)
        try:
            same_but_one(without, fitted(path, CSV), place)
        except BaseException:  # another row changed, or a message about somebody's cell instead of a table
            caught += 1
    assert caught >= 5
