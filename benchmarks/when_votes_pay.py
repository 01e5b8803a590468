"""When do votes and gradients add to a paid start? Paired fits: the start alone, with votes or gradients on top, and these alone.

    python -m benchmarks.when_votes_pay --data DIR --datasets modes,credit-card-fraud --epsilons 1,10 --seeds 1

`modes` is simulated: 8 columns, two classes of two modes each that differ in how two columns go together and in nothing else,
so that means and spreads of a class say nothing about it. Utility is the mean AUROC of three models (logistic, Gaussian NB,
forest), trained on synthetic rows, tested on real ones. Every record is appended to benchmarks/results/when-votes-pay.jsonl with
the version of the code behind it; `--show` prints the table of what is there.
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
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "start": ("pate-gan", {}),
    "start and votes": ("pate-gan", {"votes_share": 0.1}),
    "start and joint votes": ("pate-gan-joint", {"start": "moments"}),
    "start and gradients": ("dpgan", {"gradients_share": 0.2}),
    "votes": ("pate-gan", {"start": "none", "generator_learning_rate": 1e-3}),
    "joint votes": ("pate-gan-joint", {}),
    "gradients": ("dpgan", {"start": "none"}),
}
RESULTS = Path(__file__).parent / "results" / "when-votes-pay.jsonl"
ROWS = 8000


def modes(seed: int) -> Split:
    """Two modes in each class: the first two columns have the same sign in one class and opposite signs in the other."""
    rng = np.random.default_rng(seed)
    label, side = rng.integers(0, 2, ROWS), rng.choice([-1.0, 1.0], ROWS)
    rows = rng.normal(0.0, 1.0, (ROWS, 8))
    rows[:, 0] += 2.0 * side
    rows[:, 1] += 2.0 * side * np.where(label == 1, 1.0, -1.0)
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(8)]).assign(y=label)
    columns = [Column(name=f"x{i}", kind="continuous", lower=-8, upper=8) for i in range(8)]
    schema = Schema(columns=(*columns, Column(name="y", kind="categorical", categories=(0, 1))), label="y", positive=1)
    return Split(frame[: ROWS * 4 // 5], frame[ROWS * 4 // 5 :].reset_index(drop=True), schema)


def run(name: str, split: Split, variant: str, epsilon: float, seed: int) -> dict[str, Any]:
    """One fit and its score."""
    kind, options = VARIANTS[variant]
    began = time.process_time()
    model = method(kind)(epsilon=epsilon, seed=seed, **options).fit(split.train, split.schema)
    rows = min(len(split.train), 10_000)
    fake, spare = model.sample(rows, seed=seed + 1), model.sample(1000, seed=seed + 2)
    found = score(fake, spare, **split._asdict(), scoring="utility", classifiers=MODELS, max_rows=10_000, seed=seed)
    return {
        "dataset": name,
        "variant": variant,
        "epsilon": epsilon,
        "seed": seed,
        "auroc": found["metrics"]["auroc"],
        "models": {model: values["auroc"] for model, values in found["models"].items()},
        "seconds": round(time.process_time() - began, 1),
        "version": fingerprint(kind),
    }


def records() -> Iterator[dict[str, Any]]:
    """What was recorded before."""
    if RESULTS.exists():
        yield from (json.loads(line) for line in RESULTS.read_text("utf-8").splitlines())


def table() -> str:
    """Mean AUROC over seeds, one row per table and epsilon."""
    found: dict[tuple[str, float], dict[str, list[float]]] = {}
    for record in records():
        cell = found.setdefault((record["dataset"], record["epsilon"]), {})
        cell.setdefault(record["variant"], []).append(record["auroc"])
    lines = [f"| table | epsilon | {' | '.join(VARIANTS)} |", f"| --- | --- |{' --- |' * len(VARIANTS)}"]
    for (name, epsilon), cell in sorted(found.items()):
        cells = (f"{np.mean(cell[one]):.3f} ({len(cell[one])})" if one in cell else "-" for one in VARIANTS)
        lines.append(f"| {name} | {epsilon:g} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--datasets", default="modes")
    parser.add_argument("--epsilons", default="1,10")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    chosen = [] if arguments.show else arguments.datasets.split(",")
    known = {(one["dataset"], one["variant"], one["epsilon"], one["seed"], one["version"]) for one in records()}
    for name in chosen:
        for seed in range(arguments.seeds):
            split = modes(seed) if name == "modes" else load(name, arguments.data, seed=seed)
            for epsilon in map(float, arguments.epsilons.split(",")):
                for variant in arguments.variants.split(","):
                    if (name, variant, epsilon, seed, fingerprint(VARIANTS[variant][0])) in known:
                        continue
                    record = run(name, split, variant, epsilon, seed)
                    with RESULTS.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(record) + "\n")
    sys.stdout.write(table())


if __name__ == "__main__":
    main()
