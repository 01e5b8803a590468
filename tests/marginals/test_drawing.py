"""Draws from tables: alias tables hold the probabilities that they are made from, and columns are decoded as encoded rows are."""

import numpy as np
import pytest

from tests.conformance.tables import GENERATORS, mixed_schema, mixed_table
from understudy.fit import fit
from understudy.methods.marginals.alias import Alias, alias
from understudy.methods.marginals.generator import VALUE, coordinates
from understudy.private import SeededNoise


def held(tables: Alias, rows: int) -> np.ndarray:
    """The probabilities in alias tables, added up bucket by bucket."""
    size = tables.size
    own = (tables.edge.astype(float) - np.tile(np.arange(size), rows)) / size
    found = np.zeros((rows, size))
    for which, part in enumerate((own, 1.0 / size - own)):
        np.add.at(found, (np.repeat(np.arange(rows), size), tables.outcome[which::2]), part)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 17, 200])
def test_alias_tables_hold_the_weights(size):
    random = np.random.default_rng(size)
    weights = random.random((40, size)) ** 6
    weights[random.random((40, size)) < 0.3] = 0.0
    weights[:, -1] += 1e-9
    weights[3] = 0.0  # nothing is known: even
    expected = np.where(weights.sum(axis=1, keepdims=True) > 0.0, weights, 1.0)
    expected /= expected.sum(axis=1, keepdims=True)
    found = held(alias(weights), 40)
    assert np.abs(found - expected).max() < 2.0**-22
    assert not found[expected == 0.0].any()


def test_draws_follow_the_tables_and_never_leave_them():
    """200,000 seeded draws; 6 deviations of a binomial are 0.0067."""
    weights = np.asarray([[0.5, 0.0, 0.3, 0.2], [0.0, 0.0, 1.0, 0.0]])
    row = np.repeat([0, 1], 200_000)
    drawn = alias(weights).draw(row, np.random.default_rng(0))
    counts = np.bincount(drawn[:200_000], minlength=4) / 200_000
    assert np.abs(counts - weights[0]).max() < 0.0067 and counts[1] == 0.0
    assert (drawn[200_000:] == 2).all()


def test_columns_become_the_values_that_encoded_rows_become():
    """Every kind of column, missing values and codes included, through the codec's two ways out."""
    model = fit(GENERATORS["mst"], mixed_table(400), mixed_schema(), noise=SeededNoise(3))
    codec, random = model.codec, np.random.default_rng(1)
    classes = random.integers(0, codec.class_count, 20_000).astype(np.int32)
    drawn = model.source.columns(classes, random)
    nodes, codes = coordinates(codec)
    rows = np.empty((len(classes), codec.width), np.float32)
    for place, (node, code) in enumerate(zip(nodes, codes, strict=True)):
        column = drawn[node - 1]
        rows[:, place] = column.place if code == VALUE else column.code == code
    assert codec.decode_columns(drawn, classes).equals(codec.decode_arrow(rows, classes))
