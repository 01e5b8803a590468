"""The canary of joint votes asks what shows the target most: on the pair `opposite` the sum moves by all of 2 C."""

import jax
import numpy as np
import pytest

from understudy.audit.attacks.likelihood_ratio import PanelCanary, kept_tables, way_to_target
from understudy.audit.targets import made_up
from understudy.private.mechanisms.joint_votes import JointVotes
from understudy.private.noise import SeededNoise
from understudy.questions.panels import Panel
from understudy.schema import Codec

from ..private.test_joint_votes import CentredOnOthers, OneNorm

JUDGED = 16


class OneSided(PanelCanary):
    """The wrong place to ask from: practice rows around the origin, where all rows lie on the same side of them."""

    def query(self, state, key):
        asked = super().query(state, key)
        return Panel(asked.practice - asked.practice.mean(axis=2, keepdims=True), asked.judged)


def moved(target, teachers, votes=JointVotes, canary=PanelCanary):
    """How far the sum of the vectors moves between the two tables of the pair, over what is paid for."""
    pair = made_up(target)
    codec = Codec(pair.schema)
    sides = tuple(table._blocks(codec) for table in kept_tables(pair))
    squared = tuple(range(codec.width)) if target == "opposite" else ()
    size = codec.width + len(squared)
    rate = 1.0 / size
    norm = 0.5 * rate * np.sqrt(JUDGED * size)  # as `pate-gan-joint` has it for teachers of one row
    mechanism = votes(
        teachers=(teachers,),
        capacity=5,
        judged=JUDGED,
        classes_per_unit=1,
        sigma=1.0,
        norm=norm,
        squared=squared,
        learning_rate=rate,
    )
    asker = canary(1, JUDGED)
    question = asker.query(asker.init(jax.random.key(0), way_to_target(sides)), jax.random.key(0))
    total = jax.jit(lambda data: mechanism.vectors(mechanism.logits(data, question)).sum(axis=1))
    sums = [np.asarray(total(mechanism.prepare(side, SeededNoise(1))[0]), float) for side in sides]
    return float(np.linalg.norm(sums[1] - sums[0])) / mechanism.sensitivity


def test_a_teacher_turns_round_when_the_target_joins_it():
    assert 0.99 < moved("opposite", 1) <= 1.0
    assert 0.49 < moved("lonely", 10) <= 0.5, "a teacher that appears moves the sum by C"
    assert moved("opposite", 1, canary=OneSided) < 0.51, "asked from the origin it has no other side to turn from"


@pytest.mark.parametrize(
    ("votes", "target", "teachers", "least"), [(OneNorm, "opposite", 1, 1.98), (CentredOnOthers, "lonely", 10, 3.0)]
)
def test_wrong_versions_move_further_than_they_pay_for(votes, target, teachers, least):
    assert moved(target, teachers, votes) > least
