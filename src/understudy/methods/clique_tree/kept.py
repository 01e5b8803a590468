"""What the clique tree keeps of its counts in the artifact: every table as it was released, with words for its cells, and what
the model was fitted to. Of pairs of columns that is the same table."""

import numpy as np

from understudy.measure.described import class_cells, grouped_cells, outcome_cells
from understudy.methods.clique_tree.columns import Columns
from understudy.methods.clique_tree.descent import Measured
from understudy.methods.clique_tree.levels import Layout
from understudy.released import Cell, Released
from understudy.schema import Codec

Key = tuple[int, int | None]  # a column and a level of its cells; None: its outcomes
Table = tuple[tuple[Key, ...], np.ndarray, float]  # counts as released, and the deviation of their noise


def kept_tables(
    codec: Codec, columns: Columns, layout: Layout, tables: list[Table], measured: list[Measured]
) -> tuple[Released, ...]:
    """For every table that was counted; `measured` is what the fit made of it."""
    names = [columns.names[number] or codec.schema.label or "" for number, _ in layout.keys]
    people = codec.schema.unit is not None

    def cells(key: Key) -> tuple[Cell, ...]:
        number, level = key
        if number == 0:
            return class_cells(codec)
        node = columns.nodes[number - 1]
        column = codec.schema.column(node.column)
        if level is None:
            return outcome_cells(node, column)
        return grouped_cells(node, column, columns.levels[number][level])

    raw, fitted = [], []
    for (keys, values, deviation), item in zip(tables, measured, strict=True):
        words = tuple(map(cells, keys))
        if len(keys) > 1:
            fitted.append(Released.of(item.nodes, names, item.counts, item.deviation, cells=words, people=people))
            continue
        raw.append(Released.of(item.nodes, names, values, deviation, cells=words, fitted=False, people=people))
        fitted.append(Released.of(item.nodes, names, item.counts, item.deviation, people=people))
    return (*raw, *fitted)
