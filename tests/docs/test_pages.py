"""The manual: links lead somewhere, every page is in the contents, every command is in the reference, tutorials run."""

import contextlib
import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from understudy.cli import run

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = ("generated", "project")
PAGES = sorted(file for file in DOCS.rglob("*.md") if file.relative_to(DOCS).parts[0] not in GENERATED)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s:]+)(?:#([^)\s]*))?\)")
QUICK = {  # what the tutorial leaves open, chosen for speed
    "plan": ["--method", "independent"],
    "fit": ["--method", "independent", "--force", "--quiet"],
    "evaluate": ["--metrics", "utility", "--jobs", "1", "--quiet"],
}


def module(name: str):
    """A file of docs/, which is no package."""
    found = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def anchors(file: Path) -> set[str]:
    titles = re.findall(r"(?m)^#+ (.*)$", file.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    text = re.sub(r"(?s)```.*?```", "", page.read_text("utf-8"))
    for target, place in LINK.findall(text):
        file = page.parent / target
        assert file.exists(), f"{page.name}: {target}"
        if place and file.suffix == ".md":
            assert place in anchors(file), f"{page.name}: {target}#{place}"


def test_every_page_is_reached_from_the_first(monkeypatch):
    reached, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page not in reached:
            reached.add(page)
            todo += [
                (page.parent / target).resolve()
                for target, _ in LINK.findall(page.read_text("utf-8"))
                if target.endswith(".md")
            ]
    assert set(PAGES) <= reached


def test_every_page_is_in_the_contents_of_the_manual(monkeypatch):
    """A page that stands nowhere in them ends `make docs`."""
    monkeypatch.setattr("sys.path", [str(DOCS), *sys.path])
    lines = module("conf").contents().splitlines()
    pages = [page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES]
    assert [page for page in pages if page != "index" and lines.count(page) != 1] == []


def test_every_command_and_option_is_in_the_reference():
    from understudy.cli._commands import COMMANDS, load

    text = module("reference").commands()
    for name in COMMANDS:
        for one in getattr(load(name), "commands", {"": load(name)}).values():
            assert all(
                param.opts[-1] in text
                for param in one.params
                if param.param_type_name == "option" and param.name != "help"
            )
        assert f"## understudy {name}\n" in text
    assert "understudy schema init" in text and "--max-rows N" in text


def test_every_public_name_is_in_the_reference():
    import understudy as us

    text = module("reference").api()
    assert [name for name in us.__all__ if name != "__version__" and f"## us.{name}\n" not in text] == []
    assert "## us.Schema\n" in text and "### Schema.load()" in text


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```$", (DOCS / page).read_text("utf-8"))


def follow(page: str, folder: Path, extra: dict[str, list[str]], quick: bool) -> dict[str, int]:
    """Do what the page says, block by block; the exit codes of its commands. Quick: a tenth of the rows."""
    codes = {}
    text = (DOCS / page).read_text("utf-8")
    text = re.sub(r"\b([1-9])000\b", r"\g<1>00", text) if quick else text
    with contextlib.chdir(folder):
        for language, body in re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", text):
            if language == "yaml":
                Path("patients.yaml").write_text(body, "utf-8")
            elif language == "python" and "import understudy" not in body:
                exec(body, {})
            for line in body.splitlines() if language == "sh" else ():
                words = shlex.split(line)
                if words[0] == "understudy":
                    codes[line] = run([*words[1:], *extra.get(words[1], [])])
    return codes


def check_tutorial(folder: Path, extra: dict[str, list[str]], quick: bool) -> None:
    codes = follow("tutorial.md", folder, extra, quick)
    assert len(codes) == 7 and set(codes.values()) == {0}, codes
    made = sorted(os.listdir(folder))
    assert {"patients.understudy", "synthetic.csv", "evaluation"} <= set(made)
    assert (folder / "synthetic.csv").read_text().count("\n") == (701 if quick else 7001)


def test_the_tutorial_runs(tmp_path):
    check_tutorial(tmp_path, QUICK, quick=True)


@pytest.mark.slow
def test_the_tutorial_runs_word_for_word(tmp_path):
    check_tutorial(tmp_path, {}, quick=False)


def test_the_dictionary_of_the_how_to_page_is_imported(tmp_path):
    from understudy.schema.text import parse_yaml

    (tmp_path / "dictionary.json").write_text(blocks("how-to/data-dictionary.md", "json")[0], "utf-8")
    with contextlib.chdir(tmp_path):
        (line,) = (line for line in blocks("how-to/data-dictionary.md", "sh")[0].splitlines())
        assert run(shlex.split(line)[1:]) == 0
    said = parse_yaml((tmp_path / "patients.yaml").read_text())["columns"]
    assert said["age"]["upper"] == 120 and said["sex"]["categories"] == ["m", "f"]
