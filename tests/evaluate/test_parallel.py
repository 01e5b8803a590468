"""Tasks map in order, report progress, stop when told, and go on without processes."""

import os
import threading
import time

import pytest

from understudy import parallel


def square(x: int) -> int:
    return x * x


def fail_on_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


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
    found = parallel.run(square, range(6), jobs=jobs, progress=lambda *step: seen.append(step), labels="abcdef")
    assert found == [0, 1, 4, 9, 16, 25]
    assert [s[0] for s in seen] == [1, 2, 3, 4, 5, 6] and {s[1] for s in seen} == {6}
    assert sorted(s[2] for s in seen) == list("abcdef")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exception_of_a_task_ends_the_map(jobs):
    with pytest.raises(ValueError, match="three"):
        parallel.run(fail_on_three, range(5), jobs=jobs)


def test_cancel_ends_running_workers_at_once():
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(parallel.Cancelled):
        parallel.run(doze, [60, 60], jobs=2, cancel=cancel)
    assert time.monotonic() - start < 30


def test_work_goes_on_here_when_workers_die():
    with pytest.warns(RuntimeWarning, match="going on in one process"):
        assert parallel.run(give_up, [os.getpid()] * 2, jobs=2) == [7, 7]


def test_nothing_to_do():
    assert parallel.run(square, [], jobs=2) == []
