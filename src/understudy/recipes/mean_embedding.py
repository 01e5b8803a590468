"""Mean embedding as a method: a few noisy class sums, then a generator in closed form (after DP-MERF, Harder et al. 2021).

DP-MERF releases one noisy mean embedding per class, the mean of a feature map, and fits a generator to it. Here the features are
chosen so that the generator needs no training: with z the normal score of a value under the released column distribution,

    class moments    sum of (a z, x - p, a b (|z| - E|z|))                    locations, scales and rates per class
    class cells      sum of one-hot cells of every numeric column             shapes per class
    class pairs      sum of e e^T,  e = (a z, x - p) - model mean of the class      dependence between columns

and the generator is the latent normal that has these moments (`understudy.generators.moments`). Every sum is one Gaussian
answer of norm at most 1 per unit (`NoisySum`, `SecondMoments`); the clipping radii come from what was released before and
from public values, and the shares of the budget from public values only.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa
import numpy as np
from scipy.special import ndtri

from understudy.accounting import Plan
from understudy.estimator import Announced, Estimator, Opening, check_positive
from understudy.generators.mean_embedding import Latent, MeanEmbeddingGenerator, table_points
from understudy.generators.moments import (
    LATENT,
    Block,
    Observed,
    fit_latent,
    james_stein,
    latent_densities,
    quantile_table,
    spectral,
    target_mask,
)
from understudy.nn.heads import Heads
from understudy.private import Curator
from understudy.private.mechanisms.noisy_sum import NoisySum
from understudy.private.mechanisms.second_moments import SecondMoments
from understudy.recipes.footing import Footing, announce_footing, ask_footing, cells_of
from understudy.schema import Codec, Schema

MOMENTS, CELLS, PAIRS = "class moments", "class cells", "class pairs"
NUMERIC = 0.5  # weight a of a normal score beside an outcome of a discrete column
SPREAD = 0.7  # weight b of |z| beside z
ROOM = 1.1  # clipping radius over the root of the expected squared norm
PRESENCE = 0.3  # size of the constant coordinate over the clipping radius, where units have several rows
MOST_PRODUCTS = 200_000  # noise is drawn for so many products at most; beyond, one matrix serves all classes
MOST_CELLS = 4096  # coordinates of the class cells; bounds memory


@dataclass(kw_only=True, eq=False, repr=False)
class MeanEmbedding(Estimator):
    """Options: how the budget is shared. The rest follows from public and released values."""

    method: ClassVar[str] = "mean-embedding"

    marginals_share: float = 0.12
    moments_share: float = 0.45
    cells_share: float = 0.08
    pairs_share: float = 0.25
    rounds: int = 4  # simulate-and-correct rounds of the latent correlations

    def check_options(self) -> None:
        check_positive(
            marginals_share=self.marginals_share,
            moments_share=self.moments_share,
            cells_share=self.cells_share,
            pairs_share=self.pairs_share,
        )

    def announce(self, schema: Schema) -> list[Announced]:
        gaussian = dpa.GaussianDpEvent
        return [
            *announce_footing(self.marginals_share),
            Announced(MOMENTS, self.moments_share, gaussian, detail="locations, scales and rates per class"),
            Announced(CELLS, self.cells_share, gaussian, detail="shapes of numeric columns per class"),
            Announced(PAIRS, self.pairs_share, gaussian, detail="products of columns per class"),
        ]

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        noise = plan.parameters["noise"]
        least = noise.get("class histogram", 0.0) * codec.schema.max_rows_per_unit
        counts = np.maximum(counts, least)
        footing = ask_footing(curator, codec, float(counts.sum()), plan)
        embedding = Embedding(codec, footing, counts)
        moments = embedding.ask_moments(curator, noise[MOMENTS])
        cells = embedding.ask_cells(curator, noise[CELLS])
        densities, rates = embedding.margins(moments, cells)
        covariances = embedding.ask_pairs(curator, noise[PAIRS], densities, rates)
        latent = embedding.latent(densities, rates, covariances, self.rounds)
        generator = MeanEmbeddingGenerator(embedding.heads, codec.class_count, len(latent.factor) == 1)
        return Opening(generator, latent, marginals=footing.marginals)


class Embedding:
    """The feature maps of one table and the post-processing of their sums."""

    def __init__(self, codec: Codec, footing: Footing, counts: np.ndarray) -> None:
        self.codec, self.footing, self.counts = codec, footing, counts
        self.heads = Heads.of(codec.blocks, codec.width)
        self.numeric = footing.marginals.numeric
        self.discrete = np.flatnonzero(~self.heads.coordinates("numeric"))
        self.rates = footing.marginals.rates.astype(np.float64)
        self.score = footing.score_of_latent(LATENT)  # [grid, d]
        base = np.exp(-(LATENT**2) / 2.0)
        self.base = base / base.sum()
        self.expected = self.base @ np.abs(self.score)
        self.blocks = [(block.start, block.size) for block in codec.blocks if block.head != "numeric"]

    def vector(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """(a z, x - p) in the codec's order, and z."""
        z = self.footing.scores(rows)
        whole = np.asarray(rows, np.float64) - self.rates
        whole[:, self.numeric] = NUMERIC * z
        return whole, z

    # -- class moments -------------------------------------------------------------------------------------------------
    def ask_moments(self, curator: Curator, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Noisy class means of z and x - p [classes, width], of |z| - E|z| [classes, d], and the error of x - p [classes]."""
        square = self.base @ self.score**2
        outcomes = self.rates[self.discrete] * (1.0 - self.rates[self.discrete])
        width, spread = self.codec.width, NUMERIC * SPREAD
        radius = NUMERIC**2 * square.sum() + spread**2 * (square - self.expected**2).sum() + outcomes.sum()
        radius = ROOM * math.sqrt(radius + 0.05 * len(self.blocks))

        # Clipping shortens units of several rows; a constant coordinate counts how many rows are left of them.
        constant = 0.0 if self.codec.schema.unit is None else PRESENCE * radius
        radius = math.hypot(radius, constant)

        def features(rows: Any) -> np.ndarray:
            whole, z = self.vector(rows)
            present = np.full((len(whole), 1 if constant else 0), constant)
            return np.concatenate([whole, spread * (np.abs(z) - self.expected), present], axis=1) / radius

        sums = curator.feature_sum(MOMENTS, NoisySum(sigma), features).value * radius
        counts = self.counts
        if constant:
            counts, sums = np.clip(sums[:, -1] / constant, 0.1 * counts, counts), sums[:, :-1]
        means = sums / counts[:, None]
        return means[:, :width], means[:, width:] / spread, sigma * radius / counts

    # -- class cells -----------------------------------------------------------------------------------------------------
    def ask_cells(self, curator: Curator, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Noisy shares of merged cells [classes, d, cells], their error [classes, d], and latent cell edges [d, cells + 1]."""
        marginals, d = self.footing.marginals, len(self.numeric)
        size = max(2, min(marginals.edges.shape[1] - 1, MOST_CELLS // max(d, 1)))
        kept = np.rint(np.linspace(0, marginals.edges.shape[1] - 1, size + 1)).astype(int)
        edges, norm = marginals.edges[:, kept], math.sqrt(max(d, 1))

        def features(rows: Any) -> np.ndarray:
            cell = cells_of(rows, self.numeric, self.footing.flags, edges)
            found = np.zeros((len(rows), d * size))
            for j in range(d):
                present = np.flatnonzero(cell[:, j] >= 0)
                found[present, j * size + cell[present, j]] = 1.0 / norm
            return found

        sums = curator.feature_sum(CELLS, NoisySum(sigma), features).value * norm
        counted = sums.reshape(len(self.counts), d, size)
        noise = sigma * norm
        total = np.maximum(counted.sum(axis=2), noise * math.sqrt(size))  # rows whose value is not missing
        latent = ndtri(np.clip(marginals.cdf[:, kept].astype(np.float64), 1e-9, 1.0 - 1e-9))
        return counted / total[:, :, None], noise / total, latent

    # -- margins per class -------------------------------------------------------------------------------------------------
    def margins(
        self, moments: tuple[np.ndarray, np.ndarray, np.ndarray], cells: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Latent densities [classes, d, grid] and rates of discrete coordinates [classes, width]."""
        first, second, error = moments
        first[:, self.numeric] = towards_common(first[:, self.numeric], error, self.counts)
        second = towards_common(second, error / (NUMERIC * SPREAD), self.counts)
        shares, shares_error, edges = cells
        densities = []
        rates = np.tile(self.rates, (len(self.counts), 1))
        for c in range(len(self.counts)):
            own = Observed(
                first[c, self.numeric] / NUMERIC,
                second[c],
                error[c] / NUMERIC,
                error[c] / (NUMERIC * SPREAD),
                shares[c],
                shares_error[c][:, None],
            )
            densities.append(latent_densities(own, self.score, self.expected, edges, self.footing.group))
            for start, size in self.blocks:
                block = slice(start, start + size)
                rates[c, block] = self.class_rates(first[c, block], self.rates[block], error[c])
        return np.stack(densities), rates

    def class_rates(self, shift: np.ndarray, rates: np.ndarray, error: float) -> np.ndarray:
        """Rates of one block in one class: the overall ones, moved as far as the shift stands out from its noise."""
        # Outcome by outcome: a rare one whose shift is noise keeps the same ratio to the others in all classes.
        shift = shift - shift.mean() if len(shift) > 1 else shift
        moved = rates + james_stein(shift[:, None], error**2, 1)[:, 0] * shift
        if len(rates) == 1:
            return np.clip(moved, 0.05 * rates, 1.0 - 0.05 * (1.0 - rates))
        moved = np.maximum(moved, 0.05 * rates)
        return moved / moved.sum()

    # -- class pairs -------------------------------------------------------------------------------------------------------
    def model_moments(self, densities: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of (a z, x - p) per class, according to the margins."""
        mean, variance = rates - self.rates, rates * (1.0 - rates)
        z = np.einsum("cjt,tj->cj", densities, self.score)
        mean[:, self.numeric] = NUMERIC * z
        variance[:, self.numeric] = NUMERIC**2 * (np.einsum("cjt,tj->cj", densities, self.score**2) - z**2)
        return mean, np.maximum(variance, 1e-4)

    def ask_pairs(self, curator: Curator, sigma: float, densities: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Correlations between columns per class [1 or classes, width, width], cleaned of noise."""
        width, classes = self.codec.width, len(self.counts)
        mean, variance = self.model_moments(densities, rates)
        pooled = classes == 1 or classes * width * (width - 1) // 2 > MOST_PRODUCTS
        radius = ROOM * np.sqrt(variance.sum(axis=1))

        def features(rows: Any, label: Any) -> np.ndarray:
            return (self.vector(rows)[0] - mean[label]) / radius[label][:, None]

        mechanism = SecondMoments(sigma, pooled)
        sums = curator.second_moments(PAIRS, mechanism, features).value
        weight = self.counts / self.counts.sum()
        counts = self.counts.sum(keepdims=True) if pooled else self.counts
        inside = variance / radius[:, None] ** 2
        inside = (weight @ inside)[None, :] if pooled else inside
        mask = target_mask(width, [Block(start, size, np.zeros(size)) for start, size in self.blocks])
        matrices, deviations = [], []
        for own, count, var in zip(sums, counts, inside, strict=True):
            matrix = np.zeros((width, width))
            matrix[np.triu_indices(width, 1)] = own[:-1] / count
            error, trace = mechanism.deviation / count, 4.0 * own[-1] / count
            undo = np.clip(var.sum() / trace, 1.0, 2.0) if trace > 8.0 * error else 1.0  # what clipping took
            matrices.append(undo * (matrix + matrix.T) * mask)
            deviations.append(undo * error)
        errors = np.asarray(deviations)
        share = np.ones(1) if pooled else weight
        common = np.tensordot(share, np.stack(matrices), 1)
        common = spectral(common, float(np.sqrt(((share * errors) ** 2).sum())), mask)
        found = []
        for matrix, error, var in zip(matrices, errors, inside, strict=True):
            own = common if pooled else common + spectral(matrix - common, error, mask)
            scale = np.sqrt(var)
            found.append(np.clip(own / scale / scale[:, None], -0.98, 0.98) * mask)
        return np.stack(found)

    # -- the generator -----------------------------------------------------------------------------------------------------
    def latent(self, densities: np.ndarray, rates: np.ndarray, targets: np.ndarray, rounds: int) -> Latent:
        """What the generator needs, from margins and correlations."""
        random = np.random.default_rng(0)  # public: simulations only
        factors, offsets = [], []
        rounds = rounds if self.blocks else min(rounds, 1)  # numeric columns alone are nearly right at once
        for c in range(len(self.counts)):
            blocks = [Block(start, size, rates[c, start : start + size]) for start, size in self.blocks]
            target = targets[min(c, len(targets) - 1)]
            corrected = 0 if len(targets) < len(self.counts) else rounds
            correlation, offset = fit_latent(target, densities[c], self.score, self.numeric, blocks, corrected, random)
            offsets.append(offset)
            if c < len(targets):
                factors.append(np.linalg.cholesky(correlation))
        tables = np.stack([quantile_table(density, table_points()) for density in densities])
        return Latent(np.stack(factors), tables, np.stack(offsets))


def towards_common(values: np.ndarray, error: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Class means, each moved towards the mean over classes as far as its deviations could be noise (empirical Bayes)."""
    weight = counts / counts.sum()
    common = weight @ values
    shrunk = []
    for own, noise, share in zip(values, error, weight, strict=True):
        variance = noise**2 * (1.0 - 2.0 * share) + float((weight**2) @ (error**2))
        signal = max(float(((own - common) ** 2).mean()) - variance, 0.0) if len(common) else 0.0
        shrunk.append(common + signal / max(signal + variance, 1e-12) * (own - common))
    return np.stack(shrunk)
