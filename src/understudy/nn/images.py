"""Convolutional networks for images of one size, after appendix A.6 of G-PATE (Long et al. 2021).

Teacher: a 5 x 5 convolution with stride 2 (32 kernels) and a dense layer (256 units), leaky ReLU, what else the row holds (the
class as a one-hot) joined to the dense layers. A function of one row, so that rows cannot meet; a product over windows, because
thousands of teachers with their own kernels are then one batched product. Its weights are what limits the number of teachers:
28 x 28 pixels give 1.6 million numbers with 256 units (6.4 MB a teacher, 2,000 of them 13 GB) and 0.1 million with 16.

Generator: latent and class to a dense layer (1,024 units), to 128 maps of a quarter of the height and width, then two 5 x 5
transposed convolutions with stride 2 to 64 maps and to the channels. The paper names the first and the 64 kernels; the rest is
the usual DCGAN (Radford et al. 2015). Its output is added to the class's released mean. No batch normalisation in either.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.nn.heads import Heads

Params = dict[str, Array]
Shape = tuple[int, int, int]  # height, width, channels
KERNEL, STRIDE, MAPS = 5, 2, 128


@dataclass(frozen=True)
class ConvTeacher:
    """Logit of one row: an image, then `extra` other numbers."""

    shape: Shape
    extra: int
    kernels: int = 32
    hidden: int = 256

    @property
    def inputs(self) -> int:
        """Numbers that it sees."""
        return math.prod(self.shape) + self.extra

    def windows(self) -> np.ndarray:
        """[places, 25 x channels]: the numbers each window sees; the number of pixels stands for a zero outside."""
        height, width, channels = self.shape
        rows, columns = (STRIDE * np.arange(-(-side // STRIDE)) - KERNEL // 2 for side in (height, width))
        y = rows[:, None, None, None, None] + np.arange(KERNEL)[None, None, :, None, None]
        x = columns[None, :, None, None, None] + np.arange(KERNEL)[None, None, None, :, None]
        place = (y * width + x) * channels + np.arange(channels)
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        seen = np.where(inside, place, height * width * channels)
        return seen.reshape(len(rows) * len(columns), KERNEL * KERNEL * channels)

    def init(self, key: PRNGKeyArray) -> Params:
        places, seen = self.windows().shape
        sizes = {"kernel": (seen, self.kernels), "dense": (places * self.kernels + self.extra, self.hidden)}
        sizes["last"] = (self.hidden + self.extra, 1)
        params: Params = {}
        for number, (name, size) in enumerate(sizes.items()):
            scale = np.sqrt(2.0 / size[0]) * (0.1 if name == "last" else 1.0)
            params[name] = scale * jax.random.normal(jax.random.fold_in(key, number), size)
            params[f"{name}_bias"] = jnp.zeros(size[1])
        return params

    def __call__(self, params: Params, x: Float[Array, " inputs"]) -> Float[Array, " one"]:
        size = math.prod(self.shape)
        image, extra = jnp.append(x[:size], 0.0), x[size:]
        maps = jax.nn.leaky_relu(image[self.windows()] @ params["kernel"] + params["kernel_bias"][None, :], 0.2)
        joined = jnp.concatenate([maps.reshape(-1), extra])
        hidden = jax.nn.leaky_relu(joined @ params["dense"] + params["dense_bias"], 0.2)
        return jnp.concatenate([hidden, extra]) @ params["last"] + params["last_bias"]


@dataclass(frozen=True)
class Deconv:
    """Scores y of image rows, as `nn.copula.Copula` has them for other tables."""

    heads: Heads
    classes: int
    latent: int
    hidden: int
    shape: Shape
    kernels: int = 64
    maps: int = MAPS

    @property
    def small(self) -> tuple[int, int]:
        """Height and width before the picture is enlarged twice."""
        return -(-self.shape[0] // 4), -(-self.shape[1] // 4)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all weights, by name."""
        places = self.small[0] * self.small[1] * self.maps
        return {
            "location": (self.classes, self.heads.width),
            "log_scale": (self.classes, self.heads.width),
            "dense": (self.latent + self.classes, self.hidden),
            "maps": (self.hidden + self.classes, places),
            "first": (KERNEL, KERNEL, self.maps, self.kernels),
            "last": (KERNEL, KERNEL, self.kernels, self.shape[2]),
        }

    def init(self, key: PRNGKeyArray, location: object, log_scale: object) -> Params:
        params: Params = {
            "location": jnp.asarray(location, jnp.float32),
            "log_scale": jnp.asarray(log_scale, jnp.float32),
        }
        for number, (name, shape) in enumerate(self.shapes().items()):
            if name not in params:
                fan = math.prod(shape[:-1]) / (STRIDE * STRIDE if len(shape) == 4 else 1)
                scale = np.sqrt(2.0 / fan) * (0.1 if name == "last" else 1.0)
                params[name] = scale * jax.random.normal(jax.random.fold_in(key, number), shape)
        return params

    def scores(self, params: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        """Location of the class plus what the network draws, in units of the class's spread."""
        label = jax.nn.one_hot(classes, self.classes)
        z = jax.random.normal(key, (classes.shape[0], self.latent))
        hidden = jax.nn.leaky_relu(jnp.concatenate([z, label], axis=1) @ params["dense"], 0.2)
        maps = jax.nn.leaky_relu(jnp.concatenate([hidden, label], axis=1) @ params["maps"], 0.2)
        maps = maps.reshape(-1, *self.small, self.maps)
        maps = jax.nn.leaky_relu(jax.lax.conv_transpose(maps, params["first"], (STRIDE, STRIDE), "SAME"), 0.2)
        drawn = jax.lax.conv_transpose(maps, params["last"], (STRIDE, STRIDE), "SAME")
        drawn = drawn[:, : self.shape[0], : self.shape[1], :].reshape(-1, self.heads.width)
        return params["location"][classes] + jnp.exp(params["log_scale"])[classes] * drawn
