"""The exponential mechanism over marginals (`understudy.questions.choices`), exact on integer scores.

The exact counts are those of `counts.py`; the curator keeps them, because choices look at the same marginals again
and again.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from understudy.private.answers.counts import Exact, count_block, nothing, unit_shares
from understudy.private.mapping import Block, apply
from understudy.private.noise import IntArray, NoiseSource, opendp
from understudy.questions import MarginalChoice

LARGEST = (1 << 63) - 1  # score


def start(question: MarginalChoice, width: int) -> Exact:
    """Counts of no rows."""
    return nothing(question.sizes, question.candidates)


def add(question: MarginalChoice, total: Exact, block: Block) -> None:
    """Add the rows of one block."""
    weights = unit_shares(block, question.grid) if question.grid > 1 else None
    count_block(apply(question.cells, block), question.sizes, total, weights)


def release(question: MarginalChoice, total: Exact, noise: NoiseSource) -> int:
    """The number of the chosen candidate."""
    public = zip(question.candidates, question.estimates, question.penalties, question.weights, strict=True)
    scores = [w * score(total[clique], estimate, penalty, question.grid) for clique, estimate, penalty, w in public]
    return noisy_max(scores, question.scale, noise)


def score(counts: IntArray, estimate: ArrayLike, penalty: int, grid: int = 1) -> int:
    """L1 distance of integer counts, less a public penalty, in steps of the grid."""
    return int(np.abs(counts.ravel() - grid * np.asarray(estimate, np.int64).ravel()).sum()) - grid * penalty


def noisy_max(scores: Sequence[int], scale: float, noise: NoiseSource) -> int:
    """The number of the chosen candidate."""
    if noise.void_reason:  # seeded, for tests: the same distribution from a reproducible generator
        seed = int.from_bytes(noise.secret(16), "little")
        gumbel = np.random.default_rng(seed).gumbel(0.0, scale, len(scores))
        return int(np.argmax(np.asarray(scores, np.float64) + gumbel))
    dp = opendp()
    space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.linf_distance(T="i64")
    # With zero-concentrated divergence as its measure OpenDP's noisy max is the Gumbel one: the exponential mechanism.
    choose = dp.m.make_noisy_max(*space, dp.measures.zero_concentrated_divergence(), scale=scale)
    return int(choose([within(int(value)) for value in scores]))


def within(score: int) -> int:
    """A score that fits 64 bits: beyond them OpenDP would refuse it, with the number in its message. Cut off, it moves no further
    than it did."""
    return max(-LARGEST, min(score, LARGEST))
