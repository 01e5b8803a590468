"""Other packages through the whole-table scoring: dpmm and smartnoise-synth beside our methods.

    python -m benchmarks.whole_table_peers --data DIR --python ENV/bin/python [--python OTHER/bin/python]
        [--datasets adult,nist-ma2019] [--epsilon 1] [--only "dpmm mst"] [--seeds 1] [--timeout 1800]

Each method is fitted in a process of its own (`benchmarks.peers`) with public bounds, categories and twenty bins per number; its
rows are scored as ours are. Finished cells are not repeated; their key holds the package's version. Results are appended to
benchmarks/results/whole-table.jsonl, `python -m benchmarks run --suite whole-table` shows them with ours.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import peers, store
from benchmarks.cells import Cell, versions
from benchmarks.registry import DATASETS, Split
from benchmarks.runner import command_line
from benchmarks.score import score
from benchmarks.suites import SUITES

FILE = peers.RESULTS / "whole-table.jsonl"


def cell_of(name: str, version: str, dataset: str, epsilon: float, seed: int) -> Cell:
    """A peer's cell: the version of its package stands for its code."""
    return Cell(
        dataset=dataset, method=name, epsilon=epsilon, delta=peers.DELTA, seed=seed, scoring="whole-table", code=version
    )


def compute(cell: Cell, python: str, data: str, timeout: int) -> dict:
    """Fit in the peer's environment, score here; what goes wrong is part of the record."""
    started = time.perf_counter()
    record = {
        "cell": cell.key,
        "status": "ok",
        **vars(cell),
        "classifiers": None,
        "options": {},
        "guarantee": "of the peer",
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        job, split = peers.prepare(folder, data, cell.seed, cell.dataset, cell.epsilon)
        found = peers.run(cell.method, python, job, folder, timeout)
        if "error" in found:
            record |= {"status": "failed", "error": found["error"]}
        else:
            record |= scored(cell, split, peers.read_rows(folder / "rows.csv", split), found["fit_seconds"])
    return record | {
        "total_seconds": round(time.perf_counter() - started, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": command_line(["", *sys.argv[1:]]),
        "versions": versions() | {cell.method.split()[0]: cell.code},
    }


def scored(cell: Cell, split: Split, rows: pd.DataFrame, seconds: float) -> dict[str, Any]:
    """What the suite measures of rows that a method not of this version drew."""
    found = score(
        rows, split.test, train=split.train, test=split.test, schema=split.schema, scoring="whole-table",
        classifiers=None, max_rows=cell.max_rows, seed=cell.seed, stable=DATASETS[cell.dataset].stable,
    )  # fmt: skip
    return found | {"train_rows": len(split.train), "fit_seconds": round(seconds, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder that holds the tables")
    parser.add_argument("--python", action="append", default=[], help="interpreter of an environment with the peers")
    parser.add_argument("--datasets", default=",".join(SUITES["whole-table"].datasets))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--only", help="comma-separated names of methods")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=1800, help="seconds of processor time for one fit")
    given = parser.parse_args()
    wanted = given.only.split(",") if given.only else [name for name, _ in peers.PEERS]
    done = {key for key, record in store.latest(store.read(FILE)).items() if record["status"] == "ok"}
    for name, package in ((name, package) for name, package in peers.PEERS if name in wanted):
        found = [(python, version) for python in given.python if (version := peers.holds(python, package))]
        if not found:
            sys.stderr.write(f"{name}: no environment given by --python holds {package}; left out\n")
            continue
        python, version = found[0]
        for dataset in given.datasets.split(","):
            for seed in range(given.seeds):
                cell = cell_of(name, version, dataset, given.epsilon, seed)
                if cell.key not in done:
                    record = compute(cell, python, given.data, given.timeout)
                    store.append(FILE, record)
                    sys.stderr.write(f"{cell.label}: {record['status']} {record.get('error', '')}\n")


if __name__ == "__main__":
    main()
