"""An earlier version of ours through the whole-table scoring, beside what the methods are now.

    git worktree add OTHER <commit>
    python -m benchmarks.whole_table_before --other OTHER --data DIR [--methods aim] [--datasets adult] [--epsilon 1] [--seeds 3]

The other checkout fits and draws in a process of its own, on the splits and schemas of the suite; its rows are scored by what
stands here, as all rows of the suite are. The commit stands in the method's name and for its code: `aim at d47746d`. Finished
cells are not repeated. Results are appended to benchmarks/results/whole-table.jsonl.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import store
from benchmarks.cells import Cell, versions
from benchmarks.registry import load
from benchmarks.runner import command_line
from benchmarks.suites import SUITES
from benchmarks.two_trees import commit, fit
from benchmarks.whole_table_peers import FILE, cell_of, scored


def compute(cell: Cell, other: str, data: str) -> dict[str, Any]:
    """Fit with the other sources, score with these."""
    started = time.perf_counter()
    split = load(cell.dataset, data, seed=cell.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        split.schema.save(folder / "schema.yaml")
        split.train.to_parquet(folder / "train.parquet")
        found = fit(other, folder, cell.method.split()[0], cell.epsilon or 0.0, len(split.train), "{}")
        if "refused" in found:
            record = {"status": "failed", "error": found["refused"]}
        else:
            rows = pd.read_parquet(folder / "fake.parquet")
            record = {"status": "ok"} | scored(cell, split, rows, found["seconds"])
    return {
        "cell": cell.key,
        **vars(cell),
        "classifiers": None,
        "options": {},
        "guarantee": "of that version",
        **record,
        "total_seconds": round(time.perf_counter() - started, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": command_line(["", *sys.argv[1:]]),
        "versions": versions(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", required=True, help="checkout of the earlier version")
    parser.add_argument("--data", required=True, help="folder that holds the tables")
    parser.add_argument("--methods", default="aim,mst,mean-embedding")
    parser.add_argument("--datasets", default=",".join(SUITES["whole-table"].datasets))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    at = commit(given.other)
    done = {key for key, record in store.latest(store.read(FILE)).items() if record["status"] == "ok"}
    for dataset in given.datasets.split(","):
        for method in given.methods.split(","):
            for seed in range(given.seeds):
                cell = cell_of(f"{method} at {at}", at, dataset, given.epsilon, seed)
                if cell.key not in done:
                    record = compute(cell, given.other, given.data)
                    store.append(FILE, record)
                    sys.stderr.write(f"{cell.label}: {record['status']} {record.get('error', '')}\n")


if __name__ == "__main__":
    main()
