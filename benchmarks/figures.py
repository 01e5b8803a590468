"""Drawings of the ablation of G-PATE and of the code tables of RDP-CGAN, as SVG files in docs/images.

    python -m benchmarks.figures directions           G-PATE Table 3: accuracy against projected dimensions and teachers
    python -m benchmarks.figures budgets              RDP-CGAN Fig. 2 and 3: MMD and dimension-wise F1 against epsilon
    python -m benchmarks.figures codes --data DIR     each code a point: share of ones and F1, real against synthetic

The first two read what `python -m benchmarks run --suite g-pate-table-3` and `--suite rdp-cgan-table-2` left in
benchmarks/results. `codes` fits (methods x tables x budgets, default options, seed 0) and keeps the points in
benchmarks/results/code-points.json, so that a second run goes on where the first stopped and drawing again costs
nothing; `--quick` does the same on few codes, rows and rounds, in files of their own. Nothing here is private: the tables are
public. What is missing is named, with exit code 2.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import store
from benchmarks.published import look_up
from benchmarks.registry import DATASETS
from benchmarks.suites import NOT_PRIVATE, QUICK_CODES
from benchmarks.tables import METRIC_TITLES
from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.report.charts import Reference, Series, line_chart

ROOT = Path(__file__).resolve().parent.parent
BEST_DIMENSIONS, BEST_TEACHERS, DIGITS = 10, 4000, 10  # the paper varies one and keeps the other here
PIXELS = 784
TOP = 50  # codes whose prediction is drawn, the most frequent ones
SHOWN = 300  # codes whose share is drawn
QUICK = {"rows": 300, "rounds": 10}

Record = Mapping[str, Any]
Place = Callable[[Record], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("directions", "budgets", "codes"))
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--data", help="codes: folder with the data files (or UNDERSTUDY_DATA)")
    parser.add_argument("--datasets", default="mimic3-demo,hiva", help="codes: comma-separated")
    parser.add_argument("--methods", default="rdp-cgan,dpgan", help="codes: comma-separated")
    parser.add_argument("--epsilon", default="1,10", help="codes: comma-separated")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    quick = "-quick" if chosen.quick else ""
    try:
        store.prepare(chosen.out)
        if chosen.what == "directions":
            made = directions(_records(chosen.results, f"g-pate-table-3{quick}"))
        elif chosen.what == "budgets":
            made = budgets(_records(chosen.results, f"rdp-cgan-table-2{quick}"))
        else:
            epsilons = [float(word) for word in chosen.epsilon.split(",")]
            names = [(d, m) for d in chosen.datasets.split(",") for m in chosen.methods.split(",")]
            made = codes(
                points(names, epsilons, chosen.results / f"code-points{quick}.json", chosen.data, chosen.quick)
            )
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    for name, drawing in made.items():
        alone = str(drawing).replace('font-family="inherit"', 'font-family="sans-serif"', 1)  # no page to inherit from
        write_atomically(chosen.out / f"{name}{quick}.svg", alone)
        sys.stdout.write(f"drawn: {name}{quick}.svg\n")


def _records(results: Path, stem: str) -> list[Record]:
    """The good cells of a suite, of each the newest code's."""
    found = store.newest(store.read(results / f"{stem}.jsonl"))
    if not any(record["method"] != "real" for record in found):
        suite = stem.removesuffix("-quick")
        more = " --quick" if suite != stem else ""
        raise UsageError(
            f"{stem}.jsonl has no fits; `python -m benchmarks run --suite {suite}{more} --data DIR` makes them"
        )
    return found


# -- G-PATE Table 3 --------------------------------------------------------------------------------------------------------
def directions(records: Sequence[Record]) -> dict[str, str]:
    """Accuracy against projected dimensions at 4,000 teachers, and against teachers at 10 dimensions."""
    records = [r for r in records if r["dataset"] == "mnist"]
    fits = [r for r in records if r["method"] != "real"]
    whole = [r["metrics"]["accuracy"] for r in fits if _projected(r) == PIXELS]  # no projection: a level line
    fits = [r for r in fits if _projected(r) != PIXELS]
    parts = {
        "dimensions": (_projected, "projection", [r for r in fits if _teachers(r) == BEST_TEACHERS]),
        "teachers": (_teachers, "teachers", [r for r in fits if _projected(r) == BEST_DIMENSIONS]),
    }
    words = {
        "dimensions": f"projected dimensions ({BEST_TEACHERS:,} teachers)",
        "teachers": f"teachers of all ten digits ({BEST_DIMENSIONS} dimensions)",
    }
    real = [r["metrics"]["accuracy"] for r in records if r["method"] == "real"]
    made: dict[str, str] = {}
    for name, (place, variant, some) in parts.items():
        named = _by([{**r, "name": _name(r, ("projected", "teachers"))} for r in some], "name")
        series = [_series(f"ours: {who}", runs, place, "accuracy") for who, runs in named.items()]
        printed = _published(variant)
        without = printed.pop("none", None)
        ends = [int(at) for at in printed]
        series.append(Series(name="published", x=ends, y=list(printed.values())))
        if without is not None:
            series.append(Series(name="published, no projection", x=[ends[0], ends[-1]], y=[without, without]))
            if whole:
                level = [statistics.fmean(whole)] * 2
                series.append(Series(name="ours, no projection", x=[ends[0], ends[-1]], y=level))
        made[f"g-pate-{name}"] = line_chart(
            f"G-PATE Table 3, MNIST at epsilon 1: accuracy against {name}",
            series,
            x_label=words[name],
            y_label="accuracy of a CNN on real test pictures",
            y_limits=(0.0, 1.0),
            references=[Reference(name="trained on real pictures", value=statistics.fmean(real) if real else None)],
        )
    return made


def _published(variant: str) -> dict[str, float]:
    rows = [row for row in look_up("g-pate", table="3", dataset="mnist") if row.variant.startswith(variant)]
    return {row.variant.partition("=")[2]: row.value for row in rows}


def _projected(record: Record) -> int:
    return record["options"].get("projected", 0)


def _teachers(record: Record) -> int:
    """Of all ensembles: by default there is one for each digit, and the paper counts them together."""
    ensembles = DIGITS if record["options"].get("by_class", True) else 1
    return ensembles * record["options"].get("teachers", 0)


# -- RDP-CGAN Fig. 2 and 3 -------------------------------------------------------------------------------------------------
def budgets(records: Sequence[Record]) -> dict[str, str]:
    """Per code table: MMD, and F1 of the 10 and 50 most frequent codes, against epsilon."""
    made: dict[str, str] = {}
    for dataset, some in _by(records, "dataset").items():
        for metric, word in {"mmd": "mmd", "dimension-wise-f1": "f1", "dimension-wise-f1-top-50": "f1-top-50"}.items():
            known = [r for r in some if r["metrics"].get(metric) is not None]
            fits = _by([{**r, "name": _name(r)} for r in known if r["method"] != "real"], "name")
            if not fits:
                continue
            private = {name: runs for name, runs in fits.items() if runs[0]["method"] not in NOT_PRIVATE}
            ends = sorted({r["epsilon"] for runs in (private or fits).values() for r in runs})
            series = [_series(name, runs, lambda r: r["epsilon"], metric) for name, runs in private.items()]
            for name in (name for name in fits if name not in private):  # no budget enters these: level lines
                mean = statistics.fmean(r["metrics"][metric] for r in fits[name])
                level = (ends[0], ends[-1]) if len(ends) > 1 else (ends[0],)
                series.append(Series(name=f"{name} (not private)", x=level, y=[mean] * len(level)))
            real = [r["metrics"][metric] for r in known if r["method"] == "real"]
            shown = metric != "mmd" and bool(real)  # real rows against themselves have no distance to tell
            title = METRIC_TITLES.get(metric, metric)
            made[f"rdp-cgan-{word}-{dataset}"] = line_chart(
                f"{DATASETS[dataset].title}: {title} against epsilon",
                series,
                x_label="epsilon",
                y_label=title,
                x_log=len(ends) > 1,
                references=[Reference(name="trained on real rows", value=statistics.fmean(real))] if shown else [],
            )
    return made


def _name(record: Record, drawn: Sequence[str] = ()) -> str:
    """The method and its options but those on the axis, so that runs with other options are never averaged together."""
    others = [f"{name}={value}" for name, value in sorted(record["options"].items()) if name not in drawn]
    return ", ".join([record["method"], *others])


def _by(records: Sequence[Record], field: str) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record[field], []).append(record)
    return found


def _series(name: str, records: Sequence[Record], place: Place, metric: str) -> Series:
    """Means over seeds with the range of the runs."""
    runs: dict[float, list[float]] = {}
    for record in records:
        runs.setdefault(place(record), []).append(record["metrics"][metric])
    x = sorted(runs)
    several = any(len(values) > 1 for values in runs.values())
    return Series(
        name=name,
        x=x,
        y=[statistics.fmean(runs[at]) for at in x],
        low=[min(runs[at]) for at in x] if several else None,
        high=[max(runs[at]) for at in x] if several else None,
    )


# -- each code a point -----------------------------------------------------------------------------------------------------
def points(
    names: Sequence[tuple[str, str]], epsilons: Sequence[float], file: Path, data: str | None, quick: bool
) -> list[Record]:
    """What is in the file already, and the rest by fitting."""
    from benchmarks.registry import dataset, find_file
    from understudy import method

    for name, one in names:  # told before the first fit
        method(one)
        if (entry := dataset(name)).file is not None:
            find_file(entry, data)
    kept: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    wanted = [
        (name, one, epsilon) for name, one in names for epsilon in (epsilons[:1] if one in NOT_PRIVATE else epsilons)
    ]
    for key in wanted:
        if key not in {(r["dataset"], r["method"], r["epsilon"]) for r in kept}:
            kept.append(_fit(*key, data, quick))
            store.prepare(file.parent)
            write_atomically(file, json.dumps(kept, indent=1) + "\n")
            sys.stderr.write(f"{key[0]}, {key[1]}, epsilon {key[2]:g}: done\n")
    return [r for r in kept if (r["dataset"], r["method"], r["epsilon"]) in wanted]


def _fit(name: str, method: str, epsilon: float, data: str | None, quick: bool) -> dict[str, Any]:
    import numpy as np

    import understudy as us
    from benchmarks.cells import most_frequent_codes
    from benchmarks.registry import load
    from understudy.evaluate.metrics import dimension
    from understudy.evaluate.table import prepare

    train, test, schema = load(name, data, seed=0, rows=QUICK["rows"] if quick else None)
    options: dict[str, Any] = {}
    if quick:
        train, test, schema = most_frequent_codes(train, test, schema, QUICK_CODES)
        options = {"rounds": QUICK["rounds"]}
    model = us.method(method)(epsilon=epsilon, delta=1e-5, seed=0, **options).fit(train, schema)
    fake = prepare(model.sample(len(train), seed=0), schema)
    found = dimension.compare(prepare(train, schema), prepare(test, schema), [fake], schema, seed=0, tops=(TOP,))
    if found is None:
        raise UsageError(f"{name} has too few binary columns to draw")
    share, predicted = found.probability, found.prediction
    order = np.argsort(-np.asarray(share.real), kind="stable")[:SHOWN]
    return {
        "dataset": name,
        "method": method,
        "epsilon": epsilon,
        "codes": [share.columns[i] for i in order],
        "share_real": [round(share.real[i], 4) for i in order],
        "share_synthetic": [round(share.synthetic[i], 4) for i in order],
        "predicted": list(predicted[0].columns),
        "f1_real": np.mean([p.real for p in predicted], axis=0).round(4).tolist(),
        "f1_synthetic": np.mean([p.synthetic for p in predicted], axis=0).round(4).tolist(),
    }


def codes(kept: Sequence[Record]) -> dict[str, str]:
    """Per table and method two clouds, a colour for each budget; on the diagonal synthetic equals real."""
    made: dict[str, str] = {}
    for dataset, own in _by(kept, "dataset").items():
        for method, runs in _by(own, "method").items():
            for word, label in {"share": "share of ones", "f1": f"F1, mean of three models, top {TOP}"}.items():
                largest = max(v for r in runs for side in ("real", "synthetic") for v in r[f"{word}_{side}"])
                limit = 1.0 if word == "f1" else min(1.0, 1.05 * largest) or 1.0
                series = [
                    Series(
                        name="not private" if method in NOT_PRIVATE else f"epsilon {run['epsilon']:g}",
                        x=run[f"{word}_real"],
                        y=run[f"{word}_synthetic"],
                        points_only=True,
                    )
                    for run in sorted(runs, key=lambda run: run["epsilon"])
                ]
                made[f"codes-{word}-{dataset}-{method}"] = line_chart(
                    f"{DATASETS[dataset].title}, {method}: {label} of each code",
                    series,
                    x_label=f"{label}: real",
                    y_label=f"{label}: synthetic",
                    x_limits=(0.0, limit),
                    y_limits=(0.0, limit),
                    diagonal=True,
                    height=320,
                )
    return made


if __name__ == "__main__":
    main()
