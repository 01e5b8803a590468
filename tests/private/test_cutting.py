"""Cutting a column by its edges, quick and slow, is the same for every value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.private import cutting
from understudy.private.cutting import BUCKETS, FEW, by_value, guide, how_many_below

ODD = [np.nan, np.inf, -np.inf, 3.0e38, -3.0e38, 1e-45, -0.0, 0.0, 1.0]
VALUES = hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(-1, 2, width=32) | st.sampled_from(ODD))
NEAR = (
    st.floats(-1, 2)
    | st.integers(0, BUCKETS).map(lambda k: k / BUCKETS)
    | st.sampled_from([0.0, 1.0, 1e30, 1e60, -1e60])
)


def by_definition(values, edges):
    return [0 if np.isnan(value) else int((edges <= float(value)).sum()) for value in values]


@settings(max_examples=60, deadline=None)
@given(VALUES, hnp.arrays(np.float64, st.integers(0, 80), elements=NEAR))
def test_every_way_of_cutting_is_counting_the_edges_below(values, edges):
    edges = np.sort(edges)
    at_edges = np.concatenate([values, cutting.narrowed(edges), -cutting.narrowed(-edges)])
    for column in (at_edges, at_edges.astype(np.float64)):
        expected = by_definition(column, edges)
        assert how_many_below(column, edges, guide(edges)).tolist() == expected
        assert how_many_below(column, edges).tolist() == expected


def test_a_value_has_the_same_cell_alone_as_in_a_column():
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.random(1000), ODD]).astype(np.float32)
    edges = np.sort(rng.random(100))
    whole = how_many_below(values, edges, guide(edges))
    assert [
        int(how_many_below(values[i : i + 1], edges, guide(edges))[0]) for i in range(len(values))
    ] == whole.tolist()


@pytest.mark.parametrize("shared", [cutting.MOST_SHARED, cutting.MOST_SHARED + 1])
def test_edges_that_share_a_bucket_are_told_apart(shared):
    """By comparison where they are few, by searching where they are many: also for what is no number, in the first bucket."""
    close = np.linspace(0.0, 0.9 / BUCKETS, shared)
    edges = np.sort(np.concatenate([0.5 + close, np.linspace(0.0, 0.4, FEW)]))
    assert (guide(edges).crowded is not None) == (shared > cutting.MOST_SHARED)
    values = np.concatenate([np.nextafter((0.5 + close).astype(np.float32), np.float32(2)), ODD]).astype(np.float32)
    assert how_many_below(values, edges, guide(edges)).tolist() == by_definition(values, edges)
    at_zero = np.sort(np.concatenate([np.geomspace(1e-42, 1e-39, shared), np.linspace(0.2, 0.4, FEW)]))
    assert how_many_below(values, at_zero, guide(at_zero)).tolist() == by_definition(values, at_zero)


def test_few_edges_need_no_guide():
    assert guide(np.linspace(0, 1, FEW)) is None


def test_a_guide_without_the_bucket_itself_is_caught():
    """Were the edges of a value's own bucket forgotten, or a bucket no rising function, the first test would see it."""
    edges, values = np.linspace(0, 1, 60), np.linspace(0, 1, 997).astype(np.float32)
    found = guide(edges)
    assert how_many_below(values, edges, found._replace(own=found.own[:0])).tolist() != by_definition(values, edges)
    wrong = found._replace(bucket=lambda values: (by_value(values) * 7) % BUCKETS)
    assert how_many_below(values, edges, wrong).tolist() != by_definition(values, edges)


def test_crowded_edges_near_zero_are_told_apart_by_their_bits():
    """As those of a skewed column between wide bounds are; signed zeros and what is no number included."""
    edges = np.geomspace(1e-6, 1.0, 200)
    assert guide(edges).bucket is cutting.by_bits
    values = np.concatenate([np.geomspace(1e-7, 1.1, 999), edges, ODD]).astype(np.float32)
    assert how_many_below(values, edges, guide(edges)).tolist() == by_definition(values, edges)


@pytest.mark.parametrize("edges", [np.zeros(0), np.full(30, 0.5)])
def test_edges_that_coincide_or_do_not_exist(edges):
    values = np.asarray([0.4, 0.5, 0.6, np.nan], np.float32)
    assert how_many_below(values, edges, guide(edges)).tolist() == by_definition(values, edges)
