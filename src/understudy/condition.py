"""Conditions on a sample: `where="label=value"` on the command line and in Python, `where={label: value}` in Python.

Only the class label can be conditioned on, and only in models that learned it as a condition; the value is matched by the
way it is written, booleans also as `true`, `false`, `1` and `0`.
"""

from collections.abc import Mapping

from understudy.errors import UsageError
from understudy.schema import Schema

Where = str | Mapping[str, object] | None


def parse_where(where: Where, schema: Schema) -> int | None:
    """Which of the label's outcomes is wanted, from "label=value" or {label: value}; None: no condition."""
    if where is None:
        return None
    if schema.label is None:
        raise UsageError("where: a class label is needed, and this model was fitted without one")
    name, column = schema.label, schema.column(schema.label)
    # A column name may contain '=', so match the known name and not the first sign.
    if isinstance(where, str) and where.startswith(f"{name}="):
        wanted: object = where[len(name) + 1 :]
    elif not isinstance(where, str) and list(where) == [name]:
        wanted = where[name]
    else:
        raise UsageError(f"where={where!r} must read {name}=VALUE: conditions are on the label {name!r}")
    if column.kind != "boolean" and column.categories is None:
        raise UsageError(f"where: label {name!r} is {column.kind}; conditions need a label with classes")
    for index, outcome in enumerate(column.outcomes):
        spellings = {str(outcome)}
        if column.kind == "boolean":
            spellings |= {("false", "true")[index], str(index)}
        if str(wanted) in spellings:
            return index
    shown = [str(outcome) for outcome in column.outcomes]
    known = ", ".join(shown[:10]) + (", ..." if len(shown) > 10 else "")
    raise UsageError(f"where: label {name!r} has no value {str(wanted)!r}; it has {known}")
