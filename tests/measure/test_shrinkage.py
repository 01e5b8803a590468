"""Shrinkage: noise goes, spikes stay, dense signals are hardly touched. Seeded, so nothing fails by chance."""

import numpy as np

from understudy.measure.shrinkage import deviations, shrink, smooth, spectral


def error(found: np.ndarray, truth: np.ndarray) -> float:
    return float(((found - truth) ** 2).mean())


def test_the_estimator_adapts_to_what_it_is_given() -> None:
    """400 values under unit noise. The best common factor (James-Stein) would leave ten spikes of size 10 an error of 0.7."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=400)
    nothing = np.zeros(400)
    assert error(shrink(noise, 1.0), nothing) < 0.02
    spikes = np.where(np.arange(400) < 10, 10.0, 0.0)
    assert error(shrink(spikes + noise, 1.0), spikes) < 0.1
    dense = rng.normal(0.0, 1.0, 400)
    assert error(shrink(dense + noise, 1.0), dense) < 0.56  # 0.5 is the best there is
    large = rng.normal(0.0, 100.0, 400)
    assert error(shrink(large + noise, 1.0), large) < 1.1


def test_signs_order_and_shapes_are_kept() -> None:
    values = np.array([[-9.0, -1.0, 0.0], [1.0, 4.0, 9.0]])
    found = shrink(values, np.array([[1.0], [1.0]]))
    assert found.shape == values.shape and (np.sign(found) == np.sign(values)).all()
    assert (np.abs(found) <= np.abs(values)).all() and (np.diff(found.ravel()) >= 0).all()
    assert shrink(np.zeros(0), 1.0).shape == (0,)
    assert np.isfinite(shrink(np.array([1e100, 0.0]), 1e-100)).all()


def test_each_value_has_its_own_noise() -> None:
    found = shrink(np.array([5.0, 5.0, *np.zeros(20)]), np.array([0.1, 50.0, *np.ones(20)]))
    assert found[0] > 4.9 and found[1] < 2.5


def test_neighbours_are_heard_together_and_strangers_are_not() -> None:
    """600 values under noise as large as they are: smooth ones come back with less error than any common factor would leave."""
    rng = np.random.default_rng(0)
    signal, noise = np.sin(np.arange(600) / 15.0), rng.normal(size=600)
    together, alone = np.zeros(600, np.int64), np.arange(600)
    assert error(smooth(signal + noise, 1.0, together), signal) < 0.15
    assert error(smooth(signal + noise, 1.0, alone), signal) > 0.25
    rough = rng.choice([-1.0, 1.0], 600)
    assert error(smooth(rough + noise, 1.0, together), rough) < 0.55
    assert np.abs(smooth(0.001 * noise, 1.0, together)).max() < 1e-4
    assert smooth(np.zeros(0), 1.0, np.zeros(0, np.int64)).shape == (0,)


def test_classes_look_alike_unless_one_stands_out() -> None:
    values = np.tile(np.linspace(-2.0, 2.0, 30), (2, 1))
    values[1, 3] += 5.0
    common, own = deviations(values, np.array([0.01, 0.2]), np.array([0.9, 0.1]), np.arange(30))
    assert own[1, 3] > 4.0 and np.abs(np.delete(own[1], 3)).max() < 0.2
    np.testing.assert_allclose(common + own[0], values[0], atol=0.1)


def test_matrices_keep_what_stands_out_from_the_edge_of_their_noise() -> None:
    rng = np.random.default_rng(0)
    noise = np.triu(rng.normal(0.0, 0.1, (60, 60)), 1)
    noise = noise + noise.T
    assert np.abs(spectral(noise, 0.1)).max() < 0.05
    direction = np.ones(60) / np.sqrt(60)
    found = spectral(20.0 * np.outer(direction, direction) + noise, 0.1)
    assert abs(direction @ found @ direction - 20.0) < 0.5
