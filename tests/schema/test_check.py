"""Checks name columns and causes, never values."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from understudy.errors import UsageError
from understudy.schema import Codec, Column, Schema, check, open_table

CHECKED = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=100),
        Column(name="town", kind="categorical", categories=("a", "b")),
        Column(name="day", kind="datetime", lower="2010-01-01", upper="2011-01-01", missing=True),
        Column(name="low", kind="continuous", lower=0.1, upper=1, dtype="float"),
        Column(name="ill", kind="boolean"),
    )
)
FITS = pd.DataFrame(
    {
        "age": [1, 2],
        "town": ["a", "b"],
        "day": pd.to_datetime(["2010-06-01", None]),
        "low": np.float32([0.1, 1]),
        "ill": [True, False],
    }
)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("age", [1, 777], "outside lower and upper"),
        ("age", [1, None], "missing"),
        ("age", [1, 2.5], "not whole"),
        ("age", ["1", "q777"], "numbers"),
        ("age", [1.0, np.inf], "infinite"),
        ("town", ["a", "q777"], "not among its categories"),
        ("town", ["a", "q777"], "they count as the first category"),
        ("ill", ["yes", "q777"], "they count as false (say `kind: categorical`"),
        ("age", ["1", "q777"], "say `codes: "),
        ("town", ["a", None], "missing"),
        ("day", ["2010-06-01", "q777"], "ISO dates"),
        ("day", ["2010-06-01", "1777-01-01"], "outside"),
    ],
)
def test_check_names_the_column_and_the_cause_but_no_value(column, values, words):
    assert check(FITS, CHECKED) == []
    frame = FITS.assign(**{column: pd.Series(values, dtype=object)})
    found = check(frame, CHECKED)
    assert len(found) == 1
    assert found[0].startswith(f"column {column!r}: ")
    assert words in found[0]
    assert "777" not in found[0]


def test_check_sees_other_columns_and_in_strict_mode_order_and_types():
    assert check(FITS.assign(more=1), CHECKED) == ["column 'more': not in the schema; it will be ignored"]
    with pytest.raises(UsageError, match="'town'"):
        check(FITS.drop(columns="town"), CHECKED)
    exact = Codec(CHECKED).decode(np.full((2, 6), 0.25, np.float32), np.zeros(2, np.int32))
    assert check(exact, CHECKED, strict=True) == []
    assert "order" in check(exact[exact.columns[::-1]], CHECKED, strict=True)[0]
    assert check(exact.astype({"age": "int8"}), CHECKED, strict=True) == ["column 'age': its type is not int64"]
    assert check(exact.astype({"low": "float64"}), CHECKED, strict=True) == ["column 'low': its type is not float"]


UNITS = Schema(
    columns=(Column(name="x", kind="integer", lower=0, upper=9), Column(name="who", kind="identifier")),
    unit="who",
    max_rows_per_unit=2,
)


@pytest.mark.parametrize("counted", [1 << 23, 7, 1])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "a frame"])
def test_units_are_counted_over_blocks_and_passes(tmp_path, monkeypatch, counted, name):
    """Rows of a unit far apart, cells that name nobody, and no whole table anywhere."""
    checking = sys.modules["understudy.schema.check"]
    monkeypatch.setattr(checking, "COUNTED", counted)
    monkeypatch.setattr(checking, "as_frame", lambda *_: pytest.fail("the whole table was read"))
    opened = checking.open_table
    monkeypatch.setattr(checking, "open_table", lambda *args, **more: opened(*args, **more, block=3))
    ids = ["p7", *(f"p{i}" for i in range(10)), *[None] * 5, "p3", "p9"]
    for surplus in (False, True):
        frame = pd.DataFrame({"x": 1, "who": [*ids, *["p7"] * surplus]})
        if name == "t.csv":
            frame.to_csv(tmp_path / name, index=False)
        elif name == "t.parquet":
            frame.to_parquet(tmp_path / name, row_group_size=4)
        found = check(frame if name == "a frame" else tmp_path / name, UNITS)
        assert found[0] == "column 'who': some rows name no unit; they are left out"
        assert len(found) == 1 + surplus
        assert all(line.startswith("column 'who': some unit has more than 2 rows") for line in found[1:])
        assert all("p7" not in line and "3" not in line for line in found)


def test_missing_cells_are_told_with_what_they_become_and_a_label_is_not_told_to_be_missing():
    schema = Schema(
        columns=(
            Column(name="n", kind="integer", lower=0, upper=9),
            Column(name="b", kind="boolean"),
            Column(name="c", kind="categorical", categories=("a", "z"), other=True),
            Column(name="y", kind="categorical", categories=("no", "yes")),
        ),
        label="y",
    )
    frame = pd.DataFrame({name: [None] for name in schema.names}, dtype=object)
    *found, hint = check(frame, schema)
    assert "classes do not occur" in hint
    ends = ["as the middle of the bounds", "as false", "as the category 'other'", "as the first category"]
    assert all(line.endswith(end) for line, end in zip(found, ends, strict=True))
    assert ["`missing: true`" in line for line in found] == [
        True,
        True,
        True,
        False,
    ]  # refused by the schema of a label
    codec = Codec(schema)
    again = codec.decode(*codec.encode_rows(next(iter(open_table(frame, schema).blocks()))))
    assert again.iloc[0].tolist()[1:] == [False, "other", "no"] and again["n"][0] in (4, 5)


@pytest.mark.parametrize(("rows", "words"), [(200, "fewer rows"), (50, "more rows"), (100, ""), (101, ""), (None, "")])
def test_a_public_number_of_rows_that_is_wrong_is_told(rows, words):
    """Without a label or a unit nobody counts the rows: what is declared is believed."""
    frame, schema = (
        pd.DataFrame({"age": range(100)}),
        Schema(columns=[Column(name="age", kind="integer", lower=0, upper=99)]),
    )
    found = check(frame, replace(schema, rows=rows))
    assert [words in line for line in found] == ([True] if words else [])


def test_a_table_of_a_header_alone_is_said_to_hold_no_rows(tmp_path):
    (tmp_path / "t.csv").write_text("age,town,day,low,ill\n")
    assert check(tmp_path / "t.csv", replace(CHECKED, label="ill")) == ["the table holds no rows, only a header"]


def test_a_misspelt_column_and_another_separator_are_told_apart(tmp_path):
    (tmp_path / "t.csv").write_text("agee,town,day,low,ill\n")
    with pytest.raises(
        UsageError, match="column 'age' of the schema is not in the table; column 1 of the table is called nearly so"
    ):
        check(tmp_path / "t.csv", CHECKED)
    (tmp_path / "t.csv").write_text("agee,Berlin,day,low,ill\n")  # may be a row that has words of the schema in it
    with pytest.raises(UsageError, match=r"column 'age' \(and 1 more\) of the schema is not in the table$"):
        check(tmp_path / "t.csv", CHECKED)
    (tmp_path / "t.csv").write_text("age#town#day#low#ill\n")
    with pytest.raises(UsageError, match="has one column only: is there a header line, and a comma, a semicolon"):
        check(tmp_path / "t.csv", CHECKED)
