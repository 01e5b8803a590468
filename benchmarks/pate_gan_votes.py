"""What the votes do: vote shares over rounds for weak and unrestrained teachers, and what each part of PATE-GAN is worth.

    python -m benchmarks.pate_gan_votes --data DIR      (or UNDERSTUDY_DATA)

Fits the epileptic-seizure table, seed 0. Prints a Markdown table (mean AUROC of five quick models, setting B) and writes
docs/images/vote-share.svg. The figures of docs/pate-gan.md come from this script.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.registry import load
from benchmarks.score import score
from understudy.methods.pate_gan.method import PateGan
from understudy.report.charts import Series, line_chart

MODELS = ("logistic", "gaussian-nb", "lda", "forest", "xgboost")
UNRESTRAINED: dict[str, Any] = {"teacher_learning_rate": 0.1, "teacher_decay": 0.01}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "start only (the generator ignores the votes)": {"generator_learning_rate": 1e-12},
    "votes only (no class moments)": {"moments_share": 0.0, "votes_share": 0.7, "generator_learning_rate": 1e-3},
    "bold generator (rate 1e-3)": {"generator_learning_rate": 1e-3},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    arguments = parser.parse_args()
    train, test, schema = load("epileptic-seizure", arguments.data, seed=0)
    say = sys.stdout.write
    say("| variant, epsilon 1 | mean AUROC |\n| --- | --- |\n")
    for name, options in VARIANTS.items():
        model = PateGan(epsilon=1.0, seed=0, **options).fit(train, schema)
        fake, spare = model.sample(len(train), seed=1), model.sample(2000, seed=2)
        rows = {"train": train, "test": test, "schema": schema}
        found = score(fake, spare, **rows, scoring="utility", classifiers=MODELS, max_rows=20_000, seed=0)
        say(f"| {name} | {found['metrics']['auroc']:.3f} |\n")
        sys.stdout.flush()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "vote-share.svg").write_text(shares(train, schema), encoding="utf-8")


def shares(train, schema) -> str:
    """Mean vote share per round at epsilon 100, where the noise does not hide it."""
    series = []
    for name, options in {"weak teachers (default)": {}, "unrestrained teachers": UNRESTRAINED}.items():
        model = PateGan(epsilon=100.0, seed=0, **options).fit(train, schema)
        share = model.history["share"]
        series.append(Series(name=name, x=list(range(1, len(share) + 1)), y=[float(np.clip(v, 0, 1)) for v in share]))
    return line_chart(
        "Share of teachers that call a fake real", series, x_label="round", y_label="share", y_limits=(0.0, 1.0)
    )


if __name__ == "__main__":
    main()
