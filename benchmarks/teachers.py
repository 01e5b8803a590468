"""PATE-GAN's votes with 20,000 teachers on `inline`, `processes` and `ray`: are they the same, and how much does a worker hold?

    python -m benchmarks.teachers run  [--teachers 20000] [--rows 400000] [--rounds 3]
    python -m benchmarks.teachers show                                            the results as a table

The rounds alone, without a fit around them: rows of 100 made-up numbers are dealt to one class's teachers, who train and judge 32
rows in every round (`private.sharded.Keepers`). Each engine runs in a process of its own, one after another, two workers. `same
votes`: a digest of the exact counts of every round, before noise. Memory is the largest of the process, beside what the same
process takes before it has a teacher (interpreter, JAX, what dealing took). On a machine that others use, look at processor
seconds.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import ENGINES
from benchmarks.large_tables import peak_gb, say, version

RESULTS = Path(__file__).parent / "results" / "teachers.jsonl"
WIDTH, PRACTICE, JUDGED, PART = 100, 32, 32, 50_000


@dataclass(frozen=True)
class Made:
    """A part of a table that whoever reads it makes up, always the same."""

    number: int
    rows: int
    portable = True

    def __call__(self) -> Iterator[Any]:
        from understudy.private.mapping import Block

        rng = np.random.default_rng(self.number)
        yield Block(rng.standard_normal((self.rows, WIDTH), np.float32), np.zeros(self.rows, np.int32))


def used(_: int) -> tuple[float, float]:
    """Of a worker: processor seconds since its start, and largest memory."""
    import understudy.private.sharded  # noqa: F401

    return time.process_time(), peak_gb()


def mechanism(given: dict[str, Any]) -> Any:
    """Weak teachers as `pate-gan` has them, all of one class."""
    from understudy.private.mechanisms.teacher_votes import TeacherVotes

    mean = given["rows"] / given["teachers"]
    return TeacherVotes(
        teachers=(given["teachers"],),
        capacity=int(mean + 4 * mean**0.5),
        judged=JUDGED,
        classes_per_unit=1,
        kind="gaussian",
        sigma=1.0,
        answers="score",
        learning_rate=0.2,
        weight_decay=1.0,
    )


def one(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own."""
    from understudy.engine import made
    from understudy.engine.seats import ask_all
    from understudy.private.blocks import Blocks
    from understudy.private.sharded import Keepers
    from understudy.questions.rounds import Judgement

    parts = tuple(Made(number, PART) for number in range(given["rows"] // PART))
    blocks, rng, votes = Blocks(parts, WIDTH, True), np.random.default_rng(0), hashlib.sha256()
    began, own = time.monotonic(), time.process_time()
    with made(name) as engine:
        keepers = Keepers(mechanism(given), WIDTH, b"\0" * 8, None, engine)
        try:
            keepers.deal_out(blocks, b"a key for all engines")
            keepers._seats = engine.seats(keepers._cut.stripes)
            before = ask_all(keepers._seats, used, [0] * len(keepers._seats))
            for _ in range(given["rounds"]):
                practice = rng.standard_normal((1, 1, PRACTICE, WIDTH), np.float32)
                judged = rng.standard_normal((1, JUDGED, WIDTH), np.float32)
                votes.update(keepers.count(Judgement(practice, judged)).tobytes())  # type: ignore[arg-type]
            after = ask_all(keepers._seats, used, [0] * len(keepers._seats))
        finally:
            keepers.close()
    spent = [last[0] - first[0] for first, last in zip(before, after, strict=True)]
    return {
        "seconds": time.monotonic() - began,
        "own": time.process_time() - own,
        "workers": spent if name != "inline" else [],
        "idle_gb": [peak for _, peak in before],
        "worker_gb": [peak for _, peak in after],
        "own_gb": peak_gb(),
        "votes": votes.hexdigest()[:16],
        "stripes": keepers._cut.stripes,
    }


def run(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All engines that were named, one after another."""
    for name in given["engines"]:
        words = [sys.executable, "-m", "benchmarks.teachers", "one", name, json.dumps(given)]
        env = os.environ | {"JAX_PLATFORMS": "cpu"}
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=env)
        found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
        about = {key: given[key] for key in ("teachers", "rows", "rounds")}
        yield found | about | {"engine": name, "version": version(), "load": os.getloadavg()[0]}


def table(path: Path) -> Iterator[str]:
    """The newest result of every engine."""
    newest = {}
    for line in path.read_text().splitlines():
        found = json.loads(line)
        newest[found["teachers"], found["rows"], found["rounds"], found["engine"]] = found
    yield "| teachers | engine | seconds | processor s | who keeps teachers: GB (idle) | curator GB | same votes | version |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for (teachers, rows, rounds, engine), found in newest.items():
        plain = newest.get((teachers, rows, rounds, "inline"), found)
        same = "" if engine == "inline" else "yes" if plain["votes"] == found["votes"] else "NO"
        memory = zip(found["worker_gb"], found["idle_gb"], strict=True)
        workers = ", ".join(f"{peak:.2f} ({idle:.2f})" for peak, idle in memory)
        spent = f"{found['seconds']:.0f} | {found['own'] + sum(found['workers']):.0f}"
        what = f"{teachers:,}, {rows:,} rows, {rounds} rounds, {found['stripes']} stripes"
        yield f"| {what} | {engine} | {spent} | {workers} | {found['own_gb']:.2f} | {same} | {found['version']} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("run", "show", "one"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--teachers", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--results", default=str(RESULTS))
    given = parser.parse_args()
    if given.task == "one":
        say(json.dumps(one(given.rest[0], json.loads(given.rest[1]))))
    elif given.task == "show":
        for line in table(Path(given.results)):
            say(line)
    else:
        details = {name: getattr(given, name) for name in ("teachers", "rows", "rounds")}
        for found in run(details | {"engines": given.engines.split(",")}):
            say(json.dumps(found))
            with Path(given.results).open("a") as file:
                file.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
