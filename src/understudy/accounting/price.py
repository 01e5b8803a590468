"""What a list of privacy events costs: upper bounds on epsilon and delta, for adding or removing one unit.

The sharpest valid bound is taken:

1. Only Gaussian answers: mu-GDP with mu^2 the sum of squares (`gaussian`, `lattice`). mu is that of the worst integer
   noise with this multiplier, 1 + 1/(24 sigma^2) times that of real noise. Against the exact price of integer noise and
   for delta <= 1e-3 that is within 1 % from sigma = 4 on, and from 2.7 on for ten or more answers.
2. Only pure answers of one strength: the exact binomial sum (`pure`).
3. Mixtures and Poisson samples: composition of privacy-loss distributions by dp_accounting ("connect the dots",
   Doroshenko et al. 2022: every rounding goes upward), with a grid fine enough that rounding costs well under 1 %. The
   Fourier transform inside is not rounded upward; `_FFT` bounds its error and is added to delta. Where delta is too
   small for that, the bound by GDP stands in (every pure answer is also GDP, and sampling never hurts).

Delta that is simply lost (`EpsilonDeltaDpEvent`) is taken off the target first: losses d_i in n releases leave
delta' with 1 - (1 - delta') prod (1 - d_i) <= delta.

Group privacy, parallel composition and sensitivities are the caller's business: an event is stated per privacy unit.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import dp_accounting as dpa
import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq

from understudy.accounting import gaussian, lattice, pure
from understudy.accounting.budget import Real
from understudy.accounting.events import EpsilonDeltaDpEvent, flatten
from understudy.accounting.sampled import LEAST_NOISE, sampled_gaussian
from understudy.errors import UsageError

Events: TypeAlias = "dpa.DpEvent | Iterable[dpa.DpEvent]"
Atoms = tuple[tuple[dpa.DpEvent, int], ...]
_FFT, _FFT_PER_ANSWER = 1e-14, 1e-17  # absolute error of delta by composition; about a tenth of it is seen in tests
_MOST_POINTS = 1_000_000
_MANY = 1000  # from so many answers on, pure answers are as good as Gaussian ones: within 0.5 % of epsilon


@dataclass(frozen=True)
class _Sorted:
    """Events by kind, with what makes their price."""

    mu: float  # of all events that are Gaussian
    pure: Mapping[float, int]
    sampled: Mapping[tuple[float, float], int]  # (rate, noise multiplier)
    lost: float  # probability that some release loses everything


def _sort(atoms: Atoms) -> _Sorted:
    pures: dict[float, int] = {}
    sampled: dict[tuple[float, float], int] = {}
    squares, log_kept = [], 0.0

    def lose(probability: float, times: int) -> None:
        nonlocal log_kept
        log_kept += times * math.log1p(-probability) if probability < 1 else -math.inf

    def add_pure(loss: float, times: int) -> None:
        if loss > 0:
            pures[loss] = pures.get(loss, 0) + times

    for event, times in atoms:
        match event:
            case dpa.NonPrivateDpEvent():
                lose(1.0, 1)
            case dpa.GaussianDpEvent():
                squares.append(times * lattice.mu_one(event.noise_multiplier) ** 2)
            case dpa.LaplaceDpEvent():
                add_pure(1 / event.noise_multiplier if event.noise_multiplier else math.inf, times)
            case EpsilonDeltaDpEvent():
                add_pure(float(event.epsilon), times)
                lose(event.delta, times)
            case dpa.PoissonSampledDpEvent():
                rate, multiplier = event.sampling_probability, event.event.noise_multiplier
                if rate == 0:
                    continue
                if multiplier < LEAST_NOISE:  # mu above 25: taken as not sampled
                    squares.append(times * lattice.mu_one(multiplier) ** 2)
                elif rate == 1:
                    squares.append(times * multiplier**-2)
                else:
                    sampled[rate, multiplier] = sampled.get((rate, multiplier), 0) + times
            case _:
                raise UsageError(f"{type(event).__name__} has no price here")
    return _Sorted(math.sqrt(math.fsum(squares)), pures, sampled, -math.expm1(log_kept))


def gaussian_mu(events: Events) -> float | None:
    """mu if all events are Gaussian (then they are mu-GDP together), else None."""
    kinds = _sort(_atoms(events))
    return None if kinds.pure or kinds.sampled or kinds.lost else kinds.mu


def epsilon(events: Events, delta: Real) -> float:
    """Smallest epsilon known for the events at this delta: never below the exact one. Infinite if there is none."""
    if not 0 <= delta < 1:
        raise UsageError(f"delta={delta} must lie between 0 and 1")
    return _epsilon(_atoms(events), float(delta))


def delta(events: Events, epsilon: Real) -> float:
    """Smallest delta known for the events at this epsilon: never below the exact one."""
    if not epsilon >= 0:
        raise UsageError(f"epsilon={epsilon} must be zero or more")
    return _delta(_atoms(events), float(epsilon))


def _atoms(events: Events) -> Atoms:
    return tuple(sorted(flatten(events).items(), key=repr))


@lru_cache(maxsize=4096)
def _epsilon(atoms: Atoms, target: float) -> float:
    kinds = _sort(atoms)
    left = (target - kinds.lost) / (1 - kinds.lost) if kinds.lost < 1 else -1.0
    if left <= 0 or math.isinf(kinds.mu) or any(math.isinf(loss) for loss in kinds.pure):
        return math.inf if not _only_pure_sum(kinds, target) else _pure_total(kinds)
    single = _simple(kinds)
    bounds = [single.epsilon(left)] if single else _mixture_epsilons(kinds, left)
    return max(0.0, min(bounds))


@lru_cache(maxsize=4096)
def _delta(atoms: Atoms, target: float) -> float:
    kinds = _sort(atoms)
    if kinds.lost == 1 or math.isinf(kinds.mu) or any(math.isinf(loss) for loss in kinds.pure):
        return 1.0
    single = _simple(kinds)
    spent = single.delta(target) if single else _mixture_delta(kinds, target)
    return min(1.0, spent + kinds.lost * (1 - min(spent, 1.0)))


def _only_pure_sum(kinds: _Sorted, target: float) -> bool:
    """Nothing of delta is left, but nothing else needs it: the plain sum of pure losses still holds. At delta 0 nothing may be
    lost, however little it is."""
    return kinds.lost <= target * (1 + 1e-12) and not kinds.mu and not kinds.sampled and kinds.lost < 1


def _pure_total(kinds: _Sorted) -> float:
    return math.fsum(loss * times for loss, times in kinds.pure.items())


@dataclass(frozen=True)
class _Curve:
    epsilon: Callable[[float], float]
    delta: Callable[[float], float]


def _simple(kinds: _Sorted) -> _Curve | None:
    """The closed form, where one kind of event stands alone."""
    if not kinds.pure and not kinds.sampled:
        return _Curve(lambda d: gaussian.epsilon(kinds.mu, d), lambda e: gaussian.delta(kinds.mu, e))
    if len(kinds.pure) == 1 and kinds.mu == 0 and not kinds.sampled:
        ((loss, times),) = kinds.pure.items()
        return _Curve(lambda d: pure.epsilon(loss, times, d), lambda e: pure.delta(loss, times, e))
    return None


def _as_gaussian(kinds: _Sorted) -> float:
    """mu of a mixture: pure answers taken as GDP, Poisson samples without the gain of sampling."""
    pures = (pure.mu_many(loss, times) for loss, times in kinds.pure.items())
    whole = (math.sqrt(times) / multiplier for (_, multiplier), times in kinds.sampled.items())
    return math.hypot(kinds.mu, *pures, *whole)


def _mixture_epsilons(kinds: _Sorted, target: float) -> list[float]:
    left_out, error = _left_out(kinds), _left_out(kinds) + _fft_error(kinds)
    bounds = [math.inf]
    if left_out < target:
        bounds.append(gaussian.epsilon(_as_gaussian(kinds), target - left_out))
    if not kinds.mu and not kinds.sampled:
        bounds.append(_pure_total(kinds))
    if _numeric(kinds) and error < target / 2:
        bounds.append(_epsilon_of_curve(_distribution(kinds), target - error))
    return bounds


def _mixture_delta(kinds: _Sorted, target: float) -> float:
    bounds = [1.0, gaussian.delta(_as_gaussian(kinds), target) + _left_out(kinds)]
    if not kinds.mu and not kinds.sampled and _pure_total(kinds) <= target:
        return 0.0
    if _numeric(kinds):
        error = _left_out(kinds) + _fft_error(kinds)
        bounds.append(float(_distribution(kinds).get_delta_for_epsilon(target)) + error)
    return min(bounds)


def _numeric(kinds: _Sorted) -> bool:
    """Whether composing distributions is sharper than GDP."""
    return bool(kinds.sampled) or any(times < _MANY for times in kinds.pure.values())


def _left_out(kinds: _Sorted) -> float:
    """Corners that `pure.mu_many` leaves out."""
    return pure.RARE * sum(2 + n / 5_000 for n in kinds.pure.values())


def _fft_error(kinds: _Sorted) -> float:
    answers = sum(n for n in kinds.pure.values() if n < _MANY) + sum(kinds.sampled.values())
    return _FFT + _FFT_PER_ANSWER * answers


def _epsilon_of_curve(distribution: Any, target: float) -> float:
    """Invert delta(epsilon); the library's own search walks the grid in Python and is slow for fine grids."""

    def excess(e: float) -> float:
        return math.log(max(float(distribution.get_delta_for_epsilon(e)), 1e-300)) - math.log(target)

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > 1e6:
            return math.inf
    return float(brentq(excess, 0.0, high, xtol=1e-8, rtol=1e-6)) * (1 + 2e-6) + 2e-8


@lru_cache(maxsize=64)
def _distribution_of(
    mu: float, pures: tuple[tuple[float, int], ...], sampled: tuple[tuple[tuple[float, float], int], ...]
) -> Any:
    step = _grid(mu, pures, sampled)
    with np.errstate(over="ignore"):  # a tail bound inside the library that it then ignores
        parts = []
        if mu > 0:
            parts.append(pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=step))
        for loss, times in pures:  # integer Laplace noise of sensitivity 1 is randomised response, see `pure`
            one = pld.from_discrete_laplace_mechanism(loss, value_discretization_interval=step, use_connect_dots=True)
            parts.append(one.self_compose(times))
        for (rate, multiplier), times in sampled:
            parts.append(sampled_gaussian(rate, multiplier, step).self_compose(times))
        total = parts[0]
        for part in parts[1:]:
            total = total.compose(part)
    return total


def _distribution(kinds: _Sorted) -> Any:
    """The privacy-loss distribution of a mixture. Long runs of pure answers enter as GDP: as sharp then, and faster."""
    few = {loss: times for loss, times in kinds.pure.items() if times < _MANY}
    mu = math.hypot(kinds.mu, *(pure.mu_many(loss, times) for loss, times in kinds.pure.items() if times >= _MANY))
    return _distribution_of(mu, tuple(sorted(few.items())), tuple(sorted(kinds.sampled.items())))


def _grid(mu: float, pures: Iterable[tuple[float, int]], sampled: Iterable[tuple[tuple[float, float], int]]) -> float:
    """Grid step h. Rounding adds at most h^2/4 to the variance of each answer's loss; keep the sum below 0.5 %."""
    variance, answers = mu**2, 1
    for loss, times in pures:
        variance += times * min(loss, loss**2)
        answers += times
    for (rate, multiplier), times in sampled:
        variance += times * min(rate**2 * math.expm1(min(multiplier**-2, 50.0)), multiplier**-2)
        answers += times
    spread = math.sqrt(variance)
    wanted = min(math.sqrt(0.02 * variance / answers), spread / 400)
    return max(wanted, (20 * spread + variance) / _MOST_POINTS)
