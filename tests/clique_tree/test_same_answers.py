"""What a fit leaves is a function of what was released: neighbouring files of which the same is heard leave the same bytes.

A whole fit of one file; then of the file without an odd row, with the answers of the first in the place of its own. Model,
certificate, ledger, remarks and drawn rows must not differ. Rows are fitted beside the tree and inside cells, few
as they are.
"""

from importlib import import_module
from unittest import mock

import numpy as np
import pytest

import understudy as us
from understudy.measure.cells import Node
from understudy.methods.clique_tree import few_rows, generator
from understudy.methods.clique_tree import method as own
from understudy.private import SeededNoise
from understudy.schema import Column, Schema

from ..fit import test_neighbours as files

whole = import_module("understudy.fit")  # the package has a function of this name
WAYS = {  # epsilon, rows that are enough, whether products pay, and what is said then
    "class means": (20.0, 1e9, False, "what is missing together"),
    "counts": (20.0, 0.0, False, "were counted"),
    "three columns": (1000.0, 0.0, False, "sets of three columns at once"),
    "products": (20.0, 0.0, True, "one number for each"),
}
WORKLOADS = {
    20.0: {"columns": {"n": 0, "o": 1000}}
}  # with more budget every pair counts: a tree that holds three columns
SCHEMAS = {person: files.schema_of(files.CSV, person) for person in (False, True)}


def estimated(schema: Schema) -> Schema:
    """With a list and bounds that are found, so that the remarks say how many rows have what others became."""
    found = {
        "c": Column(name="c", kind="categorical", estimate="c", other=True),
        "x": Column(name="x", kind="continuous", estimate="x", missing=True),
    }
    columns = tuple(found.get(column.name, column) for column in schema.columns)
    return Schema(columns=columns, label="y", unit=schema.unit, max_rows_per_unit=schema.max_rows_per_unit)


def two_files(tmp_path, kind: str, person: bool):
    """One with an odd row, which with persons is somebody's of whom there is nothing else, and one without."""
    random, paths = np.random.default_rng(3), [tmp_path / f"{name}.{kind}" for name in ("with", "without")]
    for path, odd in zip(paths, (random, None), strict=True):
        if kind == "parquet":
            files.write_parquet(path, np.random.default_rng(0), odd, 4)
        else:
            line = None if odd is None else b"A1," + files.odd_line(odd).split(b",", 1)[-1]
            files.write_csv(path, line, 4)
    return paths


def left(path, schema: Schema, said, folder, epsilon: float) -> tuple[list, dict[str, bytes], us.Model]:
    """What was heard, the files of the model, and the model. `said`: answers to hear instead of the table's own."""
    curators, curator = [], whole.Curator

    def made(*given, transcript=None, **options):
        curators.append(curator(*given, transcript=transcript if said is None else said, **options))
        return curators[-1]

    how = us.CliqueTree(epsilon=epsilon, passes=3, workload=WORKLOADS.get(epsilon))
    with mock.patch.object(whole, "Curator", made):
        model = whole.fit(how, path, schema, noise=SeededNoise(1), out=folder)
    return curators[0].transcript, {file.name: file.read_bytes() for file in folder.rglob("*")}, model


def both(tmp_path, kind: str, person: bool, way: str):
    epsilon, few, pays, words = WAYS[way]
    paths, schema = two_files(tmp_path, kind, person), estimated(SCHEMAS[person])
    with (
        mock.patch.object(own, "enough_rows", lambda *_: few),
        mock.patch.object(own, "products_pay", lambda *_: pays),
        mock.patch.object(few_rows, "GAPS_STAND_OUT", -np.inf),
        mock.patch.object(generator, "LEAST_ROWS", 1),
    ):
        heard, first, one = left(paths[0], schema, None, tmp_path / "first", epsilon)
        again, second, other = left(paths[1], schema, heard, tmp_path / "second", epsilon)
        assert again == heard and "weights.safetensors" in first
        assert one.remarks == other.remarks and words in one.remarks[-1]
        assert one.sample(200, seed=5).equals(other.sample(200, seed=5))
    return first, second


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("person", [False, True], ids=["row", "person"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_neighbouring_files_of_which_the_same_is_heard_leave_the_same(tmp_path, kind, person, way):
    first, second = both(tmp_path, kind, person, way)
    assert first == second


def test_a_model_that_saw_rows_after_all_is_seen(tmp_path):
    """Mutant: where rows lie inside a cell comes from the table instead of the released counts."""
    begin, interval = us.CliqueTree.begin, Node.interval

    def peeking(self, curator, *given):
        there = float(curator._blocks.gathered().rows.mean())
        with mock.patch.object(Node, "interval", lambda node: (interval(node)[0] + 1e-3 * there, interval(node)[1])):
            return begin(self, curator, *given)

    with mock.patch.object(us.CliqueTree, "begin", peeking), pytest.raises(AssertionError):
        first, second = both(tmp_path, "csv", False, "counts")
        assert first == second
