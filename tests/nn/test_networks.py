"""The networks: convolutions against the library's, any number of columns, rows that never meet."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.nn.autoencoder import Autoencoder, Reconstruction
from understudy.nn.conv import Layer, convolve, down, strides_of, up
from understudy.nn.heads import Block, Heads


def random(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


@pytest.mark.parametrize(("inputs", "stride"), [(11, 2), (7, 3), (5, 1)])
def test_a_layer_is_the_convolution_of_the_library(inputs, stride):
    outputs = -(-inputs // stride)
    layer = Layer(inputs, outputs, 2, 3, stride, up=False)
    x, weight = random(inputs, 2), random(*layer.shape, seed=1)
    before = (layer.kernel - stride) // 2
    after = stride * (outputs - 1) + layer.kernel - before - inputs
    kernel = weight.reshape(layer.kernel, 2, 3)
    expected = jax.lax.conv_general_dilated(
        x[None], kernel, (stride,), [(before, after)], dimension_numbers=("NWC", "WIO", "NWC")
    )
    np.testing.assert_allclose(np.asarray(convolve(layer, weight, x)), np.asarray(expected[0]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("widen", [False, True])
def test_the_derivative_is_the_derivative(widen):
    """The map is linear in weights and in the row, so <slope, f(dw, x)> = <df/dw(slope), dw>, and the same for the row."""
    layer = Layer(4, 11, 3, 2, 3, up=True) if widen else Layer(11, 4, 3, 2, 3, up=False)
    x, weight, slope = random(layer.inputs, 3), random(*layer.shape, seed=1), random(layer.outputs, 2, seed=2)
    _, back = jax.vjp(lambda w, x: convolve(layer, w, x), weight, x)
    for_weight, for_row = back(slope)
    other_weight, other_x = random(*layer.shape, seed=3), random(layer.inputs, 3, seed=4)
    assert float((slope * convolve(layer, other_weight, x)).sum()) == pytest.approx(
        float((for_weight * other_weight).sum()), rel=1e-4
    )
    assert float((slope * convolve(layer, weight, other_x)).sum()) == pytest.approx(
        float((for_row * other_x).sum()), rel=1e-4
    )


@pytest.mark.parametrize("length", [1, 2, 11, 34, 178, 1071])
def test_any_number_of_columns_goes_down_to_one_place_and_back(length):
    channels = (2, 2, 2, 2, 5)
    assert len(strides_of(length, 5)) == 5
    narrow, wide = down(length, 3, channels), up(length, 1, channels)
    assert (narrow.layers[0].inputs, narrow.layers[-1].outputs) == (length, 1)
    assert (wide.layers[0].inputs, wide.layers[-1].outputs) == (1, length)
    for network in (narrow, wide):
        for layer in network.layers:  # every output sees an input, and every input is seen
            assert ((layer.seen < layer.inputs).any(axis=1)).all() and (
                (layer.seen_by < layer.outputs).any(axis=1)
            ).all()
        params = network.init(jax.random.key(0))
        assert {name: value.shape for name, value in params.items()} == network.shapes()


def test_documented_strides():
    assert strides_of(178, 5) == (3, 3, 3, 3, 3) and strides_of(11, 5) == (2, 2, 2, 2, 1)


MIXED = Heads(6, (Block("numeric", 0, 1), Block("numeric", 1, 1), Block("binary", 2, 1), Block("onehot", 3, 3)))


@pytest.mark.parametrize("kind", ["mlp", "conv"])
def test_autoencoder_learns_to_reconstruct_mixed_rows(kind):
    """Without noise the loss falls to less than half on rows of one hidden factor."""
    network = Autoencoder(MIXED, kind, 4, (8, 8), "group")
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(64, 1))
    signs = np.where(factor > 0, 1.0, -1.0)
    rows = jnp.asarray(np.hstack([factor, -factor, signs, signs, -signs, -np.ones_like(signs)]), jnp.float32)
    loss = Reconstruction(network)

    @jax.jit
    def train(params):
        mean = lambda p: jax.vmap(loss, in_axes=(None, 0, 0))(p, rows, jnp.zeros(64, jnp.int32)).mean()  # noqa: E731
        step = lambda _, p: jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(mean)(p))  # noqa: E731
        return mean(params), mean(jax.lax.fori_loop(0, 200, step, params))

    before, after = train(network.init(jax.random.key(1)))
    assert float(after) < 0.5 * float(before)
