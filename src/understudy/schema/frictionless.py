"""Import of a Frictionless Table Schema, alone or inside a Data Resource or Data Package.

| field | becomes |
| --- | --- |
| integer, year; number | integer; continuous, with `minimum` and `maximum` as bounds if both are stated |
| date, datetime | datetime in ISO form; another `format` stays open, since we would not read it |
| boolean | boolean; with `trueValues` or `falseValues` of its own, their list as categories |
| string, integer or number with `enum` or `categories` | categorical; ordinal with `categoriesOrdered` |
| string | categorical with an estimate; identifier for e-mail, URI and UUID |
| a primary key, or `unique: true` | identifier |
| any, or no type | open (`?`) |
| object, array, time, duration, geopoint, ... | left out |

A field may be missing unless it is `required`. Missing-value markers that we would not read as such are named in a remark.
"""

from collections.abc import Mapping
from typing import Any

from understudy.errors import UsageError
from understudy.schema.columns import Column
from understudy.schema.rows import NULLS
from understudy.schema.sketch import ASK, TEXT_NOTE, Entry, of_kind, one_line
from understudy.schema.types import Kind

_KINDS: dict[str, Kind] = {
    "integer": "integer",
    "year": "integer",
    "number": "continuous",
    "date": "datetime",
    "datetime": "datetime",
}
_PERSONAL = ("email", "uri", "uuid")
_LEFT_OUT = ("object", "array", "list", "time", "duration", "geopoint", "geojson", "yearmonth")
_READ_AS_BOOLEAN = {"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"}


def is_frictionless(content: object) -> bool:
    """Whether a parsed file looks like a Table Schema, a Data Resource or a Data Package."""
    if not isinstance(content, Mapping):
        return False
    inner = content.get("schema")
    resource = isinstance(inner, Mapping) and isinstance(inner.get("fields"), list)
    return resource or isinstance(content.get("fields"), list) or isinstance(content.get("resources"), list)


def from_frictionless(content: object, table: str | None = None) -> tuple[list[Entry], list[str]]:
    """The fields as entries, and remarks about the whole; `table` chooses one resource when there are several."""
    schema = _table_schema(content, table)
    fields = schema.get("fields")
    if not isinstance(fields, list) or not fields:
        raise UsageError("the Frictionless schema describes no fields")
    keys = schema.get("primaryKey") or []
    keys = {keys} if isinstance(keys, str) else set(keys) if isinstance(keys, list) else set()
    entries = [_entry(field, keys) for field in fields]
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"column {twice!r} appears twice in the Frictionless schema")
    return entries, _remarks(schema)


def _table_schema(content: object, wanted: str | None) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise UsageError("this is not a Frictionless schema: a JSON object with `fields` or `resources` is expected")
    if isinstance(content.get("resources"), list):
        described = {
            str(one.get("name", number)): one["schema"]
            for number, one in enumerate(content["resources"], 1)
            if isinstance(one, Mapping) and isinstance(one.get("schema"), Mapping)
        }
        names = ", ".join(map(repr, described))
        if not described:
            raise UsageError("the data package holds no resource with a schema in it")
        if wanted is None and len(described) > 1:
            raise UsageError(f"the data package describes several tables; choose one of {names}")
        if wanted is not None and wanted not in described:
            raise UsageError(f"the data package describes no table {wanted!r}; there are {names}")
        return dict(described[wanted if wanted is not None else next(iter(described))])
    inner = content.get("schema")
    return inner if isinstance(inner, Mapping) else content


def _entry(field: Any, keys: set[str]) -> Entry:
    name = field.get("name") if isinstance(field, Mapping) else None
    if not isinstance(name, str) or not name:
        raise UsageError("the Frictionless schema has a field without a name")
    kind = field.get("type", "any")
    limits = field.get("constraints")
    limits = limits if isinstance(limits, Mapping) else {}
    note = one_line(field.get("title") or field.get("description"))
    if name in keys or limits.get("unique") is True or field.get("format") in _PERSONAL:
        return Entry(name=name, column=Column(name=name, kind="identifier"), note=note)
    if kind in _LEFT_OUT:
        return Entry(name=name, left_out=True, note=f"{kind} is not supported")
    missing = limits.get("required") is not True
    if values := _listed(name, field, limits):
        ordered = field.get("categoriesOrdered") is True
        column = Column(name=name, kind="ordinal" if ordered else "categorical", categories=values, missing=missing)
        return Entry(name=name, column=column, note=note)
    if kind == "boolean":
        return _boolean(name, field, missing, note)
    if kind == "string":
        return of_kind(name, "categorical", missing=missing, note="; ".join(filter(None, (note, TEXT_NOTE))))
    if kind not in _KINDS:
        return Entry(name=name, note="; ".join(filter(None, (note, ASK))))
    return _number(name, str(kind), field, limits, missing, note)


def _listed(name: str, field: Mapping[str, Any], limits: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values a field may take, if the dictionary lists them; numbers as numbers."""
    listed = limits.get("enum") or field.get("categories") or []
    if not isinstance(listed, list):
        return ()
    values: list[Any] = [one.get("value") if isinstance(one, Mapping) else one for one in listed]
    if field.get("type") in ("integer", "number", "year"):
        try:
            numbers = [float(value) for value in values]
        except (TypeError, ValueError):
            raise UsageError(f"column {name!r}: its enum holds values that are no numbers") from None
        values = [int(number) for number in numbers] if all(n.is_integer() for n in numbers) else numbers
    elif not all(isinstance(value, str | int | float | bool) for value in values):
        raise UsageError(f"column {name!r}: its enum holds values that are no single values")
    elif field.get("type") == "boolean":
        return ()
    else:
        values = [str(value) for value in values]
    return tuple(values)


def _boolean(name: str, field: Mapping[str, Any], missing: bool, note: str) -> Entry:
    words = [field.get(side) for side in ("falseValues", "trueValues")]
    listed = [str(word) for side in words if isinstance(side, list) for word in side]
    if {word.lower() for word in listed} <= _READ_AS_BOOLEAN:
        return of_kind(name, "boolean", missing=missing, note=note)
    column = Column(name=name, kind="categorical", categories=tuple(dict.fromkeys(listed)), missing=missing)
    return Entry(name=name, column=column, note=note)


def _number(
    name: str, kind: str, field: Mapping[str, Any], limits: Mapping[str, Any], missing: bool, note: str
) -> Entry:
    ours = _KINDS[kind]
    if ours == "datetime" and field.get("format", "default") not in ("default", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"):
        return Entry(
            name=name, note="; ".join(filter(None, (note, "its dates are not in ISO form, which we do not read")))
        )
    if field.get("decimalChar", ".") != "." or field.get("groupChar") or field.get("bareNumber") is False:
        return Entry(
            name=name, note="; ".join(filter(None, (note, "its numbers are not in plain form, which we do not read")))
        )
    dtype = "date32[day]" if kind == "date" else None
    low, high = limits.get("minimum"), limits.get("maximum")
    if low is None or high is None:
        half = "minimum" if low is not None else "maximum" if high is not None else ""
        said = f"the dictionary states a {half} only; bounds need both ends" if half else ""
        return of_kind(name, ours, missing=missing, dtype=dtype, note="; ".join(filter(None, (note, said))))
    column = Column(
        name=name,
        kind=ours,
        lower=_bound(name, low, ours),
        upper=_bound(name, high, ours),
        missing=missing,
        dtype=dtype,
    )
    return Entry(name=name, column=column, note=note)


def _bound(name: str, value: Any, kind: str) -> float | int | str:
    if kind == "datetime":
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"column {name!r}: its minimum or maximum is no number") from None
    return int(number) if number.is_integer() else number


def _remarks(schema: Mapping[str, Any]) -> list[str]:
    markers = schema.get("missingValues")
    listed = (
        [one.get("value") if isinstance(one, Mapping) else one for one in markers] if isinstance(markers, list) else []
    )
    unread = [str(one) for one in listed if str(one) not in NULLS]
    if not unread:
        return []
    words = ", ".join(map(repr, unread))
    return [
        f"The dictionary marks missing values by {words}. In columns of numbers and dates, markers that are no number count as "
        "missing; a marker that is a number is read as one, and in a list of categories that is estimated it is a value."
    ]
