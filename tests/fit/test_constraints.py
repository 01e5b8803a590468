"""Constraints of the schema hold in everything that a model draws."""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy import cli
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.private.noise import SeededNoise
from understudy.schema import Schema

SCHEMA = {
    "understudy": "schema",
    "label": "sex",
    "columns": {
        "id": {"kind": "identifier"},
        "role": {"kind": "categorical", "categories": ["husband", "wife", "other"]},
        "school": {"kind": "categorical", "categories": ["none", "primary", "college"]},
        "years": {"kind": "integer", "lower": 0, "upper": 20},
        "first": {"kind": "integer", "lower": 0, "upper": 99},
        "last": {"kind": "integer", "lower": 0, "upper": 99},
        "sex": {"kind": "categorical", "categories": ["f", "m"]},
    },
    "constraints": [
        {"never": "role = husband and sex = f"},
        {"if": "sex = m", "then": "role != wife"},
        {"only": ["school", "years"], "values": [["none", 0], ["primary", 6], ["college", 14]]},
        {"order": ["first", "last"]},
    ],
}


def table(rows=2000):
    random = np.random.default_rng(0)
    sex, school = random.integers(0, 2, rows), random.integers(0, 3, rows)
    both = np.sort(random.integers(0, 100, (2, rows)), axis=0)
    married = random.random(rows) < 0.5
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "role": np.where(married, np.where(sex, "husband", "wife"), "other"),
            "school": np.asarray(["none", "primary", "college"])[school],
            "years": np.asarray([0, 6, 14])[school],
            "first": both[0],
            "last": both[1],
            "sex": np.where(sex, "m", "f"),
        }
    )


def broken(rows):
    pairs = {("none", 0), ("primary", 6), ("college", 14)}
    return (
        ((rows.role == "husband") & (rows.sex == "f"))
        | ((rows.role == "wife") & (rows.sex == "m"))
        | ~pd.Series([pair in pairs for pair in zip(rows.school, rows.years, strict=True)], index=rows.index)
        | (rows["first"] > rows["last"])
    )


@pytest.fixture(scope="module", params=["independent", "clique-tree"])
def model(request):
    schema = Schema.from_dict(SCHEMA)
    return fit(us.method(request.param)(epsilon=1.0), table(), schema, noise=SeededNoise(1))


def test_no_row_that_leaves_breaks_a_constraint(model):
    rows = model.sample(3000, seed=0)
    assert not broken(rows).any() and rows.id.is_unique and len(rows) == 3000
    assert {"husband", "wife", "other"} == set(rows.role) and rows.school.nunique() == 3
    pd.testing.assert_frame_equal(rows, model.sample(3000, seed=0))
    pieces = pd.concat(model.sample_batches(700, 300, seed=0))
    assert not broken(pieces).any() and len(pieces) == 700


def test_conditions_and_given_values_hold_beside_constraints(model):
    rows = model.sample(500, seed=0, where="years >= 6 and sex = m and last < 40")
    assert not broken(rows).any() and (rows.years >= 6).all() and (rows["last"] < 40).all() and set(rows.sex) == {"m"}
    with pytest.raises(UsageError, match="conditions and the constraints of the schema at once"):
        model.sample(5, where="sex = f and role = husband")
    given = pd.DataFrame({"school": ["college", "none"] * 50, "sex": ["m", "f"] * 50})
    found = model.complete(given, seed=0)
    assert not broken(found).any() and (found.school == given.school).all() and (found.sex == given.sex).all()
    with pytest.raises(UsageError, match="given: row"):
        model.complete(pd.DataFrame({"school": ["college"], "years": [6]}))


def test_a_contradiction_ends_a_command_in_one_line(tmp_path, capsys):
    import yaml

    wrong = SCHEMA | {"constraints": [{"never": "sex = f"}, {"never": "sex = m"}]}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(wrong, sort_keys=False))
    assert cli.run(["plan", str(tmp_path / "s.yaml"), "--epsilon", "1"]) == 2
    said = capsys.readouterr().err
    assert "(on 'sex'): no row can keep all of them" in said and said.count("\n") == 1
