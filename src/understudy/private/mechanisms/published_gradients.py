"""G-PATE's directions with the published, data-dependent price. NOT a valid guarantee; for research.

Confident-GNMax as in `teacher_gradients`, with given noise. Each question costs, at order a (Long et al. 2021, Appendix A.5),

    a / (2 sigma_test^2)  +  (if answered)  the bound of Theorem 7 on the arg-max, from the true votes

summed over questions; when min_a (cost(a) + log(1/delta) / (a - 1)) reaches epsilon, nothing is answered any more. The
conditions of Theorem 7 are checked, and a / sigma_answer^2 is charged where one fails; `accounting.pate2018` has the
same in double precision.

Why the guarantee is void: the votes are private, so the price is private, and so is a stopping time chosen by it.
"""

from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.private.blocks import Blocks
from understudy.private.mechanisms.teacher_gradients import Ensembles, TeacherGradients
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Shards
from understudy.questions.rounds import Directions, Probe

ORDERS = np.concatenate([np.arange(1.25, 10, 0.25), np.arange(10, 64), np.arange(64, 513, 8)]).astype(np.float32)
BEST = -1e8  # least log q: beyond it float32 loses what is added to it


@dataclass(frozen=True)
class PublishedGradients:
    """Public settings of the votes, and the budget at which the published accountant stops."""

    directions: TeacherGradients
    epsilon: float
    delta: float

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        return self.directions.tape(rounds, noise)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, tuple[Ensembles, Any]]:
        shards, ensembles = self.directions.prepare(blocks, noise)
        return shards, (ensembles, np.zeros((len(self.directions.teachers), len(ORDERS)), np.float32))

    def answer(
        self,
        data: Shards,
        held: tuple[Ensembles, Any],
        query: Probe,
        noise: Int[Array, "groups judged projected test_and_bins"],
        key: PRNGKeyArray,
    ) -> tuple[tuple[Ensembles, Any], Directions]:
        ensembles, cost = held
        subject = self.directions
        weights = subject.train(data, ensembles.weights, query.practice)
        votes = subject.histograms(weights, query)
        going = jnp.logical_not(self.spent(cost))
        answered = subject.consensus(votes, noise[..., 0]) & going
        middle = subject.middle(votes, noise[..., 1:])
        price = jnp.where(answered[..., None], dependent_price(votes, subject.sigma_answer), 0.0)
        price = price + jnp.asarray(ORDERS / (2.0 * subject.sigma_test**2))[None, None, None, :]
        cost = cost + jnp.where(going, price.sum(axis=(1, 2)), 0.0)
        held = Ensembles(weights, ensembles.left), cost
        return held, Directions(jnp.where(answered, middle, 0.0), answered)

    def spent(self, cost: Float[Array, "groups orders"]) -> Any:
        """The published stopping rule. It looks at private votes, which is what voids the guarantee."""
        touched = self.directions.touched
        total = cost.max(axis=0) if touched == 1 else cost.sum(axis=0)
        return (total + np.log(1.0 / self.delta) / (ORDERS - 1.0)).min() >= self.epsilon

    def exhausted(self, held: tuple[Ensembles, Any]) -> bool:
        return bool(self.spent(jnp.asarray(held[1])))


def dependent_price(
    votes: Int[Array, "groups judged projected bins"], sigma: float
) -> Float[Array, "groups judged projected orders"]:
    """Theorem 7 for every question and order, the data-independent price where a condition fails."""
    count = votes.astype(jnp.float32)
    gap = (count.max(axis=-1, keepdims=True) - count) / (2.0 * sigma)
    winner = jax.nn.one_hot(jnp.argmax(votes, axis=-1), votes.shape[-1], dtype=bool)
    tail = jnp.where(winner, -jnp.inf, jax.scipy.stats.norm.logsf(gap * np.sqrt(2.0)))  # log(erfc(x) / 2)
    log_q = jnp.minimum(jax.scipy.special.logsumexp(tail, axis=-1), np.log1p(-1.0 / votes.shape[-1]))
    log_q = jnp.maximum(log_q, BEST)[..., None]
    order = jnp.asarray(ORDERS)[None, None, None, :]
    flat = order / sigma**2
    mu2 = jnp.maximum(sigma * jnp.sqrt(-log_q), 1.0 + 1e-6)
    mu1, eps2 = mu2 + 1.0, mu2 / sigma**2
    limit = (mu2 - 1.0) * eps2 - mu2 * (jnp.log(mu1 / (mu1 - 1.0)) + jnp.log(mu2 / (mu2 - 1.0)))
    valid = (sigma * jnp.sqrt(-log_q) > 1.0 + 1e-6) & (order <= mu1) & (log_q + eps2 < 0.0) & (log_q <= limit)
    safe = jnp.where(valid, log_q, -2.0)  # any number for which the formulas below are finite
    exponent = jnp.where(valid, (log_q + eps2) * (mu2 - 1.0) / mu2, -1.0)
    keep = jnp.log1p(-jnp.exp(safe))
    first = keep + (order - 1.0) * (keep - jnp.log1p(-jnp.exp(exponent)))
    second = safe + (order - 1.0) * (mu1 / sigma**2 - safe / (mu1 - 1.0))
    bound = jnp.maximum(jnp.logaddexp(first, second) / (order - 1.0), 0.0)
    return jnp.where(valid, jnp.minimum(flat, bound), flat)
