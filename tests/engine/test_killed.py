"""An audit whose process is killed in the middle, workers and all, goes on with the batches that are there and ends the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import understudy
from understudy.audit.run import run_audit

HOW = {
    "runs": 1600,
    "batch": 10,
    "seed": 1,
    "target": "lonely",
    "attacks": ("likelihood-ratio",),
    "threats": ("wall-box",),
}
SCRIPT = f"""
import sys
from understudy.audit.run import run_audit
run_audit("independent", engine=sys.argv[1], folder=sys.argv[2], **{HOW!r})
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes:2", "ray:2"])
def test_an_audit_killed_half_way_ends_with_the_same_result(engine, tmp_path):
    whole = run_audit("independent", engine="inline", folder=tmp_path / "whole", **HOW)
    folder = tmp_path / "killed"
    ours = {**os.environ, "PYTHONPATH": str(Path(understudy.__file__).parents[1])}
    running = subprocess.Popen([sys.executable, "-c", SCRIPT, engine, str(folder)], env=ours, start_new_session=True)
    until = time.monotonic() + 300
    while len(list(folder.glob("batch-*.npz"))) < 20 and running.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = {file: file.stat().st_mtime_ns for file in folder.glob("batch-*.npz")}
    assert 20 <= len(kept) < 160  # in the middle
    again = run_audit("independent", engine=engine, folder=folder, **HOW)
    assert again.outcomes == whole.outcomes
    assert all(file.stat().st_mtime_ns == before for file, before in kept.items())  # not computed again
