"""Write the schema files of the wide benchmark tables (hundreds of columns of one kind), which nobody should type.

    python -m benchmarks.make_schemas            # all but the MIMIC-III demo
    python -m benchmarks.make_schemas --data DIR # also the MIMIC-III demo, whose list of codes is read off the public
    demo table

The small tables' schema files are written by hand. A test checks that the files in `schemas/` equal what this script
writes.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable
from pathlib import Path

SCHEMAS = Path(__file__).resolve().parent / "schemas"

BINARY = "{kind: categorical, categories: [0, 1], dtype: int8}"

# Standard deviations of the principal components V1..V28 over the full public table (they fall from 1.96 to 0.33,
# mean 0).
CREDIT_SD = (
    1.96,
    1.65,
    1.52,
    1.42,
    1.38,
    1.33,
    1.24,
    1.19,
    1.10,
    1.09,
    1.02,
    1.00,
    1.00,
    0.96,
    0.92,
    0.88,
    0.85,
    0.84,
    0.81,
    0.77,
    0.73,
    0.73,
    0.62,
    0.61,
    0.52,
    0.48,
    0.40,
    0.33,
)


def document(comments: Iterable[str], head: Iterable[str], columns: Iterable[tuple[str, str]]) -> str:
    """One schema file: comment lines, head lines, one line per column."""
    lines = [f"# {line}" for line in textwrap.wrap(" ".join(comments), 118)] + ["understudy: schema", *head, "columns:"]
    return "\n".join(lines + [f"  {name}: {spec}" for name, spec in columns]) + "\n"


def label(column: str, positive: int | None) -> str:
    return f"label: {{column: {column}}}" if positive is None else f"label: {{column: {column}, positive: {positive}}}"


def classes(values: Iterable[int], dtype: str = "int8") -> str:
    return f"{{kind: categorical, categories: [{', '.join(map(str, values))}], dtype: {dtype}}}"


def power_of_two_above(value: float) -> int:
    power = 1
    while power < value:
        power *= 2
    return power


def credit() -> str:
    bounds = [power_of_two_above(8 * sd) for sd in CREDIT_SD]
    features = [
        (f"V{i}", f"{{kind: continuous, lower: -{b}, upper: {b}, dtype: float}}") for i, b in enumerate(bounds, 1)
    ]
    return document(
        [
            (
                "Kaggle: Credit Card Fraud Detection (ULB Machine Learning Group). Fits the file as it lies "
                "(a column Time, if present, is not used)."
            ),
            (
                "V1..V28 are scores of a principal component analysis, so their mean is 0. They have heavy "
                "tails: bounds are plus and minus the smallest"
            ),
            (
                "power of two at least eight standard deviations wide, with the standard deviations of the "
                "full public table (1.96 down to 0.33)."
            ),
            (
                "What lies outside is clamped; wider bounds would squeeze the bulk of the rows into a few "
                "percent of the scale."
            ),
            (
                "Amount: the documented maximum. Almost all amounts lie below 3,000, so a holder who may cap "
                "it lower gets a finer scale."
            ),
        ],
        [label("Class", 1)],
        [*features, ("Amount", "{kind: continuous, lower: 0, upper: 25691.16, dtype: float}"), ("Class", BINARY)],
    )


def epileptic(variant: str) -> str:
    samples = [(f"X{i}", "{kind: integer, lower: -2048, upper: 2047, dtype: int16}") for i in range(1, 179)]
    about = [
        (
            "UCI ML repository: Epileptic Seizure Recognition (EEG of Andrzejak et al. 2001): one second of "
            "178 samples per row."
        ),
        "Bounds: the recordings were digitised with 12 bits, so a sample lies in -2048..2047.",
    ]
    if variant == "five":
        return document(
            [*about, "Five classes; fits the file as it lies."],
            [label('"y"', 1)],
            [*samples, ('"y"', classes(range(1, 6)))],
        )
    if variant == "raw binary":
        note = [
            (
                "Seizure (y = 1) against the rest, on the file as it lies: 1 and 2 are the only categories, "
                "and a class that is not listed (3, 4, 5)"
            ),
            "counts as the first one, 2. In what is sampled, 1 means seizure and 2 means none.",
        ]
        return document([*about, *note], [label('"y"', 1)], [*samples, ('"y"', classes((2, 1)))])
    note = ["Binary task of the papers: the registry derives `seizure` = (y = 1)."]
    return document([*about, *note], [label("seizure", 1)], [*samples, ("seizure", BINARY)])


def isolet(vowels: bool) -> str:
    features = [(f"f{i}", "{kind: continuous, lower: -1, upper: 1, dtype: float}") for i in range(1, 618)]
    about = [
        "UCI ML repository: ISOLET, spoken letters. Bounds: documented, features are scaled to -1..1.",
        "The column speaker_group is no feature and left out.",
    ]
    if vowels:
        note = ["Binary task of the papers: the registry derives `vowel` = (letter is A, E, I, O or U)."]
        return document([*about, *note], [label("vowel", 1)], [*features, ("vowel", BINARY)])
    note = ["26 classes (1 = A ... 26 = Z); fits the file as it lies."]
    return document([*about, *note], [label("class", None)], [*features, ("class", classes(range(1, 27)))])


def mitbih(binary: bool) -> str:
    samples = [(f'"{i}"', "{kind: continuous, lower: 0, upper: 1, dtype: float}") for i in range(187)]
    about = [
        "PhysioNet: MIT-BIH Arrhythmia Database, one beat of 187 samples per row, scaled to 0..1 by construction.",
        (
            "The columns beat_symbol and record are left out. 48 records of 47 persons: a row is a beat, and "
            "the guarantee is for one beat."
        ),
    ]
    if binary:
        note = ["Binary task: the registry derives `abnormal` = (class is not 0, normal)."]
        return document([*about, *note], [label("abnormal", 1)], [*samples, ("abnormal", BINARY)])
    note = ["Five AAMI classes (0 = N, 1 = S, 2 = V, 3 = F, 4 = Q); fits the file as it lies."]
    return document([*about, *note], [label("class", None)], [*samples, ("class", classes(range(5)))])


def images(title: str) -> str:
    about = [
        f"{title}: 28 x 28 grey images, 8 bits a pixel, a list of 784 numbers row by row. Fits the file as it lies."
    ]
    columns = [("pixels", "{kind: image, height: 28, width: 28}"), ("label", classes(range(10)))]
    return document(about, [label("label", None)], columns)


def hiva() -> str:
    about = [
        (
            "HIVA training set (WCCI 2006 performance prediction challenge): 1,617 binary molecule features. "
            "Fits the file as it lies."
        ),
        "Label 1 = active against HIV, -1 = inactive.",
    ]
    return document(
        about, [label("label", 1)], [*((f"x{i}", BINARY) for i in range(1, 1618)), ("label", classes((-1, 1)))]
    )


def digits() -> str:
    about = [
        "scikit-learn: digits (UCI Optical Recognition of Handwritten Digits), 8 x 8 images. Bounds: documented, 0..16."
    ]
    pixels = [
        (f"pixel_{i}_{j}", "{kind: integer, lower: 0, upper: 16, dtype: double}") for i in range(8) for j in range(8)
    ]
    return document(about, [label("target", None)], [*pixels, ("target", classes(range(10), "int64"))])


def breast_cancer() -> str:
    uppers = {
        "radius": (40, 4, 50),
        "texture": (50, 6, 60),
        "perimeter": (300, 30, 400),
        "area": (3000, 600, 6000),
        "smoothness": (0.25, 0.05, 0.3),
        "compactness": (0.5, 0.2, 1.5),
        "concavity": (0.6, 0.5, 1.5),
        "concave points": (0.3, 0.1, 0.4),
        "symmetry": (0.4, 0.1, 0.8),
        "fractal dimension": (0.15, 0.05, 0.3),
    }
    names = [*(f"mean {n}" for n in uppers), *(f"{n} error" for n in uppers), *(f"worst {n}" for n in uppers)]
    limits = [bounds[place] for place in range(3) for bounds in uppers.values()]
    about = [
        (
            "scikit-learn: breast cancer (UCI Breast Cancer Wisconsin, Diagnostic), 569 rows. Label: 0 = "
            "malignant, 1 = benign; positive here is malignant."
        ),
        "All measurements are non-negative; upper bounds are read off the public table and rounded up.",
    ]
    columns = [
        (name, f"{{kind: continuous, lower: 0, upper: {upper}, dtype: double}}")
        for name, upper in zip(names, limits, strict=True)
    ]
    return document(about, [label("target", 0)], [*columns, ("target", classes((0, 1), "int64"))])


def mimic(codes: Iterable[str]) -> str:
    about = [
        (
            "PhysioNet: MIMIC-III Clinical Database Demo 1.4: one row per hospital admission, one binary "
            "column per ICD-9 code (present or not)."
        ),
        "ICD-9 is a public code book; which 581 of its codes make up the columns was read off the public demo table.",
        "No label (the papers' unsupervised task). The unit of privacy is the patient: 100 patients, 129 admissions.",
    ]
    columns = [("SUBJECT_ID", "{kind: identifier, dtype: int32}"), *((f"icd9_{code}", BINARY) for code in codes)]
    return document(about, ["unit: {column: SUBJECT_ID, max_rows: 5}"], columns)


def texts() -> dict[str, str]:
    """File name -> text, for every file that needs no data."""
    return {
        "credit_card_fraud.yaml": credit(),
        "epileptic_seizure.yaml": epileptic("derived"),
        "epileptic_seizure_5.yaml": epileptic("five"),
        "epileptic_seizure_raw_binary.yaml": epileptic("raw binary"),
        "isolet.yaml": isolet(False),
        "isolet_vowels.yaml": isolet(True),
        "mitbih.yaml": mitbih(True),
        "mitbih_5.yaml": mitbih(False),
        "mnist.yaml": images("MNIST"),
        "fashion_mnist.yaml": images("Fashion-MNIST"),
        "hiva.yaml": hiva(),
        "digits.yaml": digits(),
        "breast_cancer.yaml": breast_cancer(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with mimic3_demo_diagnoses.parquet")
    data = parser.parse_args().data
    files = texts()
    if data is not None:
        import pandas as pd

        codes = sorted(
            pd.read_parquet(data / "mimic3_demo_diagnoses.parquet", columns=["ICD9_CODE"])["ICD9_CODE"].unique()
        )
        files["mimic3_demo.yaml"] = mimic(codes)
    for name, text in files.items():
        (SCHEMAS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
