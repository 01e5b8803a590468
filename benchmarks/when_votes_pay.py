"""When do votes and gradients add to a paid start? Paired fits: the start alone, with votes or gradients on top, and these alone.

    python -m benchmarks.when_votes_pay --data DIR --datasets modes,adult --epsilons 1,3,10,100 --rows 5000 --seeds 1

`modes` is simulated: 8 columns, two classes of two modes each that differ in how two columns go together and in nothing else,
so that means and spreads of a class say nothing about it. `--rows` cuts tables (before the split), so that a fit takes seconds.
Utility is the AUROC of a forest, which learns all of these tables from real rows, and the mean with logistic regression and
Gaussian naive Bayes, which do not; trained on synthetic rows, tested on real ones, `real` trained on real rows. Every record is
appended to benchmarks/results/when-votes-pay.jsonl with the version of its code; `--show` prints the table of what is there, the
newest code of each fit.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.fingerprint import fingerprint
from benchmarks.registry import Split, load
from benchmarks.score import score
from understudy.methods.registry import method
from understudy.schema import Column, Schema

MODELS = ("logistic", "gaussian-nb", "forest")
REAL = "real"
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    REAL: (REAL, {}),
    "start": ("pate-gan", {}),
    "start and votes": ("pate-gan", {"votes_share": 0.1}),
    "start and joint votes": ("pate-gan-joint", {"start": "moments"}),
    "start and gradients": ("dpgan", {"gradients_share": 0.2}),
    "votes": ("pate-gan", {"start": "none", "generator_learning_rate": 1e-3}),
    "joint votes": ("pate-gan-joint", {}),
    "gradients": ("dpgan", {"start": "none"}),
}
KEY = ("dataset", "rows", "variant", "epsilon", "seed")
RESULTS = Path(__file__).parent / "results" / "when-votes-pay.jsonl"
ROWS = 8000  # of `modes`, unless told otherwise
MOST_ROWS = 10_000  # that models train on


def modes(seed: int, rows: int) -> Split:
    """Two modes in each class: the first two columns have the same sign in one class and opposite signs in the other."""
    rng = np.random.default_rng(seed)
    label, side = rng.integers(0, 2, rows), rng.choice([-1.0, 1.0], rows)
    values = rng.normal(0.0, 1.0, (rows, 8))
    values[:, 0] += 2.0 * side
    values[:, 1] += 2.0 * side * np.where(label == 1, 1.0, -1.0)
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(8)]).assign(y=label)
    columns = [Column(name=f"x{i}", kind="continuous", lower=-8, upper=8) for i in range(8)]
    schema = Schema(columns=(*columns, Column(name="y", kind="categorical", categories=(0, 1))), label="y", positive=1)
    return Split(frame[: rows * 4 // 5], frame[rows * 4 // 5 :].reset_index(drop=True), schema)


def run(split: Split, variant: str, epsilon: float, seed: int) -> dict[str, Any]:
    """One fit and its score."""
    kind, options = VARIANTS[variant]
    began = time.process_time()
    if kind == REAL:
        fake, spare = split.train, split.test
    else:
        model = method(kind)(epsilon=epsilon, seed=seed, **options).fit(split.train, split.schema)
        fake, spare = model.sample(min(len(split.train), MOST_ROWS), seed=seed + 1), model.sample(1000, seed=seed + 2)
    found = score(fake, spare, **split._asdict(), scoring="utility", classifiers=MODELS, max_rows=MOST_ROWS, seed=seed)
    return {
        "auroc": found["metrics"]["auroc"],
        "models": {model: values["auroc"] for model, values in found["models"].items()},
        "seconds": round(time.process_time() - began, 1),
    }


def records() -> Iterator[dict[str, Any]]:
    """What was recorded before."""
    if RESULTS.exists():
        yield from (json.loads(line) for line in RESULTS.read_text("utf-8").splitlines())


def newest() -> dict[tuple[Any, ...], dict[str, Any]]:
    """The last record of every fit."""
    return {tuple(one.get(name) for name in KEY): one for one in records()}


def table() -> str:
    """AUROC of the forest / mean of the three models, means over seeds; one row per table, its rows and epsilon."""
    found: dict[tuple[str, int, float], dict[str, list[tuple[float, float]]]] = {}
    for record in newest().values():
        place = record["dataset"], record.get("rows") or 0, record["epsilon"]
        found.setdefault(place, {}).setdefault(record["variant"], []).append(
            (record["models"]["forest"], record["auroc"])
        )
    shown = [one for one in VARIANTS if any(one in cell for cell in found.values())]
    lines = [f"| table | rows | epsilon | {' | '.join(shown)} |", f"| --- | --- | --- |{' --- |' * len(shown)}"]
    for (name, rows, epsilon), cell in sorted(found.items()):
        means = (np.mean(cell[one], axis=0) if one in cell else () for one in shown)
        figures = (" / ".join(f"{value:.3f}" for value in mean) or "-" for mean in means)
        lines.append(f"| {name} | {rows or 'all'} | {epsilon:g} | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--datasets", default="modes")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--epsilons", default="1,10")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    for name in [] if arguments.show else arguments.datasets.split(","):
        for seed in range(arguments.seeds):
            rows = arguments.rows
            split = modes(seed, rows or ROWS) if name == "modes" else load(name, arguments.data, seed=seed, rows=rows)
            for epsilon in map(float, arguments.epsilons.split(",")):
                for variant in arguments.variants.split(","):
                    place = dict(zip(KEY, (name, rows, variant, epsilon, seed), strict=True))
                    version = fingerprint(VARIANTS[variant][0])
                    known = newest().get(tuple(place.values()))
                    if known is None or known["version"] != version:
                        record = place | run(split, variant, epsilon, seed) | {"version": version}
                        with RESULTS.open("a", encoding="utf-8") as lines:
                            lines.write(json.dumps(record) + "\n")
    sys.stdout.write(table())


if __name__ == "__main__":
    main()
