"""The path of a newcomer: a verdict before anything is spent, models checked before use, reports that belong to a model."""

import json
import os
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from understudy import cli, manifest
from understudy.folder import sha256

SCHEMA = """understudy: schema
label: {column: label, positive: 1}
columns:
  amount: {kind: continuous, lower: 0, upper: 100}
  city: {kind: categorical, categories: [Ayr, Bonn]}
  count: {kind: integer, lower: 0, upper: 20}
  label: {kind: categorical, categories: [0, 1], dtype: int64}
"""


def rows(count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, count)
    return pd.DataFrame(
        {
            "amount": rng.normal(50 + 20 * label, 10).round(6),
            "city": rng.choice(["Ayr", "Bonn"], count),
            "count": rng.poisson(3, count),
            "label": label,
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table, other people's rows, a schema, a model, and rows that the model made."""
    folder = tmp_path_factory.mktemp("path")
    rows(300, 0).to_csv(folder / "rows.csv", index=False)
    rows(300, 1).to_csv(folder / "other.csv", index=False)
    (folder / "rows.yaml").write_text(SCHEMA)
    fit = ["fit", f"{folder}/rows.csv", "--schema", f"{folder}/rows.yaml", "--method", "independent", "--epsilon", "2"]
    assert cli.run([*fit, "--out", f"{folder}/model", "-q"]) == 0
    assert cli.run(["sample", f"{folder}/model", "--rows", "200", "--out", f"{folder}/fake.csv", "-q"]) == 0
    return folder


@pytest.fixture
def model(place, tmp_path):
    """A copy of the model to tamper with."""
    return shutil.copytree(place / "model", tmp_path / "model")


def refused(capsys, *words: object) -> str:
    """The one line of a command that must end with code 2 and print nothing else."""
    capsys.readouterr()
    code = cli.run([str(word) for word in words])
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and err.splitlines()[-1] == lines[0], err
    return lines[0]


# -- the verdict reaches the fit ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["auto", "mst"])
def test_a_hopeless_fit_is_refused_before_it_spends_anything(place, tmp_path, capsys, method):
    (tmp_path / "few.yaml").write_text(SCHEMA.replace("label: {column", "rows: 40\nlabel: {column", 1))
    words = ["fit", place / "rows.csv", "--schema", tmp_path / "few.yaml", "--epsilon", "1", "--method", method]
    line = refused(capsys, *words, "--out", tmp_path / "out", "-q")
    assert "No method will give something useful" in line and "--force" in line
    assert sorted(p.name for p in tmp_path.iterdir()) == ["few.yaml"]


def test_a_fit_says_what_to_expect_and_can_be_forced(place, tmp_path, capsys):
    (tmp_path / "few.yaml").write_text(SCHEMA.replace("label: {column", "rows: 40\nlabel: {column", 1))
    words = ["fit", place / "rows.csv", "--schema", tmp_path / "few.yaml", "--epsilon", "1", "--method", "independent"]
    assert cli.run([*map(str, words), "--out", str(tmp_path / "out"), "--force"]) == 0
    assert "No method will give something useful" in capsys.readouterr().err
    assert cli.run(["fit", str(place / "rows.csv"), "--schema", str(place / "rows.yaml"), "--epsilon", "1", "--method",
                    "independent", "--out", str(tmp_path / "two")]) == 0  # fmt: skip
    assert "rows on" in capsys.readouterr().err


def test_a_fit_follows_the_plan_that_knew_the_number_of_rows(place, tmp_path, capsys):
    """`plan --rows 800` named one method and `fit`, which could not be told, took another and promised other figures."""
    open_schema = SCHEMA.replace("lower: 0, upper: 100", "bounds: estimate").replace("[Ayr, Bonn]", "estimate")
    (tmp_path / "my rows.yaml").write_text(open_schema)
    words = ["plan", str(tmp_path / "my rows.yaml"), "--epsilon", "1", "--rows", "300"]
    assert cli.run([*words, "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)["advice"]
    assert cli.run(words) == 0
    command = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("next: "))
    typed = shlex.split(command.removeprefix("next: "))
    assert typed[:2] == ["understudy", "fit"] and typed[3:5] == ["--schema", str(tmp_path / "my rows.yaml")]
    assert typed[-2:] == ["--rows", "300"] and advice["method"] in typed
    fit = [str(place / "rows.csv") if word == "FILE" else word for word in typed[1:] if word != advice["method"]]
    fit.remove("--method")  # the adviser chooses again, and alike
    assert cli.run([*fit, "--out", str(tmp_path / "out")]) == 0
    assert f"{advice['method']}: {advice['expect']}" in capsys.readouterr().err


def test_estimates_of_one_price_share_a_line_of_the_plan(tmp_path, capsys):
    columns = "".join(f"  c{n}: {{kind: integer, bounds: estimate}}\n" for n in range(9))
    (tmp_path / "open.yaml").write_text(f"understudy: schema\ncolumns:\n{columns}")
    assert cli.run(["plan", str(tmp_path / "open.yaml"), "--epsilon", "1", "--method", "independent"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "9 x bounds of 1 column" in out and "and 3 more" in out and "each" in out


def test_a_model_has_the_modes_that_the_user_asks_for(place, tmp_path):
    """A model is handed on: its weights were readable by nobody else, and its folder by everybody."""
    import understudy as us

    before = os.umask(0o027)
    try:
        us.load(place / "model").save(tmp_path / "model")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()}
    assert modes == {0o640} and (tmp_path / "model").stat().st_mode & 0o777 == 0o750


def test_one_row_of_a_unit_is_one_row(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(
        SCHEMA.replace("columns:", "unit: {column: id}\ncolumns:\n  id: {kind: identifier}")
    )
    assert cli.run(["plan", str(tmp_path / "s.yaml"), "--epsilon", "1", "--method", "independent", "--json"]) == 0
    assert "at most 1 row (" in json.loads(capsys.readouterr().out)["unit"]


def test_a_fit_says_what_was_estimated(place, tmp_path, capsys):
    (tmp_path / "open.yaml").write_text(SCHEMA.replace("lower: 0, upper: 100", "bounds: estimate"))
    words = ["fit", place / "rows.csv", "--schema", tmp_path / "open.yaml", "--epsilon", "2", "--method", "independent"]
    assert cli.run([*map(str, words), "--out", str(tmp_path / "out")]) == 0
    assert "estimated bounds: amount" in capsys.readouterr().out
    assert cli.run(["certificate", "show", str(tmp_path / "out")]) == 0
    assert "estimated bounds: amount" in capsys.readouterr().out.replace("\n", " ").replace("  ", " ")


# -- every model is checked before it is used --------------------------------------------------------------------------
def edit(path, change, hashed=False):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    if hashed:
        rehash(path)


def rehash(path):
    """What a forger does who knows the hashes."""
    edit(path.parent / "certificate.json", lambda c: c["hashes"].update({path.name: sha256(path)}))


def weights(folder, change, hashed=False):
    path = folder / "weights.safetensors"
    arrays = load_file(path)
    changed = change(arrays)
    save_file(arrays if changed is None else changed, path, metadata={"understudy": "weights"})
    if hashed:
        rehash(path)


def spoil(arrays, value):
    name = next(name for name, array in sorted(arrays.items()) if array.dtype.kind == "f" and array.size)
    arrays[name] = arrays[name].copy()
    arrays[name].flat[0] = value


def whitewash(content):
    content["claim"]["epsilon"] = 0.1


NAMES = ("weights.safetensors", "model.json", "plan.json", "ledger.json", "certificate.json")
TAMPERINGS = {
    **{f"no {name}": (lambda m, name=name: (m / name).unlink()) for name in NAMES},
    **{f"empty {name}": (lambda m, name=name: (m / name).write_bytes(b"")) for name in NAMES},
    **{f"altered {name}": (lambda m, name=name: edit(m / name, lambda c: c.update(x=1))) for name in NAMES[1:4]},
    "one byte of weights": lambda m: (m / NAMES[0]).write_bytes((m / NAMES[0]).read_bytes()[:-1] + b"\x7f"),
    "cut weights": lambda m: (m / NAMES[0]).write_bytes((m / NAMES[0]).read_bytes()[:-8]),
    "other weights": lambda m: weights(m, lambda a: spoil(a, 0.25)),
    "NaN weights, hashed": lambda m: weights(m, lambda a: spoil(a, np.nan), hashed=True),
    "infinite weights, hashed": lambda m: weights(m, lambda a: spoil(a, np.inf), hashed=True),
    "no weights, hashed": lambda m: weights(m, lambda a: {"x": np.zeros(1, np.float32)}, hashed=True),
    "a file more": lambda m: (m / "rows.csv").write_text("a\n"),
    "a smaller claim": lambda m: edit(m / "certificate.json", whitewash),
    "another delta": lambda m: edit(m / "certificate.json", lambda c: c["claim"].update(delta=1e-9)),
    "another page": lambda m: (m / "certificate.txt").write_text("epsilon = 0"),
    "another entry": lambda m: (m / "registry.yaml").write_text("["),
    "a longer ledger, hashed": lambda m: edit(
        m / "ledger.json", lambda c: c["entries"].append(c["entries"][0] | {"token": "again"}), hashed=True
    ),
    "cheaper events, hashed": lambda m: edit(
        m / "ledger.json", lambda c: c["entries"][0]["event"].update(noise_multiplier=1e6), hashed=True
    ),
    "a seeded model, hashed": lambda m: edit(m / "model.json", lambda c: c.update(void_reason="seeded"), hashed=True),
    "class counts, hashed": lambda m: edit(m / "model.json", lambda c: c.update(class_counts=[1.0]), hashed=True),
    "NaN counts, hashed": lambda m: edit(m / "model.json", lambda c: c.update(class_counts=[1.0, np.nan]), hashed=True),
    "another method, hashed": lambda m: edit(m / "model.json", lambda c: c.update(method="magic"), hashed=True),
    "a way out of the folder": lambda m: edit(m / "certificate.json", lambda c: c["hashes"].update({"../x": "0"})),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_model_that_was_tampered_with_makes_no_rows(model, tmp_path, capsys, name):
    TAMPERINGS[name](model)
    refused(capsys, "sample", model, "--rows", "5", "--out", tmp_path / "fake.csv", "-q")
    assert not (tmp_path / "fake.csv").exists()


def test_rows_are_not_written_into_the_model(model, capsys):
    before = sorted(p.name for p in model.iterdir())
    assert "model folder" in refused(capsys, "sample", model, "--rows", "5", "--out", model / "sub" / "fake.csv", "-q")
    assert sorted(p.name for p in model.iterdir()) == before


def test_overwriting_a_model_deletes_nothing_else(place, model, capsys):
    (model / "notes.txt").write_text("mine")
    words = ["fit", place / "rows.csv", "--schema", place / "rows.yaml", "--epsilon", "1", "--method", "independent"]
    assert "notes.txt" in refused(capsys, *words, "--out", model, "--overwrite", "-q")
    assert (model / "notes.txt").read_text() == "mine"
    (model / "notes.txt").unlink()
    assert cli.run([*map(str, words), "--out", str(model), "--overwrite", "-q"]) == 0


# -- the release report belongs to a model -----------------------------------------------------------------------------
def evaluation(place, out, *more):
    words = ["evaluate", "--real", place / "other.csv", "--schema", place / "rows.yaml", "--out", out, "--jobs", "1"]
    return [str(word) for word in (*words, "--metrics", "diagnostics", *more, "-q")]


def test_rows_of_the_model_get_a_release_report(place, tmp_path):
    words = ("--synthetic", place / "fake.csv", "--model-dir", place / "model", "--train", place / "rows.csv")
    assert cli.run(evaluation(place, tmp_path / "out", *words)) == 0
    origin = json.loads((tmp_path / "out" / "result.json").read_text())["release"]["origin"]
    assert origin["model"] == manifest.model_digest(place / "model")
    assert origin["file"] == manifest.sha256(place / "fake.csv")
    release, internal = ((tmp_path / "out" / name).read_text() for name in ("release.html", "internal.html"))
    assert f"<bdi>fake.csv</bdi>, sampled {origin['made']}<" in release and "other.csv" not in release
    assert (
        "<bdi>fake.csv</bdi>, compared with <bdi>other.csv</bdi>; made from <bdi>rows.csv</bdi>. Computed 20"
        in internal
    )


def test_without_real_rows_there_is_a_release_report_and_nothing_else(place, tmp_path, capsys):
    words = ["evaluate", "--synthetic", place / "fake.csv", "--schema", place / "rows.yaml", "--out", tmp_path / "out"]
    assert "--real is missing" in refused(capsys, *words)
    assert "--train" in refused(capsys, *words, "--model-dir", place / "model", "--train", place / "rows.csv")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "internal.html").write_text("of an earlier result")
    assert cli.run([str(word) for word in (*words, "--model-dir", place / "model", "--overwrite")]) == 0
    assert "No real row was read" in capsys.readouterr().out
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["release.html", "result.json"]
    assert (
        cli.run(evaluation(place, tmp_path / "both", "--synthetic", place / "fake.csv", "--model-dir", place / "model"))
        == 0
    )
    assert (tmp_path / "out" / "release.html").read_text() == (tmp_path / "both" / "release.html").read_text()


def test_rows_without_a_model_get_none(place, tmp_path, capsys):
    assert cli.run(evaluation(place, tmp_path / "out", "--synthetic", place / "fake.csv")) == 0
    assert [p.name for p in sorted((tmp_path / "out").glob("*.html"))] == ["internal.html"]
    line = refused(capsys, "report", tmp_path / "out" / "result.json", "--out", tmp_path / "page", "--kind", "release")
    assert "no release report" in line and not (tmp_path / "page").exists()


@pytest.mark.parametrize(
    "trick", ["no manifest", "altered", "another model", "a model that does not verify", "train rows"]
)
def test_other_rows_are_refused(place, model, tmp_path, capsys, trick):
    fake = tmp_path / "fake.csv"
    shutil.copy(place / "fake.csv", fake)
    shutil.copy(manifest.path_of(place / "fake.csv"), manifest.path_of(fake))
    if trick == "no manifest":
        manifest.path_of(fake).unlink()
    elif trick == "altered":
        fake.write_text(fake.read_text() + "1,Ayr,1,1\n")
    elif trick == "another model":
        edit(model / "certificate.json", lambda content: content.update())
    elif trick == "train rows":
        shutil.copy(place / "rows.csv", fake)
    else:
        (model / "certificate.txt").write_text("all is well")
    refused(capsys, *evaluation(place, tmp_path / "out", "--synthetic", fake, "--model-dir", model))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("train", [True, False])
def test_copies_turn_the_page_red_and_end_with_1(place, tmp_path, train):
    """A forged manifest does not help: rows that are training rows are seen for what they are."""
    fake = tmp_path / "fake.csv"
    shutil.copy(place / ("rows.csv" if train else "other.csv"), fake)
    manifest.write(fake, place / "model", 300)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "release.html").write_text("of an earlier run")
    words = ["--synthetic", fake, "--model-dir", place / "model", "--overwrite"]
    words += ["--train", place / "rows.csv"] if train else []
    assert cli.run(evaluation(place, tmp_path / "out", *words)) == 1
    assert not (tmp_path / "out" / "release.html").exists()
    assert 'class="banner stop" role="note">EXACT COPIES' in (tmp_path / "out" / "internal.html").read_text()
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    assert found["warnings"][0].startswith("EXACT COPIES: 100.0%")
    if train:
        assert found["diagnostics"]["distances"]["closer_than_holdout"]["mean"] == 1.0


def test_copies_of_rows_that_were_not_drawn_count_as_copies(place):
    """300 training rows against 30 held-out ones: only 30 training rows are drawn for distances."""
    from understudy.evaluate.metrics.diagnostics import compare
    from understudy.evaluate.table import prepare
    from understudy.schema import Schema

    schema = Schema.load(place / "rows.yaml")
    train, test = prepare(rows(300, 0), schema), prepare(rows(30, 1), schema)
    found = compare(train, test, [train], schema, 0)
    assert found.copied and found.distances.closer_than_holdout.mean == 1.0
    assert "30 training and 30 held-out rows" in found.notes[0]
    assert not compare(train, test, [prepare(rows(300, 2), schema)], schema, 0).copied


# -- small things ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [0, -1, 2**32, 10**40])
def test_seeds_of_any_size_are_taken_and_repeat(place, tmp_path, seed):
    for name in ("a.csv", "b.csv"):
        words = ["sample", f"{place}/model", "--rows", "3", f"--seed={seed}", "--out", str(tmp_path / name), "-q"]
        assert cli.run(words) == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_one_row_is_one_row_and_proposed_commands_are_quoted(place, tmp_path, capsys):
    out = tmp_path / "my rows.csv"
    assert cli.run(["sample", f"{place}/model", "--rows", "1", "--out", str(out)]) == 0
    assert "wrote 1 row to" in capsys.readouterr().out
    assert cli.run(["schema", "init", str(out), "--kind", "*=categorical", "--out", str(tmp_path / "a b.yaml")]) == 0
    assert f"schema check '{out}' --schema '{tmp_path / 'a b.yaml'}'" in capsys.readouterr().out
