"""Who attacks: what an attacker gets to see of a fit.

    black box   the synthetic table, as long as the attacker likes, and its default length
    model box   also the released artifact: weights, class counts, marginals
    wall box    also every single answer that crossed the wall: the strongest view that the guarantee covers

In all of them the attacker knows the method, its options, the plan, and both tables of the pair, and not the noise, the
teachers or which of the two tables was used. Attacks (`understudy.audit.attacks`) say what they look at; a threat model says
whether they may.
"""

from dataclasses import dataclass

from understudy.errors import UsageError


@dataclass(frozen=True)
class Threat:
    """A kind of attacker: what it sees, by name and in words."""

    name: str
    sees: tuple[str, ...]
    words: str


BLACK_BOX = Threat("black-box", ("table",), "sees the synthetic table")
MODEL_BOX = Threat("model-box", ("table", "artifact"), "sees the released artifact")
WALL_BOX = Threat("wall-box", ("table", "artifact", "transcript"), "sees every answer that was released")
THREATS = {threat.name: threat for threat in (BLACK_BOX, MODEL_BOX, WALL_BOX)}


def threat(name: str) -> Threat:
    """The threat model of this name."""
    if name not in THREATS:
        raise UsageError(f"threat {name!r} is unknown; choose one of {', '.join(THREATS)}")
    return THREATS[name]
