"""A convolutional generator of pictures, trained to the moments that were released. Post-processing: it costs nothing.

The network of `nn.images.Deconv` draws pictures of a group. Per step one class and two independent batches of its pictures:
with r = z - centre of the group on the kept low frequencies, and C_1, C_2 the second moments of r in the two batches,

    loss = <C_1 - S, C_2 - S> / |S|^2  +  sum_g share_g |mean of r in g|^2 / tr S,

both without bias (the second leaves out squares of single rows), so that small batches do not favour small variances. It starts
as the flat one does, with each pixel's location and deviation, and learns what pixels do together.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray

from understudy.methods.pictures.generator import Mixture, PictureGenerator, flat_weights
from understudy.nn.copula import Params
from understudy.questions.frequencies import Frequencies

STEPS, ROWS, RATE = 600, 96, 3e-3
LEAK = 0.05  # of the gradient through pixels that are cut off


def conv_weights(generator: PictureGenerator, mixture: Mixture) -> dict[str, np.ndarray]:
    """Weights of a convolutional generator that was trained to draw like the released mixture."""
    flat = flat_weights(generator, mixture)
    basis = Frequencies(generator.shape, generator.kept).basis()
    factors = flat["factor"][mixture.owner]
    drawn = np.sqrt(np.stack([((own @ basis) ** 2).sum(axis=0) for own in factors]))
    network, key = generator.network, jax.random.key(0, impl="rbg")  # public: first weights and latent noise
    params = network.init(key, flat["location"], np.log(flat["scale"] * drawn + 1e-3))
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))
    targets = Targets(generator, mixture, flat["share"], basis)

    @jax.jit
    def step(params: Params, state: optax.OptState, number: Array) -> tuple[Params, optax.OptState]:
        gradient = jax.grad(targets.loss)(params, jax.random.fold_in(key, number), number % generator.classes)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(params, updates), state

    state = optimiser.init(params)
    for number in range(STEPS):  # in a compiled loop the same steps took more than twice as long on a processor
        params, state = step(params, state, number)
    return {"share": flat["share"]} | {name: np.asarray(value) for name, value in params.items()}


class Targets:
    """Released moments as arrays, and how far a network's pictures are from them."""

    def __init__(self, generator: PictureGenerator, mixture: Mixture, share: np.ndarray, basis: np.ndarray) -> None:
        self.generator = generator
        self.share = jnp.asarray(share, jnp.float32)
        self.centre = jnp.asarray(mixture.centre[:, : generator.kept], jnp.float32)
        self.covariance = jnp.asarray(mixture.covariance, jnp.float32)
        self.basis = jnp.asarray(basis.T, jnp.float32)

    def loss(self, params: Params, key: PRNGKeyArray, label: Array) -> Array:
        """Of one picture of one class."""
        key_group, key_row = jax.random.split(key)
        group = jax.random.categorical(key_group, jnp.log(self.share[label] + 1e-30), shape=(2 * ROWS,))
        score = self.generator.network.scores(params, group, key_row)
        cut = jnp.clip(score, 0.0, 1.0)
        picture = cut + LEAK * ((score - cut) - jax.lax.stop_gradient(score - cut))
        away = picture @ self.basis - self.centre[group]
        wanted = self.covariance[label]
        first, second = (part.T @ part / ROWS - wanted for part in (away[:ROWS], away[ROWS:]))
        member = jax.nn.one_hot(group, self.generator.groups)
        pairs = jnp.maximum(member.sum(axis=0) * (member.sum(axis=0) - 1.0), 1.0)
        alike = ((member.T @ away) ** 2).sum(axis=1) - member.T @ (away**2).sum(axis=1)
        shape = (first * second).sum() / (wanted**2).sum()
        return shape + (self.share[label] * alike / pairs).sum() / jnp.trace(wanted)
