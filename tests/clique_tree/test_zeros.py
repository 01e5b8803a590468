"""Structural zeros: what constraints forbid has no place in the model, whatever the noise says."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.fit import fit as fit_model
from understudy.measure.cells import halfway, make_nodes, with_edges
from understudy.methods.clique_tree.descent import Measured, descend
from understudy.methods.clique_tree.redraw import Redrawn
from understudy.methods.clique_tree.tree import JunctionTree
from understudy.methods.clique_tree.zeros import Side, Zeros
from understudy.private import SeededNoise
from understudy.schema import Schema, codec_of
from understudy.schema.constraints import any_broken, numbers_in

SCHEMA = """
understudy: schema
label: {column: ill, positive: "yes"}
columns:
  ill: {kind: categorical, categories: ["no", "yes"]}
  role: {kind: categorical, categories: [husband, wife, child, none]}
  sex: {kind: categorical, categories: [f, m]}
  age: {kind: integer, lower: 0, upper: 90}
  started: {kind: integer, lower: 0, upper: 90, missing: true}
constraints:
  - never: role = husband and sex = f
  - if: age < 15
    then: role in {child, none}
  - only: [ill, sex]
    values: [["no", f], ["no", m], ["yes", m]]
  - order: [started, age]
"""


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("zeros") / "schema.yaml"
    path.write_text(SCHEMA, encoding="utf-8")
    return Schema.load(path)


def people(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], rows), rng.integers(0, 91, rows)
    role = np.where(age < 15, "child", np.where(sex == "f", "wife", "husband"))
    ill = np.where((sex == "m") & (rng.random(rows) < 0.4), "yes", "no")
    started = pd.array(np.floor(age * rng.random(rows)), "Int64")
    started[rng.random(rows) < 0.2] = pd.NA
    return pd.DataFrame({"ill": ill, "role": role, "sex": sex, "age": age, "started": started})


def fit(schema, seed=0):
    return fit_model(us.CliqueTree(epsilon=1.0, passes=40), people(), schema, noise=SeededNoise(seed))


def breaks(model, rows=2000):
    """Share of rows that break a constraint between categories, as the model itself draws them. (A cell of ages around a limit
    stays possible; samples are mended there.)"""
    free = replace(
        model, schema=replace(model.schema, constraints=()), resolved=replace(model.resolved, constraints=())
    )
    table = free.codec.to_arrow(free.sample(rows, seed=1))
    checks = [check for check in model.schema.checks if all(column.kind == "categorical" for column in check.columns)]
    assert len(checks) == 2
    columns = [column for check in checks for column in check.columns]
    return float(any_broken(checks, numbers_in(table, columns)).mean())


def cells_of(node, cells):
    """A column's outcomes in about so many cells of neighbours."""
    return np.minimum(np.arange(node.outcomes) * cells // node.outcomes, cells - 1)


@pytest.mark.parametrize("cells", [3, 7, 91])
def test_a_cell_is_impossible_exactly_where_all_its_values_are(schema, cells):
    """Age in cells against role, and against the start, compared with all values one by one."""
    codec = codec_of(schema, True)
    nodes = [with_edges(node, halfway(91)) if node.ordered else node for node in make_nodes(codec)]
    zeros = Zeros(codec, {number: node.interval() for number, node in enumerate(nodes, 1)})
    names = [node.column for node in nodes]
    age, role, started = (names.index(name) + 1 for name in ("age", "role", "started"))
    own = cells_of(nodes[age - 1], cells)
    found = zeros.possible([Side(age, own, cells), Side(role, np.arange(4), 4)])
    expected = np.ones((cells, 4), bool)
    for cell in range(cells):
        expected[cell, :2] = (np.flatnonzero(own == cell) >= 15).any()
    assert (found is None) == expected.all()
    assert found is None or (found.astype(bool) == expected).all()
    begun = cells_of(nodes[started - 1], cells)
    found = zeros.possible([Side(started, begun, cells), Side(age, own, cells)])
    assert found is not None
    gap = nodes[started - 1].gap
    for cell, other in np.ndindex(cells, cells):
        starts, ages = np.flatnonzero(begun == cell), np.flatnonzero(own == other)
        assert bool(found[cell, other]) == bool(starts.min() < gap or starts.min() - gap <= ages.max())


def test_the_model_draws_no_forbidden_pair_and_one_without_the_zeros_does(schema, monkeypatch):
    """Drawn without the mending of samples. Without zeros the noise alone puts half a percent or more there;
    both fits are of seeded noise, so nothing here is left to chance."""
    assert breaks(fit(schema)) == 0.0
    monkeypatch.setattr(Zeros, "links", lambda *more: [])
    monkeypatch.setattr(Zeros, "without", lambda self, item, sides: item)
    assert breaks(fit(schema)) > 0.005


def test_copies_keep_the_zeros(schema):
    model = fit(schema)
    redrawn = Redrawn(model)
    assert (redrawn.sides[0].column, redrawn.sides[0].cells) == (0, 2)
    assert breaks(next(redrawn.copies(1, np.random.default_rng(0)))) == 0.0


def test_counts_of_impossible_cells_move_nothing(schema):
    """A table of counts with a million rows in a forbidden cell is fitted as if they were not there."""
    codec = codec_of(schema, True)
    nodes = make_nodes(codec)
    zeros = Zeros(codec, {number: node.interval() for number, node in enumerate(nodes, 1)})
    names = [node.column for node in nodes]
    role, sex = names.index("role") + 1, names.index("sex") + 1
    assert (role, sex) == (1, 2)
    sides = [Side(0, np.arange(2), 2), Side(role, np.arange(4), 4), Side(sex, np.arange(2), 2)]
    counts = np.asarray([[0.0, 40.0], [30.0, 0.0], [10.0, 10.0], [5.0, 5.0]])
    found = []
    for odd in (0.0, 1e6):
        noisy = counts.copy()
        noisy[0, 0] = odd
        item = zeros.without(Measured((1, 2), noisy, 1.0), sides)
        tree = JunctionTree([2, 4, 2], [(1, 2)], zeros.links(sides, [(1, 2)], [], 10_000), 100.0)
        found.append(descend(tree, [item], 200).found[0])
    assert found[0][0, 0] == 0.0
    assert np.allclose(*found)
    assert np.allclose(found[0], counts, atol=0.5)
