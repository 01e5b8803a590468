"""Two versions of the code side by side: the same splits, the same schemas, fits in turn, quick models on held-out rows.

    git worktree add OTHER <commit>
    python -m benchmarks.two_trees --other OTHER --datasets adult --methods mst,aim --seeds 3 --data DIR
    python -m benchmarks.two_trees --table

For every data set, method and seed both versions fit one after the other in processes of their own, so that a busy machine slows
both; which goes first alternates. Every fit is one line of benchmarks/results/two-trees.jsonl with the commits of both versions
and the AUROC of every model (`models`; older lines have the mean alone); what is there for the same other version is not fitted
again. `--table` writes two-trees.md beside it: AUROC of five quick models trained on as many synthetic rows (mean over models and
seeds, deviation over seeds) and the ratio of the processor seconds that the fits took, imports left out; other work on the
machine is not in them.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent

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


def aurocs(fake: Any, test: Any, schema: Any) -> dict[str, float]:
    """Of every model by name; chance where the synthetic rows have one row of a class at most, as models need two."""
    from sklearn.metrics import roc_auc_score

    from understudy.schema import Codec

    codec = Codec(schema)
    learn, held = codec.encode(fake), codec.encode(test)
    found = {type(model).__name__: 0.5 for model in models()}
    if np.bincount(learn.classes, minlength=codec.class_count).min() < 2:
        return found
    binary = codec.class_count == 2
    for model in models():
        shares, name = model.fit(learn.rows, learn.classes).predict_proba(held.rows), type(model).__name__
        if binary:
            found[name] = float(roc_auc_score(held.classes, shares[:, 1]))
        elif shares.shape[1] == codec.class_count:
            shares = shares / shares.sum(
                axis=1, keepdims=True
            )  # 32-bit probabilities of many classes miss 1 by too much
            found[name] = float(roc_auc_score(held.classes, shares, multi_class="ovr"))
    return found


def auroc(fake: Any, test: Any, schema: Any) -> float:
    """Mean over the models."""
    return float(np.mean(list(aurocs(fake, test, schema).values())))


def fit(tree: str, folder: Path, method: str, epsilon: float, rows: int, options: str) -> dict[str, Any]:
    """Seconds of a fit with the sources of `tree`, on both clocks, with its rows left in fake.parquet; or why it refused."""
    words = [sys.executable, "-c", FIT, str(folder), method, str(epsilon), str(rows), options]
    environment = os.environ | {"PYTHONPATH": str(Path(tree) / "src"), "JAX_PLATFORMS": "cpu"}
    said = subprocess.run(words, capture_output=True, text=True, env=environment)
    last = (said.stdout if said.returncode == 0 else said.stderr).strip().splitlines()[-1]
    if said.returncode == 0:
        found: dict[str, Any] = json.loads(last)
        return found
    if "UsageError" not in last:
        raise RuntimeError(said.stderr)
    return {"refused": last.split(": ", 1)[1]}


def commit(tree: str) -> str:
    """The commit that a checkout is at."""
    words = ["git", "-C", tree, "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def records(results: Path) -> list[dict[str, Any]]:
    """What was measured before."""
    return [json.loads(line) for line in results.read_text("utf-8").splitlines()] if results.is_file() else []


def compare(name: str, method: str, seed: int, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One line for each version that has none yet, in turn."""
    import pandas as pd

    from benchmarks.registry import load

    trees = {"other": given.other, "this": str(HERE.parent)}
    commits = {version: commit(tree) for version, tree in trees.items()}
    cell = {"data": name, "method": method, "epsilon": given.epsilon, "options": given.options, "seed": seed}
    cell["other"] = commits["other"]
    done = {one["version"] for one in records(given.out) if cell.items() <= one.items()}
    wanted = [version for version in (trees if seed % 2 == 0 else list(trees)[::-1]) if version not in done]
    if not wanted:
        return
    split = load(name, given.data, seed=seed)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        split.schema.save(folder / "schema.yaml")
        split.train.to_parquet(folder / "train.parquet")
        for version in wanted:
            found = fit(trees[version], folder, method, given.epsilon, len(split.train), given.options)
            if "refused" not in found:
                each = aurocs(pd.read_parquet(folder / "fake.parquet"), split.test, split.schema)
                found |= {"auroc": float(np.mean(list(each.values()))), "models": each}
            yield cell | {"version": version, "commit": commits[version]} | found


def pair(found: list[dict[str, Any]]) -> str:
    """A row of the table: both versions on the seeds that both have."""
    by = {version: {one["seed"]: one for one in found if one["version"] == version} for version in ("other", "this")}
    seeds = sorted(set(by["other"]) & set(by["this"]))
    row = [found[0]["data"], found[0]["method"], found[0]["other"]]
    if not seeds:
        return ""
    last = [by[version][seeds[-1]] for version in by]
    if any("refused" in one for one in last):
        return "| " + " | ".join([*row, *(one.get("refused", "fits") for one in last), "", "", ""]) + " |\n"
    for version in by:
        scores = [by[version][seed]["auroc"] for seed in seeds]
        spread = f"{np.std(scores):.3f}" if len(scores) > 1 else "one fit"
        row.append(f"{np.mean(scores):.3f} ({spread})")
    ratios = [by["this"][seed]["processor_seconds"] / by["other"][seed]["processor_seconds"] for seed in seeds]
    commits = ", ".join(sorted({by["this"][seed]["commit"] for seed in seeds}))
    return "| " + " | ".join([*row, f"{np.median(ratios):.2f}", f"{len(seeds)}", commits]) + " |\n"


def table(results: Path) -> str:
    """What was measured, a row for each data set and method."""
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in records(results):
        cells.setdefault((one["other"], one["data"], one["method"], one["epsilon"], one["options"]), []).append(one)
    text = "| data | method | before | AUROC before | AUROC now | processor time, now over before | seeds | commit |\n"
    text += "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    return text + "".join(pair(found) for _, found in sorted(cells.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="a checkout of the other version")
    parser.add_argument("--datasets", default="adult,credit-card-fraud")
    parser.add_argument("--methods", default="mst,mean-embedding")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--options", default="{}", help="method options as JSON")
    parser.add_argument("--data", default=None)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "two-trees.jsonl", help="where lines are added")
    parser.add_argument("--table", action="store_true", help="fit nothing; write the table of what was measured")
    given = parser.parse_args()
    if given.table:
        given.out.with_suffix(".md").write_text(table(given.out), encoding="utf-8")
        return
    for name, method in itertools.product(given.datasets.split(","), given.methods.split(",")):
        for seed in range(given.seeds):
            for line in compare(name, method, seed, given):
                with given.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
