"""The exponential mechanism over models (`understudy.questions.choices`): points that the rows give them, added up."""

import numpy as np

from understudy.private.answers.choices import noisy_max
from understudy.private.mapping import Block, apply
from understudy.private.noise import NoiseSource
from understudy.questions import POINTS, ModelChoice


def start(question: ModelChoice, width: int) -> np.ndarray:
    """No points."""
    return np.zeros(len(question.judges), np.int64)


def add(question: ModelChoice, total: np.ndarray, block: Block) -> None:
    """Whatever a judge says, a row gives it a whole number of points from 0 to `POINTS`."""
    for number, judge in enumerate(question.judges):
        points = np.nan_to_num(np.asarray(apply(judge, block)[:, 0], np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        total[number] += int(np.clip(np.rint(points), 0, POINTS).sum())


def release(question: ModelChoice, total: np.ndarray, noise: NoiseSource) -> int:
    """The number of the chosen model."""
    return noisy_max(total.tolist(), question.scale, noise)
