"""Decimals of columns whose schema does not say: what is counted, what follows from it, and what rows look like."""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.measure import decimals as subject
from understudy.measure import one_way
from understudy.measure.cells import make_nodes, with_edges
from understudy.measure.decimals import decimals_of, grids, on_grid
from understudy.measure.spikes import Look, Spikes, on_numbers
from understudy.schema import Codec, Column, Schema

ROWS = 6_000


def column(lower, upper, **more):
    return Column(name="x", kind="continuous", lower=lower, upper=upper, **more)


def asked_of(own):
    """The column's grids, and the codec of a table that has nothing else."""
    codec = Codec(Schema(columns=(own,)))
    return grids(make_nodes(codec)[0], own), codec


def counted(own, values):
    """Exact counts of the outcomes, row by row through the map that crosses the wall."""
    asked, codec = asked_of(own)
    encoded = codec.encode(pd.DataFrame({"x": values})).rows
    edges, gap = asked.node.edges, asked.node.gap
    piece = np.searchsorted(edges[1:-1], encoded[:, asked.node.start].astype(float), side="right")
    missing = encoded[:, asked.node.missing] > 0 if gap else np.zeros(len(encoded), bool)
    return np.bincount(asked.outcome.cell[np.where(missing, 0, gap + piece)], minlength=asked.outcome.cells)


def off(values, d):
    """How far numbers are from the nearest with d decimals."""
    return np.abs(values - np.round(values, d))


def fewest(value, most):
    """Written from the definition."""
    return next((d for d in range(most + 1) if off(value, d) < 1e-6), most + 1)


@pytest.mark.parametrize(
    ("lower", "upper", "most"), [(0.0, 20.0, 3), (-3.0, 7.0, 3), (100.0, 2100.0, 1), (6.6, 10.9, 3)]
)
def test_every_number_is_counted_with_the_decimals_it_needs(lower, upper, most):
    """Against the definition. Bounds of one decimal are on no grid of whole numbers."""
    rng = np.random.default_rng(3)
    own = column(lower, upper)
    asked, _ = asked_of(own)
    assert asked.decimals[-1] == most and asked.decimals[0] == (0 if float(lower).is_integer() else 1)
    inner = np.concatenate([np.round(rng.uniform(lower + 0.2, upper - 0.2, 500), d) for d in range(6)])
    inner = inner[(inner > lower) & (inner < upper) & (inner != 0.0)]
    near = 2 * subject.ON_GRID * (upper - lower)  # what 32-bit numbers cannot tell is not asked here
    inner = inner[[all(off(v, d) < 1e-9 or off(v, d) > near for d in range(most + 1)) for v in inner]]
    assert len(inner) > 1_000
    counts = counted(own, inner)
    wanted = np.bincount(
        [max(fewest(v, most), asked.decimals[0]) - asked.decimals[0] for v in inner], minlength=len(asked.decimals) + 2
    )
    np.testing.assert_array_equal(counts, wanted)


def test_bounds_and_zero_say_nothing_about_a_grid():
    """They lie on every one: nine of ten people without income are no reason to round the incomes of the others."""
    own = column(-5.0, 10.0)
    counts = counted(
        own, np.r_[np.zeros(900), np.full(50, -5.0), np.full(50, 99.0), np.random.default_rng(0).uniform(1, 9, 100)]
    )
    assert counts[-1] == 1_000 and counts[-2] >= 90
    assert decimals_of(asked_of(own)[0], counts.astype(float), noise=200.0) is None


def test_missing_numbers_and_codes_are_apart():
    own = column(0.0, 10.0, missing=True)
    counts = counted(own, [1.5, None, 2.0, np.nan, 3.25])
    assert counts.tolist() == [1, 1, 1, 0, 0, 2]


@pytest.mark.parametrize(
    ("own", "values", "noise", "wanted"),
    [
        (column(0, 10), np.arange(1, 10), 10.0, 0),
        (column(0, 10), np.arange(1, 10, 0.1).round(1), 10.0, 1),
        (column(0, 10), np.arange(1, 10, 0.25), 10.0, 2),
        (column(0, 10), np.random.default_rng(0).uniform(0, 10, 997), 10.0, None),
        (column(0, 10), np.r_[np.full(700, 4.0), np.random.default_rng(0).uniform(0, 10, 297)], 10.0, None),  # a spike
        (column(0, 10), np.arange(1, 10), 400.0, None),  # whatever is on the grid could be noise
    ],
    ids=["whole", "tenths", "quarters", "smooth", "spike", "hidden"],
)
def test_the_fewest_decimals_that_nearly_all_numbers_have(own, values, noise, wanted):
    counts = counted(own, np.resize(values, 1_000)).astype(float)
    assert decimals_of(asked_of(own)[0], counts, noise) == wanted


def test_noise_alone_is_no_grid():
    """A smooth column: found in none of 2,000 draws of noise. What is on a grid would have to be ten deviations above nothing:
    false failure below 1e-20."""
    own, rng = column(0, 10), np.random.default_rng(1)
    asked, _ = asked_of(own)
    exact = counted(own, rng.uniform(0, 10, 3_000)).astype(float)
    found = [decimals_of(asked, exact + rng.normal(0, 150, len(exact)), 150.0) for _ in range(2_000)]
    assert set(found) == {None}


def test_nothing_is_asked_where_the_schema_says_so_or_no_grid_can_be_seen():
    assert asked_of(column(0, 10, decimals=2))[0] is None
    assert asked_of(column(0.123, 10))[0].decimals == (3,)
    assert asked_of(column(0.1234, 10))[0] is None  # bounds between two numbers of three decimals
    assert asked_of(column(0, 1e6))[0] is None
    assert asked_of(column(0, 20_000))[0].decimals == (0,)
    codec = Codec(Schema(columns=(Column(name="n", kind="integer", lower=0, upper=100),)))
    assert grids(make_nodes(codec)[0], codec.schema.columns[0]) is None


def test_many_columns_together_have_coarser_grids():
    """Every worker holds the edges of all of them: of 600 columns with 30,001 points each they would take a gigabyte."""
    own = column(0, 30)
    node = make_nodes(Codec(Schema(columns=(own,))))[0]
    assert grids(node, own).decimals == (0, 1, 2, 3) and grids(node, own, 600).decimals == (0, 1)
    assert 600 * grids(node, own, 600).node.size <= 2 * subject.ALL_POINTS


def test_a_column_on_a_grid_is_cut_between_its_values():
    own = column(0, 5)
    _, codec = asked_of(own)
    node = on_grid(make_nodes(codec)[0], own, 1)
    assert node.decimals == 1 and node.step == pytest.approx(0.02)
    inner = node.edges[1:-1] / node.step
    np.testing.assert_allclose(inner - np.floor(inner), 0.5, atol=1e-9)


def table(rng):
    tenths = np.round(rng.normal(5.0, 1.0, ROWS).clip(0, 10), 1)
    cents = np.round(rng.gamma(2.0, 10.0, ROWS).clip(0, 200), 2)
    smooth = rng.uniform(0, 10, ROWS)
    count = rng.poisson(3, ROWS).astype(float)
    count[rng.random(ROWS) < 0.1] = np.nan  # a file then holds floating-point numbers
    return pd.DataFrame({"tenths": tenths, "cents": cents, "smooth": smooth, "count": count})


SCHEMA = Schema(
    columns=(
        Column(name="tenths", kind="continuous", lower=0, upper=10),
        Column(name="cents", kind="continuous", lower=0, upper=200),
        Column(name="smooth", kind="continuous", lower=0, upper=10),
        Column(name="count", kind="continuous", lower=0, upper=40, missing=True),
    )
)


@pytest.mark.parametrize("name", ["independent", "mst", "clique-tree", "mean-embedding"])
def test_rows_have_the_decimals_of_the_table(name, tmp_path):
    """At epsilon 4 noise hides a fifth of these rows at most."""
    model = us.method(name)(epsilon=4.0, seed=0).fit(table(np.random.default_rng(2)), SCHEMA)
    found = {c.name: c.decimals for c in model.fitted.resolved.columns}
    assert found == {"tenths": 1, "cents": 2, "smooth": None, "count": 0}
    model.save(tmp_path / "model")
    again = us.load(tmp_path / "model")
    for made in (model.sample(2_000, seed=1), again.sample(2_000, seed=1)):
        for column_name, decimals in found.items():
            values = made[column_name].dropna().to_numpy()
            if decimals is None:
                assert len(np.unique(values)) > 1_000
            else:
                np.testing.assert_array_equal(values, np.round(values, decimals))
    assert "decimals found" in again.certificate.text() and "tenths 1" in again.certificate.text()


def test_where_rows_are_few_nothing_is_asked_and_nothing_paid(monkeypatch):
    """40 rows cannot show a grid, so the cells have all of the answer: no table has its part."""
    seen = []
    usual = one_way.count_closely
    monkeypatch.setattr(one_way, "count_closely", lambda *a, **k: seen.append(usual(*a, **k)) or seen[-1])
    us.method("independent")(epsilon=1.0, seed=0).fit(table(np.random.default_rng(2))[:40], SCHEMA)
    assert seen and all(set(question.budgets) <= {1.0} for question in seen)
    seen.clear()
    us.method("independent")(epsilon=4.0, seed=0).fit(table(np.random.default_rng(2)), SCHEMA)
    assert subject.SHARE in seen[0].budgets and subject.SHARE not in seen[1].budgets


@pytest.mark.parametrize("off_edges", [0.0, 0.03])
def test_round_numbers_on_the_edges_of_a_look_stay_round(off_edges):
    """Bounds of 0 and 256: multiples of a sixteenth lie on edges of the first look's cells, so every fifth number is one. Without
    such numbers looked at on both sides of their edge 1 % of the rows were at them, not 40 %."""
    rng = np.random.default_rng(0)
    round_ones = np.round(np.arange(5, 155, 5) + off_edges, 2)
    x = np.where(rng.random(40_000) < 0.4, rng.choice(round_ones, 40_000), np.round(rng.uniform(0, 256, 40_000), 2))
    model = us.method("independent")(epsilon=2.0, seed=0).fit(pd.DataFrame({"x": x}), Schema(columns=(column(0, 256),)))
    assert model.fitted.resolved.columns[0].decimals == 2
    assert np.isin(model.sample(10_000, seed=1)["x"], round_ones).mean() == pytest.approx(0.4, abs=0.05)


def test_neighbouring_looks_share_no_number():
    """A number between two cells that are both looked into is one spike, not two."""
    own = column(0, 256)
    _, codec = asked_of(own)
    node = make_nodes(codec)[0]
    edges = np.arange(4) / 4
    into = Spikes(edges[:-1], edges[1:], np.ones(3))
    fine = Look(with_edges(node, np.r_[edges, 1.0]), into)
    look = on_numbers(fine, on_grid(fine.node, own, 0))
    assert (look.into.low[1:] >= look.into.high[:-1]).all()
    np.testing.assert_allclose(look.into.low * 256, [-0.5, 64.5, 128.5])
    assert np.isin(np.round(look.into.high * 256, 6), np.round(look.node.edges * 256, 6)).all()


@pytest.mark.parametrize("first", [None, 0])
def test_columns_of_other_decimals_are_cut_by_themselves(first):
    """Of columns with the same bounds some say how many decimals they have: what is found for the others is not theirs. With one
    group for all, the fit ended with an error after it had been paid for."""
    rest = 2 if first is None else None
    rng, names = np.random.default_rng(0), [f"x{k}" for k in range(50)]
    whole = {name: rng.integers(0, 101, 4_000).astype(float) for name in names}
    columns = tuple(
        Column(name=name, kind="continuous", lower=0, upper=100, decimals=first if k == 0 else rest)
        for k, name in enumerate(names)
    )
    model = us.method("independent")(epsilon=50.0, seed=0).fit(pd.DataFrame(whole), Schema(columns=columns))
    assert [c.decimals for c in model.fitted.resolved.columns] == [0] + [0 if rest is None else rest] * 49


def test_the_plan_says_that_decimals_are_looked_for():
    """Where the schema leaves them open, and rows will have what is found: networks draw any number."""
    columns = (
        Column(name="a", kind="continuous", lower=0, upper=9),
        Column(name="b", kind="continuous", lower=0, upper=9, decimals=1),
        Column(name="c", kind="integer", lower=0, upper=900),
        Column(name="y", kind="boolean"),
    )

    def said(method, *chosen):
        plan = method().plan(Schema(columns=chosen, label="y"))
        return any("how many decimals 1 of them has" in charge.detail for charge in plan.charges)

    assert said(us.CliqueTree, *columns) and said(us.Mst, *columns)
    assert not said(us.CliqueTree, *columns[1:]) and not said(us.PateGan, *columns)
