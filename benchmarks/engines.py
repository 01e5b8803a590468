"""One piece of work on `inline`, `processes` and `ray`: time, processor time, memory of each worker, and whether results agree.

    python -m benchmarks.engines sums   --rows 5000000 --out DIR [--method mst]     fits of the table of `benchmarks.large_tables`
    python -m benchmarks.engines sample --rows 10000000 --out DIR                   rows of such a fit into a folder of parts
    python -m benchmarks.engines audit  --runs 2000 [--method independent]          shadow fits, batches as jobs
    python -m benchmarks.engines rounds --rows 1000000 --out DIR --method dpgan     fits with rounds on workers; also pate-gan
    python -m benchmarks.engines show                                               the results as tables

Every engine runs in a process of its own, one after another, with two workers; noise is seeded, so that results can be compared
bit for bit. Seconds of both clocks begin when workers are up and have imported what they need; how long that took is `start`. On
a machine that others use, seconds say little; `path` is the longest chain of processor seconds, those of the curator and of the
busiest worker: what two free cores would need at least.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.large_tables import make, peak_gb, say, schema_of, table_path, version

RESULTS = Path(__file__).parent / "results" / "engines.jsonl"
ENGINES = ("inline", "processes:2", "ray:2")
CONTROL = "pyarrow"  # a bare write of the same rows
ROUNDS: dict[str, dict[str, Any]] = {  # options with which most of the work is in rounds
    "dpgan": {"gradients_share": 0.2, "rounds": 100},
    "rdp-cgan": {"gradients_share": 0.2, "rounds": 100},
    "pate-gan": {"votes_share": 0.5, "teachers": 20_000, "rounds": 10},
}


def used(_: int) -> tuple[int, float, float]:
    """Of a worker that has imported what it needs: process, processor seconds since its start, largest memory."""
    import understudy.private  # noqa: F401

    time.sleep(0.5)  # so that every worker gets one
    return os.getpid(), time.process_time(), peak_gb()


def digest(folder: Path) -> str:
    """Of all files of a folder, which goes with the one around it."""
    found = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        found.update(file.name.encode() + file.read_bytes())
    shutil.rmtree(folder.parent)
    return found.hexdigest()[:16]


def work(task: str, engine: Any, given: dict[str, Any]) -> tuple[Callable[[], str], int]:
    """Do it; what makes a digest of what came out, and of how many rows or fits."""
    import understudy as us
    from understudy.audit.run import run_audit
    from understudy.fit import fit
    from understudy.private import SeededNoise
    from understudy.sampling.to_files import write_rows

    rows, out = given["rows"], given["out"]
    if task == "audit":
        how: dict[str, Any] = {
            "target": "lonely",
            "attacks": ("likelihood-ratio",),
            "threats": ("wall-box",),
            "seed": 1,
        }
        result = run_audit(given["method"], runs=given["runs"], batch=200, engine=engine, **how)
        said = json.dumps([asdict(outcome) for outcome in result.outcomes], sort_keys=True, default=str)
        return partial(short, said.encode()), given["runs"]
    if task == "sample":
        saved, folder = Path(out) / f"model-{given['method']}", Path(tempfile.mkdtemp(dir=out)) / "parts"
        write_rows(us.load(saved), folder, rows, seed=1, engine=engine, folder=saved)
        return partial(digest, folder), rows
    options = ROUNDS[given["method"]] if task == "rounds" else {}
    recipe = us.method(given["method"])(epsilon=1.0, seed=1, **options)
    model = fit(recipe, table_path(out, rows, False), schema_of(False), noise=SeededNoise(3), engine=engine)
    weights = b"".join(name.encode() + value.tobytes() for name, value in sorted(model.weights.items()))
    return partial(short, weights), rows


def short(content: bytes) -> str:
    """A digest that fits on a line."""
    return hashlib.sha256(content).hexdigest()[:16]


def count_passes() -> list[int]:
    """How often a question goes over the table from here on."""
    from understudy.private import curator

    inner, passes = vars(curator)["add_up"], [0]

    def counted(*parts: Any) -> Any:
        passes[0] += 1
        return inner(*parts)

    vars(curator)["add_up"] = counted
    return passes


class Seated:
    """Workers that stay from round to round: they are not those of the sums before, and end before the fit does."""

    def __init__(self, engine: Any) -> None:
        self.before: list[Any] = []
        self.after: list[Any] = []
        self.waited, self._seats = 0.0, engine.seats
        engine.seats = self.seats

    def seats(self, most: int) -> Any:
        """Workers that are up, and tell what they have used before they end; the wait for both is no work."""
        began, found = time.monotonic(), self._seats(most)
        for seat in found:
            seat.begin(used, 0)
            seat.close = partial(self.close, seat, seat.close)
        self.before += [seat.finish() for seat in found]
        self.waited += time.monotonic() - began
        return found

    def close(self, seat: Any, inner: Callable[[], None]) -> None:
        """Ask, and end it."""
        began = time.monotonic()
        seat.begin(used, 0)
        self.after.append(seat.finish())
        inner()
        self.waited += time.monotonic() - began


def one(task: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own."""
    from understudy.engine import made

    passes = count_passes()
    began = time.monotonic()
    with made(name) as engine:
        before = engine.map_jobs(used, range(8)) if name != "inline" else []
        seated = Seated(engine) if name != "inline" else None
        started, own = time.monotonic(), time.process_time()
        found, amount = work(task, engine, given)
        seconds, own = time.monotonic() - started, time.process_time() - own
        after = engine.map_jobs(used, range(8)) if name != "inline" else []
    waited = 0.0
    if seated is not None:
        before, after, waited = before + seated.before, after + seated.after, seated.waited
    first = {pid: spent for pid, spent, _ in reversed(before)}
    last = {pid: spent for pid, spent, _ in after}
    busy = [spent - first.get(pid, 0.0) for pid, spent in last.items()]
    return {
        "start": started - began + waited,
        "seconds": seconds - waited,
        "own": own,
        "cpu": own + sum(busy),
        "path": own + max(busy, default=0.0),
        "worker_gb": max((peak for _, _, peak in after), default=0.0),
        "own_gb": peak_gb(),
        "found": found(),
        "amount": amount,
        "passes": passes[0],
    }


def bare_write(given: dict[str, Any]) -> dict[str, Any]:
    """The first million rows of a sample, written again and again by PyArrow alone: what writing costs at least."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import understudy as us

    model = us.load(Path(given["out"]) / f"model-{given['method']}")
    rows = min(given["rows"], 1 << 20)
    table = pa.concat_tables(model.sample_arrow(rows, seed=1))
    started, own = time.monotonic(), time.process_time()
    with tempfile.TemporaryDirectory(dir=given["out"]) as folder:
        for number in range(-(-given["rows"] // rows)):
            pq.write_table(table, Path(folder) / f"part-{number}.parquet")
    spent = {"seconds": time.monotonic() - started, "cpu": time.process_time() - own}
    spent |= {"start": 0.0, "path": spent["cpu"], "worker_gb": 0.0, "own_gb": peak_gb()}
    return spent | {"found": "", "amount": given["rows"], "passes": 0}


def run(task: str, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All engines, one after another."""
    out = Path(given["out"])
    if task != "audit":
        out.mkdir(parents=True, exist_ok=True)
    if task in ("sums", "rounds") and not table_path(str(out), given["rows"], False).exists():
        make(given["rows"], str(out), False)
    if task == "sample" and not (out / f"model-{given['method']}").exists():
        fitted(given, out)
    for name in (*ENGINES, *((CONTROL,) if task == "sample" else ())):
        words = [sys.executable, "-m", "benchmarks.engines", "one", task, name, json.dumps(given)]
        env = os.environ | {"JAX_PLATFORMS": "cpu"}
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=env)
        found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
        about = {"task": task, "engine": name, "method": given["method"], "version": version()}
        yield found | about | {"load": os.getloadavg()[0]}


def fitted(given: dict[str, Any], out: Path) -> None:
    """A model to sample from: a fit of a hundred thousand rows of the table of `benchmarks.large_tables`."""
    import understudy as us

    small = {"rows": 100_000}
    if not table_path(str(out), small["rows"], False).exists():
        make(small["rows"], str(out), False)
    folder = out / f"model-{given['method']}"
    shutil.rmtree(folder, ignore_errors=True)
    recipe = us.method(given["method"])(epsilon=1.0, seed=1)
    recipe.fit(table_path(str(out), small["rows"], False), schema_of(False), out=folder)


def tables(path: Path) -> Iterator[str]:
    """The newest result of every kind."""
    newest = {}
    for line in path.read_text().splitlines():
        found = json.loads(line)
        newest[found["task"], found["method"], found["amount"], found["engine"]] = found
    yield "| work | engine | start s | seconds | processor s | longest path s | largest worker GB | same result | version |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for (task, method, amount, engine), found in newest.items():
        plain = newest.get((task, method, amount, "inline"), found)
        same = "" if engine in ("inline", CONTROL) else "yes" if plain["found"] == found["found"] else "NO"
        figures = f"{found['start']:.0f} | {found['seconds']:.1f} | {found['cpu']:.1f} | {found['path']:.1f}"
        figures += f" | {found['worker_gb']:.2f}"
        yield f"| {task}, {method}, {amount:,} | {engine} | {figures} | {same} | {found['version']} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("sums", "sample", "audit", "rounds", "show", "one"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--out", default="large")
    parser.add_argument("--method", default="mst")
    parser.add_argument("--results", default=str(RESULTS))
    given = parser.parse_args()
    if given.task == "one":
        task, name, text = given.rest
        details = json.loads(text)
        say(json.dumps(bare_write(details) if name == CONTROL else one(task, name, details)))
    elif given.task == "show":
        for line in tables(Path(given.results)):
            say(line)
    else:
        details = {"rows": given.rows, "runs": given.runs, "out": given.out, "method": given.method}
        for found in run(given.task, details):
            say(json.dumps(found))
            with Path(given.results).open("a") as file:
                file.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
