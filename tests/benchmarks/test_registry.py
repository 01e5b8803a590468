"""Loaders: labels as the papers derive them, splits that keep classes and people apart, and clear words when a
file is missing.
"""

import numpy as np
import pandas as pd
import pytest

from benchmarks import derive
from benchmarks.registry import DATASETS, ENVIRONMENT, load
from understudy import demo
from understudy.errors import UsageError

from .conftest import schema_of, table_of


def write(name, data, rows=100):
    frame = table_of(schema_of(name), rows)
    frame.to_parquet(data / f"{DATASETS[name].file}.parquet", index=False)
    return frame


@pytest.mark.parametrize(
    "name", ["adult", "cardiovascular", "credit-card-fraud", "cervical-cancer", "diabetes-130us", "epileptic-seizure-5"]
)
def test_files_as_they_lie(name, data):
    frame = write(name, data)
    train, test, schema = load(name, data)
    assert list(train.columns) == [column.name for column in schema.columns] == list(frame.columns)
    assert len(train) + len(test) == len(frame)


def test_columns_beyond_the_schema_are_left_out(data):
    write("adult", data).assign(split="train").to_parquet(data / "adult.parquet")
    assert "split" not in load("adult", data).train.columns


def test_csv_is_read_too(data):
    table_of(schema_of("cardiovascular"), 50).to_csv(data / "cardiovascular.csv", index=False)
    assert len(load("cardiovascular", data).test) == pytest.approx(10, abs=1)


def test_unlisted_codes_become_other(data):
    frame = write("diabetes-130us", data)
    frame.assign(diag_1=["E909"] * 50 + [None] * 50).to_parquet(data / "diabetes_130us.parquet")
    train, test, _ = load("diabetes-130us", data)
    both = pd.concat([train, test])["diag_1"]
    assert (both == "other").sum() == 50
    assert both.isna().sum() == 50


def test_split_is_stratified_disjoint_and_seeded(data):
    frame = write("epileptic-seizure-5", data, 500)
    one, two, other = (load("epileptic-seizure", data, seed=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(one.test, two.test)
    assert not one.test.equals(other.test)
    for split in (one, other):
        assert len(split.test) == pytest.approx(100, abs=2)
        assert split.test["seizure"].sum() == pytest.approx(0.2 * (frame["y"] == 1).sum(), abs=1)
        assert pd.concat([split.train, split.test])["X1"].sort_values().tolist() == frame["X1"].sort_values().tolist()


def test_people_are_on_one_side_only(data):
    write("diabetes-130us", data, 400)
    train, test, _ = load("diabetes-130us", data)
    assert not set(train["patient_nbr"]) & set(test["patient_nbr"])
    assert len(test) == pytest.approx(80, abs=4)


def test_row_level_variant_has_the_same_split_and_no_unit(data):
    write("diabetes-130us", data, 400)
    people, rows = load("diabetes-130us", data), load("diabetes-130us-rows", data)
    assert people.test.equals(rows.test)
    assert (people.schema.unit, rows.schema.unit) == ("patient_nbr", None)
    assert rows.schema.max_rows_per_unit == 1


def test_a_sample_of_rows_for_quick_runs_keeps_classes(data):
    write("epileptic-seizure-5", data, 500)
    train, test, schema = load("epileptic-seizure-5", data, rows=100)
    assert len(train) + len(test) == pytest.approx(100, abs=5)
    assert train[schema.label].nunique() == 5


def test_labels_of_the_papers():
    letters = derive.isolet_vowels(pd.DataFrame({"f1": range(26), "class": range(1, 27)}))
    assert [chr(64 + i + 1) for i in np.flatnonzero(letters["vowel"])] == list("AEIOU")
    assert derive.seizure(pd.DataFrame({"X1": range(5), "y": range(1, 6)}))["seizure"].tolist() == [1, 0, 0, 0, 0]
    assert derive.abnormal_beat(pd.DataFrame({"0": range(5), "class": range(5)}))["abnormal"].tolist() == [
        0,
        1,
        1,
        1,
        1,
    ]


def test_pictures_and_official_split(data):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (60, 784), dtype=np.uint8)
    frame = pd.DataFrame({"pixels": list(pixels), "label": np.arange(60) % 10, "split": ["train"] * 50 + ["test"] * 10})
    frame.to_parquet(data / "mnist.parquet")
    train, test, schema = load("mnist", data, split="official")
    assert (len(train), len(test)) == (50, 10)
    assert schema.column("pixels").shape == (28, 28, 1)
    np.testing.assert_array_equal(np.stack(test["pixels"].to_list()), pixels[50:])
    with pytest.raises(UsageError, match="no official split"):
        load("adult", data, split="official")


def test_codes_become_one_row_per_admission():
    long = pd.DataFrame(
        {"SUBJECT_ID": [1, 1, 1, 2], "HADM_ID": [10, 10, 11, 20], "ICD9_CODE": ["4019", "4019", "42731", "4019"]}
    )
    wide = derive.admissions_by_code(long)
    assert wide.to_dict("list") == {"SUBJECT_ID": [1, 1, 2], "icd9_4019": [1, 0, 1], "icd9_42731": [0, 1, 0]}


def test_the_demo_has_the_split_of_the_benchmark():
    train, test, _ = load("randhie", seed=3)
    own = demo.load(3)
    pd.testing.assert_frame_equal(own[0], train)
    pd.testing.assert_frame_equal(own[1], test)
    assert not set(train["zper"]) & set(test["zper"])


def test_tables_inside_packages_need_no_file(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    train, test, _ = load("randhie")
    assert len(train) + len(test) == 20_190
    assert len(set(train["zper"]) | set(test["zper"])) == 5_912
    assert set(train["health"]) == {"poor", "fair", "good", "excellent"}
    assert {len(load(name).train) for name in ("breast-cancer", "digits")} == {456, 1438}


def test_missing_file_is_named_with_its_source(data, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    with pytest.raises(UsageError, match=r"adult\.parquet.*--data DIR.*UCI ML repository: Adult"):
        load("adult")
    monkeypatch.setenv(ENVIRONMENT, str(data))
    with pytest.raises(UsageError, match=r"no adult\.parquet.*UCI ML repository: Adult"):
        load("adult")


def test_unknown_names_and_foreign_files(data):
    with pytest.raises(UsageError, match="did you mean 'adult'"):
        load("adultt", data)
    pd.DataFrame({"a": [1]}).to_parquet(data / "adult.parquet")
    with pytest.raises(UsageError, match="column 'age' is not in the file"):
        load("adult", data)
    with pytest.raises(UsageError, match="'random' or 'official'"):
        load("adult", data, split="half")
