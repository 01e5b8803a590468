"""Tables larger than memory: time and peak memory of whole fits, beside a bare PyArrow scan of the same columns.

    python -m benchmarks.large_tables make --rows 1000000 --out DIR         writes DIR/rows-1000000.parquet and its schema
    python -m benchmarks.large_tables run  --rows 1000000 --out DIR --method mst [--unit] [--options JSON] [--results FILE]
    python -m benchmarks.large_tables show                                  the results as a table

The table has 30 columns of mixed kinds: 12 numbers (normal, skewed, with gaps), 6 whole numbers, 9 categories of 2 to 40 values,
2 booleans and a class label that depends on some of them; with --unit three rows of each person stand anywhere in the file.
Every fit runs in a process of its own. Printed: seconds, processor seconds and peak memory (of the process, JAX included, and
of its workers), the largest size of the fit's folder (private files of a table with units), questions that passed over the
table, seconds of a bare scan on both clocks, and the ratio per question on both: of the whole fit, and in processor seconds also
of the passes alone, without what does not depend on rows (compiling, noise, estimation). The clock of a fit starts when its
method has been imported; what that took is told apart. On a machine that others use, the ratio of processor seconds is the one
to look at: waiting for a free core is not in it.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 250_000  # rows in a row group
RESULTS = Path(__file__).parent / "results" / "large-tables.jsonl"
CATEGORIES = (2, 3, 4, 5, 8, 10, 12, 20, 40)


def chunk(rows: int, first: int, persons: int | None, rng: np.random.Generator) -> pa.Table:
    """Some rows: a hidden class and two hidden numbers link the columns."""
    y = rng.random(rows, np.float32) < 0.3
    hidden = rng.standard_normal((2, rows), np.float32) + y
    columns: dict[str, Any] = {}
    for i in range(12):
        value = rng.standard_normal(rows, np.float32) + hidden[i % 2] * (0.3 + 0.1 * i)
        value = np.exp(value) if i % 4 == 3 else value
        columns[f"number{i}"] = pa.array(value, mask=rng.random(rows, np.float32) < 0.02 if i % 3 == 0 else None)
    for i in range(6):
        columns[f"whole{i}"] = np.clip(np.rint(40 + 12 * hidden[i % 2] + 3 * i), 0, 100).astype(np.int16)
    for i, size in enumerate(CATEGORIES):
        share = np.clip((hidden[i % 2] + 4) / 10 + 0.2 * rng.standard_normal(rows, np.float32), 0, 0.999)
        names = pa.array([f"value {number}" for number in range(size)])
        columns[f"kind{i}"] = pa.DictionaryArray.from_arrays((share * size).astype(np.int8), names)
    columns["flag0"], columns["flag1"] = hidden[0] > 1, rng.random(rows, np.float32) < 0.1
    columns["outcome"] = pa.DictionaryArray.from_arrays(y.astype(np.int8), pa.array(["no", "yes"]))
    if persons is not None:
        columns["person"] = rng.integers(0, persons, rows)
    return pa.table(columns)


def schema_of(unit: bool) -> Any:
    from understudy.schema import Column, Schema

    columns = [
        Column(name=f"number{i}", kind="continuous", lower=0 if i % 4 == 3 else -8, upper=400 if i % 4 == 3 else 10,
               missing=i % 3 == 0, dtype="float")
        for i in range(12)
    ]  # fmt: skip
    columns += [Column(name=f"whole{i}", kind="integer", lower=0, upper=100, dtype="int16") for i in range(6)]
    columns += [
        Column(name=f"kind{i}", kind="categorical", categories=tuple(f"value {n}" for n in range(size)))
        for i, size in enumerate(CATEGORIES)
    ]
    columns += [Column(name="flag0", kind="boolean"), Column(name="flag1", kind="boolean")]
    columns += [Column(name="outcome", kind="categorical", categories=("no", "yes"))]
    if unit:
        columns += [Column(name="person", kind="identifier")]
    return Schema(
        columns=tuple(columns), label="outcome", unit="person" if unit else None, max_rows_per_unit=3 if unit else 1
    )


def table_path(out: str, rows: int, unit: bool) -> Path:
    return Path(out) / f"rows-{rows}{'-unit' if unit else ''}.parquet"


def make(rows: int, out: str, unit: bool) -> None:
    path, rng, writer = table_path(out, rows, unit), np.random.default_rng(0), None
    path.parent.mkdir(parents=True, exist_ok=True)
    for first in range(0, rows, 1_000_000):
        part = chunk(min(1_000_000, rows - first), first, rows // 3 if unit else None, rng)
        writer = writer or pq.ParquetWriter(path, part.schema, compression="snappy")
        writer.write_table(part, row_group_size=GROUP)
    if writer is not None:
        writer.close()
    say(f"{path}: {rows:,} rows, {path.stat().st_size / 1e9:.2f} GB")


def bare_scan(path: Path, columns: list[str]) -> tuple[float, float]:
    """Seconds and processor seconds to read the columns in batches, on as many threads as PyArrow takes."""
    started, used = time.monotonic(), time.process_time()
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(65_536, columns=columns):
            assert batch.num_rows >= 0
    return time.monotonic() - started, time.process_time() - used


def fit_once(path: str, method: str, unit: bool, options: str, folder: str) -> None:
    """In a process of its own: one fit, its figures as JSON on the last line."""
    import understudy as us
    from understudy.private import passes

    asked, inside = 0, 0.0
    inner = passes.add_up

    def counted(*parts: Any) -> Any:
        nonlocal asked, inside
        asked, began = asked + 1, processor_seconds()
        try:
            return inner(*parts)
        finally:
            inside += processor_seconds() - began

    from understudy.private import curator

    vars(curator)["add_up"] = counted
    schema, recipe = schema_of(unit), us.method(method)(epsilon=1.0, **json.loads(options))
    before = processor_seconds()  # of this process so far: imports
    started, used = time.monotonic(), processor_seconds()
    with tempfile.TemporaryDirectory(dir=folder) as home, watched(Path(home)) as most:
        recipe.fit(path, schema, checkpoint=Path(home) / "checkpoint")
        spent = {"seconds": time.monotonic() - started, "cpu_seconds": processor_seconds() - used}
    spent |= {
        "cpu_seconds_of_imports": before,
        "cpu_seconds_in_passes": inside,
        "peak_gb": max(peak_gb(), most["memory"] / 1e6),
    }
    say(json.dumps(spent | {"disk_gb": most["disk"] / 1e9, "passes": asked}))


@contextlib.contextmanager
def watched(folder: Path) -> Iterator[dict[str, int]]:
    """The largest size in bytes of a folder, and the most memory in kB of this process and its workers, twice a second."""
    most, done = {"disk": 0, "memory": 0}, threading.Event()

    def look() -> None:
        while not done.wait(0.5):
            with contextlib.suppress(OSError):
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                most["disk"] = max(most["disk"], size)
            memory = sum(kilobytes(process, "smaps_rollup", "Pss:") for process in processes())
            most["memory"] = max(most["memory"], memory)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    yield most
    done.set()
    watcher.join()


def processes() -> list[Path]:
    """This process and those that it started."""
    found = [Path(f"/proc/{os.getpid()}")]
    for process in found:
        with contextlib.suppress(OSError):
            started = [number for task in process.glob("task/*/children") for number in task.read_text().split()]
            found += [Path("/proc") / number for number in started]
    return found


def processor_seconds() -> float:
    """Of this process and its workers, those that have ended included."""
    spent = os.times()
    total = spent.user + spent.system + spent.children_user + spent.children_system
    for process in processes()[1:]:
        with contextlib.suppress(OSError):
            total += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:13])) / os.sysconf(
                "SC_CLK_TCK"
            )
    return total


def kilobytes(process: Path, file: str, name: str) -> int:
    """A figure that the system keeps about a process; memory that processes share is counted once in `Pss`."""
    with contextlib.suppress(OSError):
        for line in (process / file).read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    return 0


def peak_gb() -> float:
    """Largest resident memory of this process; getrusage would count what its parent held when it was started."""
    return kilobytes(Path("/proc/self"), "status", "VmHWM") / 1e6


def run(rows: int, out: str, method: str, unit: bool, options: str, scans: int) -> dict[str, Any]:
    path = table_path(out, rows, unit)
    if not path.is_file():
        raise SystemExit(f"{path} is missing; write it with: python -m benchmarks.large_tables make --rows {rows}")
    columns = list(schema_of(unit).names)
    timed = [bare_scan(path, columns) for _ in range(-(-scans // 2))]
    words = [sys.executable, "-m", "benchmarks.large_tables", "fit", str(path), method, str(int(unit)), options, out]
    said = subprocess.run(words, check=True, capture_output=True, text=True, env=os.environ | {"JAX_PLATFORMS": "cpu"})
    found = json.loads(said.stdout.splitlines()[-1])
    timed += [bare_scan(path, columns) for _ in range(scans // 2)]
    scan, cpu_scan = (float(np.median(clock)) for clock in zip(*timed, strict=True))
    found |= {"rows": rows, "method": method, "unit": unit, "scan": scan, "cpu_scan": cpu_scan, "version": version()}
    found |= {"options": json.loads(options), "engine": os.environ.get("UNDERSTUDY_ENGINE", "")}
    passes = max(found["passes"], 1)
    return found | {
        "ratio": found["seconds"] / passes / scan,
        "cpu_ratio": found["cpu_seconds"] / passes / cpu_scan,
        "cpu_ratio_of_passes": found["cpu_seconds_in_passes"] / passes / cpu_scan,
    }


def version() -> str:
    """The commit of the code that was measured."""
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(words, check=False, capture_output=True, text=True).stdout.strip()


def table_of(path: str) -> Iterator[str]:
    """The newest result of every kind as a markdown table."""
    newest = {}
    for line in Path(path).read_text().splitlines():
        found = json.loads(line)
        found["method"] = " ".join([found["method"], *map("{0[0]}={0[1]}".format, found.get("options", {}).items())])
        found["method"] += f" ({found['engine']})" if found.get("engine") else ""
        newest[found["method"], found["unit"], found["rows"]] = found
    yield "| method | rows | seconds | peak GB | disk GB | passes | fit / pass / scan | processor time | passes alone | version |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for (method, unit, rows), found in sorted(newest.items()):
        name = f"{rows // 1_000_000} million{', 3 per person' if unit else ''}"
        figures = f"{found['seconds']:.0f} | {found['peak_gb']:.2f} | {found['disk_gb']:.2f} | {found['passes']}"
        alone = f"{found['cpu_ratio_of_passes']:.1f}" if "cpu_ratio_of_passes" in found else ""
        ratios = f"{found['ratio']:.1f} | {found['cpu_ratio']:.1f} | {alone}"
        yield f"| {method} | {name} | {figures} | {ratios} | {found['version']} |"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("make", "run", "fit", "show"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", default="large")
    parser.add_argument("--method", default="mst")
    parser.add_argument("--options", default="{}", help="method options as JSON")
    parser.add_argument("--unit", action="store_true")
    parser.add_argument(
        "--scans", type=int, default=4, help="bare scans, half before and half after the fit; the median counts"
    )
    parser.add_argument("--results", default="", help="file of JSON lines that a run is added to")
    given = parser.parse_args()
    if given.task == "make":
        make(given.rows, given.out, given.unit)
    elif given.task == "fit":
        path, method, unit, options, folder = given.rest
        fit_once(path, method, unit == "1", options, folder)
    elif given.task == "show":
        for line in table_of(given.results or str(RESULTS)):
            say(line)
    else:
        line = json.dumps(run(given.rows, given.out, given.method, given.unit, given.options, given.scans))
        say(line)
        if given.results:
            with Path(given.results).open("a") as file:
                file.write(f"{line}\n")


if __name__ == "__main__":
    main()
