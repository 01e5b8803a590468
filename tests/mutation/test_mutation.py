"""The mutation tool itself, on a toy package: what it changes, what it leaves alone, what it says of a test that looks away."""

import json
from functools import cache
from pathlib import Path

import pytest

from .mutate import Mutant, candidates, find
from .reach import HERE, Project, Reach, record, state
from .trial import Tried, named, sample, table, try_all

TOY = '''"""Toy."""

import math

LIMIT = 3


def both(a: int | None, b: float = 0.5) -> float:
    if a is None or not b:
        raise ValueError(f"{a + 1} is no number")
    return math.ceil(
        a
        * b
    )


def capped(x: int) -> int:
    return min(x, LIMIT)


def unseen(x: int) -> int:
    return x - 1
'''
TESTS = """import toy

def test_both():
    assert toy.both(4) == 2 and toy.both(3) == 2

def test_capped_without_looking():
    toy.capped(5)

def test_that_fails_by_itself():
    toy.unseen(1)
    assert False
"""


ONES = {"x = (1) < a < b", "x = (-1) < a < b"}


def changes(source: str) -> set[tuple[str, str]]:
    return {mutant.shown(source) for mutant in find(source, "toy.py")}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a + b", {"x = (a - b)"}),
        ("x += b", {"x -= b"}),
        ("x = a < b", {"x = (a <= b)", "x = (a >= b)"}),
        ("x = 0 < a < b", {f"x = ({c})" for c in ("0 <= a < b", "0 >= a < b", "0 < a <= b", "0 < a >= b")} | ONES),
        ("x = a and b", {"x = (a or b)"}),
        ("x = not a", {"x = (a)"}),
        ("x = -a", {"x = (a)"}),
        ("x = 1 if a else b", {"x = (2) if a else b", "x = (0) if a else b", "x = 1 if (not a) else b"}),
        ("x = 1e-9", {"x = (2e-09)"}),
        ("x = True", {"x = (False)"}),
        ("x = np.minimum(a, b)", {"x = (np.maximum(a, b))", "x = (a)", "x = (b)"}),
        ("x = np.clip(a, b, c)", {"x = (np.clip(a, c, b))"}),
        ("x = a.clip(b, c)", {"x = (a.clip(c, b))"}),
        ("x = math.floor(a)", {"x = (math.ceil(a))"}),
        ("x: int | None = a", set()),
        ("x = isinstance(a, int | float)", set()),
        ("x = 'a' + b", set()),
        ("x = f'{a + 1}'", set()),
    ],
)  # fmt: skip
def test_what_becomes_of_an_expression(before, after):
    assert changes(before) == {(before, other) for other in after}


def test_messages_annotations_and_decorators_are_left_alone():
    source = "@cache(maxsize=3)\ndef f(a: 'int' = 1) -> 'x[2]':\n    raise ValueError(a + 1)\n"
    assert {after for _, after in changes(source)} == {
        "def f(a: 'int' = (2)) -> 'x[2]':",
        "def f(a: 'int' = (0)) -> 'x[2]':",
    }


def test_lines_stay_where_they_are():
    for mutant in find(TOY, "toy.py"):
        changed = mutant.apply(TOY)
        assert changed.count("\n") == TOY.count("\n") and changed != TOY
        first, last = mutant.lines
        assert changed.split("\n")[: first - 1] == TOY.split("\n")[: first - 1]
        assert changed.split("\n")[last:] == TOY.split("\n")[last:]


def test_constants_are_reached_by_whoever_reads_them():
    (constant,) = (m for m in find(TOY, "toy.py") if m.after == "(4)")
    reach = Reach({"toy.py": {18: {"slow", "quick"}, 9: {"other"}}}, {"slow": 9.0, "quick": 0.1, "other": 0.0})
    assert reach.items(constant, {"toy.py": TOY}, quick=5.0) == ["quick"]
    assert reach.items(constant, {"toy.py": TOY}, quick=10.0) == ["quick", "slow"]
    others = {"toy.py": TOY, "far.py": "x = LIMIT", "near.py": "from toy import LIMIT\nx = LIMIT"}
    far = Reach(reach.lines | {"far.py": {1: {"other"}}, "near.py": {2: {"near"}}}, reach.seconds | {"near": 1.0})
    assert far.items(constant, others, quick=5.0) == ["quick", "near"]
    reach.lines["toy.py"][constant.lines[0]] = {"slow"}  # which imported the file before anybody else
    assert reach.items(constant, {"toy.py": TOY}, quick=5.0) == ["quick"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "toy.py").write_text(TOY)
    (tmp_path / "tests" / "test_toy.py").write_text(TESTS)
    return Project(tmp_path.resolve(), ("toy",))


def test_a_toy_run(project):
    reach = record(project, ["tests"], workers=1)
    assert reach.lines["toy.py"][18] == {"tests/test_toy.py::test_capped_without_looking"}
    assert "tests/test_toy.py::test_that_fails_by_itself" not in reach.seconds
    assert record(project, ["tests"], workers=1) == reach  # kept

    wanted = {
        "(math.floor(a * b)\n\n\n)": "caught",
        "(max(x, LIMIT))": "survived",
        "(x)": "equivalent",
        "(x + 1)": "not reached",
    }
    chosen = [mutant for mutant in find(TOY, "toy.py") if mutant.after in wanted]
    equivalent = {("toy.py", "return min(x, LIMIT)", "return (x)"): "nobody looks"}
    seen: list[str] = []
    tried = Tried(project.kept / "tried.jsonl", state(project, ["tests"]))
    trials = try_all(project, chosen, reach, {}, workers=2, report=seen.append, tried=tried)
    assert trials[1].outcome == trials[2].outcome == "survived"
    trials = try_all(project, chosen, reach, equivalent, workers=2, report=seen.append, tried=tried)  # all are known
    assert {m.after: t.outcome for m, t in zip(chosen, trials, strict=True)} == wanted
    assert trials[0].by == "tests/test_toy.py::test_both" and trials[0].line == 11
    assert (project.src / "toy.py").read_text() == TOY and len(seen) == 4
    assert not Tried(tried.file, "of other sources").known()
    assert named(project, [Path()], {("toy.py", t.before, t.after) for t in trials}) == chosen
    assert table(trials)[0] == "4 mutants: 1 caught, 1 survived, 1 equivalent, 1 not reached"


def test_samples_are_the_same_for_the_same_seed(project):
    def drawn(seed: int, size: int = 5) -> list[Mutant]:
        return sample(project, [Path()], size, seed)

    assert drawn(0) == drawn(0) and drawn(0) != drawn(1) and len(drawn(0)) == 5
    assert len(drawn(0, 1000)) == len(find(TOY, "toy.py"))


def test_every_equivalent_mutant_is_still_one_of_the_sources():
    """An entry whose line was rewritten is out of date: look again and remove it."""

    @cache
    def mutants(file: str) -> set[tuple[str, str]]:
        source = (HERE.parents[1] / "src" / file).read_text(encoding="utf-8")
        return {mutant.shown(source) for mutant in candidates(source, file)}

    for entry in json.loads((HERE / "equivalent.json").read_text()):
        assert (entry["before"], entry["after"]) in mutants(entry["file"])
        assert entry["why"]
