"""Tables with a label and few rows are asked for class means; rare classes of larger ones are counted.

Fits have seeded noise: nothing here fails by chance.
"""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.fit import fit as fit_model
from understudy.infer.run import too_short
from understudy.measure.cells import Grouping, Node
from understudy.methods.clique_tree import method as own
from understudy.methods.clique_tree.columns import Columns
from understudy.methods.clique_tree.few_rows import CROWDED, enough_rows, of_numbers
from understudy.methods.clique_tree.pairs import USUAL, expected_distance, largest_distance
from understudy.methods.clique_tree.redraw import Redrawn
from understudy.methods.clique_tree.redraw_few import RedrawnFew
from understudy.private import SeededNoise
from understudy.schema import Column, Schema

FLAGS = 30
SCHEMA = Schema(
    columns=(
        *(Column(name=f"b{n}", kind="boolean") for n in range(FLAGS)),
        Column(name="age", kind="continuous", lower=0, upper=100, missing=True),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


def table(rows: int, share: float, seed: int = 0) -> pd.DataFrame:
    """Flags that are rarely set, of which b0 tells the class; ages, a tenth of them missing."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < share
    flags = rng.random((rows, FLAGS)) < 0.03
    flags[:, 0] = np.where(sick, rng.random(rows) < 0.9, flags[:, 0])
    age = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(40.0, 10.0, rows).clip(0, 100))
    frame = pd.DataFrame(flags, columns=[f"b{n}" for n in range(FLAGS)])
    return frame.assign(age=age, sick=np.where(sick, "yes", "no"))


def fit(frame: pd.DataFrame, seed: int = 0):
    return fit_model(us.CliqueTree(epsilon=1.0), frame, SCHEMA, noise=SeededNoise(seed))


def gap(rows: pd.DataFrame) -> float:
    return float(rows[rows.sick == "yes"].b0.mean() - rows[rows.sick == "no"].b0.mean())


@pytest.fixture(scope="module")
def small():
    return fit(table(500, 0.12))


def test_a_small_table_shows_what_tells_its_classes_apart(small):
    """The gap is 0.87; of twelve fits with real noise the smallest had 0.37."""
    made = small.sample(4_000, seed=1)
    assert gap(made) > 0.3
    assert 0.02 < made.age.isna().mean() < 0.25 and 30 < made.age.mean() < 50


def test_the_answers_are_those_that_were_announced(small):
    spent = list(dict.fromkeys(entry["purpose"] for entry in small.ledger["entries"]))
    assert spent == [charge.purpose for charge in small.plan.charges]


def test_a_small_model_can_be_conditioned_copied_and_kept(small, tmp_path):
    assert (small.sample(50, where="b3 = true and sick = 'yes'", seed=2).b3).all()
    assert [len(one) for one in small.copies(2, rows=100, seed=3)] == [100, 100]
    small.save(tmp_path / "m")
    again = us.load(tmp_path / "m").sample(20, seed=4)
    pd.testing.assert_frame_equal(again, small.sample(20, seed=4))


def test_copies_of_a_small_model_are_fitted_again(small):
    """The mean age of fits with other noise strays by 1. The wrong version draws estimates again as if they were counts."""
    own_age = small.sample(4_000, seed=1).age.mean()

    def strays(source):
        copies = source.copies(2, np.random.default_rng(0))
        return max(abs(one.sample(4_000, seed=1).age.mean() - own_age) for one in copies)

    assert isinstance(small.redraw_source(), RedrawnFew)
    assert strays(RedrawnFew(small)) < 3.0 < 5.0 < strays(Redrawn(small))
    assert small.redraw_source().resolution.interval("age", 40.0) > 0.0
    assert "few rows" in too_short(small)


@pytest.mark.parametrize(
    "label", [{"categories": ("no",)}, {"estimate": "list", "other": True}], ids=["declared", "found"]
)
def test_a_column_beside_a_label_of_one_class_has_no_pair_and_pays_what_was_announced(label):
    """In an empty table no class is found, so that all rows are of the class "other"."""
    columns = (Column(name="x", kind="continuous", lower=0, upper=1), Column(name="y", kind="categorical", **label))
    empty = pd.DataFrame({"x": np.zeros(0), "y": np.zeros(0, object)})
    model = fit_model(us.CliqueTree(epsilon=1.0), empty, Schema(columns=columns, label="y"), noise=SeededNoise(0))
    spent = [entry["purpose"] for entry in model.ledger["entries"]]
    assert spent == [charge.purpose for charge in model.plan.charges]
    assert len(model.sample(9, seed=1)) == 9


def test_pairs_of_a_small_table_say_nothing_about_a_rare_class(small, monkeypatch):
    """The mutant: pairs are counted, whatever the number of rows. Twelve fits with real noise found the gap in two."""
    others = [fit(table(500, 0.12, seed), seed) for seed in (1, 2)]
    means = [gap(model.sample(4_000, seed=1)) for model in (small, *others)]
    monkeypatch.setattr(own, "enough_rows", lambda *_: 0.0)
    counted = [gap(fit(table(500, 0.12, seed), seed).sample(4_000, seed=1)) for seed in range(3)]
    assert np.mean(means) > 0.5 > np.mean(counted) + 0.1


def test_the_plan_says_from_how_many_rows_pairs_are_counted():
    plan = us.CliqueTree(epsilon=1.0).plan(SCHEMA)
    needed = enough_rows(FLAGS + 1, plan.parameters["noise"][own.COUNTS])
    assert any(f"below about {int(np.ceil(needed)):,} rows" in note for note in plan.notes)
    assert needed == pytest.approx(CROWDED * plan.parameters["noise"][own.COUNTS] * (FLAGS + 1) ** 0.5)
    unlabelled = Schema(columns=SCHEMA.columns)
    assert not any("class means" in note for note in us.CliqueTree(epsilon=1.0).plan(unlabelled).notes)


def test_numbers_keep_their_distribution_and_flags_their_rate():
    """A standard normal latent density gives every cell its own share, whatever the cells are."""
    node = Node("x", 0, 4, edges=np.asarray([0.0, 0.1, 0.2, 0.7, 1.0]), missing=1)
    mass = np.asarray([50.0, 100.0, 400.0, 300.0, 200.0])
    latent = np.exp(-0.5 * np.linspace(-4.0, 4.0, 161) ** 2)
    shares = of_numbers(node, mass, np.stack([latent, latent]), np.asarray([[0.0, 0.25], [0.0, 0.5]]))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[:, 0], [0.25, 0.5])
    np.testing.assert_allclose(shares[0, 1:] / 0.75, mass[1:] / 1000.0, atol=1e-3)


def test_a_rare_class_is_counted_in_a_large_table():
    """200 of 20,000 rows."""
    assert gap(fit(table(20_000, 0.01)).sample(20_000, seed=1)) > 0.5


def rare() -> Columns:
    masses = [np.asarray([9_900.0, 100.0]), np.asarray([5_000.0, 5_000.0])]
    levels = [[Grouping(np.arange(2), 2)] for _ in range(2)]
    return Columns([Node("x", 0, 2)], 2, 1e4, masses, [1.0, 1.0], masses, levels, 20.0)


def test_every_class_counts_the_same_however_rare():
    assert rare().class_weight == pytest.approx(0.5 * (1.0 / (2 * 0.99) + 1.0 / (2 * 0.01)))
    even = rare()._replace(masses=[np.asarray([50.0, 50.0])])
    assert even.class_weight == 1.0


def test_a_pair_with_the_label_is_expected_to_depend_where_noise_hides_it():
    """All 100 rows of the class are fewer than the noise of 300; with noise of 1 what was released is believed."""
    most = largest_distance(rare(), 0)
    assert most == pytest.approx(2e4 * (1.0 - 0.99**2 - 0.01**2))
    assert expected_distance(rare(), (0, 1), -200.0, 300.0) > 0.8 * USUAL * most
    assert expected_distance(rare(), (0, 1), 150.0, 1.0) == pytest.approx(150.0, rel=1e-2)
