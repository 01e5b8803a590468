"""Install a built package into an empty environment and use it: `python release/check.py dist/*.whl`.

The base install alone, with pinned versions: draft, plan, fit, sample and verify on a made-up table. Prints what it weighs and
how long it took from `pip install` to the first synthetic rows; code 1 if something fails or it weighs too much.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# MB. 700 was aimed at and cannot be had: JAX with the SciPy and NumPy that it requires is 544, OpenDP's exact noise 276,
# pyarrow 171, pandas 44. `make dist` prints the weight of every package; docs/install.md says what each is for.
LIMIT = 1_150
SHOWN = 5  # MB; what weighs less is added up
TABLE = "age,sex,ill\n" + "".join(f"{18 + i % 70},{'mf'[i % 2]},{'true' if i % 3 else 'false'}\n" for i in range(2000))
SCHEMA = """\
understudy: schema
label: {column: ill}
columns:
  age: {kind: integer, lower: 0, upper: 120}
  sex: {kind: categorical, categories: [m, f]}
  ill: {kind: boolean}
"""
STEPS = (
    ["--version"],
    ["schema", "init", "people.csv", "--out", "draft.yaml"],
    ["plan", "people.yaml", "--epsilon", "1", "--rows", "2000"],
    ["fit", "people.csv", "--schema", "people.yaml", "--epsilon", "1", "--out", "model", "--method", "mst", "--quiet"],
    ["sample", "model", "--rows", "1000", "--out", "synthetic.csv", "--quiet"],
    ["certificate", "verify", "model"],
)


def main(package: Path) -> int:
    """Exit code 0 if the package installs, works and is light enough."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        site = Path(_run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], place).strip())
        empty, started = _weight(site), time.monotonic()
        pins = ROOT / "requirements" / "runtime.txt"
        _run([python, "-m", "pip", "install", "-qq", "--no-input", "--no-cache-dir", "-c", pins, package], place)
        installed = time.monotonic() - started
        weight = _weight(site) - empty
        (place / "people.csv").write_text(TABLE, "utf-8")
        (place / "people.yaml").write_text(SCHEMA, "utf-8")
        for step in STEPS:
            _run([python.with_name("understudy"), *step], place)
            if step[0] == "sample":
                rows = time.monotonic() - started
        assert (place / "synthetic.csv").read_text("utf-8").count("\n") == 1001
        print(f"{package.name}: {weight / 1e6:.0f} MB installed (limit {LIMIT})")  # noqa: T201
        print("\n".join(weights(python, place)))  # noqa: T201
        print(f"installed in {installed:.0f} s, first synthetic rows after {rows:.0f} s")  # noqa: T201
        return 0 if weight / 1e6 < LIMIT else 1


def _run(words: list[object], place: Path) -> str:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }  # the package, not a clone
    done = subprocess.run([str(word) for word in words], cwd=place, capture_output=True, text=True, env=clean)
    if done.returncode:
        sys.exit(f"failed: {' '.join(str(word) for word in words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _weight(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


OF_EACH = """
import importlib.metadata as packages, json
found = {}
for one in packages.distributions():
    files = [one.locate_file(file) for file in one.files or () if "__pycache__" not in str(file)]
    found[one.name] = sum(file.stat().st_size for file in map(__import__("pathlib").Path, files) if file.is_file())
print(json.dumps(found))
"""


def weights(python: Path, place: Path) -> list[str]:
    """The weight of every package that was installed, the heaviest first; those below `SHOWN` megabytes together."""
    found = {name: size for name, size in json.loads(_run([python, "-c", OF_EACH], place)).items() if name != "pip"}
    heavy = sorted(((size, name) for name, size in found.items() if size >= SHOWN * 1e6), reverse=True)
    rest = sum(found.values()) - sum(size for size, _ in heavy)
    lines = [f"  {name:<16}{size / 1e6:>6.0f} MB" for size, name in heavy]
    return [*lines, f"  {len(found) - len(heavy)} others{'':<{7}}{rest / 1e6:>6.0f} MB"]


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).resolve()))
