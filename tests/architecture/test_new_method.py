"""CONTRIBUTING says what a new method takes: one folder and one registry row. Here somebody does it.

The folder `toy/` beside this file is copied out of the repository and put on the path; a plugin adds the row.
Conformance tests must then find the method by themselves and pass, in a process of their own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from understudy.methods.registry import METHODS

ROOT = Path(__file__).resolve().parents[2]
ROW = """
def pytest_load_initial_conftests():
    from understudy.methods.registry import METHODS, Row

    METHODS["toy"] = Row("toy.method:Toy", "toy.generator:ToyGenerator")
"""


def conformance(folder: Path) -> subprocess.CompletedProcess[str]:
    """The conformance tests of the method called toy."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-k",
        "toy",
        "-p",
        "toy_row",
        "-p",
        "no:cacheprovider",
        "tests/conformance",
    ]
    path = os.pathsep.join([str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        words,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_one_folder_and_one_row_make_a_method(tmp_path):
    shutil.copytree(Path(__file__).parent / "toy", tmp_path / "toy", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "toy_row.py").write_text(ROW)
    done = conformance(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = [line for line in done.stdout.splitlines() if " PASSED" in line]
    assert len(passed) >= 20, done.stdout
    assert all("[toy" in line for line in passed), done.stdout  # so that without the row there would be none of them
    assert "toy" not in METHODS  # the row was the plugin's
