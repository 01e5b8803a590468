"""Data dictionaries become drafts: what they state is used, what they do not state is estimated or open, the rest refused."""

import json
from typing import Any

import pytest

from understudy.errors import UsageError
from understudy.schema import Schema, import_dictionary
from understudy.schema.dictionaries import recognised
from understudy.schema.sdv import from_sdv
from understudy.schema.text import parse_yaml


def text_of(tmp_path, content: Any, **arguments: Any) -> str:
    (tmp_path / "dictionary.json").write_text(json.dumps(content))
    return import_dictionary(tmp_path / "dictionary.json", **arguments)


def imported(tmp_path, content: Any, **arguments: Any) -> Schema:
    return Schema.from_dict(parse_yaml(text_of(tmp_path, content, **arguments)))


# -- SDV ---------------------------------------------------------------------------------------------------------------
SINGLE = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "key",
    "columns": {
        "key": {"sdtype": "id", "regex_format": "[0-9]{4}"},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
        "bmi": {"sdtype": "numerical", "computer_representation": "Float"},
        "town": {"sdtype": "categorical"},
        "size": {"sdtype": "categorical", "order": ["S", "M", "L"]},
        "ill": {"sdtype": "boolean"},
        "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "mail": {"sdtype": "email", "pii": True},
        "who": {"sdtype": "name"},
        "state": {"sdtype": "state", "pii": False},
    },
}


@pytest.mark.parametrize(
    "metadata",
    [
        SINGLE,
        {"METADATA_SPEC_VERSION": "V1", "tables": {"t": SINGLE}, "relationships": []},
        {"METADATA_SPEC_VERSION": "MULTI_TABLE_V1", "tables": {"t": SINGLE}},
    ],
    ids=["single", "V1", "multi"],
)
def test_sdv_metadata_become_a_schema(tmp_path, metadata):
    schema = imported(tmp_path, metadata)
    assert {c.name: c.kind for c in schema.columns} == {
        "key": "identifier", "age": "integer", "bmi": "continuous", "town": "categorical", "size": "ordinal",
        "ill": "boolean", "seen": "datetime", "mail": "identifier", "who": "identifier", "state": "categorical",
    }  # fmt: skip
    assert set(schema.estimates) == {"age", "bmi", "town", "seen", "state"}
    assert schema.column("size").categories == ("S", "M", "L")
    assert schema.column("age").dtype == "int64"
    assert Schema.from_dict(schema.to_dict()) == schema


def test_sdv_with_several_tables_needs_a_choice():
    metadata = {"tables": {"a": SINGLE, "b": SINGLE}}
    with pytest.raises(UsageError, match="'a', 'b'"):
        from_sdv(metadata)
    assert from_sdv(metadata, "b") == from_sdv(SINGLE)
    with pytest.raises(UsageError, match="no table 'c'"):
        from_sdv(metadata, "c")


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ([], "not SDV metadata"),
        ({}, "no columns"),
        ({"tables": {}}, "no tables"),
        ({"tables": {"t": 3}}, "'t'"),
        ({"columns": {"c": {"sdtype": "hologram"}}}, "'c'.*'hologram'"),
        ({"columns": {"c": {"sdtype": "text"}}}, "'c'.*free text"),
        ({"columns": {"c": {}}}, "'c'.*no sdtype"),
        ({"columns": {"c": {"sdtype": "numerical", "computer_representation": "Huge"}}}, "'c'"),
    ],
)
def test_sdv_metadata_that_cannot_be_placed_are_refused_by_name(metadata, words):
    with pytest.raises(UsageError, match=words):
        from_sdv(metadata)


def test_many_sdv_numbers_share_their_estimate(tmp_path):
    metadata = {"columns": {f"x{i}": {"sdtype": "numerical"} for i in range(20)}}
    assert len(imported(tmp_path, metadata).estimates) == 1


def test_what_sdv_does_not_know_is_open(tmp_path):
    (tmp_path / "d.json").write_text(json.dumps({"columns": {"c": {"sdtype": "unknown"}, "d": {"sdtype": "boolean"}}}))
    entries = parse_yaml(import_dictionary(tmp_path / "d.json"))["columns"]
    assert entries["c"] == {"kind": "?"}


# -- Frictionless --------------------------------------------------------------------------------------------------------
FIELDS = [
    {"name": "key", "type": "integer"},
    {"name": "age", "type": "integer", "title": "Age in\nyears", "constraints": {"minimum": 0, "maximum": "120"}},
    {"name": "bmi", "type": "number", "constraints": {"minimum": 5.5, "maximum": 90, "required": True}},
    {"name": "weight", "type": "number", "constraints": {"minimum": 0}},
    {"name": "born", "type": "year"},
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
    {"name": "stage", "type": "integer", "constraints": {"enum": [1, "2", 3]}},
    {"name": "size", "type": "string", "categories": [{"value": "S"}, {"value": "L"}], "categoriesOrdered": True},
    {"name": "town", "type": "string"},
    {"name": "mail", "type": "string", "format": "email"},
    {"name": "badge", "type": "string", "constraints": {"unique": True}},
    {"name": "ill", "type": "boolean"},
    {"name": "alive", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
    {"name": "seen", "type": "date", "constraints": {"minimum": "2010-01-01", "maximum": "2020-12-31"}},
    {"name": "left", "type": "datetime"},
]
PACKAGE = {"fields": FIELDS, "primaryKey": "key", "missingValues": ["", "-99", "NA"]}


@pytest.mark.parametrize(
    "content",
    [PACKAGE, {"name": "t", "schema": PACKAGE}, {"name": "p", "resources": [{"name": "t", "schema": PACKAGE}]}],
    ids=["table schema", "resource", "package"],
)
def test_a_frictionless_schema_becomes_a_schema(tmp_path, content):
    assert recognised(content) == "frictionless"
    text = text_of(tmp_path, content)
    schema = Schema.from_dict(parse_yaml(text))
    assert {c.name: c.kind for c in schema.columns} == {
        "key": "identifier", "age": "integer", "bmi": "continuous", "weight": "continuous", "born": "integer",
        "sex": "categorical", "stage": "categorical", "size": "ordinal", "town": "categorical", "mail": "identifier",
        "badge": "identifier", "ill": "boolean", "alive": "categorical", "seen": "datetime", "left": "datetime",
    }  # fmt: skip
    assert schema.column("age").bounds == (0, 120) and schema.column("bmi").bounds == (5.5, 90)
    assert schema.column("sex").categories == ("f", "m") and schema.column("stage").categories == (1, 2, 3)
    assert schema.column("size").categories == ("S", "L") and schema.column("alive").categories == ("nein", "ja")
    assert (schema.column("seen").lower, schema.column("seen").upper) == ("2010-01-01", "2020-12-31")
    assert set(schema.estimates) == {"weight", "born", "town", "left"}
    assert {c.name for c in schema.columns if not c.missing} == {"key", "bmi", "sex", "mail", "badge"}
    assert "# Age in years" in text and "minimum only" in text and "'-99'" in text


def test_frictionless_fields_that_say_too_little_are_open_or_left_out(tmp_path):
    fields = [
        {"name": "a"},
        {"name": "b", "type": "any"},
        {"name": "c", "type": "date", "format": "%d/%m/%Y"},
        {"name": "d", "type": "number", "decimalChar": ","},
        {"name": "e", "type": "geopoint"},
        {"name": "f", "type": "boolean"},
    ]
    text = text_of(tmp_path, {"fields": fields})
    entries = parse_yaml(text)["columns"]
    assert entries == {name: {"kind": "?"} for name in "abcd"} | {"f": {"kind": "boolean", "missing": True}}
    assert "e: left out" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "not a Frictionless schema"),
        ({"fields": []}, "no fields"),
        ({"fields": [{"type": "string"}]}, "without a name"),
        ({"fields": [{"name": "a"}, {"name": "a"}]}, "'a' appears twice"),
        ({"fields": [{"name": "a", "type": "integer", "constraints": {"enum": ["x"]}}]}, "'a'.*no numbers"),
        ({"fields": [{"name": "a", "type": "string", "constraints": {"enum": [[]]}}]}, "'a'.*single values"),
        (
            {"fields": [{"name": "a", "type": "number", "constraints": {"minimum": "x", "maximum": 1}}]},
            "'a'.*no number",
        ),
        ({"fields": [{"name": "a", "type": "integer", "constraints": {"minimum": 2, "maximum": 1}}]}, "'a'.*below"),
        ({"resources": []}, "no resource"),
        ({"resources": [{"name": "s", "schema": PACKAGE}, {"name": "t", "schema": PACKAGE}]}, "'s', 't'"),
    ],
)
def test_a_frictionless_schema_that_cannot_be_placed_is_refused(tmp_path, content, words):
    with pytest.raises(UsageError, match=words):
        text_of(tmp_path, content, format="frictionless")


def test_a_package_of_several_tables_needs_a_choice(tmp_path):
    content = {"resources": [{"name": "s", "schema": {"fields": FIELDS[1:2]}}, {"name": "t", "schema": PACKAGE}]}
    assert imported(tmp_path, content, table="s").names == ("age",)
    with pytest.raises(UsageError, match="no table 'u'"):
        text_of(tmp_path, content, table="u")


# -- NIST ----------------------------------------------------------------------------------------------------------------
NIST_SCHEMA = {
    "schema": {
        "AREA": {"dtype": "object", "values": ["01-002", "01-003"]},
        "YEARS": {"dtype": "int64", "min": 0, "max": 94},
        "SEX": {"dtype": "int32", "values": [1, 2]},
        "STATUS": {"has_null": True, "null_value": "N", "dtype": "object", "values": ["N", "1", "2"]},
        "KIDS": {"has_null": True, "null_value": "N", "dtype": "object", "values": ["0", "1"]},
        "DENSE": {"dtype": "float64", "min": 14, "max": 36},
        "INCOME": {"has_null": True, "null_value": "N", "dtype": "object", "min": -4600, "max": 1341000},
        "WEIGHT": {"dtype": "int64"},
    }
}
NIST_DICTIONARY = {
    "AREA": {"description": "Code of an area", "values": {"01-002": "Here", "01-003": "There"}},
    "YEARS": {"description": "Age", "values": {"min": 0, "max": 99}},
    "SEX": {"description": "Sex", "values": {"1": "Male", "2": "Female"}},
    "STATUS": {"description": "Marital status", "values": {"N": "N/A", "1": "Married", "2": "Single"}},
    "KIDS": {"description": "Children", "values": {"N": "N/A", "0": "None", "min": 1, "max": 19}},
    "DENSE": {"description": "Density", "values": {"min": 16.3, "max": 52.7}},
    "INCOME": {"description": "Income", "values": {"N": "N/A", "min": -9000, "max": 1341000}},
}


def test_a_nist_schema_becomes_a_schema(tmp_path):
    assert recognised(NIST_SCHEMA) == "nist"
    text = text_of(tmp_path, NIST_SCHEMA)
    schema = Schema.from_dict(parse_yaml(text))
    assert {c.name: c.kind for c in schema.columns} == {
        "AREA": "categorical", "YEARS": "integer", "SEX": "categorical", "STATUS": "categorical", "KIDS": "categorical",
        "DENSE": "continuous", "INCOME": "integer", "WEIGHT": "integer",
    }  # fmt: skip
    assert schema.column("YEARS").bounds == (0, 94) and schema.column("DENSE").bounds == (14, 37)
    assert schema.column("SEX").categories == (1, 2) and schema.column("STATUS").categories == ("N", "1", "2")
    assert {c.name for c in schema.columns if c.missing} == {"KIDS"} and schema.column("INCOME").codes == ("N",)
    assert set(schema.estimates) == {"WEIGHT"}
    assert "codes: [N]" in text
    assert "cuts decimals off its bounds, 14 and 36" in text and text.count("cuts decimals") == 1


@pytest.mark.parametrize(
    ("dtype", "low", "high", "bounds"),
    [
        ("float64", -4, -2, (-5, -2)),
        ("float32", 0, 0, (0, 1)),
        ("float64", 14.5, 36.0, (14.5, 36)),
        ("int64", 1, 9, (1, 9)),
    ],
)
def test_whole_bounds_of_floats_are_moved_out_as_far_as_they_may_have_been_cut(tmp_path, dtype, low, high, bounds):
    text = text_of(tmp_path, {"schema": {"X": {"dtype": dtype, "min": low, "max": high}}}, format="nist")
    assert Schema.from_dict(parse_yaml(text)).column("X").bounds == bounds


def test_a_nist_dictionary_becomes_a_schema(tmp_path):
    assert recognised(NIST_DICTIONARY) == "nist"
    text = text_of(tmp_path, NIST_DICTIONARY)
    schema = Schema.from_dict(parse_yaml(text))
    assert schema.resolved
    assert schema.column("KIDS").bounds == (0, 19) and schema.column("KIDS").codes == ("N",)
    assert schema.column("SEX").categories == (1, 2) and schema.column("AREA").categories == ("01-002", "01-003")
    assert schema.column("DENSE").kind == "continuous" and schema.column("INCOME").codes == ("N",)
    assert "# Marital status" in text and text.count("codes: [N]") == 2
    entries = parse_yaml(text_of(tmp_path, NIST_DICTIONARY | {"INDUSTRY": {"description": "Codes", "link": "x"}}))
    assert entries["columns"]["INDUSTRY"] == {"kind": "?"}


# -- all of them ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("content", [[], {}, 3, {"a": 1}, {"schema": {}}, {"schema": {"a": {"b": 1}}}])
def test_what_is_no_dictionary_is_refused(tmp_path, content):
    with pytest.raises(UsageError, match=r"not recognised; the formats are sdv, frictionless, nist"):
        text_of(tmp_path, content)
    with pytest.raises(UsageError, match="not a dictionary of NIST"):
        text_of(tmp_path, content, format="nist")


def test_a_format_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(UsageError, match="unknown format 'csvw'; the formats are"):
        text_of(tmp_path, PACKAGE, format="csvw")
    with pytest.raises(UsageError, match="one table"):
        text_of(tmp_path, NIST_SCHEMA, table="t")
