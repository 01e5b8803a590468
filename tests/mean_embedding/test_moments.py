"""Post-processing: tilting reaches its goal or stays close, shrinkage hears neighbours, bounds are cells of their own."""

import numpy as np

from understudy.measure.latent_normal import LATENT, neighbourly, normal_densities, tilt
from understudy.measure.one_way import between_bounds, cuts, with_bounds
from understudy.private.mapping import Block, apply


def test_tilt_reaches_every_moment_that_can_be_reached() -> None:
    """500 columns and goals that a tilt has. Undamped steps, as they were once, miss one goal in twenty by more than 0.1."""
    rng = np.random.default_rng(0)
    mean, scale = rng.normal(size=500), np.exp(rng.normal(0.0, 0.5, 500))
    density = np.exp(-((LATENT - mean[:, None]) ** 2) / (2.0 * scale[:, None] ** 2))
    density /= density.sum(axis=1, keepdims=True)
    z = np.tile(np.clip(np.round(LATENT * 5.0) / 5.0, -3.0, 3.0), (500, 1))
    features = np.stack([z, np.abs(z)])
    goal = density * np.exp(np.einsum("md,mdt->dt", rng.normal(0.0, 4.0, (2, 500)), features))
    wanted = np.einsum("dt,mdt->md", goal / goal.sum(axis=1, keepdims=True), features)
    reached = np.einsum("dt,mdt->md", tilt(density, features, wanted), features)
    assert np.abs(reached - wanted).max() < 0.08
    unreachable = tilt(density, features, wanted + 5.0)
    assert np.isfinite(unreachable).all() and np.allclose(unreachable.sum(axis=1), 1.0)


def test_neighbours_are_heard_together_and_strangers_are_not() -> None:
    """600 values under noise as large as they are: smooth ones come back with less error than any common factor would leave."""
    rng = np.random.default_rng(0)
    smooth, noise = np.sin(np.arange(600) / 15.0), rng.normal(size=600)
    together, alone = np.zeros(600, np.int64), np.arange(600)
    error = lambda found, truth: float(((found - truth) ** 2).mean())  # noqa: E731
    assert error(neighbourly(smooth + noise, 1.0, together), smooth) < 0.15
    assert error(neighbourly(smooth + noise, 1.0, alone), smooth) > 0.25
    rough = rng.choice([-1.0, 1.0], 600)
    assert error(neighbourly(rough + noise, 1.0, together), rough) < 0.55
    assert np.abs(neighbourly(0.001 * noise, 1.0, together)).max() == 0.0


def test_normals_with_given_moments() -> None:
    score = np.tile(np.clip(LATENT, -3.0, 3.0)[:, None], (1, 3))
    density = normal_densities(np.array([[0.0, 1.0, -1.5], [0.8, 1.05, 1.5]]), score)
    np.testing.assert_allclose(density @ score[:, 0], [0.0, 1.0, -1.5], atol=0.06)


def test_bounds_are_cells_of_their_own() -> None:
    edges, prior = with_bounds(
        np.array([[0.0, 0.5, 1.0], [0.0, 0.25, 1.0]]), np.full((2, 2), 0.5), np.array([0.0, 0.5])
    )
    np.testing.assert_allclose(edges, [[0, 0, 0.5, 1, 1], [0, 0, 0.25, 1, 1]])
    np.testing.assert_allclose(
        prior, [[0, 0.5, 0.5, 0], [0.5, 0, 0.5, 0]]
    )  # 0 is alone in the second column's first cell
    rows = np.array([[0.0, 0.0], [0.1, 0.5], [0.7, 0.5], [1.0, 1.0]], np.float32)
    cell = apply(cuts(np.arange(2), np.full(2, -1), edges), Block(rows, np.zeros(4, np.int32)))
    assert cell.tolist() == [[0, 0], [1, 2], [2, 2], [3, 3]]
    longer, cdf = between_bounds(edges[:1], np.array([[0.0, 0.2, 0.5, 0.9, 1.0]]), np.zeros(1))
    drawn = np.interp(np.linspace(0, 1, 1001), cdf[0], longer[0])
    assert abs((drawn == 0.0).mean() - 0.2) < 0.01 and abs((drawn == 1.0).mean() - 0.1) < 0.01
