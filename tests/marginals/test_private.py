"""What the marginal methods ask through the wall: sensitivities, prices and choices."""

import math
from itertools import product

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri

import understudy as us
from understudy.accounting import epsilon
from understudy.fit import fit
from understudy.private import Curator, SecureNoise
from understudy.private.answers import choices
from understudy.private.answers import counts as counts_of
from understudy.private.answers.choices import noisy_max
from understudy.private.answers.counts import count_block, nothing
from understudy.private.noise import SeededNoise
from understudy.questions import Counts, MarginalChoice
from understudy.questions.choices import bounded_range
from understudy.questions.counts import WEIGHT_GRID
from understudy.questions.row_maps import Cuts
from understudy.schema import Column, Schema

from ..wall import FreeLedger, NoNoise, ask

SIZES = (2, 3, 4)
CLIQUES = [(0,), (1, 2), (0, 1, 2)]
CELLS = Cuts(np.arange(3), tuple(np.arange(size - 1) + 0.5 for size in SIZES), np.full(3, -1))  # a row holds its cells


def cells(rows, seed=0):
    return np.random.default_rng(seed).integers(0, SIZES, (rows, len(SIZES)))


def counts(cliques=CLIQUES, rows_per_unit=1):
    return Counts.of_cliques(CELLS, SIZES, cliques, 3.0, rows_per_unit)


def choice(sigma, rows_per_unit=1, weights=(1, 1)):
    cliques = ((0,), (1,), (2,))[: len(weights)]
    estimates = tuple(np.zeros(SIZES[node], np.int64) for (node,) in cliques)
    return MarginalChoice(CELLS, SIZES, cliques, estimates, (0,) * len(cliques), weights, sigma, rows_per_unit)


def test_a_unit_moves_the_counts_by_at_most_m_root_q():
    """Every place a unit's rows can take is tried: the worst is all m rows in one cell, and it is exactly m sqrt(q)."""
    table, worst, m = cells(30), 0.0, 2
    question, noise = counts(rows_per_unit=m), NoNoise()
    exact = lambda rows: np.concatenate([part.ravel() for part in ask(question, rows)])  # noqa: E731
    before = exact(table)
    places = list(product(*map(range, SIZES)))
    for first, second in product(places, places):
        worst = max(worst, float(np.linalg.norm(exact(np.vstack([table, first, second])) - before)))
    assert worst == pytest.approx(m * math.sqrt(len(CLIQUES)))
    assert question.deviations == pytest.approx([3.0 * worst] * len(CLIQUES))
    parts = ask(question, table, noise=noise)
    assert noise.scales == list(question.deviations)
    assert [part.shape for part in parts] == [(2,), (3, 4), (2, 3, 4)]
    assert all(part.sum() == len(table) for part in parts)


def test_marginals_cannot_be_added_without_paying_for_them():
    """One answer is one price: with more marginals in it, each gets more noise, and the wall draws no other."""
    for number in (1, 2, 3):
        noise, question = NoNoise(), counts(CLIQUES[:number])
        ask(question, cells(5), noise=noise)
        assert noise.scales == pytest.approx([3.0 * math.sqrt(number)] * number)
        assert question.event == dpa.GaussianDpEvent(3.0)


def test_no_cell_map_can_count_a_row_twice_or_out_of_range():
    """A cell beyond the last is the last, one below the first is no cell."""
    wanted = [(0,), (1,), (2,)]
    found = nothing(SIZES, wanted)
    count_block(np.array([[5, -3, 2], [0, 1, 99]]), SIZES, found)
    assert [found[clique].tolist() for clique in wanted] == [[1, 1], [0, 1, 0], [0, 0, 1, 1]]
    for wrong in (np.zeros((4, 7), np.int64), np.zeros((4, 3)), np.zeros(4, np.int64)):
        with pytest.raises(RuntimeError, match="one whole number per row and node"):
            count_block(wrong, SIZES, found)


@pytest.mark.parametrize("together", [1, 40, 1 << 13])
def test_marginals_counted_together_are_those_counted_one_by_one(monkeypatch, together):
    """Sets of nodes of any size, missing cells in every node, cliques in any order of their nodes, with and without weights."""
    monkeypatch.setattr(counts_of, "TOGETHER", together)
    counts_of.cover.cache_clear()
    rng, sizes = np.random.default_rng(3), (2, 3, 4, 7, 70_000)
    cells = np.column_stack([rng.integers(-1, size, 500) for size in sizes]).astype(np.int32)
    wanted = [(0,), (4,), (1, 0), (0, 1), (0, 2), (2, 1), (3, 0), (1, 3), (2, 3, 0), (0, 4)]
    for weights in (None, rng.integers(0, 1 << 20, 500)):
        found = nothing(sizes, wanted)
        count_block(cells, sizes, found, weights)
        for clique in wanted:
            expected = np.zeros([sizes[node] for node in clique], np.int64)
            kept = (cells[:, clique] >= 0).all(axis=1)
            np.add.at(expected, tuple(cells[kept][:, clique].T), 1 if weights is None else weights[kept])
            np.testing.assert_array_equal(found[clique], expected.ravel())
    covered = counts_of.cover(sizes, tuple(wanted))
    assert sorted(clique for _, own in covered for clique, *_ in own) == sorted(wanted)
    counts_of.cover.cache_clear()


def test_a_row_that_misses_a_value_beside_the_clique_is_counted():
    """Were rows left out that miss a value of any node that is counted together, marginals would lose them."""
    found = nothing(SIZES, [(0, 1), (1, 2), (0, 2)])
    count_block(np.array([[1, 2, -1], [0, -1, 3]]), SIZES, found)
    assert [part.sum() for part in found.values()] == [1, 0, 1]


def test_a_unit_moves_every_score_by_at_most_m(monkeypatch):
    """The scores that the choice is made from, for every place that the two rows of a unit can take."""
    seen = []
    monkeypatch.setattr(choices, "noisy_max", lambda scores, scale, noise: seen.append(scores[0]) or 0)
    table, estimate = cells(30), np.random.default_rng(1).integers(0, 5, (3, 4))
    question = MarginalChoice(CELLS, SIZES, ((1, 2),), (estimate,), (7,), (1,), 1.0, 2)
    ask(question, table)
    for a, b in product(product(*map(range, SIZES)), repeat=2):
        ask(question, np.vstack([table, a, b]))
    changes = np.asarray(seen[1:]) - seen[0]
    assert np.abs(changes).max() == question.influence == 2  # reached, and never passed


def test_the_price_of_a_choice_covers_every_two_point_pair_of_its_range():
    """mu of the pair with ratios e^t and e^(t - epsilon) is largest at t = epsilon / 2, where it is 1 / sigma."""
    for sigma in (0.3, 1.0, 4.0, 40.0):
        loss = bounded_range(sigma)
        t = np.linspace(0.0, loss, 2003)[1:-1]
        q = (1 - np.exp(t - loss)) / (np.exp(t) - np.exp(t - loss))
        mu = ndtri(np.exp(t) * q) - ndtri(q)
        assert mu.max() <= 1 / sigma * (1 + 1e-6)
        assert mu.max() == pytest.approx(2 * ndtri(expit(loss / 2)), rel=1e-5)
        assert mu.max() == pytest.approx(1 / sigma, rel=1e-5)


def test_an_exact_choice_between_neighbours_stays_within_its_price():
    """Exact probabilities of the mechanism on the worst neighbouring scores: delta(epsilon) never exceeds the Gaussian's."""
    question = choice(2.0, 3)
    for size in (2, 5, 50):
        scores = np.zeros(size)
        moved = scores + 3.0 * np.where(np.arange(size) == 0, 1, -1)
        p, q = (np.exp(s / question.scale) / np.exp(s / question.scale).sum() for s in (moved, scores))
        for delta in (1e-6, 1e-3, 1e-2):
            claimed = epsilon([question.event], delta)
            assert np.maximum(p - math.exp(claimed) * q, 0).sum() <= delta
            assert np.maximum(q - math.exp(claimed) * p, 0).sum() <= delta


def without_noise(scores, scale, noise):
    return int(np.argmax(scores))


def exponential_noise(scores, scale, noise):
    """Report-noisy-max with another noise: private, too, but at another price."""
    rng = np.random.default_rng(int.from_bytes(noise.secret(16), "little"))
    return int(np.argmax(np.asarray(scores) + rng.exponential(scale, len(scores))))


def off_by(choose, noise):
    """The largest distance between shares of 2,000 choices among three and what the exponential mechanism gives them."""
    scale = choice(1.0, 2).scale
    scores = [round(scale * x) for x in (2.0, 1.0, 0.0)]
    shares = np.bincount([choose(scores, scale, noise) for _ in range(2000)], minlength=3) / 2000
    weights = np.exp(np.asarray(scores) / scale)
    return np.abs(shares - weights / weights.sum()).max()


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(3)])
def test_choices_follow_the_exponential_mechanism(noise):
    """A share is off by 0.055 (5 standard deviations) with probability below 1e-6; wrong choices are off by more."""
    assert off_by(noisy_max, noise) < 0.055
    assert off_by(without_noise, noise) > 0.3
    assert off_by(exponential_noise, SeededNoise(3)) > 0.055


def range_of_ratios(scale, weights):
    """Length of the interval of log-likelihood ratios of all outcomes, for the worst rows that a unit of 2 can add.

    One row can lower the distance of one marginal and raise that of the others; the weights make that count.
    """
    before = np.asarray([50.0, 40.0, 30.0])
    after = before + 2.0 * np.asarray(weights) * [1.0, -1.0, -1.0]
    p, q = (np.exp(s / scale) / np.exp(s / scale).sum() for s in (after, before))
    ratios = np.log(p / q)
    return ratios.max() - ratios.min()


class WithoutWeights(MarginalChoice):
    """Mutant: the scale of a choice whose scores have no weights."""

    @property
    def influence(self):
        return self.rows_per_unit


def test_weights_of_scores_are_part_of_their_sensitivity():
    """A choice keeps its range whatever the weights, one that forgets them does not, and the wall refuses that one."""
    right = choice(1.0, 2, (9, 4, 2))
    wrong = WithoutWeights(**vars(right))
    assert range_of_ratios(right.scale, right.weights) <= bounded_range(1.0)
    assert range_of_ratios(wrong.scale, wrong.weights) > 2 * bounded_range(1.0)
    with pytest.raises(RuntimeError, match="no question that the wall knows"):
        ask(wrong, cells(3))


@pytest.mark.parametrize("question", [choice(1.0, 2), counts(rows_per_unit=2)], ids=["choice", "counts"])
def test_questions_for_fewer_rows_than_a_unit_may_have_are_refused(question):
    people = (Column(name="x", kind="boolean"), Column(name="who", kind="identifier"))
    own = Schema(columns=people, unit="who", max_rows_per_unit=3)
    with pytest.raises(RuntimeError, match="priced for fewer rows of a unit"):
        Curator(None, own, FreeLedger(), NoNoise()).ask("tree edges", question)


def test_aim_builds_its_choices_for_the_largest_weight(monkeypatch):
    """Every choice of a fit: its scale covers a unit's weight times the weights that were really used."""
    asked, drawn = [], []
    inner, draw = Curator.ask, choices.noisy_max

    def watch(self, purpose, question):
        if isinstance(question, MarginalChoice):
            asked.append(question)
        return inner(self, purpose, question)

    monkeypatch.setattr(Curator, "ask", watch)
    monkeypatch.setattr(
        choices, "noisy_max", lambda scores, scale, noise: drawn.append(scale) or draw(scores, scale, noise)
    )
    names = [f"x{number}" for number in range(4)]
    columns = tuple(Column(name=name, kind="boolean") for name in [*names, "y"])
    own = Schema(columns=(*columns, Column(name="who", kind="identifier")), label="y", unit="who", max_rows_per_unit=3)
    frame = pd.DataFrame(np.random.default_rng(0).random((60, 5)) < 0.5, columns=[*names, "y"]).assign(who=range(60))
    fit(us.Aim(steps=2, round_steps=1), frame, own, noise=SeededNoise(0))
    assert len(asked) == len(drawn) == 8
    for question, scale in zip(asked, drawn, strict=True):
        assert scale == pytest.approx(2 * WEIGHT_GRID * max(question.weights) / bounded_range(question.sigma))
    # overlaps with the six pairs per class: pair per class 6 + 2 x 3, column per class 6 + 3, pair 2 x 3
    assert {*asked[0].weights} == {4, 3, 2}


def test_the_best_is_chosen_when_the_price_is_high_and_anything_when_it_is_low():
    scores = [100, 130, 90, 129]
    assert {noisy_max(scores, choice(0.02).scale, SecureNoise()) for _ in range(50)} == {1}
    assert len({noisy_max(scores, choice(1e4).scale, SecureNoise()) for _ in range(200)}) == 4
    assert choice(1.0).event == dpa.GaussianDpEvent(1.0)
