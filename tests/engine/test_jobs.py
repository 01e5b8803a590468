"""Tasks map in order, report progress, stop when told, and go on without processes."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from understudy import engine
from understudy.engine.answer import attempt
from understudy.errors import UsageError
from understudy.methods.registry import method
from understudy.schema import Column, Schema


def square(x: int) -> int:
    return x * x


def fail_on_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


def rows_of_a_fit(rows: int) -> int:
    schema = Schema(columns=(Column(name="a", kind="categorical", categories=(0, 1)),))
    return len(method("independent")(epsilon=1.0).fit(pd.DataFrame({"a": [0, 1] * 50}), schema).sample(rows))


def doze(x: int) -> int:
    time.sleep(x)
    return os.getpid()


def give_up(parent: int) -> int:
    if os.getpid() != parent:
        os._exit(1)
    return 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_keep_the_order_and_progress_counts(jobs):
    seen = []
    found = engine.run_jobs(square, range(6), jobs=jobs, progress=lambda *step: seen.append(step), labels="abcdef")
    assert found == [0, 1, 4, 9, 16, 25]
    assert [s[0] for s in seen] == [1, 2, 3, 4, 5, 6] and {s[1] for s in seen} == {6}
    assert sorted(s[2] for s in seen) == list("abcdef")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exception_of_a_task_ends_the_map(jobs):
    with pytest.raises(ValueError, match="three"):
        engine.run_jobs(fail_on_three, range(5), jobs=jobs)


def test_cancel_ends_running_workers_at_once():
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(engine.Cancelled):
        engine.run_jobs(doze, [60, 60], jobs=2, cancel=cancel)
    assert time.monotonic() - start < 30


def test_work_goes_on_here_when_workers_die():
    with pytest.warns(RuntimeWarning, match="going on in one process"):
        assert engine.run_jobs(give_up, [os.getpid()] * 2, jobs=2) == [7, 7]


def test_nothing_to_do():
    assert engine.run_jobs(square, [], jobs=2) == []


PLAIN_SCRIPT = """
import math
from pathlib import Path
from understudy import engine

with Path("ran.txt").open("a") as log:
    log.write("body\\n")


def double(x):
    return 2 * x


if START == "engine":
    assert engine.run_jobs(math.sqrt, [1.0, 4.0, 9.0], jobs=2) == [1.0, 2.0, 3.0]
    assert engine.run_jobs(double, [1, 2], jobs=2) == [2, 4]
else:
    import multiprocessing

    worker = multiprocessing.get_context("spawn").Process(target=math.sqrt, args=(4.0,))
    worker.start()
    worker.join()
"""


@pytest.mark.parametrize(("start", "bodies"), [("engine", 1), ("spawn", 2)])
def test_workers_never_run_the_callers_script(tmp_path, start, bodies):
    """A script without a main guard: its body runs once. Control: plain spawned processes run it again."""
    (tmp_path / "script.py").write_text(PLAIN_SCRIPT.replace("START", repr(start)), encoding="utf-8")
    ours = {**os.environ, "PYTHONPATH": str(Path(engine.__file__).parents[2])}
    quiet = {"cwd": tmp_path, "env": ours, "stderr": subprocess.DEVNULL}
    subprocess.run([sys.executable, "script.py"], check=True, timeout=120, **quiet)
    assert (tmp_path / "ran.txt").read_text(encoding="utf-8").split() == ["body"] * bodies


def test_jobs_may_fit_but_pieces_of_a_table_may_not(monkeypatch):
    """A suite of fits runs in processes, each fit once; a script that workers read again, and closed work, spend nothing."""
    assert engine.run_jobs(rows_of_a_fit, [3, 5], jobs=2) == [3, 5]
    monkeypatch.setenv("UNDERSTUDY_WORKER", "1")
    assert attempt(rows_of_a_fit, False, 0, 4).value == 4
    failure = attempt(rows_of_a_fit, True, 0, 4).failure
    assert isinstance(failure, UsageError) and "worker process" in str(failure)
    with pytest.raises(UsageError, match="worker process"):
        rows_of_a_fit(4)
