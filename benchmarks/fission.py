"""Two independent views of one release: fit on the first, choose on the second, at no budget. Does it pay?

    python -m benchmarks.fission --datasets cervical-cancer --seeds 4 --tau 0.5,1 --data DIR

fits `clique-tree` twice or more to the same releases (seeded noise, void): with all pairs that were counted, and without those
for which independent columns are nearer to the second view than the counts of the first. Printed are distances of the rows drawn.

Let y = x + e be released, e Gaussian of deviation S in every cell. With z ~ N(0, S^2), drawn afterwards and independently,

    y1 = y + tau z,        y2 = y - z / tau,        Cov(y1, y2) = Var(e) - Var(z) = S^2 - S^2 = 0.

(y1, y2) is jointly Gaussian, so the views are independent given x, with variances (1 + tau^2) S^2 and (1 + 1 / tau^2) S^2
(Leiner, Duan, Wasserman, Ramdas 2023; Rasines, Young 2023). For tables a and b made of y1 alone

    |a|^2 - |b|^2 - 2 <a - b, y2>

is therefore an unbiased estimate of |a - x|^2 - |b - x|^2. It is a function of what was released: post-processing, so privacy is
never at stake; only the independence is.

**Noise on whole numbers.** Our noise is a discrete Gaussian of scale s on multiples of a step h, and with it the two views are
not quite independent: given y1, y2 lies on a lattice that y1 decides. So a little Gaussian noise w of deviation r = `ROUGH` h is
added first. The sum e + w has the density

    sum_k exp(-k^2 h^2 / 2 s^2) exp(-(t - k h)^2 / 2 r^2)  ~  exp(-t^2 / 2 (s^2 + r^2))  sum_k exp(-(k - c)^2 / 2 rho^2),

rho^2 = s^2 r^2 / (s^2 + r^2) / h^2, c a number that depends on t. By Poisson summation the last sum is rho sqrt(2 pi) (1 + q)
with |q| <= delta = 2 sum_j exp(-2 pi^2 rho^2 j^2), so e + w is within a total variation of delta / (1 - delta) of N(0, S^2),
S^2 = s^2 + r^2, in every cell, and so are the pair of views and two independent Gaussian vectors: n cells are within n delta /
(1 - delta). `gap` computes it; with s >= 3 h it is below 1e-14 a cell.
"""

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import understudy as us
from benchmarks.registry import load
from understudy.evaluate.whole import whole_table
from understudy.fit import fit
from understudy.measure.shrinkage import projected
from understudy.methods.clique_tree import method
from understudy.private import SeededNoise

ROUGH = 1.5  # deviation, in steps, of what is added so that noise on whole numbers has a density


NOT_COUNTED = 1e3  # times its noise, and a table is as good as not counted
SHOWN = ("one-way", "two-way", "three-way", "association", "query")


class Views(NamedTuple):
    """Two views of the same counts, independent of each other, and the deviations of their noise."""

    first: np.ndarray
    second: np.ndarray
    deviations: tuple[float, float]


def split(released: np.ndarray, deviation: float, tau: float, random: np.random.Generator, step: float = 1.0) -> Views:
    """`released` has noise of this deviation on multiples of `step`; `random` is public. A small tau leaves most to the first."""
    rough = ROUGH * step
    whole = math.hypot(deviation, rough)
    smooth = released + rough * random.standard_normal(np.shape(released))
    z = whole * random.standard_normal(np.shape(released))
    return Views(smooth + tau * z, smooth - z / tau, (whole * math.hypot(1.0, tau), whole * math.hypot(1.0, 1.0 / tau)))


def gap(deviation: float, step: float = 1.0) -> float:
    """Total variation between a cell's two views and independent ones, at most."""
    square = (deviation * ROUGH) ** 2 / (deviation**2 + (ROUGH * step) ** 2)
    delta = 2.0 * sum(math.exp(-2.0 * (math.pi * j) ** 2 * square) for j in range(1, 50))
    return delta / (1.0 - delta) if delta < 1.0 else 1.0


def further(a: np.ndarray, b: np.ndarray, second: np.ndarray) -> float:
    """|a - x|^2 - |b - x|^2, without bias: above 0 where b is nearer to the truth. `a` and `b` come from the first view."""
    return float((a * a).sum() - (b * b).sum() - 2.0 * ((a - b) * second).sum())


# -- does it pay? --------------------------------------------------------------------------------------------------------------
def choosing(tau: float, random: np.random.Generator, told: list[str]) -> Callable[..., Any]:
    """`method.ask_counts`, and pairs left out whose counts are further from the truth than independent columns."""
    ask = method.ask_counts

    def asked(curator: Any, columns: Any, layout: Any, chosen: Any, *more: Any) -> Any:
        found, measured, tables = ask(curator, columns, layout, chosen, *more)
        pairs = [number for number, one in enumerate(chosen) if len(one.keys) > 1]
        left_out = 0
        for number in pairs:
            item = measured[number]
            views = split(item.counts, float(np.max(item.deviation)), tau, random)
            alone = found.rows * np.outer(*(found.shares(*key) for key in chosen[number].keys))
            if further(projected(views.first, found.rows), alone, views.second) > 0.0:
                left_out += 1
                measured[number] = item._replace(deviation=NOT_COUNTED * item.deviation)
        told.append(f"{left_out} of {len(pairs)} pairs left out")
        return found, measured, tables

    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cervical-cancer,adult")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--tau", default="0.5,1")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--data")
    options = parser.parse_args()
    for name in options.datasets.split(","):
        train, _, schema = load(name, options.data, seed=0)
        for seed in range(options.seeds):
            for tau in (0.0, *map(float, options.tau.split(","))):
                told: list[str] = []
                ask = choosing(tau, np.random.default_rng(seed), told) if tau else method.ask_counts
                with mock.patch.object(method, "ask_counts", ask):
                    model = fit(us.CliqueTree(epsilon=options.epsilon), train, schema, noise=SeededNoise(seed))
                found = whole_table(train, [model.sample(len(train), seed=seed)], schema, boosted=False)
                figures = {m.name: m.value.mean for m in found.measures if m.name in SHOWN} if found else {}
                shown = ", ".join(f"{key} {value:.4f}" for key, value in figures.items())
                sys.stdout.write(f"{name} seed {seed} tau {tau:g}: {shown} {' '.join(told)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
