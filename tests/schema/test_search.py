"""The search for a row that keeps all constraints: quick where columns have nothing to do with each other, and never wrong."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.sampling.constrained import Keeper
from understudy.schema import Schema
from understudy.schema.boxes import parse_boxes
from understudy.schema.constraints import Numbers, any_broken
from understudy.schema.search import Contradiction, witness

SMALL = {
    "a": {"kind": "categorical", "categories": ["x", "y"], "missing": True},
    "b": {"kind": "integer", "lower": 0, "upper": 3, "missing": True},
    "c": {"kind": "integer", "lower": 1, "upper": 4},
    "d": {"kind": "integer", "lower": 0, "upper": 2},
    "g": {"kind": "ordinal", "categories": ["low", "mid", "high"]},
    "t": {"kind": "integer", "lower": 0, "upper": 6},
}
PIECES = [
    {"never": "a = x"},
    {"never": "a = y and b >= 1"},
    {"never": "a is missing"},
    {"never": "b is missing"},
    {"never": "g = mid"},
    {"never": "d = 1"},
    {"if": "b <= 2", "then": "c >= 3 and g = high"},
    {"if": "c >= 3", "then": "d = 0"},
    {"if": "g >= mid", "then": "b < 2"},
    {"never": "g = low and c <= 3"},
    {"never": "t != 5"},
    {"never": "b = 0 and d = 0"},
    {"only": ["a", "d", "g"], "values": [["x", 1, "low"], ["y", 2, "high"], ["y", 1, "mid"]]},
    {"only": ["b", "c"], "values": [[0, 1], [3, 3], [2, 4]]},
    {"order": ["b", "c", "d"]},
    {"order": ["c", "b"]},
    {"order": ["t", "b"]},
    {"sum": {"t": ["c", "d"]}},
]


def schema(constraints, columns=SMALL):
    return Schema.from_dict({"understudy": "schema", "columns": columns, "constraints": constraints})


def possible(checks, columns):
    """Which rows of all there are keep everything."""
    each = [[(float(k), k == len(c.outcomes) - 1 and c.missing) for k in range(len(c.outcomes))] if c.kind == "categorical"
            else [(float(k), False) for k in range(int(c.bounds[0]), int(c.bounds[1]) + 1)] + [(0.0, True)] * c.missing
            for c in columns]  # fmt: skip
    rows = list(itertools.product(*each))
    table = {
        column.name: Numbers(np.asarray([row[k][0] for row in rows]), np.asarray([row[k][1] for row in rows]))
        for k, column in enumerate(columns)
    }
    return not any_broken(checks, table).all()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9, unique_by=str))
def test_a_row_is_found_exactly_if_there_is_one(constraints):
    """Against all rows that there are; and what is named as contradictory has no row by itself."""
    everything = schema([])
    checks = [one for entry in constraints for one in schema_of(entry)]
    try:
        found = witness(checks)
    except Contradiction as error:
        assert not possible([checks[number - 1] for number in error.numbers], everything.columns)
    else:
        if found is None:  # no proof is known for sums beside orders; then the set is let through
            assert any("sum" in one for one in constraints) and any("order" in one for one in constraints)
            return
        assert possible(checks, everything.columns)
        table = {name: Numbers(np.asarray([value]), np.asarray([null])) for name, (value, null) in found.items()}
        assert not any_broken(checks, table)[0]


def schema_of(entry):
    return schema([entry]).checks


PAIRS = {f"c{k}": {"kind": "integer", "lower": 0, "upper": 100} for k in range(40)}
FAR = {"w": {"kind": "categorical", "categories": ["r", "s"]}, "y": {"kind": "integer", "lower": 0, "upper": 9}}
COLUMNS = {"z": {"kind": "categorical", "categories": ["p", "q"]}} | PAIRS | FAR
NOISE = [{"never": f"c{k} < 10 and c{k + 1} < 20"} for k in range(39)]
LATE = [{"never": "z = p and w = r"}, {"never": "z = p and w = s"}, {"if": "z = q", "then": "y > 3"}]


def test_columns_in_between_are_not_tried_again():
    """The first column's first value is ruled out by the last columns; a search in the order of declaration gives up."""
    started = time.perf_counter()
    assert schema([*LATE[:2], *NOISE, LATE[2]], COLUMNS).checks
    linked = [{"never": "z = p and c0 = 50"}, {"never": "c39 = 50 and w = r"}]
    own = schema([*LATE, *NOISE, *linked], COLUMNS)
    assert Keeper(own.checks, parse_boxes("y < 5 and c3 < 10", own)).witness["y"] == (4.0, False)
    assert time.perf_counter() - started < 20  # half a second; the old search took fifteen and found nothing


def test_a_contradiction_names_the_constraints_that_make_it():
    with pytest.raises(
        UsageError, match=r"constraints 1, 2, 41 and 42 \(on 'z', 'w', 'y'\): no row can keep all of them"
    ):
        schema([*LATE[:2], *NOISE[:38], LATE[2], {"never": "y >= 2"}], COLUMNS)
    with pytest.raises(UsageError, match=r"constraint 2 \(on 'w'\): no row can keep it; it contradicts the bounds"):
        schema([NOISE[0], {"never": "w in {r, s}"}], COLUMNS)
    own = schema([*NOISE, *LATE], COLUMNS)
    with pytest.raises(UsageError, match=r"at once; against the conditions stands constraint 42$"):
        Keeper(own.checks, parse_boxes("(z = q and y = 2) or (z = q and y = 1)", own))


def test_too_few_tries_are_no_contradiction():
    own = schema([*NOISE, *LATE], COLUMNS)
    assert witness(own.checks, tries=3) is None
