"""Other people's PATE-GANs beside ours: the same split, the same public bounds, the same budget, the same twelve models.

    python -m benchmarks.pate_gan_peers --data DIR --datasets cervical-cancer --seeds 3 --python ENV/bin/python
        --source borealis=CHECKOUT --python borealis=OTHER/bin/python ...

The tools are the six of the published audit, by its names for them. Each is started through its wrapper in
`benchmarks/external/`, with the interpreter of `--python NAME=` (or of `--python` for all) and a checkout of its
repository, `--source NAME=`; smartnoise-synth is installed in the environment itself. A tool without a source is left
out and named. Nobody's code is kept here.

Tools get rows as our codec has them, every value scaled to [0, 1] by the schema, so that they need not read bounds or
categories off the table (some do all the same, which is what the audit caught, docs/audit-trace.md), and their own
defaults; smartnoise's number of teachers, which by default is none below 1,000 rows, is two at least. Their rows are
decoded by the same codec. A tool that fails or takes longer than `--timeout` is recorded with what it said. `--rows N`
cuts the training rows. Records are appended to benchmarks/results/pate-gan-peers.jsonl, and what is there of the same
code is not run again; `--show` prints the means.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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
OURS = (REAL, "pate-gan", "pate-gan-joint", "pate-gan-as-published")
WRAPPERS = {  # a tool's name in the records -> its wrapper
    "original": "original.py",
    "updated": "updated.py",
    "updated, lamda 0.001": "updated.py",
    "synthcity": "synthcity.py",
    "turing": "turing.py",
    "borealis": "borealis.py",
    SMARTNOISE: "smartnoise.py",
}
METHODS = (*OURS, *WRAPPERS)
FOLDER = Path(__file__).parent / "external"
RESULTS = Path(__file__).parent / "results" / "pate-gan-peers.jsonl"
MOST_ROWS = 20_000  # that models train on
SAID = 200  # letters of a failure that are kept


class Places(NamedTuple):
    """Where tools are: by name, and "" for all others."""

    python: dict[str, str]
    source: dict[str, str]

    def words(self, name: str) -> list[str] | None:
        """The beginning of the command of a tool: interpreter, wrapper and source; None for a tool that is not here."""
        first = name.split(",")[0].split()[0].removesuffix("-synth")
        python = self.python.get(first, self.python.get("", sys.executable))
        begun = [python, str(FOLDER / WRAPPERS[name])]
        if name == SMARTNOISE:
            return begun if {first, ""} & set(self.python) else None
        return [*begun, "--source", self.source[first]] if first in self.source else None

    def version(self, name: str) -> str:
        """The commit of a tool's checkout."""
        source = self.source.get(name.split(",")[0])
        if source is None:
            return ""
        said = subprocess.run(["git", "-C", source, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
        return said.stdout.strip()


class Failed(Exception):
    """A tool gave no rows."""


def rows_of(name: str, split: Split, seed: int, places: Places, timeout: float) -> pd.DataFrame:
    """As many synthetic rows as there are training rows, and a thousand more for the models' own tests."""
    count = len(split.train) + 1000
    if name == REAL:
        return pd.concat([split.train, split.test.iloc[:1000]], ignore_index=True)
    if name in WRAPPERS:
        return outside(name, split, seed, count, places, timeout)
    made = method(name)(epsilon=EPSILON, delta=DELTA, seed=seed).fit(split.train, split.schema)
    return made.sample(count, seed=seed)


def outside(name: str, split: Split, seed: int, count: int, places: Places, timeout: float) -> pd.DataFrame:
    """Rows of a tool's PATE-GAN, fitted in an environment of its own."""
    codec = Codec(replace(split.schema, label=None, positive=None))
    encoded = codec.encode(split.train).rows
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "in.csv", Path(folder) / "out.csv"
        pd.DataFrame(encoded, columns=[f"x{i}" for i in range(encoded.shape[1])]).to_csv(table, index=False)
        begun = places.words(name)
        assert begun is not None
        words = [*begun, str(table), str(out), "--rows", str(count), "--seed", str(seed)]
        words += ["--epsilon", str(EPSILON), "--delta", str(DELTA), *extra(name, codec, split, *encoded.shape)]
        start(words, timeout)
        made = pd.read_csv(out).to_numpy(np.float32)
    return codec.decode(np.clip(np.nan_to_num(made), 0.0, 1.0), np.zeros(len(made), np.int32))


def extra(name: str, codec: Codec, split: Split, rows: int, width: int) -> list[str]:
    """What a tool is told besides table and budget."""
    if name == SMARTNOISE:
        return ["--teachers", str(max(2, rows // 1000)), "--columns", "bounds"]
    chosen = ["--lamda", "0.001"] if name.endswith("lamda 0.001") else []
    last = codec.schema.columns[-1].name == split.schema.label  # one column of 0 and 1 in the tables at hand
    return [*chosen, "--label", f"x{width - 1}"] if last else chosen


def start(words: list[str], timeout: float) -> None:
    """Run a tool; a failure carries the last line of what it said."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"stopped after {timeout:g} s") from None
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise Failed((said[-1] if said else f"exit code {done.returncode}")[:SAID])


def run(
    dataset: str, data: str | None, name: str, seed: int, places: Places, timeout: float, rows: int | None
) -> dict[str, Any] | None:
    """One fit and its score, or why there is none. None if that is known already."""
    split = cut(load(dataset, data, seed=seed), rows, seed)
    place: dict[str, Any] = {"dataset": dataset, "method": name, "epsilon": EPSILON, "seed": seed}
    place |= {
        "train_rows": len(split.train),
        "version": places.version(name) if name in WRAPPERS else fingerprint(name),
    }
    if any(place.items() <= one.items() for one in records() if "error" not in one):
        return None
    began = time.perf_counter()
    try:
        made = rows_of(name, split, seed, places, timeout)
    except Failed as failed:
        return place | {"error": str(failed), "seconds": round(time.perf_counter() - began, 1)}
    seconds = time.perf_counter() - began
    own, spare = made.iloc[: len(split.train)], made.iloc[len(split.train) :].reset_index(drop=True)
    found = score(own, spare, **split._asdict(), scoring="utility", classifiers=None, max_rows=MOST_ROWS, seed=seed)
    figures = {one: found["metrics"][one] for one in ("auroc", "auprc")}
    return place | figures | {"seconds": round(seconds, 1)}


def cut(split: Split, rows: int | None, seed: int) -> Split:
    """The split with no more training rows than wanted."""
    if rows is None or rows >= len(split.train):
        return split
    return split._replace(train=split.train.sample(rows, random_state=seed).reset_index(drop=True))


def records() -> list[dict[str, Any]]:
    """All that was ever recorded."""
    return [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] if RESULTS.exists() else []


def table() -> str:
    """Mean (deviation, seeds) of what is recorded, the last run of every cell."""
    last = {(*group(one), one["seed"]): one for one in records()}
    lines = ["| table | rows | method | AUROC | AUPRC | seeds |", "| --- | --- | --- | --- | --- | --- |"]
    for where in sorted({group(one) for one in last.values()}, key=lambda one: (*one[:2], METHODS.index(one[2]))):
        cell = [one for one in last.values() if group(one) == where]
        good = [one for one in cell if "error" not in one]
        means = [spread([one[metric] for one in good]) for metric in ("auroc", "auprc")]
        failed = "".join(f"; {one['error']}" for one in cell if "error" in one)
        dataset, rows, name = where
        lines.append(f"| {dataset} | {rows} | {name} | {' | '.join(means)} | {len(good)}{failed} |")
    return "\n".join(lines) + "\n"


def group(record: dict[str, Any]) -> tuple[str, int, str]:
    """What seeds are averaged over."""
    return record["dataset"], record["train_rows"], record["method"]


def spread(values: list[float]) -> str:
    """Mean, and the deviation between seeds where there are several."""
    if not values:
        return "-"
    deviation = f" ({statistics.stdev(values):.3f})" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{deviation}"


def places_of(python: Iterable[str], source: Iterable[str]) -> Places:
    """`NAME=PATH` words as they are given on the command line."""
    pairs = [word.partition("=") for word in source]
    if any(not path for _, _, path in pairs):
        raise SystemExit("--source is NAME=DIR, e.g. --source borealis=checkouts/private-data-generation")
    known = {name.split(",")[0] for name in WRAPPERS}
    if odd := [name for name, _, _ in pairs if name not in known]:
        raise SystemExit(f"--source {odd[0]}=: there is no such tool; there are {', '.join(sorted(known))}")
    interpreters = [word.rpartition("=") for word in python]
    return Places({name: path for name, _, path in interpreters}, {name: path for name, _, path in pairs})


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--python", action="append", default=[], help="[NAME=]interpreter of the environment of a tool")
    parser.add_argument("--source", action="append", default=[], help="NAME=checkout of a tool's repository")
    parser.add_argument("--datasets", default="cervical-cancer")
    parser.add_argument("--methods", default="", help="names, separated by semicolons; all that are here by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, help="training rows, fewer than there are")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds that a tool may take for one fit")
    parser.add_argument("--show", action="store_true")
    return parser


def main() -> None:
    wanted = arguments().parse_args()
    places = places_of(wanted.python, wanted.source)
    names = wanted.methods.split(";") if wanted.methods else METHODS
    absent = [name for name in names if name in WRAPPERS and places.words(name) is None]
    if absent and not wanted.show:
        sys.stderr.write(f"left out, as their place was not given: {'; '.join(absent)}\n")
    for dataset in [] if wanted.show else wanted.datasets.split(","):
        for seed in range(wanted.seeds):
            for name in (name for name in names if name not in absent):
                record = run(dataset, wanted.data, name, seed, places, wanted.timeout, wanted.rows)
                if record is not None:
                    with RESULTS.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(record) + "\n")
    sys.stdout.write(table())


if __name__ == "__main__":
    main()
