"""Schema files: what is accepted, what is refused, and that each refusal names the column and the way out."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.schema import Bounds, Codec, Column, Schema
from understudy.schema.text import parse_yaml, scalar

EXAMPLE = """\
understudy: schema
rows: 20190
label: {column: income, positive: ">50K"}
unit: {column: patient, max_rows: 5}
columns:
  age:        {kind: integer, lower: 0, upper: 120}
  workclass:  {kind: categorical, categories: [Private, State-gov], missing: true, other: true}
  bmi:        {kind: continuous, bounds: estimate}
  x1:         {kind: continuous, bounds: {estimate: signal}}
  x2:         {kind: continuous, bounds: {estimate: signal}}
  city:       {kind: categorical, categories: estimate}
  size:       {kind: ordinal, categories: [small, medium, large]}
  admitted:   {kind: datetime, lower: 2010-01-01, upper: 2020-12-31}
  smoker:     {kind: boolean, dtype: int8}
  income:     {kind: categorical, categories: ["<=50K", ">50K"]}
  patient:    {kind: identifier, dtype: string}
"""


def example() -> Schema:
    return Schema.from_dict(parse_yaml(EXAMPLE))


def refused(document: object, *words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Schema.from_dict(document)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def test_example_reads_as_written():
    schema = example()
    assert schema.names[:2] == ("age", "workclass")
    assert (schema.label, schema.positive, schema.label_kind) == ("income", ">50K", "binary")
    assert (schema.unit, schema.max_rows_per_unit, schema.rows) == ("patient", 5, 20190)
    assert list(schema.estimates) == ["bmi", "signal", "city"]
    assert [c.name for c in schema.estimates["signal"]] == ["x1", "x2"]
    assert not schema.resolved
    assert "patient" not in [c.name for c in schema.features]
    assert "income" not in [c.name for c in schema.features]


@pytest.mark.parametrize("name", ["s.yaml", "s.json", "s.yml"])
def test_save_and_load_give_the_same_schema(tmp_path, name):
    example().save(tmp_path / name)
    again = Schema.load(tmp_path / name)
    assert again == example()
    assert again.fingerprint() == example().fingerprint()


def test_fingerprint_sees_order_and_every_field():
    plain = Schema(columns=(Column(name="a", kind="boolean"), Column(name="b", kind="boolean")))
    swapped = Schema(columns=plain.columns[::-1])
    missing = Schema(columns=(Column(name="a", kind="boolean", missing=True), plain.columns[1]))
    rows = Schema(columns=plain.columns, rows=3)
    assert len({s.fingerprint() for s in (plain, swapped, missing, rows)}) == 4


def test_yaml_keeps_codes_words_dates_and_odd_names():
    document = parse_yaml("a: [no, yes, on, 007, 12:30, 2010-01-01, 1_000, 1e-3, 3, true, ~]\n0: x\n1.50: y\nnull: z")
    assert document["a"] == ["no", "yes", "on", "007", "12:30", "2010-01-01", "1_000", 1e-3, 3, True, None]
    assert list(document) == ["a", "0", "1.50", "null"]


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()))
def test_every_value_survives_the_yaml_writer(value):
    again = parse_yaml(f"k: {scalar(value)}")["k"]
    assert again == value
    assert type(again) is type(value)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True),
    st.lists(st.text(), min_size=1, max_size=5, unique=True),
)
def test_any_names_and_categories_survive_a_file(tmp_path_factory, names, categories):
    schema = Schema(columns=tuple(Column(name=n, kind="categorical", categories=tuple(categories)) for n in names))
    for ending in ("yaml", "json"):
        path = tmp_path_factory.mktemp("schema") / f"s.{ending}"
        schema.save(path)
        assert Schema.load(path) == schema


def test_short_forms_of_label_and_unit():
    document = {
        "label": "y",
        "unit": "p",
        "columns": {"y": {"kind": "boolean"}, "p": {"kind": "identifier"}, "0": {"kind": "boolean"}},
    }
    schema = Schema.from_dict(document)
    assert (schema.label, schema.unit, schema.max_rows_per_unit) == ("y", "p", 1)
    assert schema.positive_value is True


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, ["'c'", "kind"]),
        ({"kind": "txt"}, ["'c'", "unknown kind 'txt'", "categorical"]),
        ({"kind": "text"}, ["'c'", "free text", "leave the column out"]),
        ({"kind": "continuous"}, ["'c'", "lower and upper", "bounds: estimate"]),
        ({"kind": "continuous", "lower": 0}, ["'c'", "lower and upper"]),
        ({"kind": "continuous", "lower": 1, "upper": 1}, ["'c'", "are both"]),
        ({"kind": "continuous", "lower": "a", "upper": 1}, ["'c'", "finite number"]),
        ({"kind": "continuous", "lower": 0, "upper": float("inf")}, ["'c'", "finite number"]),
        ({"kind": "continuous", "lower": -1.6e308, "upper": 1.6e308}, ["'c'", "do not fit"]),
        ({"kind": "continuous", "lower": 0, "upper": 1e-310}, ["'c'", "too close"]),  # values at `lower` became NaN
        ({"kind": "continuous", "lower": True, "upper": 1}, ["'c'", "lower"]),
        ({"kind": "continuous", "lower": 0, "upper": 1, "dtype": "int64"}, ["'c'", "use kind integer"]),
        ({"kind": "continuous", "lower": 0, "upper": 1, "dtype": "quux"}, ["'c'", "unknown dtype 'quux'"]),
        ({"kind": "continuous", "lower": 0, "upper": 1, "dtype": 5}, ["'c'", "dtype"]),
        ({"kind": "continuous", "lower": 0, "uper": 1}, ["'c'", "unknown key 'uper'", "did you mean 'upper'"]),
        ({"kind": "continuous", "bounds": "estimate", "lower": 0, "upper": 1}, ["'c'", "not both"]),
        ({"kind": "continuous", "bounds": [0, 1]}, ["'c'", "lower and upper"]),
        ({"kind": "continuous", "categories": "estimate"}, ["'c'", "bounds, not categories"]),
        ({"kind": "continuous", "lower": 0, "upper": 1, "other": True}, ["'c'", "`other`"]),
        ({"kind": "continuous", "lower": 0, "upper": 1, "missing": "yes"}, ["'c'", "true or false"]),
        ({"kind": "integer", "lower": 0.5, "upper": 3}, ["'c'", "whole numbers"]),
        ({"kind": "integer", "lower": 0, "upper": 300, "dtype": "int8"}, ["'c'", "int8"]),
        ({"kind": "integer", "lower": 0, "upper": 2**60}, ["'c'", "identifier"]),
        ({"kind": "datetime", "lower": "yesterday", "upper": "2020-01-01"}, ["'c'", "ISO date"]),
        ({"kind": "datetime", "lower": 5, "upper": "2020-01-01"}, ["'c'", "ISO date"]),
        ({"kind": "datetime", "lower": "2020-01-01T10:00", "upper": "2021-01-01", "dtype": "date32[day]"}, ["dates"]),
        ({"kind": "datetime", "lower": "1500-01-01", "upper": "2020-01-01", "dtype": "timestamp[ns]"}, ["'c'", "fit"]),
        ({"kind": "categorical"}, ["'c'", "categories"]),
        ({"kind": "categorical", "categories": []}, ["'c'", "empty"]),
        ({"kind": "categorical", "categories": "all"}, ["'c'", "estimate"]),
        ({"kind": "categorical", "categories": 3}, ["'c'", "list"]),
        ({"kind": "categorical", "categories": [[1]]}, ["'c'", "one value"]),
        ({"kind": "categorical", "categories": [None]}, ["'c'", "missing: true"]),
        ({"kind": "categorical", "categories": [float("nan")]}, ["'c'", "NaN"]),
        ({"kind": "categorical", "categories": ["a", 1]}, ["'c'", "quotes"]),
        ({"kind": "categorical", "categories": ["a", "a"]}, ["'c'", "repeat"]),
        ({"kind": "categorical", "categories": [1, 1.0]}, ["'c'", "repeat"]),
        ({"kind": "categorical", "categories": ["a"], "dtype": "int8"}, ["'c'", "int8"]),
        ({"kind": "categorical", "categories": [1000], "dtype": "int8"}, ["'c'", "int8"]),
        ({"kind": "categorical", "categories": [1, 2], "other": True}, ["'c'", "`other` is text"]),
        ({"kind": "categorical", "bounds": "estimate"}, ["'c'", "categories, not bounds"]),
        ({"kind": "categorical", "categories": ["a"], "lower": 0}, ["'c'", "no lower"]),
        ({"kind": "ordinal", "categories": "estimate"}, ["'c'", "order must be declared"]),
        ({"kind": "ordinal"}, ["'c'", "in order"]),
        ({"kind": "boolean", "categories": ["a", "b"]}, ["'c'", "no categories"]),
        ({"kind": "boolean", "dtype": "string"}, ["'c'", "does not suit"]),
        ({"kind": "identifier", "missing": True}, ["'c'", "never missing"]),
        ("integer", ["'c'", "key: value"]),
    ],
)
def test_a_bad_column_is_refused_by_name(entry, words):
    document = {"columns": {"c": entry, "d": {"kind": "boolean"}}}
    refused(document, *words)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, ["schema file"]),
        ([1], ["schema file"]),
        ({"columns": {}}, ["columns"]),
        ({"columns": {"a": {"kind": "boolean"}}, "colour": 1}, ["unknown key 'colour'"]),
        ({"understudy": "model", "columns": {"a": {"kind": "boolean"}}}, ["not a schema file"]),
        ({"columns": {"a": {"kind": "identifier"}}}, ["only identifiers"]),
        ({"columns": {"a": {"kind": "boolean"}}, "rows": -1}, ["rows"]),
        ({"columns": {"a": {"kind": "boolean"}}, "rows": "many"}, ["rows"]),
        ({"columns": {"age": {"kind": "boolean"}}, "label": "agw"}, ["'agw'", "did you mean 'age'"]),
        ({"columns": {"a": {"kind": "boolean"}}, "label": {"positive": 1}}, ["label needs `column:`"]),
        ({"columns": {"a": {"kind": "boolean"}}, "label": {"column": "a", "positiv": 1}}, ["unknown key 'positiv'"]),
        ({"columns": {"a": {"kind": "boolean"}}, "label": {"column": "a", "positive": 7}}, ["'a'", "7"]),
        ({"columns": {"a": {"kind": "boolean"}}, "label": {"column": "a", "positive": [1]}}, ["positive"]),
        ({"columns": {"a": {"kind": "boolean", "missing": True}}, "label": "a"}, ["'a'", "cannot be missing"]),
        (
            {"columns": {"a": {"kind": "integer", "lower": 0, "upper": 1}}, "label": {"column": "a", "positive": 1}},
            ["'a'", "no positive class", "categorical"],
        ),
        ({"columns": {"a": {"kind": "boolean"}, "p": {"kind": "identifier"}}, "label": "p"}, ["'p'", "identifier"]),
        ({"columns": {"a": {"kind": "boolean"}}, "unit": "b"}, ["unit column 'b'"]),
        ({"columns": {"a": {"kind": "boolean"}}, "unit": "a"}, ["'a'", "must be of kind identifier"]),
        (
            {
                "columns": {"a": {"kind": "boolean"}, "p": {"kind": "identifier"}},
                "unit": {"column": "p", "max_rows": 0},
            },
            ["max_rows"],
        ),
        (
            {
                "columns": {"a": {"kind": "boolean"}, "p": {"kind": "identifier"}},
                "unit": {"column": "p", "max_rows": 1.5},
            },
            ["max_rows"],
        ),
        (
            {
                "columns": {
                    "a": {"kind": "continuous", "bounds": {"estimate": "g"}},
                    "b": {"kind": "integer", "bounds": {"estimate": "g"}},
                }
            },
            ["'g' mixes kinds", "'a'", "'b'"],
        ),
    ],
)
def test_a_bad_schema_is_refused_with_the_way_out(document, words):
    refused(document, *words)


def test_duplicate_columns_are_refused():
    with pytest.raises(UsageError, match="'a' appears twice"):
        Schema(columns=(Column(name="a", kind="boolean"), Column(name="a", kind="boolean")))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.yaml", b"columns:\n  a: {kind: boolean}\n  a: {kind: boolean}\n", "'a' appears twice"),
        ("s.json", b'{"columns": {"a": {"kind": "boolean"}, "a": {"kind": "boolean"}}}', "'a' appears twice"),
        ("s.yaml", b"columns: {a: [}", "not valid YAML at line 1"),
        ("s.yaml", b"columns: !!python/object:os.system {}", "not valid YAML"),
        ("s.json", b"{", "not valid JSON"),
        ("s.yaml", b"", "is empty"),
        ("s.yaml", b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_an_unreadable_schema_file_is_one_line(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        Schema.load(tmp_path / name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_schema_file_and_an_unwritable_place(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        Schema.load(tmp_path / "no.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        Schema.load(tmp_path)
    with pytest.raises(UsageError, match="cannot write"):
        example().save(tmp_path / "no" / "s.yaml")


def test_names_with_quotes_newlines_and_other_letters_stay_on_one_line():
    name = "a \"b\"\n'c' 名"
    with pytest.raises(UsageError) as caught:
        Column(name=name, kind="continuous")
    assert "\n" not in str(caught.value)
    assert repr(name) in str(caught.value)


def test_estimates_fill_their_columns_and_unknown_groups_are_refused():
    schema = example()
    filled = schema.with_estimates({"bmi": Bounds(10.0, 60.0), "signal": Bounds(-1.0, 1.0), "city": ("Rome", "Oslo")})
    assert filled.resolved
    assert filled.column("x2").bounds == (-1.0, 1.0)
    assert filled.column("city").categories == ("Rome", "Oslo")
    assert Schema.from_dict(filled.to_dict()) == filled
    partly = schema.with_estimates({"bmi": Bounds(10.0, 60.0)})
    assert list(partly.estimates) == ["signal", "city"]
    with pytest.raises(UsageError, match="no estimate 'bmj'; did you mean 'bmi'"):
        schema.with_estimates({"bmj": Bounds(0.0, 1.0)})
    with pytest.raises(UsageError, match="'x1': still has an estimate"):
        Codec(partly)


@settings(max_examples=50, deadline=None)
@given(
    st.floats(),
    st.floats(),
    st.sampled_from(
        [
            ("continuous", None),
            ("continuous", "float"),
            ("continuous", "halffloat"),
            ("continuous", "decimal128(6, 2)"),
            ("integer", None),
            ("integer", "int8"),
            ("integer", "uint16"),
            ("integer", "double"),
            ("datetime", None),
            ("datetime", "timestamp[ns]"),
            ("datetime", "date32[day]"),
            ("datetime", "timestamp[s, tz=Europe/Rome]"),
        ]
    ),
)
def test_no_estimated_range_raises(lower, upper, shape):
    kind, dtype = shape
    schema = Schema(columns=(Column(name="c", kind=kind, estimate="c", dtype=dtype),))
    filled = schema.with_estimates({"c": Bounds(lower, upper)})
    low, high = filled.column("c").bounds
    assert low < high
    assert Schema.from_dict(filled.to_dict()) == filled


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=4), st.integers(), st.floats(), st.booleans()), max_size=6), st.data())
def test_no_estimated_list_of_categories_raises(values, data):
    dtype = data.draw(st.sampled_from([None, "int8", "double", "bool", "large_string"]))
    missing = data.draw(st.booleans())
    schema = Schema(columns=(Column(name="c", kind="categorical", estimate="c", dtype=dtype, missing=missing),))
    filled = schema.with_estimates({"c": tuple(values)})
    codec = Codec(filled)
    assert codec.width >= 1
    assert len(filled.column("c").outcomes) >= 1


def test_the_declared_positive_class_survives_an_estimate_that_missed_it():
    schema = Schema(columns=(Column(name="y", kind="categorical", estimate="y"),), label="y", positive="ill")
    filled = schema.with_estimates({"y": ("well",)})
    assert filled.column("y").categories == ("well", "ill")
    assert filled.label_kind == "binary"


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (Column(name="y", kind="boolean"), "binary"),
        (Column(name="y", kind="categorical", categories=("a", "b", "c")), "multiclass"),
        (Column(name="y", kind="categorical", categories=(0, 1), dtype="int8"), "binary"),
        (Column(name="y", kind="categorical", categories=("a", "b"), other=True), "multiclass"),
        (Column(name="y", kind="ordinal", categories=("a", "b")), "binary"),
        (Column(name="y", kind="integer", lower=0, upper=1), "numeric"),
        (Column(name="y", kind="datetime", lower="2000-01-01", upper="2001-01-01"), "numeric"),
        (Column(name="y", kind="categorical", estimate="y"), "multiclass"),
    ],
)
def test_label_kinds(column, kind):
    schema = Schema(columns=(column, Column(name="x", kind="boolean")), label="y")
    assert schema.label_kind == kind
    assert ("y" in [c.name for c in schema.features]) == (kind == "numeric")


def test_positive_takes_the_type_of_its_class():
    column = Column(name="y", kind="categorical", categories=(0.0, 1.0), dtype="double")
    assert type(Schema(columns=(column,), label="y", positive=1).positive) is float
    flag = Column(name="y", kind="boolean")
    assert Schema(columns=(flag,), label="y", positive=1).positive is True


def test_to_dict_is_plain_json():
    assert json.loads(json.dumps(example().to_dict())) == example().to_dict()


def test_a_number_of_one_value_is_told_how_to_be_written():
    """Its range has no width to be learned in; as a category it is learned by every method."""
    document = {"columns": {"wave": {"kind": "integer", "lower": 5, "upper": 5}, "a": {"kind": "boolean"}}}
    with pytest.raises(UsageError, match=r"lower and upper are both 5; .*\{kind: categorical, categories: \[5\]\}"):
        Schema.from_dict(document)
    document["columns"]["wave"] = {"kind": "categorical", "categories": [5]}
    assert Schema.from_dict(document).column("wave").outcomes == (5,)
