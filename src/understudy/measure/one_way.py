"""Paid one-way marginals: three answers about every column by itself, for all methods.

    column cells 1, 2    counts of numeric columns over intervals that follow the rows (`understudy.measure.cells`), and over
                         narrow cells that show values many rows share (`understudy.measure.spikes`); the first one also
                         over numbers with none, one, two decimals (`understudy.measure.decimals`)
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
    Grouping,
    Node,
    alike,
    estimate,
    has_intervals,
    interval_count,
    learned_columns,
    like,
    make_nodes,
)
from understudy.measure.decimals import SHARE as DECIMALS
from understudy.measure.decimals import Grids, decimals_of, grids, on_grid, worth_asking
from understudy.measure.grouping import cell_map
from understudy.measure.spikes import NONE, NOWHERE, Look, closer, first_look, on_numbers, recut_around, worth_looking
from understudy.measure.spikes import SHARE as LOOKING
from understudy.private import Curator
from understudy.questions import Clique, Counts
from understudy.questions.counts import deviation as deviation_of
from understudy.recipe import Announced
from understudy.schema import Codec, Column, Schema

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
    schema: Schema,
    cells: float,
    marginals: float,
    purpose: str = MARGINALS,
    detail: str = "cells and outcomes",
    rounded: bool = True,
) -> list[Announced]:
    """The answers above with their weights. Without a column to cut all of the weight goes to the marginals."""
    columns = learned_columns(schema)
    if columns == 0:
        return []
    detail = f"{detail} of {columns} column{'s' if columns > 1 else ''}"
    if not has_intervals(schema):
        return [Announced(purpose, cells + marginals, dpa.GaussianDpEvent, detail=detail)]
    return [*announce_cells(schema, cells, rounded), Announced(purpose, marginals, dpa.GaussianDpEvent, detail=detail)]


def announce_cells(schema: Schema, weight: float, rounded: bool) -> list[Announced]:
    """The two answers that cut numeric columns, if there are any to be cut."""
    open_ = sum(one.kind == "continuous" and one.decimals is None for one in schema.features) if rounded else 0
    also = f", and how many decimals {open_} of them {'has' if open_ == 1 else 'have'}" if open_ else ""
    details = (f"equal cells of numeric columns{also}", "cells of about equal mass of numeric columns")
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
    rounded: bool = True,
) -> OneWay:
    """Cut the numeric columns and count every column's outcomes, with `by_class` those of each class.

    `rounded`: whether rows will have the decimals that are found; otherwise nothing is asked about them."""
    nodes = make_nodes(codec)
    groups, single = alike(codec, nodes), np.arange(len(nodes))
    if not nodes:
        return OneWay(nodes, groups, [], [], 1.0)
    sigma, max_rows = plan.parameters["noise"][purpose], codec.schema.max_rows_per_unit
    tables = len(set(groups.tolist())) if pooled else len(nodes)
    spread = deviation_of(sigma, tables, max_rows, share) * math.sqrt(codec.class_count if by_class else 1)
    nodes = cut(curator, codec, nodes, plan, rows, interval_count(rows, spread), share=share, rounded=rounded)
    question = count_cells(nodes, groups if pooled else single, codec, sigma, share=share, by_class=by_class)
    counts = averages(curator.ask(purpose, question).value, question, groups if pooled else single)
    overall = [part.sum(axis=0) if by_class else part for part in counts]
    masses = [estimate(node, part, spread, rows) for node, part in zip(nodes, overall, strict=True)]
    return OneWay(nodes, groups, counts, masses, spread)


def cut(
    curator: Curator,
    codec: Codec,
    nodes: list[Node],
    plan: Plan,
    rows: float,
    intervals: int,
    *,
    share: bool,
    rounded: bool,
) -> list[Node]:
    """Ask twice for counts of intervals, beside them for spikes and decimals; numeric columns that are not listed get edges."""
    wide = [number for number, node in enumerate(nodes) if node.share is not None]
    if CELLS[0] not in plan.parameters["noise"] or not wide:
        return nodes
    drafts = [nodes[number] for number in wide]
    groups = np.unique(alike(codec, nodes)[wide], return_inverse=True)[1]
    first = np.unique(groups, return_index=True)[1]
    sigmas, unit = [plan.parameters["noise"][name] for name in CELLS], 1 if share else codec.schema.max_rows_per_unit
    worth = worth_looking(rows, max(sigmas), len(first), unit)
    looks = [first_look(drafts[k], len(first), len(wide)) if worth else NOWHERE for k in first]
    columns = [codec.schema.column(drafts[k].column) for k in first]
    asked: list[Grids | None] = [None] * len(first)
    if rounded:
        asked = first_grids([drafts[k] for k in first], columns, len(wide), rows, sigmas[0] * unit)
    for name, sigma in zip(CELLS, sigmas, strict=True):
        question = count_closely(drafts, groups, looks, asked, codec, sigma, share=share)
        told = heard(question, curator.ask(name, question).value, looks, asked, columns)
        looks, asked = told.looks, [None] * len(first)
        spikes = [look.into if name == CELLS[-1] else NONE for look in looks]
        finer = [
            recut_around(drafts[k], part, estimate(drafts[k], part, told.noise, rows), told.noise, intervals, own)
            for k, part, own in zip(first, told.parts, spikes, strict=True)
        ]
        finer = [on_grid(*each) for each in zip(finer, columns, told.decimals, strict=True)]
        drafts = [like(finer[own], draft) for draft, own in zip(drafts, groups, strict=True)]
    found = list(nodes)
    for number, draft in zip(wide, drafts, strict=True):
        found[number] = draft
    return found


def first_grids(
    nodes: list[Node], columns: list[Column], members: int, rows: float, sigma: float
) -> list[Grids | None]:
    """Of every group of columns, `members` in all, if so many tables beside those of the cells can show anything."""
    found = [grids(node, column, members) for node, column in zip(nodes, columns, strict=True)]
    tables = len(nodes) * (1.0 + LOOKING) + DECIMALS * sum(one is not None for one in found)
    return found if worth_asking(rows, sigma * math.sqrt(tables / DECIMALS)) else [None] * len(nodes)


def count_closely(
    drafts: list[Node],
    groups: np.ndarray,
    looks: Sequence[Look],
    asked: Sequence[Grids | None],
    codec: Codec,
    sigma: float,
    *,
    share: bool,
) -> Counts:
    """A table of cells for each group of columns, then one for each look at a group, then one for each of its grids."""
    every, numbers, cells = list(drafts), groups.tolist(), list[Grouping | None]([None] * len(drafts))
    budgets = [1.0 for _ in looks]
    more: list[tuple[int, Node | None, Grouping | None, float]]
    more = [(own, look.node, None, LOOKING) for own, look in enumerate(looks)]
    more += [(own, one.node, one.outcome, DECIMALS) for own, one in enumerate(asked) if one is not None]
    for own, node, grouping, budget in more:
        if node is not None:
            members = [like(node, drafts[k]) for k in np.flatnonzero(groups == own)]
            every, numbers = every + members, numbers + [len(budgets)] * len(members)
            cells, budgets = cells + [grouping] * len(members), [*budgets, budget]
    return count_cells(every, np.asarray(numbers), codec, sigma, share=share, budgets=tuple(budgets), cells=cells)


class Heard(NamedTuple):
    """What an answer says of every group of columns."""

    parts: list[np.ndarray]  # counts of its cells
    noise: float  # on each of them
    looks: list[Look]  # where to look next
    decimals: list[int | None]  # of its numbers


def heard(
    question: Counts,
    released: Sequence[np.ndarray],
    looks: Sequence[Look],
    asked: Sequence[Grids | None],
    columns: Sequence[Column],
) -> Heard:
    """The tables of `count_closely` one after the other."""
    parts = averages(released, question, np.arange(len(released)))
    others = ((part, noise_of(question, table)) for table, part in enumerate(parts) if table >= len(looks))
    then = [look if look.node is None else closer(look, *next(others)) for look in looks]
    decimals = [None if own is None else decimals_of(own, *next(others)) for own in asked]
    then = [
        look if look.node is None else on_numbers(look, on_grid(look.node, column, own))
        for look, column, own in zip(then, columns, decimals, strict=True)
    ]
    return Heard(parts[: len(looks)], noise_of(question, 0), then, decimals)


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
    cells: Sequence[Grouping | None] = (),
) -> Counts:
    """One table of outcomes, or of `cells` of them, for each group of columns, with `by_class` of outcomes per class."""
    cliques: list[Clique] = [(0, number + 1) if by_class else (number + 1,) for number in range(len(nodes))]
    tables = tuple(tuple(cliques[k] for k in np.flatnonzero(groups == number)) for number in range(groups.max() + 1))
    joined = list(cells) or [None] * len(nodes)
    sizes = (
        codec.class_count,
        *(node.outcomes if own is None else own.cells for node, own in zip(nodes, joined, strict=True)),
    )
    return Counts(cell_map(nodes, joined), sizes, tables, sigma, codec.schema.max_rows_per_unit, share, budgets)


def averages(counts: Sequence[np.ndarray], question: Counts, groups: np.ndarray) -> list[np.ndarray]:
    """For every column its group's counts over the number of the group's columns: all have the same noise then."""
    return [counts[number].astype(np.float64) / len(question.tables[number]) for number in groups.tolist()]
