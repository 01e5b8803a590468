"""What the pages name is there: files of the repository, modules, commands of the benchmarks with their options."""

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest
import typer

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "understudy"
PAGES = sorted(
    [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "how-to").glob("*.md"),
        *ROOT.glob("*.md"),
        *SOURCES.rglob("*.md"),
    ]
)
PAGES = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which names what there was
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
TOP = ("src/", "tests/", "benchmarks/", "docs/", "tools/", "release/", "deploy/", "requirements/", "understudy/")
USERS = {"wrapper.py", "synth.py"}  # that a reader writes
COMMAND = re.compile(r"python -m (benchmarks[\w.]*)([^`#>·|\n]*)")


def paths(text: str) -> list[str]:
    """Words in code that are paths of this repository, or names of its Python files."""
    words = [word.strip("(),;:") for code in CODE.findall(text) for word in code.split()]
    return [
        word
        for word in words
        if re.fullmatch(r"[\w./-]+", word) and (word.startswith(TOP) or word.endswith(".py")) and word not in USERS
    ]


def there(name: str, page: Path) -> bool:
    """A path from the root, from the sources, from the page, or the end of one in the sources."""
    places = (ROOT, SOURCES, SOURCES.parent, page.parent)
    return any((place / name).exists() for place in places) or any(SOURCES.rglob(name)) or any(ROOT.glob(f"*/{name}"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page):
    assert [name for name in paths(page.read_text("utf-8")) if not there(name, page)] == []


def test_a_file_that_is_not_there_is_noticed():
    named = paths("`private/nothing.py` and `tests/nowhere`, but `wrapper.py` and `patients.yaml`; `fit.py`")
    assert [name for name in named if not there(name, ROOT / "README.md")] == ["private/nothing.py", "tests/nowhere"]


# -- the map of the tree ---------------------------------------------------------------------------------------------------
def on_the_map() -> set[str]:
    """Files and folders that CONTRIBUTING's map has in the sources."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    lines = text.split("    src/understudy/\n")[1].split("    tools/")[0].splitlines()
    return {name.strip() for line in lines for name in re.split(r"\s{2,}", line.strip())[0].split(",")}


def test_the_map_has_every_module_and_nothing_else():
    modules = {path.stem for path in SOURCES.iterdir() if path.suffix in ("", ".py") and path.name[0] != "_"}
    named = {name.removesuffix(".py").rstrip("/") for name in on_the_map()}
    assert named == modules


# -- commands ----------------------------------------------------------------------------------------------------------------
def commands() -> list[tuple[str, str]]:
    """Module and words of every command that a page gives."""
    found = {one for page in PAGES for one in COMMAND.findall(page.read_text("utf-8"))}
    return sorted({(module.rstrip("."), words.strip()) for module, words in found})


class Asked(Exception):
    """Instead of parsing."""


def parser_of(module: str, monkeypatch) -> argparse.ArgumentParser:
    """The parser that a benchmark makes, caught before it parses."""

    def caught(self, *_):
        raise Asked(self)

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", caught)
    with pytest.raises(Asked) as found:
        importlib.import_module(module).main()
    return found.value.args[0]


def unknown(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """Options that a parser does not know, and words that are none of its commands."""
    known, wrong = set(parser._option_string_actions), []
    places = [action for action in parser._actions if not action.option_strings]
    values = [word for word in words if not word.startswith("-")]
    for action, value in zip(places, values, strict=False):
        if action.choices is not None and words[0] == value and value.islower():
            wrong += [value] if value not in action.choices else []
            if isinstance(action, argparse._SubParsersAction) and value in action.choices:
                known |= set(action.choices[value]._option_string_actions)
    return wrong + [word for word in words if word.startswith("--") and word not in known]


def words_of(text: str) -> list[str]:
    return [
        word.split("=")[0] if word.startswith("--") else word
        for word in shlex.split(re.sub(r"[\[\]]|\.\.\.", " ", text))
    ]


@pytest.mark.parametrize(("module", "text"), commands())
def test_commands_of_the_pages_are_understood(module, text, monkeypatch):
    words = words_of(text)
    if module == "benchmarks":
        from benchmarks.command import app

        group = typer.main.get_command(app)
        if words and words[0].islower():
            options = {option for param in group.commands[words[0]].params for option in param.opts}
            assert [word for word in words if word.startswith("--") and word not in options] == []
        return
    source = (ROOT / (module.replace(".", "/") + ".py")).read_text("utf-8")
    if "parse_args(" in source:
        assert unknown(parser_of(module, monkeypatch), words) == []
    else:  # reads its words itself
        assert all(f'"{word}"' in source for word in words if word.islower()), module


def test_an_option_that_is_not_there_is_noticed(monkeypatch):
    parser = parser_of("benchmarks.large_tables", monkeypatch)
    assert unknown(parser, ["show"]) == [] and unknown(parser, ["draw"]) == ["draw"]
    assert unknown(parser, ["make", "--rows", "N", "--size", "1"]) == ["--size"]
