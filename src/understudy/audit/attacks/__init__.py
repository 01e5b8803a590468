"""Attacks: what a distinguisher looks at, one file each.

groundhog, querybased, histogram, correlation    features of the synthetic table; a classifier learns to tell the tables apart
artifact                                         numbers of the released artifact; the same
likelihood-ratio                                 every answer that was released, against what it would have been without noise;
                                                 nothing to learn
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from understudy.audit.attacks import answers, artifact, correlation, groundhog, histogram, querybased
from understudy.errors import UsageError


@dataclass(frozen=True)
class Attack:
    """`features(tables, schema)` for attacks on tables, `features(fitted)` for attacks on artifacts; one row for each fit."""

    name: str
    needs: str  # table | artifact | transcript
    features: Callable[..., np.ndarray]
    learns: bool = True


def from_transcript(scores: object) -> np.ndarray:
    """The log-likelihood ratio as the only feature."""
    return np.asarray(scores, np.float64)[:, None]


ATTACKS = {
    attack.name: attack
    for attack in (
        Attack("groundhog", "table", groundhog.features),
        Attack("querybased", "table", querybased.features),
        Attack("histogram", "table", histogram.features),
        Attack("correlation", "table", correlation.features),
        Attack("artifact", "artifact", artifact.features),
        Attack("answers", "transcript", answers.features),
        Attack("likelihood-ratio", "transcript", from_transcript, learns=False),
    )
}


def attack(name: str) -> Attack:
    """The attack of this name."""
    if name not in ATTACKS:
        raise UsageError(f"attack {name!r} is unknown; choose one of {', '.join(ATTACKS)}")
    return ATTACKS[name]
