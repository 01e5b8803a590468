"""`understudy audit` from the outside: exit codes, files, resuming, and commands of others."""

import inspect
import json
import sys

import numpy as np
import pandas as pd
import pytest

from understudy import cli
from understudy.audit.result import AuditResult, Bound, Outcome

GENERATOR = """
import pathlib, random, sys
source, target, rows, seed, count, log = sys.argv[1:7]
lines = pathlib.Path(source).read_text().splitlines()
draw = random.Random(int(seed))
log = pathlib.Path(log)
log.write_text((log.read_text() if log.exists() else "") + "start\\n")
if log.with_name("broken").exists() and log.read_text().count("start") > 1:
    sys.exit("no budget left")
for number in range(int(count)):
    kept = BODY
    pathlib.Path(target, f"{number}.csv").write_text("\\n".join([lines[0], *kept]) + "\\n")
"""
COPIES = "draw.choices(lines[1:], k=int(rows))"  # as far from keeping a secret as can be
COINS = "[','.join(draw.choice('01') for _ in range(3)) for _ in range(int(rows))]"  # does not look at the table


def command(folder, body):
    (folder / "generator.py").write_text(GENERATOR.replace("BODY", body))
    words = "{input} {output} {rows} {seed} {count}"
    return f"'{sys.executable}' '{folder / 'generator.py'}' {words} '{folder / 'log'}'"


def run(capsys, *words):
    capsys.readouterr()
    code = cli.run([str(word) for word in ("audit", *words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *words):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ") and err.count("\n") == 1
    return err


# -- an outside command, end to end -----------------------------------------------------------------------------------------
def test_a_generator_that_copies_rows_is_found_out(tmp_path, capsys):
    """100 + 100 runs, 40 + 40 of them tested; a perfect attack shows 2.16, so the claim of 1 is refuted for sure."""
    words = ["--external", command(tmp_path, COPIES), "--epsilon", "1", "--runs", "200", "--rows", "100", "--jobs", "1"]
    code, out, err = run(capsys, *words, "--out", tmp_path / "out")
    assert code == 1, err
    assert "VIOLATION FOUND" in out and "200/200" in err
    assert "By chance that happens in up to 5% of audits" in out and "another --seed, more --runs" in out
    result = AuditResult.load(tmp_path / "out" / "audit.json")
    assert result.method == "external command generator.py" and "{seed}" in result.options["command"]
    assert result.violated and result.outcomes[0].bound("clopper-pearson").epsilon > 2.0
    page = (tmp_path / "out" / "audit.html").read_text("utf-8")
    assert "Violation found" in page and "is found so by chance, too" in page
    assert not list((tmp_path / "out").glob("*.part"))


def test_an_interrupted_audit_goes_on_where_it_stopped(tmp_path, capsys):
    words = ["--external", command(tmp_path, COINS), "--epsilon", "1", "--runs", "50", "--rows", "20", "--jobs", "1"]
    words += ["--out", tmp_path / "out", "--seed", "3"]
    (tmp_path / "broken").write_text("")
    assert "no budget left" in refused_after_progress(capsys, *words)
    assert len(list((tmp_path / "out" / "batches").glob("batch-*.npz"))) == 1
    assert not (tmp_path / "out" / "audit.json").exists()
    assert "--resume" in refused(capsys, *words)
    (tmp_path / "broken").unlink()
    code, out, err = run(capsys, *words, "--resume", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found == json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert found["violated"] is False and found["fits"] == 50
    assert (tmp_path / "log").read_text().count("start") == 3  # one batch before, one that failed, one after
    page = (tmp_path / "out" / "audit.html").read_text("utf-8")
    assert "No violation found by these attacks" in page
    # The same folder serves another audit only if the old one is thrown away.
    other = [word if word != "3" else "4" for word in words]
    assert "another audit" in refused(capsys, *other, "--resume")
    changed = [word + " more" if isinstance(word, str) and "{input}" in word else word for word in words]
    assert "another audit" in refused(capsys, *changed, "--resume")
    assert run(capsys, *other, "--overwrite", "--quiet")[0] == 0


def refused_after_progress(capsys, *words):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    return err.splitlines()[-1]


def test_a_command_that_fixes_its_seed_is_mentioned(tmp_path, capsys):
    words = [
        "--external",
        command(tmp_path, "lines[1:2]"),
        "--epsilon",
        "1",
        "--runs",
        "50",
        "--rows",
        "1",
        "--jobs",
        "1",
    ]
    _, out, _ = run(capsys, *words, "--out", tmp_path / "out")
    assert "note: 25 runs on the same input wrote the same table" in out


# -- our own methods ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def asked(monkeypatch):
    """What the command asks of the library; the audit itself is tested elsewhere."""
    from understudy.audit import run as library

    calls, real = [], inspect.signature(library.run_audit)

    def fake(method, **asked):
        real.bind(method, **asked)  # what is asked is what the library takes
        calls.append({"method": method} | asked)
        asked["progress"]({"stage": "forecast", "done": 0, "runs": asked["runs"], "seconds": (400.0, 3600.0)})
        asked["progress"]({"stage": "fits", "done": asked["runs"], "runs": asked["runs"]})
        high = method == "mst"
        bound = Bound(
            kind="clopper-pearson",
            epsilon=2.0 if high else 0.5,
            upper=None,
            confidence=0.95,
            largest=4.7,
            frequentist=True,
            detail="made up",
        )
        outcome = Outcome(
            threat="black-box",
            attack="querybased",
            target=str(asked["target"]),
            runs=asked["runs"],
            test_runs=asked["runs"] // 2,
            bounds=(bound,),
            roc=((0.0, 0.0), (1.0, 1.0)),
            violated=high,
        )
        return AuditResult(
            method=method,
            options=asked["options"],
            epsilon=asked["epsilon"],
            delta=asked["delta"],
            claim="made up",
            outcomes=(outcome,),
            fits=asked["runs"],
            seconds=1.0,
            fits_per_second=2000.0,
            versions={},
        )

    monkeypatch.setattr(library, "run_audit", fake)
    return calls


def test_the_line_of_the_readme(tmp_path, capsys, asked):
    words = [
        "--method",
        "pate-gan",
        "--epsilon",
        "1",
        "--attack",
        "querybased",
        "--target",
        "worst-case",
        "--runs",
        "2000",
    ]
    code, out, err = run(capsys, *words, "--set", "teachers=2", "--out", tmp_path / "audit")
    assert code == 0, err
    assert "no violation found by these attacks" in out and "VIOLATION" not in out
    assert "2,000 shadow fits will take about 7 minutes to 60 minutes" in err
    assert {"audit.json", "audit.html"} <= {file.name for file in (tmp_path / "audit").iterdir()}
    call = asked[0]
    assert (call["method"], call["epsilon"], call["delta"], call["runs"]) == ("pate-gan", 1.0, 1e-5, 2000)
    assert call["options"] == {"teachers": 2} and call["threats"] == ["black-box"] and call["target"] == "worst-case"


def test_a_bound_above_the_claim_is_exit_code_1(tmp_path, capsys, asked):
    code, out, _ = run(capsys, "--method", "mst", "--epsilon", "1", "--out", tmp_path / "audit", "--json")
    assert code == 1 and json.loads(out)["violated"] is True


def test_attacks_bring_the_threat_model_they_need(tmp_path, capsys, asked):
    words = ["--epsilon", "1", "--attack", "likelihood-ratio", "--attack", "groundhog", "--target", "made"]
    assert run(capsys, *words, "--out", tmp_path / "audit")[0] == 0
    assert asked[0]["threats"] == ["wall-box", "black-box"] and asked[0]["attacks"] == ["likelihood-ratio", "groundhog"]
    assert asked[0]["target"] == "lonely"


def test_a_record_needs_its_table(tmp_path, capsys, asked):
    frame = pd.DataFrame({"a": np.arange(5) / 10})
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.yaml").write_text("understudy: schema\ncolumns:\n  a: {kind: continuous, lower: 0, upper: 1}\n")
    table = ["--data", tmp_path / "t.csv", "--schema", tmp_path / "t.yaml"]
    assert run(capsys, "--epsilon", "1", "--target", "record", *table, "--out", tmp_path / "a")[0] == 0
    assert asked[0]["attacks"] == ["groundhog"] and asked[0]["schema"] is not None
    assert "--data" in refused(capsys, "--epsilon", "1", "--target", "record", "--out", tmp_path / "b")
    assert "--target record" in refused(capsys, "--epsilon", "1", *table, "--out", tmp_path / "c")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "--epsilon"),
        (["--epsilon", "0"], "no claim"),
        (["--epsilon", "1", "--delta", "1"], "no claim"),
        (["--epsilon", "1", "--runs", "10"], "--runs"),
        (["--epsilon", "1", "--resume"], "without --resume"),
        (["--epsilon", "1", "--external", "x {input} {output}", "--set", "a=1"], "--set"),
        (["--epsilon", "1", "--external", "x {input}"], "--external: the command has no {output}"),
        (["--epsilon", "1", "--attack", "nonsense"], "nonsense"),
        (["--epsilon", "1", "--target", "nonsense"], "nonsense"),
        (["--epsilon", "1", "--method", "nonsense"], "nonsense"),
        (["--epsilon", "1", "--set", "nonsense=1"], "nonsense"),
        (["trace", "--epsilon", "1"], "--public-data"),
        (["trace", "--epsilon", "1", "--public-data"], "--data"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing_behind(tmp_path, capsys, words, hint):
    assert hint in refused(capsys, *words, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- trace --------------------------------------------------------------------------------------------------------------------
def test_trace_writes_a_page_that_says_what_it_is(tmp_path, capsys, monkeypatch):
    from understudy.audit import trace as library

    seen = {}

    def fake(method, data, schema, **asked):
        seen.update(asked, method=method, data=data)
        asked["progress"](2, 2)
        good = asked["epsilon"] == 1.0
        return library.Trace(
            method=method,
            options={"teachers": 5},
            epsilon=asked["epsilon"],
            delta=asked["delta"],
            rounds=2,
            rows=10,
            teachers=(library.TeacherRows(group=0, teacher=0, dealt=10, seen=10, shared=0),),
            losses=((1, 0.5, 0.6), (2, 0.4, 0.5)),
            accountant=((0, 0.1, 0.1), (2, 1.0, 0.999)),
            moments=(),
            checks=(library.Check(name="accountant", passed=good, detail="made up"),),
            versions={},
        )

    monkeypatch.setattr(library, "trace", fake)
    (tmp_path / "t.csv").write_text("a\n0.5\n")
    (tmp_path / "t.yaml").write_text("understudy: schema\ncolumns:\n  a: {kind: continuous, lower: 0, upper: 1}\n")
    table = ["--data", tmp_path / "t.csv", "--schema", tmp_path / "t.yaml", "--public-data"]
    code, out, err = run(capsys, "trace", *table, "--epsilon", "1", "--out", tmp_path / "trace")
    assert code == 0, err
    assert "public data" in out and seen["method"] == "pate-gan"
    assert "never make it from private rows" in (tmp_path / "trace" / "trace.html").read_text("utf-8")
    code, out, _ = run(capsys, "trace", *table, "--epsilon", "2", "--out", tmp_path / "wrong", "--json")
    assert code == 1 and json.loads(out)["passed"] is False


def test_a_long_audit_says_once_how_long_the_rest_will_take(capsys):
    from understudy.cli.audit import steps

    for silent, left, said in ((False, 7300.0, "about 2 hours"), (False, 30.0, ""), (True, 7300.0, "")):
        done = []
        tell = steps(done.append, silent)
        for fits, eta in ((0, None), (200, left), (400, left)):
            tell({"done": fits, "eta": eta})
        err = capsys.readouterr().err
        assert sum(done) == 400 and err.startswith(said) and err.count("--resume goes on") == bool(said)
