"""What numbers that move inside their cells gain: the same releases of `clique-tree`, drawn with and without it.

    python -m benchmarks.inside_cells --data DIR --datasets credit-card-fraud --seeds 3 [--epsilon 1]

Every fit is drawn twice from one seed: as `methods/clique_tree/inside.py` says, and with places that are drawn inside cells
independently. Printed per data set: mean over seeds of the whole-table measures, and in how many fits each was better.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.registry import load
from understudy.evaluate.whole import MEASURES, whole_table
from understudy.methods.clique_tree.inside import Inside
from understudy.methods.clique_tree.method import CliqueTree


@contextmanager
def independently() -> Iterator[None]:
    """Places stay where they were drawn."""
    with patch.object(Inside, "fit", lambda self, cells, outcomes, random: outcomes):
        yield


def both(train: Any, test: Any, schema: Any, epsilon: float, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Measures of one fit without and with moves."""
    model = CliqueTree(epsilon=epsilon, seed=seed).fit(train, schema)
    with independently():
        before = model.sample(len(train), seed=seed)
    found = whole_table(train, [before, model.sample(len(train), seed=seed)], schema, held_out=test, seed=seed)
    assert found is not None
    each = {one.name: one.value.runs for one in found.measures}
    first, second = ({name: value for name, runs in each.items() if (value := runs[k]) is not None} for k in (0, 1))
    return first, second


def line(name: str, runs: list[tuple[dict[str, float], dict[str, float]]]) -> str:
    """One measure over all fits."""
    before, after = (np.asarray([one[k][name] for one in runs]) for k in (0, 1))
    better = (after > before) if MEASURES[name][0] else (after < before)
    return f"| {name} | {before.mean():.4f} | {after.mean():.4f} | {int(better.sum())} of {len(runs)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--datasets", default="credit-card-fraud")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for dataset in given.datasets.split(","):
        runs = []
        for seed in range(given.seeds):
            split = load(dataset, data=given.data, seed=seed)
            runs.append(both(split.train, split.test, split.schema, given.epsilon, seed))
        names = [name for name in runs[0][0] if all(name in part for one in runs for part in one)]
        head = f"\n{dataset}, epsilon {given.epsilon:g}\n\n| | without | with | better |\n| --- | --- | --- | --- |\n"
        sys.stdout.write(head + "\n".join(line(name, runs) for name in names) + "\n")


if __name__ == "__main__":
    main()
