"""The method from plan to artifact: known structure comes back, what is charged was announced, rows keep their diversity."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import artifact
from understudy.errors import UsageError
from understudy.methods.mean_embedding.method import MeanEmbedding
from understudy.schema import Column, Schema

from .conftest import gaussian_table


@pytest.fixture(scope="module")
def fitted(table: pd.DataFrame, schema: Schema) -> MeanEmbedding:
    model = MeanEmbedding(epsilon=200.0, seed=0)
    model.fit(table, schema)
    return model


@pytest.fixture(scope="module")
def fake(fitted: MeanEmbedding) -> pd.DataFrame:
    return fitted.sample(20_000, seed=5)


def spread(column: pd.Series) -> float:
    """Of nine rows in ten."""
    return float(np.subtract(*np.quantile(column, [0.95, 0.05])))


def test_class_structure_comes_back(table: pd.DataFrame, fake: pd.DataFrame) -> None:
    """With next to no noise; sampling error of a mean of 6,000 rows is 0.013, of a rate 0.007, of a correlation 0.013.

    Correlations come back smaller: over 14 fits by 0.07 (deviation 0.009) and 0.05 (0.012). The limit is more than 6 deviations
    from there, the others are 10 and more: false failures below 1e-9. Spread is that of nine rows in ten: in one fit of ten
    some rows in a thousand lie far out, in an outermost cell that noise alone has filled, and the deviation is 0.1 larger.
    """
    for label in ("no", "yes"):
        real, made = table[table.sick == label], fake[fake.sick == label]
        assert len(made) == pytest.approx(len(real), rel=0.06)
        for name in ("x", "y"):
            assert made[name].mean() == pytest.approx(real[name].mean(), abs=0.08)
            assert spread(made[name]) == pytest.approx(spread(real[name]), rel=0.08)
        assert made[["x", "y"]].corr().iloc[0, 1] == pytest.approx(real[["x", "y"]].corr().iloc[0, 1], abs=0.13)
        assert made.flag.mean() == pytest.approx(real.flag.mean(), abs=0.04)
        for town in "abc":
            assert (made.town == town).mean() == pytest.approx((real.town == town).mean(), abs=0.04)
        assert made.late.isna().mean() == pytest.approx(real.late.isna().mean(), abs=0.04)
        assert made.late.mean() == pytest.approx(real.late.mean(), abs=0.03)
        assert (made.k == 0).mean() == pytest.approx((real.k == 0).mean(), abs=0.05)


def test_rows_are_diverse_and_no_copies(table: pd.DataFrame, fake: pd.DataFrame) -> None:
    numbers = fake[["x", "y"]].round(6)
    assert numbers.duplicated().mean() < 0.001
    assert len(numbers.merge(table[["x", "y"]].round(6))) == 0
    for name in ("x", "y"):
        assert spread(fake[name]) == pytest.approx(spread(table[name]), rel=0.1)


def test_charged_is_what_was_announced(fitted: MeanEmbedding) -> None:
    plan, charged = fitted.fitted.plan, fitted.certificate
    announced = {charge.purpose for charge in plan.charges}
    entries = {entry["purpose"] for entry in fitted.fitted.ledger["entries"]}
    assert entries == announced
    assert plan.epsilon <= plan.budget.epsilon
    assert charged is not None


def test_the_plan_needs_no_rows_and_spends_the_budget(schema: Schema) -> None:
    plan = MeanEmbedding(epsilon=1.0).plan(schema)
    assert 0.99 < plan.epsilon <= 1.0
    assert plan.to_dict() == MeanEmbedding(epsilon=1.0).plan(schema).to_dict()


@pytest.mark.parametrize("label", ["sick", "town", "x", None])
def test_every_kind_of_label(label: str | None, schema: Schema) -> None:
    made = MeanEmbedding(epsilon=1.0, seed=0).fit(gaussian_table(400, 0), replace(schema, label=label)).sample(50)
    assert list(made.columns) == list(schema.names) and len(made) == 50
    assert not made.drop(columns="late").isna().any().any()


def test_persons_instead_of_rows(schema: Schema) -> None:
    """A table in which everybody has three rows; means come back at a budget that leaves little noise."""
    columns = (*schema.columns, Column(name="who", kind="identifier"))
    table = gaussian_table(6_000, 1).assign(who=np.arange(6_000) // 3)
    persons = Schema(columns=columns, label="sick", unit="who", max_rows_per_unit=3)
    model = MeanEmbedding(epsilon=100.0, seed=0)
    made = model.fit(table, persons).sample(6_000, seed=0)
    assert "share a value of column 'who'" in model.fitted.plan.unit
    gap = lambda frame: frame[frame.sick == "yes"].x.mean() - frame[frame.sick == "no"].x.mean()  # noqa: E731
    assert gap(made) == pytest.approx(gap(table), rel=0.35)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_hardly_any_rows(rows: int, schema: Schema) -> None:
    made = MeanEmbedding(epsilon=0.1, seed=0).fit(gaussian_table(rows, 0), schema).sample(20)
    assert len(made) == 20


def test_saved_and_loaded_models_draw_the_same_rows(fitted: MeanEmbedding, tmp_path: Path) -> None:
    again = artifact.load(fitted.save(tmp_path / "model"))
    pd.testing.assert_frame_equal(again.sample(30, seed=3), fitted.sample(30, seed=3))


def test_many_classes_share_one_matrix(monkeypatch: Any, schema: Schema) -> None:
    monkeypatch.setattr("understudy.measure.products.MOST_PRODUCTS", 10)
    model = MeanEmbedding(epsilon=50.0, seed=0).fit(gaussian_table(2_000, 0), schema)
    assert model.fitted.weights["factor"].shape[0] == 1
    made = model.sample(4_000, seed=0)
    assert made[made.sick == "no"][["x", "y"]].corr().iloc[0, 1] > 0.2


def test_nonsense_options_are_refused(schema: Schema) -> None:
    with pytest.raises(UsageError, match="pairs_share"):
        MeanEmbedding(pairs_share=0.0).plan(schema)


def test_tables_without_numbers(schema: Schema) -> None:
    """Nothing is announced about cells of numeric columns, and rates per class come back."""
    columns = tuple(column for column in schema.columns if column.kind in ("categorical", "boolean"))
    table = gaussian_table(4_000, 0)[[column.name for column in columns]]
    model = MeanEmbedding(epsilon=50.0, seed=0).fit(table, Schema(columns=columns, label="sick"))
    assert not any("cells" in charge.purpose for charge in model.fitted.plan.charges)
    made = model.sample(4_000, seed=0)
    for label in ("no", "yes"):
        assert made[made.sick == label].flag.mean() == pytest.approx(table[table.sick == label].flag.mean(), abs=0.06)


def spectrum_table(rows: int, seed: int) -> pd.DataFrame:
    """Sixty columns with the same bounds, each with its own location and spread; the first ten are often cut off at zero."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.3
    places, spreads = np.linspace(0.2, 0.8, 60), 0.04 + 0.08 * (np.arange(60) % 3 == 0)
    places[:10] = 0.02
    values = places + spreads * (rng.normal(size=(rows, 60)) + np.outer(sick, np.sin(np.arange(60) / 9.0)))
    frame = pd.DataFrame(np.clip(values, 0, 1), columns=[f"b{i}" for i in range(60)])
    return frame.assign(sick=np.where(sick, "yes", "no"))


SPECTRUM = Schema(
    columns=(
        *(Column(name=f"b{i}", kind="continuous", lower=0, upper=1) for i in range(60)),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


@pytest.fixture(scope="module")
def spectrum() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Training rows, held-out rows and samples of a wide table."""
    real = spectrum_table(6_000, 0)
    made = MeanEmbedding(epsilon=30.0, seed=0).fit(real[:4_000], SPECTRUM).sample(4_000, seed=0)
    return real[:4_000], real[4_000:], made


def test_columns_of_a_group_keep_what_is_their_own(spectrum: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]) -> None:
    """Locations, spreads, values on the bound and class differences; a shared distribution alone fails every one of these.

    Over 12 fits the correlation of the spreads had mean 0.957 and deviation 0.005, and the other figures lay further from
    their limits in deviations: a false failure is an event beyond 10 sigma.
    """
    real, _, made = spectrum
    numbers = list(SPECTRUM.names[:-1])
    a, b = real[numbers], made[numbers]
    assert np.corrcoef(a.mean(), b.mean())[0, 1] > 0.99
    assert np.corrcoef(a.std(), b.std())[0, 1] > 0.85
    assert np.abs((a == 0).mean() - (b == 0).mean()).max() < 0.06
    gap = [
        frame[frame.sick == "yes"][numbers].mean() - frame[frame.sick == "no"][numbers].mean() for frame in (real, made)
    ]
    assert np.corrcoef(*gap)[0, 1] > 0.95


def test_samples_lie_no_nearer_to_training_rows_than_to_others(
    spectrum: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    """Copies would lie nearer to training rows; collapse would leave samples nearer to one another than real rows are.

    Among 2,000 training and 2,000 held-out rows a sample's nearest is a training row half of the time; the share has a
    deviation of 0.011 over 2,000 samples, so a false failure is a 5-sigma event, and 10 % copies would fail.
    """
    train, held, made = (frame[list(SPECTRUM.names[:-1])].to_numpy()[:2_000] for frame in spectrum)
    to_train, to_held = nearest(made, train), nearest(made, held)
    assert abs((to_train < to_held).mean() - 0.5) < 0.055
    assert np.median(to_train) > 0.5 * np.median(nearest(held, train))
    assert np.median(nearest(made, made, same=True)) > 0.8 * np.median(nearest(held, held, same=True))
    assert len(np.unique(made, axis=0)) == len(made)
    copied = np.concatenate([made[:1_600], train[:400]])  # the check sees a fifth of copies
    assert abs((nearest(copied, train) < nearest(copied, held)).mean() - 0.5) > 0.055


def nearest(rows: Any, others: Any, same: bool = False) -> Any:
    """Distance of every row to the nearest of the others."""
    square = (rows**2).sum(1)[:, None] + (others**2).sum(1) - 2.0 * rows @ others.T
    return np.sqrt(np.maximum(np.partition(square, 1, axis=1)[:, 1] if same else square.min(axis=1), 0.0))
