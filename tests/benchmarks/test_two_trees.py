"""Comparing two versions of the code: lines are kept, not made twice, and averaged over the seeds that both have."""

import argparse
import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import two_trees
from understudy.schema import Column, Schema

CELL = {"data": "adult", "method": "mst", "epsilon": 1.0, "options": "{}", "other": "aaaaaaa"}


def line(version, seed, auroc, seconds):
    return CELL | {
        "seed": seed,
        "version": version,
        "commit": "bbbbbbb",
        "auroc": auroc,
        "processor_seconds": seconds,
    }


@pytest.fixture
def results(tmp_path):
    kept = tmp_path / "two-trees.jsonl"
    lines = [line("other", 0, 0.8, 2.0), line("this", 0, 0.9, 1.0), line("other", 1, 0.6, 2.0)]
    kept.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return kept


def test_a_row_has_the_seeds_that_both_versions_have(results):
    assert "| adult | mst | aaaaaaa | 0.800 (one fit) | 0.900 (one fit) | 0.50 | 1 | bbbbbbb |" in two_trees.table(
        results
    )


def test_a_refusal_is_said_and_not_averaged(results):
    refused = line("this", 1, 0.0, 0.0) | {"refused": "too many columns"}
    results.write_text(results.read_text() + json.dumps(refused) + "\n")
    assert "| adult | mst | aaaaaaa | fits | too many columns |" in two_trees.table(results)


def test_what_was_measured_is_not_fitted_again(results, monkeypatch):
    monkeypatch.setattr(two_trees, "commit", lambda tree: "aaaaaaa" if tree == "OTHER" else "bbbbbbb")
    given = argparse.Namespace(other="OTHER", epsilon=1.0, options="{}", out=results, data=None)
    assert list(two_trees.compare("adult", "mst", 0, given)) == []


def test_every_model_has_a_score_and_a_class_of_one_row_is_chance():
    columns = Column(name="x", kind="continuous", lower=0.0, upper=1.0), Column(name="y", kind="boolean")
    schema = Schema(columns=columns, label="y", positive=True)
    random = np.random.default_rng(0)
    x = random.random(200)
    table = pd.DataFrame({"x": x, "y": x + 0.2 * random.standard_normal(200) > 0.5})
    each = two_trees.aurocs(table, table, schema)
    assert len(each) == 5 and min(each.values()) > 0.8
    assert two_trees.auroc(table, table, schema) == pytest.approx(np.mean(list(each.values())))
    for few in (0, 1):
        rare = table.assign(y=np.arange(200) >= few)
        assert set(two_trees.aurocs(rare, table, schema).values()) == {0.5}
