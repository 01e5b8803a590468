"""How much of its price every answer uses: never more, on the pairs made for it nearly all, and wrong versions far more.

Exact up to the noise that decides which question follows, so a handful of fits is enough.
"""

import numpy as np
import pytest

import understudy as us
from understudy.accounting import gaussian
from understudy.audit.attacks.likelihood_ratio import of_brief_fits
from understudy.audit.targets import TARGETS, made_up
from understudy.audit.used import used
from understudy.methods.clique_tree.method import COUNTS
from understudy.methods.clique_tree.pairs import DISTANCES, LEVELS
from understudy.methods.marginals.independent import Independent
from understudy.methods.registry import method
from understudy.private import SeededNoise

from .mutants import (
    BlocksAsKnown,
    NarrowIndependent,
    OneDistanceForAll,
    OneMarginalForAll,
    QuietSelection,
    RowsInFull,
    UnclippedMeans,
    UncutProducts,
)

PATHS = {  # what is asked about pairs, and then instead of counts of them
    "crowd": [{"Distances"}, {"Counts"}],
    "alike": [{"Distances"}, {"Sums"}],
    "rare-person": [{"Counts"}, {"Sums"}],
}


def tree(epsilon=1.0, kind=us.CliqueTree):
    return kind(epsilon=epsilon, passes=2)


@pytest.mark.parametrize("name", TARGETS)
def test_no_answer_uses_more_than_it_costs(name):
    found = used(tree(), made_up(name), fits=3)
    assert found.worst <= 1.0 + 1e-9
    assert 0.6 * found.claimed < found.epsilon <= found.claimed


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", PATHS)
def test_every_way_of_the_clique_tree_has_a_pair_that_uses_nearly_all(name, epsilon):
    found = used(tree(epsilon), made_up(name), fits=4)
    each = found.by_purpose
    assert [{one.kind for one in each[purpose]} for purpose in (DISTANCES, COUNTS)] == PATHS[name]
    assert found.epsilon > 0.9 * found.claimed and found.worst <= 1.0 + 1e-9
    least = {purpose: min(one.share for one in answers) for purpose, answers in each.items()}
    assert least.pop(LEVELS) > 0.0 and least.pop(COUNTS) > 0.8 and min(least.values()) > 0.999


@pytest.mark.parametrize(
    ("mutant", "name", "least"),
    [
        (tree(kind=QuietSelection), "lonely", 100.0),
        (tree(kind=OneDistanceForAll), "lonely", 6.0),  # three columns and three pairs
        (tree(kind=BlocksAsKnown), "crowd", 2.0),  # up to 4
        (tree(kind=OneMarginalForAll), "lonely", 3.0),
        (tree(kind=RowsInFull), "person", 25.0),  # five rows, squared
        (tree(kind=UnclippedMeans), "labelled-corner", 1.5),
        (tree(kind=UncutProducts), "alike", 3.0),
        (NarrowIndependent(epsilon=1.0), "person", 25.0),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(type(value), "__name__", None),
)
def test_wrong_versions_use_more_than_they_pay_for(mutant, name, least):
    assert used(mutant, made_up(name), fits=2).worst > 0.99 * least


@pytest.mark.parametrize("name", ["independent", "mst", "aim", "mean-embedding"])
def test_other_methods_pay_for_what_they_use(name):
    for target in ("person", "worst-case", "crowd"):
        assert used(method(name)(epsilon=1.0), made_up(target), fits=2).worst <= 1.0 + 1e-9


def test_it_is_what_the_likelihood_ratio_shows():
    """Means within five standard errors of mu^2 / 2, as the ratios of a pair with constant moves are N(-+ mu^2 / 2, mu^2)."""
    pair, estimator = made_up("lonely"), Independent(epsilon=4.0)
    found = used(estimator, pair, fits=2)
    mu = float(found.mus[0])
    assert found.mus == pytest.approx(mu) and found.epsilon == pytest.approx(gaussian.epsilon(mu, 1e-5))
    ratios = of_brief_fits(estimator, pair, estimator.plan(pair.schema), pair.with_, 60, SeededNoise(1))
    assert np.mean(ratios) == pytest.approx(mu**2 / 2, abs=5 * mu / np.sqrt(60))
