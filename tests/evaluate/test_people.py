"""Stand-ins that describe people, against real rows of which the ill have more: compared with one row of each person."""

import numpy as np
import pandas as pd
import pytest

from understudy import manifest
from understudy.errors import UsageError
from understudy.evaluate import people
from understudy.evaluate.run import evaluate
from understudy.evaluate.table import prepare
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="pid", kind="identifier"),
        Column(name="ill", kind="boolean"),
        Column(name="age", kind="integer", lower=0, upper=99),
    ),
    unit="pid",
    max_rows_per_unit=10,
)


def persons(count=2000, seed=0):
    """A row of each: 15 % are ill, and the ill are older."""
    rng = np.random.default_rng(seed)
    ill = rng.random(count) < 0.15
    age = np.clip(rng.normal(40 + 20 * ill, 8, count).round(), 0, 99).astype(int)
    return pd.DataFrame({"pid": [f"p{number}" for number in range(count)], "ill": ill, "age": age})


def visits(seed=0):
    """The ill come nine times, the others once or twice; nobody came once without a name."""
    one = persons(seed=seed)
    many = one.loc[one.index.repeat(np.where(one.ill, 9, 1 + one.age % 2))].sample(frac=1.0, random_state=1)
    return pd.concat([many, many.iloc[:1].assign(pid=None)], ignore_index=True)


def figures(fake, test, **more):
    found = evaluate(fake, test, SCHEMA, metrics=("fidelity", "mmd"), **more)
    lost = found.fidelity.whole.measure("one-way").value.mean
    return lost, found


def test_one_row_of_each_person_is_drawn_and_nobodys_is_left_out():
    table = visits()
    drawn = people.one_of_each(table, SCHEMA, 0)
    kept = table.iloc[drawn.places]
    assert drawn.rows == len(table) and sorted(kept.pid) == sorted(persons().pid)
    assert (np.diff(drawn.places) > 0).all() and not np.array_equal(
        drawn.places, people.one_of_each(table, SCHEMA, 1).places
    )
    many = pd.DataFrame({"pid": ["a"] * 4, "ill": False, "age": range(4)})
    found = np.bincount([people.one_of_each(many, SCHEMA, seed).places[0] for seed in range(400)], minlength=4)
    assert (np.abs(found - 100) < 45).all()  # each row of a person as often: five deviations


def test_a_table_of_people_is_compared_with_people(tmp_path):
    fake, test = persons(seed=1), visits()
    test.to_csv(tmp_path / "real.csv", index=False)
    by_rows, first = figures(fake, test)  # the wrong version: all rows
    by_people, second = figures(fake, tmp_path / "real.csv", count="people")
    assert by_rows > 0.2 and by_people < 0.05
    assert second.mmd.value.mean < 0.005 < first.mmd.value.mean
    assert "all 5,287 real rows of 2,000" in first.header.notes[0] and "--count people" in first.header.notes[0]
    assert "one real row of each of 2,000 people" in second.header.notes[0] and second.fidelity.whole.real_rows == 2000
    assert second.header.test_rows == len(prepare(test, SCHEMA).values["age"])  # all else has all rows
    assert not figures(fake, test, count="rows")[1].header.notes
    assert not figures(fake, persons())[1].header.notes  # a row a person: both are the same
    trained = figures(fake, persons(seed=3), train=test, count="people")[1]
    assert trained.fidelity.whole.real_rows == 2000 and trained.fidelity.whole.held_out_rows == 2000


@pytest.mark.parametrize("altered", [False, True])
def test_the_manifest_says_whether_people_were_counted(tmp_path, altered):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "certificate.json").write_text("{}")
    persons(seed=1).to_csv(tmp_path / "fake.csv", index=False)
    manifest.write(tmp_path / "fake.csv", tmp_path / "model", 2000, people=True)
    if altered:
        persons(seed=2).to_csv(tmp_path / "fake.csv", index=False)
    by, found = figures(tmp_path / "fake.csv", visits())
    assert (by > 0.2) == altered and ("because the model counts people" in found.header.notes[0]) != altered
    assert figures(tmp_path / "fake.csv", visits(), count="rows")[0] > 0.2
    if not altered:
        note = figures(tmp_path / "fake.csv", visits().drop(columns="pid"))[1].header.notes[0]
        assert "no readable column 'pid'" in note


def test_what_cannot_be_compared_is_refused():
    fake, open_schema = persons(seed=1), Schema(columns=SCHEMA.columns[1:])
    for wrong, more, message in (
        (SCHEMA, {"count": "heads"}, "must be 'people' or 'rows'"),
        (open_schema, {"count": "people"}, "names no unit"),
        (SCHEMA, {"stable": "town"}, "no column 'town'"),
    ):
        with pytest.raises(UsageError, match=message):
            evaluate(fake, visits(), wrong, metrics=("fidelity",), **more)
    with pytest.raises(UsageError, match="no readable column 'pid'"):
        evaluate(fake, visits().drop(columns="pid"), SCHEMA, metrics=("fidelity",), count="people")


def test_a_stable_column_is_in_every_marginal():
    test = persons().assign(town=np.arange(2000) % 3, grade=np.arange(2000) % 5)
    schema = Schema(
        columns=(
            *SCHEMA.columns[1:],
            *(Column(name=n, kind="integer", lower=0, upper=9) for n in ("town", "grade")),
        )
    )
    fake = test.assign(town=0)  # wrong in one column: two triples of three hold it, or all of them
    plain, stable = (
        evaluate(fake, test, schema, metrics=("fidelity",), stable=name).fidelity.whole.measure("k-marginal").value.mean
        for name in (None, "town")
    )
    assert stable < plain - 50 and stable == pytest.approx(1000 / 3, abs=1)


def test_a_manifest_of_another_version_says_nothing_of_people(tmp_path):
    visits().to_csv(tmp_path / "rows.csv", index=False)
    manifest.path_of(tmp_path / "rows.csv").write_text('{"format": "understudy sample 0"}')
    assert not people.counts_people(tmp_path / "rows.csv")
