"""How a method keeps the schema's constraints: in its model, or by what is done to rows after they are drawn.

`clique-tree` gives no probability to cells that constraints forbid. All other methods know nothing of constraints: rows that
break some are drawn again and at last mended (`sampling.constrained`), which moves distributions to where fewer rows break any.
"""

from understudy.schema import Schema

MODELLED = ("clique-tree",)  # methods whose model has the constraints in it


def notes(method: str, schema: Schema) -> list[str]:
    """What plans and fits say of it, in one line; nothing where the model has the constraints in it, or there are none."""
    if not schema.constraints or method in MODELLED:
        return []
    return [
        f"CONSTRAINTS: {method} does not know them; samples keep them by leaving out or mending rows, so that distributions of "
        f"their columns may move (fewer of the values whose rows break something); {MODELLED[0]} has them in its model"
    ]
