"""Paid runs and the holder's account: charged before the first release, once, and by people."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy import cli
from understudy.account import Account
from understudy.accounting import Certificate, holds, price, verify
from understudy.accounting.prior import KINDS
from understudy.artifact import load
from understudy.compare import compare
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.kinds import find_kinds
from understudy.methods.marginals import Independent
from understudy.people import People
from understudy.private import Curator, PrivateTable
from understudy.private.checkpoint import Checkpoint
from understudy.private.noise import SeededNoise
from understudy.questions import class_counts
from understudy.schema import Column, PaidKinds, Schema

from ..conformance.tables import GENERATORS, mixed_schema, mixed_table
from ..wall import FreeLedger, NoNoise

SCHEMA = Schema(
    columns=(
        Column(name="who", kind="identifier"),
        Column(name="x", kind="continuous", lower=0, upper=1),
        Column(name="z", kind="categorical", categories=("a", "b")),
    ),
    unit="who",
    max_rows_per_unit=2,
)


def table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    who = [str(number // 2) for number in range(rows)]
    return pd.DataFrame({"who": who, "x": rng.random(rows), "z": rng.choice(["a", "b"], rows)})


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "a.account"
    Account.create(place, units=["who"], epsilon=2.0, delta=1e-5)
    return place


def entries(path):
    return Account(path).book.entries


def test_a_fit_is_charged_for_what_it_announced_and_its_certificate_says_so(path, tmp_path):
    first = Independent(epsilon=0.5).fit(table(), SCHEMA, account=path, out=tmp_path / "one").fitted
    second = Independent(epsilon=0.7).fit(table(), SCHEMA, account=Account(path), out=tmp_path / "two").fitted
    events = [*first.plan.events, *second.plan.events]
    assert [p.event for entry in entries(path) for p in entry.postings] == events
    assert second.account["total"] == Account(path).book.total == price.epsilon(events, 1e-5)
    assert 0.7 < second.account["total"] < 1.2
    loaded = load(tmp_path / "two")
    assert loaded.account == second.account and holds(verify(tmp_path / "two"))
    assert "Entry 2 of the holder's account" in (tmp_path / "two" / "certificate.txt").read_text()
    alone = Independent(epsilon=0.5).fit(table(), SCHEMA).certificate.text()
    assert "charged to no account" in alone


def test_a_certificate_that_names_another_entry_does_not_hold(path, tmp_path):
    Independent(epsilon=0.5).fit(table(), SCHEMA, account=path, out=tmp_path / "one")
    file = tmp_path / "one" / "certificate.json"
    content = json.loads(file.read_text())
    content["account"]["total"] = 0.1
    file.write_text(json.dumps(content))
    Path(tmp_path / "one" / "certificate.txt").write_text(Certificate.from_dict(content).text())
    assert [finding.check for finding in verify(tmp_path / "one") if not finding.ok] == ["account"]
    content.pop("account")
    file.write_text(json.dumps(content))
    assert "account" in [finding.check for finding in verify(tmp_path / "one") if not finding.ok]


def test_what_the_account_does_not_cover_is_refused_before_a_row_is_read(path, tmp_path, monkeypatch):
    Independent(epsilon=1.5).fit(table(), SCHEMA, account=path)
    monkeypatch.setattr(PrivateTable, "open", lambda *a, **k: pytest.fail("a row was read"))
    with pytest.raises(UsageError, match="does not cover"):
        Independent(epsilon=1.5).fit(table(), SCHEMA, account=path, checkpoint=tmp_path / "c", out=tmp_path / "m")
    assert len(entries(path)) == 1 and not (tmp_path / "m").exists() and not (tmp_path / "c").exists()


def test_the_charge_is_there_before_anything_is_released_and_stays_when_the_fit_dies(path, monkeypatch):
    def released(*args, **kwargs):
        assert len(entries(path)) == 1, "released before it was charged"
        raise KeyboardInterrupt

    monkeypatch.setattr(Curator, "ask", released)
    with pytest.raises(KeyboardInterrupt):
        Independent(epsilon=0.5).fit(table(), SCHEMA, account=path)
    assert len(entries(path)) == 1


def test_a_table_that_cannot_be_read_is_not_charged(path, tmp_path):
    with pytest.raises(UsageError):
        Independent(epsilon=0.5).fit(tmp_path / "none.csv", SCHEMA, account=path)
    with pytest.raises(UsageError, match="account admit"):
        Independent(epsilon=0.5).fit(table(), replace(SCHEMA, unit=None, max_rows_per_unit=1), account=path)
    assert entries(path) == ()


def test_a_resumed_fit_is_charged_once(tmp_path):
    path, folder, schema = tmp_path / "a.account", tmp_path / "c", mixed_schema("sick")
    Account.create(path, units=["row"], epsilon=2.0, delta=1e-5)

    def stop(event):
        if event["stage"] == "rounds":
            raise KeyboardInterrupt

    def run(**more):
        return fit(GENERATORS["pate-gan"], mixed_table(), schema, checkpoint=folder, noise=SeededNoise(1), **more)

    with pytest.raises(KeyboardInterrupt):
        run(account=path, progress=stop)
    assert len(entries(path)) == 1
    Account(path).charge("another fit meanwhile", entries(path)[0].postings)
    model = run(account=path, resume=True)
    assert len(entries(path)) == 2 and model.account["number"] == 1


def test_lists_of_categories_that_are_estimated_are_charged_too(path, tmp_path):
    """Their event is composed of noise and of a delta that is lost; resumed, the same entry is found again."""
    schema = replace(SCHEMA, columns=(*SCHEMA.columns[:2], Column(name="z", kind="categorical", estimate="z")))
    assert schema.estimates

    def stop(event):
        if event.get("purpose") == "one-way marginals":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Independent(epsilon=0.5), table(), schema, checkpoint=tmp_path / "c", account=path, progress=stop)
    model = fit(Independent(epsilon=0.5), table(), schema, checkpoint=tmp_path / "c", account=path, resume=True)
    assert len(entries(path)) == 1
    assert model.account["total"] == pytest.approx(price.epsilon(model.plan.events, 1e-5), rel=1e-9)
    assert 0 < Account(path).book.left() < 2.0 and Account(path).book.how_many(entries(path)[0].postings) >= 2


@pytest.mark.parametrize("forgets", [False, True], ids=["written down", "mutant: forgotten"])
def test_a_fit_that_got_its_account_when_it_was_resumed_is_charged_once(tmp_path, monkeypatch, forgets):
    """Stopped twice more, and ended by somebody who does not name the account: one entry, and the certificate has it."""
    path, folder = tmp_path / "a.account", tmp_path / "c"
    Account.create(path, units=["who"], epsilon=5.0, delta=1e-5)
    begin = Checkpoint.begin
    if forgets:
        monkeypatch.setattr(Checkpoint, "begin", lambda self, record: begin(self, record | {"account": None}))

    def run(until="", **more):
        def stop(event):
            if event.get("purpose") == until:
                raise KeyboardInterrupt

        return fit(Independent(epsilon=0.5), table(), SCHEMA, checkpoint=folder, progress=stop, **more)

    with pytest.raises(KeyboardInterrupt):
        run("column cells 1")
    for until in ("column cells 2", "one-way marginals"):
        with pytest.raises(KeyboardInterrupt):
            run(until, account=path, resume=True)
    model = run(resume=True)
    assert (len(entries(path)), model.account is None) == ((2, True) if forgets else (1, False))


def test_finding_kinds_is_charged_once_however_many_fits_carry_it(path, tmp_path):
    file = tmp_path / "t.csv"
    table().to_csv(file, index=False)
    found = find_kinds(file, 0.3, unit="who", max_rows=2, account=path)
    assert [entry.what for entry in entries(path)] == [KINDS]
    schema = replace(SCHEMA, kinds=found.paid)
    assert Schema.from_dict(schema.to_dict()) == schema and found.paid.release
    models = [Independent(epsilon=0.5).fit(table(), schema, account=path).fitted for _ in range(2)]
    vote = models[0].plan.charges[0]
    own = [charge.event for model in models for charge in model.plan.charges if charge.purpose != KINDS]
    assert Account(path).book.total == price.epsilon([vote.event, *own], 1e-5)
    nameless = replace(schema, kinds=replace(found.paid, release=""))
    Independent(epsilon=0.4).fit(table(), nameless, account=path)
    assert Account(path).book.total > price.epsilon([vote.event, vote.event, *own], 1e-5)
    with pytest.raises(UsageError, match="release"):
        PaidKinds.from_entry(found.paid.entry() | {"release": 3})


@pytest.mark.slow
def test_a_comparison_is_one_entry_and_going_on_with_it_is_free(tmp_path):
    path, out = tmp_path / "a.account", tmp_path / "both"
    Account.create(path, units=["row"], epsilon=2.0, delta=1e-5)
    schema = Schema(columns=(*SCHEMA.columns[1:], Column(name="y", kind="categorical", categories=(0, 1))), label="y")
    rows = table().drop(columns="who").assign(y=np.arange(60) % 2)
    options = {"methods": ("mst", "independent"), "epsilon": 1.0, "out": out, "account": path}
    found = compare(rows, schema, **options)
    assert len(entries(path)) == 1
    assert Account(path).book.total == pytest.approx(found.epsilon)
    assert load(out / "mst").account == load(out / "independent").account
    compare(rows, schema, **options)
    assert len(entries(path)) == 1
    compare(rows, schema, real=rows, **options)
    assert [entry.what for entry in entries(path)] == ["compare mst, independent", "choice between the models"]
    assert Account(path).book.total > 1.2, "somebody may be in both tables"


# -- ranges of people ---------------------------------------------------------------------------------------------------------


def rows_seen(rows: pd.DataFrame, people: People | None) -> float:
    schema = replace(SCHEMA, people=people)
    curator = Curator(PrivateTable(rows, schema), schema, FreeLedger(), NoNoise())
    from understudy.schema import codec_of

    curator.adopt(codec_of(schema, True))
    return float(curator.ask("rows", class_counts(1, 1.0, 2)).value[0].sum())


def test_the_wall_drops_everybody_whose_id_lies_outside_the_range():
    rows = table()
    assert rows_seen(rows, None) == 60
    assert rows_seen(rows, People("5", "10")) == 10
    assert rows_seen(rows, People("10", None)) == 40 and rows_seen(rows, People(None, "10")) == 20


def test_nobody_outside_the_range_moves_an_answer_and_nobody_is_in_two_ranges():
    """What parallel composition stands on: over all tables of the account, a person is in at most one of disjoint ranges."""
    rows, ranges = table(), (People(None, "9"), People("9", "12"), People("12", None))
    whole = [rows_seen(rows, people) for people in ranges]
    assert sum(whole) == 60
    for who in ("3", "9", "11", "25"):
        later = rows.assign(x=rows.x[::-1].to_numpy())  # the same people in another table: other rows, the same ids
        for one in (rows, later):
            moved = [full - rows_seen(one[one.who != who], people) for full, people in zip(whole, ranges, strict=True)]
            assert sorted(moved) == [0, 0, 2]


def test_a_range_by_a_date_in_the_rows_would_count_somebody_twice():
    """The mutant: a person is put into the quarter of the entry date that a table happens to hold."""
    first = pd.DataFrame({"who": ["1", "2"], "entry": ["2026-01-10", "2026-02-10"]})
    second = pd.DataFrame({"who": ["1", "3"], "entry": ["2026-04-02", "2026-05-02"]})  # 1 came back

    def by_date(rows, quarter):
        return {who for who, day in zip(rows.who, rows.entry, strict=True) if quarter[0] <= day < quarter[1]}

    quarters = ("2026-01-01", "2026-04-01"), ("2026-04-01", "2026-07-01")
    assert by_date(first, quarters[0]) & by_date(second, quarters[1]) == {"1"}
    ids = People("1", "2"), People("2", "4")
    seen = [{who for who in rows.who if people.holds(who)} for rows, people in zip((first, second), ids, strict=True)]
    assert not seen[0] & seen[1]


def test_disjoint_ranges_cost_the_dearer_one(path):
    early, late = (replace(SCHEMA, people=people) for people in (People("0", "5"), People("5", None)))
    first = Independent(epsilon=1.5).fit(table(), early, account=path).fitted
    second = Independent(epsilon=1.5).fit(table(), late, account=path).fitted
    assert second.account["total"] == first.account["total"] < 1.51
    assert "ids from '5' on" in second.certificate.text()
    with pytest.raises(UsageError, match="does not cover"):
        Independent(epsilon=1.5).fit(table(), SCHEMA, account=path)


def test_a_range_needs_ids():
    with pytest.raises(UsageError, match="needs a unit column"):
        replace(SCHEMA, unit=None, max_rows_per_unit=1, people=People("1", "2"))
    document = replace(SCHEMA, people=People("1", "2")).to_dict()
    assert Schema.from_dict(document).people == People("1", "2")
    document["unit"]["from"] = 1
    with pytest.raises(UsageError, match="in quotes"):
        Schema.from_dict(document)


# -- the command line ---------------------------------------------------------------------------------------------------------


def test_the_commands_end_to_end(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("t.csv", index=False)
    SCHEMA.save("t.yaml")

    def call(*words, code=0):
        assert cli.run([str(word) for word in words]) == code
        return capsys.readouterr()

    call("account", "create", "h.account", "--unit", "who", "--epsilon", "2")
    fitting = ("fit", "t.csv", "--schema", "t.yaml", "--method", "independent")
    assert "adds up" in call(*fitting, "--epsilon", "0.5", "--out", "alone").out
    assert "entry 1 of the account" in call(*fitting, "--epsilon", "0.5", "--out", "m1", "--account", "h.account").out
    refused = call(*fitting, "--epsilon", "3", "--out", "m2", "--account", "h.account", code=2).err
    assert refused.splitlines()[-1].startswith("error: --account: 'h.account' does not cover")
    call(*fitting, "--epsilon", "1", "--out", "m3", "--account", "h.account", "--valid-for", "0:5")
    shown = json.loads(call("account", "show", "h.account", "--json").out)
    assert [one["people"] for one in shown["entries"]] == ["everybody", "ids from '0' on and before '5'"]
    assert "left:" in call("account", "show", "h.account").out
    planned = json.loads(call("account", "plan", "h.account", "--epsilon", "0.3", "--json").out)
    same = (
        "account",
        "plan",
        "h.account",
        "--epsilon",
        "0.3",
        "--schema",
        "t.yaml",
        "--method",
        "independent",
        "--json",
    )
    assert planned["fits"] >= 1 and json.loads(call(*same).out)["fits"] == planned["fits"]
    assert "none" in call("account", "plan", "h.account", "--epsilon", "2").out
    assert "ok" in call("account", "verify", "h.account", "--model", "m1", "--model", "m3").out
    assert "FAILED" in call("account", "verify", "h.account", "--model", "alone", code=1).out
    call("account", "move", "h.account", "new.account")
    assert "was moved" in call(*fitting, "--epsilon", "0.1", "--out", "m4", "--account", "h.account", code=2).err
    call("account", "admit", "new.account", "pid")
    call("account", "verify", "new.account", "--model", "m1", "--model", "m3")
    Path("new.account").write_text(Path("new.account").read_text().replace("independent", "dependent"))
    assert "altered" in call("account", "show", "new.account", code=2).err


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_damaged_file_is_refused_before_the_account_is_charged(path, tmp_path, checkpoint):
    """Its lines are counted to choose where work runs: that came after the charge once."""
    rows = tmp_path / "rows.csv.gz"
    rows.write_bytes(gzip.compress(table(3000).to_csv(index=False).encode()))
    rows.write_bytes(rows.read_bytes()[: rows.stat().st_size // 2])
    more = {"checkpoint": tmp_path / "kept"} if checkpoint else {}
    with pytest.raises(UsageError, match=r"rows\.csv\.gz"):
        fit(Independent(epsilon=1.0), rows, SCHEMA, account=Account(path), **more)
    assert not entries(path) and not [
        name for name in tmp_path.rglob("*") if name.name.startswith(("record", "ledger"))
    ]
