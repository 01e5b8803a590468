"""Mean embedding as a method: a few noisy class sums, then a generator in closed form (after DP-MERF, Harder et al. 2021).

DP-MERF releases one noisy mean embedding per class, the mean of a feature map, and fits a generator to it. Here the features
are chosen so that the generator needs no training: class moments, class cells and class pairs
(`understudy.measure.class_features`), and the generator is the latent normal that has them
(`understudy.measure.latent_normal`). The shares of the budget come from public values only. With so few rows that products
would be noise, all three answers ask for class means (`understudy.measure.few_rows`).
"""

from dataclasses import dataclass
from typing import ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.estimator import Estimator
from understudy.measure.class_features import CELLS, MOMENTS, PAIRS, Embedding
from understudy.measure.few_rows import ask_margins, few_rows
from understudy.measure.latent_normal import Block, fit_latent, quantile_table
from understudy.measure.one_way import PURPOSES, announce_footing, ask_footing, wide
from understudy.methods.mean_embedding.generator import Latent, MeanEmbeddingGenerator, table_points
from understudy.methods.pictures.generator import Maker
from understudy.methods.pictures.method import announce_pictures, begin_pictures, picture_shape
from understudy.private import Curator
from understudy.recipe import Announced, Opening, check_choice, check_positive
from understudy.schema import Codec, Schema


@dataclass(kw_only=True, eq=False, repr=False)
class MeanEmbedding(Estimator):
    """Options: how the budget is shared. The rest follows from public and released values."""

    method: ClassVar[str] = "mean-embedding"

    marginals_share: float = 0.12
    shapes_share: float = 0.25  # in wide tables only
    moments_share: float = 0.45
    cells_share: float = 0.08
    pairs_share: float = 0.25
    rounds: int = 4  # simulate-and-correct rounds of the latent correlations
    maker: Maker = "flat"  # of pictures; "conv": a convolutional network, trained to the same released moments

    def check_options(self) -> None:
        check_positive(
            marginals_share=self.marginals_share,
            shapes_share=self.shapes_share,
            moments_share=self.moments_share,
            cells_share=self.cells_share,
            pairs_share=self.pairs_share,
        )
        check_choice(maker=(self.maker, ("flat", "conv")))

    def announce(self, schema: Schema) -> list[Announced]:
        if picture_shape(schema) is not None:
            return announce_pictures(schema, self.moments_share, self.pairs_share)
        gaussian = dpa.GaussianDpEvent
        # In a wide table groups of columns share their cells, and cells of single columns per class drown in noise.
        footing_share, cells_share = self.marginals_share, self.cells_share
        if wide(schema):
            footing_share, cells_share = 0.4 * footing_share, 0.5 * cells_share
        footing = announce_footing(schema, footing_share, self.shapes_share)
        cells = Announced(CELLS, cells_share, gaussian, detail="shapes of numeric columns per class")
        return [
            *footing,
            Announced(MOMENTS, self.moments_share, gaussian, detail="locations, scales and rates per class"),
            *([cells] if len(footing) > 1 else []),
            Announced(
                PAIRS,
                self.pairs_share,
                gaussian,
                detail="products of columns per class; with few rows, class means again",
            ),
        ]

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        noise = plan.parameters["noise"]
        least = noise.get("class histogram", 0.0) * codec.schema.max_rows_per_unit
        counts = np.maximum(counts, least)
        if picture_shape(codec.schema) is not None:
            return begin_pictures(curator, codec, counts, plan, self.maker)
        footing = ask_footing(curator, codec, float(counts.sum()), plan)
        embedding = Embedding(codec, footing, counts)
        if codec.class_count > 1 and few_rows(codec.width, float(counts.sum()), noise[PAIRS]):
            looks = [purpose for purpose in (MOMENTS, CELLS, PAIRS) if purpose in noise]
            densities, rates = ask_margins(curator, embedding, noise, noise[PURPOSES[-1]], looks)
            fitted = latent(embedding, densities, rates, np.zeros((1, codec.width, codec.width)), 0)
            generator = MeanEmbeddingGenerator(embedding.heads, codec.class_count, shared=True)
            return Opening(generator, fitted, marginals=footing.marginals)
        moments = embedding.ask_moments(curator, noise[MOMENTS])
        cells = embedding.ask_cells(curator, noise[CELLS]) if CELLS in noise else None
        densities, rates = embedding.margins(moments, cells)
        covariances = embedding.ask_pairs(curator, noise[PAIRS], densities, rates)
        fitted = latent(embedding, densities, rates, covariances, self.rounds)
        generator = MeanEmbeddingGenerator(embedding.heads, codec.class_count, len(fitted.factor) == 1)
        return Opening(generator, fitted, marginals=footing.marginals)


def latent(embedding: Embedding, densities: np.ndarray, rates: np.ndarray, targets: np.ndarray, rounds: int) -> Latent:
    """What the generator needs, from margins and correlations."""
    random = np.random.default_rng(0)  # public: simulations only
    factors, offsets = [], []
    rounds = rounds if embedding.blocks else min(rounds, 1)  # numeric columns alone are nearly right at once
    for c in range(len(embedding.counts)):
        blocks = [Block(start, size, rates[c, start : start + size]) for start, size in embedding.blocks]
        target = targets[min(c, len(targets) - 1)]
        corrected = 0 if len(targets) < len(embedding.counts) else rounds
        correlation, offset = fit_latent(
            target, densities[c], embedding.score, embedding.numeric, blocks, corrected, random
        )
        offsets.append(offset)
        if c < len(targets):
            factors.append(np.linalg.cholesky(correlation))
    tables = np.stack([quantile_table(density, table_points()) for density in densities])
    return Latent(np.stack(factors), tables, np.stack(offsets))
