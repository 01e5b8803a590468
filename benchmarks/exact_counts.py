"""What the noise of counts costs: the same method with its last answer free of noise, for figures that no user may release.

    python -m benchmarks.exact_counts --data DIR [--datasets nist-ma2019,nist-national2019] [--epsilon 1] [--seeds 1]
        [--options '{"focus": "PUMA"}']

Every answer before it is noisy as ever, so `clique-tree` chooses the tables that it would choose; the counts of these tables are
then exact, while the method believes them as noisy as they are priced. What is still missing from real rows cannot be had by
asking the same tables with less noise. A line for each fit is printed; nothing is kept.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

import understudy as us
from benchmarks.cells import Cell
from benchmarks.registry import load
from benchmarks.whole_table_peers import cell_of, scored
from understudy.methods.clique_tree import method
from understudy.private.noise import SecureNoise

SHOWN = ("two-way", "three-way", "association", "query", "k-marginal", "told-apart")


@contextlib.contextmanager
def exact_counts() -> Iterator[None]:
    """No noise while the counts of the chosen tables are asked for. What is fitted inside is void: never for release."""
    ask, draw = method.ask_counts, SecureNoise.draw

    def asked(*given: Any) -> Any:
        with mock.patch.object(SecureNoise, "draw", lambda self, kind, scale, shape: np.zeros(shape, np.int64)):
            return ask(*given)

    with mock.patch.object(method, "ask_counts", asked):
        yield
    assert SecureNoise.draw is draw


def measured(cell: Cell, data: str, options: dict[str, Any], exact: bool) -> dict[str, float]:
    """What the suite measures of a fit."""
    split = load(cell.dataset, data, seed=cell.seed)
    with exact_counts() if exact else contextlib.nullcontext():
        model = us.CliqueTree(epsilon=cell.epsilon, **options).fit(split.train, split.schema)
    metrics = scored(cell, split, model.sample(len(split.train), seed=cell.seed), 0.0)["metrics"]
    return {name: metrics[name] for name in SHOWN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder that holds the tables")
    parser.add_argument("--datasets", default="nist-ma2019,nist-national2019")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--options", default="{}", help="method options as JSON")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    for dataset in given.datasets.split(","):
        for seed in range(given.seeds):
            for exact in (False, True):
                cell = cell_of("clique-tree", "", dataset, given.epsilon, seed)
                found = measured(cell, given.data, json.loads(given.options), exact)
                figures = ", ".join(f"{name} {value:.4g}" for name, value in found.items())
                sys.stdout.write(f"{cell.label}, counts {'exact' if exact else 'as priced'}: {figures}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
