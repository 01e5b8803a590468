"""Rows to float32 arrays and back: a pure function of the schema.

Every learned column becomes one or two blocks of an array in [0, 1]:

| column | value block | missing |
| --- | --- | --- |
| continuous, integer, datetime | numeric, (x - lower) / (upper - lower) | own binary block, value 0.5; one more for each code |
| ordinal, k categories | numeric, position / (k - 1) | own binary block, value 0.5 |
| boolean, categorical with 2 outcomes | binary, 1 for the second outcome | (an outcome, see next) |
| categorical with k outcomes | onehot of size k | one more outcome, the last |
| image | numeric, one per pixel and channel, x / 255 | (never missing) |

The class label is kept apart as an index (`classes`); identifiers are not encoded and are counted up again on output.

Guarantees: encoding never raises on contents and never returns NaN; values beyond the bounds are clamped; a null that
the schema does not allow becomes the midpoint, `other`, or the first category; decoding accepts any float32 array and
always returns rows that fit the schema. encode then decode returns the same value within half a cell (`cell`).
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.schema.columns import Column
from understudy.schema.decode import Numbers, decoder, identifiers, largest_flag, numpy_type, pick, step_of
from understudy.schema.drawn import Drawn
from understudy.schema.images import from_unit
from understudy.schema.reading import Rows, open_table
from understudy.schema.schema import CLASS_KINDS, Schema
from understudy.schema.types import Value

_CHUNK_BYTES = 1 << 21  # rows are transposed in pieces that stay in the processor's cache
_PIECE = 1 << 14  # numbers decoded at a time, for the same reason
_LINE = 16  # float32 numbers in one cache line


Part = Literal["value", "missing"]
Head = Literal["numeric", "binary", "onehot"]


class Block(NamedTuple):
    """Where one part of one column lives in the array."""

    column: str
    part: Part
    head: Head
    start: int
    size: int


class Encoded(NamedTuple):
    """rows: float32 [n, width] in [0, 1]; classes: int32 [n], index into `codec.class_values`."""

    rows: np.ndarray
    classes: np.ndarray


def cell(column: Column) -> float:
    """The width of one cell: values closer than this may come back as each other (in units of `column.bounds`)."""
    lower, upper = column.bounds
    grain = (upper - lower) * 2.0**-22  # float32 positions in [0, 1], and the arithmetic on them
    if column.kind == "integer" or column.kind == "ordinal":
        return max(1.0, 2 * grain)
    if column.kind == "datetime":
        return max(step_of(column), 2 * grain)
    if pa.types.is_decimal(column.number_type):
        return float(max(10.0**-column.number_type.scale, 2 * grain))
    ends = max(abs(lower), abs(upper))
    return grain + ends * {"halffloat": 2.0**-9, "float": 2.0**-22}.get(str(column.number_type), 2.0**-51)


class Codec:
    """Encodes and decodes the rows of a resolved schema."""

    def __init__(self, schema: Schema) -> None:
        for column in schema.columns:
            if not column.resolved:
                raise column.problem("still has an estimate to be made, so rows cannot be encoded yet")
        self.schema = schema
        blocks: list[Block] = []
        width = 0
        for column in schema.features:
            for part, head, size in _parts(column):
                blocks.append(Block(column.name, part, head, width, size))
                width += size
        self.blocks: tuple[Block, ...] = tuple(blocks)
        self.width: int = width
        self._label: Column | None = schema.column(schema.label) if schema.label is not None else None
        if self._label is not None and self._label.kind not in CLASS_KINDS:
            self._label = None
        self.class_values: tuple[Value | None, ...] = (None,) if self._label is None else self._label.outcomes
        self.class_count: int = len(self.class_values)
        self.arrow_schema: pa.Schema = pa.schema([(c.name, c.arrow_type) for c in schema.columns])
        self._starts = {(b.column, b.part): b.start for b in reversed(blocks)}  # of several flags the first
        names = set(schema.names)
        self._plain = tuple(c for c in schema.features if c.name in names)
        self._images = tuple(c for c in schema.columns if c.kind == "image")
        # Column and part of every place; pixels are read with their image.
        plain = {c.name: c for c in self._plain}
        firsts = {b.column: b.start for b in reversed(blocks)}
        self._owners = [
            (plain.get(b.column), b.start - firsts[b.column] if b.part == "missing" else 0)
            for b in blocks
            for _ in range(b.size)
        ]
        images = {pixel.name: c.name for c in self._images for pixel in c.pixels}
        self._place_columns = [images.get(b.column, b.column) for b in blocks for _ in range(b.size)]
        alike: dict[tuple[str, np.dtype], list[Column]] = {}
        for column in self._plain:
            if column.kind in ("continuous", "integer"):
                alike.setdefault((column.kind, numpy_type(column)), []).append(column)
        self._alike = list(alike.values())

    def encode(self, source: Any) -> Encoded:
        """All rows of a frame or file at once; columns the schema does not name are ignored."""
        frame = isinstance(source, pd.DataFrame)
        table = open_table(source, self.schema, block=max(len(source), 1)) if frame else open_table(source, self.schema)
        found = [self.encode_rows(rows) for rows in table.blocks()]
        if len(found) == 1:
            return found[0]
        empty = Encoded(np.zeros((0, self.width), np.float32), np.zeros(0, np.int32))
        return Encoded(*(np.concatenate(parts) for parts in zip(empty, *found, strict=True)))

    def columns_of(self, places: Collection[int]) -> frozenset[str]:
        """The columns that hold these places, and the label."""
        names = {self._place_columns[place] for place in places}
        return frozenset(names if self._label is None else names | {self._label.name})

    def _only(self, columns: Iterable[Column], names: Collection[str] | None) -> list[Column]:
        return [column for column in columns if names is None or column.name in names]

    def encode_rows(self, block: Rows, only: Collection[str] | None = None) -> Encoded:
        """A block of rows, each by itself. With `only` the places of other columns stay 0."""
        count = block.count
        rows = np.zeros((count, self.width), np.float32)
        # Columns that take one place each are gathered until they fill a cache line, then copied across together.
        pending: list[np.ndarray] = []
        first = 0

        def flush() -> None:
            if pending:
                rows[:, first : first + len(pending)] = np.stack(pending).T
                pending.clear()

        with np.errstate(all="ignore"):
            for column in self._only(self._images, only):
                rows[:, self._places(column)] = block.pixels(column)[0] / np.float32(255.0)
            for column in self._only(self._plain, only):
                start = self._starts[column.name, "value"]
                parts = _encode(block, column)
                if parts is None:
                    flush()
                    rows[np.arange(count), start + block.outcomes(column)] = 1.0
                    continue
                if pending and start != first + len(pending):
                    flush()  # another column lies between
                if not pending:
                    first = start
                pending.extend(parts)
                if len(pending) >= _LINE:
                    flush()
            flush()
            return Encoded(rows, self.encode_classes(block))

    def encode_places(self, block: Rows, place: int) -> dict[int, np.ndarray]:
        """One place of every row, as `encode_rows` has it, and others of its column that are found with it."""
        column, offset = self._owners[place]
        if column is not None and (parts := _encode(block, column)) is not None:
            return dict(enumerate(parts, place - offset))
        return {place: np.ascontiguousarray(self.encode_rows(block, self.columns_of([place])).rows[:, place])}

    def encode_outcome(self, block: Rows, start: int) -> np.ndarray:
        """Which place of the one-hot block at `start` is 1, row by row."""
        column, _ = self._owners[start]
        assert column is not None
        return block.outcomes(column)

    def _places(self, image: Column) -> slice:
        start = self._starts[image.pixels[0].name, "value"]
        return slice(start, start + math.prod(image.shape))

    def encode_classes(self, block: Rows) -> np.ndarray:
        """Class index of each row's label; what is unknown becomes `other` or the first class."""
        if self._label is None:
            return np.zeros(block.count, np.int32)
        if self._label.kind == "ordinal":
            return np.asarray(np.maximum(block.positions(self._label), 0))
        return block.outcomes(self._label)

    def decode_arrow(self, rows: np.ndarray, classes: np.ndarray, *, first_row: int = 0) -> pa.Table:
        """Rows as an Arrow table with the schema's exact types; identifiers count on from `first_row`."""
        rows = np.asarray(rows, np.float32)
        count = len(rows)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise ValueError(f"rows must have the shape [n, {self.width}], not {list(rows.shape)}")
        singles = {c.name: decoder(c, count) for c in self._plain if c.kind not in ("continuous", "integer")}
        groups = [Numbers(columns, [self._starts[c.name, "value"] for c in columns], count) for columns in self._alike]
        flagged = {c.name: len(c.specials) for c in self._plain if c.specials}
        specials = {name: np.empty(count, np.int32) for name in flagged}
        step = max(512, _CHUNK_BYTES // (4 * max(self.width, 1)))
        with np.errstate(all="ignore"):
            for begin in range(0, count, step):
                piece = np.ascontiguousarray(rows[begin : begin + step].T)
                here = slice(begin, begin + piece.shape[1])
                for group in groups:
                    group.read(piece, here)
                for name, single in singles.items():
                    single.out[here] = single.convert(piece[self._starts[name, "value"] :])
                for name, flags in flagged.items():
                    start = self._starts[name, "missing"]
                    specials[name][here] = largest_flag(piece[start : start + flags])
        nulls = {name: special >= 0 for name, special in specials.items()}
        found = {name: single.build(single.out, nulls.get(name)) for name, single in singles.items()}
        found |= {image.name: from_unit(rows[:, self._places(image)]) for image in self._images}
        for group in groups:
            found |= group.arrays(specials)
        return self._table(found, classes, first_row)

    def decode_columns(self, drawn: Sequence[Drawn], classes: np.ndarray, *, first_row: int = 0) -> pa.Table:
        """The same from columns that were drawn one by one."""
        count, found = len(classes), dict[str, pa.Array]()
        columns = dict(zip(dict.fromkeys(block.column for block in self.blocks), drawn, strict=True))
        with np.errstate(all="ignore"):
            for column in self._plain:
                code, place = columns[column.name]
                if place is None:
                    assert code is not None
                    found[column.name] = pick(column.outcomes, code, column.arrow_type)
                elif column.kind in ("continuous", "integer"):
                    numbers = Numbers([column], [0], count)
                    for begin in range(0, count, _PIECE):
                        numbers.read(place[None, begin : begin + _PIECE], slice(begin, begin + _PIECE))
                    found |= numbers.arrays({} if code is None else {column.name: code})
                else:
                    single = decoder(column, count)
                    single.out[:] = single.convert(place[None])
                    found[column.name] = single.build(single.out, None if code is None else code >= 0)
        for image in self._images:
            pixels = [place for pixel in image.pixels if (place := columns[pixel.name].place) is not None]
            found[image.name] = from_unit(np.stack(pixels, axis=1))
        return self._table(found, classes, first_row)

    def _table(self, found: Mapping[str, pa.Array], classes: np.ndarray, first_row: int) -> pa.Table:
        """Decoded columns in the schema's order, with the label and identifiers."""
        count = len(classes)
        arrays = []
        for column in self.schema.columns:
            if column.kind == "identifier":
                arrays.append(identifiers(column, first_row, count))
            elif self._label is not None and column.name == self._label.name:
                index = np.clip(np.asarray(classes, np.int32), 0, self.class_count - 1)
                arrays.append(pick(self.class_values, index, column.arrow_type))
            else:
                arrays.append(found[column.name])
        return pa.Table.from_arrays(arrays, schema=self.arrow_schema)

    def decode(self, rows: np.ndarray, classes: np.ndarray, *, first_row: int = 0) -> pd.DataFrame:
        """Rows as a pandas frame: original names, order and types; see `to_pandas` for columns with nulls."""
        return to_pandas(self.decode_arrow(rows, classes, first_row=first_row), self.schema)

    def to_arrow(self, frame: pd.DataFrame | pa.Table) -> pa.Table:
        """A decoded frame as an Arrow table with the schema's exact types."""
        if isinstance(frame, pa.Table):
            return frame if frame.schema.equals(self.arrow_schema) else frame.cast(self.arrow_schema)
        return pa.Table.from_pandas(frame, schema=self.arrow_schema, preserve_index=False).replace_schema_metadata(None)


def codec_of(schema: Schema, conditional: bool) -> Codec:
    """With `conditional` a class label is a condition, not a column; otherwise it is encoded like any other column."""
    return Codec(schema if conditional else replace(schema, label=None, positive=None))


def to_pandas(table: pa.Table, schema: Schema) -> pd.DataFrame:
    """Arrow to pandas with the same dtypes for every batch: integers and booleans that may be missing become pandas'
    nullable types (Int64, boolean), whether or not this batch holds a null."""
    nullable = {
        **{getattr(pa, n.lower())(): getattr(pd, f"{n}Dtype")() for n in ("Int8", "Int16", "Int32", "Int64")},
        **{getattr(pa, n.lower())(): getattr(pd, f"{n}Dtype")() for n in ("UInt8", "UInt16", "UInt32", "UInt64")},
        pa.bool_(): pd.BooleanDtype(),
    }
    may_miss = [c.name for c in schema.columns if c.missing and c.arrow_type in nullable]
    if not may_miss:
        return table.to_pandas(date_as_object=False)
    plain = table.drop_columns(may_miss).to_pandas(date_as_object=False)
    gaps = table.select(may_miss).to_pandas(types_mapper=nullable.get)
    return pd.concat([plain, gaps], axis=1)[table.column_names]


def _parts(column: Column) -> list[tuple[Part, Head, int]]:
    if column.kind in ("categorical", "boolean"):
        size = len(column.outcomes)
        return [("value", "binary", 1)] if size == 2 else [("value", "onehot", size)]
    value: tuple[Part, Head, int] = ("value", "numeric", 1)
    flag: tuple[Part, Head, int] = ("missing", "binary", 1)
    return [value, *(flag for _ in column.specials)]


def _encode(block: Rows, column: Column) -> list[np.ndarray] | None:
    """The single places of a column, or None for a one-hot block."""
    if column.kind in ("categorical", "boolean"):
        return [block.outcomes(column).astype(np.float32)] if len(column.outcomes) == 2 else None
    lower, upper = column.bounds
    if column.kind == "ordinal":
        codes = block.positions(column)
        null = codes < 0
        scaled = (codes / max(upper, 1.0)).astype(np.float32)
    else:
        values = block.numbers(column)
        null = np.isnan(values)
        inside = np.clip(values, lower, upper)
        inside -= lower
        inside *= 1.0 / (upper - lower)
        scaled = inside.astype(np.float32)
        np.clip(scaled, 0.0, 1.0, out=scaled)
    np.copyto(scaled, 0.5, where=null)
    if not column.codes:
        return [scaled, null.astype(np.float32)] if column.missing else [scaled]
    special = block.specials(column)
    return [scaled, *((special == place).astype(np.float32) for place in range(len(column.specials)))]
