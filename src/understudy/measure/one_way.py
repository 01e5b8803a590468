"""Paid one-way marginals: three answers about every column by itself, for all methods.

    column cells 1, 2    counts of numeric columns over intervals that follow the rows (`understudy.measure.cells`), and over
                         narrow cells that show values many rows share (`understudy.measure.spikes`)
    column marginals     counts over the final cells and of every outcome of the other columns, of all rows or per class

Each answer is one Gaussian answer about all columns (`understudy.questions.counts`, where sensitivity is proved). Columns
alike in kind and bounds (samples of a signal, pixels) are cut together, so that the whole group costs as much as one column;
`pooled` marginals are averaged over the group as well, others keep every column's own counts. With `share` the rows of a
unit share one count. What is made of noisy counts is `cells.estimate`, and is post-processing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.measure.cells import (
    Node,
    alike,
    cell_map,
    cells_of,
    estimate,
    has_intervals,
    interval_count,
    learned_columns,
    make_nodes,
    with_edges,
)
from understudy.measure.spikes import NONE, NOWHERE, SHARE, Look, closer, first_look, recut_around, worth_looking
from understudy.private import Curator
from understudy.questions import Clique, Counts
from understudy.questions.counts import deviation as deviation_of
from understudy.recipe import Announced
from understudy.schema import Codec, Schema

CELLS = ("column cells 1", "column cells 2")
MARGINALS = "column marginals"


class OneWay(NamedTuple):
    """Every column's cells, released counts and estimated rows."""

    nodes: list[Node]
    groups: np.ndarray  # [nodes]: columns with the same number were cut together
    counts: list[np.ndarray]  # [outcomes], or [classes, outcomes]
    masses: list[np.ndarray]  # [outcomes], all classes together
    deviation: float  # of the noise on a mass


def announce_one_way(
    schema: Schema, cells: float, marginals: float, purpose: str = MARGINALS, detail: str = "cells and outcomes"
) -> list[Announced]:
    """The answers above with their weights. Without a column to cut all of the weight goes to the marginals."""
    columns = learned_columns(schema)
    if columns == 0:
        return []
    detail = f"{detail} of {columns} column{'s' if columns > 1 else ''}"
    if not has_intervals(schema):
        return [Announced(purpose, cells + marginals, dpa.GaussianDpEvent, detail=detail)]
    return [*announce_cells(schema, cells), Announced(purpose, marginals, dpa.GaussianDpEvent, detail=detail)]


def announce_cells(schema: Schema, weight: float) -> list[Announced]:
    """The two answers that cut numeric columns, if there are any to be cut."""
    details = ("equal cells of numeric columns", "cells of about equal mass of numeric columns")
    return [
        Announced(name, weight / len(CELLS), dpa.GaussianDpEvent, detail=detail)
        for name, detail in zip(CELLS, details, strict=True)
        if has_intervals(schema)
    ]


def ask_one_way(
    curator: Curator,
    codec: Codec,
    rows: float,
    plan: Plan,
    purpose: str = MARGINALS,
    *,
    by_class: bool = False,
    pooled: bool = False,
    share: bool = False,
) -> OneWay:
    """Cut the numeric columns and count every column's outcomes, with `by_class` those of each class."""
    nodes = make_nodes(codec)
    groups, single = alike(codec, nodes), np.arange(len(nodes))
    if not nodes:
        return OneWay(nodes, groups, [], [], 1.0)
    sigma, max_rows = plan.parameters["noise"][purpose], codec.schema.max_rows_per_unit
    tables = len(set(groups.tolist())) if pooled else len(nodes)
    spread = deviation_of(sigma, tables, max_rows, share) * math.sqrt(codec.class_count if by_class else 1)
    nodes = cut(curator, codec, nodes, plan, rows, interval_count(rows, spread), share=share)
    question = count_cells(nodes, groups if pooled else single, codec, sigma, share=share, by_class=by_class)
    counts = averages(curator.ask(purpose, question).value, question, groups if pooled else single)
    overall = [part.sum(axis=0) if by_class else part for part in counts]
    masses = [estimate(node, part, spread, rows) for node, part in zip(nodes, overall, strict=True)]
    return OneWay(nodes, groups, counts, masses, spread)


def cut(
    curator: Curator, codec: Codec, nodes: list[Node], plan: Plan, rows: float, intervals: int, *, share: bool = False
) -> list[Node]:
    """Ask twice for counts of intervals, and for looks at spikes, and give every numeric column that is not listed its edges."""
    wide = [number for number, node in enumerate(nodes) if node.share is not None]
    if CELLS[0] not in plan.parameters["noise"] or not wide:
        return nodes
    drafts = [nodes[number] for number in wide]
    groups = np.unique(alike(codec, nodes)[wide], return_inverse=True)[1]
    first = np.unique(groups, return_index=True)[1]
    sigmas = [plan.parameters["noise"][name] for name in CELLS]
    worth = worth_looking(rows, max(sigmas), len(first), 1 if share else codec.schema.max_rows_per_unit)
    looks = [first_look(drafts[k], len(first), len(wide)) if worth else NOWHERE for k in first]
    for name, sigma in zip(CELLS, sigmas, strict=True):
        question = count_closely(drafts, groups, looks, codec, sigma, share=share)
        released = curator.ask(name, question).value
        parts, noise = averages(released, question, np.arange(len(released))), noise_of(question, 0)
        seen, narrow = iter(parts[len(first) :]), noise_of(question, -1)
        looks = [look if look.node is None else closer(look, next(seen), narrow) for look in looks]
        finer = [
            recut_around(
                drafts[k],
                parts[own],
                estimate(drafts[k], parts[own], noise, rows),
                noise,
                intervals,
                looks[own].into if name == CELLS[-1] else NONE,
            )
            for own, k in enumerate(first)
        ]
        drafts = [
            with_edges(draft, finer[own].edges, finer[own].share) for draft, own in zip(drafts, groups, strict=True)
        ]
    found = list(nodes)
    for number, draft in zip(wide, drafts, strict=True):
        found[number] = draft
    return found


def count_closely(
    drafts: list[Node], groups: np.ndarray, looks: Sequence[Look], codec: Codec, sigma: float, *, share: bool
) -> Counts:
    """A table of cells for each group of columns, then one for each look at a group."""
    every, numbers, tables = list(drafts), groups.tolist(), len(looks)
    for own, look in enumerate(looks):
        if look.node is not None:
            edges = look.node.edges
            assert edges is not None
            members = [with_edges(drafts[k], edges) for k in np.flatnonzero(groups == own)]
            every, numbers, tables = every + members, numbers + [tables] * len(members), tables + 1
    budgets = (1.0,) * len(looks) + (SHARE,) * (tables - len(looks))
    return count_cells(every, np.asarray(numbers), codec, sigma, share=share, budgets=budgets)


def noise_of(question: Counts, table: int) -> float:
    """Of a group's counts over the number of its columns."""
    return question.deviations[table] / len(question.tables[table])


def count_cells(
    nodes: list[Node],
    groups: np.ndarray,
    codec: Codec,
    sigma: float,
    *,
    share: bool = False,
    by_class: bool = False,
    budgets: tuple[float, ...] = (),
) -> Counts:
    """One table of outcomes for each group of columns, with `by_class` of outcomes per class."""
    cliques: list[Clique] = [(0, number + 1) if by_class else (number + 1,) for number in range(len(nodes))]
    tables = tuple(tuple(cliques[k] for k in np.flatnonzero(groups == number)) for number in range(groups.max() + 1))
    cells, sizes = cell_map(nodes, None), cells_of(nodes, codec.class_count)
    return Counts(cells, sizes, tables, sigma, codec.schema.max_rows_per_unit, share, budgets)


def averages(counts: Sequence[np.ndarray], question: Counts, groups: np.ndarray) -> list[np.ndarray]:
    """For every column its group's counts over the number of the group's columns: all have the same noise then."""
    return [counts[number].astype(np.float64) / len(question.tables[number]) for number in groups.tolist()]
