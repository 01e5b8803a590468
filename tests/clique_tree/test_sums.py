"""Parts of a total that tell nothing of each other do not rise together because both tell of their sum."""

import numpy as np
import pandas as pd
import pytest

from understudy.fit import fit
from understudy.methods.clique_tree import method
from understudy.methods.clique_tree.correlations import ties
from understudy.methods.clique_tree.method import CliqueTree
from understudy.methods.clique_tree.select import Selection
from understudy.private.noise import SeededNoise
from understudy.schema import Column, Schema
from understudy.schema.constraints import Sum

PARTS = ("drugs", "visits")
SCHEMA = Schema(
    columns=(
        *(Column(name=name, kind="integer", lower=0, upper=20) for name in PARTS),
        Column(name="total", kind="integer", lower=0, upper=40),
        Column(name="town", kind="categorical", categories=("a", "b", "c")),
    ),
    constraints=(Sum("total", PARTS),),
)


def table(rows):
    random = np.random.default_rng(0)
    parts = {name: random.integers(0, 21, rows) for name in PARTS}
    return pd.DataFrame(parts | {"total": sum(parts.values()), "town": random.choice(list("abc"), rows)})


def together(rows):
    """Correlation of the parts in a stand-in."""
    found = fit(CliqueTree(epsilon=1.0), table(rows), SCHEMA, noise=SeededNoise(1)).sample(6000, seed=1)
    assert (found["drugs"] + found["visits"] == found["total"]).all()
    return float(np.corrcoef(found["drugs"], found["visits"])[0, 1])


@pytest.mark.parametrize("rows", [20_000, 1_500], ids=["counts", "products or counts"])
def test_parts_of_a_sum_are_not_tied_by_it(rows):
    assert abs(together(rows)) < 0.2


def test_without_ties_they_rise_together(monkeypatch):
    monkeypatch.setattr(Selection, "tie", lambda self, candidates, sums: None)
    monkeypatch.setattr(method, "count_triples", lambda *given: None)
    assert together(20_000) > 0.3


def test_a_file_that_is_no_workload_is_named(tmp_path):
    file = tmp_path / "weights.yaml"
    file.write_text("- age\n- income\n")
    with pytest.raises(ValueError, match=r"workload: '.*weights\.yaml' should hold weights"):
        CliqueTree(epsilon=1.0, workload=str(file)).check_options()


@pytest.mark.parametrize(("wanted", "tied"), [([(0, 2), (1, 2)], [(0, 1)]), ([(0, 2)], []), ([], [])])
def test_products_of_parts_are_fitted_where_both_are_beside_the_total(wanted, tied):
    assert list(ties([4, 5, 6], wanted, [[6, 5, 4]])) == tied
