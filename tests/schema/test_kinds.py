"""Which sort a cell reads as, and kinds from votes: exact ones, noisy ones, and none that stand out."""

import dp_accounting as dpa
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.schema import Column, PaidKinds, Schema, cell_kind, estimate_gaps, estimate_kinds
from understudy.schema.kinds import CODE, DATE, EMPTY, NUMBER, SORTS, TEXT, TRUTH, WHOLE, decide, threshold


@pytest.mark.parametrize(
    ("sort", "cells"),
    [
        (EMPTY, [None, "", "  ", "NA", "NaN", "#N/A", " null "]),
        (TRUTH, ["true", "False", "TRUE "]),
        (WHOLE, ["0", "-7", "+12", " 41 ", "9" * 15]),
        (NUMBER, ["0.5", "-.5", "1.", "1e5", "2.5E-3", "0e0"]),
        (DATE, ["2020-12-31", "2020-12-31T10:30:00", "2020-12-31 10:30", "2020-12-31T10:30:00.123Z"]),
        (TEXT, ["x", "1,5", "2020-13-31", "31.12.2020", "0x10", "1_0", "inf", "yes", "\x00", "\ud800", "１２"]),
        (CODE, ["007", "-01", "00", "9" * 16, "1" + "0" * 400]),
    ],
    ids=lambda value: SORTS[value] if isinstance(value, int) else "",
)
def test_a_cell_reads_as_one_sort(sort, cells):
    assert [SORTS[cell_kind(cell)] for cell in cells] == [SORTS[sort]] * len(cells)


@given(st.one_of(st.none(), st.text()))
def test_no_cell_raises(cell):
    assert 0 <= cell_kind(cell) < len(SORTS)


def votes(**counts: int) -> np.ndarray:
    return np.asarray([[counts.get(sort, 0) for sort in SORTS]], np.int64)


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        ("?", {}),
        ("?", {"empty": 5000}),
        ("boolean", {"truth": 900, "empty": 900}),
        ("integer", {"whole": 900}),
        ("continuous", {"whole": 900, "number": 900}),
        ("continuous", {"number": 900}),
        ("datetime", {"date": 900}),
        ("categorical", {"date": 900, "whole": 900}),
        ("categorical", {"truth": 900, "whole": 900}),
        ("categorical", {"text": 900}),
        ("categorical", {"code": 900, "whole": 900}),
    ],
)
def test_the_kind_is_the_narrowest_for_the_sorts_that_stand_out(kind, counts):
    assert decide(votes(**counts), 0.0) == decide(votes(**counts), 100.0) == [kind]


def test_few_odd_cells_are_overlooked_in_noisy_votes_only():
    found = votes(whole=5000, text=100)
    assert decide(found, 0.0) == ["categorical"]
    assert decide(found, 100.0) == ["integer"]


def test_noise_alone_is_seldom_taken_for_a_kind():
    rng = np.random.default_rng(0)
    alarms = sum(
        set(decide(np.rint(rng.normal(0, 50.0, (30, len(SORTS)))).astype(np.int64), 50.0)) != {"?"} for _ in range(1000)
    )
    assert alarms <= 20
    assert threshold(np.zeros((30, 7), np.int64), 0.0) == 0.0


def test_estimates_by_name():
    noisy = np.concatenate([votes(whole=9000, empty=4000), votes(text=9000), votes()])
    names = ("a", "b", "c")
    assert estimate_kinds(noisy, 78.0, names) == {"a": "integer", "b": "categorical", "c": "?"}
    assert estimate_gaps(noisy, 78.0, names) == {"a"}
    assert set(estimate_kinds(noisy, 78.0, names, max_rows=100).values()) == {"?"}


# -- the price in the schema file ----------------------------------------------------------------------------------------
PAID = PaidKinds(sigma=78.25, epsilon=0.05, delta=1e-6, columns=12)
COLUMNS = (Column(name="ill", kind="boolean"), Column(name="who", kind="identifier"))


@pytest.mark.parametrize("name", ["s.yaml", "s.json"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_the_price_survives_saving_and_counts_in_the_fingerprint(tmp_path, name, unit):
    paid = PaidKinds(sigma=78.25, epsilon=0.05, delta=1e-6, columns=12, unit=unit)
    schema = Schema(columns=COLUMNS, unit=unit, kinds=paid)
    schema.save(tmp_path / name)
    assert Schema.load(tmp_path / name) == schema
    assert Schema.load(tmp_path / name).kinds == paid
    assert schema.fingerprint() != Schema(columns=COLUMNS, unit=unit).fingerprint()


def test_a_price_for_another_unit_is_refused():
    with pytest.raises(UsageError, match=r"one row.*'who'"):
        Schema(columns=COLUMNS, unit="who", kinds=PAID)
    with pytest.raises(UsageError, match=r"'who'.*one row"):
        Schema(columns=COLUMNS, kinds=PaidKinds(sigma=1.0, epsilon=1.0, delta=1e-6, columns=1, unit="who"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sigma": 0}, "sigma"),
        ({"sigma": "none"}, "sigma"),
        ({"sigma": float("inf")}, "sigma"),
        ({"epsilon": -1}, "epsilon"),
        ({"columns": 0.5}, "columns"),
        ({"unit": 3}, "unit"),
        ({"extra": 3}, "unknown key 'extra'"),
    ],
)
def test_a_damaged_price_is_refused(change, words):
    document = Schema(columns=COLUMNS, kinds=PAID).to_dict()
    document["kinds"] |= change
    with pytest.raises(UsageError, match=f"kinds: .*{words}"):
        Schema.from_dict(document)
    del document["kinds"]["columns"]
    with pytest.raises(UsageError, match="kinds"):
        Schema.from_dict(document)


def test_the_price_is_that_of_the_noise():
    from understudy.accounting import epsilon, prior

    (charge,) = prior.charges(Schema(columns=COLUMNS, kinds=PAID).to_dict())
    assert charge.event == dpa.GaussianDpEvent(78.25)
    assert 0.03 < epsilon(charge.event, 1e-6) < 0.06
    assert prior.charges(Schema(columns=COLUMNS).to_dict()) == ()
