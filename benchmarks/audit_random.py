"""Neighbouring tables drawn at random: does any answer move further than was paid for?

    python -m benchmarks.audit_random --methods clique-tree mst --minutes 1 --seed 0

Each pair has columns of every kind, a label or none, persons or rows, up to 900 others that depend on each other or do not, and
a target like them or unlike; in some a part of the others, and often the target, misses several columns together. Methods that
have a workload get a random one in half of the fits. `understudy.audit.used` compares the exact answers of both tables with what
was paid, at epsilon 0.1 to 1,000. Printed are the number of pairs, the largest share of a price that any answer used, and which
questions were asked.
"""

import argparse
import itertools
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from understudy.audit.targets import Pair
from understudy.audit.used import used
from understudy.estimator import Estimator
from understudy.methods.registry import WEIGHED, method
from understudy.schema import Column, Schema

LABEL, WHO = "label", "who"
KINDS = ("categorical", "integer", "continuous", "missing")
OTHERS = (0, 1, 3, 30, 120, 400, 900)
EPSILONS = (0.1, 1.0, 4.0, 1000.0)  # with much budget scores of values that nobody has are large
MOST_COLUMNS, MOST_ROWS, MOST_VALUES = 7, 8, 60
MOST_GAPS = 12  # columns that are missing together
WEIGHTS = (0.0, 0.001, 1.0, 5.0, 1000.0)  # of columns and pairs in a workload
ALLOWED = 1e-9  # above 1, for sums of floating-point squares


class Made(NamedTuple):
    """A column, its values for the others, and the target's."""

    column: Column
    values: np.ndarray
    odd: float


def column(random: np.random.Generator, name: str, factor: np.ndarray) -> Made:
    """Of any kind; half of them depend on the factor. The target stands at an end, at zero or anywhere."""
    kind, z = random.choice(KINDS), random.normal(size=len(factor))
    z = 0.8 * factor + 0.6 * z if random.random() < 0.6 else z
    most = int(random.integers(1, MOST_VALUES))
    whole = np.clip(((z + 2.0) / 4.0 * (most + 1)).astype(int), 0, most)
    odd = int(random.choice([0, most, int(random.integers(most + 1))]))
    if kind == "categorical":
        return Made(Column(name=name, kind="categorical", categories=tuple(range(most + 1))), whole, odd)
    if kind == "integer":
        return Made(Column(name=name, kind="integer", lower=0, upper=most), whole, odd)
    if kind == "continuous":
        rounded = np.clip(np.round(z, int(random.integers(0, 4))), -3.0, 3.0)
        odd_number = float(random.choice([-3.0, 0.0, 3.0, float(np.clip(random.normal(), -3.0, 3.0))]))
        return Made(Column(name=name, kind="continuous", lower=-3.0, upper=3.0), rounded, odd_number)
    gaps = np.where(random.random(len(z)) < 0.3, np.nan, whole)
    return Made(
        Column(name=name, kind="integer", lower=0, upper=most, missing=True), gaps, float(random.choice([np.nan, odd]))
    )


def missing_together(random: np.random.Generator, others: int) -> list[Made]:
    """Columns that a part of the others leaves out at once, and mostly the target, too."""
    silent, alike = random.random(others) < random.choice([0.1, 0.4]), random.random() < 0.7
    found = []
    for number in range(int(random.integers(2, MOST_GAPS + 1))):
        kept = silent & (random.random(others) < 0.95)
        odd = np.nan if alike or random.random() < 0.5 else float(random.integers(2))
        of = Column(name=f"gap{number}", kind="integer", lower=0, upper=1, missing=True)
        found.append(Made(of, np.where(kept, np.nan, random.integers(0, 2, others)), odd))
    return found


def workload(schema: Schema, seed: int) -> dict[str, Any]:
    """Weights of columns and pairs, from unwanted to a thousand; nothing in half of the cases."""
    random = np.random.default_rng([seed, 1])
    names = [one.name for one in schema.columns if one.kind != "identifier"]
    if random.random() < 0.5:
        return {}
    columns = {name: float(random.choice(WEIGHTS)) for name in names if random.random() < 0.4}
    pairs = [{"columns": [a, b], "weight": float(random.choice(WEIGHTS))} for a, b in itertools.pairwise(names)]
    return {"columns": columns, "pairs": pairs[: int(random.integers(3))], "default": float(random.choice(WEIGHTS))}


def estimator_of(name: str, schema: Schema, epsilon: float, seed: int) -> Estimator:
    """With a workload, where the method has one."""
    said = workload(schema, seed) if name in WEIGHED else {}
    return method(name)(epsilon=epsilon, **({"workload": said} if said else {}))


def pair(seed: int) -> Pair:
    """Two tables of which one has a person (or a row) more."""
    random = np.random.default_rng(seed)
    others, most = int(random.choice(OTHERS)), int(random.integers(2, MOST_ROWS + 1)) if random.random() < 0.5 else 1
    factor = random.normal(size=others)
    made = [column(random, f"v{number}", factor) for number in range(int(random.integers(1, MOST_COLUMNS + 1)))]
    if random.random() < 0.3:
        made += missing_together(random, others)
    label = LABEL if random.random() < 0.6 else None
    if label is not None:
        classes = int(random.integers(2, 4))
        shares = random.dirichlet(np.full(classes, random.choice([0.3, 5.0])))
        of = Column(name=LABEL, kind="categorical", categories=tuple(range(classes)))
        made.append(Made(of, random.choice(classes, others, p=shares), int(random.integers(classes))))
    rows, alike = int(random.integers(1, most + 1)), random.random() < 0.5
    target = {
        one.column.name: [
            one.odd if alike or not others or random.random() < 0.5 else one.values[random.integers(others)]
            for _ in range(rows)
        ]
        for one in made
    }
    without = pd.DataFrame({one.column.name: one.values for one in made})
    columns, unit = [one.column for one in made], None
    if most > 1:
        columns, unit = [*columns, Column(name=WHO, kind="identifier", dtype="int64")], WHO
        without[WHO] = np.arange(others) // int(random.integers(1, most + 1))
        target[WHO] = [others] * rows
    types = {one.name: "float64" if one.kind == "continuous" or one.missing else "int64" for one in columns}
    both = pd.concat([without.astype(types), pd.DataFrame(target).astype(types)], ignore_index=True)
    schema = Schema(columns=tuple(columns), label=label, unit=unit, max_rows_per_unit=most)
    note = f"{others} records of {len(columns)} columns, against the same plus {rows}"
    return Pair(schema, both[:others], both, f"random {seed}", note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="*", default=["clique-tree", "mst", "aim", "independent", "mean-embedding"])
    parser.add_argument("--minutes", type=float, default=1.0, help="for each method")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.methods:
        end, seed, worst, asked = time.monotonic() + 60.0 * options.minutes, options.seed, 0.0, Counter[Any]()
        while time.monotonic() < end:
            own, epsilon = pair(seed), EPSILONS[seed % len(EPSILONS)]
            found = used(estimator_of(name, own.schema, epsilon, seed), own, fits=2, seed=seed)
            asked.update({(one.purpose, one.kind) for fit in found.fits for one in fit})
            worst = max(worst, found.worst)
            if found.worst > 1.0 + ALLOWED:
                sys.stdout.write(f"{name}: {own.name} at epsilon {epsilon:g} uses {found.worst:.4f} of a price\n")
            seed += 1
        kinds = ", ".join(f"{purpose}: {kind} ({times})" for (purpose, kind), times in sorted(asked.items()))
        sys.stdout.write(f"{name}: {seed - options.seed} pairs, largest share {worst:.6f}; {kinds}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
