"""How dates and numbers are written in text: stated in the schema, read cell by cell, and written back the same way."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.schema import Codec, Column, Schema, cells, check, open_writer, read_table, vectors
from understudy.schema.check import remarks

TEXTS = st.lists(st.one_of(st.none(), st.text("0123456789.,-+eE /:x", max_size=12)), max_size=8)
FORMS = ("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d %H:%M", "%d.%m.%Y %H:%M:%S")


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([".", ","]))
@example(["3,5", "1.234,5", "1,2,3", ",5", "5,", "1e3", None, "-0,25"], ",")
def test_numbers_of_a_block_are_those_of_its_cells(texts, decimal):
    wanted = np.array([math.nan if text is None else cells.number(text, decimal) for text in texts], np.float64)
    for block in (pa.array(texts, pa.large_string()), texts, pa.array(texts, pa.string()).dictionary_encode()):
        np.testing.assert_array_equal(vectors.numbers(block, decimal), wanted)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from(FORMS))
@example(["31.12.2020", "31.02.2020", "2020-12-31", "1.1.2020", " 31.12.2020 ", None, "31.12.20"], "%d.%m.%Y")
def test_dates_of_a_block_are_those_of_its_cells(texts, form):
    wanted = np.array([math.nan if text is None else cells.moment(text, form) for text in texts], np.float64)
    for block in (pa.array(texts, pa.large_string()), texts, pa.array(texts, pa.string()).dictionary_encode()):
        np.testing.assert_array_equal(vectors.moments(block, form), wanted)


def test_what_a_form_and_a_comma_mean():
    assert cells.moment("31.12.2020", "%d.%m.%Y") == cells.moment("2020-12-31")
    assert math.isnan(cells.moment("31.02.2020", "%d.%m.%Y"))
    assert cells.moment("12/31/2020", "%m/%d/%Y") == cells.moment("2020-12-31")
    assert cells.number("3,5", ",") == 3.5 and math.isnan(cells.number("3.5", ",")) and math.isnan(cells.number("3,5"))


SCHEMA = Schema.from_dict(
    {
        "understudy": "schema",
        "decimal": ",",
        "label": {"column": "y"},
        "columns": {
            "amount": {"kind": "continuous", "lower": 0, "upper": 100, "decimals": 2},
            "day": {"kind": "datetime", "lower": "2020-01-01", "upper": "2020-12-31", "format": "%d.%m.%Y"},
            "y": {"kind": "categorical", "categories": ["no", "yes"]},
        },
    }
)
LINES = ["amount;day;y", "12,5;31.12.2020;no", '"99,25";01.02.2020;yes']


def table_of(tmp_path, lines):
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def test_semicolons_commas_and_dates_are_read_and_written_back(tmp_path):
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    path = table_of(tmp_path, LINES)
    assert check(path, SCHEMA) == []
    codec = Codec(SCHEMA)
    found = codec.encode(path)
    np.testing.assert_allclose(found.rows[:, 0], [0.125, 0.9925], rtol=1e-6)
    decoded = codec.decode(*found)
    assert decoded["amount"].tolist() == [12.5, 99.25]
    with open_writer(tmp_path / "out.csv", codec) as writer:
        writer.write(codec.decode_arrow(*found))
    written = (tmp_path / "out.csv").read_text().replace('"', "").splitlines()
    assert written == ["amount;day;y", "12,5;31.12.2020;no", "99,25;01.02.2020;yes"]
    again = codec.encode(tmp_path / "out.csv")
    np.testing.assert_array_equal(again.rows, found.rows)
    assert read_table(path, SCHEMA)["day"].tolist() == [pd.Timestamp("2020-12-31"), pd.Timestamp("2020-02-01")]


def test_times_have_a_fraction_where_it_is_not_zero(tmp_path):
    """As they were read, most likely: Arrow writes six zeros behind every second."""
    columns = [Column(name=n, kind="datetime", lower="2019-01-01", upper="2020-01-01", missing=True) for n in "ab"]
    codec = Codec(Schema(columns=(*columns,)))
    times = pd.to_datetime(["2019-03-01 10:00:00", "2019-03-01 10:00:20.5"], format="ISO8601")
    with open_writer(tmp_path / "t.csv", codec) as writer:
        writer.write(pd.DataFrame({"a": times, "b": [times[0], pd.NaT]}))
    written = (tmp_path / "t.csv").read_text().replace('"', "").splitlines()
    assert written == ["a,b", "2019-03-01 10:00:00,2019-03-01 10:00:00", "2019-03-01 10:00:20.500000,"]


@pytest.mark.parametrize("odd", ["1.5;31.12.2020;no", "x;2020-12-31;no", ";;", "1,2,3;32.13.2020;yes", "1;1", '"'])
def test_an_odd_row_changes_no_other(tmp_path, odd):
    codec = Codec(SCHEMA)
    alone = codec.encode(table_of(tmp_path, LINES))
    together = codec.encode(table_of(tmp_path, [*LINES, odd]))
    np.testing.assert_array_equal(together.rows[:-1], alone.rows)


@pytest.mark.parametrize(("header", "mark"), [("a,b", ","), ("a;b", ";"), ("a\tb", "\t"), ("a|b", "|"), ("a;b,c", ",")])
def test_the_separator_is_what_the_header_shows(tmp_path, header, mark):
    from understudy.schema.header import read_header

    assert read_header(table_of(tmp_path, [header, "1;2,3|4;5;6;7"]))[2] == mark


@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_decimals_are_kept_within_the_bounds(decimals):
    column = Column(name="x", kind="continuous", lower=0.123, upper=9.876, decimals=decimals)
    codec = Codec(Schema(columns=(column,)))
    places = np.linspace(0, 1, 500, dtype=np.float32)[:, None]
    values = codec.decode(places, np.zeros(500, np.int32))["x"].to_numpy()
    assert values.min() >= 0.123 and values.max() <= 9.876
    inside = values[(values > 0.123) & (values < 9.876)]
    np.testing.assert_array_equal(inside, np.round(inside, decimals))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "datetime", "bounds": "estimate", "format": "%d.%m"}, "format"),
        ({"kind": "datetime", "bounds": "estimate", "format": "%d.%m.%Y %p"}, "format"),
        ({"kind": "integer", "bounds": "estimate", "format": "%d.%m.%Y"}, "format"),
        ({"kind": "integer", "bounds": "estimate", "decimals": 2}, "decimals"),
        ({"kind": "continuous", "bounds": "estimate", "decimals": 99}, "decimals"),
        ({"kind": "continuous", "bounds": "estimate", "decimals": "two"}, "decimals"),
    ],
)
def test_what_makes_no_sense_is_refused_by_column(entry, words):
    with pytest.raises(UsageError, match=f"column 'x': .*{words}"):
        Schema.from_dict({"columns": {"x": entry}})
    with pytest.raises(UsageError, match="decimal must be"):
        Schema.from_dict({"decimal": ";", "columns": {"x": {"kind": "boolean"}}})


def test_check_hints_at_classes_that_do_not_occur_and_at_how_text_is_written(tmp_path):
    yes = {"columns": {"a": {"kind": "continuous", "lower": 0, "upper": 1}, "y": {"kind": "categorical"}}, "label": "y"}
    yes["columns"]["y"]["categories"] = ["Yes", "No"]
    problems = "\n".join(check(table_of(tmp_path, ["a;y", "0,5;yes", "1;no"]), Schema.from_dict(yes)))
    assert "some of its classes do not occur" in problems and "decimal" in problems
    assert "yes" not in problems.replace("(1 or yes, Yes or yes)", "")


def test_remarks_look_at_the_header_alone(tmp_path):
    schema = Schema.from_dict({"columns": {"a": {"kind": "boolean"}}})
    assert remarks(table_of(tmp_path, ["a,b,c", "x"]), schema) == [
        "column 'b' and 1 more: not in the schema; it will be ignored"
    ]
    with pytest.raises(UsageError, match="not in the table"):
        remarks(table_of(tmp_path, ["b", "1"]), schema)
