"""Paid one-way marginals: three answers about every column by itself, for all methods.

    column cells 1, 2    counts of numeric columns over intervals that follow the rows (`understudy.measure.cells`)
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
    recut,
    with_edges,
)
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
    """Ask twice for counts of intervals and give every numeric column that is not listed its edges."""
    wide = [number for number, node in enumerate(nodes) if node.share is not None]
    if CELLS[0] not in plan.parameters["noise"] or not wide:
        return nodes
    drafts = [nodes[number] for number in wide]
    groups = np.unique(alike(codec, nodes)[wide], return_inverse=True)[1]
    first = np.unique(groups, return_index=True)[1]
    for name in CELLS:
        question = count_cells(drafts, groups, codec, plan.parameters["noise"][name], share=share)
        counts = averages(curator.ask(name, question).value, question, groups)
        noise = question.deviations[0] / len(question.tables[0])
        finer = [recut(drafts[k], estimate(drafts[k], counts[k], noise, rows), intervals) for k in first]
        drafts = [
            with_edges(draft, finer[own].edges, finer[own].share) for draft, own in zip(drafts, groups, strict=True)
        ]
    found = list(nodes)
    for number, draft in zip(wide, drafts, strict=True):
        found[number] = draft
    return found


def count_cells(
    nodes: list[Node], groups: np.ndarray, codec: Codec, sigma: float, *, share: bool = False, by_class: bool = False
) -> Counts:
    """One table of outcomes for each group of columns, with `by_class` of outcomes per class."""
    cliques: list[Clique] = [(0, number + 1) if by_class else (number + 1,) for number in range(len(nodes))]
    tables = tuple(tuple(cliques[k] for k in np.flatnonzero(groups == number)) for number in range(groups.max() + 1))
    cells, sizes = cell_map(nodes, None), cells_of(nodes, codec.class_count)
    return Counts(cells, sizes, tables, sigma, codec.schema.max_rows_per_unit, share)


def averages(counts: Sequence[np.ndarray], question: Counts, groups: np.ndarray) -> list[np.ndarray]:
    """For every column its group's counts over the number of the group's columns: all have the same noise then."""
    return [counts[number].astype(np.float64) / len(question.tables[number]) for number in groups.tolist()]
