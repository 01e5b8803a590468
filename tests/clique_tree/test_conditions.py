"""Rows under conditions have the pairs beside the tree where the condition is not rare: ordinary rows are kept."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import understudy as us
from understudy import artifact
from understudy.fit import fit
from understudy.private.noise import SeededNoise
from understudy.sampling import matching
from understudy.sampling.matching import Matching
from understudy.schema import Column, Schema
from understudy.schema.constraints import Never

VALUES, ROWS = 8, 20_000
NAMES = [str(number) for number in range(VALUES)]
RING = Schema(
    columns=(
        Column(name="id", kind="identifier"),
        *(Column(name=name, kind="categorical", categories=tuple(NAMES)) for name in "wxyz"),
        Column(name="out", kind="boolean"),
    ),
    label="out",
    constraints=(Never("w = 1 and y = 2"),),
)


def ring(rows=ROWS):
    """w - x - y - z - w: a tree without room for triples leaves one pair of the ring out."""
    rng = np.random.default_rng(0)

    def near(other):
        return np.where(rng.random(rows) < 0.6, other, rng.integers(0, VALUES, rows))

    w = rng.integers(0, VALUES, rows)
    x, z = near(w), near(w)
    y = np.where(rng.random(rows) < 0.5, near(x), near(z))
    frame = pd.DataFrame({name: np.asarray(NAMES)[own] for name, own in zip("wxyz", (w, x, y, z), strict=True)})
    return frame.assign(id=np.arange(rows), out=rng.random(rows) < 0.3)[list(RING.names)]


@pytest.fixture(scope="module")
def model():
    found = fit(us.CliqueTree(epsilon=20.0, model_cells=300), ring(), RING, noise=SeededNoise(1))
    assert found.generator.tables > 0
    return found


def apart(found, where):
    """The largest distance of a column's shares among the rows where w = 0, or another column is 0."""
    real = ring().query(f"{where} == '0'")
    return max(
        real[name].value_counts(normalize=True).sub(found[name].value_counts(normalize=True), fill_value=0.0).abs().sum() / 2.0
        for name in "wxyz"
    )  # fmt: skip


def test_rows_of_a_condition_have_the_pairs_beside_the_tree(model, monkeypatch):
    def worst():
        found = {where: model.sample(4000, seed=1, where=f"{where} = 0") for where in "wxyz"}
        for where, rows in found.items():
            assert (
                len(rows) == 4000 and (rows[where] == "0").all() and (rows.id.astype(int) == np.arange(1, 4001)).all()
            )
            assert not ((rows.w == "1") & (rows.y == "2")).any()
        return max(apart(rows, where) for where, rows in found.items())

    assert worst() < 0.04  # 2,500 real rows of a condition: 0.02 by chance
    monkeypatch.setattr(artifact, "changes_rows", lambda _: False)  # the wrong version: rows drawn in the tree
    assert worst() > 0.08


def test_a_block_is_the_same_whoever_draws_it_and_classes_are_in_their_shares(model):
    whole = list(model.sample_arrow(2500, 1000, seed=5, where="x in {0, 1}"))
    some = list(model.sample_arrow(2500, 1000, seed=5, where="x in {0, 1}", blocks=slice(1, 3)))
    assert [len(one) for one in whole] == [1000, 1000, 500]
    assert [one.equals(other) for one, other in zip(some, whole[1:], strict=True)] == [True, True]
    bodies = [one.drop_columns("id") for one in whole]
    assert not any(one.slice(0, 500).equals(other.slice(0, 500)) for one, other in pairwise(bodies))
    found = model.sample(3000, seed=2, where="out = true or z = 3")
    kept = model.sample(100_000, seed=3).query("out or z == '3'")
    assert abs(found.out.mean() - kept.out.mean()) < 0.01
    assert model.sample(0, where="x = 0").empty


# -- the rule, on rows that are known ----------------------------------------------------------------------------------
COLUMN = Column(name="n", kind="integer", lower=0, upper=999)


class _Tree:
    def batches(self, rows, batch, seed, blocks):
        for first in range(0, rows, batch)[blocks]:
            yield pa.table({"n": np.full(min(batch, rows - first), 999, np.int64)})


def rule(where, probability, seen):
    def ordinary(rows, seed):
        seen.append(rows)
        return pa.table({"n": np.random.default_rng(seed).integers(0, 900, rows)})

    from understudy.sampling.condition import parse_boxes

    schema = Schema(columns=(COLUMN,))
    return Matching(ordinary, _Tree(), probability, parse_boxes(where, schema), (COLUMN,), None)


def drawn(found, rows, batch=2000):
    return np.concatenate([table["n"].to_numpy() for table in found.batches(rows, batch, 3, slice(None))])


def test_rare_conditions_are_drawn_in_the_tree_and_others_are_kept():
    seen = []
    kept = drawn(rule("n < 90", 0.1, seen), 5000)
    assert (kept < 90).all() and len(kept) == 5000 and len(seen) >= 3 and max(seen) <= matching.PIECE
    assert abs(kept.mean() - 44.5) < 6.0 * 26.0 / np.sqrt(5000)
    seen.clear()
    assert (drawn(rule("n < 90", 0.009, seen), 5000) == 999).all() and not seen  # said by the tree
    assert (drawn(rule("n < 2", 0.1, seen), 5000) == 999).all() and len(
        seen
    ) == 3  # said by the first piece of each block
    seen.clear()
    assert (drawn(rule("n < 90", 0.1, seen), 300_000, 300_000) == 999).all() and not seen  # too many would be needed


def test_more_rows_are_drawn_where_the_tree_promised_too_many():
    seen = []
    assert (drawn(rule("n < 90", 0.9, seen), 20_000, 20_000) < 90).all() and len(seen) > 2
