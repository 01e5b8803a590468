"""What a private estimate found, made usable for a column.

An estimate may come out without width, beyond the column's type, or empty. None of this may raise, because it depends
on the rows: ranges are widened or cut, and an empty list gets a stand-in.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from understudy.schema.cells import UNREADABLE
from understudy.schema.columns import OTHER, Column, moment, moment_range
from understudy.schema.types import EXACT_INTEGERS, Value, family, number_range, value_type


class Bounds(NamedTuple):
    """A privately found range; for datetimes in seconds since 1970 UTC."""

    lower: float
    upper: float


def category_value(raw: Value, column: Column) -> Value | None:
    """`raw` (perhaps its text) as a value of the column's type, None when it is not one."""
    wanted = family(column.arrow_type)
    if raw == UNREADABLE:
        return None
    if wanted == "string":
        return str(raw)
    if wanted == "boolean":
        return {"true": True, "false": False, "1": True, "0": False}.get(str(raw).lower())
    try:
        number = float(raw)
    except (ValueError, OverflowError):
        return None
    low, high = number_range(value_type(column.arrow_type))
    if not low <= number <= high or (wanted == "integer" and number != int(number)):
        return None
    return number if wanted == "float" else int(raw) if not isinstance(raw, str) else int(number)


def usable_categories(column: Column, found: Iterable[Value], declared: Value | None) -> tuple[Value, ...]:
    """The values found, once each, with a class that was `declared` anyway; never empty where a value is needed."""
    kept = dict.fromkeys(v for v in (category_value(raw, column) for raw in found) if v is not None)
    if declared is not None:
        kept.setdefault(declared)
    if not kept and not column.other and not column.missing:
        kept = {{"integer": 0, "float": 0.0, "boolean": False}.get(family(column.arrow_type), OTHER): None}
    return tuple(kept)


def usable_bounds(column: Column, lower: float, upper: float) -> tuple[float | int | str, float | int | str]:
    """Estimated bounds as values of the column: finite, and apart from each other."""
    lower, upper = (0.0 if math.isnan(x) else x for x in (lower, upper))
    kind = column.arrow_type
    if column.kind == "datetime":
        step = 86400.0 if pa.types.is_date(kind) else 1.0
        first, last = moment_range(kind)
        lower, upper = min(max(min(lower, upper), first), last - 2 * step), max(lower, upper)
        return moment(lower, kind, up=False), moment(max(upper, lower + step), kind, up=True)
    low, high = number_range(kind)
    if column.kind == "integer":
        low, high = max(low, -EXACT_INTEGERS), min(high, EXACT_INTEGERS)
    else:
        low, high = low / 2, high / 2  # the width upper - lower must be finite too
    lower, upper = sorted((min(max(lower, low), high), min(max(upper, low), high)))
    if column.kind == "integer":
        first, last = math.floor(lower), math.ceil(upper)
        if first == last:
            first, last = (first, last + 1) if last < high else (first - 1, last)
        return first, last
    if not lower < upper:
        room = max(1.0, abs(lower) * 1e-6)  # float32 columns still tell the ends apart
        lower, upper = (lower, lower + room) if lower + room <= high else (lower - room, lower)
    return lower, upper
