"""Does `plan` promise what a fit keeps? On tables that nobody tuned for, made by this script.

    python -m benchmarks.promises --out DIR [--tables 10] [--first 0] [--epsilon 1]

Table 0 is the newcomer's (800 rows, 20 columns); others are drawn: 400 to 6,400 rows, 8 to 20 of its columns, hidden factors
from a third to one and a half times as strong. For each: what the adviser says before a row is read, what the fit kept of the
whole table (the measures of the benchmark, as its suites take them), and which promises held. Lines of JSON, then a count.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import newcomer
from understudy.adviser.advice import advise, promised
from understudy.adviser.experience import EVERYTHING, whole_kept
from understudy.easy import fit
from understudy.evaluate import whole_table
from understudy.schema import Schema

LABEL = "readmitted"


def made_up(number: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows of one table, and as many rows of other people again."""
    if number == 0:
        return newcomer.table(newcomer.ROWS, 0), newcomer.table(newcomer.ROWS, 10_000)
    rng = np.random.default_rng(number)
    rows, pull = int(400 * 2 ** rng.uniform(0, 4)), float(rng.uniform(1 / 3, 1.5))
    both = newcomer.table(2 * rows, 1000 + number, pull)
    features = [name for name in both.columns if name != LABEL]
    kept = {*rng.choice(features, int(rng.integers(7, len(features) + 1)), replace=False), LABEL}
    both = both[[name for name in both.columns if name in kept]]
    return both.iloc[:rows], both.iloc[rows:].reset_index(drop=True)


def measured(synthetic: pd.DataFrame, train: pd.DataFrame, others: pd.DataFrame, schema: Schema) -> dict[str, float]:
    """The share of dependence that was kept, and the measures it is made of."""
    found = whole_table(train, synthetic, schema, held_out=others)
    assert found is not None
    figures = {one.name: one.value.mean for one in found.measures}
    kept = whole_kept(EVERYTHING, figures, {one.name: one.independent for one in found.measures})
    return {"kept": float(kept or 0.0)} | {name: value for name, value in figures.items() if value is not None}


def check(number: int, epsilon: float, out: Path) -> dict[str, Any]:
    """One table: promises, what was measured, and which held."""
    train, others = made_up(number)
    file = out / f"{number}.yaml"
    file.write_text(newcomer.schema_text(True, list(train.columns)), encoding="utf-8")
    schema = Schema.load(file)
    advice = advise(schema, epsilon=epsilon, rows=len(train))
    model = fit(train, schema, epsilon=epsilon, method=advice.method)
    found = measured(model.sample(len(train), seed=0), train, others, schema)
    ranges = promised(advice)
    return {
        "table": number,
        "rows": len(train),
        "columns": train.shape[1],
        "method": advice.method,
        "hopeless": advice.hopeless,
        "promised": ranges,
        "measured": {name: round(found[name], 4) for name in ranges if name in found},
        "held": held(ranges, found),
    }


def held(ranges: Mapping[str, tuple[float, float]], found: Mapping[str, float]) -> dict[str, bool]:
    """Which promises hold, to the two digits in which they are made."""
    return {
        name: low - 0.005 <= found[name] <= high + 0.005
        for name, (low, high) in ranges.items()
        if found.get(name) is not None
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    held_by: dict[str, list[bool]] = {}
    for number in range(given.first, given.first + given.tables):
        line = check(number, given.epsilon, given.out)
        print(json.dumps(line), flush=True)  # noqa: T201
        for name, one in line["held"].items():
            held_by.setdefault(name, []).append(one)
    for name, every in held_by.items():
        print(f"{name}: {sum(every)} of {len(every)} held")  # noqa: T201


if __name__ == "__main__":
    main()
