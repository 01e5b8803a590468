"""What the marginal methods ask through the wall: sensitivities, prices and choices."""

import math
from itertools import product

import dp_accounting as dpa
import numpy as np
import pytest
from scipy.special import expit, ndtri

from understudy.accounting import epsilon
from understudy.private import SecureNoise
from understudy.private.mechanisms.exponential_choice import ExponentialChoice, score
from understudy.private.mechanisms.marginal_counts import MarginalCounts, cell_numbers, exact_counts
from understudy.private.noise import SeededNoise

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


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(3)])
def test_choices_follow_the_exponential_mechanism(noise):
    """2,000 choices among three; a share is off by 0.055 (5 standard deviations) with probability below 1e-6.

    Exponential noise instead of Gumbel noise would shift the first share by 0.09.
    """
    choice = ExponentialChoice(1.0, 2)
    scores = [round(choice.scale * x) for x in (2.0, 1.0, 0.0)]
    shares = np.bincount([choice.release(scores, noise) for _ in range(2000)], minlength=3) / 2000
    weights = np.exp(np.asarray(scores) / choice.scale)
    assert np.abs(shares - weights / weights.sum()).max() < 0.055


def test_the_best_is_chosen_when_the_price_is_high_and_anything_when_it_is_low():
    scores = [100, 130, 90, 129]
    assert {ExponentialChoice(0.02, 1).release(scores, SecureNoise()) for _ in range(50)} == {1}
    assert len({ExponentialChoice(1e4, 1).release(scores, SecureNoise()) for _ in range(200)}) == 4
    assert ExponentialChoice(1.0, 1).event == dpa.GaussianDpEvent(1.0)
