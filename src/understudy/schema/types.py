"""Arrow types by name: what a column has in the file it came from, and gets back on output.

A schema stores types as text (`int16`, `double`, `timestamp[us, tz=UTC]`), the same text that PyArrow prints, so the
file stays readable and no Python object is ever serialised. Without a `dtype` a column has its kind's natural type.
"""

import re
from typing import Literal

import pyarrow as pa

from understudy.errors import UsageError

Kind = Literal["continuous", "integer", "ordinal", "categorical", "boolean", "datetime", "image", "identifier"]
Value = str | int | float | bool

KINDS: tuple[Kind, ...] = (
    "continuous",
    "integer",
    "ordinal",
    "categorical",
    "boolean",
    "datetime",
    "image",
    "identifier",
)
NATURAL: dict[Kind, pa.DataType] = {
    "continuous": pa.float64(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "datetime": pa.timestamp("us"),
    "image": pa.list_(pa.uint8()),
    "identifier": pa.int64(),
}
EXACT_INTEGERS = 2**53  # beyond this a float64 no longer holds every whole number

_PLAIN = {
    str(t): t
    for t in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string()),
        *(pa.date32(), pa.date64()),
    )
}
_PLAIN |= {
    "float32": pa.float32(),
    "float64": pa.float64(),
    "float16": pa.float16(),
    "boolean": pa.bool_(),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "date": pa.date32(),
    "str": pa.string(),
}
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]")
_DECIMAL = re.compile(r"decimal128\((\d+), ?(\d+)\)")
_DICTIONARY = re.compile(r"dictionary<values=([^,]+), indices=([^,]+), ordered=([01])>")


def parse_type(text: str) -> pa.DataType:
    """The Arrow type called `text`; a UsageError for anything a column cannot have."""
    if text in _PLAIN:
        return _PLAIN[text]
    if match := _TIMESTAMP.fullmatch(text):
        return pa.timestamp(match[1], tz=match[2])
    if (match := _DECIMAL.fullmatch(text)) and 1 <= int(match[1]) <= 38 and int(match[2]) <= int(match[1]):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _DICTIONARY.fullmatch(text):
        index, value = parse_type(match[2]), parse_type(match[1])
        if pa.types.is_signed_integer(index) and family(value) in ("string", "integer", "float", "boolean"):
            return pa.dictionary(index, value, ordered=match[3] == "1")
    raise UsageError(f"unknown dtype {text!r}; use an Arrow type such as int64, double, string, bool or timestamp[us]")


def family(kind: pa.DataType) -> str:
    """The coarse family of an Arrow type: integer, float, boolean, string, datetime, pixels, nothing or other."""
    if pa.types.is_dictionary(kind):
        return family(kind.value_type)
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "float"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "datetime"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return "pixels" if pa.types.is_integer(kind.value_type) else "other"
    return "nothing" if pa.types.is_null(kind) else "other"


# Which families a kind may come back as. Booleans are often 0/1, integers with gaps are often floats.
FAMILIES: dict[Kind, tuple[str, ...]] = {
    "continuous": ("float",),
    "integer": ("integer", "float"),
    "ordinal": ("string", "integer", "float", "boolean"),
    "categorical": ("string", "integer", "float", "boolean"),
    "boolean": ("boolean", "integer", "float"),
    "datetime": ("datetime",),
    "image": ("pixels",),
    "identifier": ("integer", "string"),
}


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values: a dictionary's value type, otherwise the type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def number_range(kind: pa.DataType) -> tuple[float | int, float | int]:
    """The smallest and largest whole number an integer type holds; for floats what stays exact, for others infinite."""
    if pa.types.is_integer(kind):
        bits = kind.bit_width
        return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if pa.types.is_signed_integer(kind) else (0, 2**bits - 1)
    if pa.types.is_decimal(kind):
        top = 10.0 ** (kind.precision - kind.scale) * (1 - 1e-9) - 1
        return -top, top
    return {"halffloat": (-65504.0, 65504.0), "float": (-3.4e38, 3.4e38)}.get(str(kind), (-1.7e308, 1.7e308))
