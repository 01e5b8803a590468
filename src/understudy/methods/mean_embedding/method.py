"""Mean embedding as a method: a few noisy class sums, then a generator in closed form (after DP-MERF, Harder et al. 2021).

DP-MERF releases one noisy mean embedding per class, the mean of a feature map, and fits a generator to it. Here the features
are chosen so that the generator needs no training: class moments and class cells (`understudy.measure.class_moments`), class
pairs (`understudy.measure.products`), and the generator is the latent normal that has them
(`understudy.measure.latent_normal`). The shares of the budget come from public values only. With so few rows that products
would be noise (`understudy.measure.which_questions`), all three answers ask for class means (`understudy.measure.few_rows`).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.estimator import Estimator
from understudy.measure.class_moments import CELLS, MOMENTS, ClassFeatures, ask_cells, ask_moments, margins
from understudy.measure.column_shapes import COLUMN_SHAPES, announce_shapes, ask_shapes
from understudy.measure.decimals import found_decimals
from understudy.measure.few_rows import ask_means
from understudy.measure.latent_normal import Block, fit_latent, quantile_table
from understudy.measure.marginals import normal_scores
from understudy.measure.one_way import announce_one_way, ask_one_way
from understudy.measure.products import PAIRS, ask_pairs
from understudy.measure.which_questions import few_rows, size_note, wide
from understudy.methods.mean_embedding.generator import Latent, MeanEmbeddingGenerator, table_points
from understudy.methods.mean_embedding.kept import class_tables, one_way_tables
from understudy.methods.pictures.generator import Kind
from understudy.methods.pictures.method import announce_pictures, begin_pictures, picture_shape
from understudy.recipe import Announced, Curator, Opening, check_choice, check_positive
from understudy.schema import Codec, Schema

WIDE_MARGINALS, WIDE_CELLS = 0.4, 0.5  # of their shares in a wide table; chosen on seed 0 of ISOLET


@dataclass(kw_only=True, eq=False, repr=False)
class MeanEmbedding(Estimator):
    """Options: how the budget is shared. The rest follows from public and released values."""

    method: ClassVar[str] = "mean-embedding"
    redrawn: ClassVar[str] = "understudy.methods.mean_embedding.redraw:Redrawn"
    by_person: ClassVar[bool] = True
    words: ClassVar[Mapping[str, str]] = {
        "marginals_share": "share of the squared loss for one-way marginals of columns and where to cut them; not of pictures",
        "moments_share": "share for locations, scales and rates of columns per class; of pictures, for sums per class and group",
        "cells_share": "share for the shapes of numeric columns per class",
        "pairs_share": "share for products of columns per class; of pictures, for products of low frequencies",
        "rounds": "simulate-and-correct rounds of the latent correlations; free, they ask nothing",
        "generator": "of pictures: flat, in closed form, or conv, trained to the same released moments",
    }

    marginals_share: float = 0.12
    shapes_share: float = 0.25  # in wide tables only
    moments_share: float = 0.45
    cells_share: float = 0.08
    pairs_share: float = 0.25
    rounds: int = 4  # simulate-and-correct rounds of the latent correlations
    generator: Kind = "flat"  # of pictures; "conv": a convolutional network, trained to the same released moments

    def check_options(self) -> None:
        check_positive(
            marginals_share=self.marginals_share,
            shapes_share=self.shapes_share,
            moments_share=self.moments_share,
            cells_share=self.cells_share,
            pairs_share=self.pairs_share,
        )
        check_choice(generator=(self.generator, ("flat", "conv")))

    def announce(self, schema: Schema) -> list[Announced]:
        if picture_shape(schema) is not None:
            return announce_pictures(schema, self.moments_share, self.pairs_share)
        gaussian = dpa.GaussianDpEvent
        # In a wide table groups of columns share their cells, and cells of single columns per class drown in noise.
        is_wide = wide(schema)
        half = 0.5 * self.marginals_share * (WIDE_MARGINALS if is_wide else 1.0)
        cells_share = self.cells_share * (WIDE_CELLS if is_wide else 1.0)
        cells = Announced(CELLS, cells_share, gaussian, detail="shapes of numeric columns per class")
        has_numbers = any(column.kind not in ("categorical", "boolean") for column in schema.features)
        return [
            *announce_one_way(schema, half, half),
            *([announce_shapes(self.shapes_share)] if is_wide else []),
            Announced(MOMENTS, self.moments_share, gaussian, detail="locations, scales and rates per class"),
            *([cells] if has_numbers else []),
            Announced(
                PAIRS,
                self.pairs_share,
                gaussian,
                detail="products of columns per class; with few rows, class means again",
            ),
        ]

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        noise = plan.parameters["noise"]
        counts = np.maximum(counts, noise.get("class histogram", 0.0))
        if picture_shape(codec.schema) is not None:
            return begin_pictures(curator, codec, counts, plan, self.generator)
        rows, is_wide = float(counts.sum()), COLUMN_SHAPES in noise
        found = ask_one_way(curator, codec, rows, plan, pooled=is_wide, share=True)
        scores = normal_scores(found.nodes, found.masses, found.groups, codec.width, found.deviation)
        if is_wide:
            scores = ask_shapes(curator, codec.schema, scores, rows, noise[COLUMN_SHAPES])
        features = ClassFeatures(codec, scores, counts)
        released = one_way_tables(codec, found)
        if few_rows(codec.width, rows, noise[PAIRS], codec.class_count):
            looks = [purpose for purpose in (MOMENTS, CELLS, PAIRS) if purpose in noise]
            densities, rates = ask_means(curator, features, noise, looks)
            fitted = latent(features, densities, rates, np.zeros((1, codec.width, codec.width)), 0)
        else:
            moments = ask_moments(curator, features, noise[MOMENTS])
            cells = ask_cells(curator, features, noise[CELLS]) if CELLS in noise else None
            densities, rates = margins(features, moments, cells)
            spread = noise.get(CELLS, 0.0) * len(features.numeric) ** 0.5
            released += class_tables(features, found, moments, cells, spread)
            correlations = ask_pairs(curator, features, noise[PAIRS], densities, rates)
            fitted = latent(features, densities, rates, correlations, self.rounds)
        generator = MeanEmbeddingGenerator(features.heads, codec.class_count, len(fitted.factor) == 1)
        grids = found_decimals(found.nodes)
        return Opening(generator, fitted, marginals=scores.marginals, released=released, decimals=grids)

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        return size_note(schema, noise[PAIRS]) if PAIRS in noise else []


def latent(
    features: ClassFeatures, densities: np.ndarray, rates: np.ndarray, targets: np.ndarray, rounds: int
) -> Latent:
    """What the generator needs, from margins and correlations.

    Simulations have public randomness that follows from the rates, so that a fit can be repeated and every copy of it (`redraw`)
    has its own: with the same for all, what a simulation is off would be off in all copies alike, and no interval would hold it.
    """
    random = np.random.default_rng(list(hashlib.sha256(np.ascontiguousarray(rates).tobytes()).digest()))
    factors, offsets = [], []
    rounds = rounds if features.blocks else min(rounds, 1)  # numeric columns alone are nearly right at once
    for c in range(len(features.counts)):
        blocks = [Block(start, size, rates[c, start : start + size]) for start, size in features.blocks]
        target = targets[min(c, len(targets) - 1)]
        corrected = 0 if len(targets) < len(features.counts) else rounds
        correlation, offset = fit_latent(
            target, densities[c], features.score, features.numeric, blocks, corrected, random
        )
        offsets.append(offset)
        if c < len(targets):
            factors.append(np.linalg.cholesky(correlation))
    tables = np.stack([quantile_table(density, table_points()) for density in densities])
    return Latent(np.stack(factors), tables, np.stack(offsets))
