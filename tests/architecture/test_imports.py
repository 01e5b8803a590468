"""The tree draws the boundary and this keeps it: import contracts, no pickle, nothing machine-bound."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import grimp
import pytest

import understudy

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "understudy"
LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"

UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal"}
UNSAFE_CALLS = {"eval", "exec", "read_pickle", "to_pickle", "torch.load", "joblib.load", "joblib.dump"}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, 'src'); {LINT}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_import_contracts_hold():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def public_side() -> list[str]:
    """The modules that the contract names."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return next(contract["source_modules"] for contract in contracts if contract["id"] == "public-side")


def test_every_public_file_of_a_method_is_under_the_contract():
    """What never comes to the door today is named, so that it cannot begin to unseen; `CONTRIBUTING.md` asks for it."""
    graph = grimp.build_graph("understudy", cache_dir=None)
    folders = ("understudy.methods.", "understudy.measure.", "understudy.sampling.", "understudy.infer.")
    wall = {name for name in graph.modules if name.startswith("understudy.private")}
    files = {name for name in graph.modules if name.startswith(folders) and not graph.find_children(name)}
    private = {name for name in files if graph.find_upstream_modules(name) & wall}
    public = public_side()
    named = {
        name for name in files if any(name == one or name.startswith(f"{one}.") or fnmatch(name, one) for one in public)
    }
    assert len(files) > 60 and len(private) > 30
    assert files - private - named == set(), "add these to the contract public-side of pyproject.toml"


def test_every_generator_is_under_the_contract():
    """Generators live beside their methods, which do come to the door; the contract names each file that must not."""
    public = public_side()
    rows = {row.generator.split(":")[0] for row in understudy.METHODS.values()}
    files = {
        ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
        for file in (SOURCE / "methods").rglob("generator*.py")
    }
    assert rows <= files and len(files) > 5
    assert not [file for file in files if not any(fnmatch(file, pattern) for pattern in public)]


def test_loading_a_generator_does_not_load_the_private_side():
    """Whoever samples from an artifact runs post-processing only: folders of methods import nothing by themselves."""
    code = (
        "import sys, understudy, understudy.artifact\n"
        "from understudy.methods.registry import METHODS, generator\n"
        "assert all(generator(name) for name in METHODS)\n"
        "print([name for name in sys.modules if name.startswith('understudy.private')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


# Each is the only offence of its module, and nobody imports it: a run over all of them names every one that it would name alone.
BREACHES = [
    ("schema/breach_{}.py", "from understudy.private import table"),
    ("accounting/breach_{}.py", "from understudy import schema"),
    ("methods/breach_{}/generator.py", "import understudy.private"),
    ("methods/breach_{}/generator.py", "from understudy.measure import one_way"),
    ("measure/breach_{}.py", "import understudy.methods.registry"),
    ("questions/breach_{}.py", "from understudy.private import blocks"),
    ("private/breach_{}.py", "from understudy.methods.gradients import generator"),
    ("private/mechanisms/breach_{}.py", "import understudy.methods.marginals.mst"),
    ("evaluate/breach_{}.py", "import understudy.private.table"),
    ("report/breach_{}.py", "def late():\n    import understudy.private.table"),
    ("schema/breach_{}.py", "import jax"),
    ("accounting/breach_{}.py", "import pandas"),
    ("cli/breach_{}.py", "import understudy.private.table"),
    ("infer/breach_{}.py", "import understudy.fit"),
    ("sampling/breach_{}.py", "from understudy.private import table"),
    ("adviser/breach_{}.py", "import understudy.plan"),
]


@pytest.fixture(scope="module")
def breached(tmp_path_factory) -> str:
    """What is said of a tree with all of them."""
    place = tmp_path_factory.mktemp("breached")
    shutil.copytree(SOURCE, place / "src" / "understudy", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    for number, (file, line) in enumerate(BREACHES):
        breach = place / "src" / "understudy" / file.format(number)
        if not breach.parent.exists():
            breach.parent.mkdir()
            (breach.parent / "__init__.py").touch()
        breach.write_text(line + "\n")
    done = lint(place)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(BREACHES)), ids=[f"{file}-{line}" for file, line in BREACHES])
def test_a_breach_is_noticed(breached, number):
    assert re.search(rf"breach_{number}\b", breached), breached


def unsafe(code: str) -> list[str]:
    """Whatever in `code` could run code that came in a file."""
    found = []
    tree = ast.parse(code)
    safe = {"yaml.SafeLoader"} | {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["yaml.SafeLoader"]
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in UNSAFE_MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in UNSAFE_MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in UNSAFE_CALLS or name.rsplit(".", 1)[-1] in {"read_pickle", "to_pickle"}:
                found.append(name)
            if name == "yaml.load" and not any(
                w.arg == "Loader" and ast.unparse(w.value) in safe for w in node.keywords
            ):
                found.append(name)
            found += [word.arg for word in node.keywords if word.arg == "allow_pickle" and not _is_false(word.value)]
    return found


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_no_pickle_in_the_sources():
    files = [file for folder in (SOURCE, ROOT / "benchmarks") for file in folder.rglob("*.py")]
    found = {str(file.relative_to(ROOT)): unsafe(file.read_text("utf-8")) for file in files}
    assert found
    assert not {file: names for file, names in found.items() if names}


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import cloudpickle as c",
        "import numpy as np\nnp.load('f', allow_pickle=True)",
        "import pandas as pd\npd.read_pickle('f')",
        "eval('1')",
        "import yaml\nyaml.load('a')",
        "import yaml\nyaml.load('a', Loader=yaml.UnsafeLoader)",
    ],
)
def test_unsafe_loading_is_noticed(code):
    assert unsafe(code)
