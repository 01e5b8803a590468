"""Other people's PATE-GANs beside ours: the same split, the same public bounds, the same budget, the same twelve models.

    python -m benchmarks.pate_gan_peers --data DIR --python ENV/bin/python --datasets cervical-cancer --seeds 3

ENV holds smartnoise-synth, which is started through `benchmarks/external/smartnoise.py`. It gets rows as our codec has them,
every value scaled to [0, 1] by the schema, so that it need not read bounds or categories off the table (its own way of doing so
is what the audit caught, docs/audit-trace.md), one teacher per 1,000 rows as by its own default, but two at least, and its other
defaults. Its rows are decoded by the same codec. Records are appended to benchmarks/results/pate-gan-peers.jsonl; `--show` prints
the means of what is there.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.cells import REAL
from benchmarks.fingerprint import fingerprint
from benchmarks.registry import Split, load
from benchmarks.score import score
from understudy.methods.registry import method
from understudy.schema import Codec

EPSILON, DELTA = 1.0, 1e-5
SMARTNOISE = "smartnoise-synth pategan"
METHODS = (REAL, "pate-gan", "pate-gan-joint", "pate-gan-as-published", SMARTNOISE)
WRAPPER = Path(__file__).parent / "external" / "smartnoise.py"
RESULTS = Path(__file__).parent / "results" / "pate-gan-peers.jsonl"
MOST_ROWS = 20_000  # that models train on


def rows_of(name: str, split: Split, seed: int, python: str | None) -> pd.DataFrame:
    """As many synthetic rows as there are training rows, and a thousand more for the models' own tests."""
    count = len(split.train) + 1000
    if name == REAL:
        return pd.concat([split.train, split.test.iloc[:1000]], ignore_index=True)
    if name == SMARTNOISE:
        return smartnoise(split, seed, count, python)
    made = method(name)(epsilon=EPSILON, delta=DELTA, seed=seed).fit(split.train, split.schema)
    return made.sample(count, seed=seed)


def smartnoise(split: Split, seed: int, count: int, python: str | None) -> pd.DataFrame:
    """Rows of the tool's PATE-GAN, fitted in an environment of its own."""
    codec = Codec(replace(split.schema, label=None, positive=None))
    encoded = codec.encode(split.train).rows
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "in.csv", Path(folder) / "out.csv"
        pd.DataFrame(encoded, columns=[f"x{i}" for i in range(encoded.shape[1])]).to_csv(table, index=False)
        teachers = max(2, len(encoded) // 1000)
        words = [
            python or sys.executable,
            str(WRAPPER),
            str(table),
            str(out),
            "--rows",
            str(count),
            "--seed",
            str(seed),
        ]
        words += ["--epsilon", str(EPSILON), "--delta", str(DELTA), "--teachers", str(teachers), "--columns", "bounds"]
        subprocess.run(words, check=True)
        made = pd.read_csv(out).to_numpy(np.float32)
    return codec.decode(np.clip(np.nan_to_num(made), 0.0, 1.0), np.zeros(len(made), np.int32))


def run(dataset: str, data: str | None, name: str, seed: int, python: str | None) -> dict[str, Any]:
    """One fit and its score."""
    split = load(dataset, data, seed=seed)
    began = time.perf_counter()
    made = rows_of(name, split, seed, python)
    seconds = time.perf_counter() - began
    own, spare = made.iloc[: len(split.train)], made.iloc[len(split.train) :].reset_index(drop=True)
    found = score(own, spare, **split._asdict(), scoring="utility", classifiers=None, max_rows=MOST_ROWS, seed=seed)
    figures = {one: found["metrics"][one] for one in ("auroc", "auprc")}
    place = {"dataset": dataset, "method": name, "epsilon": EPSILON, "seed": seed, "version": fingerprint(name)}
    return place | figures | {"seconds": round(seconds, 1)}


def table() -> str:
    """Mean (deviation, seeds) of what is recorded, the last run of every cell."""
    if not RESULTS.exists():
        return "nothing was run yet\n"
    records = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    last = {(one["dataset"], one["method"], one["seed"]): one for one in records}
    lines = ["| table | method | AUROC | AUPRC | seeds |", "| --- | --- | --- | --- | --- |"]
    for dataset, name in dict.fromkeys((one["dataset"], one["method"]) for one in last.values()):
        cell = [one for one in last.values() if (one["dataset"], one["method"]) == (dataset, name)]
        means = [spread([one[metric] for one in cell]) for metric in ("auroc", "auprc")]
        lines.append(f"| {dataset} | {name} | {' | '.join(means)} | {len(cell)} |")
    return "\n".join(lines) + "\n"


def spread(values: list[float]) -> str:
    """Mean, and the deviation between seeds where there are several."""
    deviation = f" ({statistics.stdev(values):.3f})" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{deviation}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--python", help="the interpreter of an environment with smartnoise-synth")
    parser.add_argument("--datasets", default="cervical-cancer")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    wanted = parser.parse_args()
    for dataset in [] if wanted.show else wanted.datasets.split(","):
        for seed in range(wanted.seeds):
            for name in wanted.methods.split(","):
                record = run(dataset, wanted.data, name, seed, wanted.python)
                with RESULTS.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(record) + "\n")
    sys.stdout.write(table())


if __name__ == "__main__":
    main()
