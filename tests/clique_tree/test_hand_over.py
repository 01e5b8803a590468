"""Tables too wide for counts of pairs go to the mean embedding, by the schema alone, and the plan says so."""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.methods.clique_tree.method import MOST_COLUMNS
from understudy.schema import Column, Schema


def wide(columns):
    numbers = (Column(name=f"x{number}", kind="continuous", lower=0, upper=1) for number in range(columns))
    return Schema(columns=(*numbers, Column(name="y", kind="boolean")), label="y")


PICTURES = Schema(
    columns=(Column(name="x", kind="image", height=4, width=4), Column(name="y", kind="boolean")), label="y"
)


@pytest.mark.parametrize("schema", [wide(MOST_COLUMNS + 1), PICTURES], ids=["wide", "pictures"])
def test_the_plan_is_that_of_the_mean_embedding_and_says_why(schema):
    plan, other = us.CliqueTree(epsilon=2.0).plan(schema), us.MeanEmbedding(epsilon=2.0).plan(schema)
    assert plan.method == "mean-embedding"
    assert "mean-embedding takes this table from clique-tree" in plan.notes[0]
    assert (plan.charges, plan.parameters) == (other.charges, other.parameters)


def test_a_table_of_as_many_columns_as_there_may_be_stays():
    assert us.CliqueTree().plan(wide(MOST_COLUMNS)).method == "clique-tree"


def test_a_handed_over_fit_is_a_model_of_the_mean_embedding(tmp_path):
    schema, random = wide(MOST_COLUMNS + 1), np.random.default_rng(0)
    frame = pd.DataFrame(random.random((40, MOST_COLUMNS + 1)), columns=[f"x{n}" for n in range(MOST_COLUMNS + 1)])
    fitted = us.CliqueTree(epsilon=1.0, seed=0).fit(frame.assign(y=random.random(40) < 0.5), schema, out=tmp_path / "m")
    assert fitted.model_.method == "mean-embedding"
    assert fitted.model_.certificate.valid
    assert us.load(tmp_path / "m").sample(5, seed=1).shape == (5, MOST_COLUMNS + 2)
