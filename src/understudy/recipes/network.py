"""From noisy marginals to a network that can be drawn from: estimation by `mbi`, then conditional tables.

`mbi` finds the distribution of largest entropy whose marginals fit all noisy counts best, weighted by their noise (McKenna,
Sheldon, Miklau 2019). It factorises over a junction tree. Visiting the nodes by maximum cardinality search from the class on, the
visited neighbours of a node always lie in one clique of that tree, so P(node | visited neighbours) is read off one marginal, and
drawing the nodes in this order draws from the model exactly.

Everything here is post-processing of released counts.
"""

import math
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import numpy as np

from understudy.errors import UsageError
from understudy.recipes.cells import Conditional

Clique = tuple[int, ...]
LARGEST_MODEL = 1 << 22  # entries of all conditional tables together: 16 MB in the artifact


class Measured(NamedTuple):
    """Released counts of one marginal and the standard deviation of their noise."""

    clique: Clique
    counts: np.ndarray
    deviation: float


def need_mbi() -> None:
    """Say early, and in one line, what is missing."""
    if find_spec("mbi") is None:
        raise UsageError("the methods mst and aim need the package mbi: pip install 'understudy[marginals]'")


def import_mbi() -> Any:
    """mbi, without its remarks on settings that are made here (double precision) or are the caller's business (caches)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        import mbi
        import mbi.junction_tree
        import mbi.marginal_oracles
    return mbi


def name(node: int) -> str:
    return f"n{node:04d}"


def estimate(sizes: Sequence[int], measured: Sequence[Measured], total: float, steps: int, before: Any = None) -> Any:
    """mbi's model of all nodes, as close to the measurements as their noise deserves; `before` is a warm start."""
    mbi = import_mbi()
    measurements = [
        mbi.LinearMeasurement(
            np.asarray(item.counts, np.float64).ravel(), tuple(map(name, item.clique)), stddev=float(item.deviation)
        )
        for item in measured
    ]
    with jax.enable_x64(True):  # line searches on counts of large tables stall in single precision
        return mbi.estimation.MirrorDescent().estimate(
            domain_of(sizes), measurements, known_total=max(total, 1.0), iters=steps, warm_start=before
        )


def domain_of(sizes: Sequence[int]) -> Any:
    return import_mbi().Domain(tuple(name(node) for node in range(len(sizes))), tuple(int(size) for size in sizes))


def model_size(sizes: Sequence[int], cliques: Sequence[Clique]) -> int:
    """Entries of the conditional tables of a model with these cliques."""
    return sum(math.prod(sizes[node] for node in group) for group in largest_cliques(sizes, cliques))


def largest_cliques(sizes: Sequence[int], cliques: Sequence[Clique]) -> list[Clique]:
    """The cliques of a junction tree that holds all of `cliques`."""
    junction_tree = import_mbi().junction_tree
    tree, _ = junction_tree.make_junction_tree(domain_of(sizes), [tuple(map(name, clique)) for clique in cliques])
    return [tuple(int(attribute[1:]) for attribute in clique) for clique in tree.nodes]


def conditionals(model: Any, sizes: Sequence[int], cliques: Sequence[Clique]) -> list[Conditional]:
    """P(node | parents) for all nodes but the class, parents before children."""
    groups = largest_cliques(sizes, cliques)
    drawn = []
    with jax.enable_x64(True):
        potentials = model.potentials.expand([tuple(map(name, group)) for group in groups])
        marginals = import_mbi().marginal_oracles.message_passing_stable(potentials, float(model.total))
        for node, parents in search(len(sizes), groups)[1:]:
            wanted = tuple(map(name, (*parents, node)))
            weights = np.asarray(marginals.project(wanted).datavector(flatten=False), np.float64)
            drawn.append(Conditional(node, parents, weights))
    return drawn


def search(nodes: int, groups: Sequence[Clique]) -> list[tuple[int, Clique]]:
    """Maximum cardinality search over a chordal graph from node 0: each node with its neighbours visited before."""
    neighbours: list[set[int]] = [set() for _ in range(nodes)]
    for group in groups:
        for node in group:
            neighbours[node] |= set(group) - {node}
    visited: list[int] = []
    left = list(range(nodes))
    found = []
    while left:
        node = max(left, key=lambda own: (len(neighbours[own] & set(visited)), -own))
        found.append((node, tuple(sorted(neighbours[node] & set(visited)))))
        visited.append(node)
        left.remove(node)
    return found
