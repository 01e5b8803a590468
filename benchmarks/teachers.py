"""PATE-GAN with 20,000 teachers on `inline`, `processes` and `ray`: the votes, and the memory of whoever keeps teachers.

    python -m benchmarks.teachers run  --out DIR [--rows 500000] [--teachers 20000] [--method pate-gan] [--rounds 6]
    python -m benchmarks.teachers show                                                  the results as a table

A fit of the table of `benchmarks.large_tables`, each engine in a process of its own, one after another, with seeded noise. `same
votes`: a digest of the exact counts of every round, before noise. Memory is the largest of the process, beside what the same
process takes before it has a teacher (interpreter, JAX). On a machine that others use, look at processor seconds.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.engines import ENGINES
from benchmarks.large_tables import make, peak_gb, say, schema_of, table_path, version

RESULTS = Path(__file__).parent / "results" / "teachers.jsonl"


def used(_: int) -> tuple[float, float]:
    """Of a worker: processor seconds since its start, and largest memory."""
    import understudy.private.stripes  # noqa: F401

    return time.process_time(), peak_gb()


def watched() -> dict[str, Any]:
    """Look at the votes of every round, and at workers before and after they had teachers."""
    from understudy.engine.seats import ask_all
    from understudy.private.sharded import Keepers

    seen: dict[str, Any] = {"votes": hashlib.sha256(), "before": [], "after": []}
    inner, count, close = vars(Keepers)["_ask"], vars(Keepers)["count"], vars(Keepers)["close"]

    def asked(self: Any, *how: Any, **more: Any) -> Any:
        if not seen["before"]:
            self._seats = self._engine.seats(self._cut.stripes)
            seen["before"] = ask_all(self._seats, used, [0] * len(self._seats))
            seen["stripes"] = self._cut.stripes
        return inner(self, *how, **more)

    def counted(self: Any, query: Any) -> Any:
        found = count(self, query)
        seen["votes"].update(found.tobytes())
        return found

    def closed(self: Any) -> None:
        seen["after"] = seen["after"] or ask_all(self._seats, used, [0] * len(self._seats))
        close(self)

    for name, value in {"_ask": asked, "count": counted, "close": closed}.items():
        setattr(Keepers, name, value)
    return seen


def one(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own."""
    import understudy as us
    from understudy.engine import made
    from understudy.fit import fit
    from understudy.private import SeededNoise

    seen = watched()
    recipe = us.method(given["method"])(epsilon=1.0, seed=1, teachers=given["teachers"], rounds=given["rounds"])
    began, own = time.monotonic(), time.process_time()
    with made(name) as engine:
        source = table_path(given["out"], given["rows"], False)
        fit(recipe, source, schema_of(False), noise=SeededNoise(3), engine=engine)
    before, after = seen["before"], seen["after"]
    spent = [last[0] - first[0] for first, last in zip(before, after, strict=True)]
    return {
        "seconds": time.monotonic() - began,
        "own": time.process_time() - own,
        "workers": spent if name != "inline" else [],
        "idle_gb": [peak for _, peak in before],
        "worker_gb": [peak for _, peak in after],
        "own_gb": peak_gb(),
        "votes": seen["votes"].hexdigest()[:16],
        "stripes": seen["stripes"],
    }


def run(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All engines, one after another."""
    if not table_path(given["out"], given["rows"], False).exists():
        make(given["rows"], given["out"], False)
    for name in ENGINES:
        words = [sys.executable, "-m", "benchmarks.teachers", "one", name, json.dumps(given)]
        said = subprocess.run(
            words, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"JAX_PLATFORMS": "cpu"}
        )
        found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
        about = {name: given[name] for name in ("method", "teachers", "rows", "rounds")}
        yield found | about | {"engine": name, "version": version(), "load": os.getloadavg()[0]}


def table(path: Path) -> Iterator[str]:
    """The newest result of every engine."""
    newest = {}
    for line in path.read_text().splitlines():
        found = json.loads(line)
        newest[found["method"], found["teachers"], found["rows"], found["engine"]] = found
    yield "| teachers | engine | seconds | processor s | who keeps teachers: GB (idle) | curator GB | same votes | version |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for (method, teachers, rows, engine), found in newest.items():
        plain = newest.get((method, teachers, rows, "inline"), found)
        same = "" if engine == "inline" else "yes" if plain["votes"] == found["votes"] else "NO"
        memory = zip(found["worker_gb"], found["idle_gb"], strict=True)
        workers = ", ".join(f"{peak:.2f} ({idle:.2f})" for peak, idle in memory)
        spent = f"{found['seconds']:.0f} | {found['own'] + sum(found['workers']):.0f}"
        what = f"{method}, {teachers:,} a class, {rows:,} rows, {found['stripes']} stripes"
        yield f"| {what} | {engine} | {spent} | {workers} | {found['own_gb']:.2f} | {same} | {found['version']} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("run", "show", "one"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--teachers", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--method", default="pate-gan")
    parser.add_argument("--out", default="large")
    parser.add_argument("--results", default=str(RESULTS))
    given = parser.parse_args()
    if given.task == "one":
        say(json.dumps(one(given.rest[0], json.loads(given.rest[1]))))
    elif given.task == "show":
        for line in table(Path(given.results)):
            say(line)
    else:
        details = {name: getattr(given, name) for name in ("rows", "teachers", "rounds", "method", "out")}
        for found in run(details):
            say(json.dumps(found))
            with Path(given.results).open("a") as file:
                file.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
