"""What the marginal methods ask through the wall: sensitivities, prices and choices."""

import math
from itertools import product

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri
from understudy.private.mechanisms.exponential_choice import ExponentialChoice, score
from understudy.private.mechanisms.marginal_counts import MarginalCounts, cell_numbers, exact_counts

import understudy as us
from understudy.accounting import Ledger, epsilon
from understudy.fit import fit
from understudy.private import Curator, PrivateTable, SecureNoise
from understudy.private.noise import SeededNoise
from understudy.schema import Codec, Column, Schema

SIZES = (2, 3, 4)
CLIQUES = [(0,), (1, 2), (0, 1, 2)]


class Silent:
    """No noise, and a note of the scales asked for."""

    void_reason = "test"

    def __init__(self):
        self.scales = []

    def draw(self, kind, scale, shape):
        self.scales.append(scale)
        return np.zeros(shape, np.int64)

    def secret(self, size):
        return bytes(size)


def cells(rows, seed=0):
    return np.random.default_rng(seed).integers(0, SIZES, (rows, len(SIZES)))


def test_a_unit_moves_the_counts_by_at_most_m_root_q():
    """Every place a unit's rows can take is tried: the worst is all m rows in one cell, and it is exactly m sqrt(q)."""
    table, worst, m = cells(30), 0.0, 2
    before = np.concatenate([exact_counts(table, SIZES, clique).ravel() for clique in CLIQUES])
    places = list(product(*map(range, SIZES)))
    for first, second in product(places, places):
        more = np.vstack([table, first, second])
        after = np.concatenate([exact_counts(more, SIZES, clique).ravel() for clique in CLIQUES])
        worst = max(worst, float(np.linalg.norm(after - before)))
    mechanism = MarginalCounts(3.0, m, len(CLIQUES))
    assert worst == pytest.approx(m * math.sqrt(len(CLIQUES)))
    assert mechanism.deviation == pytest.approx(3.0 * worst)
    noise = Silent()
    parts = mechanism.release([exact_counts(table, SIZES, clique) for clique in CLIQUES], noise)
    assert noise.scales == [mechanism.deviation]
    assert [part.shape for part in parts] == [(2,), (3, 4), (2, 3, 4)]
    assert all(part.sum() == len(table) for part in parts)


def test_more_marginals_than_announced_are_refused():
    with pytest.raises(RuntimeError, match="announced"):
        MarginalCounts(1.0, 1, 1).release([np.zeros(2, np.int64)] * 2, Silent())


def test_no_cell_map_can_count_a_row_twice_or_out_of_range():
    found = cell_numbers(np.array([[5, -3, 2], [0, 1, 99]]), SIZES)
    assert found.tolist() == [[1, 0, 2], [0, 1, 3]]
    with pytest.raises(RuntimeError, match="one number per row and node"):
        cell_numbers(np.zeros((4, 7)), SIZES)


def test_a_unit_moves_every_score_by_at_most_m():
    table, rng = cells(30), np.random.default_rng(1)
    estimate = rng.integers(0, 5, (3, 4))
    before = score(exact_counts(table, SIZES, (1, 2)), estimate, 7)
    changes = [
        score(exact_counts(np.vstack([table, a, b]), SIZES, (1, 2)), estimate, 7) - before
        for a, b in product(product(*map(range, SIZES)), repeat=2)
    ]
    assert max(map(abs, changes)) == 2  # reached, and never passed


def test_the_price_of_a_choice_covers_every_two_point_pair_of_its_range():
    """mu of the pair with ratios e^t and e^(t - epsilon) is largest at t = epsilon / 2, where it is 1 / sigma."""
    for sigma in (0.3, 1.0, 4.0, 40.0):
        loss = ExponentialChoice(sigma, 1).epsilon
        t = np.linspace(0.0, loss, 2003)[1:-1]
        q = (1 - np.exp(t - loss)) / (np.exp(t) - np.exp(t - loss))
        mu = ndtri(np.exp(t) * q) - ndtri(q)
        assert mu.max() <= 1 / sigma * (1 + 1e-6)
        assert mu.max() == pytest.approx(2 * ndtri(expit(loss / 2)), rel=1e-5)
        assert mu.max() == pytest.approx(1 / sigma, rel=1e-5)


def test_an_exact_choice_between_neighbours_stays_within_its_price():
    """Exact probabilities of the mechanism on the worst neighbouring scores: delta(epsilon) never exceeds the Gaussian's."""
    choice = ExponentialChoice(2.0, 3)
    for size in (2, 5, 50):
        scores = np.zeros(size)
        moved = scores + 3.0 * np.where(np.arange(size) == 0, 1, -1)
        p, q = (np.exp(s / choice.scale) / np.exp(s / choice.scale).sum() for s in (moved, scores))
        for delta in (1e-6, 1e-3, 1e-2):
            claimed = epsilon([choice.event], delta)
            assert np.maximum(p - math.exp(claimed) * q, 0).sum() <= delta
            assert np.maximum(q - math.exp(claimed) * p, 0).sum() <= delta


class WithoutNoise(ExponentialChoice):
    def release(self, scores, noise):
        return int(np.argmax(scores))


class ExponentialNoise(ExponentialChoice):
    """Report-noisy-max with another noise: private, too, but at another price."""

    def release(self, scores, noise):
        rng = np.random.default_rng(int.from_bytes(noise.secret(16), "little"))
        return int(np.argmax(np.asarray(scores) + rng.exponential(self.scale, len(scores))))


def off_by(choice, noise):
    """The largest distance between shares of 2,000 choices among three and what the exponential mechanism gives them."""
    scores = [round(choice.scale * x) for x in (2.0, 1.0, 0.0)]
    shares = np.bincount([choice.release(scores, noise) for _ in range(2000)], minlength=3) / 2000
    weights = np.exp(np.asarray(scores) / choice.scale)
    return np.abs(shares - weights / weights.sum()).max()


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(3)])
def test_choices_follow_the_exponential_mechanism(noise):
    """A share is off by 0.055 (5 standard deviations) with probability below 1e-6; wrong choices are off by more."""
    assert off_by(ExponentialChoice(1.0, 2), noise) < 0.055
    assert off_by(WithoutNoise(1.0, 2), noise) > 0.3
    assert off_by(ExponentialNoise(1.0, 2), SeededNoise(3)) > 0.055


def range_of_ratios(scale, weights):
    """Length of the interval of log-likelihood ratios of all outcomes, for the worst rows that a unit of 2 can add.

    One row can lower the distance of one marginal and raise that of the others; the weights make that count.
    """
    before = np.asarray([50.0, 40.0, 30.0])
    after = before + 2.0 * np.asarray(weights) * [1.0, -1.0, -1.0]
    p, q = (np.exp(s / scale) / np.exp(s / scale).sum() for s in (after, before))
    ratios = np.log(p / q)
    return ratios.max() - ratios.min()


def test_weights_of_scores_are_part_of_their_sensitivity():
    """A choice built for the largest weight keeps its range, one built without it does not, and the curator refuses that one."""
    weights = [9, 4, 2]
    right, wrong = ExponentialChoice(1.0, 2 * max(weights)), ExponentialChoice(1.0, 2)
    assert range_of_ratios(right.scale, weights) <= right.epsilon
    assert range_of_ratios(wrong.scale, weights) > 2 * wrong.epsilon
    own = Schema(columns=(Column(name="a", kind="boolean"), Column(name="b", kind="boolean")))
    plan = us.Mst().plan(own)
    curator = Curator(PrivateTable(pd.DataFrame({"a": [True], "b": [False]}), own), own, Ledger(plan), SeededNoise(0))
    curator.adopt(Codec(own))
    curator.discretise(lambda rows, classes: np.zeros((len(rows), 2)), (2, 2))
    with pytest.raises(RuntimeError, match="priced for less"):
        curator.choose_marginal(
            "tree edges", ExponentialChoice(1.0, 1), [(0,), (1,)], [np.zeros(2, np.int64)] * 2, [0, 0], [1, 2]
        )


def test_aim_builds_its_choices_for_the_largest_weight(monkeypatch):
    """Every choice of a fit: its scale covers the rows of a unit times the weights that were really used."""
    asked = []
    inner = Curator.choose_marginal

    def watch(self, purpose, mechanism, candidates, estimates, penalties, weights=None):
        asked.append((mechanism, weights))
        return inner(self, purpose, mechanism, candidates, estimates, penalties, weights)

    monkeypatch.setattr(Curator, "choose_marginal", watch)
    names = [f"x{number}" for number in range(4)]
    columns = tuple(Column(name=name, kind="boolean") for name in [*names, "y"])
    own = Schema(columns=(*columns, Column(name="who", kind="identifier")), label="y", unit="who", max_rows_per_unit=3)
    frame = pd.DataFrame(np.random.default_rng(0).random((60, 5)) < 0.5, columns=[*names, "y"]).assign(who=range(60))
    fit(us.Aim(steps=2, round_steps=1), frame, own, noise=SeededNoise(0))
    assert len(asked) == 8
    for mechanism, weights in asked:
        assert mechanism.scale == pytest.approx(2 * 3 * max(weights) / mechanism.epsilon)
    # overlaps with the six pairs per class: pair per class 6 + 2 x 3, column per class 6 + 3, pair 2 x 3
    assert {*asked[0][1]} == {4, 3, 2}


def test_the_best_is_chosen_when_the_price_is_high_and_anything_when_it_is_low():
    scores = [100, 130, 90, 129]
    assert {ExponentialChoice(0.02, 1).release(scores, SecureNoise()) for _ in range(50)} == {1}
    assert len({ExponentialChoice(1e4, 1).release(scores, SecureNoise()) for _ in range(200)}) == 4
    assert ExponentialChoice(1.0, 1).event == dpa.GaussianDpEvent(1.0)
