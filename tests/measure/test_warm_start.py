"""Where trained generators start in a table with few rows, and how far their training is trusted there."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import understudy as us
from understudy.fit import fit
from understudy.measure import warm_start
from understudy.nn.copula import Start
from understudy.nn.heads import Heads
from understudy.private import Curator, SeededNoise
from understudy.private.release import Release
from understudy.questions import Counts
from understudy.schema import Codec, Column, Schema

from ..fit.inside import opened
from ..mean_embedding.test_few_rows import SPARSE, sparse_table
from ..wall import ask

QUICK = {
    "dpgan": {"rounds": 10},
    "pate-gan": {"rounds": 2, "student_steps": 2},
}


def empty_columns(made: pd.DataFrame) -> int:
    """How many of the twenty columns that never happen stay empty."""
    return int((made[[f"b{i}" for i in range(10, 30)]].mean() < 0.01).sum())


class Seeded(Curator):
    """Answers with seeded noise, without a ledger."""

    def __init__(self, rows: Any, classes: Any, seed: int) -> None:
        self.rows, self.classes, self.random = rows, classes, np.random.default_rng(seed)

    def ask(self, purpose: str, question: Any) -> Release[Any]:
        exact = ask(question, self.rows, self.classes)
        if isinstance(question, Counts):
            noisy = [x + self.random.normal(0.0, s, x.shape) for x, s in zip(exact, question.deviations, strict=True)]
            return Release(noisy, question.event)
        return Release(exact + self.random.normal(0.0, question.sigma, exact.shape), question.event)

    def see(self, row_map: Any) -> None:
        pass


def made_up(seed: int) -> float:
    """How often, according to the start, the twenty columns of SPARSE that never happen do happen: the mean over classes."""
    codec, plan = Codec(SPARSE), us.DpGan(epsilon=1.0).plan(SPARSE)
    rows, classes = codec.encode(sparse_table(720, seed))
    counts = np.bincount(classes, minlength=2).astype(float)
    _, start = warm_start.ask_start(Seeded(rows, classes, seed), codec, counts, plan)
    return float(ndtr(start.location - start.threshold)[:, 10:30].mean())


def test_moments_of_a_small_table_make_things_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: the questions for large tables, asked of a small one. Seeded, so nothing fails by chance."""
    means = np.mean([made_up(seed) for seed in range(5)])
    monkeypatch.setattr(warm_start, "few_rows", lambda *_: False)
    moments = np.mean([made_up(seed) for seed in range(5)])
    assert means < 0.02 and moments > 5.0 * means


@pytest.mark.parametrize("method", QUICK)
def test_a_telling_column_is_found_and_nothing_made_up(method: str) -> None:
    """600 rows, epsilon 1, half of the budget or more for the one look at class means.

    From about 720 rows on moments are asked for (`enough_rows`); the released count has a deviation of 16, so 600 are taken
    for more with a probability below 1e-12. The gap of 0.85 is about seven errors of 0.12; 0.15 counts as found. Of twenty
    columns that never happen, each is made up in a class with probability 1/6 or less; fifteen such and more have a
    probability below 1e-6. Second moments of all columns, which are asked of larger tables, leave every empty column at a
    rate of several percent.
    """
    model = us.method(method)(epsilon=1.0, seed=0, **QUICK[method]).fit(sparse_table(600, 0), SPARSE)
    made = model.sample(4_000, seed=1)
    assert made[made.sick == "yes"].b0.mean() - made[made.sick == "no"].b0.mean() > 0.15
    assert empty_columns(made) > 5
    spent = list(dict.fromkeys(entry["purpose"] for entry in model.fitted.ledger["entries"]))
    assert spent == [charge.purpose for charge in model.fitted.plan.charges]  # the same answers as in a large table


def test_wide_tables_keep_what_columns_have_of_their_own() -> None:
    """Columns alike are cut together and counted one by one: sixty columns in four places, 0.25 apart.

    Half of that still tells the places apart; the columns' means are off by 0.015 or so (the largest of sixty by 0.038, with a
    spread of 0.006 over fifty fits), so 0.125 is eight such errors and more: below 1e-12 for all sixty.
    """
    rng = np.random.default_rng(0)
    place = np.arange(60) % 4 * 0.25 + 0.1
    rows = pd.DataFrame(np.clip(rng.normal(place, 0.03, (2_000, 60)), 0.0, 1.0), columns=[f"x{i}" for i in range(60)])
    columns = tuple(Column(name=name, kind="continuous", lower=0, upper=1) for name in rows)
    made = (
        us.DpGan(epsilon=300.0, seed=0, rounds=10, start="marginals")
        .fit(rows, Schema(columns=columns))
        .sample(2_000, seed=1)
    )
    assert np.abs(made.mean() - place).max() < 0.125


def test_one_hot_columns_of_a_small_table() -> None:
    """The outcome that tells the classes apart is found; gap 0.7 with an error of about 0.1, 0.25 counts as found.

    The noise is seeded: in one fit of some 300,000 it would hide the gap.
    """
    rng = np.random.default_rng(0)
    sick = np.arange(600) % 4 == 0
    town = np.where(rng.random(600) < np.where(sick, 0.8, 0.1), "b", rng.choice(["a", "c"], 600))
    more = {f"b{i}": rng.random(600) < 0.3 for i in range(30)}
    table = pd.DataFrame({"town": town, **more, "sick": np.where(sick, "yes", "no")})
    columns = (
        Column(name="town", kind="categorical", categories=("a", "b", "c")),
        *(Column(name=name, kind="boolean") for name in more),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    )
    schema = Schema(columns=columns, label="sick")
    made = fit(us.DpGan(epsilon=1.0, seed=0, rounds=10), table, schema, noise=SeededNoise(0)).sample(4_000, seed=1)
    share = (made.town == "b").groupby(made.sick).mean()
    assert share["yes"] - share["no"] > 0.25


def test_large_tables_are_asked_for_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice is made by the released count; with few rows the other question is not asked at all."""
    asked = []
    for name in ("ask_means", "ask_moments"):
        plain = getattr(warm_start, name)
        monkeypatch.setattr(
            warm_start, name, lambda *given, plain=plain, name=name: asked.append(name) or plain(*given)
        )
    for rows in (500, 20_000):
        opened(us.DpGan(epsilon=1.0, seed=0, rounds=10, gradients_share=0.2), sparse_table(rows, 0), SPARSE)
    assert asked == ["ask_means", "ask_moments"]


# -- trust ------------------------------------------------------------------------------------------------------------------
def network_of(**more: object) -> tuple[object, us.DpGan]:
    estimator = us.DpGan(epsilon=1.0, gradients_share=0.2, **more)
    codec = Codec(SPARSE)
    return estimator._generator(Heads.of(codec.blocks, codec.width), codec.class_count), estimator


def test_trust_grows_with_rows_and_budget_and_falls_with_weights() -> None:
    network, estimator = network_of()
    plan = estimator.plan(SPARSE)
    few, many = (estimator._trust(network, plan, units) for units in (700.0, 70_000.0))
    assert 0.0 < few < 0.3 and 0.95 < many < 1.0
    richer = us.DpGan(epsilon=10.0, gradients_share=0.2)
    assert richer._trust(network, richer.plan(SPARSE), 700.0) > 3.0 * few
    larger, _ = network_of(critic_hidden=256)
    assert estimator._trust(larger, plan, 700.0) < 0.5 * few
    assert us.method("gan")()._trust(network, plan, 700.0) == 1.0  # exact gradients


@pytest.mark.parametrize("kind", ["copula", "mlp"])
def test_untrusted_rows_come_from_the_start(kind: str) -> None:
    """Two columns that training has made the same: the correlation is the share of trusted rows.

    Standard error over 4,000 rows: below 0.02, so limits of 0.1 are five of them.
    """
    network, _ = network_of(generator=kind)
    width = network.heads.width
    classes = jnp.zeros(4_000, jnp.int32)
    numeric = int(np.flatnonzero(network.heads.coordinates("numeric"))[0])
    zeros = np.zeros((2, width), np.float32)
    for trust in (0.0, 0.5, 1.0):
        start = Start(
            zeros,
            zeros,
            np.full((2, 1), 0.1),
            np.full(width, 0.5),
            np.ones(width),
            np.zeros(width),
            np.full((2, 1), trust),
        )
        sampler = {f"start/{name}": jnp.asarray(getattr(start, name)) for name in ("location", "log_scale", "trust")}
        trained = jnp.broadcast_to(jax.random.normal(jax.random.key(1), (4_000, 1)), (4_000, width))
        y = np.asarray(network._samples._with_start(sampler, trained, classes, jax.random.key(2)))
        binary = int(np.flatnonzero(network.heads.coordinates("binary"))[0])
        assert abs(np.corrcoef(y[:, numeric], y[:, binary])[0, 1] - trust) < 0.1
        assert abs(y[:, numeric].std() - 1.0) < 0.1


def test_samples_are_reproducible_after_saving(tmp_path: object) -> None:
    model = us.DpGan(epsilon=1.0, seed=0, rounds=10).fit(sparse_table(720, 0), SPARSE)
    folder = model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(us.load(folder).sample(50, seed=3), model.sample(50, seed=3))
