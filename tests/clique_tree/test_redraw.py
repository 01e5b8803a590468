"""Copies of a clique tree: the released counts as stated, redrawn with their noise; what is shared by all copies is said."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.infer.rules import combine
from understudy.methods.clique_tree import descent
from understudy.methods.clique_tree.descent import Measured, descend, descend_all, journey
from understudy.methods.clique_tree.redraw import Redrawn, outcome_noise
from understudy.methods.clique_tree.tree import CliqueTree
from understudy.private.noise import SeededNoise
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99),
        Column(name="town", kind="categorical", categories=tuple("abcd")),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


def table(rows=3000, seed=0):
    random = np.random.default_rng(seed)
    town = random.choice(list("abcd"), rows, p=[0.4, 0.3, 0.2, 0.1])
    sick = random.random(rows) < np.where(town == "a", 0.15, 0.45)
    age = np.clip(random.normal(40 + 20 * sick, 12, rows).round(), 0, 99).astype(int)
    return pd.DataFrame({"age": age, "town": town, "sick": np.where(sick, "yes", "no")})


def fitted(seed, rows):
    return fit(us.CliqueTree(epsilon=3.0), rows, SCHEMA, noise=SeededNoise(seed))


@pytest.fixture(scope="module")
def model():
    return fitted(0, table())


@pytest.fixture(scope="module")
def source(model):
    return Redrawn(model)


def test_kept_counts_are_the_true_ones_with_the_noise_that_is_stated(model):
    """Pairs and columns of categories: (released - true) / deviation. Seeded noise: cannot fail by chance."""
    rows, scores = table(), []
    for one in model.released:
        if "age" not in one.columns:
            values = [["no", "yes"] if name == "sick" else list("abcd") for name in one.columns]
            index = pd.MultiIndex.from_product(values) if len(values) > 1 else pd.Index(values[0])
            true = rows.groupby(list(one.columns)).size().reindex(index, fill_value=0).to_numpy()
            scores.append(((one.values.ravel() - true) / one.deviation).ravel())
    every = np.concatenate(scores)
    assert len(every) >= 14 and 0.4 < every.std() < 1.6 and abs(every.mean()) < 1.2
    assert any(set(one.columns) == {"sick", "town"} for one in model.released)


def test_copies_spread_as_the_released_noise_does_and_keep_the_constraints(source):
    random, found = np.random.default_rng(0), []
    for _ in range(16):
        found.append(descend(source.tree, source.could(random), 80).found)
    for number, item in enumerate(source.known):
        each, best = np.asarray([one[number] for one in found]), source.best[number]
        large = best > 5 * np.max(item.deviation)
        assert 0.2 < (each.std(axis=0) / item.deviation)[large].mean() < 1.2
        assert (np.abs(each.mean(axis=0) - best) / item.deviation).max() < 1.5
        assert (each >= 0.0).all() and each.sum(axis=tuple(range(1, each.ndim))) == pytest.approx(source.tree.total)


def test_the_levels_of_a_column_are_found_again_from_the_artifact(source):
    for link in source.cells.links:
        assert (link.possible.sum(axis=0) == 1.0).all(), "a fine cell lies in one coarse cell"
        assert link.possible.shape == (source.cells.sizes[link.nodes[0]], source.cells.sizes[link.nodes[1]])


def test_rows_drawn_evenly_need_their_own_rule(model, source):
    """The mutant: `combine` as for rows drawn one by one takes off sampling variance that even draws do not have."""
    drawn = [model.sample(3000, seed=seed) for seed in range(6)]
    shares = np.asarray([(rows.town == "a").mean() for rows in drawn])
    assert shares.var(ddof=1) < 0.3 * 0.24 / 3000
    random = np.random.default_rng(0)
    noisy = 0.4 + 0.012 * random.standard_normal(20)  # what noise alone does, about as much as sampling would
    right, wrong = (combine(noisy, np.full(20, 0.24 / 3000), chance=chance) for chance in (0.0, 1.0))
    assert right.variance > 1.4 * wrong.variance
    assert source.chance(3000) == 0.0
    with pytest.raises(UsageError, match="chance"):
        combine([1.0, 2.0], [1.0, 1.0], chance=-1.0)


def test_a_single_outcome_has_less_noise_than_the_cell_that_adds_several_up(source):
    item = next(one for one in source.known if len(one.nodes) == 1 and one.nodes[0])
    alone = outcome_noise(item, item.counts, [np.ones(1) for _ in item.counts])
    four = outcome_noise(
        item._replace(deviation=np.full(item.counts.shape, 8.0)), item.counts, [np.full(4, 0.25)] * len(item.counts)
    )
    assert alone == pytest.approx(float(np.min(item.deviation))) and four == pytest.approx(4.0)


def test_how_finely_a_column_is_seen(source, model):
    resolution = source.resolution
    together, alone = (resolution.within_cells(columns, "age") for columns in (("age", "sick"), ("age",)))
    assert 0.0 < alone <= together < 14.0
    assert resolution.within_cells(("town", "sick"), "town") == 0.0
    assert resolution.interval("age", 40.0) >= 1.0 and resolution.interval("nothing", 1.0) == 0.0
    assert resolution.hidden("age", 10.0) == 0.0


def test_a_rare_value_is_allowed_what_its_count_was_moved_by(source, model):
    """The released count itself, with its noise, against what is said of it; a common value stands by itself."""
    one = next(one for one in model.released if not one.fitted and one.columns == ("town",))
    assert [cell[0] for cell in one.cells[0]] == list("abcd") and (one.values > 4.0 * one.deviation).all()
    assert source.resolution.shrunk("town", "d", 0.0) == 0.0 and source.resolution.shrunk("town", "nowhere", 0.0) == 0.0
    drowned = replace(one, deviation=one.values.max() * np.ones(()))
    resolution = Redrawn(replace(model, released=tuple(drowned if t is one else t for t in model.released))).resolution
    assert resolution.shrunk("town", "d", 0.0) == pytest.approx(abs(one.values[3]))
    assert resolution.shrunk("town", "d", float(one.values[3])) == 0.0


def test_a_model_without_its_counts_says_so(model):
    with pytest.raises(UsageError, match="saved without"):
        replace(model, released=()).copies(2)


def test_where_tables_form_loops_copies_begin_near_their_end(monkeypatch):
    """Five columns that nearly agree, all pairs counted. The kept wrong version, a start with all of them, is off by half of the
    rows after as many passes."""
    random, rows = np.random.default_rng(0), 20_000
    first = random.choice(6, rows, p=[0.6, 0.3, 0.06, 0.02, 0.01, 0.01])
    codes = [first, *(np.where(random.random(rows) < 0.05, random.permutation(first), first) for _ in range(4))]
    pairs = list(itertools.combinations(range(5), 2))
    counts = [np.histogram2d(codes[a], codes[b], bins=[range(7), range(7)])[0] for a, b in pairs]
    tree = CliqueTree([6] * 5, pairs, [], float(rows))

    def drawn():
        return [
            Measured(p, c + 10.0 * random.standard_normal((6, 6)), 10.0) for p, c in zip(pairs, counts, strict=True)
        ]

    def off(ahead):
        (found,) = descend_all(tree, [drawn()], 100, ahead)
        return max(float(np.abs(one - true).max()) for one, true in zip(found.found, counts, strict=True))

    assert off(journey(tree, drawn(), 600)) < 400.0 and off(0.0) < 400.0
    monkeypatch.setattr(descent, "without_loops", lambda tables, links: [True] * len(tables))
    assert off(0.0) > 4_000.0
