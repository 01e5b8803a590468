"""The benchmark data sets: where each comes from, what the papers make of it, and how it is split.

A data set is a file (or a table inside a package), a derivation (`derive.py`), and a schema file with public bounds
(`schemas/`). `load` returns a training frame, a test frame and the schema. The split is random and seeded, four
fifths to one fifth and stratified by the label, as in the papers; where the schema has a privacy unit, units and not
rows are split, so that nobody is on both sides. ISOLET (fifth speaker group) and the MNIST tables also offer their
official split.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks import derive
from understudy import demo
from understudy.errors import UsageError
from understudy.schema import Schema

ENVIRONMENT = "UNDERSTUDY_DATA"
SCHEMAS = Path(__file__).parent / "schemas"


class Split(NamedTuple):
    """Training rows, held-out rows, and what is public about both."""

    train: pd.DataFrame
    test: pd.DataFrame
    schema: Schema


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One benchmark table. `file` is looked for in the data folder; `builtin` names the package that ships the
    table instead.
    """

    name: str
    title: str
    source: str
    schema: str
    file: str | None = None
    builtin: str | None = None
    derive: Callable[[pd.DataFrame], pd.DataFrame] = derive.as_published
    official_test: tuple[str, object] | None = None  # (column, value) that marks the official test rows
    test_share: float = (
        0.2  # of a random split; 0: all rows train, as where published scores compare with the whole table
    )
    stable: str | None = None  # the column that SDNist's k-marginal keeps in every marginal
    row_level: bool = False  # protect single rows although the schema names a unit; units are still split as a whole
    people: bool = (
        False  # stand-ins describe people and are compared with people: one row of each unit, as `evaluate` does
    )
    note: str = ""


def _sets(*datasets: Dataset) -> dict[str, Dataset]:
    return {dataset.name: dataset for dataset in datasets}


_CERVICAL = "UCI ML repository: Cervical cancer (Risk Factors)"
_EPILEPTIC = "UCI ML repository: Epileptic Seizure Recognition"
_WHOLE = "No label. All rows train and all rows are compared with, as in the public archive of scores."
_MITBIH = "PhysioNet: MIT-BIH Arrhythmia Database 1.0.0 (or Kaggle: ECG Heartbeat Categorization)"

DATASETS = _sets(
    Dataset(
        name="credit-card-fraud",
        title="Kaggle Credit",
        source="Kaggle: Credit Card Fraud Detection (ULB Machine Learning Group)",
        file="credit_card_fraud",
        schema="credit_card_fraud",
        note=(
            "If the file is a subset of the 284,807 rows with another fraud rate, AUPRC is not comparable "
            "with the papers'."
        ),
    ),
    Dataset(
        name="cervical-cancer",
        title="Kaggle Cervical Cancer",
        source=_CERVICAL,
        file="cervical_cancer",
        schema="cervical_cancer",
        note="Three other test outcomes are features, as in the papers; they all but give the label away.",
    ),
    Dataset(
        name="cervical-cancer-no-tests",
        title="Cervical Cancer without other tests",
        source=_CERVICAL,
        file="cervical_cancer",
        schema="cervical_cancer_no_tests",
    ),
    Dataset(
        name="isolet-vowels",
        title="UCI ISOLET",
        source="UCI ML repository: ISOLET",
        file="isolet",
        schema="isolet_vowels",
        derive=derive.isolet_vowels,
        official_test=("speaker_group", 5),
    ),
    Dataset(
        name="isolet",
        title="ISOLET, 26 letters",
        source="UCI ML repository: ISOLET",
        file="isolet",
        schema="isolet",
        official_test=("speaker_group", 5),
    ),
    Dataset(
        name="epileptic-seizure",
        title="UCI Epileptic Seizure",
        source=_EPILEPTIC,
        file="epileptic_seizure",
        schema="epileptic_seizure",
        derive=derive.seizure,
        note=(
            "Rows are one-second chunks of 500 recordings: a random split, as in the papers, puts one "
            "recording on both sides."
        ),
    ),
    Dataset(
        name="epileptic-seizure-5",
        title="Epileptic Seizure, five classes",
        source=_EPILEPTIC,
        file="epileptic_seizure",
        schema="epileptic_seizure_5",
    ),
    Dataset(
        name="cardiovascular",
        title="Kaggle Cardiovascular Disease",
        source="Kaggle: Cardiovascular Disease dataset (cardio_train)",
        file="cardiovascular",
        schema="cardiovascular",
    ),
    Dataset(
        name="mitbih",
        title="MIT-BIH Arrhythmia",
        source=_MITBIH,
        file="mitbih_arrhythmia",
        schema="mitbih",
        derive=derive.abnormal_beat,
        note="Beats of one person are on both sides of a random split, as in the papers.",
    ),
    Dataset(
        name="mitbih-5", title="MIT-BIH, five classes", source=_MITBIH, file="mitbih_arrhythmia", schema="mitbih_5"
    ),
    Dataset(
        name="adult", title="Adult", source="UCI ML repository: Adult (Census Income)", file="adult", schema="adult"
    ),
    Dataset(
        name="diabetes-130us",
        title="Diabetes 130-US",
        source="UCI ML repository: Diabetes 130-US hospitals 1999-2008",
        file="diabetes_130us",
        schema="diabetes_130us",
        note="Unit: the patient. Patients, not encounters, are split.",
    ),
    Dataset(
        name="diabetes-130us-rows",
        title="Diabetes 130-US, row-level",
        source="UCI ML repository: Diabetes 130-US hospitals 1999-2008",
        file="diabetes_130us",
        schema="diabetes_130us",
        row_level=True,
        note="The same rows and the same split by patient, but one encounter is the unit: what person-level costs.",
    ),
    Dataset(
        name="diabetes-130us-people",
        title="Diabetes 130-US, beside patients",
        source="UCI ML repository: Diabetes 130-US hospitals 1999-2008",
        file="diabetes_130us",
        schema="diabetes_130us",
        people=True,
        note="Unit: the patient. What methods that count patients draw is compared with one encounter of each.",
    ),
    Dataset(
        name="nist-ma2019",
        title="NIST Massachusetts 2019",
        source="NIST Diverse Communities Data Excerpts (Collaborative Research Cycle), ma2019",
        file="nist_ma2019",
        schema="nist_ma2019",
        test_share=0.0,
        stable="PUMA",
        note=_WHOLE,
    ),
    Dataset(
        name="nist-national2019",
        title="NIST National 2019",
        source="NIST Diverse Communities Data Excerpts (Collaborative Research Cycle), national2019",
        file="nist_national2019",
        schema="nist_national2019",
        test_share=0.0,
        stable="PUMA",
        note=_WHOLE,
    ),
    Dataset(
        name="mnist",
        title="MNIST",
        source="MNIST handwritten digits (LeCun, Cortes, Burges)",
        file="mnist",
        schema="mnist",
        official_test=("split", "test"),
    ),
    Dataset(
        name="fashion-mnist",
        title="Fashion-MNIST",
        source="Fashion-MNIST (Zalando Research)",
        file="fashion_mnist",
        schema="fashion_mnist",
        official_test=("split", "test"),
    ),
    Dataset(
        name="mimic3-demo",
        title="MIMIC-III demo",
        source="PhysioNet: MIMIC-III Clinical Database Demo 1.4",
        file="mimic3_demo_diagnoses",
        schema="mimic3_demo",
        derive=derive.admissions_by_code,
        note=(
            "129 admissions: enough to run the code path of the unsupervised tables, far too few to compare "
            "with full MIMIC-III."
        ),
    ),
    Dataset(
        name="hiva",
        title="HIVA",
        source="HIVA training set, WCCI 2006 performance prediction challenge",
        file="hiva",
        schema="hiva",
        note="A sparse table of 1,617 binary columns, a stand-in for code tables of health records.",
    ),
    Dataset(
        name="breast-cancer",
        title="Breast Cancer Wisconsin",
        source="scikit-learn",
        builtin="scikit-learn",
        schema="breast_cancer",
    ),
    Dataset(name="digits", title="Digits 8 x 8", source="scikit-learn", builtin="scikit-learn", schema="digits"),
    Dataset(
        name="randhie",
        title="RAND health insurance experiment",
        source="statsmodels",
        builtin="statsmodels",
        schema="randhie",
        derive=demo.derive,
        note="Unit: the person (5,912 persons, 20,190 person-years). Persons, not rows, are split.",
    ),
)


def dataset(name: str) -> Dataset:
    """The entry of that name."""
    found = DATASETS.get(name)
    if found is None:
        near = get_close_matches(name, DATASETS, n=1)
        advice = f"did you mean {near[0]!r}?" if near else "see `python -m benchmarks list`"
        raise UsageError(f"unknown data set {name!r}; {advice}")
    return found


def schema_path(name: str) -> Path:
    """The schema file of that name (a data set's name, or a file's stem such as `epileptic_seizure_raw_binary`).
    That of the demo's table lies in the installed package.
    """
    stem = DATASETS[name].schema if name in DATASETS else name.replace("-", "_")
    files = {file.stem: file for file in SCHEMAS.glob("*.yaml")} | {"randhie": demo.SCHEMA}
    if stem not in files:
        raise UsageError(f"no schema is named {name!r}; there are: {', '.join(sorted(files))}")
    return files[stem]


def find_file(entry: Dataset, data: str | os.PathLike[str] | None) -> Path:
    """Where the data set's file lies, or an error that says what to get and where to put it."""
    where = data if data is not None else os.environ.get(ENVIRONMENT)
    if not where:
        raise UsageError(
            f"data set {entry.name!r} needs the file {entry.file}.parquet: name its folder with --data DIR or "
            f"{ENVIRONMENT} (source: {entry.source})"
        )
    for ending in (".parquet", ".csv"):
        if (path := Path(where) / f"{entry.file}{ending}").is_file():
            return path
    raise UsageError(
        f"data set {entry.name!r}: there is no {entry.file}.parquet or {entry.file}.csv in {str(where)!r}; "
        f"the public gets it from {entry.source}"
    )


def read_source(entry: Dataset, data: str | os.PathLike[str] | None) -> pd.DataFrame:
    """The table as its source publishes it."""
    if entry.builtin == "scikit-learn":
        from sklearn import datasets

        loader = {"breast-cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}[entry.name]
        return loader(as_frame=True).frame
    if entry.builtin == "statsmodels":
        return demo.source()
    path = find_file(entry, data)
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def load(
    name: str,
    data: str | os.PathLike[str] | None = None,
    *,
    seed: int = 0,
    split: str = "random",
    test_share: float | None = None,
    rows: int | None = None,
) -> Split:
    """Training and test frame with the schema's columns, and the schema.

    `rows` keeps a seeded random sample of that many rows (stratified like the split) before splitting, for quick runs.
    """
    entry = dataset(name)
    schema = Schema.load(schema_path(name))
    if split not in ("random", "official"):
        raise UsageError(f"split {split!r}: choose 'random' or 'official'")
    if split == "official" and entry.official_test is None:
        raise UsageError(f"data set {name!r} has no official split; use split='random'")
    source = read_source(entry, data)
    is_test = None
    if split == "official" and entry.official_test is not None:
        column, value = entry.official_test
        is_test = (source[column] == value).to_numpy()
    frame = select(entry.derive(source), schema, entry)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 20]))
    if rows is not None and rows < len(frame):
        keep = ~draw(frame, schema, 1 - rows / len(frame), rng)
        frame, is_test = frame[keep], None if is_test is None else is_test[keep]
    if is_test is None:
        is_test = draw(frame, schema, entry.test_share if test_share is None else test_share, rng)
    return Split(
        frame[~is_test].reset_index(drop=True), frame[is_test].reset_index(drop=True), protected(entry, schema)
    )


def protected(entry: Dataset, schema: Schema) -> Schema:
    """The schema a method is given: without its unit where rows are what is protected."""
    return replace(schema, unit=None, max_rows_per_unit=1) if entry.row_level else schema


def select(frame: pd.DataFrame, schema: Schema, entry: Dataset) -> pd.DataFrame:
    """The schema's columns in its order; values a column gives to `other` are written so, as sampled rows will
    have them.
    """
    names = [column.name for column in schema.columns]
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise UsageError(
            f"data set {entry.name!r}: column {absent[0]!r} is not in the file; the form expected is that "
            f"of {entry.source}"
        )
    chosen = frame[names].copy()
    for column in schema.columns:
        if column.other and column.categories is not None:
            values = chosen[column.name]
            chosen[column.name] = values.where(values.isin(column.categories) | values.isna(), "other")
    return chosen


def draw(frame: pd.DataFrame, schema: Schema, share: float, rng: np.random.Generator) -> np.ndarray:
    """A mask that is true for `share` of the rows: whole units if there are units, else a share of each class."""
    if schema.unit is not None:
        codes, units = pd.factorize(frame[schema.unit])
        return _share_of(np.arange(len(units)), share, rng, len(units))[codes]
    label = schema.label if schema.label_kind in ("binary", "multiclass") else None
    if label is None:
        return _share_of(np.arange(len(frame)), share, rng, len(frame))
    chosen = np.zeros(len(frame), bool)
    codes, values = pd.factorize(frame[label])
    for code in range(len(values)):
        chosen |= _share_of(np.flatnonzero(codes == code), share, rng, len(frame))
    return chosen


def _share_of(places: np.ndarray, share: float, rng: np.random.Generator, size: int) -> np.ndarray:
    mask = np.zeros(size, bool)
    mask[rng.permutation(places)[: round(share * len(places))]] = True
    return mask
