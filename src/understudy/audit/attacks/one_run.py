"""Many canaries, one fit (Steinke, Nasr, Jagielski 2023, arXiv:2305.08846).

m canaries are units that each take part with probability one half, independently. After the fit the attacker guesses for the r
canaries he is surest of. If the mechanism is epsilon-DP, each guess is right with probability at most e^epsilon / (1 + e^epsilon)
whatever the others were, so

    Pr[at least v right]  <=  Pr[Binomial(r, e^eps / (1 + e^eps)) >= v]  +  2 m delta max_i (Pr[Bin >= v - i] - Pr[Bin >= v]) / i

(their Theorem 5.2; jax-privacy computes the same), and the largest epsilon at which that probability is below 5 % is a lower
bound. r is fixed before the fit. One run costs one fit, and shows less than many: with r guesses, all right, at most about
log(r / 3).

Here the canaries are rows with a column of their own each (1 where the canary is), so that the released one-way counts and
moments are nearly separate questions about them, and the score of a canary is what was released about its column.
"""

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from understudy.audit.estimates import Claim
from understudy.audit.result import Bound, Outcome
from understudy.audit.shadow import sample_tables, shadow_fits
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.schema import Column, Schema


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Probability of so many right guesses under (epsilon, delta)-DP, at most."""
    chance = float(expit(epsilon))
    base = float(binom.sf(right - 1, guesses, chance))
    if delta == 0.0 or right == 0:
        return base
    steps = np.arange(1, right + 1)
    gain = float(np.max((binom.sf(right - steps - 1, guesses, chance) - base) / steps))
    return min(base + 2.0 * canaries * delta * max(gain, 0.0), 1.0)


def epsilon_bound(canaries: int, guesses: int, right: int, delta: float, level: float) -> float:
    """The largest epsilon that so many right guesses refute at `level`; 0 if none."""

    def excess(epsilon: float) -> float:
        return p_value(canaries, guesses, right, epsilon, delta) - level

    if excess(0.0) >= 0.0:
        return 0.0
    high = 1.0
    while excess(high) < 0.0 and high < 64.0:
        high *= 2.0
    return float(brentq(excess, 0.0, high, xtol=1e-9)) if excess(high) >= 0.0 else high


def canary_schema(canaries: int) -> Schema:
    """One binary column per canary."""
    return Schema(columns=tuple(Column(name=f"c{i}", kind="categorical", categories=(0, 1)) for i in range(canaries)))


def canary_table(taking_part: np.ndarray, canaries: int) -> pd.DataFrame:
    """One row for each canary that takes part, 1 in its own column and 0 elsewhere."""
    return pd.DataFrame(np.eye(canaries, dtype=np.int64)[taking_part], columns=[f"c{i}" for i in range(canaries)])


def one_run(
    estimator: Estimator,
    canaries: int = 100,
    guesses: int | None = None,
    *,
    rows: int = 20_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Outcome:
    """Audit with a single fit: a canary's score is the share of synthetic rows that have its 1."""
    guesses = canaries // 2 if guesses is None else guesses
    if not 2 <= guesses <= canaries:
        raise UsageError(f"guesses={guesses} must lie between 2 and the number of canaries, {canaries}")
    schema = canary_schema(canaries)
    plan = estimator.plan(schema)
    secret = np.random.default_rng(seed).random(canaries) < 0.5
    fitted = shadow_fits(estimator, canary_table(np.flatnonzero(secret), canaries), schema, 1, seed=seed, plan=plan)
    table = sample_tables(fitted, rows, seed)[0]
    scores = table.to_numpy(float).mean(axis=0)
    claim = Claim(plan.budget.epsilon if plan.valid else np.inf, plan.budget.delta)
    return judge(scores, secret, guesses, claim, confidence)


def judge(scores: np.ndarray, secret: np.ndarray, guesses: int, claim: Claim, confidence: float = 0.95) -> Outcome:
    """Guess `in` for the highest scores and `out` for the lowest, half each, and count."""
    order = np.argsort(scores, kind="stable")
    said_out, said_in = order[: guesses // 2], order[len(order) - (guesses - guesses // 2) :]
    right = int((~secret[said_out]).sum() + secret[said_in].sum())
    level, many = 1.0 - confidence, len(scores)
    bound = Bound(
        kind="one-run",
        epsilon=epsilon_bound(many, guesses, right, claim.delta, level),
        upper=None,
        confidence=confidence,
        largest=epsilon_bound(many, guesses, guesses, claim.delta, level),
        frequentist=True,
        detail=f"{right} of {guesses} guesses about {many} canaries right, in one fit",
    )
    thresholds = np.unique(scores)[::-1]
    curve: list[tuple[float, float]] = [(0.0, 0.0)]
    for threshold in thresholds[:: max(1, len(thresholds) // 150)]:
        said = np.asarray(scores >= threshold)
        curve.append(
            (
                float(said[~secret].mean()) if (~secret).any() else 0.0,
                float(said[secret].mean()) if secret.any() else 0.0,
            )
        )
    return Outcome(
        threat="black-box",
        attack="one-run",
        target=f"{many} canaries",
        runs=1,
        test_runs=1,
        bounds=(bound,),
        roc=(*curve, (1.0, 1.0)),
        violated=bound.epsilon > claim.epsilon,
    )
