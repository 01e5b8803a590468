"""Published figures: priced before they are asked, near the figures without noise, and nothing else on the page."""

import json
import re
from dataclasses import replace

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy import cli, report
from understudy.account import Account
from understudy.accounting import Budget, LedgerError
from understudy.accounting import epsilon as price
from understudy.errors import UsageError
from understudy.private import PrivateTable, SecureNoise
from understudy.private.noise import SeededNoise
from understudy.published import intervals, people_needed, publish, run
from understudy.schema import Column, PaidKinds, Schema

from .people import SCHEMA, exact_area, exact_measures, table

FEW = {"models": ["logistic", "tree"]}
HALF = Schema(columns=SCHEMA.columns[:3])


def test_the_price_is_that_of_all_answers_and_the_ledger_holds_each_once():
    found = publish([table(500, 1)], table(400, 2), SCHEMA, epsilon=0.3, noise=SeededNoise(0), **FEW)
    events = [dpa.GaussianDpEvent(entry["event"]["noise_multiplier"]) for entry in found.ledger["entries"]]
    assert [entry["purpose"] for entry in found.ledger["entries"]] == ["people", "mean distances", "score tables"]
    assert price(events, 1e-5) == pytest.approx(found.epsilon) and 0.297 < found.epsilon <= 0.3
    assert found.void_reason and found.lines()[0].startswith("NOT A VALID")
    assert not publish([table(100, 1)], table(100, 2), HALF, epsilon=1.0).void_reason


def test_what_finding_the_kinds_cost_is_said_without_a_model_too():
    """A vote on kinds is a release about the same people: the joint price stands beside the figures'."""
    voted = replace(HALF, kinds=PaidKinds(sigma=8.0, epsilon=0.5, delta=1e-5, columns=3))
    found = publish([table(100, 1)], table(100, 2), voted, epsilon=0.3)
    events = [dpa.GaussianDpEvent(entry["event"]["noise_multiplier"]) for entry in found.ledger["entries"]]
    assert found.kinds_epsilon == pytest.approx(price([*events, dpa.GaussianDpEvent(8.0)], 1e-5))
    assert found.kinds_epsilon > found.epsilon
    assert f"when the schema was drafted: {found.kinds_epsilon:.4g}" in found.lines()[0]
    assert "drafted" not in publish([table(100, 1)], table(100, 2), HALF, epsilon=0.3).lines()[0]


def test_an_answer_that_was_not_announced_is_refused(monkeypatch):
    """The mutant: a charge is forgotten in the plan. The ledger refuses the answer before it is computed."""
    whole = run.plan(SCHEMA, Budget(1.0, 1e-5))
    forgot = [charge for charge in whole.charges if charge.purpose != "mean distances"]
    monkeypatch.setattr(run, "plan", lambda *_: type(whole)(**{**vars(whole), "charges": tuple(forgot)}))
    with pytest.raises(LedgerError):
        publish([table(200, 1)], table(200, 2), SCHEMA, epsilon=1.0, noise=SeededNoise(0), **FEW)


def test_the_account_is_charged_before_the_first_answer_and_refuses_what_it_cannot_cover(tmp_path, monkeypatch):
    account = Account.create(tmp_path / "a", units=["row"], epsilon=1.0, delta=1e-5)
    order = []
    monkeypatch.setattr(Account, "charge", noted(Account.charge, order, "charged"))
    monkeypatch.setattr(run.Curator, "ask", noted(run.Curator.ask, order, "asked"))
    found = publish([table(300, 1)], table(300, 2), SCHEMA, epsilon=0.7, account=account, **FEW)
    assert order == ["charged", "asked", "asked", "asked"]
    assert account.refresh().book.total == pytest.approx(found.epsilon, rel=1e-3) == found.account["total"]
    with pytest.raises(UsageError, match="does not cover"):
        publish([table(300, 1)], table(300, 2), SCHEMA, epsilon=0.9, account=account, **FEW)
    assert order == ["charged", *["asked"] * 3] and len(account.refresh().book.entries) == 1


def test_a_ledger_that_is_there_already_is_refused_before_the_account_is_charged(tmp_path):
    account = Account.create(tmp_path / "a", units=["row"], epsilon=1.0, delta=1e-5)
    (tmp_path / "ledger").write_text("of another run")
    with pytest.raises(UsageError, match="exists already"):
        publish([table(300, 1)], table(300, 2), SCHEMA, epsilon=0.7, account=account, record=tmp_path / "ledger", **FEW)
    assert not account.refresh().book.entries and (tmp_path / "ledger").read_text() == "of another run"
    with pytest.raises(UsageError, match="does not exist"):
        publish(
            [table(300, 1)], table(300, 2), SCHEMA, epsilon=0.7, account=account, record=tmp_path / "no" / "l", **FEW
        )
    assert not account.refresh().book.entries


def test_a_ledger_that_cannot_be_written_costs_nothing_and_a_refusal_leaves_none(tmp_path):
    """As it was: the account was charged, and then the ledger could not be written."""
    account = Account.create(tmp_path / "a", units=["row"], epsilon=1.0, delta=1e-5)
    people = [table(300, 1)], table(300, 2), SCHEMA
    with pytest.raises(UsageError, match="cannot write"):
        publish(*people, epsilon=0.7, account=account, record=tmp_path / "nowhere" / "ledger", **FEW)
    assert not account.refresh().book.entries
    with pytest.raises(UsageError, match="does not cover"):
        publish(*people, epsilon=1.7, account=account, record=tmp_path / "ledger", **FEW)
    assert not (tmp_path / "ledger").exists()


def noted(function, order, word):
    def call(*args, **options):
        order.append(word)
        return function(*args, **options)

    return call


def test_without_noise_the_figures_are_those_computed_by_hand(monkeypatch):
    """At a huge budget: distances, AUROC and calibration are those of the rows."""
    stand_in, people = table(1500, 1), table(1200, 2)
    found = publish([stand_in], people, SCHEMA, epsilon=1000.0, noise=SeededNoise(0), **FEW)
    (one,) = found.stand_ins
    assert found.people.value == pytest.approx(1200, abs=1)
    exact = exact_measures(stand_in, people, 1200)
    assert {figure.name: figure.value for figure in one.measures} == pytest.approx(exact, abs=2e-3)
    kept = {}
    monkeypatch.setattr(run, "learn", keep(run.learn, kept))
    again = publish([stand_in], people, SCHEMA, epsilon=1000.0, noise=SeededNoise(1), **FEW)
    assert again.stand_ins[0].auroc.value == pytest.approx(exact_area(kept["found"], people), abs=2e-3)
    for bar in one.calibration:
        assert 0.0 <= bar.low <= bar.observed <= bar.high <= 1.0 and bar.high - bar.low < 0.05
    assert [bar.predicted for bar in one.calibration] == sorted(bar.predicted for bar in one.calibration)


def keep(function, kept):
    def call(*args, **options):
        kept["found"] = function(*args, **options)
        return kept["found"]

    return call


def test_the_better_stand_in_has_the_better_figures_and_both_are_one_price():
    found = publish(
        [table(2000, 1), table(2000, 1, shuffled=True)],
        table(4000, 2),
        SCHEMA,
        epsilon=1.0,
        names=["linked", "shuffled"],
        noise=SeededNoise(0),
        **FEW,
    )
    linked, shuffled = found.stand_ins
    for good, bad in zip(linked.measures[1:], shuffled.measures[1:], strict=True):
        assert good.high < bad.low, good.name
    assert linked.auroc.low > shuffled.auroc.high and found.epsilon <= 1.0
    assert "choosing between the stand-ins" in " ".join(found.lines())
    assert linked.measures[0].floor < shuffled.measures[1].value


def test_intervals_of_distances_hold_the_figure_at_their_rate():
    """The formula alone, with fixed seeds: 4,000 draws of both noises around one marginal. At least 95 %, and not all."""
    random = np.random.default_rng(0)
    people, shares = np.asarray([500.0, 300.0, 150.0, 50.0]), np.asarray([0.4, 0.35, 0.15, 0.1])
    exact, held = 0.5 * np.abs(people / 1000 - shares).sum(), []
    for _ in range(4000):
        about = 1000 + 20 * random.standard_normal()
        released = np.abs(people - about * shares).sum() + 45 * random.standard_normal()
        found = intervals.distance("one-way", released, about, 45.0, 20.0, 0.0)
        held.append(found.low <= exact <= found.high)
    assert 0.95 <= np.mean(held) < 0.995


def test_intervals_of_auroc_and_calibration_hold_the_figure_at_their_rate():
    """As above: 400 draws of the noise on two tables. The share of all draws is within three deviations of 95 %."""
    random = np.random.default_rng(1)
    one = np.asarray([np.linspace(300, 20, 8), np.linspace(20, 300, 8)])
    exact, held, shares = float(np.mean([intervals.area(one[1], one[0])] * 2)), [], []
    for _ in range(400):
        noisy = [one + 15 * random.standard_normal(one.shape) for _ in range(2)]
        found = intervals.auroc(noisy, [1, 1], 15.0)
        held.append(found.low <= exact <= found.high)
        bars = intervals.calibration(noisy[0], 1, 15.0, [0.5] * 8)
        true = one[1] / one.sum(axis=0)
        shares += [bar.low <= share <= bar.high for bar, share in zip(bars, true, strict=True)]
    assert 0.915 < np.mean(held) < 0.985 and 0.935 < np.mean(shares) < 0.975


@pytest.mark.slow
def test_intervals_hold_the_figures_without_noise_in_200_repeats():
    """Whole publications with fixed seeds: at least 93 % of all figures (they share one noisy number of people)."""
    people, stand_in, held = table(600, 2)[list(HALF.names)], table(800, 1)[list(HALF.names)], []
    for seed in range(200):
        found = publish([stand_in], people, HALF, epsilon=1.0, noise=SeededNoise(seed))
        exact = exact_measures(stand_in, people, round(max(found.people.value, 1.0)), HALF)
        held += [figure.low <= exact[figure.name] <= figure.high for figure in found.stand_ins[0].measures]
    assert np.mean(held) >= 0.93


def test_with_hardly_anybody_the_intervals_say_nothing():
    found = publish([table(300, 1)], table(5, 2), SCHEMA, epsilon=0.1, noise=SeededNoise(1), **FEW)
    assert all((one.low, one.high) == (0.0, 1.0) for one in found.stand_ins[0].measures)
    assert (found.stand_ins[0].auroc.low, found.stand_ins[0].auroc.high) == (0.0, 1.0)
    assert "too wide" in found.lines()[-1]
    assert all(bar.high - bar.low > 0.9 for bar in found.stand_ins[0].calibration)


def test_how_many_people_are_needed():
    assert people_needed(0.2) > 3 * people_needed(1.0) and people_needed(0.2, half_width=0.02) < people_needed(0.2)
    few = people_needed(1.0, scored=False)
    found = publish([table(500, 1)[list(HALF.names)]], table(few, 2), HALF, epsilon=1.0, noise=SeededNoise(0))
    widths = [one.high - one.low for one in found.stand_ins[0].measures]
    assert max(widths) < 0.0215


def test_people_with_several_rows_have_one_vote():
    """Somebody with many rows moves figures no more than anybody else: weights are shared."""
    schema = Schema(
        columns=(*HALF.columns, Column(name="who", kind="identifier", dtype="string")), unit="who", max_rows_per_unit=8
    )
    rows = table(300, 2)[list(HALF.names)]
    people = pd.concat([rows.assign(who=[f"p{n}" for n in range(300)]), *[rows[:1].assign(who="p0")] * 7])
    found = publish([rows.assign(who="x")], people, schema, epsilon=1000.0, noise=SeededNoise(0))
    assert found.people.value == pytest.approx(300, abs=1)
    assert found.stand_ins[0].measures[0].value < 0.002


def test_bounds_are_never_taken_from_the_rows():
    open_bounds = Schema(
        columns=(Column(name="age", kind="integer", estimate="yes"), *SCHEMA.columns[2:]), label="sick"
    )
    with pytest.raises(UsageError, match=r"column 'age' has no public bounds.*would leak"):
        publish([table(50, 1)], table(50, 2), open_bounds, epsilon=1.0)
    with pytest.raises(UsageError, match="at least one"):
        publish([], table(50, 2), SCHEMA, epsilon=1.0)
    with pytest.raises(UsageError, match="no rows"):
        publish([table(0, 1)], table(50, 2), SCHEMA, epsilon=1.0)


def test_rows_are_asked_through_the_curator_alone(monkeypatch):
    """What is not an answer does not depend on the people: with their table empty nothing else changes."""
    monkeypatch.setattr(SecureNoise, "draw", lambda self, kind, scale, shape: np.zeros(shape, np.int64))
    full, none = (
        publish([table(300, 1)], PrivateFrame(rows), SCHEMA, epsilon=1.0, **FEW)
        for rows in (table(200, 2), table(0, 2))
    )
    assert full.stand_ins[0].models == none.stand_ins[0].models and none.people.value == 0.0
    assert [bar.predicted for bar in full.stand_ins[0].calibration] == [
        bar.predicted for bar in none.stand_ins[0].calibration
    ]


def PrivateFrame(rows):
    PrivateTable(rows, SCHEMA)  # what a frame of people is turned into; no row is read
    return rows


def test_the_command_writes_paid_figures_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(600, 0).to_csv("train.csv", index=False)
    table(500, 3).to_csv("held-out.csv", index=False)
    SCHEMA.save("people.yaml")
    us.Independent(epsilon=1.0).fit("train.csv", SCHEMA, out="model")
    assert cli.run(["sample", "model", "--rows", "500", "--seed", "1", "--out", "s.csv"]) == 0
    assert cli.run(["account", "create", "a.account", "--unit", "row", "--epsilon", "3", "--delta", "1e-5"]) == 0
    words = ["evaluate", "--publish", "--real", "held-out.csv", "--synthetic", "s.csv", "--schema", "people.yaml"]
    more = ["--model-dir", "model", "--models", "tree", "--account", "a.account", "--out", "figures"]
    capsys.readouterr()
    assert cli.run([*words, *more, "--epsilon", "0.5"]) == 0
    said = capsys.readouterr().out
    assert "pairs of columns" in said and "in the training table too" in said and "release.html" in said
    written = json.loads((tmp_path / "figures/published.json").read_text())
    assert sorted(written) == ["format", "header", "published", "release", "understudy"]
    assert sorted(written["header"]) == ["certificate"]
    page = (tmp_path / "figures/release.html").read_text()
    assert "paid for" in page and "pairs of columns" in page and "0.5" in page
    shown = set(re.findall(r'data-path="/(\w+)', page))
    assert shown <= {"release", "header", "published"}
    assert cli.run([*words, *more, "--epsilon", "0.5", "--overwrite"]) == 2
    assert "second release" in capsys.readouterr().err
    assert cli.run([*words, "--out", "x", "--epsilon", "0.5", "--by", "town"]) == 2
    assert "--by" in capsys.readouterr().err
    assert cli.run([*words, "--out", "x"]) == 2 and "--epsilon" in capsys.readouterr().err
    assert cli.run([word for word in words if word != "--publish"] + ["--out", "x", "--epsilon", "1"]) == 2
    assert "--publish" in capsys.readouterr().err
    # A figure that nobody paid for does not reach the page; a void one does not get a page at all.
    written["release_extra"] = written["header"]["rows"] = 12345678
    (tmp_path / "more.json").write_text(json.dumps(written))
    assert "12345678" not in report.render("more.json", "release")
    written["published"]["void_reason"] = "seeded"
    (tmp_path / "void.json").write_text(json.dumps(written))
    with pytest.raises(UsageError, match="no valid guarantee"):
        report.write("void.json", "void", "release")


def test_calibration_and_area_by_hand():
    assert intervals.area(np.asarray([0.0, 10.0]), np.asarray([10.0, 0.0])) == 1.0
    assert intervals.area(np.asarray([5.0, 5.0]), np.asarray([5.0, 5.0])) == 0.5
    (bar,) = intervals.calibration(np.asarray([[600.0], [400.0]]), 1, 10.0, [0.5])
    assert bar.observed == 0.4 and bar.low < 0.4 - 1.9 * 10 * np.sqrt(0.52) / 1000 < 0.4 < bar.high
