"""The form of a schema file: plain objects to columns and back, with errors that name the column and the key."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from understudy.errors import UsageError
from understudy.schema.columns import LISTED, NUMERIC, Column, require_kind
from understudy.schema.types import KINDS

OPEN = "?"  # stands in a draft for what only the holder can say


def nearest(name: str, names: Iterable[Any]) -> str:
    """A hint at the closest name, or nothing."""
    close = difflib.get_close_matches(str(name), [str(n) for n in names], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def mapping(value: object, what: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """A value that must hold `key: value` pairs with known keys."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{what} should hold `key: value` pairs with the keys {', '.join(keys)}")
    for key in value:
        if key not in keys:
            raise UsageError(f"{what}: unknown key {key!r}{nearest(key, keys)} (known: {', '.join(keys)})")
    return value


def reference(value: object, what: str, *allowed: str) -> dict[str, Any]:
    """A unit or label of a document, with its options."""
    if value is None:
        return {}
    if isinstance(value, str | int) and not isinstance(value, bool):
        return {"column": str(value)}
    found = dict(mapping(value, what, ("column", *allowed)))
    if not isinstance(found.get("column"), str | int):
        raise UsageError(f"{what} needs `column:` with the name of a column")
    found["column"] = str(found["column"])
    for option in allowed:
        if not isinstance(found.get(option), str | int | float | None):
            raise UsageError(f"{what}: {option} must be one value, not {type(found[option]).__name__}")
    return found


def refuse_open(entries: Mapping[Any, Any]) -> None:
    """Refuse a draft in which something is still to be said, before anything else is wrong with it."""
    left = {
        str(name): key
        for name, entry in entries.items()
        if isinstance(entry, Mapping)
        for key in ("categories", "kind")
        if entry.get(key) == OPEN
    }
    if not left:
        return
    name, key = next(iter(left.items()))
    more = (
        f" (as do {len(left) - 1} more columns)" if len(left) > 2 else " (as does one more)" if len(left) == 2 else ""
    )
    way_out = f"one of {', '.join(KINDS)}" if key == "kind" else "the list, in order"
    raise UsageError(f'column {name!r}: {key} still says "?"{more}; write {way_out} there, or delete the line')


_ENTRY = ("kind", "lower", "upper", "bounds", "categories", "missing", "other", "dtype", "height", "width", "channels", "format",
          "decimals", "codes")  # fmt: skip


def column_from(name: str, entry: object, decimal: str = ".") -> Column:
    """A column from its entry in a document."""
    entry = dict(mapping(entry, f"column {name!r}", _ENTRY))
    if not isinstance(entry.get("kind"), str):
        raise UsageError(f"column {name!r}: needs a kind")
    kind = entry["kind"]
    require_kind(name, kind)
    for flag in ("missing", "other"):
        if not isinstance(entry.get(flag, False), bool):
            raise UsageError(f"column {name!r}: {flag} must be true or false")
    if not isinstance(entry.get("dtype", ""), str):
        raise UsageError(f"column {name!r}: dtype must be text such as int64")
    if not isinstance(entry.get("format", ""), str):
        raise UsageError(f"column {name!r}: format must be text such as %d.%m.%Y")
    if not isinstance(entry.get("decimals", 0), int) or isinstance(entry.get("decimals"), bool):
        raise UsageError(f"column {name!r}: decimals must be a whole number")
    for side in ("lower", "upper"):
        if not isinstance(entry.get(side, 0), int | float | str) or isinstance(entry.get(side), bool):
            raise UsageError(f"column {name!r}: {side} must be a number or an ISO date")
    codes = entry.pop("codes", ())
    if not isinstance(codes, list | tuple) or not all(isinstance(code, str | int | float) for code in codes):
        raise UsageError(f"column {name!r}: codes must be a list, such as [N, 999999]")
    categories, estimate = entry.pop("categories", None), None
    if "bounds" in entry:
        estimate = _estimate(entry.pop("bounds"), name, "bounds")
        if kind in LISTED:
            raise UsageError(f"column {name!r}: kind {kind} takes categories, not bounds")
    if isinstance(categories, str | Mapping):
        estimate = _estimate(categories, name, "categories")
        categories = None
        if kind in NUMERIC:
            raise UsageError(f"column {name!r}: kind {kind} takes bounds, not categories")
    if categories is not None:
        if not isinstance(categories, list | tuple):
            raise UsageError(f"column {name!r}: categories must be a list or `estimate`")
        for value in categories:
            if value is not None and not isinstance(value, str | int | float):
                raise UsageError(f"column {name!r}: a category must be one value, not {type(value).__name__}")
        if None in categories:
            raise UsageError(f"column {name!r}: null is no category; write `missing: true`")
        categories = tuple(categories)
    try:
        return Column(name=name, categories=categories, estimate=estimate, decimal=decimal, codes=tuple(codes), **entry)
    except UsageError as error:
        prefix = f"column {name!r}"
        raise error if str(error).startswith(prefix) else UsageError(f"{prefix}: {error}") from None


def _estimate(value: object, name: str, what: str) -> str:
    if value == "estimate":
        return name
    if isinstance(value, Mapping) and set(value) == {"estimate"} and isinstance(value["estimate"], str | int):
        return str(value["estimate"])
    raise UsageError(
        f"column {name!r}: {what} must be `estimate` or `{{estimate: NAME}}`; give values as "
        f"{'lower and upper' if what == 'bounds' else 'a list'}"
    )


def column_entry(column: Column) -> dict[str, Any]:
    """The entry of a column in a document."""
    entry: dict[str, Any] = {"kind": column.kind}
    entry |= {
        side: getattr(column, side) for side in ("height", "width", "channels") if getattr(column, side) is not None
    }
    if column.lower is not None:
        entry |= {"lower": column.lower, "upper": column.upper}
    if column.categories is not None:
        entry["categories"] = list(column.categories)
    if column.estimate is not None:
        group = "estimate" if column.estimate == column.name else {"estimate": column.estimate}
        entry["bounds" if column.kind in NUMERIC else "categories"] = group
    entry |= {flag: True for flag in ("missing", "other") if getattr(column, flag)}
    entry |= {key: getattr(column, key) for key in ("dtype", "format", "decimals") if getattr(column, key) is not None}
    entry |= {"codes": list(column.codes)} if column.codes else {}
    return entry
