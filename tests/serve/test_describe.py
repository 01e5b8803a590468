"""The schema as a form: what the form shows comes back unchanged, what is changed is changed, and no row is looked at."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.serve.conftest import SCHEMA
from understudy.errors import UsageError
from understudy.schema import Schema
from understudy.schema.text import parse_yaml
from understudy.serve import describe

TABLE = "0/people.csv"
PAGES = ("/describe", "/plan")


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "two words",
        ">50K",
        "1",
        "007",
        "true",
        " space",
        'quo"te',
        "1e5",
        "é",
        "null",
        "",
        1,
        -2.5,
        1e300,
        True,
        False,
    ],
)
def test_a_value_comes_back_as_it_was(value):
    back = describe.read(describe.shown(value))
    assert back == value and type(back) is type(value)


def test_a_form_sent_back_unchanged_changes_nothing(visitor, folder):
    html = visitor.client.get("/describe", params={"table": TABLE}).text
    before = Schema.load(folder / "people.yaml")
    answer = visitor.post("/describe/save", visitor.form(html) | {"table": TABLE})
    assert answer.status_code == 303, answer.text
    assert Schema.load(folder / "people.yaml") == before


def test_a_form_says_what_is_meant(visitor, folder):
    html = visitor.client.get("/describe", params={"table": TABLE}).text
    sent = visitor.form(html) | {
        "table": TABLE,
        "unit": "person",
        "max_rows": "3",
        "label": "sex",
        "positive": "f",
        "rows": "400",
    }
    sent |= {
        "kind-1": "continuous",
        "lower-1": "",
        "upper-1": "",
        "missing-1": "1",
        "categories-2": "f\nm\nx",
        "kind-3": "",
    }
    visitor.post("/describe/save", sent)
    said = parse_yaml((folder / "people.yaml").read_text())
    assert said["unit"] == {"column": "person", "max_rows": 3} and said["label"] == {"column": "sex", "positive": "f"}
    assert said["rows"] == 400 and said["columns"] == {
        "person": {"kind": "identifier"},
        "age": {"kind": "continuous", "bounds": "estimate", "missing": True},
        "sex": {"kind": "categorical", "categories": ["f", "m", "x"]},
    }


def test_what_the_form_does_not_show_is_kept_until_the_kind_changes(folder):
    table = folder / "typed.parquet"
    pq.write_table(pa.table({"age": pa.array([1], pa.int16()), "when": pa.array([0], pa.timestamp("s"))}), table)
    document, stored = describe.load(folder / "typed.yaml", table)
    assert not stored and document["columns"]["age"] == {"kind": "integer", "bounds": "estimate", "dtype": "int16"}
    sent = {
        "columns": describe.digest(["age", "when"]),
        "kind-0": "integer",
        "kind-1": "datetime",
        "lower-0": "0",
        "upper-0": "9",
    }
    made = describe.merge(document, sent, table)
    assert made["columns"]["age"] == {"kind": "integer", "dtype": "int16", "lower": 0, "upper": 9}
    made = describe.merge(made, sent | {"kind-0": "categorical", "categories-0": "1\n2"}, table)
    assert made["columns"]["age"] == {"kind": "categorical", "dtype": "int16", "categories": [1, 2]}
    made = describe.merge(made, sent | {"kind-0": "continuous"}, table)
    assert "dtype" not in made["columns"]["age"], "whole numbers cannot hold what is continuous"


def test_a_form_takes_values_as_the_table_writes_them(folder):
    """Decimal comma, dates in another form, codes beside numbers, 01 beside 10, and constraints, without a line of YAML."""
    table = folder / "fall.csv"
    table.write_text("wann;groesse;hba1c;plz;geschlecht\n", encoding="utf-8")
    document = describe.load(folder / "fall.yaml", table)[0]
    sent = {
        "columns": describe.digest(list(document["columns"])),
        "decimal": ",",
        "constraints": "- never: geschlecht = m and plz = 01",
        **{"kind-0": "datetime", "format-0": "%d.%m.%Y", "lower-0": "01.02.2021", "upper-0": "2024-12-31"},
        **{"kind-1": "continuous", "lower-1": "1,2", "upper-1": "2.2", "decimals-1": "2"},
        **{"kind-2": "continuous", "lower-2": "3", "upper-2": "15", "codes-2": "999, N"},
        **{"kind-3": "categorical", "categories-3": "01\n10\n20"},
        **{"kind-4": "categorical", "categories-4": "m\nw"},
    }
    made = describe.merge(document, sent, table)
    assert made["decimal"] == "," and made["constraints"] == [{"never": "geschlecht = m and plz = 01"}]
    assert made["columns"] == {
        "wann": {"kind": "datetime", "lower": "2021-02-01", "upper": "2024-12-31", "format": "%d.%m.%Y"},
        "groesse": {"kind": "continuous", "lower": 1.2, "upper": 2.2, "decimals": 2},
        "hba1c": {"kind": "continuous", "lower": 3, "upper": 15, "codes": [999, "N"]},
        "plz": {"kind": "categorical", "categories": ["01", "10", "20"]},
        "geschlecht": {"kind": "categorical", "categories": ["m", "w"]},
    }
    assert describe.judge(made, table).ready
    shown = describe.fields(made, table)
    assert (shown[2].codes, shown[1].decimals, shown[3].categories) == ("999, N", "2", "01\n10\n20")
    assert describe.constraints(made) == '- {never: "geschlecht = m and plz = 01"}'
    wrong = {"codes-2": "{a: 1}", "constraints": "- never: [", "lower-1": "viel"}
    for name, value in wrong.items():
        assert not describe.judge(describe.merge(document, sent | {name: value}, table), table).ready


def test_a_form_for_other_columns_is_refused(visitor, folder):
    sent = visitor.form(visitor.client.get("/describe", params={"table": TABLE}).text) | {"table": TABLE}
    (folder / "people.csv").write_text("person,sex\n1,m\n")
    assert visitor.post("/describe/save", sent).status_code == 400
    assert (folder / "people.yaml").read_text() == SCHEMA


def test_everything_that_is_left_to_say_is_said_at_once(folder):
    (folder / "new.csv").write_text("a,b,c\n")
    document = {
        "columns": {"a": {"kind": "?"}, "b": {"kind": "integer", "lower": 5, "upper": 1}, "z": {"kind": "boolean"}}
    }
    judged = describe.judge(document, folder / "new.csv")
    assert set(judged.problems) == {"a", "b", "z"} and not judged.ready
    assert "not in the table" in judged.problems["z"]
    whole = describe.judge({"columns": {"a": {"kind": "identifier"}}}, folder / "new.csv")
    assert list(whole.problems) == [""] and "only identifiers" in whole.problems[""]


def test_the_live_check_answers_and_writes_nothing(visitor, folder):
    sent = visitor.form(visitor.client.get("/describe", params={"table": TABLE}).text) | {"table": TABLE}
    answer = visitor.post("/describe/check", sent | {"lower-1": "200"}).json()
    assert list(answer["problems"]) == ["age"] and "left to say" in answer["html"] and "lower: 200" in answer["text"]
    assert visitor.post("/describe/check", sent).json()["problems"] == {}
    assert (folder / "people.yaml").read_text() == SCHEMA


def test_a_broken_file_can_be_mended_as_text(visitor, folder):
    (folder / "people.yaml").write_text("columns: [")
    html = visitor.client.get("/describe", params={"table": TABLE}).text
    assert "cannot be read" in html and "columns: [" in html
    assert visitor.post("/describe/text", {"table": TABLE, "text": "also: ["}).status_code == 400
    assert visitor.post("/describe/text", {"table": TABLE, "text": SCHEMA.replace("\n", "\r\n")}).status_code == 303
    assert (folder / "people.yaml").read_text() == SCHEMA


def test_a_dictionary_of_the_folder_is_imported(visitor, folder):
    (folder / "dictionary.json").write_text(
        '{"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]}'
    )
    fields = {"table": TABLE, "dictionary": "0/dictionary.json"}
    (folder / "people.synthetic.csv.manifest.json").write_text("{}")
    html = visitor.client.get("/describe", params={"table": TABLE}).text
    assert "dictionary.json</option>" in html and "manifest.json" not in html, (
        "what we wrote ourselves describes nothing"
    )
    assert visitor.post("/describe/import", fields).status_code == 400, "a schema is not replaced unasked"
    assert visitor.post("/describe/import", fields | {"replace": "1"}).status_code == 303
    assert parse_yaml((folder / "people.yaml").read_text())["columns"]["age"]["upper"] == 99


def test_names_are_escaped(visitor, folder):
    (folder / "odd.csv").write_text('"<script>alert(1)</script>","a&b","x""y"\n1,2,3\n')
    html = visitor.client.get("/describe", params={"table": "0/odd.csv"}).text
    assert "<script>alert" not in html and "&lt;script&gt;alert(1)" in html


def test_describing_and_planning_say_nothing_about_rows(visitor, folder):
    """Tables with one header and other rows, none, or rubbish give the same pages, byte for byte."""
    header = (folder / "people.csv").read_bytes().splitlines()[0] + b"\n"
    seen = set()
    for rows in (b"1,30,m,true\n", b"2,999,x,maybe\n3,,,\n", b"", b"\xff\x00,\x00" * 1000):
        (folder / "people.csv").write_bytes(header + rows)
        seen.add(
            tuple(visitor.client.get(page, params={"table": TABLE, "method": "independent"}).text for page in PAGES)
        )
    assert len(seen) == 1 and all("choose another" not in text for text in seen.pop())


def test_a_header_of_years_is_one_where_the_schema_names_it(folder):
    """Two years may be a row; a row must not become names, but names that the schema has are public already."""
    years = folder / "years.csv"
    years.write_text("2010,2011,name\n1,2,a\n")
    entry = {"kind": "integer", "lower": 0, "upper": 9}
    named = {"columns": {"2010": entry, "2011": entry, "name": {"kind": "categorical", "categories": ["a"]}}}
    assert [field.name for field in describe.fields(named, years)] == ["2010", "2011", "name"]
    assert describe.judge(named, years).ready
    sent = {"columns": describe.digest(["2010", "2011", "name"]), "kind-0": "continuous", "kind-1": "integer"}
    assert describe.merge(named, sent, years)["columns"]["2010"]["kind"] == "continuous"
    part = {"columns": {name: one for name, one in named["columns"].items() if name != "2011"}}
    with pytest.raises(UsageError, match="a row must not become the public names"):
        describe.fields(part, years)
