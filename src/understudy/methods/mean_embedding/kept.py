"""What the mean embedding keeps of its answers: counts of columns, and of columns per class, with their noise.

Columns by themselves are counted, and so are the cells of numbers per class. Categories per class are not: their sum over a class
is one of the class moments, of vectors that are clipped together, here put back to counts. They are kept as what the model was
fitted to (no `cells`), not as a product: clipping takes a little of rows with many rare outcomes.
"""

from collections.abc import Sequence

import numpy as np

from understudy.measure.class_moments import ClassFeatures
from understudy.measure.described import outcome_cells
from understudy.measure.latent_normal import Histograms
from understudy.measure.one_way import OneWay
from understudy.released import Released
from understudy.schema import Codec


def names_of(codec: Codec, found: OneWay) -> list[str]:
    """Of the class and of every node."""
    return [codec.schema.label or "", *(node.column for node in found.nodes)]


def one_way_tables(codec: Codec, found: OneWay) -> tuple[Released, ...]:
    """Every column by itself."""
    names, people = names_of(codec, found), codec.schema.unit is not None
    return tuple(
        Released.of(
            (number,),
            names,
            part,
            found.deviation,
            cells=(outcome_cells(node, codec.schema.column(node.column)),),
            people=people,
        )
        for number, (node, part) in enumerate(zip(found.nodes, found.counts, strict=True), 1)
    )


def class_tables(
    of: ClassFeatures,
    found: OneWay,
    moments: tuple[np.ndarray, np.ndarray, np.ndarray],
    cells: Sequence[Histograms] | None,
    noise: float,
) -> tuple[Released, ...]:
    """Every column together with the class; none where there is one class. `noise`: of the count of a cell."""
    if of.classes == 1:
        return ()
    first, _, error = moments
    names, people, tables = names_of(of.codec, found), of.codec.schema.unit is not None, []
    column = {int(place): number for number, place in enumerate(of.numeric.tolist())}
    for number, node in enumerate(found.nodes, 1):
        if node.ordered and cells is not None:
            own = column[node.start]
            values = np.stack([noise * one.shares[own] / one.error[own] for one in cells])
            deviation = np.asarray(noise)
        else:
            block = slice(node.start, node.start + (node.size if node.onehot else 1))
            values = (first[:, block] + of.rates[block]) * of.counts[:, None]
            deviation = np.repeat((error * of.counts)[:, None], values.shape[1], axis=1)
        tables.append(Released.of((0, number), names, values, deviation, people=people))
    return tuple(tables)
