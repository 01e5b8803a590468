"""Three columns counted at once: what it gains, which ones are, and that all that stands on counts takes them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from understudy import export
from understudy.audit.targets import Pair
from understudy.audit.used import used
from understudy.fit import fit
from understudy.infer import answer
from understudy.methods.clique_tree import method as own
from understudy.methods.clique_tree.method import COUNTS, CliqueTree
from understudy.methods.clique_tree.triples import candidates
from understudy.private.noise import SeededNoise
from understudy.schema import Column, Schema
from understudy.schema.constraints import Never

NAMES = ("a", "b", "c", "d")
ROWS = 20_000


def schema(**more):
    columns = (Column(name=name, kind="categorical", categories=tuple("0123")) for name in NAMES)
    return Schema(columns=tuple(columns), **more)


def table(rows=ROWS, seed=0):
    """Every pair depends, and c besides on what a and b show together only."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 4, rows)
    b = (a + (random.random(rows) < 0.5) * random.integers(0, 4, rows)) % 4
    both = np.where((a % 2) == (b % 2), 0, 2)
    c = np.where(random.random(rows) < 0.6, (both + a // 2) % 4, random.integers(0, 4, rows))
    d = (c + (random.random(rows) < 0.7) * random.integers(0, 4, rows)) % 4
    return pd.DataFrame({name: values.astype(str) for name, values in zip(NAMES, (a, b, c, d), strict=True)})


def model(epsilon=10.0, rows=ROWS, known=None, **options):
    return fit(CliqueTree(epsilon=epsilon, **options), table(rows), known or schema(), noise=SeededNoise(1))


@pytest.fixture(scope="module")
def fitted():
    return model()


def three_way(drawn):
    """Total-variation distance of a, b and c from the table's."""
    cells = [
        (rows["a"].astype(int) * 16 + rows["b"].astype(int) * 4 + rows["c"].astype(int)).to_numpy()
        for rows in (table(), drawn)
    ]
    first, second = (np.bincount(one, minlength=64) / ROWS for one in cells)
    return 0.5 * np.abs(first - second).sum()


def triples(fitted):
    return [one for one in fitted.released if len(one.nodes) == 3]


def test_with_much_budget_an_interaction_is_kept_that_pairs_do_not_show(fitted, monkeypatch):
    assert triples(fitted) and "sets of three columns at once" in fitted.report["statement"]
    monkeypatch.setattr(own, "count_triples", lambda *given: None)
    pairs = model()
    assert not triples(pairs)
    assert three_way(fitted.sample(ROWS, seed=1)) < 0.02 < 0.08 < three_way(pairs.sample(ROWS, seed=1))


def test_where_noise_is_more_than_chance_no_triple_is_counted():
    assert not triples(model(epsilon=0.3, rows=2_000))


def test_no_triple_holds_a_pair_that_is_not_wanted():
    unwanted = {"pairs": [{"columns": ["a", "b"], "weight": 0}]}
    held = [one.named for one in triples(model(workload=unwanted))]
    assert held and not any({"a", "b"} <= named for named in held)


def test_all_triples_together_count_as_much_as_all_pairs():
    sizes, numbers = (2, 3, 4, 2, 3), range(5)
    columns = SimpleNamespace(rows=100.0, numbers=numbers, shares=lambda n, _: np.full(sizes[n], 1.0 / sizes[n]))
    weights = {pair: 1.0 + sum(pair) for pair in itertools.combinations(numbers, 2)}
    held = SimpleNamespace(
        held=lambda count: {tuple((n, 0) for n in t) for t in itertools.combinations(numbers, count)}
    )
    found = [one.weight for one, _ in candidates(held, columns, weights)]
    assert len(found) == 10 and sum(found) == pytest.approx(sum(weights.values()))


def test_their_counts_use_no_more_than_they_cost():
    rows = table(3_000)
    odd = pd.DataFrame([{"a": "0", "b": "3", "c": "1", "d": "2"}])
    more = pd.concat([rows, odd], ignore_index=True)
    pair = Pair(schema(), rows, more, "odd", "one row more")
    found = used(CliqueTree(epsilon=20.0, passes=2), pair, fits=3)
    assert found.worst <= 1.0 + 1e-9
    assert min(one.share for one in found.by_purpose[COUNTS]) > 0.999
    assert triples(model(epsilon=20.0, rows=3_000))


def test_copies_counts_and_answers_take_them(fitted):
    (copy,) = fitted.copies(1, rows=ROWS, seed=0)
    assert three_way(copy) < 0.03
    lines = export.counts(fitted)
    assert lines.filter(like="column").notna().sum(axis=1).max() == 3
    asked = 'share(c = "1") where a = "0" and b = "3"'
    real = table().query("a == '0' and b == '3'")["c"].eq("1").mean()
    found = answer(fitted, asked, copies=8, seed=0)
    assert found.covered and not found.remarks
    assert found.lines[0].combined.low < real < found.lines[0].combined.high


def test_a_rule_of_three_columns_is_kept_where_they_are_counted():
    ruled = schema(constraints=(Never('a = "0" and b = "0" and c = "1"'),))
    rows = table().query("not (a == '0' and b == '0' and c == '1')")
    found = fit(CliqueTree(epsilon=10.0), rows, ruled, noise=SeededNoise(1))
    drawn = found.sample(5_000, seed=0)
    assert triples(found) and drawn.query("a == '0' and b == '0' and c == '1'").empty
