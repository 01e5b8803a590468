"""All released answers as features for a classifier: for mechanisms whose exact answers or noise are not what they should be.

A likelihood ratio needs to know the noise and what the answers would be without it; this attack learns both from examples, so it
also sees teachers that share rows at random.
"""

import numpy as np

from understudy.audit.attacks.artifact import head
from understudy.audit.attacks.likelihood_ratio import flat
from understudy.audit.shadow import Fitted

ROUNDS = 32  # whose mean answers are looked at one by one


def features(fitted: Fitted) -> np.ndarray:
    """One row per fit."""
    return np.asarray([one(fitted, number) for number in range(len(fitted))])


def one(fitted: Fitted, number: int) -> np.ndarray:
    """The noisy answers of one fit: mean over rounds, first rounds, single answers."""
    asked_once = [flat(said) for said in fitted.transcripts[number]]
    rounds = np.asarray(fitted.info[number].get("answer", np.zeros(0)), np.float64)
    return head([rounds.mean(keepdims=True) if len(rounds) else np.zeros(1), rounds[:ROUNDS], *asked_once])
