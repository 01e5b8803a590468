"""Generated scores end up with the released class moments, whatever the network made of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.methods.gradients.matching import match, match_shapes, matched
from understudy.nn.copula import Start
from understudy.nn.heads import Heads
from understudy.schema import Codec, Schema

ROWS = 20_000
SCHEMA = Schema.from_dict(
    {
        "columns": {
            "income": {"kind": "continuous", "lower": 0, "upper": 1},
            "smoker": {"kind": "categorical", "categories": ["no", "yes"]},
            "town": {"kind": "categorical", "categories": ["a", "b", "c"]},
        }
    }
)


def heavy(classes, key):
    """Scores with tails that use up a variance, as untrained networks make them."""
    y = jax.random.t(key, 2.5, (classes.shape[0], 5))
    return 3.0 * y + classes[:, None] - 7.0


@pytest.fixture(scope="module")
def rows():
    codec = Codec(SCHEMA)
    heads = Heads.of(codec.blocks, codec.width)
    start = Start(
        np.asarray([[0.5, 0.3, *np.log([0.2, 0.5, 0.3])], [-1.0, -0.7, *np.log([0.6, 0.3, 0.1])]], np.float32),
        np.log([[0.5] * 5, [2.0] * 5]).astype(np.float32),
        threshold=np.zeros(5, np.float32),
        prior_deviation=np.ones((2, 1)),
        rates=np.full(5, 0.5),
        scales=np.ones(5),
        trust=np.ones((2, 1)),
    )
    sampler = match(heads, 2, start, heavy)
    assert {name: value.shape for name, value in sampler.items()} == match_shapes(2, 5)
    classes = jnp.arange(ROWS) % 2
    return np.asarray(matched(heads, sampler, heavy(classes, jax.random.key(3)), classes)), heads


def test_numeric_scores_are_normal_with_the_released_moments(rows):
    """Standard errors: 0.005 s for the mean and 0.004 s for the deviation from 10,000 rows, 0.02 s from 2,048 draws."""
    for c, (mean, deviation) in enumerate([(0.5, 0.5), (-1.0, 2.0)]):
        own = rows[0][c::2, 0]
        assert abs(own.mean() - mean) < 0.1 * deviation
        assert abs(own.std() - deviation) < 0.1 * deviation
        standard = (own - own.mean()) / own.std()
        assert 2.5 < (standard**4).mean() < 3.5  # a normal has 3; the scores given had no fourth moment
        assert len(np.unique(own)) > 0.99 * len(own)  # no heap at the ends


def test_outcomes_are_as_common_as_released(rows):
    y, heads = rows
    for c, (rate, towns) in enumerate([(0.618, (0.2, 0.5, 0.3)), (0.242, (0.6, 0.3, 0.1))]):
        assert abs((y[c::2, 1] > 0.0).mean() - rate) < 0.04
        found = np.asarray(heads.winners(jnp.asarray(y[c::2]))).mean(axis=0)[2:]
        np.testing.assert_allclose(found, towns, atol=0.04)
