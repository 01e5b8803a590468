"""Shapes are checked where they are written (tests/conftest.py)."""

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

from understudy.nn.heads import Heads
from understudy.private.mechanisms.joint_votes import JointVotes


def test_a_wrong_shape_is_noticed():
    """Rows of logits are asked for: one row without an axis is refused, and so is an answer of another kind."""
    with pytest.raises(TypeCheckError):
        Heads(width=3, blocks=()).softmax(jnp.zeros(3))
    with pytest.raises(TypeCheckError):
        JointVotes.tell(None, (), jnp.zeros((2, 3)), jnp.zeros((2, 3)))
