"""The three verbs give the same on every back end; what is no answer is refused; what goes wrong says nothing about rows."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from tests.engine import work
from understudy.engine import Engine, Inline, Refused, exact, made, opened
from understudy.engine.answer import Answer, attempt
from understudy.engine.choice import by_name
from understudy.errors import UsageError

PIECES = [range(first, first + 10) for first in range(0, 200, 10)]


@pytest.fixture(scope="module", params=["inline", "processes:2"])
def engine(request):
    with opened(request.param) as running:
        yield running


def test_sums_are_those_of_one_process(engine):
    told = []
    found = engine.sum_over_partitions(work.count, PIECES, work.zeros, lambda: told.append(1))
    assert found.tolist() == [67, 67, 66] and len(told) == len(PIECES)


def test_partitions_come_in_their_order(engine):
    assert list(engine.map_partitions(work.square, range(40))) == [x * x for x in range(40)]


@pytest.mark.parametrize("wrong", [work.wrong_shape, work.floats, work.texts])
def test_what_cannot_be_a_sum_is_refused(engine, wrong):
    with pytest.raises(Refused) as caught:
        engine.sum_over_partitions(wrong, PIECES[:3], work.zeros)
    assert "refused" in str(caught.value) and not any(digit in str(caught.value) for digit in "0123456789")


def test_counts_of_texts_must_be_whole():
    assert exact.problem(Counter(a=2), Counter()) == ""
    assert exact.problem(Counter(a=0.5), Counter()) and exact.problem({"a": 2}, Counter())
    assert exact.problem({(0,): np.zeros(2, np.int64)}, {(1,): np.zeros(2, np.int64)})


class Twice(Inline):
    """A back end that delivers one answer again, as a network may."""

    def answers(self, function, tasks, **how):
        for answer in super().answers(function, tasks, **how):
            yield answer
            if answer.number == 1:
                yield answer


class Lossy(Inline):
    """A back end that loses an answer."""

    def answers(self, function, tasks, **how):
        return (answer for answer in super().answers(function, tasks, **how) if answer.number != 1)


class Trusting(Engine):
    """WRONG: adds up whatever comes, without looking whether it came before."""

    name = "inline"
    answers = Twice.answers

    def sum_over_partitions(self, question, partitions, start, told=None):
        found = Twice().answers(question, partitions, closed=True, ahead=1)
        return exact.together(start(), (answer.value for answer in found))


@pytest.mark.parametrize("faulty", [Twice, Lossy])
def test_every_piece_counts_once(faulty):
    with pytest.raises(Refused):
        faulty().sum_over_partitions(work.count, PIECES, work.zeros)


def test_counting_a_piece_twice_is_caught():
    """The mutant's sum differs, so that a release would."""
    assert Trusting().sum_over_partitions(work.count, PIECES, work.zeros).tolist() != [67, 67, 66]


def test_failures_on_partitions_say_nothing_about_rows():
    with opened("processes:2") as engine:
        with pytest.raises(RuntimeError) as caught:
            engine.sum_over_partitions(work.blurt, PIECES[:2], work.zeros)
        assert work.SECRET not in repr(caught.value) and "stays charged" in str(caught.value)
        with pytest.raises(UsageError, match=r"table 'rows\.parquet' is not there"):
            engine.sum_over_partitions(work.missing_file, PIECES[:2], work.zeros)


def test_passing_exceptions_on_is_caught():
    """Mutant: an open answer, as jobs get it, has the words of the exception."""
    assert work.SECRET in repr(attempt(work.blurt, False, 0, PIECES[0]))
    assert work.SECRET not in repr(attempt(work.blurt, True, 0, PIECES[0]))


def test_a_worker_that_dies_costs_its_piece_and_nothing_else(tmp_path):
    tasks = [(str(tmp_path / "died"), number) for number in range(6)]
    with opened("processes:2") as engine:
        found = engine.sum_over_partitions(work.die_once, tasks, work.zeros)
        assert (tmp_path / "died").exists() and found.tolist() == [15] * 3


def test_workers_end_with_the_engine_and_others_do_not(tmp_path):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with opened("processes:2") as engine:
            pids = set(engine.map_jobs(work.pid, range(8)))
            assert os.getpid() not in pids
        assert all(gone(pid) for pid in pids)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


ORPHANS = """
import sys
from tests.engine import work
from understudy.engine import made
running = made("processes:2")
print(*set(running.map_jobs(work.pid, range(8))), flush=True)
sys.stdin.read()
"""


def test_workers_of_a_killed_parent_end_themselves():
    path = os.pathsep.join([str(Path(__file__).parents[2] / "src"), str(Path(__file__).parents[2])])
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHANS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert parent.stdout is not None and parent.stdin is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    parent.stdin.close()
    assert pids and all(gone(pid) for pid in pids)


def gone(pid: int) -> bool:
    """Within twenty seconds."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


# -- names -------------------------------------------------------------------------------------------------------------
def test_engines_by_name(monkeypatch):
    monkeypatch.delenv("UNDERSTUDY_ENGINE", raising=False)
    assert made("inline").name == "inline" and made("processes:3").workers == 3 and by_name("ray:5").workers == 5
    assert by_name("ray@10.0.0.1:6379").address == "10.0.0.1:6379"
    assert made().by_default and not made("inline").by_default
    monkeypatch.setenv("UNDERSTUDY_ENGINE", "processes:7")
    assert made().workers == 7 and not made().by_default and made("inline").name == "inline"


@pytest.mark.parametrize(
    "name", ["", "dask", "inline:2", "processes:0", "processes:-1", "processes:x", "processes@here:1", "ray:2@here:1"]
)
def test_unknown_engines_are_refused_in_one_line(name):
    with pytest.raises(UsageError, match="engine") as caught:
        by_name(name)
    assert "\n" not in str(caught.value)


def test_a_ray_without_tokens_is_refused(monkeypatch):
    monkeypatch.setattr("understudy.engine.cluster.version", lambda _: "2.51.3")
    with pytest.raises(UsageError, match=r"2\.52 or later"):
        by_name("ray")

    def nothing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("understudy.engine.cluster.version", nothing)
    with pytest.raises(UsageError, match="pip install"):
        by_name("ray")


@pytest.mark.parametrize("mode", ["disabled", "token"])
def test_a_cluster_without_a_token_is_refused(mode, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="without a token"):
        by_name("ray@127.0.0.1:1").map_jobs(work.square, [1])


def test_answers_have_no_default_contents():
    assert Answer(3) == Answer(3, None, None)
