"""The definition of `cells`, computed for a block of cells at once.

A block is an Arrow array, a list of Python objects (a pandas column of objects), or `Coded`: codes into a few values. Each
function gives what its namesake in `cells` gives cell by cell, bit for bit (property tests). Work is shared only between
cells that are equal in type and bytes, so a short cut can never merge two spellings.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema import cells as one
from understudy.schema.types import family as family_of

_PLAIN = r"^-?(?:[0-9]{1,17}(?:\.[0-9]{0,17})?|\.[0-9]{1,17})(?:[eE][-+]?[0-9]{1,2})?$"  # read alike by Arrow
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MONTH_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


class Coded(NamedTuple):
    """Cells that repeat: `values[code]`, or missing where the code is -1."""

    codes: np.ndarray
    values: Any

    def used(self) -> "Coded":
        """The same without values that no cell has, where there are more values than cells."""
        if len(self.values) <= len(self.codes):
            return self
        found, places = np.unique(self.codes, return_inverse=True)
        first = int(found.size > 0 and found[0] < 0)
        kept = found[first:]
        values = [self.values[i] for i in kept] if isinstance(self.values, list) else self.values.take(pa.array(kept))
        return Coded(places.astype(np.int64) - first, values)


Cells: TypeAlias = pa.Array | list[Any] | Coded


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def plain(cells: Cells) -> Cells:
    """Cells in the form the functions below expect: dictionaries as `Coded`, text that is valid Unicode as Arrow."""
    if isinstance(cells, list):
        return _objects_as_text(cells)
    if isinstance(cells, Coded):
        return Coded(cells.codes, plain(cells.values)).used()
    if pa.types.is_dictionary(cells.type):
        return plain(Coded(_codes(cells.indices), cells.dictionary))
    return _valid_text(cells) if is_text(cells.type) else cells


def _codes(indices: pa.Array) -> np.ndarray:
    """-1 where there is none."""
    if not indices.null_count:
        return np.asarray(indices.to_numpy())
    return np.asarray(pc.fill_null(indices.cast(pa.int64()), -1).to_numpy())


def _spread(values: np.ndarray, missing: float | int, codes: np.ndarray) -> np.ndarray:
    """What was found for the different values, cell by cell."""
    return np.append(values, values.dtype.type(missing)).take(codes)


def _objects_as_text(cells: list[Any]) -> Cells:
    kinds = set(map(type, cells))
    if kinds <= {str, type(None), float} and str in kinds:
        if float in kinds:
            cells = [None if type(cell) is float and cell != cell else cell for cell in cells]
        if float not in set(map(type, cells)):
            try:
                return pa.array(cells, pa.large_string())
            except (pa.ArrowException, UnicodeError):  # lone surrogates
                return cells
    return cells


def _valid_text(text: pa.Array) -> pa.Array:
    """Text without the cells that are not UTF-8: those are missing."""
    if pa.types.is_string_view(text.type):
        text = text.cast(pa.large_string())
    try:
        text.validate(full=True)
        return text
    except pa.ArrowInvalid:
        binary = pa.large_binary() if pa.types.is_large_string(text.type) else pa.binary()
        return pa.array([_decoded(cell) for cell in text.cast(binary).to_pylist()], text.type)


def _decoded(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def objects(array: pa.Array) -> list[Any]:
    """The cells of an Arrow array as Python and NumPy objects, each of its own type."""
    kind = array.type
    if pa.types.is_floating(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        values = list(_numpy(array))
        return [v if known else None for v, known in zip(values, array.is_valid().to_pylist(), strict=True)]
    try:
        return list(array.to_pylist())
    except Exception:  # a length of time that Python cannot hold
        return [_object(cell) for cell in array]


def _object(cell: pa.Scalar) -> Any:
    try:
        return cell.as_py()
    except Exception:
        return ...  # of no known type: unreadable


def _numpy(array: pa.Array) -> np.ndarray:
    """The values of a fixed-width array, whatever stands where it is null."""
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif pa.types.is_date32(kind):
        return np.asarray(array.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64).view("datetime64[D]"))
    elif pa.types.is_date64(kind):
        return np.asarray(array.cast(pa.int64()).fill_null(0).to_numpy().view("datetime64[ms]"))
    elif pa.types.is_timestamp(kind):
        return np.asarray(array.cast(pa.int64()).fill_null(0).to_numpy().view(f"datetime64[{kind.unit}]"))
    return np.asarray(array.to_numpy(zero_copy_only=False) if not array.null_count else array.fill_null(0).to_numpy())


# -- nulls -------------------------------------------------------------------------------------------------------------
def nulls(cells: Cells) -> np.ndarray:
    """Where a cell holds no value at all."""
    cells = plain(cells)
    if isinstance(cells, list):
        return np.fromiter(map(one.missing, cells), bool, len(cells))
    if isinstance(cells, Coded):
        return _spread(nulls(cells.values), True, cells.codes)
    return np.asarray(cells.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))


# -- numbers -----------------------------------------------------------------------------------------------------------
def numbers(cells: Cells, decimal: str = ".") -> np.ndarray:
    """`cells.number` of every cell, float64."""
    cells = plain(cells)
    if isinstance(cells, list):
        return np.fromiter((one.number(cell, decimal) for cell in cells), np.float64, len(cells))
    if isinstance(cells, Coded):
        return _spread(numbers(cells.values, decimal), np.nan, cells.codes)
    kind = cells.type
    if is_text(kind):
        return _text_numbers(cells if decimal == "." else _pointed(cells))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return _with_gaps(_numpy(cells).astype(np.float64), cells)
    if pa.types.is_decimal128(kind) and kind.precision <= 15 and 0 <= kind.scale <= 22:
        # Both the digits and the power of ten are exact in float64, so one division rounds as float(Decimal) does.
        low = np.frombuffer(cells.buffers()[1], np.int64)[2 * cells.offset :: 2][: len(cells)]
        return _with_gaps(low / 10.0**kind.scale, cells)
    if pa.types.is_decimal(kind):
        return np.fromiter(map(one.number, objects(cells)), np.float64, len(cells))
    return np.full(len(cells), np.nan)


def _with_gaps(values: np.ndarray, cells: pa.Array) -> np.ndarray:
    if cells.null_count:
        values = np.where(cells.is_null().to_numpy(zero_copy_only=False), np.nan, values)
    return values


def _pointed(text: pa.Array) -> pa.Array:
    """Decimal commas as points; what holds a point already is no number."""
    odd = pc.match_substring(text, ".")
    return pc.if_else(odd, pa.scalar(None, text.type), pc.replace_substring(text, ",", "."))


def _text_numbers(text: pa.Array) -> np.ndarray:
    text = pc.ascii_trim_whitespace(text)
    fits = pc.match_substring_regex(text, _PLAIN)
    if pc.all(fits, skip_nulls=True).as_py() is not False:
        return np.asarray(text.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64))
    none = pa.scalar(None, text.type)
    found = pc.if_else(fits, text, none).cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return _one_by_one(found, text, pc.fill_null(pc.invert(fits), False), one.number)


def _one_by_one(found: np.ndarray, text: pa.Array, where: pa.Array, definition: Callable[[str], float]) -> np.ndarray:
    places = np.flatnonzero(where.to_numpy(zero_copy_only=False))
    if places.size:
        found[places] = [definition(cell) for cell in text.take(pa.array(places)).to_pylist()]
    return found


# -- dates and times ---------------------------------------------------------------------------------------------------
def moments(cells: Cells, form: str | None = None) -> np.ndarray:
    """`cells.moment` of every cell: float64 seconds since 1970 UTC."""
    cells = plain(cells)
    if isinstance(cells, list):
        return np.fromiter((one.moment(cell, form) for cell in cells), np.float64, len(cells))
    if isinstance(cells, Coded):
        return _spread(moments(cells.values, form), np.nan, cells.codes)
    if is_text(cells.type):
        return _text_moments(cells) if form is None else _formed(cells, form)
    if family_of(cells.type) != "datetime":
        return np.full(len(cells), np.nan)
    ticks = _numpy(cells)
    unit = np.datetime_data(ticks.dtype)[0]
    if unit == "D":
        whole, part = ticks.view(np.int64) * 86_400, np.zeros(len(ticks))
    else:
        whole, rest = np.divmod(ticks.view(np.int64), _PER_SECOND[unit])
        part = rest / _PER_SECOND[unit]
    inside = (whole >= one.FIRST_SECOND) & (whole < one.END_SECOND)
    return _with_gaps(np.where(inside, whole + part, np.nan), cells)


def _text_moments(text: pa.Array) -> np.ndarray:
    """`2020-12-31` and `2020-12-31T10:30:00` by their digits' places; whatever is longer or odd one by one."""
    text = pc.ascii_trim_whitespace(text)
    length = pc.fill_null(pc.binary_length(text), 0).to_numpy(zero_copy_only=False)
    found = np.full(len(text), np.nan)
    odd = length > 0
    for size in (10, 19):
        places = np.flatnonzero(length == size)
        if places.size:
            seconds, good = _digits(_bytes(text, places, size))
            found[places[good]] = seconds[good]
            odd[places[good]] = False
    return _one_by_one(found, text, pa.array(odd), one.moment)


def _formed(text: pa.Array, form: str) -> np.ndarray:
    """The definition once for each different text: dates repeat."""
    coded = text.dictionary_encode()
    found = [one.moment(cell, form) for cell in coded.dictionary.to_pylist()]
    return _spread(np.asarray(found, np.float64), np.nan, _codes(coded.indices))


def _bytes(text: pa.Array, places: np.ndarray, size: int) -> np.ndarray:
    offset = np.int64 if pa.types.is_large_string(text.type) else np.int32
    starts = np.frombuffer(text.buffers()[1], offset)[text.offset :][places]
    data = np.frombuffer(text.buffers()[2], np.uint8)
    return np.asarray(data[starts[:, None].astype(np.int64) + np.arange(size)])


def _digits(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Seconds since 1970, and which rows are a date (or a date and time to the second) in the calendar."""
    digit = rows.astype(np.int64) - ord("0")
    size = rows.shape[1]
    marks = {4: b"-", 7: b"-", 10: b"T ", 13: b":", 16: b":"}
    good = np.ones(len(rows), bool)
    for place in range(size):
        if place in marks:
            good &= np.isin(rows[:, place], np.frombuffer(marks[place], np.uint8))
        else:
            good &= (digit[:, place] >= 0) & (digit[:, place] <= 9)

    def two(place: int) -> np.ndarray:
        return np.asarray(10 * digit[:, place] + digit[:, place + 1])

    year, month, day = 100 * two(0) + two(2), two(5), two(8)
    good &= (year >= 1) & (month >= 1) & (month <= 12)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    month = np.where(good, month, 1)
    good &= (day >= 1) & (day <= _MONTH_DAYS[month] + (leap & (month == 2)))
    year = np.where(good, year, 1970)
    months = ((year - 1970) * 12 + month - 1).view("datetime64[M]")
    seconds = (months.astype("datetime64[D]").view(np.int64) + day - 1) * 86_400
    if size == 19:
        good &= (two(11) < 24) & (two(14) < 60) & (two(17) < 60)
        seconds = seconds + two(11) * 3_600 + two(14) * 60 + two(17)
    return seconds.astype(np.float64), good


# -- categories and persons --------------------------------------------------------------------------------------------
def keys(cells: Cells, family: str) -> pa.Array:
    """`cells.key` of every cell: text, or a dictionary of texts, with nulls where a cell is missing."""
    cells = plain(cells)
    if isinstance(cells, list):
        return pa.array([one.key(cell, family) for cell in cells], pa.large_string())
    if isinstance(cells, Coded):
        return _dictionary(cells.codes, keys(cells.values, family))
    if is_text(cells.type) and family == "string":
        return cells
    return _by_value(cells, lambda cell: one.key(cell, family))


def identities(cells: Cells) -> pa.Array:
    """`cells.identity` of every cell: text with nulls."""
    cells = plain(cells)
    if isinstance(cells, list):
        return pa.array([one.identity(cell) for cell in cells], pa.large_string())
    if isinstance(cells, Coded):
        return _dictionary(cells.codes, identities(cells.values)).cast(pa.large_string())
    if is_text(cells.type):
        trimmed = pc.ascii_trim_whitespace(cells)
        return pc.if_else(pc.equal(pc.binary_length(trimmed), 0), pa.scalar(None, trimmed.type), trimmed).cast(
            pa.large_string()
        )
    if pa.types.is_integer(cells.type):
        return cells.cast(pa.large_string())
    return _by_value(cells, one.identity).cast(pa.large_string())


def _by_value(cells: pa.Array, definition: Callable[[Any], str | None]) -> pa.Array:
    """The definition once for each different value, where Arrow can tell values apart."""
    short = pa.types.is_decimal32(cells.type) or pa.types.is_decimal64(cells.type)
    if short or family_of(cells.type) in ("other", "pixels", "nothing"):
        return pa.array([definition(cell) for cell in objects(cells)], pa.large_string())
    coded = cells.dictionary_encode()
    codes = _codes(coded.indices)
    return _dictionary(codes, pa.array([definition(cell) for cell in objects(coded.dictionary)], pa.large_string()))


def _dictionary(codes: np.ndarray, texts: pa.Array) -> pa.DictionaryArray:
    if pa.types.is_dictionary(texts.type):
        texts = texts.cast(texts.type.value_type)
    codes = codes.astype(np.int32)
    null = np.append(texts.is_null().to_numpy(zero_copy_only=False), True)[codes]
    if texts.null_count:
        texts = pc.fill_null(texts, one.UNREADABLE)  # no cell points there any more
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=null), texts)


def positions(cells: Cells, family: str, wanted: list[str], missing: int, unknown: int) -> np.ndarray:
    """`places` of the keys of every cell; of repeated cells only the different ones are looked up."""
    cells = plain(cells)
    if isinstance(cells, pa.Array) and pa.types.is_boolean(cells.type):
        found = places(keys(pa.array([False, True]), family), wanted, missing, unknown)
        return _spread(found, missing, _codes(cells.cast(pa.uint8())))
    if isinstance(cells, Coded):
        return _spread(positions(cells.values, family, wanted, missing, unknown), missing, cells.codes)
    return places(keys(cells, family), wanted, missing, unknown)


def places(texts: pa.Array, wanted: list[str], missing: int, unknown: int) -> np.ndarray:
    """int32 index of each text in `wanted`; `missing` for nulls, `unknown` for all others."""
    values = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    index = pc.index_in(values, value_set=pa.array(wanted, values.type))
    found = pc.fill_null(index, unknown).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    if values is not texts:
        return _spread(found, missing, _codes(texts.indices))
    if texts.null_count:
        found = np.where(texts.is_null().to_numpy(zero_copy_only=False), np.int32(missing), found)
    return np.asarray(found)


# -- pictures ----------------------------------------------------------------------------------------------------------
def pixels(cells: Cells, size: int) -> tuple[np.ndarray, np.ndarray]:
    """`cells.image` of every cell, float32 [n, size], 127.5 where there is none; and where there is one."""
    cells = plain(cells)
    values = np.full((len(cells.codes) if isinstance(cells, Coded) else len(cells), size), 127.5, np.float32)
    known = np.zeros(len(values), bool)
    if isinstance(cells, pa.Array) and family_of(cells.type) == "pixels":
        known = pc.fill_null(pc.equal(pc.list_value_length(cells), size), False).to_numpy(zero_copy_only=False)
        numbers = cells.filter(pa.array(known)).flatten()
        gaps = numbers.is_null().to_numpy(zero_copy_only=False).reshape(-1, size).any(axis=1)
        found = np.clip(_numpy(numbers).reshape(-1, size).astype(np.float32), 0.0, 255.0)
        known = known.copy()
        known[np.flatnonzero(known)[gaps]] = False
        values[known] = found[~gaps]
        return values, known
    if isinstance(cells, pa.Array):
        cells = objects(cells)
    if isinstance(cells, list):
        for row, cell in enumerate(cells):
            flat = one.image(cell, size)
            if flat is not None:
                values[row], known[row] = flat, True
    return values, known
