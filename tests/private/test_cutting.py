"""Cutting a column by its edges, quick and slow, is the same for every value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.private import cutting
from understudy.private.cutting import BUCKETS, FEW, bucket, guide, how_many_below

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


def test_edges_that_share_a_bucket_are_told_apart_and_too_many_have_no_guide():
    close = np.linspace(0.5, 0.5 + 0.9 / BUCKETS, cutting.MOST_SHARED)
    edges = np.sort(np.concatenate([close, np.linspace(0.0, 0.4, FEW)]))
    assert guide(edges) is not None
    values = np.nextafter(close.astype(np.float32), np.float32(2))
    assert how_many_below(values, edges, guide(edges)).tolist() == by_definition(values, edges)
    assert guide(np.sort(np.concatenate([close, close, edges]))) is None
    assert guide(np.linspace(0, 1, FEW)) is None


def test_a_guide_without_the_bucket_itself_is_caught(monkeypatch):
    """Were the edges of a value's own bucket forgotten, or a bucket no rising function, the first test would see it."""
    edges, values = np.linspace(0, 1, 60), np.linspace(0, 1, 997).astype(np.float32)
    found = guide(edges)
    assert how_many_below(values, edges, found._replace(own=found.own[:0])).tolist() != by_definition(values, edges)
    monkeypatch.setattr(cutting, "bucket", lambda v: (bucket(v) * 7) % BUCKETS)
    assert how_many_below(values, edges, found).tolist() != by_definition(values, edges)


@pytest.mark.parametrize("edges", [np.zeros(0), np.full(30, 0.5)])
def test_edges_that_coincide_or_do_not_exist(edges):
    values = np.asarray([0.4, 0.5, 0.6, np.nan], np.float32)
    assert how_many_below(values, edges, guide(edges)).tolist() == by_definition(values, edges)
