"""Conditions as people write them."""

import math

import numpy as np
import pytest

from understudy.errors import UsageError
from understudy.schema import Column, Schema
from understudy.schema.conditions import parse_conditions

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99, missing=True),
        Column(name="age and more", kind="integer", lower=0, upper=9),
        Column(name="pay", kind="continuous", lower=0.0, upper=10.0),
        Column(name="cost", kind="continuous", lower=0.0, upper=10.0, decimals=1),
        Column(name="town", kind="categorical", categories=("Ulm", "Rock and Roll", ">50K"), missing=True),
        Column(name="code", kind="categorical", categories=(1, 2, 30)),
        Column(name="grade", kind="ordinal", categories=("low", "mid", "high")),
        Column(name="since", kind="datetime", lower="2000-01-01", upper="2020-12-31", dtype="date32"),
        Column(name="id", kind="identifier"),
    )
)
DAY = 86400.0


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("age >= 65", ((65, 99),)),
        ("age>64.5 and age < 70", ((65, 69),)),
        ("age == 5", ((5, 5),)),
        ("age != 5", ((0, 4), (6, 99))),
        ("age in {3, 1,3}", ((1, 1), (3, 3))),
        ("age and more = 3", ((3, 3),)),
        ("pay > 3", ((math.nextafter(3, 9), 10),)),
        ("cost > 3.05 and cost < 3.3", ((3.1, 3.2),)),
        ("grade < high", ((0, 1),)),
        ("since <= 2000-01-02", ((946684800, 946684800 + DAY),)),
        ("'age' = 5", ((5, 5),)),
        ("age is not missing", ((0, 99),)),
    ],
)
def test_ranges(text, ranges):
    (found,) = parse_conditions(text, SCHEMA)
    assert np.allclose(found.ranges, ranges, rtol=0, atol=1e-9) and not found.missing


@pytest.mark.parametrize(
    ("where", "outcomes"),
    [
        ("town=>50K", {">50K"}),
        ("town = Rock and Roll", {"Rock and Roll"}),
        ("town in {Ulm, 'Rock and Roll'} and age > 3", {"Ulm", "Rock and Roll"}),
        ("town != Ulm", {"Rock and Roll", ">50K"}),
        ("town is missing", {None}),
        ({"town": None}, {None}),
        ({"town": ["Ulm", None]}, {"Ulm", None}),
        ({"code": 30}, {30}),
        (["code in [1,2]", "code != 2"], {1}),
    ],
)
def test_outcomes(where, outcomes):
    found = parse_conditions(where, SCHEMA)[0]
    assert found.outcomes == outcomes
    places = np.arange(float(len(found.column.outcomes)))
    assert found.holds(places, places < 0).tolist() == [value in outcomes for value in found.column.outcomes]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("aeg > 3", "did you mean 'age'"),
        ("age", "after column 'age' stands ''; write a comparison"),
        ("age ~ 3", "after column 'age' stands '~ 3'"),
        ("age in 30..35", "stands 'in 30..35'; write a comparison, a range as two of them"),
        ("age_group > 3", "begins with no column"),
        ("age > old", "'old' is not a number"),
        ("since > 3", "is not a date"),
        ("town > Ulm", "have no order"),
        ("town = Bonn", "has no value 'Bonn'; it has Ulm"),
        ("town in {Ulm", "does not end"),
        ("pay is missing", "is never missing"),
        ("age < 3 and age > 5", "no value of column 'age' fulfils"),
        ("id = 7", "of kind identifier"),
        ({"age": []}, "is empty"),
    ],
)
def test_what_is_not_understood_is_said(where, words):
    with pytest.raises(UsageError, match=words):
        parse_conditions(where, SCHEMA)


@pytest.mark.parametrize("where", ["pay = 3,5", "pay > 3,5", {"pay": "3,5"}])
def test_a_decimal_comma_is_told_the_point(where):
    with pytest.raises(UsageError, match=r"'3,5' is not a number; .* write 3.14 and not 3,14"):
        parse_conditions(where, SCHEMA)


def test_commas_of_lists_are_not_taken_for_decimal_ones_or_the_other_way_round():
    with pytest.raises(UsageError, match="names a number beyond its bounds; a comma stands between numbers"):
        parse_conditions("pay in {3,50}", SCHEMA)
    assert parse_conditions("pay in {3,5}", SCHEMA)[0].ranges == ((3, 3), (5, 5))
    comma = Schema(columns=(Column(name="pay", kind="continuous", lower=0.0, upper=10.0, decimal=","),))
    with pytest.raises(UsageError, match="it is not clear which commas are decimal; put numbers in quotes"):
        parse_conditions("pay in {3,5}", comma)
    assert parse_conditions('pay in {"3,5", "2"}', comma)[0].ranges == ((2, 2), (3.5, 3.5))
    assert parse_conditions("pay in {3, 2}", comma)[0].ranges == ((2, 2), (3, 3))
    with pytest.raises(UsageError, match=r"'3.5' is not a number; .* write 3,14 and not 3.14"):
        parse_conditions("pay = 3.5", comma)
