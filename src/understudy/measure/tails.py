"""Tails: how rows are spread inside outermost cells that reach to far public bounds. Post-processing of released counts.

Evenly spread rows would put a thousandth of the rows anywhere up to the bound and double the column's variance. An outermost
cell of mass m that is much wider than its own scale gets an exponential tail that continues the density d of the cell inside
it,

    P(beyond a distance t) = m exp(-t / scale),     scale = m / d,

as a few knots; the rest of the cell holds what is beyond the last one.
"""

import numpy as np

from understudy.measure.cells import single_values

# First values, as far as commits and docs say; exp(-4) is one in fifty.
KNOTS = (0.5, 1.0, 2.0, 4.0)  # in units of the scale: one row in fifty of the cell lies beyond the last
WIDE = 2.0  # a cell is left alone if it is not so many scales wide,
WHOLE = 8.0  # or if it holds fewer whole numbers


def with_tails(edges: np.ndarray, mass: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Finer edges and masses of one column; cells that hold the bounds alone stay as they are."""
    inner = np.flatnonzero(~(single_values(edges, 0.0)))
    if len(inner) < 3:
        return edges, mass
    low, high = int(inner[0]), int(inner[-1])
    width, density = np.diff(edges), mass / np.maximum(np.diff(edges), 1e-300)
    below = tail(width[low], mass[low], density[low + 1], step)
    above = tail(width[high], mass[high], density[high - 1], step)
    new = [
        edges[: low + 1],
        (edges[low + 1] - below[0])[::-1],
        edges[low + 1 : high + 1],
        edges[high] + above[0],
        edges[high + 1 :],
    ]
    masses = [
        mass[:low],
        split(mass[low], below[1])[::-1],
        mass[low + 1 : high],
        split(mass[high], above[1]),
        mass[high + 1 :],
    ]
    return np.concatenate(new), np.concatenate(masses)


def tail(width: float, mass: float, density: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Knots outwards from the inner edge of an outermost cell, and the mass beyond each."""
    scale = mass / max(density, 1e-12)
    if scale * WIDE > width or width < WHOLE * step or scale <= 0.0:
        return np.zeros(0), np.zeros(0)
    away = np.asarray(KNOTS) * scale
    if step:
        away = np.unique(np.maximum(np.rint(away / step), 1.0)) * step
    away = away[away < width]
    return away, mass * np.exp(-away / scale)


def split(mass: float, beyond: np.ndarray) -> np.ndarray:
    """Masses between the knots, outwards."""
    return -np.diff(np.concatenate([[mass], beyond, [0.0]]))
