"""How long the whole-table measures take, and their memory: Adult, and a made-up table of a million rows.

    python -m benchmarks.evaluate_speed --data DIR [--rows 1000000] [--columns 30]

Adult's training rows are compared with a bootstrap of themselves, held-out rows given. The large table has a third of numbers, a
third of categories and a third of whole numbers, each pulled by one hidden normal number; it is compared with another one of
the same source. Processor time is what counts on a machine that does other work; wall time stands beside it.
"""

import argparse
import json
import os
import resource
import sys
import time

import numpy as np
import pandas as pd

from benchmarks import registry
from understudy.evaluate import whole_table
from understudy.schema import Column, Schema


def made_up(rows: int, columns: int, seed: int) -> pd.DataFrame:
    """Columns in turn: a normal number, one of twelve categories, a whole number below 100."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=rows)
    found = {}
    for i in range(columns):
        value = 0.7 * hidden + rng.normal(size=rows)
        if i % 3 == 0:
            found[f"c{i}"] = value
        elif i % 3 == 1:
            found[f"c{i}"] = pd.Categorical.from_codes(
                np.clip((value * 2 + 6), 0, 11).astype(int), list("abcdefghijkl")
            )
        else:
            found[f"c{i}"] = np.clip(value * 15 + 50, 0, 99).astype(int)
    return pd.DataFrame(found)


def schema_of(columns: int) -> Schema:
    """What is public about the made-up table."""
    kinds = (
        lambda name: Column(name=name, kind="continuous", lower=-8.0, upper=8.0),
        lambda name: Column(name=name, kind="categorical", categories=tuple("abcdefghijkl")),
        lambda name: Column(name=name, kind="integer", lower=0, upper=99),
    )
    return Schema(columns=tuple(kinds[i % 3](f"c{i}") for i in range(columns)))


def timed(name: str, real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema, held_out: pd.DataFrame) -> dict:
    """Wall and processor seconds of counting alone and of everything."""
    found: dict[str, object] = {"table": name, "rows": len(real), "columns": real.shape[1]}
    for boosted in (False, True):
        wall, processor = time.perf_counter(), time.process_time()
        whole_table(real, synthetic, schema, held_out=held_out, boosted=boosted)
        kind = "all measures" if boosted else "counts alone"
        found[f"{kind}: processor seconds"] = round(time.process_time() - processor, 1)
        found[f"{kind}: wall seconds"] = round(time.perf_counter() - wall, 1)
    found["peak memory (MB)"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    found["load of the machine"] = round(os.getloadavg()[0], 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder that holds adult.parquet; left out without it")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=30)
    given = parser.parse_args()
    if given.data:
        split = registry.load("adult", data=given.data)
        again = split.train.sample(len(split.train), replace=True, random_state=0)
        sys.stdout.write(json.dumps(timed("adult", split.train, again, split.schema, split.test)) + "\n")
    schema = schema_of(given.columns)
    tables = [made_up(rows, given.columns, seed) for seed, rows in enumerate((given.rows, given.rows, given.rows // 5))]
    sys.stdout.write(json.dumps(timed("made up", tables[0], tables[1], schema, tables[2])) + "\n")


if __name__ == "__main__":
    main()
