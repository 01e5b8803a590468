"""One-dimensional convolutions over the columns of one row, for any number of columns.

`down` shortens a row of n places to one place, one layer for each entry of `channels`; `up` goes the same way back. Strides
follow from n: with m layers left, the stride is the m-th root of the present length, rounded up, so that the last layer
ends at length 1 (n = 178 in five layers: 3, 3, 3, 3, 3; n = 11: 2, 2, 2, 2, 1). Kernels are two places wider than their
stride, so that neighbouring windows overlap.

A convolution is written as a matrix product over windows, because the gradients of many rows, each by itself, are then products
too; the library's convolution would become one grouped convolution per row. PReLU between layers (He et al. 2015), and group
normalisation (Wu, He 2018), which sees one row at a time: batch normalisation would mix rows and void the guarantee.
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from understudy.nn.mlp import Params

Norm = Literal["group", "none"]
PER_GROUP = 8  # channels that are normalised together
OVERLAP = 2


@dataclass(frozen=True)
class Layer:
    """One convolution, or one transposed convolution (`up`), from (inputs, channels_in) to (outputs, channels_out)."""

    inputs: int
    outputs: int
    channels_in: int
    channels_out: int
    stride: int
    up: bool

    @property
    def kernel(self) -> int:
        """Places that a window covers."""
        return self.stride + OVERLAP if self.inputs * self.outputs > 1 else 1

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights: one product for every window."""
        return self.kernel * self.channels_in, self.channels_out

    @property
    def fan(self) -> float:
        """Numbers that reach one output, on average."""
        return self.kernel * self.channels_in / (self.stride if self.up else 1)

    @property
    def seen(self) -> np.ndarray:
        """[outputs, kernel]: which input each output sees through each tap; `inputs` stands for a zero beyond the row."""
        if self.up:
            return turned(narrowing(self.outputs, self.inputs, self.stride, self.kernel), self.outputs)
        return narrowing(self.inputs, self.outputs, self.stride, self.kernel)

    @property
    def seen_by(self) -> np.ndarray:
        """[inputs, kernel]: which output sees each input through each tap."""
        return turned(self.seen, self.inputs)


def narrowing(inputs: int, outputs: int, stride: int, kernel: int) -> np.ndarray:
    """Windows of an ordinary convolution."""
    place = stride * np.arange(outputs)[:, None] + np.arange(kernel)[None, :] - (kernel - stride) // 2
    return np.where((place < 0) | (place >= inputs), inputs, place)


def turned(seen: np.ndarray, inputs: int) -> np.ndarray:
    """From outputs that see inputs to inputs that are seen by outputs; a tap joins an input to one output at most."""
    outputs, kernel = seen.shape
    back = np.full((inputs + 1, kernel), outputs)
    for tap in range(kernel):
        back[seen[:, tap], tap] = np.arange(outputs)
    return back[:inputs]


def windows(x: Float[Array, "places channels"], index: np.ndarray) -> Float[Array, "windows taps"]:
    """Every window as one vector; places beyond the row are zeros."""
    taken = jnp.take(x, index, axis=0, mode="fill", fill_value=0.0)
    return taken.reshape(index.shape[0], index.shape[1] * x.shape[1])


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def convolve(layer: Layer, weight: Array, x: Float[Array, "inputs before"]) -> Float[Array, "outputs after"]:
    """One layer. Its derivative is written out, because the library's would scatter, or group by rows, and be slow."""
    return windows(x, layer.seen) @ weight


def _forward(layer: Layer, weight: Array, x: Array) -> tuple[Array, tuple[Array, Array]]:
    return convolve(layer, weight, x), (weight, x)


def _backward(layer: Layer, saved: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    weight, x = saved
    taps = weight.reshape(layer.kernel, layer.channels_in, layer.channels_out)
    across = jnp.swapaxes(taps, 1, 2).reshape(layer.kernel * layer.channels_out, layer.channels_in)
    return windows(x, layer.seen).T @ slope, windows(slope, layer.seen_by) @ across


convolve.defvjp(_forward, _backward)


@dataclass(frozen=True)
class Conv:
    """A stack of layers; a function of one row [length, channels]. The last layer has no activation."""

    layers: tuple[Layer, ...]
    norm: Norm = "group"
    last: float = 1.0  # size of the last layer's first weights, in units of the usual size

    def init(self, key: PRNGKeyArray) -> Params:
        """All weights from one draw: a draw for each layer would take seconds to compile."""
        sizes = [math.prod(layer.shape) for layer in self.layers]
        drawn = jnp.split(jax.random.normal(key, (sum(sizes),)), np.cumsum(sizes)[:-1])
        starts = {"bias": 0.0, "slope": 0.25, "gain": 1.0, "shift": 0.0}
        params: Params = {}
        for i, layer in enumerate(self.layers):
            scale = np.sqrt(2.0 / max(layer.fan, 1.0)) * (self.last if i == len(self.layers) - 1 else 1.0)
            params[f"weight{i}"] = scale * drawn[i].reshape(layer.shape)
        for name, shape in self.shapes().items():
            if not name.startswith("weight"):
                params[name] = jnp.full(shape, starts[name.rstrip("0123456789")], jnp.float32)
        return params

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all weights, by name."""
        shapes: dict[str, tuple[int, ...]] = {}
        for i, layer in enumerate(self.layers):
            shapes[f"weight{i}"] = layer.shape
            shapes[f"bias{i}"] = (layer.channels_out,)
            if i < len(self.layers) - 1:
                shapes[f"slope{i}"] = (1,)
                if self.norm == "group":
                    shapes |= {f"gain{i}": (layer.channels_out,), f"shift{i}": (layer.channels_out,)}
        return shapes

    def __call__(self, params: Params, x: Float[Array, "inputs before"]) -> Float[Array, "outputs after"]:
        for i, layer in enumerate(self.layers):
            x = convolve(layer, params[f"weight{i}"], x) + params[f"bias{i}"][None, :]
            if i == len(self.layers) - 1:
                return x
            if self.norm == "group":
                x = group_norm(x) * params[f"gain{i}"][None, :] + params[f"shift{i}"][None, :]
            x = jnp.maximum(x, 0.0) + params[f"slope{i}"][None, :] * jnp.minimum(x, 0.0)
        return x


def group_norm(x: Float[Array, "places channels"]) -> Float[Array, "places channels"]:
    """Mean 0 and variance 1 over the places and channels of each group, within one row."""
    places, channels = x.shape
    groups = max(channels // PER_GROUP, 1) if channels % PER_GROUP == 0 else 1
    parts = x.reshape(places, groups, channels // groups)
    centred = parts - parts.mean(axis=(0, 2), keepdims=True)
    return (centred * jax.lax.rsqrt((centred**2).mean(axis=(0, 2), keepdims=True) + 1e-5)).reshape(places, channels)


def strides_of(length: int, layers: int) -> tuple[int, ...]:
    """Strides that lead from `length` to 1."""
    found = []
    for left in range(layers, 0, -1):
        stride = max(math.ceil(round(length ** (1.0 / left), 9)), 1)
        found.append(stride)
        length = -(-length // stride)
    return tuple(found)


def down(length: int, inputs: int, channels: tuple[int, ...], norm: Norm = "group", last: float = 1.0) -> Conv:
    """From a row of `length` places with `inputs` channels to one place with `channels[-1]` channels."""
    layers = []
    for stride, (before, after) in zip(strides_of(length, len(channels)), pairwise((inputs, *channels)), strict=True):
        shorter = -(-length // stride)
        layers.append(Layer(length, shorter, before, after, stride, up=False))
        length = shorter
    return Conv(tuple(layers), norm, last)


def up(length: int, outputs: int, channels: tuple[int, ...], norm: Norm = "group", last: float = 1.0) -> Conv:
    """From one place with `channels[-1]` channels to a row of `length` places: `down` backwards, by transposed convolutions."""
    forward = down(length, outputs, channels).layers
    layers = (
        Layer(layer.outputs, layer.inputs, layer.channels_out, layer.channels_in, layer.stride, up=True)
        for layer in reversed(forward)
    )
    return Conv(tuple(layers), norm, last)
