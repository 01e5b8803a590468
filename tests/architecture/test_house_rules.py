"""Small rules that keep the tree honest: nothing unfinished, nothing bound to one machine."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".html", ".css", ".js", ""}

# Written in pieces, so that this file does not break its own rules.
RULES = {
    "unfinished": re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b"),
    "untested": re.compile(r"pytest\.(mark\.)?(" + "|".join(("sk" + "ip", "skip" + "if", "x" + "fail")) + r")\b"),
    "empty": re.compile("Not" + "ImplementedError"),
    "machine path": re.compile(r"(?<![\w./-])/(" + "|".join(("wo" + "rk", "tm" + "p", "ho" + "me")) + r")/(?!me/)\w"),
}


def files() -> list[Path]:
    """Files of the repository, or of the unpacked source when there is no repository."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = [file for part in ("src", "tests", "docs") for file in (ROOT / part).rglob("*")]
    return [file for file in found if file.is_file() and file.suffix in TEXT]


def broken(text: str, rule: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if RULES[rule].search(line)]


@pytest.mark.parametrize("rule", RULES)
def test_rule_holds_everywhere(rule):
    listed = files()
    assert any(file.name == "pyproject.toml" or file.suffix == ".py" for file in listed)
    found = {str(file.relative_to(ROOT)): broken(file.read_text("utf-8", errors="replace"), rule) for file in listed}
    assert not {file: lines for file, lines in found.items() if lines}


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("unfinished", "# " + "TO" + "DO later"),
        ("untested", "@pytest.mark." + "x" + "fail(strict=True)"),
        ("untested", "    pytest." + "sk" + "ip('no data')"),
        ("empty", "raise Not" + "ImplementedError"),
        ("machine path", 'open("/' + "tm" + 'p/file")'),
    ],
)
def test_rules_can_be_broken(rule, line):
    assert broken(line, rule) == [1]


def test_requirements_are_names_and_versions_only():
    for file in (ROOT / "requirements").glob("*.txt"):
        for line in file.read_text("utf-8").splitlines():
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line), f"{file.name}: {line}"


def flags_in_errors(source: str) -> list[int]:
    """Lines of texts in `raise` statements that name an option of the command line."""
    raised = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise)]
    texts = [part for node in raised for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return [t.lineno for t in texts if isinstance(t.value, str) and re.search(r"(?<![\w-])--[a-z]", t.value)]


def test_errors_of_the_library_name_arguments_and_not_flags():
    package = ROOT / "src" / "understudy"
    found = {
        str(file.relative_to(package)): flags_in_errors(file.read_text("utf-8"))
        for file in package.rglob("*.py")
        if file.relative_to(package).parts[0] != "cli"
    }
    assert not {file: lines for file, lines in found.items() if lines}
    assert flags_in_errors('raise ValueError(f"--rows {n} is too few")') == [1]
