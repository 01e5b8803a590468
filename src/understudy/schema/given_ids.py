"""Identifiers of given rows: kept as they are written, in a type that holds all of them.

A schema that states no `dtype` makes identifiers whole numbers, since drawn ones are counted. Given ones are the caller's own:
`007` is another one than `7`, and `P-3` is no number. So where the table holds text, or one of them is written otherwise
than a whole number is, the column is text; decided before the first row is completed, because a file has one type.
"""

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import UsageError
from understudy.schema.codec import Codec
from understudy.schema.columns import Column
from understudy.schema.rows import Table
from understudy.schema.types import value_type

DIGITS = 18  # of whole numbers that 64 bits hold, whichever they are


def typed(columns: list[Column], table: Table, texts: Collection[str]) -> list[Column]:
    """The columns, with a type for identifiers whose type the schema leaves open. `texts`: columns that hold text by type."""
    open_ones = [one for one in columns if one.kind == "identifier" and one.dtype is None]
    text = {one.name for one in open_ones if one.name in texts}
    for rows in table.of_columns([one.name for one in open_ones]).blocks() if len(open_ones) > len(text) else ():
        text |= {one.name for one in open_ones if not _whole(rows.identities(one))}
    return [replace(one, dtype="string") if one.name in text else one for one in columns]


def _whole(ids: pa.Array) -> bool:
    """Whether every identifier is written as its number is."""
    return bool(pc.all(pc.match_substring_regex(ids, f"^(0|-?[1-9][0-9]{{0,{DIGITS - 1}}})$"), min_count=0).as_py())


def cast(ids: pa.Array, column: Column, first: int) -> pa.Array:
    """Identifiers in the column's type. UsageError that names a row where one does not fit."""
    kind = column.arrow_type
    try:
        return ids.cast(kind) if not pa.types.is_dictionary(kind) else ids.cast(kind.value_type).cast(kind)
    except pa.ArrowException:
        row = next(place for place in range(len(ids)) if not _fits(ids.slice(place, 1), value_type(kind)))
        raise UsageError(
            f"given: row {first + row + 1}, column {column.name!r}: the identifier is not of the type {kind} that the schema "
            "states; a model whose schema states no dtype there, or `dtype: string`, keeps any"
        ) from None


def _fits(one: pa.Array, kind: pa.DataType) -> bool:
    try:
        one.cast(kind)
    except pa.ArrowException:
        return False
    return True


def with_types(codec: Codec, found: pa.Schema) -> Codec:
    """The codec of completed rows, whose identifiers have these types: what their writer needs."""
    columns = [
        replace(one, dtype=str(found.field(one.name).type)) if one.kind == "identifier" and one.dtype is None else one
        for one in codec.schema.columns
    ]
    return Codec(replace(codec.schema, columns=tuple(columns)))
