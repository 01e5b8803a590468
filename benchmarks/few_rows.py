"""Both ways of asking a small table: class means alone (`measure/few_rows.py`) against means, shapes and products.

    python -m benchmarks.few_rows --data DIR --table adult --rows 700 --seeds 5

Prints the mean AUROC of the twelve models over seeds for either way, whatever the method would have chosen by itself.
`--rows` takes that many of the training rows (0: all), and at most 6,000 test rows are scored.
"""

import argparse
import math
import statistics
import sys

import numpy as np

from benchmarks.registry import load
from understudy.evaluate import evaluate
from understudy.measure import which_questions
from understudy.methods.mean_embedding.method import MeanEmbedding

WAYS = {"class means alone": 1e-9, "means, shapes, products": math.inf}
MOST_TEST_ROWS = 6_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--table", default="cervical-cancer")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    chosen = which_questions.VISIBLE
    for name, visible in WAYS.items():
        which_questions.VISIBLE = visible
        scores = [score(given, seed) for seed in range(given.seeds)]
        spread = statistics.stdev(scores) if len(scores) > 1 else math.nan
        rows = given.rows or "all"
        sys.stdout.write(f"{given.table}, {rows} rows, {name}: {statistics.fmean(scores):.3f} ({spread:.3f})\n")
        sys.stdout.flush()
    which_questions.VISIBLE = chosen


def score(given: argparse.Namespace, seed: int) -> float:
    train, test, schema = load(given.table, given.data, seed=seed)
    random = np.random.default_rng(seed)
    if given.rows:
        train = train.iloc[np.sort(random.permutation(len(train))[: given.rows])].reset_index(drop=True)
    test = test.iloc[np.sort(random.permutation(len(test))[:MOST_TEST_ROWS])].reset_index(drop=True)
    model = MeanEmbedding(epsilon=given.epsilon, seed=seed).fit(train, schema)
    made = model.sample(len(train), seed=seed)
    found = evaluate(made, test, schema, metrics=("utility",), seed=seed, jobs=1)
    return next(part for part in found.utility.settings if part.name == "B").average["auroc"].mean


if __name__ == "__main__":
    main()
