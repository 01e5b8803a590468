"""How good G-PATE's pictures are after every few rounds: accuracy of the evaluation's CNN against rounds.

    python benchmarks/g_pate_curve.py --data DIR [--dataset mnist] [--epsilon 1] [--set rounds=30]

One fit with its full plan; between chunks of rounds the generator, which is public, draws pictures, and the CNN learns from them
and is tested on real ones. Where a curve still rises, more rounds would help at the price of more noise in each. The points go to
benchmarks/results/g-pate-curve.json as they are found, the drawing to docs/images/g-pate-curve-DATASET.svg.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "benchmarks" / "results" / "g-pate-curve.json"


def points(dataset: str, data: str | None, epsilon: float, pictures: int, options: dict[str, Any]) -> Any:
    """(rounds so far, accuracy), chunk by chunk."""
    import jax
    import numpy as np

    import understudy as us
    from understudy.accounting import Ledger
    from understudy.artifact import Model
    from understudy.bench.registry import load
    from understudy.bench.score import score
    from understudy.fit import CHUNKS, Progress, as_arrays, open_conversation, public_key, strongly_typed
    from understudy.private import Curator, PrivateTable, SecureNoise

    split = load(dataset, data, seed=0, split="official")
    estimator = us.method("g-pate")(epsilon=epsilon, seed=0, **options)
    plan = estimator.plan(split.schema)
    curator = Curator(PrivateTable(split.train, split.schema), split.schema, Ledger(plan), SecureNoise())
    told = Progress(None, plan)
    resolved, counts, opening = open_conversation(estimator, curator, split.schema, plan, told)
    key_init, key_rounds = jax.random.split(public_key(0))
    state = strongly_typed(jax.jit(opening.generator.init)(key_init, as_arrays(opening.hints)))
    conversation = curator.converse(opening.purpose, opening.mechanism).value
    chunk = -(-opening.rounds // CHUNKS)
    while conversation.done < opening.rounds:
        conversation.prepare(min(chunk, opening.rounds - conversation.done))
        state, _ = conversation.advance(
            opening.generator, state, jax.random.fold_in(key_rounds, conversation.done)
        ).value
        if conversation.done % (2 * chunk) and conversation.done < opening.rounds:
            continue
        model = Model(
            method="g-pate",
            generator=opening.generator,
            weights={name: np.asarray(value) for name, value in opening.generator.sampler(state).items()},
            schema=split.schema,
            resolved=resolved,
            class_counts=tuple(float(count) for count in counts),
            plan=plan,
            ledger={},
            void_reason="a curve for research",
            conditional=estimator.conditional(split.schema),
            marginals=opening.marginals,
            history={},
            report={},
        )
        drawn = [model.sample(pictures, seed=seed) for seed in (1, 2)]
        found = score(
            *drawn, train=split.train, test=split.test, schema=split.schema, scoring="images", classifiers=None,
            max_rows=pictures, seed=0,
        )  # fmt: skip
        yield conversation.done, found["metrics"]["accuracy"]


def drawing(dataset: str, curves: dict[str, Any]) -> str:
    from understudy.bench.published import look_up
    from understudy.report.charts import Reference, Series, line_chart

    lines = [
        Series(name=f"epsilon {epsilon}", x=[at for at, _ in curve], y=[value for _, value in curve])
        for epsilon, curve in curves.items()
    ]
    published = [
        Reference(name=f"published, epsilon {row.epsilon:g}", value=row.value)
        for row in look_up("g-pate", table="2", dataset=dataset, method="g-pate")
        if f"{row.epsilon:g}" in curves
    ]
    drawn = line_chart(
        f"G-PATE on {dataset}: accuracy against rounds",
        lines,
        x_label="rounds",
        y_label="accuracy of a CNN on real test pictures",
        y_limits=(0.0, 1.0),
        references=published,
    )
    return drawn.replace('font-family="inherit"', 'font-family="sans-serif"', 1)  # there is no page to inherit from


def main() -> None:
    from understudy.cli._output import settings
    from understudy.errors import UsageError

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the data files (or UNDERSTUDY_DATA)")
    parser.add_argument("--dataset", default="mnist", choices=("mnist", "fashion-mnist"))
    parser.add_argument("--epsilon", default="1", help="comma-separated")
    parser.add_argument("--pictures", type=int, default=5000, help="that the CNN learns from")
    parser.add_argument("--set", action="append", default=[], help="an option of the method, e.g. rounds=60")
    given = parser.parse_args()
    kept: dict[str, Any] = json.loads(OUT.read_text()) if OUT.exists() else {}
    curves = kept.setdefault(given.dataset, {})
    try:
        options = settings(given.set)
        for epsilon in given.epsilon.split(","):
            curve: list[Any] = []
            for point in points(given.dataset, given.data, float(epsilon), given.pictures, options):
                curve.append(point)
                sys.stdout.write(f"epsilon {epsilon}, {point[0]} rounds: {point[1]:.4f}\n")
                sys.stdout.flush()
                curves[epsilon] = curve
                OUT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    picture = ROOT / "docs" / "images" / f"g-pate-curve-{given.dataset}.svg"
    picture.write_text(drawing(given.dataset, curves), encoding="utf-8")


if __name__ == "__main__":
    main()
