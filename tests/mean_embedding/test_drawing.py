"""Rows of latent normals: their distribution, and that the number of threads does not show in them."""

import numpy as np
import pytest
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from understudy.methods.mean_embedding.generator import POINTS, MeanEmbeddingGenerator, look_up, table_points
from understudy.nn.heads import Block, Heads

WIDTH = 130
NUMERIC, BINARY, ONEHOT = 100, 10, 20


def generator(shared):
    blocks = [Block("numeric", place, 1) for place in range(NUMERIC)]
    blocks += [Block("binary", NUMERIC + place, 1) for place in range(BINARY)]
    return MeanEmbeddingGenerator(Heads(WIDTH, (*blocks, Block("onehot", NUMERIC + BINARY, ONEHOT))), 2, shared)


def weights(shared):
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((1 if shared else 2, WIDTH, WIDTH)).astype(np.float32)
    factor /= np.linalg.norm(factor, axis=2, keepdims=True)
    table = np.broadcast_to(table_points(), (2, NUMERIC, POINTS)) + np.asarray([0.0, 1.0])[:, None, None]
    offset = rng.standard_normal((2, WIDTH)).astype(np.float32)
    return {"factor": factor, "table": table.astype(np.float32), "offset": offset}


@pytest.mark.parametrize("shared", [True, False])
def test_rows_have_the_moments_of_their_class(shared):
    """40,000 seeded rows of a class: correlations within 6 / sqrt(40,000), rates of binary places within 6 deviations."""
    own, made = weights(shared), generator(shared)
    classes = np.random.default_rng(1).permutation(np.repeat([0, 1], 40_000)).astype(np.int32)
    rows = made.encoded(own, classes, np.random.default_rng(2))
    for number in (0, 1):
        here = rows[classes == number]
        factor = own["factor"][0 if shared else number].astype(float)
        uniform = here[:, :NUMERIC].astype(float)
        # Phi(s + shift) of the class, so that its median lies at Phi(shift).
        assert np.abs((uniform < ndtr(float(number))).mean(axis=0) - 0.5).max() < 0.015
        rates = here[:, NUMERIC : NUMERIC + BINARY].mean(axis=0)
        assert np.abs(rates - ndtr(own["offset"][number, NUMERIC : NUMERIC + BINARY].astype(float))).max() < 0.015
        together = ((uniform[:, 0] < ndtr(float(number))) & (uniform[:, 1] < ndtr(float(number)))).mean()
        assert together == pytest.approx(0.25 + np.arcsin(factor[0] @ factor[1]) / (2.0 * np.pi), abs=0.015)


def test_threads_do_not_show_in_rows():
    """Workers have one thread for products and this process several; both must draw the same block."""
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            classes = np.zeros(9_000, np.int32)
            found.append(generator(True).encoded(weights(True), classes, np.random.default_rng(3)))
    np.testing.assert_array_equal(*found)


def test_a_table_is_interpolated_and_held_at_its_ends():
    points = table_points()
    scores = np.asarray([[-9.0, 0.05], [1.0, 9.0]], np.float32)
    found = look_up(np.stack([points**3, 2.0 * points]).astype(np.float32), scores)
    np.testing.assert_allclose(found, [[-64.0, 0.1], [1.0, 8.0]], atol=2e-3)
