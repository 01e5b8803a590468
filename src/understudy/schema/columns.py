"""One column: its kind and what is public about it.

Everything here is a declaration by the data holder; nothing is looked up in the table. Bounds and categories are either
declared (public, free) or marked `estimate` (found privately by the wall and paid for), never both.

| kind | needs | learned as |
| --- | --- | --- |
| continuous, integer | lower < upper, or an estimate | one number |
| datetime | lower < upper as ISO dates, or an estimate | one number, seconds since 1970 UTC |
| ordinal | categories in order | one number, the position |
| categorical | categories, or an estimate | one outcome |
| boolean | nothing | one outcome |
| image | height, width (and channels, 1 or 3) | one number per pixel and channel, 0 to 255 |
| identifier | nothing | never learned; regenerated |
"""

import math
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema.cells import UNREADABLE, key, number, pattern
from understudy.schema.types import (
    EXACT_INTEGERS,
    FAMILIES,
    KINDS,
    NATURAL,
    Kind,
    Value,
    family,
    number_range,
    parse_type,
    value_type,
)

OTHER = "other"
NUMERIC = ("continuous", "integer", "datetime")  # kinds with bounds
LISTED = ("categorical", "ordinal")  # kinds with categories
MOST_PIXELS = 1 << 16  # numbers in one image
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Column:
    """What is public about one column. `estimate` names the group whose private estimate fills bounds or categories."""

    name: str
    kind: Kind
    lower: float | int | str | None = None
    upper: float | int | str | None = None
    categories: tuple[Value, ...] | None = None
    estimate: str | None = None
    missing: bool = False
    other: bool = False
    dtype: str | None = None
    height: int | None = None  # of an image, as are width and channels
    width: int | None = None
    channels: int | None = None
    format: str | None = None  # of dates in text, e.g. %d.%m.%Y
    decimals: int | None = None  # of numbers that come back
    codes: tuple[Value, ...] = ()  # beside numbers, each with a meaning of its own: N, 999999
    decimal: str = "."  # the decimal mark of numbers in text; stated once for the whole table

    def __post_init__(self) -> None:
        _check_kind(self)
        _check_writing(self)
        if self.kind == "image":
            _check_image(self)
        if self.categories is not None:
            object.__setattr__(self, "categories", _typed_categories(self))
        if self.other and family(self.arrow_type) != "string":
            raise self.problem("`other` is text, but the categories are not; add a category of their own type instead")
        if self.codes:
            _check_codes(self)
        if self.kind in NUMERIC and self.lower is not None:
            _check_bounds(self)

    def problem(self, what: str) -> UsageError:
        """An error that names this column; the name is quoted so that any letters and newlines stay on one line."""
        return UsageError(f"column {self.name!r}: {what}")

    @property
    def resolved(self) -> bool:
        """True when no estimate is left to be made."""
        return self.estimate is None

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type that comes back on output."""
        if self.dtype is not None:
            return parse_type(self.dtype)
        if self.format is not None and "%H" not in self.format:
            return pa.date32()
        if self.kind in LISTED:
            return pa.scalar(self.categories[0]).type if self.categories else pa.string()
        return pa.string() if self.has_words else NATURAL[self.kind]

    @property
    def has_words(self) -> bool:
        """Whether codes that are text stand beside numbers, so that the whole column is text."""
        return any(isinstance(code, str) for code in self.codes)

    @property
    def number_type(self) -> pa.DataType:
        """The Arrow type of a column's numbers: its own, unless words make it text."""
        return NATURAL[self.kind] if self.has_words else self.arrow_type

    @property
    def specials(self) -> tuple[Value | None, ...]:
        """What a cell beside numbers may be: None (missing), then the codes. Other kinds have none; they have outcomes."""
        ordered = self.kind in (*NUMERIC, "ordinal")
        return (*((None,) if self.missing else ()), *self.codes) if ordered else ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image."""
        return self.height or 0, self.width or 0, self.channels or 1

    @property
    def pixels(self) -> "tuple[Column, ...]":
        """The columns that an image is learned as: whole numbers row by row, channels last; none for other kinds."""
        if self.kind != "image":
            return ()
        return tuple(
            Column(name=f"{self.name}[{i}]", kind="integer", lower=0, upper=255, dtype="uint8")
            for i in range(math.prod(self.shape))
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper as numbers; datetimes in seconds since 1970 UTC, ordinals as positions."""
        if self.kind == "ordinal":
            return 0.0, float(max(len(self.categories or ()) - 1, 0))
        if self.lower is None or self.upper is None:
            raise self.problem("has no bounds yet; its estimate has not been made")
        if self.kind == "datetime":
            return seconds(self.lower, self), seconds(self.upper, self)
        return float(self.lower), float(self.upper)

    @property
    def key_family(self) -> str:
        """The family by which categories are compared."""
        return "boolean" if self.kind == "boolean" else family(self.arrow_type)

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """The keys of the declared values, in their order: one for each, as `cells.key` gives it."""
        values = (False, True) if self.kind == "boolean" else self.categories or ()
        own = self.key_family
        return tuple(key(value, own) or "" for value in values)

    @cached_property
    def places(self) -> dict[str, int]:
        """The first place of each key among the declared values."""
        return {one: place for place, one in reversed(list(enumerate(self.declared)))}

    @property
    def outcomes(self) -> tuple[Value | None, ...]:
        """All values a categorical or boolean column may take, `other` and None (missing) last."""
        if self.kind == "boolean":
            values: tuple[Value | None, ...] = _booleans(value_type(self.arrow_type))
        elif self.categories is None:
            raise self.problem("has no categories yet; its estimate has not been made")
        else:
            values = self.categories
            if self.other and OTHER not in values:
                values += (OTHER,)
        return (*values, None) if self.missing else values


def _check_writing(column: Column) -> None:
    """How dates and numbers are written."""
    if column.format is not None:
        if column.kind != "datetime":
            raise column.problem(f"`format` is for dates, not for kind {column.kind}")
        try:
            pattern(column.format)
        except ValueError:
            raise column.problem(
                f"format {column.format!r} must name %Y, %m and %d, and may name %H, %M and %S, each once; e.g. %d.%m.%Y"
            ) from None
    if column.decimals is not None:
        if column.kind != "continuous":
            raise column.problem(f"`decimals` is for kind continuous, not {column.kind}")
        if not 0 <= column.decimals <= 15:
            raise column.problem(f"decimals must lie between 0 and 15, not {column.decimals}")
    if column.decimal not in (".", ","):
        raise UsageError(f'decimal must be "." or ",", not {column.decimal!r}')


def _check_codes(column: Column) -> None:
    """Codes beside numbers: texts or numbers, each once."""
    if column.kind not in ("continuous", "integer"):
        raise column.problem(f"`codes` stand beside numbers, and the kind is {column.kind}; list them as categories")
    for code in column.codes:
        if isinstance(code, bool) or not isinstance(code, str | int | float) or code in ("", UNREADABLE):
            raise column.problem(f"a code must be text or a number, not {code!r}")
        if isinstance(code, str) and not math.isnan(number(code, column.decimal)):
            raise column.problem(f"the code {code!r} reads as a number; write it without quotes")
    if len(set(column.codes)) < len(column.codes):
        raise column.problem("codes must not repeat")
    low, high = number_range(column.number_type)
    for code in column.codes:
        fits = isinstance(code, str) or (low <= code <= high and math.isfinite(code))
        if not fits or (column.kind == "integer" and not isinstance(code, str) and code != int(code)):
            raise column.problem(f"the code {code!r} does not fit in {column.number_type}")


def text_column(name: str) -> Column:
    """A column of which nothing is known: its cells are read as the text they are."""
    return Column(name=name, kind="categorical", estimate=name, dtype="string")


def seconds(moment: float | int | str | None, column: Column) -> float:
    """Seconds since 1970 UTC of an ISO date or time; times without an offset count as UTC."""
    try:
        when = datetime.fromisoformat(str(moment))
    except ValueError:
        raise column.problem(
            f"{moment!r} is not an ISO date or time such as 2020-12-31, as bounds are in any table"
        ) from None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return (when - _EPOCH) / timedelta(seconds=1)


def moment(seconds_since_epoch: float, kind: pa.DataType, *, up: bool) -> str:
    """The ISO text nearest to a number of seconds: a date for date types, whole seconds otherwise."""
    first, last = moment_range(kind)
    inside = min(max(seconds_since_epoch, first), last)
    if pa.types.is_date(kind):
        days = math.ceil(inside / 86400) if up else math.floor(inside / 86400)
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    whole = math.ceil(inside) if up else math.floor(inside)
    return (_EPOCH + timedelta(seconds=whole)).replace(tzinfo=None).isoformat()


def moment_range(kind: pa.DataType) -> tuple[float, float]:
    """The first and last second a datetime type holds."""
    # Nanoseconds since 1970 fit in 64 bits only from 1677 to 2262; Python's calendar runs from year 1 to 9999.
    nanoseconds = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return (-9.2e9, 9.2e9) if nanoseconds else (-62135596800.0, 253402214400.0)


def _booleans(kind: pa.DataType) -> tuple[Value, Value]:
    return {"boolean": (False, True), "integer": (0, 1), "float": (0.0, 1.0)}[family(kind)]


def require_kind(name: str, kind: str) -> None:
    """Refuse a kind that does not exist, and free text with the reason."""
    if kind == "text":
        raise UsageError(
            f"column {name!r}: free text is refused, since it cannot be learned privately without copying phrases, and "
            "names hide in it; leave the column out, code it as categories, or use kind identifier"
        )
    if kind not in KINDS:
        raise UsageError(f"column {name!r}: unknown kind {kind!r}; use one of {', '.join(KINDS)}")


def _check_kind(column: Column) -> None:
    if not isinstance(column.name, str) or not column.name:
        raise UsageError(f"a column needs a name that is text, not {column.name!r}")
    require_kind(column.name, column.kind)
    found = family(column.arrow_type) if column.dtype else None
    if found is not None and found not in (("string",) if column.has_words else FAMILIES[column.kind]):
        hint = "; use kind integer" if column.kind == "continuous" and found == "integer" else ""
        if column.kind == "identifier" and found == "float":
            hint = ", since long ones run together as floats; use string or int64, and pass the file or text ids (dtype=str)"
        raise column.problem(f"dtype {column.dtype} does not suit kind {column.kind}{hint}")
    has_bounds = column.lower is not None or column.upper is not None
    if has_bounds and column.kind not in NUMERIC:
        raise column.problem(f"kind {column.kind} takes no lower or upper")
    if column.categories is not None and column.kind not in LISTED:
        raise column.problem(f"kind {column.kind} takes no categories; use categorical or ordinal")
    if column.estimate is not None:
        if column.kind not in (*NUMERIC, "categorical"):
            reason = "; its order must be declared" if column.kind == "ordinal" else ""
            raise column.problem(f"kind {column.kind} has nothing to estimate{reason}")
        if has_bounds or column.categories is not None:
            raise column.problem("give either an estimate or declared values, not both")
    elif column.kind in NUMERIC and (column.lower is None or column.upper is None):
        raise column.problem("needs lower and upper (public facts), or `bounds: estimate` (found privately)")
    elif column.kind in LISTED and column.categories is None:
        way_out = ", or `categories: estimate` (found privately)" if column.kind == "categorical" else " in order"
        raise column.problem(f"needs categories{way_out}")
    if column.kind != "image" and (column.height, column.width, column.channels) != (None, None, None):
        raise column.problem(f"kind {column.kind} takes no height, width or channels; those are of kind image")
    if column.other and column.kind != "categorical":
        raise column.problem("`other` is for kind categorical only")
    if column.missing and column.kind == "identifier":
        raise column.problem("an identifier is regenerated and never missing; leave `missing` out")


def _check_image(column: Column) -> None:
    for side, value in (("height", column.height), ("width", column.width)):
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_PIXELS:
            raise column.problem(f"an image needs {side}, a whole number of pixels, not {value!r}")
    if column.channels not in (None, 1, 3) or isinstance(column.channels, bool):
        raise column.problem(f"channels must be 1 (grey) or 3 (red, green, blue), not {column.channels!r}")
    if math.prod(column.shape) > MOST_PIXELS:
        raise column.problem(f"an image may have at most {MOST_PIXELS:,} numbers; make the pictures smaller")
    if column.missing:
        raise column.problem("an image is never missing; leave `missing` out")
    if column.dtype is not None:
        raise column.problem("images come back as lists of uint8; leave `dtype` out")


def _typed_categories(column: Column) -> tuple[Value, ...]:
    values = column.categories or ()
    if not values and not (column.kind == "categorical" and (column.other or column.missing)):
        raise column.problem("categories must not be empty")
    if any(v is None or (isinstance(v, float) and not math.isfinite(v)) for v in values):
        raise column.problem("a category cannot be null, NaN or infinite; write `missing: true` for missing values")
    if UNREADABLE in values:
        raise column.problem("that category stands for cells that cannot be read; choose another word")
    kinds = {type(v) for v in values}
    if kinds == {int, float}:
        values, kinds = tuple(float(v) for v in values), {float}
    if not kinds <= {str, int, float, bool} or len(kinds) > 1:
        raise column.problem("categories must be all text, all numbers or all true/false; put text in quotes")
    if column.dtype is not None and values:
        values = tuple(_retype(v, column) for v in values)
    if len(set(values)) < len(values):
        raise column.problem("categories must not repeat")
    return values


def _retype(value: Value, column: Column) -> Value:
    wanted = family(column.arrow_type)
    if wanted == "string" and isinstance(value, int | str) and not isinstance(value, bool):
        return str(value)
    if wanted == "boolean" and isinstance(value, bool):
        return value
    if wanted in ("integer", "float") and isinstance(value, int | float) and not isinstance(value, bool):
        low, high = number_range(value_type(column.arrow_type))
        if low <= value <= high and (wanted == "float" or value == int(value)):
            return float(value) if wanted == "float" else int(value)
    raise column.problem(f"the category {value!r} does not suit dtype {column.dtype}")


def _check_bounds(column: Column) -> None:
    kind = column.number_type
    if column.kind == "datetime":
        lower, upper = column.bounds
        low, high = moment_range(kind)
        if pa.types.is_date(kind) and (lower % 86400 or upper % 86400):
            raise column.problem(f"dtype {kind} holds dates; give lower and upper as dates without a time")
    else:
        for side, value in (("lower", column.lower), ("upper", column.upper)):
            if isinstance(value, bool | str) or not math.isfinite(value):  # type: ignore[arg-type]
                raise column.problem(f"{side} must be a finite number, not {value!r}")
        lower, upper = column.bounds
        low, high = number_range(kind)
        if column.kind == "integer":
            if lower != math.floor(lower) or upper != math.floor(upper):
                raise column.problem("lower and upper of an integer must be whole numbers")
            if max(abs(lower), abs(upper)) > EXACT_INTEGERS:
                raise column.problem("bounds beyond 2**53 cannot be learned; is it an identifier?")
    if lower == upper:
        raise column.problem(
            f"lower and upper are both {column.lower!r}; write a column of one value as {{kind: categorical, categories: "
            f"[{column.lower}]}}, or leave it out"
        )
    if not lower < upper:
        raise column.problem(f"lower must be below upper, not {column.lower!r} and {column.upper!r}")
    if upper - lower < sys.float_info.min:  # its inverse would be infinite, and encoded values no numbers
        raise column.problem("lower and upper lie too close together to be told apart")
    if lower < low or upper > high or not math.isfinite(upper - lower):
        raise column.problem(f"the bounds do not fit in {kind}; choose a wider dtype or narrower bounds")
