"""Copies of fitted models, and questions to them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy import cli
from understudy.accounting import holds, verify
from understudy.artifact import load
from understudy.cli.answer import figure
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.infer import analyse, answer, difference, mean
from understudy.infer.ask import draw, widened
from understudy.infer.columns import column_intervals
from understudy.infer.rules import WITHIN, combine
from understudy.infer.run import not_known, rests_on_the_model
from understudy.methods.marginals.redraw import Redrawn
from understudy.private.noise import SeededNoise
from understudy.released import covers
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99),
        Column(name="town", kind="categorical", categories=tuple("abcd")),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


def table(rows=3000, seed=0):
    random = np.random.default_rng(seed)
    sick = random.random(rows) < 0.3
    age = np.clip(random.normal(40 + 10 * sick, 12, rows).round(), 0, 99).astype(int)
    return pd.DataFrame(
        {
            "age": age,
            "town": random.choice(list("abcd"), rows, p=[0.4, 0.3, 0.2, 0.1]),
            "sick": np.where(sick, "yes", "no"),
        }
    )


def fitted(method="mst", epsilon=1.0, seed=0, schema=SCHEMA, rows=3000):
    return fit(us.method(method)(epsilon=epsilon), table(rows), schema, noise=SeededNoise(seed))


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.mark.parametrize("method", ["mst", "aim", "independent", "clique-tree", "mean-embedding"])
def test_released_tables_survive_the_artifact_and_copies_are_reproducible(method, tmp_path):
    made = fitted(method)
    made.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert len(again.released) == len(made.released) > 0
    for one, other in zip(made.released, again.released, strict=True):
        assert (one.nodes, one.columns) == (other.nodes, other.columns)
        assert (one.values == other.values).all() and (one.deviation == other.deviation).all()
    few = {"rows": 50, "seed": -3}  # a seed may be any whole number
    first, second = made.copies(2, **few), again.copies(2, **few)
    for one, other in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert not first[0].equals(first[1])
    assert [f.check for f in verify(tmp_path / "m") if not f.ok] == ["guarantee"]  # its noise was seeded


def test_released_counts_are_the_true_ones_with_the_noise_that_is_stated():
    """Over many fits: (released - true) / deviation has mean 0 and variance 1. Seeded noise: cannot fail by chance."""
    rows = table()
    true = rows.groupby("sick").size().reindex(["no", "yes"]).to_numpy()
    towns = rows.groupby(["sick", "town"]).size().unstack().reindex(["no", "yes"]).to_numpy()
    scores = []
    for seed in range(6):
        made = fitted(seed=seed)
        tables = {one.columns: one for one in made.released}
        scores.append((tables[("sick",)].values - true) / tables[("sick",)].deviation)
        scores.append(((tables[("sick", "town")].values - towns) / tables[("sick", "town")].deviation).ravel())
    every = np.concatenate(scores)
    assert abs(every.mean()) < 4 / np.sqrt(len(every)) and 0.6 < every.std() < 1.4


def test_copies_spread_as_the_released_noise_does(model):
    """Cells that hold many rows: the redrawn marginals have the precision of all tables that count them together."""
    source, random = Redrawn(model), np.random.default_rng(0)
    item = next(one for one in source.known if len(one.clique) == 2 and one.clique[1] == 2)
    found = []
    for _ in range(40):
        noise = [one.deviation * random.standard_normal(one.counts.shape) for one in source.known]
        could = [
            o._replace(counts=source.best.marginal(o.clique) + z) for o, z in zip(source.known, noise, strict=True)
        ]
        found.append(source.descend(could, 60).marginal(item.clique))
    spread = np.std(found, axis=0)
    best = source.best.marginal(item.clique)
    assert 0.25 * item.deviation < spread[best > 5 * item.deviation].mean() < 1.1 * item.deviation
    assert np.abs(np.mean(found, axis=0) - best).max() < 1.5 * item.deviation
    for one in found:
        assert (one >= 0).all() and one.sum() == pytest.approx(source.total, rel=1e-6)


def test_copies_that_forget_the_noise_are_noticed(model):
    """The mutant: rows drawn again from one model. Between copies there is then sampling alone, and P comes out as nothing."""
    noisy = fitted(epsilon=0.1, rows=1000)
    same = [noisy.sample(1000, seed=seed) for seed in range(16)]
    right = analyse(noisy, lambda rows: (rows.age.mean(), rows.age.var() / len(rows)), copies=16, rows=1000, seed=0)[""]
    wrong = analyse(same, lambda rows: (rows.age.mean(), rows.age.var() / len(rows)))[""]
    assert right.noise > 0.5 and wrong.noise < 0.2 and right.error > 2 * wrong.error


def test_a_number_counted_in_cells_is_not_known_within_them(model):
    """Both are counted together with the label: a mean of ages in a few cells, a share of towns as they are."""
    resolution, frames = Redrawn(model).resolution, model.copies(4, rows=1500, seed=0)
    age, town, alone = (
        not_known(model, resolution, c, frames[0]) for c in (("age", "sick"), ("town", "sick"), ("age",))
    )
    assert 0.0 < age <= WITHIN and town == alone == 0.0

    def gap(rows):
        return difference(*(mean(rows.age[rows.sick == value]) for value in ("yes", "no")))

    found, bare = (
        analyse(model, gap, copies=4, rows=1500, seed=0)[""],
        analyse(frames, gap, ratio=1500 / model.rows)[""],
    )
    spread = np.sqrt(1500 * np.mean([gap(rows)[1] for rows in frames]))
    assert found.high - bare.high == pytest.approx(age * spread) and not found.remark


def test_an_answer_says_what_it_rests_on(model):
    drawn = draw(model, copies=8, rows=1500, seed=0)
    alone = answer(model, "share(town = a)", drawn=drawn)
    assert alone.covered and not alone.remarks and alone.lines[0].combined.low < 0.4 < alone.lines[0].combined.high
    assert answer(model, "share(sick = yes)", drawn=drawn).covered
    both = answer(model, "mean(age) by sick", drawn=drawn)
    assert both.covered and [line.group for line in both.lines] == ["sick=no", "sick=yes"]
    assert all(line.allowance > 0 for line in both.lines), "counted in cells"
    columns = Schema(columns=SCHEMA.columns[:2])
    unlinked = fit(us.Independent(), table()[["age", "town"]], columns, noise=SeededNoise(0))
    guess = answer(unlinked, "mean(age) by town", copies=4, rows=800, seed=0)
    assert not guess.covered and "rests on the model" in guess.remarks[0]
    assert all(line.allowance > 0.1 * 10 * 0.9 for line in guess.lines), (
        "0.1 standard deviations at the least, for halves"
    )
    assert guess.to_dict()["answers"][0]["group"] == "town=a"


@pytest.fixture(scope="module")
def gaps():
    """A model of a table with missing towns and ages; a code beside the numbers of one column."""
    columns = (
        Column(name="age", kind="integer", lower=0, upper=99, missing=True),
        Column(name="town", kind="categorical", categories=tuple("abcd"), missing=True),
        Column(name="income", kind="integer", lower=0, upper=9, codes=("N",), missing=True),
        SCHEMA.columns[2],
    )
    rows = table().assign(income=pd.Series(range(3000)).mod(10).astype(str).where(lambda own: own != "3", "N"))
    rows["age"] = rows.age.where(rows.sick == "yes")
    rows["town"] = rows.town.where(rows.town != "d")
    made = fit(us.Mst(epsilon=4.0), rows, Schema(columns=columns, label="sick"), noise=SeededNoise(0))
    return made, rows, draw(made, copies=6, rows=1500, seed=0)


def test_missing_values_can_be_asked_for(gaps):
    made, rows, drawn = gaps
    for text, exact in (
        ("share(age is missing)", rows.age.isna().mean()),
        ("share(town is not missing)", rows.town.notna().mean()),
        ('share(town IS missing) where sick = "no"', rows.town[rows.sick == "no"].isna().mean()),
        ("share(sick = yes) where age is not missing", 1.0),
    ):
        (line,) = answer(made, text, drawn=drawn).lines
        assert line.combined.low - 0.02 <= exact <= line.combined.high + 0.02, text
        assert line.combined.high - line.combined.low < 0.2, text
    (line,) = answer(made, "count() where age is missing", drawn=drawn).lines
    assert line.combined.estimate == pytest.approx(rows.age.isna().sum(), rel=0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("share(sick is missing)", "'sick' is never missing"),
        ("share(age is gone)", "'gone' stands where 'missing' should"),
        ("count() where age is not", "ends where"),
    ],
)
def test_questions_about_missing_values_that_cannot_be_asked_are_refused(gaps, text, said):
    with pytest.raises(UsageError, match=said):
        answer(gaps[0], text, drawn=gaps[2])


def test_copies_are_counted_while_they_are_made(model):
    steps = []
    draw(model, copies=3, rows=50, seed=0, on_progress=steps.append)
    assert steps[0] == 0 and sum(steps) == 9
    steps.clear()
    clique = us.CliqueTree(epsilon=1.0).fit(table(), SCHEMA).fitted
    draw(clique, copies=5, rows=50, seed=0, on_progress=steps.append)
    assert steps[0] == 0 and sum(steps) == 15, "few tables of the model itself count as many"


def test_an_analysis_says_what_it_rests_on(model):
    """Columns that no table counts together: widened, and it says so; without its model (the mutant) the interval is short."""
    apart = fit(us.Independent(), table()[["age", "town"]], Schema(columns=SCHEMA.columns[:2]), noise=SeededNoise(0))

    def gap(rows):
        return difference(mean(rows.age[rows.town == "a"]), mean(rows.age[rows.town != "a"]))

    few = {"copies": 4, "rows": 400, "seed": 0}
    found = analyse(apart, gap, **few)[""]
    bare = analyse(apart.copies(4, rows=400, seed=0), gap, ratio=400 / apart.rows)[""]
    assert "age, town" in found.remark and "rests on the model" in found.remark and not bare.remark
    # The same copies, so that what is added does not depend on chance: a quarter of the deviation on either side, at least.
    assert (found.high - found.low) - (bare.high - bare.low) > 0.5 * table().age.std()
    assert not analyse(apart, lambda rows: mean(rows.age), **few)[""].remark


def test_pairs_that_are_not_counted_add_up_by_their_squares():
    """Three columns that are counted one by one: three unknown correlations, not one."""
    columns = (*SCHEMA.columns[:2], Column(name="tall", kind="boolean"))
    rows = table()[["age", "town"]].assign(tall=lambda frame: frame.age % 2 == 0)
    apart = fit(us.Independent(), rows, Schema(columns=columns), noise=SeededNoise(0))
    resolution = apart.redraw_source().resolution
    assert not_known(apart, resolution, ("age", "town"), rows) == pytest.approx(0.25)
    assert not_known(apart, resolution, ("age", "town", "tall"), rows) == pytest.approx(0.25 * 3**0.5)
    assert "in each of 3 pairs" in rests_on_the_model(apart, ("age", "town", "tall"))


def test_a_report_has_intervals_of_columns_where_the_model_can_draw_copies(model):
    found, rows = column_intervals(model), table()
    for (low, high), exact, widest in (
        (found.mean("age"), rows.age.mean(), 4.0),
        (found.quantile("age", 0.5), rows.age.median(), 12.0),
        (found.share("town", "a"), (rows.town == "a").mean(), 0.1),
        (found.between("age", (0.0, 40.0, 99.0))[1], (rows.age >= 40).mean(), 0.12),
        (found.missing("town"), 0.0, 0.01),
    ):
        half = (high - low) / 2  # of 95 % intervals: half as wide again, so that the other seeds would hardly fail
        assert low - half <= exact <= high + half and high - low < widest and (widest > 1 or 0.0 <= low <= high <= 1.0)
    assert (
        found.mean("town") is None
        and found.quantile("age", 1.0) is None
        and found.between("town", (0.0, 1.0)) == (None,)
    )
    assert found.share("nothing", "a") is None
    assert column_intervals(replace(model, released=())) is None


def test_several_rows_of_a_person_widen_the_interval(model):
    drawn = draw(model, copies=8, rows=1500, seed=0)
    several = replace(
        model,
        schema=Schema(
            columns=(*SCHEMA.columns, Column(name="who", kind="identifier")), unit="who", max_rows_per_unit=9
        ),
    )
    one, many = (answer(m, "mean(age)", drawn=drawn) for m in (model, several))
    assert many.lines[0].combined.variance > 3 * one.lines[0].combined.variance and "one person" in many.remarks[0]


def test_covered_means_counted_together(model):
    assert covers(model.released, ["age", "sick"]) and covers(model.released, ["age", "town", "sick"])
    assert not covers(model.released, ["age", "who"]) and covers((), ())


def test_widening_keeps_the_estimate_and_lowers_the_share_of_noise():
    found = combine([1.0, 3.0, 5.0], [0.1, 0.1, 0.1])
    wide = widened(found, 10.0)
    assert wide.low == found.low - 10.0 and wide.high == found.high + 10.0 and wide.noise < found.noise


def test_a_method_without_released_counts_says_that_it_cannot(model):
    other = replace(model, method="pate-gan")
    with pytest.raises(UsageError, match=r"copies: method 'pate-gan' .*in rounds.*mst"):
        other.copies(2)
    with pytest.raises(UsageError, match="saved without"):
        replace(model, released=()).copies(2)
    for count in (0, -1):
        with pytest.raises(UsageError, match="at least 1"):
            model.copies(count)


def test_the_commands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    us.Mst(epsilon=1.0).fit(table(), SCHEMA, out="m")
    assert holds(verify("m"))

    def call(*words, code=0):
        assert cli.run(list(words)) == code
        return capsys.readouterr()

    said = call("answer", "m", "mean(age) by sick where town = a", "--copies", "4", "--seed", "1").out
    assert said.count("95% interval") == 2 and "privacy noise" in said
    assert call("answer", "m", "mean(aeg)", code=2).err.startswith("error: ")
    assert '"covered": true' in call("answer", "m", "mean(age)", "--copies", "3", "--table", "--json").out
    call("sample", "m", "--copies", "3", "--rows", "20", "--out", "s.csv", "--seed", "1")
    assert [len(pd.read_csv(f"s-0{number}.csv")) for number in (1, 2, 3)] == [20, 20, 20]
    assert "exists already" in call("sample", "m", "--copies", "3", "--rows", "20", "--out", "s.csv", code=2).err
    assert "--copies" in call("sample", "m", "--copies", "3", "--where", "sick=yes", "--out", "t.csv", code=2).err


def test_shares_of_the_label_have_the_noise_of_its_histogram(model):
    """Classes are drawn in exact shares. The wrong version takes their sampling variance off, which copies do not have."""
    drawn = draw(model, copies=20, seed=0)
    (line,) = answer(model, "share(sick = yes)", drawn=drawn).lines
    shares = [float((rows.sick == "yes").mean()) for rows in drawn.frames]
    sampling = 0.3 * 0.7 / 3000
    assert line.combined.variance == pytest.approx(1.05 * np.var(shares, ddof=1) + sampling, rel=0.1)
    wrong = combine(shares, np.full(20, sampling), chance=1.0)
    assert wrong.variance < 0.95 * line.combined.variance


def test_shares_and_counts_stay_possible():
    """An interval of a share lies in [0, 1]; without that some would reach below nobody, at so small an epsilon."""
    model = fitted(epsilon=0.1)
    drawn = draw(model, copies=5, seed=0)
    lines = [answer(model, f"share(town = {town}) where age > 70", drawn=drawn).lines[0] for town in "abcd"]
    assert min(line.bare[0] - line.allowance for line in lines) < 0.0
    assert all(0.0 <= line.combined.low <= line.combined.high <= 1.0 for line in lines)


@pytest.mark.parametrize("name", ["clique-tree", "mst", "independent", "mean-embedding"])
def test_of_a_label_alone_the_class_histogram_is_redrawn(name):
    schema = Schema(columns=(SCHEMA.column("sick"),), label="sick")
    model = fit(us.method(name)(epsilon=0.3), table()[["sick"]], schema, noise=SeededNoise(0))
    (line,) = answer(model, "share(sick = yes)", seed=0).lines
    noise = model.plan.parameters["noise"]["class histogram"] / 3000.0
    assert line.combined.variance > 0.3 * 0.7 / 3000 and line.combined.noise > 0.0
    assert abs(line.combined.estimate - model.class_counts[1] / sum(model.class_counts)) < 4.0 * noise
    assert {len(rows.columns) for rows in model.copies(3, seed=0)} == {1}
    trained = replace(
        model, method="pate-gan", plan=replace(model.plan, valid=True)
    )  # of one column it learns nothing else
    assert len(trained.copies(2, seed=0)) == 2
    with pytest.raises(UsageError, match="cannot draw any"):
        replace(model, method="gan", plan=replace(model.plan, valid=False)).copies(2)


def test_a_number_that_shares_its_cell_with_others_is_not_told_by_counts(model):
    """Ages are counted with the label in a few cells. The wrong version took an answer about one of them for counted, and gave it
    the narrow interval of its cell: of answers from 1 to 6, of which 5 and 6 were counted as one, 0.07 to 0.21 for 0.55."""
    one, many = (answer(model, f"share(sick = yes) where age {text}", copies=4, seed=0) for text in ("= 40", "> 20"))
    assert not one.covered and "age = 40" in one.remarks[0] and one.lines[0].allowance > 0.25
    assert many.covered and not many.remarks and many.lines[0].allowance < 0.05
    mean_age = answer(model, "mean(age) where town = c", copies=4, seed=0).lines[0].combined
    lower, upper = model.schema.column("age").bounds
    assert lower <= mean_age.low <= mean_age.high <= upper


@pytest.mark.parametrize(
    ("value", "said"), [(30_001.4, "30,001"), (1234.0, "1,234"), (56.618, "56.62"), (-0.04276, "-0.04276"), (0.0, "0")]
)
def test_large_numbers_are_said_whole(value, said):
    assert figure(value) == said


def test_categories_that_a_fit_found_can_be_asked_for():
    columns = (
        SCHEMA.columns[0],
        Column(name="town", kind="categorical", estimate="town", dtype="string", other=True),
        SCHEMA.columns[2],
    )
    made = fitted(epsilon=5.0, schema=Schema(columns=columns, label="sick"))
    found = answer(made, "share(town = a)", copies=3, seed=0)
    assert abs(found.lines[0].combined.estimate - 0.4) < 0.1  # noise of twenty rows among 3,000


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_refused_before_copies_are_made(model, level):
    with pytest.raises(UsageError, match=r"level=.* such as 0\.95"):
        answer(model, "mean(age)", level=level, on_progress=lambda made: pytest.fail("copies were made"))
