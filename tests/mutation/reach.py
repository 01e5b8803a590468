"""Which test items reach which line, and how long each takes.

Recorded once for every folder of tests (see `mutants_plugin`) and kept in `.mutants/`, under a hash of the sources and of the
tests, so that only what changed is recorded again. Items that fail or that are slow by themselves are not used: a mutant is
caught by a quick test that passes without it.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .mutate import Mutant

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Project:
    """Where the sources, the tests and the kept results are; `packages` are the top names in `src`."""

    root: Path
    packages: tuple[str, ...] = ("understudy",)

    @property
    def src(self) -> Path:
        return self.root / "src"

    @property
    def kept(self) -> Path:
        return self.root / ".mutants"


@dataclass(frozen=True)
class Reach:
    """`lines[file][line]` are items; `seconds[item]` what each took."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def items(self, mutant: Mutant, sources: dict[str, str], quick: float) -> list[str]:
        """Items that reach the mutant, the fastest first."""
        own = self.lines.get(mutant.file, {})
        found = _union(own, range(mutant.lines[0], mutant.lines[1] + 1))
        found = found or _union(own, range(mutant.statement[0], mutant.statement[1] + 1))
        if mutant.names:  # besides an item that happened to be the first to import the file
            found = found | self._readers(mutant, sources)
        usable = [item for item in found if self.seconds.get(item, quick + 1) <= quick]
        return sorted(usable, key=lambda item: (self.seconds[item], item))

    def _readers(self, mutant: Mutant, sources: dict[str, str]) -> set[str]:
        """What runs at import was run before the first item: those count that reach a line with one of its names, in the file
        or in one that speaks of it (others may have the same name for something else)."""
        word = re.compile(rf"\b({'|'.join(map(re.escape, mutant.names))})\b")
        place = Path(mutant.file)
        known_as = re.compile(rf"\b{re.escape(place.parent.name if place.stem == '__init__' else place.stem)}\b")
        found: set[str] = set()
        for file, source in sources.items():
            if file == mutant.file or known_as.search(source):
                reading = [number for number, line in enumerate(source.split("\n"), 1) if word.search(line)]
                found |= _union(self.lines.get(file, {}), reading)
        return found or _union(self.lines.get(mutant.file, {}), self.lines.get(mutant.file, {}))


def _union(lines: dict[int, set[str]], wanted: Iterable[int]) -> set[str]:
    return set().union(*(lines.get(number, set()) for number in wanted))


def record(project: Project, tests: Sequence[str], workers: int) -> Reach:
    """The map of all these folders or files of tests, from what is kept where it is still true."""
    project.kept.mkdir(exist_ok=True)
    with ThreadPoolExecutor(workers) as pool:
        parts = list(pool.map(lambda place: _record_one(project, place), tests))
    lines: dict[str, dict[int, set[str]]] = {}
    seconds: dict[str, float] = {}
    for part in parts:
        seconds |= part["seconds"]
        for file, reached in part["lines"].items():
            for line, items in reached.items():
                lines.setdefault(file, {}).setdefault(int(line), set()).update(items)
    return Reach(lines, seconds)


def _record_one(project: Project, place: str) -> dict[str, Any]:
    kept = project.kept / f"reach-{place.replace('/', '-')}.json"
    name = _hash(project, place)
    if kept.exists():
        old: dict[str, Any] = json.loads(kept.read_text())
        if old["hash"] == name:
            return old
    fresh = project.kept / f"fresh-{place.replace('/', '-')}.json"
    job = {"src": str(project.src), "packages": project.packages, "reach": str(fresh)}
    ran = pytest(project, project.src, job, [place], timeout=3600)
    if not fresh.exists():
        raise SystemExit(f"no map of {place}:\n{ran.stdout[-3000:]}")
    made: dict[str, Any] = {"hash": name} | json.loads(fresh.read_text())
    fresh.unlink()
    kept.write_text(json.dumps(made))
    return made


def state(project: Project, tests: Sequence[str]) -> str:
    """A name of the sources and these tests as they are: what was found out about others is of no use."""
    return hashlib.sha256("".join(_hash(project, place) for place in tests).encode()).hexdigest()


def _hash(project: Project, place: str) -> str:
    told = hashlib.sha256()
    folder = project.root / place
    tests = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    for file in [*sorted(project.src.rglob("*.py")), *tests, *project.root.glob("tests/conftest.py")]:
        told.update(f"{file.relative_to(project.root)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return told.hexdigest()


def pytest(
    project: Project, src: Path, job: dict[str, Any], arguments: Sequence[str], timeout: float
) -> "subprocess.CompletedProcess[str]":
    """Run pytest on the sources in `src`, which need not be those of the project."""
    note = src.parent / "job.json" if src != project.src else project.kept / f"job-{hash(tuple(arguments)):x}.json"
    note.write_text(json.dumps(job))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(src), str(HERE)]),
        "MUTANTS_JOB": str(note),
        "CI": "true",  # generated examples are the same in every run, and none is kept
        "JAX_NUMPY_RANK_PROMOTION": "raise",
        "JAX_PLATFORMS": "cpu",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants_plugin", "-p", "no:cacheprovider", *arguments]
    try:
        return subprocess.run(
            command, cwd=project.root, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    finally:
        note.unlink()
