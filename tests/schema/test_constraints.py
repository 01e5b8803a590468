"""Constraints: what they say, what contradicts itself, and rows that are made to keep them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy.schema.columns as columns_module
from understudy.errors import UsageError
from understudy.sampling.constrained import Keeper
from understudy.schema import Codec, Schema, check
from understudy.schema.boxes import parse_boxes
from understudy.schema.cells import key

COLUMNS = {
    "age": {"kind": "integer", "lower": 0, "upper": 99},
    "marital": {"kind": "categorical", "categories": ["single", "married", "widowed"], "missing": True},
    "role": {"kind": "categorical", "categories": ["husband", "wife", "other"]},
    "sex": {"kind": "categorical", "categories": ["f", "m"]},
    "grade": {"kind": "ordinal", "categories": ["low", "mid", "high"]},
    "level": {"kind": "integer", "lower": 0, "upper": 20},
    "start": {"kind": "datetime", "lower": "2000-01-01", "upper": "2020-12-31", "dtype": "date32"},
    "end": {"kind": "datetime", "lower": "2000-01-01", "upper": "2020-12-31", "dtype": "date32"},
    "wages": {"kind": "continuous", "lower": 0, "upper": 100, "decimals": 2},
    "rent": {"kind": "continuous", "lower": 0, "upper": 50},
    "total": {"kind": "continuous", "lower": 0, "upper": 120, "missing": True},
}
ALL = [
    {"never": "role = husband and sex = f"},
    {"never": "role = wife and sex = m"},
    {"if": "age < 15", "then": "marital = single and role = other"},
    {"only": ["grade", "level"], "values": [["low", 1], ["low", 2], ["mid", 9], ["high", 13]]},
    {"order": ["start", "end"]},
    {"sum": {"total": ["wages", "rent"]}},
]


def schema(constraints, columns=COLUMNS):
    return Schema.from_dict({"understudy": "schema", "columns": columns, "constraints": constraints})


def frame(rows, seed=0):
    """Rows that keep nothing."""
    random = np.random.default_rng(seed)
    days = np.datetime64("2000-01-01") + random.integers(0, 7600, (2, rows)).astype("timedelta64[D]")
    total = random.uniform(0, 120, rows)
    return pd.DataFrame(
        {
            "age": random.integers(0, 100, rows),
            "marital": random.choice(["single", "married", "widowed", None], rows),
            "role": random.choice(["husband", "wife", "other"], rows),
            "sex": random.choice(["f", "m"], rows),
            "grade": random.choice(["low", "mid", "high"], rows),
            "level": random.integers(0, 21, rows),
            "start": days[0],
            "end": days[1],
            "wages": random.uniform(0, 100, rows).round(2),
            "rent": random.uniform(0, 50, rows),
            "total": np.where(random.random(rows) < 0.2, np.nan, total),
        }
    )


def kept(rows):
    """Row by row, in plain Python."""
    fine = ~((rows.role == "husband") & (rows.sex == "f")) & ~((rows.role == "wife") & (rows.sex == "m"))
    fine &= (rows.age >= 15) | ((rows.marital == "single") & (rows.role == "other"))
    fine &= pd.Series(list(zip(rows.grade, rows.level, strict=True)), index=rows.index).isin(
        [("low", 1), ("low", 2), ("mid", 9), ("high", 13)]
    )
    fine &= rows.start <= rows.end
    return fine & (rows.total.isna() | ((rows.total - rows.wages - rows.rent).abs() < 1e-6))


def tables(rows, seed, own):
    codec = Codec(own)
    found = codec.encode(frame(rows, seed))
    return codec.decode_arrow(found.rows, found.classes)


def test_rows_that_keep_nothing_keep_everything_afterwards():
    own = schema(ALL)
    drawn = tables(3000, 0, own)
    assert kept(drawn.to_pandas()).mean() < 0.01
    found = Keeper(own.checks).keep(drawn, lambda number: tables(3000, number + 1, own)).to_pandas()
    assert kept(found).all() and len(found) == 3000


def test_rows_are_drawn_again_before_they_are_changed():
    """With constraints that many rows keep, the others follow the rows that keep them."""
    own = schema(ALL[:1] + ALL[4:5])
    found = Keeper(own.checks).keep(tables(4000, 0, own), lambda number: tables(4000, number + 1, own))
    found = found.to_pandas(date_as_object=False)
    whole = frame(40_000, 99)
    fine = whole[~((whole.role == "husband") & (whole.sex == "f")) & (whole.start <= whole.end)]
    for name in ("role", "sex", "grade"):
        gap = found[name].value_counts(normalize=True).sub(fine[name].value_counts(normalize=True))
        assert gap.abs().max() < 0.05  # six deviations of 4,000 rows
    assert abs((found.end - found.start).dt.days.mean() - (fine.end - fine.start).dt.days.mean()) < 200


def test_conditions_joined_by_or_are_kept_with_the_constraints():
    """Constraints that few rows keep, so that rows are mended; one box of three contradicts them."""
    own = schema(ALL)
    boxes = parse_boxes("(age < 10 and marital = married) or (sex = f and age > 50) or grade = high", own)
    keeper = Keeper(own.checks, boxes)
    found = keeper.keep(tables(500, 0, own), lambda number: tables(500, number + 1, own)).to_pandas()
    assert kept(found).all() and len(found) == 500
    assert (((found.sex == "f") & (found.age > 50)) | (found.grade == "high")).all()
    with pytest.raises(UsageError, match="fulfil the conditions and the constraints of the schema at once"):
        Keeper(own.checks, parse_boxes("(age < 10 and marital = married) or (age < 5 and role = wife)", own))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.sampled_from(ALL), min_size=1, max_size=6, unique_by=str))
def test_any_row_can_be_mended(seed, constraints):
    own = schema(constraints)
    table = tables(30, seed, own)
    mended = Keeper(own.checks).mend(table, {})
    assert not [problem for problem in check(mended.to_pandas(), own) if "constraint" in problem]


def test_given_values_stay_and_what_they_break_is_refused():
    own = schema(ALL)
    table = tables(200, 3, own)
    keep = {"sex": np.ones(200, bool), "age": np.ones(200, bool), "total": np.ones(200, bool)}
    found = Keeper(own.checks).mend(table, keep).to_pandas()
    before = table.to_pandas()
    assert kept(found).all() and (found.sex == before.sex).all() and (found.age == before.age).all()
    assert found.total.equals(before.total)
    keep |= {"role": np.ones(200, bool)}
    with pytest.raises(
        UsageError, match=r"given: \d+ rows \(.*, \.\.\.\) hold values that break the schema's constraint on '"
    ):
        Keeper(own.checks).mend(table, keep)


def test_the_schema_file_keeps_constraints(tmp_path):
    own = schema(ALL)
    own.save(tmp_path / "s.yaml")
    again = Schema.load(tmp_path / "s.yaml")
    assert again == own and again.fingerprint() == own.fingerprint() != schema(ALL[:2]).fingerprint()
    assert "constraints" not in schema([]).to_dict()


def test_check_names_constraints_and_no_values():
    own = schema(ALL)
    found = [problem for problem in check(frame(500), own) if "constraint" in problem]
    assert found == [f"constraint {n}: some rows break it; in every sample it holds" for n in range(1, 7)]


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ([{"never": "sex = f"}, {"never": "sex = m"}], "no row can keep all of them"),
        (
            [{"if": "age >= 0", "then": "grade = low"}, {"only": ["grade", "level"], "values": [["high", 13]]}],
            "no row can",
        ),
        ([{"order": ["age", "level"]}, {"if": "sex in {f, m}", "then": "age > 20"}], "no row can keep"),
        (
            [{"sum": {"total": ["wages", "rent"]}}, {"never": "total <= 120"}, {"never": "total is missing"}],
            "no row can",
        ),
        ([{"never": "sexx = f"}], "constraint 1: .*did you mean 'sex'"),
        ([{"never": "sex = f or age > 3"}], "constraint 1: conditions are joined by `and` here"),
        ([{"never": "sex = x"}], "constraint 1: column 'sex' has no value 'x'"),
        (
            [{"order": ["age", "start"]}],
            "constraint 1: order needs two or more columns, all of numbers or all of dates",
        ),
        ([{"sum": {"total": ["sex"]}}], "constraint 1: sum needs columns of kind"),
        ([{"only": ["grade", "level"], "values": [["low"]]}], "constraint 1: each line of values needs 2"),
        ([{"nver": "sex = f"}], "did you mean 'never'"),
        ([{"if": "sex = f"}], "constraint 1 must be one of"),
        ("sex", "constraints must be a list"),
    ],
)
def test_contradictions_and_mistakes_are_one_line(constraints, words):
    with pytest.raises(UsageError, match=words) as error:
        schema(constraints)
    assert "\n" not in str(error.value)


def test_parts_of_a_sum_need_not_lie_at_an_end():
    own = schema([{"sum": {"total": ["wages", "rent"]}}, {"if": "age >= 0", "then": "total = 75"}])
    assert kept_sum(Keeper(own.checks).mend(tables(50, 0, own), {}))


def kept_sum(table: pa.Table) -> bool:
    rows = table.to_pandas()
    return bool((rows.total == 75).all() and ((rows.wages + rows.rent - 75).abs() < 1e-6).all())


def test_estimated_columns_are_no_public_facts():
    columns = COLUMNS | {"sex": {"kind": "categorical", "categories": "estimate"}}
    with pytest.raises(UsageError, match="constraint 1: column 'sex' still has an estimate"):
        schema([{"never": "sex = f"}], columns)
    columns = COLUMNS | {"level": {"kind": "integer", "bounds": "estimate"}}
    with pytest.raises(UsageError, match="constraint 1: column 'level' is estimated"):
        schema([{"order": ["level", "age"]}], columns)


def test_decimals_that_no_binary_number_is_keep_their_condition():
    """3 * 0.1 is 0.30000000000000004, and a row with 0.3 has `cost = 0.3` all the same."""
    tenths = {"kind": "continuous", "lower": 0, "upper": 1, "decimals": 1}
    own = schema([{"order": ["cost", "rent"]}], {"cost": tenths, "rent": tenths})
    table = pa.table({"cost": [0.3, 0.3], "rent": [0.5, 0.1]})
    found = Keeper(own.checks, parse_boxes("cost = 0.3", own)).keep(table, lambda number: table)
    assert found["cost"].to_pylist() == [0.3, 0.3] and min(found["rent"].to_pylist()) >= 0.3


def test_long_lists_of_combinations_look_every_value_up_once(monkeypatch):
    """Keys of all declared values were made anew for every listed one: 220 seconds for 4,000 lines."""
    made = []
    monkeypatch.setattr(columns_module, "key", lambda *cell: made.append(cell) or key(*cell))
    towns, areas = [f"town {i}" for i in range(300)], [f"area {i}" for i in range(30)]
    document = {
        "understudy": "schema",
        "columns": {
            "town": {"kind": "categorical", "categories": towns},
            "area": {"kind": "categorical", "categories": areas, "missing": True},
        },
        "constraints": [{"only": ["town", "area"], "values": [[t, areas[i % 30]] for i, t in enumerate(towns)]}],
    }
    (check,) = Schema.from_dict(document).checks
    assert [list(row) for row in check.numbers[28:31]] == [[28.0, 28.0], [29.0, 29.0], [30.0, 0.0]]
    assert len(made) <= 2 * (len(towns) + len(areas))
