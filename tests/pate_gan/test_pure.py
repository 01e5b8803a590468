"""Pure epsilon: with delta = 0 all that is asked has Laplace noise, losses add up to epsilon, nothing else is let through."""

import dp_accounting as dpa
import pytest

import understudy as us
from understudy.accounting import gaussian, holds, verify
from understudy.accounting.events import flatten
from understudy.methods.pate_gan.method import PateGan
from understudy.methods.pate_gan.priced import PateGanPriced
from understudy.schema import Column, Schema

from ..conformance.tables import TINY, mixed_schema, mixed_table

PURE = {"delta": 0.0, "noise": "laplace", "start": "none"}


@pytest.mark.parametrize(
    "estimator",
    [PateGan(epsilon=2.0, rounds=4, judged=8, **PURE), PateGanPriced(epsilon=2.0, delta=0.0, noise="laplace")],
    ids=lambda one: one.method,
)
def test_every_release_is_laplace_and_the_losses_add_up_to_epsilon(estimator):
    plan = estimator.plan(mixed_schema())
    found = flatten(plan.events)
    assert all(isinstance(event, dpa.LaplaceDpEvent) for event in found)
    total = sum(times / event.noise_multiplier for event, times in found.items())
    assert 0.998 * 2.0 < total <= 2.0 and plan.epsilon == pytest.approx(total)
    shares = {one.purpose: one.share for one in plan.shares()}
    assert shares["class histogram"] == pytest.approx(0.02, rel=0.01), "of epsilon itself, where losses add up"


def test_a_pure_fit_has_a_certificate_that_others_can_recompute(tmp_path):
    from tools.recompute_epsilon import main

    made = PateGan(**TINY | PURE).fit(mixed_table(), mixed_schema())
    assert made.certificate.valid and made.certificate.delta == 0.0
    folder = made.save(tmp_path / "model")
    assert holds(verify(folder))
    assert main([str(folder / "ledger.json"), "--delta", "0", "--claim", "1"]) == 0
    assert main([str(folder / "ledger.json"), "--delta", "0", "--claim", "0.9"]) == 1


ESTIMATED = Schema(columns=(Column(name="x", kind="continuous", estimate="x"),))


@pytest.mark.parametrize(
    ("make", "schema"),
    [
        (lambda: PateGan(delta=0.0), mixed_schema()),
        (lambda: PateGan(delta=0.0, noise="laplace"), mixed_schema()),
        (lambda: PateGan(**PURE), ESTIMATED),
        (lambda: us.method("mst")(delta=0.0), mixed_schema()),
        (lambda: us.method("dpgan")(delta=0.0, start="none"), mixed_schema()),
        (lambda: us.method("pate-gan-joint")(delta=0.0), mixed_schema()),
    ],
)
def test_whatever_needs_a_delta_is_refused_with_the_way_out(make, schema):
    with pytest.raises(us.UsageError, match=r"delta=0: .* noise=laplace"):
        make().plan(schema)


def test_gaussian_noise_is_never_priced_at_delta_zero():
    assert gaussian.epsilon(0.01, 0.0) == float("inf") and gaussian.epsilon(0.0, 0.0) == 0.0
    with pytest.raises(us.UsageError, match="delta=0"):
        gaussian.mu(1.0, 0.0)
