"""`schema init` and `schema import`: what a user types, what is written, which code comes back."""

import json

import numpy as np
import pytest

from understudy import cli
from understudy.schema import Schema

ROWS = 3000


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal(50, 9):.2f},{rng.choice(['Ayr', 'Bonn'])},{rng.integers(2)},p{i}" for i in range(ROWS)]
    (tmp_path / "t.csv").write_text("\n".join(["amount,city,label,who", *lines]) + "\n")
    return tmp_path / "t.csv"


def command(capsys, *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = cli.run([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *words: object) -> str:
    """The one line of a command that must be refused with code 2."""
    code, out, err = command(capsys, *words)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ") and err.count("\n") == 1
    return err


def test_init_writes_the_header_and_asks_for_kinds(table, tmp_path, capsys):
    out = tmp_path / "draft.yaml"
    code, text, _ = command(capsys, "schema", "init", table, "--label", "label", "--out", out)
    assert code == 0 and str(out) in text and "(4 columns)" in text
    draft = out.read_text()
    assert "the header only" in draft and "Bonn" not in draft
    assert "exists already" in refused(capsys, "schema", "init", table, "--out", out)
    assert "column 'amount'" in refused(capsys, "plan", out, "--epsilon", "1")
    assert "column 'amount'" in refused(capsys, "schema", "check", table, "--schema", out)


def test_kinds_are_said_on_the_command_line(table, tmp_path, capsys):
    """The path of the README: a draft with its kinds, and a plan from it as it stands."""
    words = ["--label", "label", "--unit", "who", "--kind", "*=categorical", "--kind", "amount=continuous"]
    code, out, _ = command(capsys, "schema", "init", table, *words, "--json")
    assert code == 0 and json.loads(out)["open"] == 0
    schema = Schema.load(tmp_path / "t.yaml")
    assert {c.name: c.kind for c in schema.columns} == {
        "amount": "continuous", "city": "categorical", "label": "categorical", "who": "identifier",
    }  # fmt: skip
    code, out, _ = command(capsys, "plan", tmp_path / "t.yaml", "--epsilon", "1")
    assert code == 0 and "estimate amount" in out and "kinds of columns" not in out
    assert command(capsys, "schema", "check", table, "--schema", tmp_path / "t.yaml")[0] == 0


def test_public_data_is_read_in_full(table, tmp_path, capsys):
    code, _, _ = command(capsys, "schema", "init", table, "--public-data", "--unit", "who", "--label", "label")
    assert code == 0
    schema = Schema.load(tmp_path / "t.yaml")
    assert schema.resolved and schema.rows == ROWS
    assert schema.column("city").categories == ("Ayr", "Bonn") and schema.column("label").categories == (0, 1)


def test_kinds_found_privately_stand_in_every_later_plan(table, tmp_path, capsys):
    words = ["schema", "init", table, "--label", "label", "--unit", "who", "--estimate-kinds", "--epsilon", "0.5"]
    code, out, err = command(capsys, *words, "--out", tmp_path / "new" / "s.yaml")
    assert code == 0 and "has cost epsilon 0.5" in out, err
    schema = Schema.load(tmp_path / "new" / "s.yaml")
    assert {c.name: c.kind for c in schema.columns} == {
        "amount": "continuous", "city": "categorical", "label": "categorical", "who": "identifier",
    }  # fmt: skip
    assert schema.kinds is not None and schema.kinds.epsilon == 0.5 and schema.kinds.unit == "who"
    code, out, _ = command(capsys, "plan", tmp_path / "new" / "s.yaml", "--epsilon", "1", "--json")
    shares = {part["purpose"]: part["share"] for part in json.loads(out)["shares"]}
    assert code == 0 and 0.1 < shares["kinds of columns"] < 0.5
    assert json.loads(out)["epsilon_planned"] <= 1
    assert "raise epsilon" in refused(capsys, "plan", tmp_path / "new" / "s.yaml", "--epsilon", "0.4")
    ledger = tmp_path / "new" / "s.yaml.kinds-ledger.jsonl"
    assert "kinds of columns" in ledger.read_text()
    again = refused(capsys, *words, "--out", tmp_path / "new" / "s.yaml", "--overwrite")
    assert "paid for" in again and ledger.name in again


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kind", "amount"], "NAME=KIND"),
        (["--kind", "=integer"], "NAME=KIND"),
        (["--kind", "amount=number"], "'number' is no kind"),
        (["--kind", "amont=integer"], "did you mean 'amount'"),
        (["--kind", "city=boolean", "--kind", "city=categorical"], "twice"),
        (["--label", "lable"], "did you mean 'label'"),
        (["--max-rows", "3"], "--unit"),
        (["--estimate-kinds"], "--epsilon"),
        (["--epsilon", "1"], "--estimate-kinds"),
        (["--estimate-kinds", "--epsilon", "0"], "epsilon"),
        (["--estimate-kinds", "--epsilon", "1", "--delta", "2"], "delta"),
        (["--estimate-kinds", "--epsilon", "1", "--public-data"], "choose one"),
        (["--estimate-kinds", "--epsilon", "1", "--unit", "woh"], "did you mean 'who'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_init_refuses_what_makes_no_sense_and_leaves_nothing(table, tmp_path, capsys, words, message):
    assert message in refused(capsys, "schema", "init", table, *words)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("words", "default"),
    [(["schema", "init"], "ending .yaml"), (["schema", "import"], "by the content"), (["sample"], "noisy count")],
)
def test_help_states_defaults(capsys, monkeypatch, words, default):
    """Text in square brackets is markup to the help's printer and would vanish."""
    monkeypatch.setenv("COLUMNS", "300")
    code, out, _ = command(capsys, *words, "--help")
    assert code == 0 and default in out


def test_import_of_dictionaries(tmp_path, capsys):
    contents = {
        "sdv": {"columns": {"age": {"sdtype": "numerical"}, "id": {"sdtype": "id"}}, "primary_key": "id"},
        "frictionless": {"fields": [{"name": "age", "type": "integer"}, {"name": "x"}]},
        "nist": {"schema": {"age": {"dtype": "int64", "min": 0, "max": 99}}},
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        for more in ([], ["--format", name, "--overwrite"]):
            out = tmp_path / f"{name}.yaml"
            code, text, err = command(capsys, "schema", "import", tmp_path / f"{name}.json", "--out", out, *more)
            assert code == 0 and str(out) in text, err
    assert "estimate" in (tmp_path / "sdv.yaml").read_text()
    assert "column 'x'" in refused(capsys, "plan", tmp_path / "frictionless.yaml", "--epsilon", "1")
    assert Schema.load(tmp_path / "nist.yaml").column("age").bounds == (0, 99)


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("{", [], "not valid JSON"),
        ("{}", [], "not recognised"),
        ('{"fields": []}', ["--format", "xml"], "the formats are"),
        ('{"fields": []}', [], "no fields"),
    ],
)
def test_import_refuses_what_is_no_dictionary(tmp_path, capsys, content, words, message):
    (tmp_path / "d.json").write_text(content)
    assert message in refused(capsys, "schema", "import", tmp_path / "d.json", "--out", tmp_path / "s.yaml", *words)
    assert not (tmp_path / "s.yaml").exists()
    assert "does not exist" in refused(capsys, "schema", "import", tmp_path / "no.json", "--out", tmp_path / "s.yaml")
