"""From a trained generator to rows: what the artifact keeps, and how a row is drawn from it. Post-processing, free.

Samples are a mixture: a share of them (`Start.trust`, from released values) comes from what was trained, the others from the
start alone, with the same moments and no dependence within a class. Gradients that drown in their noise teach dependence
that is not there, and with a few hundred rows that did more harm than all they taught.

Where class moments were paid for and the generator was not held to them while it learned, its scores are moved to them
(`matching.py`); otherwise scores beyond what the critic has judged are taken at the border.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.methods.gradients.matching import match, match_shapes, matched
from understudy.methods.gradients.rows import RowNetwork
from understudy.nn.copula import FIXED, Copula, Start
from understudy.nn.mlp import Params

FROM_START = 1000  # folded into a key: far from the few numbers that `split` uses, which the trained rows are drawn by


@dataclass(frozen=True)
class Samples:
    """Rows of a trained network, by name of what they need."""

    network: RowNetwork
    copula: Copula
    decoder_shapes: tuple[tuple[str, tuple[int, ...]], ...]
    matched: bool
    mixed: bool  # with rows of the start

    def keep(self, params: Params, decoder: Params, start: Start) -> dict[str, Array]:
        """Weights of generator and decoder, and what finishes samples."""
        kept = {f"generator/{name}": value for name, value in params.items()}
        kept |= {f"decoder/{name}": value for name, value in decoder.items()}
        kept |= self.copula.fixed(start)
        if self.mixed:
            kept |= {f"start/{name}": jnp.asarray(getattr(start, name)) for name in ("location", "log_scale", "trust")}
        if self.matched:
            draw = lambda classes, key: self.network.scores(params, decoder, classes, key)  # noqa: E731
            kept |= match(self.copula.heads, self.copula.classes, start, draw)
        return kept

    def draw(
        self, kept: dict[str, Array], classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        """One row of each class asked for."""
        y = self.network.scores(part(kept, "generator/"), part(kept, "decoder/"), classes, key)
        if self.matched:
            y = matched(self.copula.heads, kept, y, classes)
        else:
            y = self.network.bounded(self.network.from_thresholds(kept["threshold"], y))
        return self.copula.row(kept, self._with_start(kept, y, classes, key) if self.mixed else y)

    def _with_start(self, kept: dict[str, Array], y: Array, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Array:
        """Rows that the start would draw, in place of those that the training is not trusted for."""
        key_coin, key_start = jax.random.split(jax.random.fold_in(key, FROM_START))
        start = part(kept, "start/")
        untrained = self.copula.untrained(start["location"], start["log_scale"])
        of_start = self.copula.scores(untrained, classes, key_start)
        return jnp.where(jax.random.uniform(key_coin, (len(classes), 1)) < start["trust"][classes], y, of_start)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of everything that is kept."""
        classes, width = self.copula.classes, self.copula.heads.width
        found = {f"generator/{name}": shape for name, shape in self.network.shapes().items()}
        found |= {f"decoder/{name}": shape for name, shape in self.decoder_shapes}
        found |= dict.fromkeys(FIXED, (width,))
        if self.mixed:
            found |= {f"start/{name}": (classes, width) for name in ("location", "log_scale")}
            found |= {"start/trust": (classes, 1)}
        return found | (match_shapes(classes, width) if self.matched else {})


def part(weights: dict[str, Array], prefix: str) -> Params:
    """The weights under a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
