"""Trying mutants: each in a copy of the sources, against the fastest items that reach it."""

import json
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from .mutate import Mutant, find
from .reach import Project, Reach, pytest

QUICK = 5.0  # an item that takes longer (seconds) is not used
TOGETHER = 25.0  # items of one mutant, all in all
START = 60.0  # for starting Python and importing, on a busy machine
WRONG_SOURCES = 9  # see `mutants_plugin`
OUTCOMES = ("caught", "timeout", "survived", "equivalent", "not reached")

Equivalent = Mapping[tuple[str, str, str], str]  # file, before, after: why


@dataclass(frozen=True)
class Trial:
    """What became of one mutant; `by` is the item that caught it, or the reason why none can."""

    file: str
    line: int
    before: str
    after: str
    outcome: str
    by: str = ""
    items: int = 0

    def row(self) -> str:
        return f"{self.outcome:<12}{self.file}:{self.line}  {self.by}\n            - {self.before}\n            + {self.after}"

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Tried:
    """A file with the trials of stopped runs; those of the same `state` of sources and tests still hold."""

    file: Path
    state: str

    def known(self) -> dict[tuple[str, int, str, str], Trial]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        found = [Trial(**entry["trial"]) for entry in map(json.loads, lines) if entry["state"] == self.state]
        return {(trial.file, trial.line, trial.before, trial.after): trial for trial in found}

    def add(self, trial: Trial) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps({"state": self.state, "trial": trial.as_dict()}) + "\n")


def sources(project: Project, folders: Sequence[Path]) -> dict[str, str]:
    files = sorted(file for folder in folders for file in (project.src / folder).rglob("*.py"))
    return {str(file.relative_to(project.src)): file.read_text(encoding="utf-8") for file in files}


def sample(project: Project, folders: Sequence[Path], size: int, seed: int) -> list[Mutant]:
    """`size` of all mutants of these folders of `src`, the same for the same sources and seed."""
    every = [mutant for mutant, _ in _every(project, folders)]
    chosen = random.Random(seed).sample(range(len(every)), min(size, len(every)))
    return [every[number] for number in sorted(chosen)]


def named(project: Project, folders: Sequence[Path], wanted: Collection[tuple[str, str, str]]) -> list[Mutant]:
    """Those whose file, line before and line after are wanted."""
    return [mutant for mutant, shown in _every(project, folders) if (mutant.file, *shown) in wanted]


def _every(project: Project, folders: Sequence[Path]) -> Iterator[tuple[Mutant, tuple[str, str]]]:
    for file, source in sources(project, folders).items():
        for mutant in find(source, file):
            yield mutant, mutant.shown(source)


def try_all(
    project: Project,
    mutants: Sequence[Mutant],
    reach: Reach,
    equivalent: Equivalent,
    workers: int,
    report: Callable[[str], None],
    tried: Tried,
) -> list[Trial]:
    """Try them, `workers` at a time, each worker on a copy of the sources of its own."""
    every = sources(project, [Path()])
    known = tried.known()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            copy = Path(folder).resolve() / str(number) / "src"
            shutil.copytree(project.src, copy, ignore=shutil.ignore_patterns("__pycache__"))
            copies.put(copy)

        _control(project, copy, mutants, every, reach)

        def one(mutant: Mutant) -> Trial:
            before = known.get((mutant.file, mutant.lines[0], *mutant.shown(every[mutant.file])))
            if before is not None:
                return _excused(before, equivalent)
            copy = copies.get()
            try:
                done = _try(project, copy, mutant, every, reach, equivalent)
            finally:
                copies.put(copy)
            tried.add(done)
            report(done.row())
            return done

        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, mutants))


def _try(
    project: Project, copy: Path, mutant: Mutant, every: dict[str, str], reach: Reach, equivalent: Equivalent
) -> Trial:
    source = every[mutant.file]
    before, after = mutant.shown(source)
    items, planned = _choose(mutant, every, reach)
    shown = (mutant.file, mutant.lines[0], before, after)
    if not items:
        return Trial(*shown, "not reached")
    _put(copy / mutant.file, mutant.apply(source))
    try:
        outcome, by = _run(project, copy, items, START + 4 * planned)
    finally:
        _put(copy / mutant.file, source)
    return _excused(Trial(*shown, outcome, by, len(items)), equivalent)


def _excused(trial: Trial, equivalent: Equivalent) -> Trial:
    why = equivalent.get((trial.file, trial.before, trial.after))
    return replace(trial, outcome="equivalent", by=why) if why and trial.outcome == "survived" else trial


def _choose(mutant: Mutant, every: dict[str, str], reach: Reach) -> tuple[list[str], float]:
    """The fastest items that reach it, and how long they take together."""
    items, planned = [], 0.0
    for item in reach.items(mutant, every, QUICK):
        planned += reach.seconds[item]
        if planned > TOGETHER and items:
            break
        items.append(item)
    return items, planned


def _control(project: Project, copy: Path, mutants: Sequence[Mutant], every: dict[str, str], reach: Reach) -> None:
    """Unchanged sources must survive, or every mutant would count as caught."""
    items, planned = next((found for mutant in mutants if (found := _choose(mutant, every, reach))[0]), ([], 0.0))
    if items:
        outcome, by = _run(project, copy, items, START + 4 * planned)
        if outcome != "survived":
            raise SystemExit(f"the tests fail on a plain copy of the sources: {outcome} {by}")


def _put(file: Path, source: str) -> None:
    """Write a source file and forget what was compiled from it: by size and second the old and the new may look the same."""
    file.write_text(source, encoding="utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        compiled.unlink()


def _run(project: Project, copy: Path, items: list[str], limit: float) -> tuple[str, str]:
    files = list(dict.fromkeys(item.split("::")[0] for item in items))
    job = {"src": str(copy), "packages": project.packages, "items": items}
    try:
        ran = pytest(project, copy, job, ["-x", "--tb=no", "-rfE", *files], limit)
    except subprocess.TimeoutExpired:
        return "timeout", f"after {limit:.0f} s"
    if ran.returncode == 0:
        return "survived", ""
    if ran.returncode == WRONG_SOURCES:
        raise SystemExit(ran.stdout[-3000:])
    told = [line.split(" ", 1)[1] for line in ran.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return "caught", told[0].split(" - ")[0] if told else f"pytest ended with {ran.returncode}: nothing to run any more"


def table(trials: Sequence[Trial]) -> list[str]:
    """Figures by outcome, then every mutant, those to look at first."""
    counts = Counter(trial.outcome for trial in trials)
    figures = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    order = ("survived", "not reached", "timeout", "equivalent", "caught")
    rows = sorted(trials, key=lambda trial: (order.index(trial.outcome), trial.file, trial.line))
    return [f"{len(trials)} mutants: {figures}", "", *(trial.row() for trial in rows)]
