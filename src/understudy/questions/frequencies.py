"""Pictures of one size as low frequencies: a public orthonormal basis, the cosines of the JPEG standard over the whole
picture.

    z_{uvw} = sum_{ijk} A_ui A_vj A_wk x_ijk,      A_ui = sqrt(2 / h) cos(pi (i + 1/2) u / h),  A_0i = sqrt(1 / h)

(channels get a transform of their own, whose first frequency is brightness). Pictures have most of their energy in
few low frequencies, whatever they show, so sums over rows need few coordinates and noise that falls on high ones can
be left out.

Coefficients are computed in whole numbers: a row's result is then the same wherever in a batch it stands, to the last
bit, and nobody else's row can move because one is added (floating-point products may round by position).
"""

import math
from dataclasses import dataclass

import numpy as np

FREQUENCY_GRID = 2048  # coefficients are whole multiples of 1 / FREQUENCY_GRID
FINE = 4096  # and the cosines of 1 / FINE while they are summed
MOST = 1024  # frequencies kept
LEAST_WEIGHT = 0.01  # of a frequency in a smooth field
LARGEST = 1 << 25  # numbers in the basis; bounds memory

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Frequencies:
    """The lowest `count` frequencies of pictures [height, width, channels], lowest first."""

    shape: Shape
    count: int

    @classmethod
    def of(cls, shape: Shape) -> "Frequencies":
        """As many low frequencies of a picture as are worth asking for."""
        size = math.prod(shape)
        return cls(shape, max(min(size, MOST, LARGEST // size), 1))

    def order(self) -> np.ndarray:
        """Where the kept coefficients stand among all, row by row."""
        steps = np.meshgrid(*(np.arange(side) / side for side in self.shape), indexing="ij")
        return np.argsort((np.stack(steps) ** 2).sum(axis=0).ravel(), kind="stable")[: self.count]

    def coefficients(self, rows: np.ndarray) -> np.ndarray:
        """float64 [n, count], multiples of 1 / FREQUENCY_GRID, of rows with pixels in [0, 1]."""
        whole = np.rint(np.clip(np.asarray(rows, np.float64), 0.0, 1.0) * FREQUENCY_GRID).reshape(
            len(rows), *self.shape
        )
        for axis, side in enumerate(self.shape):
            if side > 1:
                turned = np.ascontiguousarray(np.moveaxis(whole, axis + 1, 3))
                # One plain product, exact: below 2^53 for any picture that a schema allows.
                found = turned.reshape(-1, side) @ np.rint(cosine(side) * FINE).T
                whole = np.moveaxis(np.rint(found / FINE).reshape(turned.shape), 3, axis + 1)
        return whole.reshape(len(whole), math.prod(self.shape))[:, self.order()] / FREQUENCY_GRID

    def basis(self) -> np.ndarray:
        """float64 [count, pixels]: z @ basis is the picture with these coefficients."""
        height, width, channels = self.shape
        u, v, w = np.unravel_index(self.order(), self.shape)
        rows, columns, colours = cosine(height)[u], cosine(width)[v], cosine(channels)[w]
        return np.asarray(np.einsum("ni,nj,nk->nijk", rows, columns, colours).reshape(self.count, -1))


def smooth_field(shape: Shape, length: float) -> np.ndarray:
    """float32 [count, pixels]: normal numbers times this matrix are a random picture, each pixel of variance 1, neighbours alike.

    The correlation falls with the distance d like exp(-d^2 / (2 length^2)), in pixels. What pictures show is not used.
    """
    low = Frequencies.of(shape)
    steps = np.stack(np.unravel_index(low.order(), shape)) / np.asarray(shape)[:, None]
    weight = np.exp(-0.25 * (math.pi * length) ** 2 * (steps[:2] ** 2).sum(axis=0))
    kept = weight > LEAST_WEIGHT
    field = weight[kept, None] * low.basis()[kept]
    return np.asarray(field / np.sqrt((field**2).sum(axis=0)), np.float32)


def cosine(side: int) -> np.ndarray:
    """The orthonormal cosine basis of a line of pixels."""
    place, step = np.arange(side), np.arange(side)[:, None]
    matrix = math.sqrt(2.0 / side) * np.cos(math.pi * (place + 0.5) * step / side)
    matrix[0] = math.sqrt(1.0 / side)
    return matrix


def on_grid(values: np.ndarray) -> np.ndarray:
    """Numbers rounded to a grid on which their products are exact."""
    return np.asarray(np.rint(values * FREQUENCY_GRID) / FREQUENCY_GRID)
