"""The definition of reading, by example: one line for each sentence of `docs/schema.md` on cells."""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from understudy.errors import UsageError
from understudy.schema import Column, Schema
from understudy.schema.cells import UNREADABLE, identity, image, key, missing, moment, number

NOTHING = [
    None,
    pd.NA,
    pd.NaT,
    math.nan,
    np.float32("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
]
FOREIGN = [
    b"7",
    [7],
    (7,),
    {},
    np.array([7, 8]),
    np.array(7),
    object(),
    1j,
    type,
    pd.Timedelta(7),
    np.timedelta64(7, "s"),
]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (7, 7.0), (True, 1.0), (np.int8(7), 7.0), (np.True_, 1.0), (np.float16(0.5), 0.5), (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25), ("7", 7.0), (" 7\t", 7.0), ("+.5e-1", 0.05), ("5.", 5.0), ("1E3", 1000.0),
        ("inf", math.inf), ("-Infinity", -math.inf), ("1e400", math.inf), ("9" * 400, math.inf), (10**400, math.inf),
        (-(10**400), -math.inf), (Decimal("1e400"), math.inf), (Fraction(-(10**400)), -math.inf), (2**53 + 1, 2.0**53),
    ],
)  # fmt: skip
def test_numbers(cell, value):
    assert number(cell) == value


@pytest.mark.parametrize(
    "cell", [*NOTHING, *FOREIGN, "0x10", "1_0", "", "x", "1,5", "٣", "nan", "1 2", dt.date(1, 1, 1)]
)
def test_what_is_no_number(cell):
    assert math.isnan(number(cell))


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("1970-01-02", 86400.0), (" 1970-01-02 ", 86400.0), ("1970-01-02T00:00:01", 86401.0), ("1970-01-02 01", 90000.0),
        ("1970-01-02T01:00+01:00", 86400.0), ("1970-01-02T00:00:00.5Z", 86400.5), ("1970-01-01T19:00-0500", 86400.0),
        (dt.date(1970, 1, 2), 86400.0), (dt.datetime(1970, 1, 2, 0, 0, 0, 500_000), 86400.5),
        (dt.datetime(1970, 1, 2, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), 86400.0),
        (pd.Timestamp("1970-01-02T01:00+01:00"), 86400.0), (np.datetime64("1970-01-02"), 86400.0),
        (np.datetime64("1970-02"), 31 * 86400.0), (np.datetime64("1971"), 365 * 86400.0),
        ("0001-01-01", -62135596800.0), ("9999-12-31", 253402214400.0), (pd.Timestamp("9999-12-31"), 253402214400.0),
    ],
)  # fmt: skip
def test_moments(cell, seconds):
    assert moment(cell) == seconds


@pytest.mark.parametrize(
    "cell",
    [
        *NOTHING, *FOREIGN, 2015, 1e9, True, "2015", "20150601", "2015-6-1", "2015-02-30", "2015-06-01T24:00", "06/01/2015",
        "2015-06-01T10:61", "2015-06-01+25:00", "0000-01-01", "0001-01-01T00:00+01:00", np.datetime64(2**60, "Y"),
        np.datetime64(2**62, "s"), "2015-06-01T10:00+24:00",
    ],
)  # fmt: skip
def test_what_is_no_moment(cell):
    assert math.isnan(moment(cell))


def test_keys_of_text():
    assert [key(cell, "string") for cell in ("a", " a ", "", "007", 7.0, 7, True, 0.5, np.float32(0.1))] == [
        "a", " a ", "", "007", "7", "7", "True", "0.5", "0.1",
    ]  # fmt: skip
    assert {key(cell, "string") for cell in (*FOREIGN, "\ud800", 10**400)} == {UNREADABLE}


@pytest.mark.parametrize("family", ["integer", "float"])
def test_keys_of_numbers(family):
    assert {key(c, family) for c in (7, 7.0, "7", " 7 ", "7.0", "07", "7e0", np.int8(7), Decimal("7.0"))} == {"7"}
    assert [key(c, family) for c in (True, -0.0, 0.5, "0.50", 2**60 + 1, str(2**60 + 1), math.inf)] == [
        "1", "0", "0.5", "0.5", str(2**60 + 1), str(2**60 + 1), "inf",
    ]  # fmt: skip
    assert {key(cell, family) for cell in (*FOREIGN, "x", "", "1_0", dt.date(2015, 1, 1))} == {UNREADABLE}


def test_keys_of_truth_values():
    for word in ("true", "TRUE", "t", "Yes", "Y", "1", " 1.0 ", 1, 1.0, True, np.True_, Decimal(1)):
        assert key(word, "boolean") == "true"
        assert (
            key({"true": "False", "TRUE": "FALSE", "t": "f", "Yes": "No", "Y": "n"}.get(word, 0), "boolean") == "false"
        )
    assert {key(cell, "boolean") for cell in (*FOREIGN, "maybe", "", "j", 2, -1, 0.5)} == {UNREADABLE}


@pytest.mark.parametrize("family", ["string", "integer", "float", "boolean"])
def test_what_is_missing_has_no_key(family):
    assert all(missing(cell) and key(cell, family) is None for cell in NOTHING)
    assert not any(missing(cell) for cell in (*FOREIGN, "", "NA", 0, False))


def test_identities():
    assert identity("7") == identity(7) == identity(" 7 ") == identity(np.int64(7)) == identity(Decimal(7)) == "7"
    assert identity("07") == "07" and identity("7.0") == "7.0" and identity("A b") == "A b"
    assert identity(2**60 + 1) == str(2**60 + 1) and identity(True) == "true"
    assert identity(dt.date(2015, 6, 1)) == identity(np.datetime64("2015-06-01")) == "2015-06-01"
    assert identity(pd.Timestamp("2015-06-01T01:00+01:00")) == "2015-06-01T00:00:00"
    assert identity(dt.datetime(2015, 6, 1, 0, 0, 0, 500_000)) == "2015-06-01T00:00:00.5"
    assert identity(UUID(int=7)) == "00000000-0000-0000-0000-000000000007"
    for cell in (*NOTHING, *FOREIGN, "", "  ", 7.0, np.float32(7), Decimal("7.5"), Decimal("inf"), 10**400, "\ud800"):
        assert identity(cell) is None


def test_images():
    assert image([0, 300], 2).tolist() == [0.0, 255.0]
    assert image(np.array([[math.nan], [1e300]]), 2).tolist() == [127.5, 255.0]
    for cell in (*NOTHING, [1], [1, 2, 3], ["a", "b"], [[1], [2, 3]], [None, 1], "ab", b"ab", {}):
        assert image(cell, 2) is None


def test_the_key_of_unreadable_cells_is_no_category():
    with pytest.raises(UsageError, match="cannot be read"):
        Column(name="c", kind="categorical", categories=("a", UNREADABLE))
    column = Column(name="c", kind="categorical", estimate="c")
    found = Schema(columns=(column,)).with_estimates({"c": ("a", UNREADABLE)})
    assert found.columns[0].categories == ("a",)
