"""Exact integer noise from secure bits, drawn as a tape ahead of the compiled program.

The noise does not depend on data, so it is drawn before a chunk of rounds runs and handed to the compiled step as an
array. Both samplers are OpenDP's, exact on the integers (Canonne, Kamath, Steinke 2020), fed by the operating system:

    discrete Gaussian   Pr[x] ~ exp(-x^2 / (2 scale^2))      discrete Laplace   Pr[x] ~ exp(-|x| / scale)

Noise that leaves 64 bits would be cut off at their end, and what is cut off hides nothing: scales so large are refused.

There is no seed and no default key. `SeededNoise` exists for tests and shadow models only; whatever was made with it is
stamped "noise was seeded: void" in its certificate.
"""

import secrets
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from understudy.errors import UsageError

Kind = Literal["gaussian", "laplace"]
IntArray = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
LARGEST_SCALE = 2.0**57  # noise beyond 64 times it, where 64-bit integers end, has probability below 1e-27


@cache
def opendp() -> SimpleNamespace:
    """The parts of OpenDP that are used, loaded when noise is first drawn: workers that add up never draw any, and its prelude
    loads polars and scikit-learn."""
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    return SimpleNamespace(m=measurements, domains=domains, measures=measures, metrics=metrics)


@runtime_checkable
class NoiseSource(Protocol):
    """Where a curator takes its noise and its secret keys from."""

    @property
    def void_reason(self) -> str:
        """Why a certificate does not hold with this noise; empty when it does."""
        ...

    def draw(self, kind: Kind, scale: float, shape: tuple[int, ...]) -> IntArray:
        """Exact integer noise of the given shape."""
        ...

    def secret(self, size: int) -> bytes:
        """Secret bytes."""
        ...


@dataclass(frozen=True)
class SecureNoise:
    """OpenDP's exact samplers and the operating system's generator. The only source behind a valid certificate."""

    void_reason: str = ""

    def draw(self, kind: Kind, scale: float, shape: tuple[int, ...]) -> IntArray:
        if not 0.0 <= scale <= LARGEST_SCALE:
            raise UsageError(
                "the noise on an answer would leave 64-bit integers; raise epsilon, or lower max_rows in the schema"
            )
        size = int(np.prod(shape, dtype=np.int64))
        if size == 0:
            return np.zeros(shape, np.int64)
        dp = opendp()
        domain = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
        if kind == "gaussian":
            sampler = dp.m.make_gaussian(domain, dp.metrics.l2_distance(T="f64"), scale=float(scale))
        else:
            sampler = dp.m.make_laplace(domain, dp.metrics.l1_distance(T="i64"), scale=float(scale))
        # Noise added to a public vector of zeros: the sampler is used for its bits, the data stay in the curator.
        return np.asarray(sampler(np.zeros(size, np.int64)), dtype=np.int64).reshape(shape)

    def secret(self, size: int) -> bytes:
        return secrets.token_bytes(size)


class SeededNoise:
    """Reproducible noise for tests and shadow models. Voids the guarantee, and says so."""

    void_reason = "noise was seeded: void"

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def draw(self, kind: Kind, scale: float, shape: tuple[int, ...]) -> IntArray:
        if kind == "gaussian":
            return np.rint(self._generator.normal(0.0, scale, shape)).astype(np.int64)
        flat = 1.0 - np.exp(-1.0 / scale)
        return (self._generator.geometric(flat, shape) - self._generator.geometric(flat, shape)).astype(np.int64)

    def secret(self, size: int) -> bytes:
        return self._generator.bytes(size)
