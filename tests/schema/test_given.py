"""Rows to be completed: cells are read by the schema as in a fit, and what ends says the way out."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import UsageError
from understudy.schema import Codec, Schema
from understudy.schema.given import given_rows, with_identifiers
from understudy.schema.given_ids import with_types

DOCUMENT = {
    "understudy": "schema",
    "columns": {
        "id": {"kind": "identifier"},
        "town": {"kind": "categorical", "categories": ["Ulm", "Bonn"], "other": True},
        "code": {"kind": "categorical", "categories": ["007", "010"]},
        "weight": {"kind": "continuous", "lower": 30, "upper": 120},
    },
}
SCHEMA = Schema.from_dict(DOCUMENT)


def read(source, schema=SCHEMA):
    return next(iter(given_rows(source, schema)))


def csv(tmp_path, text):
    (tmp_path / "part.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / "part.csv"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("id\n7\n12\n", [7, 12]),
        ("id,town\n7,Ulm\n,Bonn\n", [7, None]),
        ("id\n007\n12\n", ["007", "12"]),
        ("id\n7\nP-3\n", ["7", "P-3"]),
        ("id\n7\n99999999999999999999\n", ["7", "99999999999999999999"]),
    ],
)
def test_identifiers_stay_as_they_are_written(text, kept, tmp_path):
    assert read(csv(tmp_path, text)).identifiers["id"].to_pylist() == kept


def test_a_table_with_text_identifiers_gets_text_back(tmp_path):
    for ids, kept in ((["7", "8"], ["7", "8"]), ([7, 8], [7, 8])):
        frame = pd.DataFrame({"id": ids})
        assert read(frame).identifiers["id"].to_pylist() == kept
        pq.write_table(pa.table({"id": ids}), tmp_path / "part.parquet")
        assert read(tmp_path / "part.parquet").identifiers["id"].to_pylist() == kept


def test_drawn_rows_take_given_identifiers_in_their_type():
    table = with_identifiers(pa.table({"x": [1.0, 2.0], "id": [1, 2]}), {"id": pa.array(["007", None])})
    assert table["id"].to_pylist() == ["007", "2"]
    codec = with_types(Codec(SCHEMA), table.select(["id"]).schema)
    assert codec.schema.column("id").dtype == "string"


def test_a_stated_type_of_identifiers_is_kept_or_named(tmp_path):
    own = Schema.from_dict(
        DOCUMENT | {"columns": DOCUMENT["columns"] | {"id": {"kind": "identifier", "dtype": "int32"}}}
    )
    assert read(csv(tmp_path, "id\n7\n8\n"), own).identifiers["id"].type == pa.int32()
    with pytest.raises(UsageError, match=r"row 2, column 'id': the identifier is not of the type int32.*dtype: string"):
        read(csv(tmp_path, "id\n7\nP-3\n"), own)


def test_values_that_are_not_listed_are_other_where_the_schema_has_it(tmp_path):
    found = read(csv(tmp_path, "town\nUlm\nXanten\nother\nBonn\n"))
    assert found.columns[0].values.tolist() == [0.0, 2.0, 2.0, 1.0]
    assert read(pd.DataFrame({"town": ["Xanten", None]})).columns[0].known.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code\n007\n7\n", r"row 2, column 'code'.*\(007, 010\); write one of these, or leave the cell empty"),
        ('weight\n"71,5"\n', r"row 1, column 'weight'.*write 3\.14 and not 3,14"),
        ("weight\nheavy\n", "cannot be read as continuous; write one, or leave the cell empty"),
        ("weight\n500\n", r"lies outside lower and upper \(30 to 120\)"),
        ("code,weight\n007,70\n007,71,5\n", "row 2 has not as many cells"),
        ("town,code\nUlm,007\n\nK\xf6ln,007\n".encode("latin-1"), "row 2 has not .* UTF-8"),
    ],
)
def test_what_is_wrong_says_the_way_out(text, words, tmp_path):
    with pytest.raises(UsageError, match=words):
        read(csv(tmp_path, text))


def test_a_point_where_the_schema_has_a_comma(tmp_path):
    comma = Schema.from_dict(DOCUMENT | {"decimal": ","})
    assert read(csv(tmp_path, "weight;id\n71,5;1\n"), comma).columns[0].values.tolist() == [71.5]
    with pytest.raises(UsageError, match=r"so write 3,14 and not 3\.14"):
        read(csv(tmp_path, "weight;id\n71.5;1\n"), comma)


def test_numbers_of_a_frame_have_lost_their_zeros():
    with pytest.raises(UsageError, match="leading zeros are gone: pass the file, or read it with dtype=str"):
        read(pd.DataFrame({"code": [7, 10]}))
    assert read(pd.DataFrame({"code": ["007", "010"]})).columns[0].values.tolist() == [0.0, 1.0]


def test_a_column_that_stands_twice_is_refused_by_name():
    schema = Schema.from_dict(
        {
            "understudy": "schema",
            "columns": {"w": {"kind": "integer", "lower": 0, "upper": 9}, "f": {"kind": "boolean"}},
        }
    )
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["w", "w"])
    for twice in (frame, pa.table([pa.array([1]), pa.array([2])], names=["w", "w"])):
        with pytest.raises(UsageError, match="'w' appears twice"):
            list(given_rows(twice, schema))
