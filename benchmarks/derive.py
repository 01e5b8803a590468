"""From a source table to the benchmark task: labels and columns the papers derive before they fit anything.

Each function takes the table as the source publishes it (the columns the public file has) and returns a new frame.
Which column is the label, and every bound, is in the schema file beside it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

VOWELS = (1, 5, 9, 15, 21)  # A, E, I, O, U
ICD_PREFIX = "icd9_"


def as_published(frame: pd.DataFrame) -> pd.DataFrame:
    """The file as it lies; the schema decides which columns are used."""
    return frame


def isolet_vowels(frame: pd.DataFrame) -> pd.DataFrame:
    """Vowel against consonant: 1,500 of 7,797 letters (PATE-GAN, data description)."""
    return _replace_label(frame, "class", "vowel", frame["class"].isin(VOWELS))


def seizure(frame: pd.DataFrame) -> pd.DataFrame:
    """Seizure (class 1) against the four other kinds of recording (PATE-GAN, data description)."""
    return _replace_label(frame, "y", "seizure", frame["y"] == 1)


def abnormal_beat(frame: pd.DataFrame) -> pd.DataFrame:
    """Normal beats (class 0) against all others (RDP-CGAN, Section 5.2)."""
    return _replace_label(frame, "class", "abnormal", frame["class"] != 0)


def admissions_by_code(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per admission, one 0/1 column per ICD-9 code (RDP-CGAN, Section 5.4, on the open demo instead of
    full MIMIC-III).
    """
    present = pd.crosstab(frame["HADM_ID"], frame["ICD9_CODE"]).clip(upper=1).astype(np.int8)
    present.columns = [f"{ICD_PREFIX}{code}" for code in present.columns]
    patient = frame.groupby("HADM_ID")["SUBJECT_ID"].first()
    return pd.concat([patient, present], axis=1).reset_index(drop=True)


def _replace_label(frame: pd.DataFrame, old: str, new: str, positive: pd.Series) -> pd.DataFrame:
    derived = frame.drop(columns=old)
    return pd.concat([derived, positive.astype(np.int8).rename(new)], axis=1)
