"""The distinguishing game (Ganev et al. 2025, Section 2): fit, look, guess which of two tables it was.

    runs of either side   |  learn 40 %  |  choose the rule 20 %  |  test 40 %  |
                             a classifier    threshold, direction    error rates -> bounds

Runs are independent, so the split is by order. A score that needs no learning (a likelihood ratio) leaves the first part out, and
where the claim itself says how such a score is distributed, the rule is chosen by the claim and every run is tested. The bounds
rest on the last part alone; nothing that was chosen by looking at a run is judged by that run.
"""

from collections.abc import Mapping

import numpy as np
from scipy.special import ndtr

from understudy.audit.estimates import (
    Claim,
    Rule,
    bayesian,
    best_rule,
    clopper_pearson,
    clopper_pearson_epsilon,
    counts_at,
    gaussian_bound,
)
from understudy.audit.result import POINTS, Outcome
from understudy.errors import UsageError

LEARN, CHOOSE = 0.4, 0.2
LEAST_RUNS = 20  # on either side
TREES = 100


def kinds_of(claim: Claim) -> tuple[str, ...]:
    """The frequentist readings that say something about this claim."""
    return ("clopper-pearson",) if claim.mu is None else ("clopper-pearson", "gaussian")


def decide(
    without: np.ndarray,
    with_: np.ndarray,
    *,
    claim: Claim,
    threat: str,
    attack: str,
    target: str,
    learns: bool = True,
    confidence: float = 0.95,
    family: int = 1,
    seed: int = 0,
) -> Outcome:
    """Bounds from features of fits on D' and on D, one row each. `family`: how many attacks are reported together.

    All frequentist bounds of a family hold together with `confidence`.
    """
    runs = min(len(without), len(with_))
    if runs < LEAST_RUNS:
        raise UsageError(f"an audit needs at least {2 * LEAST_RUNS} runs, half of them with the target, not {2 * runs}")
    joint = 1.0 - confidence
    level = joint / (family * len(kinds_of(claim)))
    sides = without[:runs], with_[:runs]
    rules: Mapping[str, Rule]
    if learns:
        first = round(LEARN * runs)
        sides = learned_scores(sides, first, seed)
    else:
        sides = sides[0][:, 0], sides[1][:, 0]
    if learns or claim.mu is None or not np.isfinite(claim.mu):
        chosen = [side[: max(round(CHOOSE * runs), 5)] for side in sides]
        rules = {kind: best_rule(chosen[0], chosen[1], kind, claim.delta, level) for kind in kinds_of(claim)}
        tested = [side[len(chosen[0]) :] for side in sides]
    else:
        rules = {kind: claimed_rule(kind, claim, runs, level) for kind in kinds_of(claim)}
        tested = list(sides)
    bounds = [clopper_pearson(rules["clopper-pearson"].errors(*tested), claim.delta, level, joint)]
    if "gaussian" in rules:
        bounds.append(gaussian_bound(rules["gaussian"].errors(*tested), claim.delta, level, joint))
    bounds.append(bayesian(rules["clopper-pearson"].errors(*tested), claim.delta, confidence))
    return Outcome(
        threat=threat,
        attack=attack,
        target=target,
        runs=2 * runs,
        test_runs=len(tested[0]) + len(tested[1]),
        bounds=tuple(bounds),
        roc=roc(*tested),
        violated=any(bound.frequentist and bound.epsilon > claim.epsilon for bound in bounds),
    )


def learned_scores(sides: tuple[np.ndarray, np.ndarray], first: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the runs after the first ones by a forest that saw only the first ones."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(TREES, min_samples_leaf=5, random_state=seed, n_jobs=1)
    both = np.nan_to_num(np.concatenate([side[:first] for side in sides]))
    forest.fit(both, np.repeat([0, 1], first))
    later = [np.nan_to_num(side[first:]) for side in sides]
    return forest.predict_proba(later[0])[:, 1], forest.predict_proba(later[1])[:, 1]


def claimed_rule(kind: str, claim: Claim, runs: int, level: float) -> Rule:
    """The best threshold on a log-likelihood ratio if the claim were exactly true: N(-+mu^2/2, mu^2)."""
    mu = float(claim.mu or 0.0)
    if kind == "gaussian" or mu == 0.0:
        return Rule(0.0)
    thresholds = np.linspace(-4.0, 4.0, 801)  # in units of mu around the middle
    false_positives = np.rint(runs * ndtr(-(thresholds + mu / 2.0)))
    false_negatives = np.rint(runs * ndtr(thresholds - mu / 2.0))
    shown = clopper_pearson_epsilon(false_positives, false_negatives, runs, claim.delta, level)
    shown = shown - 1e-3 * (false_positives + false_negatives) / runs  # where nothing can be shown, at least guess well
    return Rule(float(thresholds[int(np.argmax(shown))]) * mu)


def roc(without: np.ndarray, with_: np.ndarray) -> tuple[tuple[float, float], ...]:
    """False and true positive rates over all thresholds, thinned to what a chart can show."""
    _, false_positives, false_negatives = counts_at(without, with_)
    points = np.stack([false_positives / len(without), 1.0 - false_negatives / len(with_)], axis=1)[::-1]
    if len(points) > POINTS:
        points = points[np.unique(np.linspace(0, len(points) - 1, POINTS).round().astype(int))]
    return tuple((float(x), float(y)) for x, y in points)


def area(points: tuple[tuple[float, float], ...]) -> float:
    """Area under a ROC curve; half for a coin."""
    x, y = np.asarray(points).T
    return float(np.trapezoid(y, x))
