"""Models that could have been, of methods whose questions follow from answers before: the whole method once more.

Where cells, radii and shrinkage of one answer follow from another, counts cannot simply be drawn again. So a copy goes through
all of it, with the fitted model in the place of the people:

    D*  ~  N rows drawn from the fitted model                              whose sums are what the model says of the true sums
    y*  =  the method's own sums of D* + noise of the same size for n rows            i.e. times N / n, as the sums are
    theta* = the fit to y*, as the method makes it                                    shrinkage and all

the parametric bootstrap, as for the marginal methods (`understudy.methods.marginals.redraw`): y + noise instead of the model's
own sums would add the noise of what is hidden a second time. It is a function of the released model and fresh randomness, so it
costs nothing. Everything scales with N / n (class counts, noise, thresholds), so N can be chosen: enough that chance adds
little, and `MOST` at most, that large tables cost no more.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from understudy.artifact import Model as Artifact
from understudy.private.simulation import Simulation

MOST = 50_000  # rows of D*


class FittedAgain:
    """Draws copies of one fitted model with the method that made it; D* has `least` rows at least."""

    def __init__(self, fitted: Artifact, method: Any, least: int) -> None:
        self.fitted, self.method = fitted, method
        self.rows = int(np.clip(fitted.rows, least, MOST))
        scale = self.rows / max(float(np.sum(fitted.class_counts)), 1.0)
        noise = {name: float(sigma) * scale for name, sigma in fitted.plan.parameters["noise"].items()}
        self.plan = replace(fitted.plan, parameters={**fitted.plan.parameters, "noise": noise})

    def copies(self, count: int, random: np.random.Generator) -> Iterator[Artifact]:
        """Models that could have been fitted."""
        return (self.copy(random) for _ in range(count))

    def copy(self, random: np.random.Generator) -> Artifact:
        """The model that could have been fitted."""
        codec, schema, few = self.fitted.codec, self.fitted.schema, np.iinfo(np.int32).max
        encoded = codec.encode(self.fitted.sample(self.rows, seed=int(random.integers(few))))
        units = None if schema.unit is None else np.arange(self.rows)  # people are counted, and a drawn row is one
        simulation = Simulation(encoded.rows, encoded.classes, units, int(random.integers(few)))
        counts = self.class_counts(encoded.classes, random)
        opening = self.method.begin(simulation, codec, counts, self.plan)
        key = jax.random.key(int(random.integers(few)))
        sampler = opening.generator.sampler(opening.generator.init(key, opening.hints))
        back = float(np.sum(self.fitted.class_counts)) / self.rows
        return replace(
            self.fitted,
            generator=opening.generator,
            weights={name: np.asarray(value) for name, value in sampler.items()},
            marginals=opening.marginals,
            class_counts=tuple((counts * back).tolist()),
            released=opening.released,
            hashes={},
        )

    def class_counts(self, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The class histogram of D* with its noise; a public number of rows stays what it is."""
        counts = np.bincount(classes, minlength=len(self.fitted.class_counts)).astype(float)
        noise = self.plan.parameters["noise"].get("class histogram", 0.0)
        return np.asarray(np.maximum(counts + noise * random.standard_normal(len(counts)), 1.0))
