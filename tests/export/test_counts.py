"""Released counts as a product: what the cells say is what was counted, and the deviation is that of the noise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy import cli
from understudy.artifact import load
from understudy.errors import UsageError
from understudy.export import counts, words_of
from understudy.fit import fit
from understudy.private.noise import SeededNoise
from understudy.schema import Column, Schema

ROWS = 3000
SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99, missing=True),
        Column(name="weight", kind="continuous", lower=0.0, upper=200.0),
        Column(name="town", kind="categorical", categories=tuple("abcdefgh"), missing=True),
        Column(name="grade", kind="ordinal", categories=("low", "mid", "high")),
        Column(name="since", kind="datetime", lower="2000-01-01", upper="2020-12-31", dtype="date32"),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


def table():
    random = np.random.default_rng(0)
    sick = random.random(ROWS) < 0.3
    age = pd.array(np.clip(random.normal(40 + 10 * sick, 12, ROWS).round(), 0, 99), dtype="Int64")
    age[random.random(ROWS) < 0.1] = pd.NA
    town = random.choice([*"abcdefgh", None], ROWS, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.02, 0.02, 0.0, 0.01])
    days = random.integers(0, 7000, ROWS)
    return pd.DataFrame(
        {
            "age": age,
            "weight": np.where(random.random(ROWS) < 0.2, 0.0, np.clip(random.normal(75, 15, ROWS), 0, 200)),
            "town": town,
            "grade": random.choice(["low", "mid", "high"], ROWS),
            "since": np.datetime64("2000-01-01") + days.astype("timedelta64[D]"),
            "sick": np.where(sick, "yes", "no"),
        }
    )


def holds(column, cell):
    """Which rows a cell counts, from its parts."""
    found = np.zeros(len(column), bool)
    for part in cell:
        if part is None:
            found |= column.isna().to_numpy()
        elif isinstance(part, tuple):
            low, high = (pd.Timestamp(end) for end in part) if isinstance(part[0], str) else part
            closed = column.dtype == "Int64" or high in (200.0, pd.Timestamp("2020-12-31"))
            inside = (column >= low) & ((column <= high) if closed else (column < high))
            found |= inside.fillna(False).to_numpy(bool)
        else:
            value = pd.Timestamp(part) if column.dtype.kind == "M" else part
            found |= (column == value).fillna(False).to_numpy(bool)
    return found


def scores(model, rows):
    """(released - true) / deviation of every exported count."""
    found = []
    for one in model.released:
        if not one.cells or not one.named:
            continue
        masks = [
            [holds(rows[name], cell) if name else np.ones(len(rows), bool) for cell in axis]
            for name, axis in zip(one.columns, one.cells, strict=True)
        ]
        true = np.empty(one.values.shape)
        for place in np.ndindex(*one.values.shape):
            true[place] = np.logical_and.reduce([masks[axis][at] for axis, at in enumerate(place)]).sum()
        found.append(((one.values - true) / one.deviation).ravel())
    return np.concatenate(found)


@pytest.mark.parametrize("method", ["clique-tree", "mst", "independent"])
def test_each_count_is_the_true_one_with_the_noise_that_is_stated(method):
    """Seeded noise: cannot fail by chance. The limits are four deviations wide; deviations that are too small are outside."""
    rows = table()
    model = fit(us.method(method)(epsilon=1.0), rows, SCHEMA, noise=SeededNoise(1))
    z = scores(model, rows)
    assert len(z) > 80 and abs(float(z.mean())) < 4.0 / np.sqrt(len(z))
    assert abs(float((z**2).mean()) - 1.0) < 4.0 * np.sqrt(2.0 / len(z)) and float(np.abs(z).max()) < 5.5
    wrong = replace(
        model, released=tuple(replace(one, deviation=np.asarray(0.6 * one.deviation)) for one in model.released)
    )
    assert abs(float((scores(wrong, rows) ** 2).mean()) - 1.0) > 4.0 * np.sqrt(2.0 / len(z))


def test_the_file_has_one_line_for_each_count(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = fit(us.method("clique-tree")(epsilon=1.0), table(), SCHEMA, noise=SeededNoise(1))
    model.save("m")
    assert cli.run(["export", "counts", "m", "--out", "c.parquet"]) == 0
    assert "released tables to c.parquet" in capsys.readouterr().out
    found = pq.read_table("c.parquet").to_pandas()
    pd.testing.assert_frame_equal(found, counts(load("m")))
    assert len(found) == sum(one.values.size for one in model.released if one.cells)
    town = found[(found.column_1 == "town") & found.column_2.isna()]
    assert town.cell_1.isna().sum() == 1 and set(town.cell_1.dropna()) == set("abcdefgh")
    assert (tmp_path / "c.parquet.manifest.json").is_file() and set(found.counts_of) == {"rows"}
    assert cli.run(["export", "counts", "m", "--out", "c.csv"]) == 0
    assert cli.run(["export", "counts", "m", "--out", "c.csv"]) == 2
    assert cli.run(["export", "counts", "m", "--out", "m/c.csv"]) == 2
    assert cli.run(["export", "counts", "m", "--out", "c.txt"]) == 2


def test_a_model_without_tables_says_so():
    model = fit(us.method("independent")(epsilon=1.0), table(), SCHEMA, noise=SeededNoise(1))
    with pytest.raises(UsageError, match="keeps no tables"):
        counts(replace(model, released=()))


def test_cells_as_text():
    assert words_of((None,)) is None
    assert words_of(("a", None, (1, 5), (0.25, 1 / 3), 7)) == "a | (missing) | 1 to 5 | 0.25 to 0.333333333 | 7"
