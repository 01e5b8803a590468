"""What a fit costs: wall time, processor time and peak memory of every table and method, measured in one run.

    python -m benchmarks.fit_costs --data DIR [--methods mst,aim] [--datasets adult]

Each fit is a process of its own at (1, 1e-5) with default options, one after the other. `fit_seconds` is the wall time of the
fit, planning and compilation included; processor time and memory are those of the process, with its imports and reading the
table. Where a method refuses a table, its message stands in place of figures. Results go to benchmarks/results/fit-costs.json
and fit-costs.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from understudy import engine
from understudy.files import write_atomically

DATASETS = (
    "credit-card-fraud",
    "cervical-cancer",
    "isolet-vowels",
    "epileptic-seizure",
    "adult",
    "cardiovascular",
    "diabetes-130us",
    "mnist",
)
METHODS = ("independent", "mst", "aim", "mean-embedding", "pate-gan", "g-pate", "dpgan", "rdp-cgan")
OUT = Path(__file__).resolve().parent / "results" / "fit-costs.json"


def work(dataset: str, method: str, data: str) -> None:
    """In a process of its own."""
    import understudy as us
    from benchmarks import registry

    train, _, schema = registry.load(dataset, data=data, seed=0)
    started = time.perf_counter()
    try:
        us.method(method)(epsilon=1.0, delta=1e-5, seed=0).fit(train, schema)
    except us.UsageError as refusal:
        sys.stdout.write(json.dumps({"refused": str(refusal)}))
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "rows": len(train),
        "columns": len(schema.features),
        "fit_seconds": time.perf_counter() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss / 1024,
        "load": os.getloadavg()[0],
    }
    sys.stdout.write(json.dumps(figures))


def measure(dataset: str, method: str, data: str, timeout: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.fit_costs", "--data", data, "--worker", dataset, method]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"refused": f"stopped after {timeout:.0f} s"}
    if done.returncode:
        return {"refused": (done.stderr.strip().splitlines() or ["ended without a message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(record: dict[str, Any]) -> str:
    """One row a data set, one column a method: seconds, and megabytes."""
    cells = record["cells"]
    methods = [name for name in METHODS if any(name in of for of in cells.values())]
    lines = [f"| table | {' | '.join(methods)} |", f"| --- |{' --- |' * len(methods)}"]
    notes = []
    for dataset, of in cells.items():
        row = []
        for name in methods:
            found = of.get(name, {})
            if "refused" in found:
                notes.append(f"- {dataset}, {name}: {found['refused']}")
                row.append("see below")
            else:
                row.append(f"{found['cpu_seconds']:.0f} s, {found['peak_megabytes']:,.0f} MB" if found else "")
        lines.append(f"| {dataset} | {' | '.join(row)} |")
    return "\n".join([*lines, "", *notes]).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the tables")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for one fit")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        dataset, method = given.worker
        work(dataset, method, given.data)
        return
    record = json.loads(OUT.read_text()) if OUT.exists() else {"cells": {}}
    record |= {"epsilon": 1.0, "delta": 1e-5, "cores": engine.cores()}
    for dataset in given.datasets.split(","):
        for method in given.methods.split(","):
            found = measure(dataset, method, given.data, given.timeout)
            record["cells"].setdefault(dataset, {})[method] = found
            sys.stderr.write(f"{dataset} {method} {json.dumps(found)}\n")
            write_atomically(OUT, json.dumps(record, indent=1) + "\n")
    write_atomically(OUT.with_suffix(".md"), table(record))
    sys.stdout.write(table(record))


if __name__ == "__main__":
    main()
