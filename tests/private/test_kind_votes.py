"""Votes on kinds: brute force over odd rows finds nobody who moves them by more than is paid; charged before reading."""

import math

import dp_accounting as dpa
import numpy as np
import pytest

from understudy.account import Account
from understudy.accounting import Budget, Charge, Ledger, LedgerError, Plan, epsilon
from understudy.accounting.prior import KINDS
from understudy.errors import UsageError
from understudy.kinds import find_kinds, text_schema
from understudy.private import Curator, PrivateTable, SeededNoise
from understudy.private.answers import ANSWERS, kinds
from understudy.questions import ColumnKinds
from understudy.schema.kinds import SORTS

HEADER = b"age,bmi,town,who\n"
ROWS = [b"41,20.5,a,p1\n", b"42,21,b,p2\n", b'43,,"c, d",p2\n', b"44,NA,e,p3\n", b"45,x\n", b"46,1.5,f,\n"]
ODD = [
    b"x,y,z,p9\n", b'1,"2,3\n', b'"\n', b"\xff\xfe,\x80,3,p9\n", b"9" * 200_000 + b",1,2,p9\n", b"1,2\n", b"1,2,3,4,5,6,7\n",
    b"\x00,\x00,\x00,p9\n", b"1,2,3,\r\n", b"1\r2,3,4,p9\n", b",,,\n", b"1,2,3,p1\n", b"007,true,2020-01-01,p2\n",
]  # fmt: skip
NAMES = ("age", "bmi", "town")


class NoNoise:
    void_reason = "a test"

    def draw(self, kind, scale, shape):
        return np.zeros(shape, np.int64)

    def secret(self, size):
        return b"0" * size


def plan(question: ColumnKinds) -> Plan:
    return Plan(method=KINDS, budget=Budget(1.0, 1e-6), unit="one row", charges=(Charge(KINDS, question.event),))


def curator_of(path, question, unit=None, noise=None):
    schema = text_schema(question.columns, unit, question.rows_per_unit)
    ledger = Ledger(plan(question))
    return Curator(PrivateTable(path, schema), schema, ledger, noise or NoNoise()), ledger


def counted(path, rows, unit=None, limit=1):
    path.write_bytes(HEADER + b"".join(rows))
    return curator_of(path, ColumnKinds(NAMES, 10.0, limit), unit)[0].ask(KINDS, ColumnKinds(NAMES, 10.0, limit)).value


def test_votes_are_counts_of_cells(tmp_path):
    found = counted(tmp_path / "t.csv", ROWS)
    assert dict(zip(SORTS, found[0].tolist(), strict=True)) == {
        "empty": 1, "truth": 0, "whole": 5, "number": 0, "date": 0, "text": 0, "code": 0,
    }  # fmt: skip
    assert found[1].tolist() == [3, 0, 1, 2, 0, 0, 0]
    assert found.sum(1).tolist() == [6, 6, 6]  # a ragged line is a row of empty cells, and votes


@pytest.mark.parametrize("place", [0, 3, len(ROWS)])
@pytest.mark.parametrize("row", ODD, ids=lambda row: repr(row[:12]))
def test_one_row_moves_the_votes_by_the_root_of_the_columns_at_most(tmp_path, row, place):
    rows = [*ROWS[:place], row, *ROWS[place:]]
    moved = counted(tmp_path / "t.csv", rows) - counted(tmp_path / "t.csv", ROWS)
    assert np.linalg.norm(moved) <= math.sqrt(len(NAMES))
    assert np.abs(moved).sum(1).max() <= 1


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_one_unit_moves_the_votes_by_its_rows_at_most(tmp_path, limit):
    many = [b"7,7,7,p9\n"] * 5 + [b"x,x,x, p9 \n"] * 5
    others = (
        ROWS if limit > 1 else [*ROWS[:2], *ROWS[3:]]
    )  # whoever has more rows than the limit is drawn anew in every reading
    with_unit = counted(tmp_path / "t.csv", many[:3] + others + many[3:], "who", limit)
    without = counted(tmp_path / "t.csv", others, "who", limit)
    assert np.linalg.norm(with_unit - without) <= limit * math.sqrt(len(NAMES))
    assert without.sum(1).tolist() == [4 if limit > 1 else 3] * 3  # rows without a unit are left out
    assert counted(tmp_path / "t.csv", ROWS, "who", limit).sum(1).tolist() == without.sum(1).tolist()


def test_the_same_from_private_files(tmp_path, monkeypatch):
    """Units brought together on disk keep the text of their cells."""
    rows = [b"41,2020-01-01,007,p%d\n" % (i % 5) for i in range(10)]
    held = counted(tmp_path / "t.csv", rows, "who", 2)
    monkeypatch.setattr("understudy.private.units.IN_MEMORY", 0)
    assert counted(tmp_path / "t.csv", rows, "who", 2).tolist() == held.tolist()
    assert held.tolist() == [[0, 0, 10, 0, 0, 0, 0], [0, 0, 0, 0, 10, 0, 0], [0, 0, 0, 0, 0, 0, 10]]


def test_a_reader_that_lets_an_open_quote_run_on_is_caught(tmp_path, monkeypatch):
    """The mutant: records as the csv module sees them, across lines."""
    import csv

    import pyarrow as pa

    from understudy.schema.csv_rows import CsvTable
    from understudy.schema.reading import Rows

    def records(table, part):
        with open(table.path, encoding="utf-8", errors="replace", newline="") as file:
            found = list(csv.reader(file))[1:]
        places = {name: number for number, name in enumerate(table.names)}
        cells = lambda name: [row[places[name]] if places[name] < len(row) else None for row in found]  # noqa: E731
        yield Rows(len(found), lambda name: pa.array(cells(name), pa.large_string()), marked=True)

    monkeypatch.setattr(CsvTable, "rows", records)
    moved = counted(tmp_path / "t.csv", [b'1,"2,3\n', *ROWS]) - counted(tmp_path / "t.csv", ROWS)
    assert np.linalg.norm(moved) > math.sqrt(len(NAMES))


def test_a_row_that_votes_twice_is_caught(tmp_path, monkeypatch):
    """The mutant: an empty cell votes for what it could be, too."""

    def twice(question, total, rows, units, schema):
        kinds.add(question, total, rows, units, schema)
        total[:, SORTS.index("text")] += rows.count

    wrong = type("Wrong", (), {"RAW": True, "start": kinds.start, "add": twice, "release": kinds.release})
    monkeypatch.setitem(ANSWERS, ColumnKinds, wrong)
    moved = counted(tmp_path / "t.csv", [b",,,\n", *ROWS]) - counted(tmp_path / "t.csv", ROWS)
    assert np.linalg.norm(moved) > math.sqrt(len(NAMES))


def test_the_noise_covers_the_units_influence(tmp_path):
    drawn = []

    class Watch(NoNoise):
        def draw(self, kind, scale, shape):
            drawn.append((kind, scale, shape))
            return np.ones(shape, np.int64)

    (tmp_path / "t.csv").write_bytes(HEADER)
    question = ColumnKinds(NAMES, 10.0, 4)
    released = curator_of(tmp_path / "t.csv", question, "who", Watch())[0].ask(KINDS, question)
    assert released.event == dpa.GaussianDpEvent(10.0)
    assert released.value.tolist() == np.ones((3, 7)).tolist()
    assert drawn == [("gaussian", pytest.approx(10.0 * 4 * math.sqrt(3)), (3, 7))]


@pytest.mark.parametrize("unit", [None, "who"])
def test_nothing_is_read_that_was_not_charged(tmp_path, monkeypatch, unit):
    (tmp_path / "t.csv").write_bytes(HEADER + b"".join(ROWS))
    question = ColumnKinds(NAMES, 10.0, 1)
    curator, ledger = curator_of(tmp_path / "t.csv", question, unit)
    curator.ask(KINDS, question)
    assert ledger.spent == [Charge(KINDS, question.event)]
    monkeypatch.setattr("understudy.schema.csv_rows.CsvTable.rows", lambda *_: pytest.fail("read without a charge"))
    with pytest.raises(LedgerError):
        curator.ask(KINDS, question)
    other = ColumnKinds(NAMES, 5.0, 1)
    fresh, _ = curator_of(tmp_path / "t.csv", question, unit)
    with pytest.raises(LedgerError):
        fresh.ask(KINDS, other)


def test_find_kinds_from_a_file(tmp_path):
    lines = [b"%d,%d.5,town %d,p%d\n" % (i % 90, i % 40, i % 3, i) for i in range(20_000)]
    (tmp_path / "t.csv").write_bytes(HEADER + b"".join(lines))
    found = find_kinds(tmp_path / "t.csv", 0.5, unit="who", ledger=tmp_path / "ledger", noise=SeededNoise(0))
    assert found.kinds == {"age": "integer", "bmi": "continuous", "town": "categorical"}
    assert found.gaps == frozenset()
    assert (found.paid.columns, found.paid.unit, found.paid.epsilon, found.paid.delta) == (3, "who", 0.5, 1e-6)
    assert 0.49 < epsilon(dpa.GaussianDpEvent(found.paid.sigma), 1e-6) <= 0.5
    assert KINDS in (tmp_path / "ledger").read_text()
    with pytest.raises(LedgerError, match="exists already"):
        find_kinds(tmp_path / "t.csv", 0.5, ledger=tmp_path / "ledger")
    (tmp_path / "t.csv").write_bytes(HEADER + b"".join(lines[:300]))
    assert set(find_kinds(tmp_path / "t.csv", 0.01, noise=SeededNoise(0)).kinds.values()) == {"?"}


def test_a_ledger_that_cannot_be_written_costs_nothing_and_a_refusal_leaves_none(tmp_path):
    """As it was: the account was charged, and then the ledger could not be written."""
    (tmp_path / "t.csv").write_bytes(HEADER)
    account = Account.create(tmp_path / "a", units=["who"], epsilon=0.1, delta=1e-5)
    (tmp_path / "taken").write_text("of another run")
    for ledger in (tmp_path / "nowhere" / "ledger", tmp_path / "taken"):
        with pytest.raises(LedgerError):
            find_kinds(tmp_path / "t.csv", 0.05, unit="who", ledger=ledger, account=account)
    assert not account.refresh().book.entries
    with pytest.raises(UsageError, match="does not cover"):
        find_kinds(tmp_path / "t.csv", 0.5, unit="who", ledger=tmp_path / "ledger", account=account)
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"max_rows": 2}, "without a unit"),
        ({"max_rows": 0, "unit": "who"}, "max_rows"),
        ({"unit": "nobody"}, "'nobody'"),
        ({"names": ["agee"]}, "'agee'"),
        ({"names": ["who"], "unit": "who"}, "no column is left"),
    ],
)
def test_what_makes_no_sense_is_refused_before_it_is_paid(tmp_path, arguments, words):
    (tmp_path / "t.csv").write_bytes(HEADER + ROWS[0])
    with pytest.raises(UsageError, match=words):
        find_kinds(tmp_path / "t.csv", **{"epsilon": 0.1} | arguments, ledger=tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()
    with pytest.raises(UsageError, match="CSV files only"):
        find_kinds(tmp_path / "t.parquet", 0.1)
