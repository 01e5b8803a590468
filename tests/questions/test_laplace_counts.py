"""Counts with Laplace noise: a unit moves an answer by its pure price; the root that Gaussian noise allows is caught."""

import math

import dp_accounting as dpa
import numpy as np
import pytest

from understudy.accounting import epsilon
from understudy.private.answers import ANSWERS, counts
from understudy.private.blocks import Blocks
from understudy.private.noise import SecureNoise
from understudy.questions import Counts, class_counts
from understudy.questions.row_maps import Label, Outcomes

from .test_questions import MANY, Steady, exact, flat

ROWS = 4
OUTCOMES = Outcomes(np.asarray([0, 2]), np.asarray([2, 2]))


def question(kind=Counts, budgets=()):
    """Two tables: each of two columns of two outcomes; a unit has four rows at most."""
    return kind(OUTCOMES, (2, 2), (((0,),), ((1,),)), 3.0, ROWS, budgets=budgets, noise="laplace")


def moved(asked):
    """How far a unit of four rows, all in the same cells, moves the answer, in L1 norm over the scale of the noise."""
    rows = np.zeros((6, 4), np.float32)
    rows[:, [0, 2]] = 1.0
    units = np.asarray([0, 0, 0, 0, 1, 2])
    full = exact(asked, Blocks.of(rows, np.zeros(6, np.int32), units))
    less = exact(asked, Blocks.of(rows[4:], np.zeros(2, np.int32), units[4:]))
    one, other = (flat(counts.release(asked, total, Steady())) for total in (full, less))
    scale = (flat(counts.release(asked, full, Steady(MANY))) - one) / MANY
    return float(np.abs((one - other) / scale).sum())


class RootOfTables(Counts):
    """Mutant: the scale grows with the root of the number of tables, as Gaussian noise may."""

    @property
    def deviations(self):
        return tuple(self.sigma * self.rows_per_unit * math.sqrt(len(self.tables)) for _ in self.tables)


@pytest.mark.parametrize("budgets", [(), (1.0, 9.0)])
def test_a_unit_moves_laplace_counts_by_exactly_their_price(budgets):
    asked = question(budgets=budgets)
    assert moved(asked) == pytest.approx(1.0 / 3.0, rel=1e-5) and asked.event == dpa.LaplaceDpEvent(3.0)


def test_the_root_of_the_number_of_tables_is_too_little(monkeypatch):
    monkeypatch.setitem(ANSWERS, RootOfTables, counts)
    assert moved(question(RootOfTables)) > 1.4 / 3.0


def test_the_class_histogram_has_the_noise_of_its_price():
    """Mean absolute value of Laplace noise is its scale: over 4,000 draws of scale 15 within 12 % (false failure < 1e-6)."""
    asked = class_counts(4000, 5.0, 3, pure=True)
    assert asked.event == dpa.LaplaceDpEvent(5.0) and asked.deviations == (15.0,)
    assert class_counts(2, 5.0, 3).event == dpa.GaussianDpEvent(5.0)
    drawn = counts.release(asked, {(0,): np.zeros(4000, np.int64)}, SecureNoise())[0]
    assert np.abs(drawn).mean() == pytest.approx(15.0, rel=0.12)
    assert isinstance(asked.cells, Label)


def test_at_delta_zero_laplace_losses_add_up_and_gaussian_noise_has_no_price():
    assert epsilon(
        [dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(10.0), 3), dpa.LaplaceDpEvent(2.0)], 0.0
    ) == pytest.approx(0.8)
    assert epsilon(dpa.GaussianDpEvent(100.0), 0.0) == math.inf
    assert epsilon([dpa.LaplaceDpEvent(2.0), dpa.GaussianDpEvent(1e5)], 0.0) == math.inf
