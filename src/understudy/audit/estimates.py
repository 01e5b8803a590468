"""From wrong guesses to a bound on epsilon.

A distinguisher that guesses between D and D' has a false positive rate a and a false negative rate b. Every (epsilon, delta)-DP
mechanism keeps both inequalities, every mu-GDP mechanism the third (Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022):

    a + e^epsilon b >= 1 - delta        e^epsilon a + b >= 1 - delta        a + b >= 2 Phi(-mu / 2)

so that confident upper bounds on the error rates are lower bounds on epsilon. Three readings of n guesses on each side:

    clopper-pearson   a, b replaced by their exact upper limits, each at half the allowed error (Nasr et al. 2021); holds for
                      every mechanism. With no error at all in 400 + 400 guesses it can show 4.68 and no more.
    gaussian          for claims that are Gaussian (mu-GDP): the number of wrong guesses among 2n is at least as large as
                      Binomial(2n, Phi(-mu/2)) (Hoeffding 1956, Theorem 5: given its mean, the lower tail is heaviest when both
                      rates are equal), so an exact binomial test bounds mu, and mu converts to epsilon at delta. This is the
                      trade-off audit of Nasr et al. 2023 with one test in place of two. It refutes a Gaussian claim; about
                      a mechanism that claims (epsilon, delta) alone it says nothing.
    bayesian          a, b ~ Beta(1/2 + errors, 1/2 + rest): central credible interval of the epsilon they imply
                      (Zanella-Beguelin et al. 2023). Not a frequentist bound: nothing limits how often it is too high.

Both frequentist readings are valid for a test (threshold, direction) that was chosen without the runs they are computed on.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import beta as beta_law
from scipy.stats import binom

from understudy.accounting import gaussian
from understudy.audit.result import Bound

DRAWS = 50_000  # of the posterior; its quantiles move by about 1 % between seeds


@dataclass(frozen=True)
class Claim:
    """What is claimed: (epsilon, delta), and mu where the guarantee is that of Gaussian noise. Infinite: nothing is claimed."""

    epsilon: float
    delta: float
    mu: float | None = None


@dataclass(frozen=True)
class Errors:
    """Wrong guesses on `runs` runs of D' (false positives: said D) and `runs` runs of D (false negatives: said D')."""

    false_positives: int
    false_negatives: int
    runs: int  # on each side

    @property
    def rates(self) -> tuple[float, float]:
        """False positive and false negative rate."""
        return self.false_positives / self.runs, self.false_negatives / self.runs

    def words(self) -> str:
        """The counts behind the rates."""
        return (
            f"{self.false_positives} of {self.runs} tables without the target taken for one with it, "
            f"{self.false_negatives} of {self.runs} the other way round"
        )


def upper_limit(errors: int | np.ndarray, runs: int, level: float) -> np.ndarray:
    """Exact upper confidence limit of a rate: exceeded by the truth with probability at most `level`."""
    errors = np.asarray(errors)
    found = beta_law.ppf(1.0 - level, np.minimum(errors, runs - 1) + 1, runs - np.minimum(errors, runs - 1))
    return np.asarray(np.where(errors < runs, found, 1.0))


def implied(a: np.ndarray, b: np.ndarray, delta: float) -> np.ndarray:
    """The smallest epsilon that error rates a and b allow."""
    with np.errstate(divide="ignore"):
        one = np.log(np.maximum(1.0 - b - delta, 0.0)) - np.log(np.maximum(a, 1e-300))
        two = np.log(np.maximum(1.0 - a - delta, 0.0)) - np.log(np.maximum(b, 1e-300))
    return np.asarray(np.maximum(np.maximum(one, two), 0.0))


def clopper_pearson_epsilon(
    false_positives: int | np.ndarray, false_negatives: int | np.ndarray, runs: int, delta: float, level: float
) -> np.ndarray:
    """Lower bound on epsilon, wrong with probability at most `level`; takes arrays of counts."""
    a, b = upper_limit(false_positives, runs, level / 2), upper_limit(false_negatives, runs, level / 2)
    return implied(a, b, delta)


def gaussian_mu(wrong: int, guesses: int, level: float) -> float:
    """Lower bound on mu from the number of wrong guesses, half of them about D and half about D'."""

    def excess(mu: float) -> float:
        return float(binom.cdf(wrong, guesses, ndtr(-mu / 2.0))) - level

    if excess(0.0) >= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, 80.0, xtol=1e-10))


def clopper_pearson(errors: Errors, delta: float, level: float, joint: float) -> Bound:
    """`level`: error allowed to this bound; `joint`: to all bounds that are reported together."""

    def count(a: int, b: int) -> float:
        return float(clopper_pearson_epsilon(a, b, errors.runs, delta, level))

    return Bound(
        kind="clopper-pearson",
        epsilon=count(errors.false_positives, errors.false_negatives),
        upper=None,
        confidence=1.0 - joint,
        largest=count(0, 0),
        frequentist=True,
        detail=f"{errors.words()}; {words_of(level, joint)}",
    )


def gaussian_bound(errors: Errors, delta: float, level: float, joint: float) -> Bound:
    """Lower bound on epsilon by the trade-off curve of Gaussian noise at the same mu."""
    guesses, wrong = 2 * errors.runs, errors.false_positives + errors.false_negatives
    found, most = gaussian_mu(wrong, guesses, level), gaussian_mu(0, guesses, level)
    return Bound(
        kind="gaussian",
        epsilon=gaussian.epsilon(found, delta),
        upper=None,
        confidence=1.0 - joint,
        largest=gaussian.epsilon(most, delta),
        frequentist=True,
        detail=f"{wrong} of {guesses} guesses wrong: mu at least {found:.4g}, converted at delta {delta:g}; "
        f"{words_of(level, joint)}",
    )


def bayesian(errors: Errors, delta: float, confidence: float) -> Bound:
    """Credible interval of epsilon under Jeffreys' prior on both error rates."""
    low, high = credible(errors.false_positives, errors.false_negatives, errors.runs, delta, confidence)
    return Bound(
        kind="bayesian",
        epsilon=low,
        upper=high,
        confidence=confidence,
        largest=credible(0, 0, errors.runs, delta, confidence)[0],
        frequentist=False,
        detail=f"{errors.words()}; central interval under Jeffreys' prior",
    )


def credible(
    false_positives: int, false_negatives: int, runs: int, delta: float, confidence: float
) -> tuple[float, float]:
    """Central credible interval of epsilon. The draws have a fixed seed: same counts, same answer."""
    rng = np.random.default_rng(0)
    a = rng.beta(0.5 + false_positives, 0.5 + runs - false_positives, DRAWS)
    b = rng.beta(0.5 + false_negatives, 0.5 + runs - false_negatives, DRAWS)
    found = implied(a, b, delta)
    low, high = np.quantile(found, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return float(low), float(high)


def words_of(level: float, joint: float) -> str:
    """With which confidence a bound holds, alone and together with the others."""
    if math.isclose(level, joint):
        return f"holds with confidence {1.0 - joint:.4g}"
    return f"computed at {1.0 - level:.4g}, so that all bounds of this audit hold together with confidence {1.0 - joint:.4g}"


# -- which test: threshold and direction, chosen on runs that the bounds never see ------------------------------------------
@dataclass(frozen=True)
class Rule:
    """Say "D" when sign * score > threshold."""

    threshold: float
    sign: float = 1.0

    def errors(self, without: np.ndarray, with_: np.ndarray) -> Errors:
        """Both sides are cut to the same number of runs, which the Gaussian reading needs."""
        runs = min(len(without), len(with_))
        said = [self.sign * scores[:runs] > self.threshold for scores in (without, with_)]
        return Errors(int(said[0].sum()), int(runs - said[1].sum()), runs)


def counts_at(without: np.ndarray, with_: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds between distinct scores, with the false positives and false negatives at each."""
    levels = np.unique(np.concatenate([without, with_]))
    thresholds = np.concatenate([[levels[0] - 1.0], (levels[:-1] + levels[1:]) / 2.0, [levels[-1] + 1.0]])
    false_positives = len(without) - np.searchsorted(np.sort(without), thresholds, side="right")
    false_negatives = np.searchsorted(np.sort(with_), thresholds, side="right")
    return thresholds, false_positives, false_negatives


def best_rule(without: np.ndarray, with_: np.ndarray, kind: str, delta: float, level: float) -> Rule:
    """The test that would have given the largest bound of this kind on these runs."""
    best, found = Rule(0.0), -1.0
    runs = min(len(without), len(with_))
    if runs == 0:
        return best
    for sign in (1.0, -1.0):
        thresholds, a, b = counts_at(sign * without[:runs], sign * with_[:runs])
        if kind == "gaussian":
            values = 1.0 - (a + b) / (2.0 * runs)
        else:
            values = clopper_pearson_epsilon(a, b, runs, delta, level)
            values = values + 1e-3 * (1.0 - (a + b) / (2.0 * runs))  # where nothing is shown, at least guess well
        number = int(np.argmax(values))
        if values[number] > found:
            best, found = Rule(float(thresholds[number]), sign), float(values[number])
    return best
