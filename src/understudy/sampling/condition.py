"""Conditions on a sample, and which of them a model can keep.

A model that is a tree of tables (`clique-tree`, `mst`, `aim`, `independent`) takes conditions on any columns and draws from its
exact distribution given them (`methods.marginals.conditioning`). Generators that were trained draw rows of a class; they take
conditions on the label, where they learned it as a condition, and nothing else (`or` between classes makes a set of classes).
"""

import numpy as np

from understudy.errors import UsageError
from understudy.schema import Schema
from understudy.schema.boxes import Boxes, parse_boxes
from understudy.schema.conditions import Where
from understudy.schema.schema import CLASS_KINDS

__all__ = ["Boxes", "Where", "on_label_only", "parse_boxes", "parse_where"]


def parse_where(where: Where, schema: Schema) -> np.ndarray | None:
    """Which classes of the label are wanted, one truth value for each; None: no condition. For methods that know no other."""
    if where is None:
        return None
    if schema.label is None:
        raise UsageError(
            "where: a class label is needed, and this model was fitted without one; clique-tree, mst, aim and independent take "
            "conditions on any column"
        )
    if schema.column(schema.label).kind not in CLASS_KINDS:
        kind = schema.column(schema.label).kind
        raise UsageError(f"where: label {schema.label!r} is {kind}; conditions need a label with classes")
    found = parse_boxes(where, schema)
    others = [one.column.name for box in found for one in box if one.column.name != schema.label]
    if others:
        raise UsageError(
            f"where: this model draws rows given its label {schema.label!r} and not given column {others[0]!r}: a trained "
            "generator cannot be turned round; clique-tree, mst, aim and independent take conditions on any column"
        )
    return on_label_only(found, schema)


def on_label_only(found: Boxes, schema: Schema) -> np.ndarray | None:
    """Which classes are wanted, if conditions are on the label alone; else None."""
    if [[one.column.name for one in box] for box in found] != [[schema.label]]:
        return None
    own = found[0][0]
    count = len(own.column.outcomes)
    return own.holds(np.arange(float(count)), np.zeros(count, bool))
