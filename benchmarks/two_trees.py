"""Two versions of the code side by side: the same splits, the same schemas, fits in turn, quick models on held-out rows.

    git worktree add OTHER <commit>
    python -m benchmarks.two_trees --other OTHER --datasets adult,credit --methods mst,mean-embedding --seeds 3 --data DIR

For every data set, method and seed both versions fit one after the other in processes of their own, so that a busy machine slows
both; which goes first alternates. Printed: AUROC of five quick models trained on as many synthetic rows (mean over models and
seeds, deviation over seeds) and the ratio of the seconds that the fits took, imports left out; on a machine that others use,
that of processor seconds is the one to look at.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

FIT = """
import json, sys, time
import pandas as pd, understudy as us
folder, method, epsilon, rows, options = sys.argv[1:6]
schema = us.Schema.load(f"{folder}/schema.yaml")
train = pd.read_parquet(f"{folder}/train.parquet")
recipe = us.method(method)(epsilon=float(epsilon), seed=0, **json.loads(options))
started, used = time.monotonic(), time.process_time()
model = recipe.fit(train, schema)
seconds, processor = time.monotonic() - started, time.process_time() - used
model.sample(int(rows), seed=0).to_parquet(f"{folder}/fake.parquet")
print(json.dumps({"seconds": seconds, "processor_seconds": processor}))
"""


def models() -> list[Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    return [
        LogisticRegression(max_iter=300),
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
        RandomForestClassifier(60, random_state=0),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=6, random_state=0),
    ]


def auroc(fake: Any, test: Any, schema: Any) -> float:
    """Mean over the models; chance where the synthetic rows have one class only."""
    from sklearn.metrics import roc_auc_score

    from understudy.schema import Codec

    codec = Codec(schema)
    learn, held = codec.encode(fake), codec.encode(test)
    if len(set(learn.classes.tolist())) < 2:
        return 0.5
    binary = codec.class_count == 2
    found = []
    for model in models():
        shares = model.fit(learn.rows, learn.classes).predict_proba(held.rows)
        if binary:
            found.append(roc_auc_score(held.classes, shares[:, 1]))
        elif shares.shape[1] == codec.class_count:
            found.append(roc_auc_score(held.classes, shares, multi_class="ovr"))
        else:
            found.append(0.5)
    return float(np.mean(found))


def fit(tree: str, folder: Path, method: str, epsilon: float, rows: int, options: str) -> dict[str, float]:
    """Seconds of a fit with the sources of `tree`, on both clocks; its rows are left in fake.parquet."""
    words = [sys.executable, "-c", FIT, str(folder), method, str(epsilon), str(rows), options]
    environment = os.environ | {"PYTHONPATH": str(Path(tree) / "src"), "JAX_PLATFORMS": "cpu"}
    said = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(said.stdout.splitlines()[-1])
    return found


def compare(name: str, method: str, given: argparse.Namespace) -> dict[str, Any]:
    import pandas as pd

    from benchmarks.registry import load

    here = str(Path(__file__).resolve().parents[1])
    scores: dict[str, list[float]] = {"other": [], "this": []}
    spent: dict[str, list[dict[str, float]]] = {"other": [], "this": []}
    for seed in range(given.seeds):
        split = load(name, given.data, seed=seed)
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home)
            split.schema.save(folder / "schema.yaml")
            split.train.to_parquet(folder / "train.parquet")
            trees = [("other", given.other), ("this", here)]
            for label, tree in trees if seed % 2 == 0 else trees[::-1]:
                spent[label].append(fit(tree, folder, method, given.epsilon, len(split.train), given.options))
                scores[label].append(auroc(pd.read_parquet(folder / "fake.parquet"), split.test, split.schema))
    found = {label: [float(np.mean(part)), float(np.std(part))] for label, part in scores.items()}
    clocks: dict[str, Any] = {}
    for clock in ("seconds", "processor_seconds"):
        both = {label: [one[clock] for one in part] for label, part in spent.items()}
        clocks[clock] = both | {"ratio": float(np.median(np.asarray(both["this"]) / np.asarray(both["other"])))}
    return {"data": name, "method": method, **found, **clocks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", required=True, help="a checkout of the other version")
    parser.add_argument("--datasets", default="adult,credit")
    parser.add_argument("--methods", default="mst,mean-embedding")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--options", default="{}", help="method options as JSON")
    parser.add_argument("--data", default=None)
    given = parser.parse_args()
    for name in given.datasets.split(","):
        for method in given.methods.split(","):
            sys.stdout.write(json.dumps(compare(name, method, given)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
