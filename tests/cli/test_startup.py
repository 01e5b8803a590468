"""`understudy --help` answers without the heavy imports, however the commands grow."""

import os
import subprocess
import sys

import pytest

HEAVY = ("jax", "jaxlib", "pandas", "sklearn", "numpy", "pyarrow", "scipy", "opendp", "dp_accounting")

PROBE = """
import sys
from understudy.cli import run
code = run(sys.argv[1:])
print("HEAVY", *[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
raise SystemExit(code)
"""


def probe(*args: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a fresh interpreter and report which heavy packages it imported."""
    return subprocess.run(
        [sys.executable, "-c", PROBE.format(heavy=HEAVY), *args], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["--version"],
        ["schema", "--help"],
        ["plan", "--help"],
        ["fit", "--help"],
        ["sample", "--help"],
        ["certificate", "--help"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(args):
    done = probe(*args)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr.splitlines()[-1] == "HEAVY"


def test_the_probe_notices_a_heavy_import():
    code = "import numpy\n" + PROBE.format(heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, timeout=60)
    assert "numpy" in done.stderr.splitlines()[-1]


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, understudy, understudy.cli; print([n for n in {HEAVY!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_help_lists_the_commands_that_exist():
    listing = probe("--help").stdout
    for name in ("schema", "plan", "fit", "sample", "certificate"):
        assert f" {name} " in listing


def test_module_and_script_are_the_same_program():
    done = subprocess.run([sys.executable, "-m", "understudy", "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("understudy ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("understudy fi", "fit"), ("understudy schema ch", "check"), ("understudy fit --meth", "--method"),
     ("understudy fit --method mst", "mst")],
)  # fmt: skip
def test_a_shell_completes_commands_options_and_methods(typed, offered):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "understudy"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | words | {"_UNDERSTUDY_COMPLETE": "complete_bash"},
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [offered], "")
