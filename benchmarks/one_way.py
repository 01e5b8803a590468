"""How well columns and pairs of columns survive: total variation distances of samples from the training rows.

    python -m benchmarks.one_way --data DIR
    python -m benchmarks.one_way --data DIR --other CHECKOUT --datasets adult,cardiovascular --methods independent,mst --auroc

Every method is fitted with the sources of this tree and, with `--other`, of another checkout on the same splits. Printed per
data set, method and epsilon, mean over seeds: the mean one-way distance over columns, the worst column, the mean two-way
distance over at most `PAIRS` random pairs (one choice for all), the same for a bootstrap of the training rows (what sampling
alone costs) and, with `--auroc`, the mean AUROC of five quick models on held-out rows.

A column with at most `LISTED` distinct values, all of them whole if they are numbers, is compared value by value, so that a
spike that is smeared over its neighbours counts; other numbers in cells between `CELLS` quantiles. For pairs, columns of
more than `PAIRED` values are cut at `PAIRED` quantiles.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry import load
from benchmarks.two_trees import auroc, fit

LISTED, CELLS, PAIRED, PAIRS = 500, 50, 20, 60


def codes(real: pd.Series, fake: pd.Series, listed: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Both columns as whole numbers: one per value, or per cell between quantiles of the real one."""
    known = real.dropna()
    number = pd.api.types.is_numeric_dtype(real) and not pd.api.types.is_bool_dtype(real)
    whole = not number or bool((known == np.rint(known)).all())
    if whole and (known.nunique() <= listed or not number):
        values = pd.Index(known.unique())
        index = [np.asarray(values.get_indexer(part.astype(object).where(part.notna(), None))) for part in (real, fake)]
        return tuple(
            np.where(part.isna(), len(values) + 1, np.where(i < 0, len(values), i))
            for part, i in zip((real, fake), index, strict=True)
        )  # type: ignore[return-value]
    edges = np.unique(np.quantile(known.astype(float), np.linspace(0.0, 1.0, cells + 1)[1:-1]))
    both = (part.astype(float).to_numpy(na_value=np.nan) for part in (real, fake))
    return tuple(np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x, side="right")) for x in both)  # type: ignore[return-value]


def distance(real: np.ndarray, fake: np.ndarray) -> float:
    """Half of the absolute differences between two shares of whole numbers."""
    size = int(max(real.max(initial=0), fake.max(initial=0))) + 1
    shares = [np.bincount(part, minlength=size) / max(len(part), 1) for part in (real, fake)]
    return 0.5 * float(np.abs(shares[0] - shares[1]).sum())


def distances(real: pd.DataFrame, fake: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    """One-way distance of every column, and the mean over pairs."""
    single = {name: distance(*codes(real[name], fake[name], LISTED, CELLS)) for name in names}
    coarse = {name: codes(real[name], fake[name], PAIRED, PAIRED) for name in names}
    pairs = [(a, b) for number, a in enumerate(names) for b in names[number + 1 :]]
    chosen = np.random.default_rng(0).permutation(len(pairs))[:PAIRS]
    joint = []
    for a, b in (pairs[number] for number in chosen):
        wide = 1 + max(int(part.max(initial=0)) for part in coarse[b])
        joint.append(distance(*(x * wide + y for x, y in zip(coarse[a], coarse[b], strict=True))))
    worst = max(single, key=lambda name: single[name])
    return {
        "one": float(np.mean(list(single.values()))),
        "worst": f"{worst} {single[worst]:.3f}",
        "two": float(np.mean(joint)),
    }


def measure(name: str, method: str, epsilon: float, given: argparse.Namespace) -> None:
    """One line per tree."""
    trees = {"this": str(Path(__file__).resolve().parents[1])} | ({"other": given.other} if given.other else {})
    found: dict[str, list[dict[str, Any]]] = {tree: [] for tree in (*trees, "bootstrap")}
    for seed in range(given.seeds):
        split = load(name, given.data, seed=seed)
        names = [column.name for column in split.schema.features if column.name in split.train]
        again = split.train.sample(len(split.train), replace=True, random_state=seed)
        found["bootstrap"].append(distances(split.train, again, names) | {"auroc": 0.0, "seconds": 0.0})
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home)
            split.schema.save(folder / "schema.yaml")
            split.train.to_parquet(folder / "train.parquet")
            for tree, path in trees.items():
                seconds = fit(path, folder, method, epsilon, len(split.train), given.options)["processor_seconds"]
                fake = pd.read_parquet(folder / "fake.parquet")
                score = auroc(fake, split.test, split.schema) if given.auroc else 0.0
                found[tree].append(distances(split.train, fake, names) | {"auroc": score, "seconds": seconds})
    for tree, runs in found.items():
        mean = {key: np.mean([run[key] for run in runs]) for key in ("one", "two", "auroc", "seconds")}
        spread = np.std([run["auroc"] for run in runs])
        line = f"{name:18s} {method:15s} {epsilon:<5g} {tree:9s} one-way {mean['one']:.4f} two-way {mean['two']:.4f}"
        more = f" AUROC {mean['auroc']:.4f} ({spread:.4f})" if given.auroc and tree != "bootstrap" else ""
        sys.stdout.write(f"{line}{more} {mean['seconds']:.1f} s, worst {runs[0]['worst']}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None)
    parser.add_argument("--other", default=None, help="another checkout to compare with")
    parser.add_argument(
        "--datasets", default="adult,cardiovascular,credit-card-fraud,cervical-cancer,epileptic-seizure"
    )
    parser.add_argument("--methods", default="independent,mst,mean-embedding")
    parser.add_argument("--epsilon", default="0.1,1,10")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--options", default="{}", help="method options as JSON")
    parser.add_argument("--auroc", action="store_true")
    given = parser.parse_args()
    for name in given.datasets.split(","):
        for method in given.methods.split(","):
            for epsilon in map(float, given.epsilon.split(",")):
                measure(name, method, epsilon, given)


if __name__ == "__main__":
    main()
