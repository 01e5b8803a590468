"""Conditions joined by `and` and `or`: what is read, and that every row that fulfils them lies in exactly one box."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.schema import Column, Schema
from understudy.schema import boxes as boxes_of
from understudy.schema.boxes import parse_boxes

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=4, missing=True),
        Column(name="pay", kind="continuous", lower=0.0, upper=3.0, codes=("N",)),
        Column(name="cost", kind="continuous", lower=0.1, upper=0.5, decimals=1),
        Column(name="town", kind="categorical", categories=("Ulm", "Bad (Urach)", "or"), missing=True),
        Column(name="grade", kind="ordinal", categories=("low", "mid", "high")),
        Column(name="or", kind="boolean"),
        Column(name="id", kind="identifier"),
    )
)
BELOW, ABOVE = math.nextafter(2.0, 0.0), math.nextafter(2.0, 3.0)
GRID = {
    "age": (None, 0, 1, 2, 3, 4),
    "pay": ("N", 0.0, BELOW, 2.0, ABOVE, 3.0),
    "cost": (0.1, 0.2, 0.3, 0.4, 0.5),
    "town": (None, "Ulm", "or"),
    "grade": (0, 1, 2),
}
ROWS = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
ATOMS = {
    "age >= 3": lambda row: row["age"] is not None and row["age"] >= 3,
    "age in {0, 3}": lambda row: row["age"] in (0, 3),
    "age is missing": lambda row: row["age"] is None,
    "age is not missing": lambda row: row["age"] is not None,
    "pay < 2": lambda row: row["pay"] != "N" and row["pay"] < 2,
    "pay = 2": lambda row: row["pay"] == 2,
    "pay != 2": lambda row: row["pay"] not in (2, "N"),
    "pay = N": lambda row: row["pay"] == "N",
    "cost > 0.2": lambda row: row["cost"] > 0.2,
    "cost != 0.3": lambda row: row["cost"] != 0.3,
    "town = or": lambda row: row["town"] == "or",
    'town != "Ulm"': lambda row: row["town"] not in ("Ulm", None),
    "grade >= mid": lambda row: row["grade"] >= 1,
}


def counts(boxes, rows):
    return [sum(inside(box, row) for box in boxes) for row in rows]


def inside(box, row):
    return all(allows(one, row[one.column.name]) for one in box)


def allows(one, value):
    if not one.numeric or value == "N":
        return value in one.outcomes
    if value is None:
        return one.missing
    slack = 1e-9 if one.column.name == "cost" else 0.0  # 0.1 + 0.2 is not 0.3
    return any(low - slack <= value <= high + slack for low, high in one.ranges)


def joined(parts):
    texts, tests = zip(*parts, strict=True)
    return st.sampled_from(
        [
            (f"({' and '.join(texts)})", lambda row: all(test(row) for test in tests)),
            (f"( {' or '.join(texts)} )", lambda row: any(test(row) for test in tests)),
        ]
    )


EXPRESSIONS = st.recursive(
    st.sampled_from(list(ATOMS.items())),
    lambda inner: st.lists(inner, min_size=2, max_size=3).flatmap(joined),
    max_leaves=7,
)


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS)
def test_a_row_lies_in_one_box_if_it_fulfils_the_conditions_and_in_none_otherwise(expression):
    text, holds = expression
    try:
        boxes = parse_boxes(text, SCHEMA)
    except UsageError as error:
        assert "no row can fulfil" in str(error) or "no value of column" in str(error)
        boxes = ()
    assert counts(boxes, ROWS) == [holds(row) for row in ROWS]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("age >= 3 and grade = low or town = Ulm", "(age >= 3 and grade = low) or (town = Ulm)"),
        ("grade = low AND (town=Ulm OR age>=3)", "((grade = low)and((town = Ulm)or(age >= 3)))"),
        ("town = Ulm or town = or", "town in {Ulm, or}"),
        ("(town = Ulm) or (town = Bad (Urach))", "town in {Ulm, Bad (Urach)}"),
        ("(town in (Ulm, or)) or or = true", '("town" in {Ulm, "or"}) or "or" = true'),
        ("(age is missing) or (age is not missing and grade = mid)", "age is missing or (grade = mid)"),
        ("age < 2 or age >= 2", "age is not missing"),
        ("grade = low or age = 9", "grade = low"),
        ("(age = 1 and grade = low) or (age = 1 and grade = mid)", "age = 1 and grade < high"),
        (["age = 1 or grade = low", "town = Ulm"], "(age = 1 or grade = low) and town = Ulm"),
        ("town = 'or' or age = 1", "town = or or age = 1"),
    ],
)
def test_expressions_that_say_the_same(text, same):
    rows = [row | {"or": row["cost"] > 0.3} for row in ROWS]
    first, second = (counts(parse_boxes(one, SCHEMA), rows) for one in (text, same))
    assert first == second and 0 < sum(first) < len(rows)


def test_quotes_hide_what_joins_and_closes():
    odd = "x) or age = 1"
    schema = Schema(columns=(SCHEMA.columns[0], Column(name="town", kind="categorical", categories=(odd, "y"))))
    ((town,),) = parse_boxes(f'(town = "{odd}" or town in {{"{odd}"}})', schema)
    assert town.outcomes == {odd}


def test_what_allows_everything_is_no_condition_and_one_column_is_one_box():
    assert parse_boxes("age < 2 or age >= 2 or age is missing", SCHEMA) == ((),)
    assert parse_boxes("pay < 2 or pay = N or pay >= 2", SCHEMA) == ((),)
    assert parse_boxes(None, SCHEMA) == parse_boxes({}, SCHEMA) == ((),)
    assert len(parse_boxes("town = Ulm or town is missing or town = or", SCHEMA)) == 1


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("age > 9 or (grade = low and grade = high)", "no row can fulfil the conditions on 'age', 'grade': each part"),
        ("age > 9 or (town = Ulm and grade = low and grade = high)", "the conditions on 'age', 'grade': each part"),
        (["age = 1 or age = 2", "age = 3"], "no row can fulfil the conditions on 'age': each part"),
        ("(age > 3 or town = Ulm", "opens a parenthesis that is not closed"),
        ("age > 3) or town = Ulm", r"'3\)' is not a number"),
        ("age is missing) or town = Ulm", "stands after 'is missing' of column 'age'"),
        ("() or age > 3", "begins with no column"),
        ("town = Ulm or Bonn", "has no value 'Ulm or Bonn'"),
        ("age > 3 or", "'3 or' is not a number"),
    ],
)
def test_what_is_not_understood_is_said(where, words):
    with pytest.raises(UsageError, match=words):
        parse_boxes(where, SCHEMA)


def test_too_many_boxes_are_refused(monkeypatch):
    """Pairs of columns of their own double the boxes; single columns add one each."""
    monkeypatch.setattr(boxes_of, "MOST", 32)
    schema = Schema(columns=tuple(Column(name=f"c{n}", kind="boolean") for n in range(20)))
    pairs = [f"c{n} = true and c{n + 1} = true" for n in range(0, 20, 2)]
    assert len(parse_boxes(" or ".join(pairs[:5]), schema)) == 31
    with pytest.raises(UsageError, match="more than 32 separate cases"):
        parse_boxes(" or ".join(pairs), schema)
    assert len(parse_boxes(" or ".join(f"c{n} = true" for n in range(20)), schema)) == 20
