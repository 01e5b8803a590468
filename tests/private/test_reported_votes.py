"""The report on PATE-GAN's labels: gaps are counted, one shard moves each by two, the bound on a wrong label holds."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import understudy as us
from understudy.accounting import smooth
from understudy.accounting.ledger import entries_from_dict
from understudy.methods.pate_gan.method import PateGan
from understudy.methods.pate_gan.priced import PateGanPriced
from understudy.private.mechanisms.reported_votes import ReportedVotes, reported
from understudy.private.noise import SeededNoise
from understudy.questions.rounds import REPORT

from ..conformance.tables import QUICK, TINY, mixed_schema, mixed_table
from .test_teacher_votes import mechanism, question, table, without_shard


def subject(kind=ReportedVotes, **changes):
    made = reported(mechanism(answers="label", **changes), 10, 2.0, 1e-5)
    return kind(made.votes, made.report)


def counted(one, shards, held):
    silent = jnp.zeros((2, 7), jnp.int32)
    after, said = jax.jit(one.answer)(shards, held, question(), silent, jax.random.key(0))
    return [np.repeat(np.arange(row.size), row) for row in np.asarray(after.gaps)], np.asarray(said)


def test_labels_are_those_without_a_report_and_one_shard_moves_gaps_by_two():
    one = subject()
    shards, held = jax.tree.map(jnp.asarray, one.prepare(table(), SeededNoise(1)))
    gaps, said = counted(one, shards, held)
    trained = one.votes.train(shards, held.teachers, question().practice)
    votes = np.asarray(one.votes.votes(trained, question().judged))
    for c, k in enumerate(one.votes.teachers):
        assert sorted(np.maximum(np.abs(2 * votes[c] - k) - 1, 0)) == gaps[c].tolist()
    plain = one.votes.answer(shards, held.teachers, question(), jnp.zeros((2, 7), jnp.int32), jax.random.key(0))[1]
    np.testing.assert_array_equal(said, plain)
    less, _ = counted(one, without_shard(shards, 0, 0), held)
    assert np.abs(gaps[0] - less[0]).max() <= 2 and (gaps[1] == less[1]).all()


def test_a_report_is_about_the_larger_of_two_counts_with_noise_of_root_two_sigma_each():
    one = subject()
    made = one.report
    assert (made.multiplier, made.delta, made.bins, made.touched, made.test) == (2.0, 1e-5, 2, 1, 0)
    assert made.sigma_answer == pytest.approx(math.sqrt(2.0) * one.votes.scale)


def integer_tail(sigma, least):
    """Pr[Z >= least] of the integer Gaussian, added up."""
    weight = lambda w: math.exp(-(w**2) / (2 * sigma**2))  # noqa: E731
    reach = math.ceil(40 * sigma) + 40
    return math.fsum(weight(w) for w in range(least, reach)) / math.fsum(weight(w) for w in range(-reach, reach + 1))


def covered(shift, sigma):
    """Whether q, of a gap less `shift`, bounds how often a label comes out wrong, for every gap of an ensemble of 60."""
    scale = math.sqrt(2.0) * sigma
    wrong = [integer_tail(sigma, math.ceil(gap / 2)) for gap in range(61)]
    told = [math.exp(smooth.log_wrong(max(gap - shift, 0), 2, scale)) for gap in range(61)]
    return all(a <= b * (1 + 1e-9) for a, b in zip(wrong, told, strict=True))


@pytest.mark.parametrize("sigma", [0.8, 1.0, 2.5, 7.0])
def test_the_bound_on_a_wrong_label_holds_for_integer_noise(sigma):
    assert covered(1, sigma)


def test_gaps_that_are_not_written_down_less_one_would_not_be_covered():
    """Mutant: two noisy counts have the better bound, a single noisy count with doubled noise has not."""
    assert not covered(-1, 1.0)


@pytest.mark.parametrize("make", [PateGan, PateGanPriced])
def test_a_report_is_planned_charged_and_told(make):
    options = TINY | {"answers": "label"} if make is PateGan else QUICK["pate-gan-priced"] | {"answers": "label"}
    model = (
        make(epsilon=4.0, **options | {"report_share": 0.2, "teachers": 60}).fit(mixed_table(), mixed_schema()).fitted
    )
    spent = [charge for charge in entries_from_dict(model.ledger)[1] if charge.purpose == REPORT]
    share = next(one.share for one in model.plan.shares() if one.purpose == REPORT)
    assert len(spent) == 1 and share == pytest.approx(0.2, rel=0.15)
    assert model.certificate.valid and model.certificate.epsilon == 4.0
    assert "not the guarantee" in model.report["statement"]
    assert 0 < model.report["epsilon_at_most"] <= model.report["epsilon_largest"]


@pytest.mark.parametrize("options", [{}, {"answers": "label", "noise": "laplace"}, {"answers": "share"}])
def test_a_report_is_about_labels_with_gaussian_noise(options):
    with pytest.raises(us.UsageError, match=r"report_share=0\.1 is about"):
        PateGan(report_share=0.1, **options).plan(mixed_schema())
    with pytest.raises(us.UsageError, match="must be a share"):
        PateGan(report_share=1.0).plan(mixed_schema())
