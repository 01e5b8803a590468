"""Every schema file loads and says what the registry relies on."""

import pytest

from benchmarks import make_schemas
from benchmarks.registry import DATASETS, SCHEMAS, schema_path
from understudy.errors import UsageError
from understudy.schema import Codec

from .conftest import schema_of, table_of

FILES = [*sorted(SCHEMAS.glob("*.yaml")), schema_path("randhie")]
KINDS = {
    "binary": (
        "credit-card-fraud",
        "cervical-cancer",
        "cervical-cancer-no-tests",
        "isolet-vowels",
        "epileptic-seizure",
        "cardiovascular",
        "mitbih",
        "adult",
        "hiva",
        "breast-cancer",
        "randhie",
    ),
    "multiclass": (
        "isolet",
        "epileptic-seizure-5",
        "mitbih-5",
        "diabetes-130us",
        "diabetes-130us-people",
        "diabetes-130us-rows",
        "mnist",
        "fashion-mnist",
        "digits",
    ),
    "none": ("mimic3-demo", "nist-ma2019", "nist-national2019"),
}
FEATURES = {
    "credit-card-fraud": 29,
    "cervical-cancer": 35,
    "cervical-cancer-no-tests": 32,
    "isolet-vowels": 617,
    "epileptic-seizure": 178,
    "cardiovascular": 11,
    "mitbih": 187,
    "adult": 14,
    "mnist": 784,
    "mimic3-demo": 581,
    "hiva": 1617,
    "nist-ma2019": 24,
    "nist-national2019": 24,
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_schema_loads_resolved_and_says_where_its_bounds_come_from(path):
    schema = schema_of(path.stem if path.parent == SCHEMAS else "randhie")
    assert schema.resolved
    assert path.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in names])
def test_label_kind(kind, name):
    assert schema_of(name).label_kind == kind


def test_every_data_set_has_a_kind_above():
    assert {name for names in KINDS.values() for name in names} == set(DATASETS)


@pytest.mark.parametrize(("name", "count"), FEATURES.items())
def test_number_of_features_is_that_of_the_papers(name, count):
    assert len(schema_of(name).features) == count


def test_units():
    diabetes, rand = (schema_of(name) for name in ("diabetes-130us", "randhie"))
    assert (diabetes.unit, rand.unit) == ("patient_nbr", "zper")
    assert rand.max_rows_per_unit == 5


def test_wide_files_are_what_the_script_writes():
    for name, text in make_schemas.texts().items():
        assert (SCHEMAS / name).read_text(encoding="utf-8") == text, f"run python -m benchmarks.make_schemas for {name}"


def test_raw_binary_schema_counts_unlisted_classes_as_no_seizure():
    codec = Codec(schema_of("epileptic_seizure_raw_binary"))
    frame = table_of(schema_of("epileptic-seizure-5"), 40)
    encoded = codec.encode(frame)
    values = [codec.class_values[i] for i in encoded.classes]
    assert values == [1 if y == 1 else 2 for y in frame["y"]]


def test_unknown_schema_is_named_with_what_there_is():
    with pytest.raises(UsageError, match=r"no schema is named 'addult'.*adult"):
        schema_path("addult")
