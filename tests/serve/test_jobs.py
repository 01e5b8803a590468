"""Commands beside the page: progress is read from their lines, cancel is Ctrl-C, and how they ended is told truly."""

import json
import signal
import subprocess
import sys
import time

import pytest

from understudy.errors import UsageError
from understudy.progress import FitProgress
from understudy.serve import jobs
from understudy.serve.jobs import PROGRESS, Jobs

SLOW = "import sys, time\nprint('learning 3/12, epsilon 0.25 spent of 1', file=sys.stderr, flush=True)\ntime.sleep(60)"
ORDERLY = f"""
try:
    exec({SLOW!r})
except KeyboardInterrupt:
    print("stopped; x holds private state", file=sys.stderr)
    raise SystemExit(130)
"""


@pytest.fixture(autouse=True)
def listening():
    """The page's server handles SIGINT, so its children begin with the default. A pytest that a script started in the background
    ignores it, and a child would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(monkeypatch):
    """Jobs whose command is a line of Python instead of `understudy`."""
    real, made = subprocess.Popen, Jobs()
    monkeypatch.setattr(jobs.subprocess, "Popen", lambda words, **rest: real([sys.executable, "-c", words[-1]], **rest))
    yield lambda code: made.start("0/people.csv", ["fit", code])
    made.close()


def settled(job, seconds=30.0):
    end = time.monotonic() + seconds
    while job.code is None and time.monotonic() < end:
        time.sleep(0.02)
    return job


def said(job):
    end = time.monotonic() + 30
    while job.progress()["stage"] == "starting" and time.monotonic() < end:
        time.sleep(0.02)
    return job.progress()


def test_the_lines_of_a_fit_are_understood(capsys):
    progress = FitProgress(1.0)
    progress({"stage": "rounds", "round": 3, "rounds": 1200, "epsilon_spent": 0.25})
    progress({"stage": "question", "purpose": "class histogram", "share": 0.5, "epsilon_spent": 0.3})
    progress({"stage": "read"})
    lines = capsys.readouterr().err.splitlines()
    found = [PROGRESS.fullmatch(line) for line in lines]
    assert all(found) and len(found) == 3
    assert (found[0]["stage"], found[0]["done"], found[0]["total"], found[0]["spent"]) == (
        "learning",
        "3",
        "1,200",
        "0.25",
    )
    assert found[1]["stage"] == "asking: class histogram" and found[2]["stage"] == "reading the table"


def test_progress_and_result(run):
    job = run("import sys; print('learning 3/1,200, epsilon 0.25 spent of 1', file=sys.stderr); print('wrote it')")
    told = settled(job).progress()
    assert told["state"] == "done" and (told["done"], told["total"], told["spent"], told["planned"]) == (
        3,
        1200,
        "0.25",
        "1",
    )
    assert job.output() == ["wrote it"] and job.messages() == []


@pytest.mark.parametrize(("code", "state"), [(1, "no"), (2, "failed"), (70, "failed"), (130, "stopped")])
def test_how_it_ended(run, code, state):
    job = settled(run(f"import sys; print('error: x', file=sys.stderr); sys.exit({code})"))
    assert job.state == state and job.messages() == ["error: x"]


def test_cancel_lets_the_command_end_in_order(run):
    job = run(ORDERLY)
    assert said(job)["state"] == "running"
    job.cancel()
    assert settled(job).state == "stopped" and job.messages() == ["stopped; x holds private state"]


def test_one_command_at_a_time_for_a_table(run):
    job = run(SLOW)
    with pytest.raises(UsageError, match="still running"):
        run(SLOW)
    job.process.kill()


def test_output_without_end_is_cut(run, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_OUTPUT", 100)
    job = settled(run("print('x' * 1000 + '\\nlast')"))
    assert job.output()[-1] == "last" and sum(map(len, job.output())) <= 100


def test_events_tell_until_the_end(visitor, site, monkeypatch):
    real = subprocess.Popen
    monkeypatch.setattr(jobs.subprocess, "Popen", lambda words, **rest: real([sys.executable, "-c", words[-1]], **rest))
    site.jobs.start("0/people.csv", ["fit", SLOW.replace("60", "1")])
    answer = visitor.client.get("/events", params={"table": "0/people.csv"})
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert events[0]["state"] == "running" and events[-1]["state"] == "done" and events[-1]["spent"] == "0.25"


def test_a_module_in_the_data_folder_is_never_imported(folder, monkeypatch):
    """`python -m` would take numpy.py from the folder it is started in."""
    (folder / "typer.py").write_text("raise SystemExit(99)")
    monkeypatch.chdir(folder)
    made = Jobs()
    assert settled(made.start("0/people.csv", ["--version"])).state == "done"
    made.close()


@pytest.mark.parametrize(
    ("line", "stage", "done", "total"),
    [("sampling 5,000/10,000", "sampling", 5000, 10_000), ("9/22 setting B: gbm", "setting B: gbm", 9, 22)],
)
def test_what_is_not_charged_tells_its_steps_too(run, line, stage, done, total):
    job = settled(run(f"import sys; print({line!r}, file=sys.stderr)"))
    told = job.progress()
    assert (told["stage"], told["done"], told["total"], told["spent"]) == (stage, done, total, "0")
    assert job.messages() == []
