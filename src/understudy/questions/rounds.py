"""The query types of conversations in rounds: what a generator asks, what it is told. Arrays computed from released
values alone.

`REPORT` is the purpose, in plan and ledger, of the one number that can be asked for when the rounds of teachers are over.
"""

from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

REPORT = "report of the data-dependent price"


class Judgement(NamedTuple):
    """PATE-GAN: rows for the teachers to practise on, and rows to be judged (and paid for), per class."""

    practice: Float[Array, "steps classes practice width"]
    judged: Float[Array, "classes judged width"]


class Probe(NamedTuple):
    """G-PATE: where should these rows move? `latent` and `classes` let the generator draw the judged rows again; the teachers do
    not need them.
    """

    practice: Float[Array, "steps groups practice inputs"]
    judged: Float[Array, "groups judged inputs"]
    projection: Float[Array, "groups judged width projected"]
    classes: Int[Array, " rows"]
    latent: PRNGKeyArray


class Directions(NamedTuple):
    """The answer to a `Probe`: mid-points of bins in units of the clip, 0 where nothing was answered."""

    middle: Float[Array, "groups judged projected"]
    answered: Bool[Array, "groups judged projected"]


class GradientQuery(NamedTuple):
    """Gradient methods: `weights[phase]` is what the answer is the gradient for, one flat vector, padded to the longest."""

    phase: Int[Array, ""]
    weights: tuple[Any, ...]
