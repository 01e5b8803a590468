"""Noisy gradients: a unit moves the sum by at most C and takes part with probability q; mutants are caught."""

import dataclasses
from functools import partial
from typing import Any

import dp_accounting as dpa
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import stats

from understudy.accounting.events import flatten
from understudy.errors import UsageError
from understudy.private import stream
from understudy.private.blocks import Blocks
from understudy.private.mechanisms import noisy_gradient
from understudy.private.mechanisms.noisy_gradient import NoisyGradient, refuse_mixing, summed, unit_loss
from understudy.private.mechanisms.plain_gradient import PlainGradient
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.private.sampling import Members, Units, by_unit, pieces
from understudy.questions.rounds import GradientQuery
from understudy.schema import Encoded

WIDTH, ROWS, CLIP, PIECE = 5, 37, 0.8, 8


def loss(weights, row, label):
    """A small critic; its gradients have norms from far below to far above C."""
    hidden = jnp.tanh(row @ weights["inner"])
    return -(hidden @ weights["outer"]) * (1.0 + label)


def weights(seed=0):
    rng = np.random.default_rng(seed)
    normal = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    return {"inner": normal(WIDTH, 3), "outer": normal(3)}


def encoded(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, WIDTH)) * rng.choice([0.01, 1.0, 30.0], (rows, 1))
    return Encoded(values.astype(np.float32), rng.integers(0, 2, rows).astype(np.int32))


def mechanism(kind=NoisyGradient, **changes):
    settings = {"losses": (loss,), "clips": (CLIP,), "sampling_rate": 0.3, "sigma": 1.5, "piece": PIECE, "per_unit": 1}
    return kind(**(settings | changes))


def blocks(rows=ROWS, per_unit=1):
    return Blocks.of(*encoded(rows), None if per_unit == 1 else np.arange(rows) // per_unit)


def table(rows=ROWS, per_unit=1) -> Units:
    return jax.tree.map(jnp.asarray, by_unit(blocks(rows, per_unit)))


@partial(jax.jit, static_argnums=0)
def compiled_total(subject, data, chosen):
    return subject.total(data, chosen, weights(), 0)


def total_steps(subject, data, chosen=None):
    chosen = jnp.ones(data.size.shape, bool) if chosen is None else jnp.asarray(chosen)
    return np.asarray(compiled_total(subject, data, chosen), np.int64)


def total(subject, data, chosen=None):
    """The sum as a gradient whose units have norm C at most."""
    return total_steps(subject, data, chosen) * (CLIP / subject.levels)


@partial(jax.jit, static_argnums=0)
def answer(subject, data, query, secret):
    return subject.answer(data, (), query, secret, jax.random.key(0))[1]


def by_hand(per_unit=1):
    """Sum of clipped gradients, unit by unit, in a plain loop."""
    rows, classes = encoded()
    found = np.zeros(ravel_pytree(weights())[0].shape)
    for first in range(0, ROWS, per_unit):
        own = range(first, min(first + per_unit, ROWS))
        gradient = sum(np.asarray(ravel_pytree(jax.grad(loss)(weights(), rows[i], classes[i]))[0]) for i in own)
        found += gradient * min(1.0, CLIP / np.linalg.norm(gradient))
    return found


def assert_near(subject, data, wanted):
    """Within half a step for every unit and 32-bit arithmetic."""
    unit = CLIP / subject.reach(len(wanted))
    np.testing.assert_allclose(
        total_steps(subject, data) * unit, wanted, rtol=1e-4, atol=1e-4 + 0.5 * unit * data.size.shape[0]
    )


@pytest.mark.parametrize("per_unit", [1, 3])
def test_sum_is_that_of_a_plain_loop(per_unit):
    assert_near(mechanism(per_unit=per_unit), table(per_unit=per_unit), by_hand(per_unit))


@pytest.mark.filterwarnings("ignore:optax.global_norm is deprecated")
@pytest.mark.parametrize("per_unit", [1, 3])
def test_sum_is_that_of_jax_privacy(per_unit):
    """Their clipping is by vmap over units; ours must give the same sum."""
    from jax_privacy import clipped_grad

    def of_unit(weights, rows, classes, present):
        return jnp.sum(present * jax.vmap(loss, in_axes=(None, 0, 0))(weights, rows, classes))

    data = table(per_unit=per_unit)
    everybody = jnp.ones(data.size.shape, bool)
    theirs = clipped_grad(of_unit, l2_clip_norm=CLIP, batch_argnums=(1, 2, 3), keep_batch_dim=False)
    add = lambda carry, members: carry + ravel_pytree(theirs(weights(), *members))[0]  # noqa: E731
    start = jnp.zeros(ravel_pytree(weights())[0].shape)
    judged = jax.jit(lambda data: pieces(data, everybody, PIECE, per_unit, add, start))(data)
    assert_near(mechanism(per_unit=per_unit), data, np.asarray(judged))


def test_the_sum_is_the_same_whatever_order_units_come_in():
    """Whole numbers are added up; the mutant adds floating-point numbers, whose last digits depend on the order."""
    rows, classes = encoded(500)
    order = np.random.default_rng(3).permutation(500)
    tables = [Blocks.of(rows, classes), Blocks.of(rows[order], classes[order])]
    for kind, same in ((NoisyGradient, True), (AddedAsFloats, False)):
        one, two = (
            np.asarray(compiled_total(mechanism(kind), jax.tree.map(jnp.asarray, by_unit(own)), jnp.ones(500, bool)))
            for own in tables
        )
        assert (one == two).all() == same
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=0.1)


class AddedAsFloats(NoisyGradient):
    """Mutant: clipped gradients are added up before they are put on the grid."""

    def total(self, data: Units, chosen: Any, weights: Any, number: int) -> Any:
        def gradient(loss: Any, weights: Any, members: Members) -> Any:
            gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0, 0))(weights, *members)
            flat = jax.vmap(lambda one: ravel_pytree(one)[0])(gradients)
            norm = jnp.linalg.norm(flat, axis=1, keepdims=True)
            return (flat * jnp.minimum(1.0, CLIP / jnp.maximum(norm, 1e-9))).sum(axis=0)

        return summed(self.losses[number], gradient, data, chosen, weights, self.piece, self.per_unit)


# -- sensitivity ----------------------------------------------------------------------------------------------------------


def influence(subject, data):
    """Largest change of the sum when one unit leaves, over all units."""
    count = data.size.shape[0]
    full = total(subject, data)
    return max(np.linalg.norm(full - total(subject, data, np.arange(count) != u)) for u in range(count))


@pytest.mark.parametrize("per_unit", [1, 3])
def test_a_unit_moves_the_sum_by_at_most_the_clipping_norm(per_unit):
    found = influence(mechanism(per_unit=per_unit), table(per_unit=per_unit))
    assert 0.99 * CLIP < found <= CLIP


def test_a_clipping_norm_at_the_end_of_the_numbers_is_refused(monkeypatch):
    """1e-35 made steps infinite: their squares came round to 1, and a unit of 10^5 times the length that is paid seemed short."""
    for clip in (1e-13, 1e-35, 0.0, -1.0, 1e13, float("nan")):
        with pytest.raises(UsageError, match="clip="):
            mechanism(clips=(clip,))
    for clip in (1e-12, 1e12):
        assert influence(mechanism(clips=(clip,)), table()) <= CLIP  # in units of the clip
    monkeypatch.setattr(noisy_gradient, "LEAST_CLIP", 0.0)  # mutant: any number will do
    with np.errstate(over="ignore"):
        assert influence(mechanism(clips=(1e-35,)), table()) > 1e5 * CLIP


class ClippedPerBatch(NoisyGradient):
    """Mutant: the gradient of the whole piece is clipped once, so a unit can turn the rest of the sum around."""

    def steps(self, loss: Any, weights: Any, members: Members, clip: float) -> Any:
        summed = lambda w: jnp.sum(jax.vmap(loss, in_axes=(None, 0, 0, 0))(w, *members))  # noqa: E731
        found = ravel_pytree(jax.grad(summed)(weights))[0]
        size = len(members.present)
        clipped = found * jnp.minimum(1.0, clip / jnp.linalg.norm(found)) * size
        return jnp.round(clipped * self.levels / clip).astype(jnp.int32)[None]


class BatchNormalised(NoisyGradient):
    """Mutant: rows are normalised by their common mean and variance before the loss, then clipped one by one."""

    def steps(self, loss: Any, weights: Any, members: Members, clip: float) -> Any:
        there = members.present[..., None]
        mean = (members.rows * there).sum((0, 1), keepdims=True) / jnp.maximum(there.sum(), 1.0)
        centred = (members.rows - mean) * there
        deviation = jnp.sqrt((centred**2).sum((0, 1), keepdims=True) / jnp.maximum(there.sum(), 1.0) + 1e-5)
        return super().steps(loss, weights, members._replace(rows=centred / deviation), clip)


@pytest.mark.parametrize("mutant", [ClippedPerBatch, BatchNormalised])
def test_clipping_that_lets_rows_meet_is_caught(mutant):
    assert influence(mechanism(mutant), table()) > 1.5 * CLIP


def test_units_with_gradients_that_are_no_numbers_count_as_zero():
    data = table()
    odd = data._replace(rows=data.rows.at[4].set(jnp.nan).at[9].set(3e38))
    root = lambda w, row, label: loss(w, row, label) + jnp.sqrt(jnp.abs(row).sum()) * 0.0  # noqa: E731
    subject = mechanism(losses=(root,))
    chosen = np.ones(ROWS, bool)
    found = total(subject, odd, chosen)
    chosen[4] = False
    np.testing.assert_allclose(found, total(subject, odd, chosen), rtol=1e-5, atol=1e-5)
    assert np.isfinite(found).all()


def length(weights, row, label):
    """A loss without a derivative at the row of zeros, where its gradient is NaN."""
    return jnp.linalg.norm(row @ weights["inner"]) * (1.0 + label)


class CleanedAfterTheSum(NoisyGradient):
    """Mutant: places that hold nobody are filled with zeros, and NaN is removed from the sum of the piece."""

    def steps(self, loss: Any, weights: Any, members: Members, clip: float) -> Any:
        norm = jax.vmap(lambda *unit: jnp.linalg.norm(ravel_pytree(jax.grad(loss)(weights, *unit))[0]))(*members)
        sound = jnp.isfinite(norm) & (norm > 0.0)
        factor = jnp.where(sound, jnp.minimum(1.0, clip / jnp.where(sound, norm, 1.0)), 0.0)
        rows = jnp.where(sound[:, None, None], members.rows, 0.0)
        kept = members._replace(rows=rows, present=members.present * sound.astype(jnp.float32)[:, None])
        weighted = lambda w: jnp.sum(factor * jax.vmap(loss, in_axes=(None, 0, 0, 0))(w, *kept))  # noqa: E731
        found = ravel_pytree(jax.grad(weighted)(weights))[0]
        return jnp.round(jnp.where(jnp.isfinite(found), found, 0.0) * self.levels / clip).astype(jnp.int32)[None]


class FilledByTheNext(NoisyGradient):
    """Mutant: empty places of a unit hold rows of the units behind it, times 0."""

    def total(self, data: Units, chosen: Any, weights: Any, number: int) -> Any:
        of_unit, rows = unit_loss(self.losses[number], self.per_unit), data.rows.shape[0]
        place = jnp.minimum(data.first[:, None] + jnp.arange(self.per_unit)[None, :], rows - 1)
        present = (jnp.arange(self.per_unit)[None, :] < data.size[:, None]) & chosen[:, None]
        members = Members(data.rows[place], data.classes[place], present.astype(jnp.float32))
        return self.steps(of_unit, weights, members, self.clips[number]).sum(axis=0)


def test_a_place_that_holds_nobody_adds_nothing_whatever_the_loss_is_there():
    """Eight units fill a piece; without one of them a place is empty, which must not wipe out the other seven."""
    assert influence(mechanism(losses=(length,)), table(PIECE)) <= CLIP
    assert influence(mechanism(CleanedAfterTheSum, losses=(length,)), table(PIECE)) > 1.5 * CLIP
    full = total(mechanism(losses=(length,)), table(PIECE))
    assert np.isfinite(full).all() and np.linalg.norm(full) > CLIP


def with_an_odd_row(rows, seed):
    """Units of up to three rows, one of whose rows is zeros, where `length` has no derivative."""
    rng = np.random.default_rng(seed)
    found = encoded(rows, seed)
    found.rows[rng.integers(rows)] = 0.0
    return jax.tree.map(
        jnp.asarray, by_unit(Blocks.of(found.rows, found.classes, np.sort(rng.integers(0, rows, rows))))
    )


@pytest.mark.parametrize("seed", range(4))
def test_an_odd_row_touches_its_own_unit_only(seed):
    data = with_an_odd_row(12, seed)
    assert influence(mechanism(losses=(length,), per_unit=12), data) <= CLIP


def test_an_odd_row_that_fills_the_places_of_others_is_caught():
    """Two units of one row stand before a unit whose row is zeros: in the mutant they vanish with it."""
    rows = encoded(6).rows.copy()
    rows[4] = 0.0
    units = np.array([0, 0, 1, 2, 3, 4])
    data = jax.tree.map(jnp.asarray, by_unit(Blocks.of(rows, encoded(6).classes, units)))
    right, wrong = (mechanism(kind, losses=(length,), per_unit=3) for kind in (NoisyGradient, FilledByTheNext))
    assert influence(right, data) <= CLIP
    assert influence_of_absence(wrong, data, 3) > 1.2 * CLIP
    assert influence_of_absence(right, data, 3) == 0.0  # whole numbers add up to the same sum in any order


def influence_of_absence(subject, data, unit):
    """How far the sum moves when the rows of a unit are taken out of the table."""
    rows = np.repeat(np.arange(len(data.size)), data.size)
    stay = rows != unit
    less = by_unit(Blocks.of(np.asarray(data.rows)[stay], np.asarray(data.classes)[stay], rows[stay]))
    return float(np.linalg.norm(total(subject, data) - total(subject, jax.tree.map(jnp.asarray, less))))


class Normalised(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __call__(self, weights, row, label):
        return row.sum()


@dataclasses.dataclass(frozen=True)
class Nested:
    networks: tuple[Any, ...]

    def __call__(self, weights, row, label):
        return row.sum()


def test_batch_normalisation_is_refused_with_an_explanation():
    norm = eqx.nn.BatchNorm(WIDTH, "rows", mode="batch")
    for held in (Normalised(norm), Nested(({"deep": Normalised(norm)},))):
        with pytest.raises(UsageError, match="normalises across rows"):
            mechanism(losses=(held,))
    refuse_mixing(Nested((eqx.nn.LayerNorm(WIDTH), eqx.nn.GroupNorm(1, WIDTH))))


def test_collectives_over_rows_are_refused_with_an_explanation():
    centred = lambda w, row, label: loss(w, row - jax.lax.pmean(row, "rows"), label)  # noqa: E731
    with pytest.raises(UsageError, match="normalises across rows"):
        total(mechanism(losses=(centred,)), table())


# -- sampling -------------------------------------------------------------------------------------------------------------


def test_the_whole_sample_is_used_however_large_it_is():
    """37 units in pieces of 8: nothing is cut off at the end of a piece, of a sample, or of the table."""
    data = table()
    count = lambda carry, members: carry + members.present.sum()  # noqa: E731
    for size in (0, 1, 8, 9, 36, 37):
        chosen = np.random.default_rng(size).permutation(ROWS) < size
        assert float(pieces(data, jnp.asarray(chosen), PIECE, 1, count, jnp.zeros(()))) == size


def test_every_row_of_a_chosen_unit_takes_part_and_no_other():
    data = table(per_unit=3)
    seen = lambda carry, members: carry + (members.rows * members.present[..., None]).sum((0, 1))  # noqa: E731
    chosen = np.zeros(13, bool)
    chosen[[2, 12]] = True  # the last unit has one row
    found = pieces(data, jnp.asarray(chosen), PIECE, 3, seen, jnp.zeros(WIDTH))
    rows = encoded().rows
    np.testing.assert_allclose(np.asarray(found), rows[6:9].sum(0) + rows[36], rtol=1e-5)


@pytest.mark.parametrize("rows", [0, 1])
def test_nearly_empty_tables_answer_with_noise(rows):
    subject = mechanism()
    data, held = subject.prepare(blocks(rows), SeededNoise(0))
    noise = jnp.asarray(subject.tape(1, SeededNoise(1))[0], jnp.int32)
    query = GradientQuery(jnp.zeros((), jnp.int32), (weights(),))
    found = np.asarray(answer(subject, jax.tree.map(jnp.asarray, data), query, noise))
    assert held == () and np.isfinite(found).all() and np.abs(found).max() > 0


class FixedSize(NoisyGradient):
    """Mutant: sampling without replacement, the batch always of the expected size, priced as a Poisson sample."""

    def chosen(self, bits):
        return jnp.argsort(jnp.argsort(bits)) < round(self.sampling_rate * bits.shape[0])


class FakesAreReal(NoisyGradient):
    """Mutant: as many generated rows as real ones are put into the table, so the price names half of the true rate."""

    def event(self, rounds):
        return dataclasses.replace(mechanism(), sampling_rate=self.sampling_rate / 2).event(rounds)


def samples(subject, rounds=400, members=ROWS):
    """Which units took part, [rounds, units], under fresh keys."""
    tape = jnp.asarray(subject.tape(rounds, SecureNoise()), jnp.int32)
    return np.asarray(jax.lax.map(lambda secret: subject.chosen(stream.words(secret, members)), tape))


def sampling_problems(subject, alpha=4e-7):
    """What is wrong with a mechanism's samples, against the rate in its own event; each finding is false with at most `alpha`."""
    taken, rounds = samples(subject), 400
    (event,) = flatten(subject.event(1))
    rate = event.sampling_probability
    problems = []
    low, high = stats.binom.ppf([alpha / 2, 1 - alpha / 2], taken.size, rate)
    if not low <= taken.sum() <= high:
        problems.append("rate")
    sizes = taken.sum(axis=1)
    spread = ((sizes - ROWS * rate) ** 2).sum() / (ROWS * rate * (1 - rate))
    low, high = stats.chi2.ppf([alpha / 2, 1 - alpha / 2], rounds)
    if not 0.9 * low <= spread <= 1.1 * high:
        problems.append("spread of sample sizes")
    return problems


def test_samples_are_poisson_samples_at_the_rate_that_is_priced():
    """False failure below 8e-7; the mutants below show what is noticed."""
    assert sampling_problems(mechanism()) == []


def test_sampling_without_replacement_priced_as_poisson_is_caught():
    assert "spread of sample sizes" in sampling_problems(mechanism(FixedSize))


def test_generated_rows_counted_as_real_are_caught():
    assert "rate" in sampling_problems(mechanism(FakesAreReal))


def test_the_question_holds_weights_and_nothing_else():
    """Generated rows cannot enter the private part, because a question has no place for them."""
    assert GradientQuery._fields == ("phase", "weights")


# -- noise ----------------------------------------------------------------------------------------------------------------


def answers(subject, rounds=600):
    """Noisy answers minus the exact sums of their own samples, in units of the noise that the event names."""
    data, query = table(), GradientQuery(jnp.zeros((), jnp.int32), (weights(),))
    tape = jnp.asarray(subject.tape(rounds, SecureNoise()), jnp.int32)
    size = ravel_pytree(weights())[0].shape[0]

    def one(secret):
        noisy = subject.answer(data, (), query, secret, jax.random.key(0))[1]
        bits = stream.words(secret, stream.normal_words(size) + ROWS)[stream.normal_words(size) :]
        return noisy - subject.unscaled(subject.total(data, subject.chosen(bits), weights(), 0), CLIP)

    (event,) = flatten(subject.event(1))
    deviation = event.event.noise_multiplier * CLIP * subject.levels / subject.reach(size)
    return np.asarray(jax.lax.map(one, tape), np.float64) / deviation


class NoiseOnTheMean(NoisyGradient):
    """Mutant: the noise of a mean over a whole batch, on the sum."""

    def noised(self, total, bits, clip):
        return dataclasses.replace(self, sigma=self.sigma / (self.sampling_rate * ROWS)).right(total, bits, clip)

    def right(self, total, bits, clip):
        return super().noised(total, bits, clip)


class NoisePerPiece(NoisyGradient):
    """Mutant (RDP-CGAN's Algorithms 1 and 2): noise for every micro-batch, r times what the price needs in variance."""

    def noised(self, total, bits, clip):
        return super().noised(total, bits, clip) * np.sqrt(5.0)


def noise_is_right(subject, alpha=8e-7):
    found = answers(subject)
    low, high = stats.chi2.ppf([alpha / 2, 1 - alpha / 2], found.size)
    return bool(low < (found**2).sum() < high)


def test_noise_on_the_sum_has_the_scale_that_is_priced():
    """False failure 8e-7 (fresh keys). With 10,800 numbers, a scale 7 % too small passes with probability below 1e-6."""
    assert noise_is_right(mechanism())
    n = 600 * ravel_pytree(weights())[0].shape[0]
    assert stats.chi2.sf(stats.chi2.ppf(4e-7, n) / 0.93**2, n) < 1e-6


@pytest.mark.parametrize("mutant", [NoiseOnTheMean, NoisePerPiece])
def test_noise_in_the_wrong_place_is_caught(mutant):
    assert not noise_is_right(mechanism(mutant))


def test_answers_are_whole_steps_whatever_the_rows_are():
    """So no low digit of a floating-point sum leaves."""
    subject = mechanism()
    query = GradientQuery(jnp.zeros((), jnp.int32), (weights(),))
    secret = jnp.asarray(subject.tape(1, SecureNoise())[0], jnp.int32)
    unit = CLIP / subject.reach(ravel_pytree(weights())[0].shape[0])
    for data in (table(), table(7)):
        steps = np.asarray(answer(subject, data, query, secret), np.float64) / unit
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-2)


@pytest.mark.parametrize("sigma", [0.01, 1.0, 53.0, 700.0, 5000.0])
def test_noise_reaches_every_whole_number(sigma):
    """Floating-point numbers above 2^24 are even: the sum's last digit would stay bare."""
    subject = mechanism(sigma=sigma)
    assert 9.5 * sigma * subject.levels < 2**23 and (sigma > 30.0 or subject.levels == 1 << 14)


def test_too_much_noise_for_a_network_is_refused():
    with pytest.raises(UsageError, match="raise epsilon"):
        mechanism(sigma=1e5).reach(10_000)


class Unchecked(NoisyGradient):
    """Mutant: coordinates are rounded away from zero, and nobody looks at how long a unit is afterwards."""

    def steps(self, loss: Any, weights: Any, members: Members, clip: float) -> Any:
        gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0, 0))(weights, *members)
        flat = jax.vmap(lambda one: ravel_pytree(one)[0])(gradients)
        factor = jnp.minimum(1.0, clip / jnp.linalg.norm(flat, axis=1, keepdims=True)) * self.levels / clip
        return (jnp.sign(flat) * jnp.ceil(jnp.abs(flat) * factor)).astype(jnp.int32)


def test_rounding_that_lengthens_a_unit_is_caught():
    """A coarse grid, as large noise has it: 18 coordinates rounded up reach beyond C."""
    right, wrong = (mechanism(kind, sigma=5000.0) for kind in (NoisyGradient, Unchecked))
    assert right.levels == 128 and influence(right, table()) <= CLIP
    assert influence(wrong, table()) > 1.005 * CLIP


# -- phases ---------------------------------------------------------------------------------------------------------------


def other_loss(weights, row, label):
    return jnp.sum((row - weights) ** 2)


def test_a_round_answers_about_the_network_that_is_asked_and_costs_the_same():
    subject = mechanism(losses=(other_loss, loss), clips=(2.0, CLIP), sigma=1e-6, sampling_rate=1.0)
    data = table()
    for phase, expected in ((0, (WIDTH,)), (1, ravel_pytree(weights())[0].shape)):
        query = GradientQuery(jnp.asarray(phase), (jnp.zeros(WIDTH), weights()))
        secret = jnp.asarray(subject.tape(1, SecureNoise())[0], jnp.int32)
        found = np.asarray(answer(subject, data, query, secret))
        of_phase = jax.jit(lambda w, phase=phase: subject.total(data, jnp.ones(ROWS, bool), w, phase))
        exact = np.asarray(subject.unscaled(of_phase(query.weights[phase]), subject.clips[phase]))
        assert exact.shape == expected and found.shape == ravel_pytree(weights())[0].shape
        np.testing.assert_allclose(found[: len(exact)], exact, atol=1e-3)
        assert not found[len(exact) :].any()


def test_every_round_is_charged():
    single = dpa.PoissonSampledDpEvent(0.3, dpa.GaussianDpEvent(1.5))
    assert mechanism().event(7) == dpa.SelfComposedDpEvent(single, 7)


# -- the reference without privacy -----------------------------------------------------------------------------------------


def test_plain_gradients_have_no_price_and_say_so():
    plain = PlainGradient((loss,), 1.0, PIECE)
    assert plain.event(3) == dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), 3)
    query = GradientQuery(jnp.zeros((), jnp.int32), (weights(),))
    secret = jnp.asarray(plain.tape(1, SecureNoise())[0], jnp.int32)
    found = answer(plain, table(), query, secret)
    rows, classes = map(jnp.asarray, encoded())
    summed = lambda w: jax.vmap(loss, in_axes=(None, 0, 0))(w, rows, classes).sum()  # noqa: E731
    np.testing.assert_allclose(np.asarray(found), np.asarray(ravel_pytree(jax.grad(summed)(weights()))[0]), rtol=1e-3)
