"""Import of the dictionaries that come with NIST's excerpts of census tables, in both of their shapes.

    schema            {"schema": {"AGEP": {"dtype": "int64", "min": 0, "max": 99}, "SEX": {"dtype": "int64", "values": [1, 2]}}}
    data dictionary   {"AGEP": {"description": "...", "values": {"min": 0, "max": 99}}, "SEX": {"values": {"1": "Male", ...}}}

Listed values become categories, `min` and `max` bounds. Whole-number bounds of a column of floats are decimals cut off (DENSITY
of Massachusetts reaches 3683.9 where `max` is 3683), so they are moved out to the next whole number, and the draft says so. A
column that mixes numbers with codes such as `N` is a number with codes beside it. A column of which nothing is stated stays
open (`?`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from understudy.errors import UsageError
from understudy.schema.columns import Column
from understudy.schema.sketch import ASK, Entry, of_kind, one_line

CUT = "the dictionary cuts decimals off its bounds, {} and {}: state the true ones where they are known"
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_KEYS = {"description", "details", "link", "values"}  # of a data dictionary's entry
_SHAPE = {"dtype", "values", "min", "max", "has_null", "null_value"}  # of a schema's entry


def is_nist(content: object) -> bool:
    """Whether a parsed file looks like one of the two shapes."""
    if not isinstance(content, Mapping) or not content:
        return False
    entries, known = (content["schema"], _SHAPE) if isinstance(content.get("schema"), Mapping) else (content, _KEYS)
    return bool(entries) and all(isinstance(one, Mapping) and one and known & set(one) for one in entries.values())


def from_nist(content: Any) -> list[Entry]:
    """The columns that a dictionary describes."""
    if not is_nist(content):
        raise UsageError("this is not a dictionary of NIST's excerpts: columns with `values`, or with `min` and `max`")
    if isinstance(content.get("schema"), Mapping):
        return [_of_schema(str(name), entry) for name, entry in content["schema"].items()]
    return [_of_dictionary(str(name), entry) for name, entry in content.items()]


def _of_schema(name: str, entry: Mapping[str, Any]) -> Entry:
    dtype, values = str(entry.get("dtype", "object")), entry.get("values")
    gap, code = entry.get("has_null") is True, entry.get("null_value")
    if isinstance(values, list) and values:
        whole = dtype.startswith(("int", "uint"))
        listed = [value if whole and isinstance(value, int) else str(value) for value in values]
        missing = gap and str(code) not in map(str, values)
        column = Column(name=name, kind="categorical", categories=tuple(listed), missing=missing)
        return Entry(name=name, column=column)
    return _number(
        name, entry.get("min"), entry.get("max"), dtype, [str(code)] if gap and code is not None else [], gap, ""
    )


def _of_dictionary(name: str, entry: Mapping[str, Any]) -> Entry:
    note, values = one_line(entry.get("description")), entry.get("values")
    if not isinstance(values, Mapping) or not values:
        return Entry(name=name, note=f"{note}; {ASK}" if note else ASK)
    low, high = values.get("min"), values.get("max")
    codes = [str(code) for code in values if code not in ("min", "max")]
    if low is None and high is None:
        whole = all(_WHOLE.fullmatch(code) for code in codes)
        categories = tuple(int(code) for code in codes) if whole else tuple(codes)
        return Entry(name=name, column=Column(name=name, kind="categorical", categories=categories), note=note)
    numbers = [int(code) for code in codes if _WHOLE.fullmatch(code)]  # a number that has a name of its own, such as 0
    words = [code for code in codes if not _WHOLE.fullmatch(code)]
    low, high = _widened(low, numbers, min), _widened(high, numbers, max)
    return _number(name, low, high, "object", words, bool(words), note)


def _widened(bound: object, numbers: Iterable[int], outer: Callable[[list[float]], float]) -> object:
    return outer([bound, *numbers]) if isinstance(bound, int | float) else bound


def _number(name: str, low: Any, high: Any, dtype: str, codes: list[str], missing: bool, note: str) -> Entry:
    missing = missing and not codes  # what stands for nothing is the code
    stated = all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in (low, high))
    fraction = dtype.startswith("float") or (stated and not (float(low).is_integer() and float(high).is_integer()))
    kind = "continuous" if fraction else "integer"
    cut = stated and dtype.startswith("float") and isinstance(low, int) and isinstance(high, int)
    if cut:  # int() of a value, which takes it towards 0
        note = f"{note}; {CUT.format(low, high)}" if note else CUT.format(low, high)
        low, high = low - (low < 0), high + (high >= 0)
    if stated and low < high:
        lower, upper = (low, high) if fraction else (int(low), int(high))
        column = Column(name=name, kind=kind, lower=lower, upper=upper, missing=missing, codes=tuple(codes))  # type: ignore[arg-type]
        return Entry(name=name, column=column, note=one_line(note))
    if dtype == "object":  # text or numbers: nothing says which
        return Entry(name=name, note=one_line(f"{note}; {ASK}" if note else ASK))
    return of_kind(name, kind, missing=missing, note=one_line(note))
