"""The picture generator of the mean-embedding method: per class a mixture of cut-off normals with released moments.

    flat    group g ~ released shares of the class,  s ~ N(0, S_c) on low frequencies,  x = clip(m_g + r_g * (B^T s), 0, 1)
    conv    the same groups, x = clip(m_g + r_g * network(latent, g), 0, 1), a transposed convolution trained to the same moments

A pixel is a normal value cut off at black and white, with the released mean and variance after the cut: dark background is
black, strokes are sharp, and what neighbouring pixels share comes from S_c. m, r, S are post-processing of released sums.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy.spatial import cKDTree
from scipy.special import ndtr

from understudy.conversation import Silent
from understudy.measure.shrinkage import spectral
from understudy.nn.copula import Params, mismatch
from understudy.nn.heads import Heads
from understudy.nn.images import Deconv
from understudy.questions.frequencies import Frequencies, Shape
from understudy.schema import Codec

Kind = Literal["flat", "conv"]
# Fashion-MNIST at epsilon 1 was looked at (docs/images.md). How each number was chosen is not written anywhere: first values, as
# far as can be told. RARE keeps dark pixels grey now and then, instead of hardly ever white (commit c2f7440).
BAND = 16  # neighbouring frequencies that are heard together
LATENT, HIDDEN, MAPS, KERNELS = 32, 64, 32, 16  # of the convolutional network
FULL = 0.97  # largest variance of a pixel, over that of black and white with its mean
WIDEST = 1.0  # deviation of a pixel before it is cut off, in units of black to white
RARE = 2.0  # a normal lies at most so many of its deviations beyond black or white


@dataclass(frozen=True)
class PictureGenerator(Silent):
    """Public settings of a mixture of groups of pictures."""

    shape: Shape
    classes: int
    groups: int
    kept: int  # frequencies that vary within a group
    kind: Kind

    @property
    def network(self) -> Deconv:
        """Its `classes` are the groups."""
        size = int(np.prod(self.shape))
        return Deconv(Heads(size, ()), self.groups, LATENT, HIDDEN, self.shape, KERNELS, MAPS)

    def init(self, key: PRNGKeyArray, hints: Params) -> Params:
        return {name: jnp.asarray(value, jnp.float32) for name, value in hints.items()}

    def sampler(self, state: Params) -> Params:
        return dict(state)

    def sample(self, sampler: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        key_group, key_row = jax.random.split(key)
        group = jax.random.categorical(key_group, jnp.log(sampler["share"] + 1e-30)[classes])
        if self.kind == "conv":
            return jnp.clip(self.network.scores(sampler, group, key_row), 0.0, 1.0)
        normal = jax.random.normal(key_row, (classes.shape[0], self.kept))

        def add(total: Array, item: tuple[Array, Array]) -> tuple[Array, None]:
            own, number = item
            return jnp.where((classes == number)[:, None], normal @ own, total), None

        drawn = jax.lax.scan(add, jnp.zeros_like(normal), (sampler["factor"], jnp.arange(self.classes)))[0]
        basis = jnp.asarray(Frequencies(self.shape, self.kept).basis(), jnp.float32)
        return jnp.clip(sampler["location"][group] + sampler["scale"][group] * (drawn @ basis), 0.0, 1.0)

    # -- artifact --------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "classes"} | {"shape": list(self.shape)}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "PictureGenerator":
        """The way back from `to_dict`."""
        return cls(**(settings | {"shape": tuple(settings["shape"]), "classes": codec.class_count}))

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        size = int(np.prod(self.shape))
        shapes: dict[str, tuple[int, ...]] = {"share": (self.classes, self.groups)}
        if self.kind == "conv":
            shapes |= self.network.shapes()
        else:
            shapes |= {"factor": (self.classes, self.kept, self.kept)}
            shapes |= {"location": (self.groups, size), "scale": (self.groups, size)}
        return mismatch(weights, shapes)


@dataclass(frozen=True)
class Mixture:
    """What was released, cleaned of noise: groups of pictures and how they vary."""

    owner: np.ndarray  # int [groups]: the class of each
    share: np.ndarray  # [groups], adds up to 1 in every class
    centre: np.ndarray  # [groups, frequencies]
    covariance: np.ndarray  # [classes, kept, kept], within groups


def flat_weights(generator: PictureGenerator, mixture: Mixture) -> dict[str, np.ndarray]:
    """The flat network, in closed form: location and scale of every pixel of a group, and the factor of every class."""
    frequencies = Frequencies.of(generator.shape)
    mean = np.clip(mixture.centre @ frequencies.basis(), 2e-3, 1.0 - 2e-3)
    basis = Frequencies(generator.shape, generator.kept).basis()
    factors = np.stack([factor(own) for own in mixture.covariance])
    drawn = np.stack([((own @ basis) ** 2).sum(axis=0) for own in factors])[mixture.owner]
    location, deviation = cut_off(mean, np.minimum(drawn, FULL * mean * (1.0 - mean)))
    share = np.zeros((generator.classes, generator.groups))
    share[mixture.owner, np.arange(generator.groups)] = mixture.share
    scale = deviation / np.sqrt(drawn + 1e-9)
    return {"share": share, "factor": factors, "location": location, "scale": scale}


# -- post-processing -------------------------------------------------------------------------------------------------------
def wiener(values: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Noisy deviations [groups, frequencies] as far as their band stands out from noise of deviation `error` [groups, 1].

    Wiener's filter with the signal's size from the values themselves, all groups and BAND neighbouring frequencies together.
    """
    found = np.zeros_like(values)
    for first in range(0, values.shape[1], BAND):
        own = values[:, first : first + BAND]
        signal = max(float((own**2 - error**2).mean()), 0.0)
        found[:, first : first + BAND] = own * signal / (signal + error**2 + 1e-12)
    return found


def covariances(noisy: np.ndarray, error: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Covariances per class [classes, k, k]: falling variances, plus what all classes share, plus what each has of its own."""
    pooled, shared = np.tensordot(weight, noisy, 1), float(np.sqrt(((weight * error) ** 2).sum()))
    bands = np.arange(len(pooled)) // (BAND // 2)
    variance = np.bincount(bands, np.diag(pooled)) / np.bincount(bands)
    plain = np.diag(np.minimum.accumulate(np.maximum(variance, 1e-4))[bands])
    common = plain + spectral(pooled - plain, shared)
    return np.stack([common + spectral(own - common, noise) for own, noise in zip(noisy, error, strict=True)])


def factor(covariance: np.ndarray) -> np.ndarray:
    """L with normal @ L ~ N(0, covariance), whatever noise left of its definiteness."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)


def cut_off(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Location and deviation of the normals that have this mean and variance once they are cut off at 0 and 1.

    From a table; what none of its normals reaches gets the nearest, in mean first. Locations more than RARE deviations beyond
    black or white are left out: a dark pixel is then sometimes grey, instead of hardly ever white, which would be specks.
    """
    m, s = (a.ravel() for a in np.meshgrid(np.linspace(-2, 3, 201), np.geomspace(0.005, WIDEST, 80), indexing="ij"))
    allowed = (m >= -RARE * s) & (m <= 1.0 + RARE * s)
    m, s = m[allowed], s[allowed]
    low, high = -m / s, (1.0 - m) / s
    inside, above = ndtr(high) - ndtr(low), 1.0 - ndtr(high)
    at_low, at_high = (np.exp(-(t**2) / 2.0) / np.sqrt(2.0 * np.pi) for t in (low, high))
    first = m * inside + s * (at_low - at_high) + above
    second = (m**2 + s**2) * inside + s * (m * at_low - (m + 1.0) * at_high) + above
    tree = cKDTree(np.stack([4.0 * first, np.sqrt(np.maximum(second - first**2, 0.0))], axis=1))
    wanted = np.stack([4.0 * mean, np.sqrt(np.maximum(variance, 0.0))], axis=-1).reshape(-1, 2)
    found = tree.query(wanted)[1]
    return m[found].reshape(mean.shape), s[found].reshape(mean.shape)


def codebook(points: np.ndarray, size: int, turns: int = 8) -> np.ndarray:
    """Lloyd's algorithm on points that are public; the first `size` points are where it starts."""
    centres = points[:size].copy()
    for _ in range(turns):
        own = nearest(points, centres)
        for g in np.unique(own):
            centres[g] = points[own == g].mean(axis=0)
    return centres


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Number of the nearest centre; exact, and so the same wherever a point stands, where all numbers are on the grid."""
    return np.asarray(((centres**2).sum(axis=1)[None, :] - 2.0 * points @ centres.T).argmin(axis=1))
