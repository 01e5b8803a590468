"""Flags, configuration files and conditions: who wins, and what a mistake is answered with."""

import numpy as np
import pytest
import typer

from understudy.cli import _output, _recipe, run
from understudy.errors import UsageError
from understudy.sampling.condition import parse_where
from understudy.schema import Column, Schema


def ask(**changes):
    wanted = {"config": None, "schema": None, "method": None, "epsilon": None, "delta": None} | changes
    return _recipe.request(**wanted)


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(
        "data: rows.csv\nschema: rows.yaml\nepsilon: 2\ndelta: 1e-6\nseed: 7\n"
        "options: {teachers: 20, learning-rate: 1e-3}\n"
    )
    return file


def test_the_file_fills_in_and_flags_win(config, tmp_path):
    found = ask(config=config, epsilon=0.5, pairs=["teachers=30"])
    assert found.epsilon == 0.5
    assert found.delta == 1e-6
    assert found.seed == 7
    assert found.method == "auto"
    assert found.options == {"teachers": 30, "learning_rate": 1e-3}


def test_paths_in_the_file_are_relative_to_it(config, tmp_path):
    found = ask(config=config)
    assert found.schema == tmp_path / "rows.yaml"
    assert found.data == tmp_path / "rows.csv"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("epsilom: 1", "did you mean 'epsilon'"),
        ("teachers: 3", "under 'options:'"),
        ("- 1", "name: value"),
        ("a: [", "not valid YAML"),
        ("options: 3", "'options' must"),
        ("epsilon: much\nschema: s", "epsilon must be a number"),
        ("epsilon: 1\nschema: s\nseed: 1.5", "seed must be a whole number"),
        ("epsilon: 1", "--schema is missing"),
        ("schema: s.yaml", "--epsilon is missing"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path, content, words):
    file = tmp_path / "run.yaml"
    file.write_text(content)
    with pytest.raises(UsageError, match=words):
        ask(config=file)


def test_an_empty_file_changes_nothing(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("")
    assert ask(config=file, schema=tmp_path / "s.yaml", epsilon=1.0).options == {}


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        ask(config=tmp_path / "none.yaml")


def test_settings_read_values_as_yaml():
    found = _output.settings(
        ["teachers=500", "rate=1e-4", "noise=laplace", "sizes=[8, 4]", "on=true", "learning-rate=.5"]
    )
    assert found == {
        "teachers": 500,
        "rate": 1e-4,
        "noise": "laplace",
        "sizes": [8, 4],
        "on": True,
        "learning_rate": 0.5,
    }


@pytest.mark.parametrize("pair", ["teachers", "=3", " =3"])
def test_settings_of_another_form_are_refused(pair):
    with pytest.raises(UsageError, match="name=value"):
        _output.settings([pair])


def test_unknown_options_of_a_method_get_the_nearest_name(tmp_path):
    wanted = ask(schema=tmp_path / "s.yaml", epsilon=1.0, method="pate-gan", pairs=["teacherz=3"])
    with pytest.raises(UsageError, match="no option 'teacherz'; did you mean 'teachers'"):
        _recipe.estimator(wanted)


@pytest.mark.parametrize(
    ("method", "old", "new"),
    [
        ("dpgan", "maker=mlp", "generator"),
        ("rdp-cgan", "noise=8", "latent"),
        ("pate-gan", "teacher_rate=0.1", "teacher_learning_rate"),
        ("pate-gan-as-published", "rate=0.1", "learning_rate"),
        ("mean-embedding", "maker=conv", "generator"),
        ("pate-gan-joint", "settle=5", "whole_steps"),
    ],
)
def test_options_that_were_renamed_are_refused_with_their_new_name(tmp_path, method, old, new):
    wanted = ask(schema=tmp_path / "s.yaml", epsilon=1.0, method=method, pairs=[old])
    with pytest.raises(UsageError, match=f"has no option '{old.split('=')[0]}'; it is called '{new}' now"):
        _recipe.estimator(wanted)


def test_a_name_that_another_method_still_has_is_no_old_name(tmp_path):
    """`noise` is the kind of noise of pate-gan's votes, and was a dimension elsewhere."""
    wanted = ask(schema=tmp_path / "s.yaml", epsilon=1.0, method="pate-gan", pairs=["noise=laplace"])
    assert _recipe.estimator(wanted).noise == "laplace"


def test_unknown_methods_are_refused(tmp_path):
    with pytest.raises(UsageError, match="pate-gan"):
        _recipe.estimator(ask(schema=tmp_path / "s.yaml", epsilon=1.0, method="pate-gun"))


def table(kind: str, **more) -> Schema:
    return Schema(
        columns=(Column(name="x", kind="continuous", lower=0, upper=1), Column(name="a=b", kind=kind, **more)),
        label="a=b",
    )


def classes(where, kind, **more):
    return np.flatnonzero(parse_where(where, table(kind, **more))).tolist()


def test_conditions_find_the_label_and_its_value_by_the_way_it_is_written():
    assert parse_where(None, table("boolean")) is None
    assert classes("a=b=1", "categorical", categories=(0, 1)) == [1]
    assert classes({"a=b": 0}, "categorical", categories=(0, 1)) == [0]
    assert classes("a=b=>50K", "categorical", categories=("<=50K", ">50K")) == [1]
    assert classes("a=b=other", "categorical", categories=("x", "y"), other=True) == [2]
    assert classes("a=b in {x, z}", "categorical", categories=("x", "y", "z")) == [0, 2]
    assert classes("a=b=x or (a=b=z)", "categorical", categories=("x", "y", "z")) == [0, 2]


@pytest.mark.parametrize("dtype", ["bool", "int64"])
def test_conditions_on_booleans_take_the_usual_spellings(dtype):
    for text, index in (("true", 1), ("True", 1), ("1", 1), ("0", 0), ("false", 0)):
        if dtype == "bool" or text != "True":
            assert classes(f"a=b={text}", "boolean", dtype=dtype) == [index]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x=1", "given its label 'a=b' and not given column 'x'"),
        ("a=b", "after column 'a=b' stands ''"),
        ({"x": 1}, "not given column 'x'"),
        ("a=b=0 or x=1", "not given column 'x'"),
        ({"x": 1, "a=b": 1}, "not given column 'x'"),
        ("a=b=9", "has no value '9'; it has 0, 1"),
    ],
)
def test_wrong_conditions_are_named(text, words):
    with pytest.raises(UsageError, match=words):
        parse_where(text, table("categorical", categories=(0, 1)))


def test_conditions_need_a_label_with_classes():
    numeric = table("continuous", lower=0, upper=1)
    with pytest.raises(UsageError, match="conditions need a label with classes"):
        parse_where("a=b=1", numeric)
    with pytest.raises(UsageError, match="fitted without one"):
        parse_where("a=b=1", Schema(columns=numeric.columns))


def test_json_output_is_plain():
    import json
    from pathlib import Path

    import numpy as np

    value = {
        "a": float("inf"),
        "b": np.arange(2),
        "c": Path("x"),
        "d": (1, None),
        3: np.float32(0.5),
        "e": np.bool_(True),
    }
    text = json.dumps(_output.plain(value), allow_nan=False)
    assert json.loads(text) == {"a": "inf", "b": [0, 1], "c": "x", "d": [1, None], "3": 0.5, "e": True}


def test_places_to_write_are_checked_first(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    _output.writable_file(tmp_path / "new" / "deep" / "file.csv")
    _output.writable_folder(tmp_path / "new", overwrite=False)
    _output.writable_folder(tmp_path / "full", overwrite=True)
    with pytest.raises(UsageError, match="is a folder"):
        _output.writable_file(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        _output.writable_folder(tmp_path / "file", overwrite=True)
    with pytest.raises(UsageError, match="holds files already"):
        _output.writable_folder(tmp_path / "full", overwrite=False)
    with pytest.raises(UsageError, match="cannot write into"):
        _output.writable_file(tmp_path / "file" / "below.csv")


def test_every_command_has_json():
    from understudy.cli._commands import load, root

    leaves = []
    for name in typer.main.get_command(root).commands:
        command = load(name)
        leaves += list(getattr(command, "commands", {"": command}).values())
    assert len(leaves) >= 9
    for command in (one for one in leaves if one.name != "serve"):  # a page, not an answer
        assert any("--json" in parameter.opts for parameter in command.params), command.name


@pytest.mark.parametrize(
    ("budget", "named"), [({"epsilon": -1.0}, "--epsilon=-1"), ({"epsilon": 1.0, "delta": 2.0}, "--delta=2")]
)
def test_a_budget_that_cannot_be_is_refused_by_its_option(tmp_path, budget, named):
    with pytest.raises(UsageError, match=f"^{named}"):
        ask(schema=tmp_path / "s.yaml", **budget)


def test_a_fit_warns_of_a_large_delta_before_it_spends(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    schema = Schema(columns=(Column(name="x", kind="integer", lower=0, upper=9),))
    schema.save(tmp_path / "t.yaml")
    words = [
        "fit",
        str(tmp_path / "t.csv"),
        "--schema",
        str(tmp_path / "t.yaml"),
        "--epsilon",
        "1",
        "--method",
        "independent",
    ]
    words += ["--out", str(tmp_path / "m"), "--rows", "500", "--force"]
    assert run([*words, "--delta", "0.01"]) == 0
    said = capsys.readouterr().err
    assert "LARGE DELTA: 0.01 is more than one in 500 rows" in said and said.index("LARGE") < said.index("asking")
    assert run([*words, "--overwrite"]) == 0
    assert "LARGE" not in capsys.readouterr().err
