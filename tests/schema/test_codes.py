"""Codes beside numbers: read cell by cell, encoded as outcomes of their own, and written as they were."""

import io
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from understudy.errors import UsageError
from understudy.evaluate.features import fit as fit_features
from understudy.evaluate.metrics import violations
from understudy.evaluate.table import prepare
from understudy.fit import fit
from understudy.infer.ask import answer, draw
from understudy.infer.columns import column_intervals, numbers_alone
from understudy.measure.cells import make_nodes
from understudy.private import units
from understudy.private.mapping import Block, apply
from understudy.private.noise import SeededNoise
from understudy.published.measures import condition, public_cells
from understudy.published.run import carry
from understudy.sampling.constrained import Keeper
from understudy.schema import Codec, Column, Schema, check, open_table, read_table
from understudy.schema.boxes import parse_boxes
from understudy.schema.values import numbers_of

PAY = Column(name="pay", kind="integer", lower=-10, upper=5000, codes=("N", 999999), missing=True)
RATE = Column(name="rate", kind="continuous", lower=0.0, upper=1.0, codes=(-1, 9))
TOWN = Column(name="town", kind="categorical", categories=("a", "b"))
SCHEMA = Schema(columns=(PAY, RATE, TOWN))

ODD = st.one_of(
    st.sampled_from(
        ["N", "N ", "n", " 12", "12", "999999", "999999.0", "1e3", "", "x", None, math.nan, 12, 12.5, 999999, 999999.0, -1,
         9, "9", 0.5, True, pd.NA, pd.Timestamp("2020-01-01"), b"N", ("N",)]
    ),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=5),
)  # fmt: skip


def read(cells, column):
    frame = pd.DataFrame({column.name: pd.Series(cells, dtype=object)})
    (rows,) = open_table(frame, Schema(columns=(column,))).blocks()
    return rows.numbers(column), rows.specials(column)


@settings(max_examples=60, deadline=None)
@given(st.lists(ODD, min_size=1, max_size=12), st.sampled_from([PAY, RATE]))
def test_a_cell_means_the_same_in_any_company(cells, column):
    numbers, specials = read(cells, column)
    for place, cell in enumerate(cells):
        number, special = read([cell], column)
        np.testing.assert_array_equal(numbers[place], number[0])
        assert specials[place] == special[0] and (special[0] < 0 or np.isnan(number[0]))
        assert -1 <= special[0] < len(column.specials)


def test_what_cells_mean():
    numbers, specials = read(["N", 12, "12", 999999, "999999", "999999.0", None, "x", "N "], PAY)
    np.testing.assert_array_equal(numbers, [math.nan, 12, 12, *[math.nan] * 6])
    assert specials.tolist() == [1, -1, -1, 2, 2, 2, 0, 0, 0]
    numbers, specials = read([-1, 9.0, 0.5, None, "x"], RATE)
    assert specials.tolist() == [0, 1, -1, -1, -1] and numbers[2] == 0.5


def test_what_cannot_be_read_is_no_code():
    """Foreign objects share one canonical text, which must not be that of a code."""
    numbers, specials = read([b"N", ("N",), {}, "\x00unreadable", "\ud800", 10**40], PAY)
    assert specials.tolist() == [0, 0, 0, 0, 0, -1] and numbers[5] == 1e40


@pytest.mark.parametrize("in_memory", [True, False])
def test_rows_of_units_keep_their_codes(in_memory, tmp_path, monkeypatch):
    """Numbers alone would not do: a code is none, so all codes would come back as missing values."""
    monkeypatch.setattr(units, "IN_MEMORY", 10**9 if in_memory else 0)
    rows = frame().assign(who=np.arange(400).astype(str))
    schema = Schema(columns=(Column(name="who", kind="identifier", dtype="string"), *SCHEMA.columns), unit="who")
    spread = units.bring_together(open_table(rows, schema), schema, tmp_path)
    codec = Codec(schema)
    found = np.concatenate([codec.encode_rows(raw.rows).rows for part in spread.parts for raw in part()])
    wanted = codec.encode(rows).rows
    assert wanted[:, 1:4].sum(axis=0).min() > 10  # missing, N, 999999
    np.testing.assert_array_equal(found[np.lexsort(found.T)], wanted[np.lexsort(wanted.T)])


NAMED = [
    ({"if": "town = a", "then": "pay = N"}, lambda rows: (rows.town != "a") | (rows.pay == "N")),
    ({"never": "pay is missing and town = a"}, lambda rows: rows.pay.notna() | (rows.town != "a")),
    ({"if": "pay is missing", "then": "rate in {-1, 9}"}, lambda rows: rows.pay.notna() | rows.rate.isin([-1, 9])),
    (
        {"never": "pay != 999999 and town = b"},
        lambda rows: rows.pay.isna() | (rows.pay == "999999") | (rows.town != "b"),
    ),
    ({"if": "pay = N", "then": "rate = 9"}, lambda rows: (rows.pay != "N") | (rows.rate == 9)),
    ({"if": "town = b", "then": "pay is not missing"}, lambda rows: (rows.town != "b") | rows.pay.notna()),
]


@pytest.mark.parametrize(("entry", "kept"), NAMED)
@pytest.mark.parametrize("again", [True, False])
def test_constraints_may_name_codes(entry, kept, again):
    """One code is not the other, and neither is a missing value: in rows that are drawn again, and in those that are mended."""
    schema = Schema.from_dict(SCHEMA.to_dict() | {"constraints": [entry]})
    codec, keeper = Codec(schema), Keeper(schema.checks)

    def drawn(number):
        found = codec.encode(frame(400, number))
        return codec.decode_arrow(found.rows, found.classes)

    before = drawn(0)
    assert not kept(before.to_pandas()).all() and any("constraint 1" in one for one in check(before, schema))
    after = keeper.keep(before, lambda number: drawn(number + 1)) if again else keeper.mend(before, {})
    assert kept(after.to_pandas()).all() and not any("constraint" in one for one in check(after, schema))


def test_a_fit_keeps_constraints_on_codes():
    """In the model, where no cell of such rows is left, and in what it draws under conditions and beside given values."""
    document = SCHEMA.to_dict() | {"constraints": [NAMED[0][0], {"if": "town = b", "then": "pay != N"}]}
    schema, rows = Schema.from_dict(document), frame(3000)
    rows["town"] = np.where(rows.pay == "N", "a", "b")
    model = fit(us.method("clique-tree")(epsilon=5.0), rows, schema, noise=SeededNoise(0))
    found = model.sample(3000, seed=0)
    assert ((found.town == "a") == (found.pay == "N")).all() and abs((found.town == "a").mean() - 0.3) < 0.1
    assert (model.sample(50, seed=0, where="town = a").pay == "N").all()
    assert (model.complete(pd.DataFrame({"town": ["a", "b"] * 50}), seed=0).pay == "N").tolist() == [True, False] * 50


def test_conditions_may_ask_for_codes_beside_constraints():
    """Of a column that is never missing too; and rows that are mended keep their codes."""
    schema = Schema.from_dict(SCHEMA.to_dict() | {"constraints": [{"order": ["rate", "pay"]}]})
    keeper = Keeper(schema.checks, parse_boxes("rate = 9 and pay = N", schema))
    table = pa.table({"pay": ["N", "999999", None], "rate": [9.0, 9.0, 9.0], "town": ["a"] * 3})
    read = keeper.read(table)
    assert read["pay"].values.tolist() == [1.0, 2.0, 0.0] and read["rate"].values.tolist() == [1.0, 1.0, 1.0]
    assert keeper.write(table, read).equals(table)


def test_published_queries_never_span_codes_and_numbers():
    cells = public_cells(Codec(SCHEMA), np.zeros((0, 0)), carry)
    assert cells.gaps == (0, 3, 2, 0)
    for seed in range(50):
        met = condition(cells, 1, 2, np.random.default_rng(seed)).tables[0]  # around 999999
        assert np.flatnonzero(met).tolist() == [2]


def frame(rows=400, seed=0):
    random = np.random.default_rng(seed)
    pay = random.integers(-10, 5001, rows).astype(object)
    pay[random.random(rows) < 0.3] = "N"
    pay[random.random(rows) < 0.2] = 999999
    pay[random.random(rows) < 0.1] = None
    rate = np.where(random.random(rows) < 0.4, -1.0, np.where(random.random(rows) < 0.2, 9.0, random.random(rows)))
    return pd.DataFrame({"pay": pay, "rate": rate, "town": random.choice(["a", "b"], rows)})


def test_rows_come_back_as_they_were(tmp_path):
    rows, codec = frame(), Codec(SCHEMA)
    found = codec.encode(rows)
    assert [block.part for block in codec.blocks] == ["value", *["missing"] * 3, "value", *["missing"] * 2, "value"]
    back = codec.decode(found.rows, found.classes)
    text = rows.pay.map(lambda cell: None if cell is None else str(cell))
    assert back.pay.where(back.pay.notna(), None).tolist() == text.tolist()
    assert np.allclose(back.rate, rows.rate, atol=1e-6) and set(back.rate[back.rate > 1]) == {9.0}
    assert codec.arrow_schema.field("pay").type == pa.string() and codec.arrow_schema.field("rate").type == pa.float64()
    assert check(back, SCHEMA, strict=True) == [] and check(rows, SCHEMA) == []
    back.to_csv(tmp_path / "t.csv", index=False)
    back.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        again = codec.encode(tmp_path / name)
        np.testing.assert_array_equal(again.rows, codec.encode(back).rows)
    np.testing.assert_array_equal(codec.encode(read_table(tmp_path / "t.csv", SCHEMA)).rows, again.rows)
    assert Codec(Schema.from_dict(SCHEMA.to_dict())).blocks == codec.blocks


def test_decimal_commas_stand_beside_words(tmp_path):
    """A column of words and numbers is text, which is read with the schema's decimal mark: so it must be written."""
    column = Column(name="x", kind="continuous", lower=0, upper=10, codes=("N", 99.5), decimal=",", decimals=2)
    schema = Schema(columns=(column, TOWN))
    rows, codec = pd.DataFrame({"x": ["N", "3,5", "4", "7,25", "99,5"], "town": "a"}), Codec(schema)
    found = codec.encode(rows)
    back = codec.decode_arrow(*found)
    assert back["x"].to_pylist() == ["N", "3,5", "4", "7,25", "99,5"]
    np.testing.assert_array_equal(codec.encode(back).rows, found.rows)
    values, null = numbers_of(back["x"], column)
    assert values[1:4].tolist() == [3.5, 4.0, 7.25] and null.tolist() == [True, False, False, False, True]
    assert numbers_alone(back.to_pandas(), schema).x.dropna().tolist() == [3.5, 4.0, 7.25]
    rows.to_csv(tmp_path / "t.csv", index=False, sep=";")
    np.testing.assert_array_equal(codec.encode(read_table(tmp_path / "t.csv", schema)).rows, found.rows)


def test_the_wall_counts_codes_as_outcomes_of_their_own():
    rows, codec = frame(), Codec(SCHEMA)
    found = codec.encode(rows)
    block = Block(found.rows, found.classes, None)
    nodes = {node.column: node for node in make_nodes(codec)}
    outcome = apply(nodes["pay"].cell(None), block)[:, 0]
    wanted = rows.pay.map({None: 0, "N": 1, 999999: 2}.get)
    assert (outcome[wanted.notna()] == wanted[wanted.notna()]).all() and (outcome[wanted.isna()] >= 3).all()
    assert np.bincount(apply(nodes["rate"].cell(None), block)[:, 0])[:2].tolist() == [
        (rows.rate == -1).sum(),
        (rows.rate == 9).sum(),
    ]


@pytest.mark.parametrize("method", ["independent", "clique-tree", "mean-embedding"])
def test_codes_keep_their_share_and_can_be_asked_for(method):
    rows = frame(4000)
    model = fit(us.method(method)(epsilon=50.0, seed=0), rows, SCHEMA, noise=SeededNoise(0))
    drawn = model.sample(4000, seed=0)
    for code in ("N", "999999"):
        assert abs((drawn.pay == code).mean() - (rows.pay.map(str) == code).mean()) < 0.04  # five deviations
    assert abs(drawn.pay.isna().mean() - rows.pay.isna().mean()) < 0.04
    assert abs((drawn.rate == -1).mean() - (rows.rate == -1).mean()) < 0.04
    numbers = pd.to_numeric(drawn.pay.where(~drawn.pay.isin(["N", "999999"]))).dropna()
    assert numbers.between(-10, 5000).all() and abs(numbers.mean() - 2495) < 300
    if method == "clique-tree":
        assert set(model.sample(50, seed=0, where="pay = N and rate >= 0.5").pay) == {"N"}
        low = model.sample(50, seed=0, where="pay < 100").pay
        assert pd.to_numeric(low).lt(100).all()
        copies = draw(model, copies=2, rows=2000, seed=0)
        assert abs(answer(model, "mean(pay)", drawn=copies).lines[0].combined.estimate - 2495) < 300  # 999999 is no pay
        assert answer(model, "mean(rate) where pay > 100", drawn=copies).lines[0].combined.estimate > 0.3
        low, high = column_intervals(model).mean("pay")
        assert 2000 < low < high < 3000
        with pytest.raises(UsageError, match="'N' is a code of column 'pay' and has no order"):
            answer(model, "share(pay > N)", drawn=copies)
        with pytest.raises(UsageError, match="'M' is not a number of column 'pay'; its codes are N, 999999"):
            answer(model, "share(pay = M)", drawn=copies)
        given_rows = pd.DataFrame({"pay": ["N", "17", None, "999999"] * 5})
        found = model.complete(given_rows, seed=0)
        assert (found.pay[given_rows.pay.notna()] == given_rows.pay[given_rows.pay.notna()]).all()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "categorical", "categories": ["a"], "codes": ["N"]}, "stand beside numbers"),
        ({"kind": "integer", "lower": 0, "upper": 9, "codes": "N"}, "codes must be a list"),
        ({"kind": "integer", "lower": 0, "upper": 9, "codes": ["7"]}, "reads as a number"),
        ({"kind": "integer", "lower": 0, "upper": 9, "codes": ["N", "N"]}, "must not repeat"),
        ({"kind": "integer", "lower": 0, "upper": 9, "codes": [1.5]}, "does not fit"),
        ({"kind": "integer", "lower": 0, "upper": 9, "codes": ["N"], "dtype": "int64"}, "dtype int64 does not suit"),
        ({"kind": "integer", "lower": 0, "upper": 9, "codes": [True]}, "must be text or a number"),
        ({"kind": "integer", "lower": 0, "upper": 9, "codes": [math.nan]}, "does not fit"),
        ({"kind": "continuous", "lower": 0, "upper": 9, "codes": [math.inf]}, "does not fit"),
    ],
)
def test_wrong_codes_are_one_line(entry, words):
    with pytest.raises(UsageError, match=words):
        Schema.from_dict({"understudy": "schema", "columns": {"x": entry}})


def test_csv_words_for_missing_values_may_be_codes():
    schema = Schema(columns=(Column(name="x", kind="integer", lower=0, upper=9, codes=("NA",)), TOWN))
    text = pd.read_csv(io.StringIO("x,town\nNA,a\n3,b\n"), dtype=str, keep_default_na=False)
    assert Codec(schema).encode(text).rows[:, 1].tolist() == [1.0, 0.0]


def test_scores_take_codes_for_what_is_no_number():
    table = prepare(frame(), SCHEMA)
    assert violations.find([table], SCHEMA) == ()
    assert fit_features(table, SCHEMA).width == 5  # a flag beside each of the numbers
