"""What one cell means: the definition of reading, one cell at a time.

    value = f(cell, what the schema says of its column)

and of nothing else: not of other rows, their order, or how a file was cut into blocks. So one person's odd cell cannot
change how anybody else's is read. `vectors` computes the same for whole blocks; tests show the two equal, bit for bit.

| function | for | missing or unreadable |
| --- | --- | --- |
| `number` | continuous, integer | NaN |
| `moment` | datetime: seconds since 1970 UTC | NaN |
| `key` | categorical, ordinal, boolean: one canonical text for each value | None if missing, UNREADABLE otherwise |
| `identity` | identifier: the canonical text of a person | None |
| `image` | image: a flat array of numbers | None |

Any object may sit in a cell. Known types are read, all others are unreadable; nothing here raises, warns or prints.
"""

import functools
import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd

UNREADABLE = "\x00unreadable"  # the key of a cell that holds something, but no value of its column; never a category
WHITE = " \t\n\r\x0b\x0c"  # what may surround a number, a date, a truth value or an identifier
FIRST_SECOND, END_SECOND = -62_135_596_800, 253_402_300_800  # years 1 to 9999

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?)?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1"), "true") | dict.fromkeys(("false", "f", "no", "n", "0"), "false")
_WHOLES = int | np.unsignedinteger | np.int8 | np.int16 | np.int32 | np.int64 | np.intc | np.longlong  # no timedelta64
_EXACT = 10**30  # whole numbers below this are written out; Python refuses to write some thousands of digits
_EPOCH = datetime(1970, 1, 1)
_CODES = {"%Y": r"(?P<Y>[0-9]{4})"} | {f"%{code}": f"(?P<{code}>[0-9]{{1,2}})" for code in "mdHMS"}
_UNITS = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
_PARTS = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}


def missing(cell: object) -> bool:
    """Whether a cell holds no value at all: None, NA, NaT, NaN. An empty text is a text; CSV marks it before."""
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return True
    if isinstance(cell, float | np.floating):
        return bool(cell != cell)
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return isinstance(cell, Decimal) and cell.is_nan()


# -- numbers -----------------------------------------------------------------------------------------------------------
def number(cell: object, decimal: str = ".") -> float:
    """A number, infinities kept; text in plain decimal or scientific notation, so `0x10` and `1_0` are none.

    Where the schema says that text has a decimal comma, a point is no part of a number: `1.234,5` cannot be read.
    """
    if isinstance(cell, str):
        text = cell.strip(WHITE)
        if decimal == ",":
            text = "" if "." in text else text.replace(",", ".")
        return float(text) if _NUMBER.fullmatch(text) else math.nan
    if isinstance(cell, _WHOLES | np.bool_ | Decimal | Fraction):
        try:
            return float(cell)
        except OverflowError:
            return math.copysign(math.inf, 1 if cell > 0 else -1)
        except ValueError:  # a signalling NaN
            return math.nan
    return float(cell) if isinstance(cell, float | np.floating) else math.nan


# -- dates and times ---------------------------------------------------------------------------------------------------
def moment(cell: object, form: str | None = None) -> float:
    """Seconds since 1970 UTC within the years 1 to 9999; without an offset a time counts as UTC. No bare numbers.

    A text that has the schema's own form (`%d.%m.%Y`) is read by it, any other as an ISO date.
    """
    if form is not None and isinstance(cell, str):
        match = pattern(form).fullmatch(cell.strip(WHITE))
        if match is not None:
            return _formed(match.groupdict())
    found = instant(cell)
    return math.nan if found is None else found[0] + found[1] / 1e9


@functools.cache
def pattern(form: str) -> re.Pattern[str]:
    """The texts of a date's form. ValueError for what is no form: only %Y %m %d %H %M %S, the first three once each."""
    parts = re.split(r"(%.)", form)
    codes = [part for part in parts if part.startswith("%")]
    if not set(codes) <= set(_CODES) or len(set(codes)) < len(codes) or not {"%Y", "%m", "%d"} <= set(codes):
        raise ValueError("no form of a date")
    return re.compile("".join(_CODES.get(part) or re.escape(part) for part in parts))


def _formed(parts: dict[str, str]) -> float:
    numbers = {name: int(text) for name, text in parts.items()}
    try:
        gap = datetime(*(numbers.get(name, 0) for name in ("Y", "m", "d", "H", "M", "S"))) - _EPOCH  # type: ignore[arg-type]
    except ValueError:  # 31 February
        return math.nan
    return float(gap.days * 86_400 + gap.seconds)


def instant(cell: object) -> tuple[int, int] | None:
    """Whole seconds since 1970 UTC and nanoseconds; None for what is no date or time."""
    try:
        if isinstance(cell, str):
            found = _parsed(cell.strip(WHITE))
        elif cell is pd.NaT:
            return None
        elif isinstance(cell, pd.Timestamp):
            found = _ticks(cell.to_datetime64())
        elif isinstance(cell, np.datetime64):
            found = _ticks(cell)
        elif isinstance(cell, datetime):
            gap = cell.replace(tzinfo=None) - _EPOCH - (cell.utcoffset() or timedelta(0))
            found = gap.days * 86_400 + gap.seconds, gap.microseconds * 1000
        elif isinstance(cell, date):
            found = (cell.toordinal() - _EPOCH.toordinal()) * 86_400, 0
        else:
            return None
    except Exception:  # 31 February, a time zone of its own making
        return None
    return found if found is not None and FIRST_SECOND <= found[0] < END_SECOND else None


def _parsed(text: str) -> tuple[int, int] | None:
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    gap = datetime(year, month, day, hour, minute, second) - _EPOCH
    return gap.days * 86_400 + gap.seconds - _offset(match[8]), int((match[7] or "")[:9].ljust(9, "0"))


def _offset(text: str | None) -> int:
    if text is None or text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("no offset")
    return (-60 if text[0] == "-" else 60) * (60 * hours + minutes)


def _ticks(cell: np.datetime64) -> tuple[int, int] | None:
    unit, step = np.datetime_data(cell.dtype)
    ticks = int(cell.astype(np.int64)) * step
    if np.isnat(cell) or unit == "generic":
        return None
    if unit in _UNITS:
        return ticks * _UNITS[unit], 0
    if unit in _PARTS:
        whole, rest = divmod(ticks, _PARTS[unit])
        return whole, rest * 10**9 // _PARTS[unit]
    months = ticks * (12 if unit == "Y" else 1)
    return (date(1970 + months // 12, months % 12 + 1, 1).toordinal() - _EPOCH.toordinal()) * 86_400, 0


# -- categories --------------------------------------------------------------------------------------------------------
def key(cell: object, family: str) -> str | None:
    """The canonical text of a category in a column of this family (string, integer, float, boolean).

    Text columns keep their text; for numbers 7, 7.0, "7" and " 7 " are one; for booleans true, t, yes, y and 1, in any case.
    """
    if missing(cell):
        return None
    if family == "string":
        return _text(cell)
    if family == "boolean":
        truth = _TRUTH.get(cell.strip(WHITE).lower()) if isinstance(cell, str) else None
        return truth or {0.0: "false", 1.0: "true"}.get(number(cell), UNREADABLE)
    return _number_key(cell)


def _text(cell: object) -> str:
    """The text of one value; whole floats lose their `.0`, since a null in a column makes pandas add it."""
    if isinstance(cell, str):
        return str(cell) if _is_unicode(cell) else UNREADABLE
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, _WHOLES):
        return str(int(cell)) if abs(int(cell)) < _EXACT else UNREADABLE
    if isinstance(cell, float | np.floating):
        whole = _whole(cell)
        return str(cell) if whole is None else str(whole)
    if isinstance(cell, Fraction) and max(abs(cell.numerator), cell.denominator) >= _EXACT:
        return UNREADABLE
    return str(cell) if isinstance(cell, Decimal | Fraction | date | np.datetime64 | UUID) else UNREADABLE


def _number_key(cell: object) -> str | None:
    whole = _whole(cell)
    if whole is not None:
        return str(whole)
    value = number(cell)
    return UNREADABLE if math.isnan(value) else repr(value)


def _whole(cell: object) -> int | None:
    """The whole number that a cell holds exactly, however it is written; None for others and for huge ones."""
    if isinstance(cell, str):
        text = cell.strip(WHITE)
        cell = int(text) if _WHOLE.fullmatch(text) else number(text)
    elif isinstance(cell, _WHOLES | np.bool_):
        cell = int(cell)
    elif isinstance(cell, np.floating):
        cell = float(cell)
    elif not isinstance(cell, float | Decimal | Fraction):
        return None
    return int(cell) if -_EXACT < cell < _EXACT and cell == int(cell) else None


# -- persons -----------------------------------------------------------------------------------------------------------
def identity(cell: object) -> str | None:
    """The canonical text of an identifier.

    Text without surrounding white space (`7` and `07` are two persons, 7 and "7" are one), whole numbers in decimal,
    true and false as words, dates and times in ISO form (UTC). Floats name nobody: long numbers run together in them.
    """
    if isinstance(cell, str):
        text = cell.strip(WHITE)
        return text if text and _is_unicode(text) else None
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, _WHOLES | Decimal) and not missing(cell):
        whole = _whole(cell)
        return None if whole is None else str(whole)
    if isinstance(cell, UUID):
        return str(cell)
    found = instant(cell)
    if found is None:
        return None
    when = _EPOCH + timedelta(seconds=found[0])
    if _is_day(cell):
        return when.date().isoformat()
    return when.isoformat() + (f".{found[1]:09d}".rstrip("0") if found[1] else "")


def _is_day(cell: object) -> bool:
    if isinstance(cell, np.datetime64):
        return np.datetime_data(cell.dtype)[0] == "D"
    return not isinstance(cell, datetime)


def _is_unicode(text: str) -> bool:
    """False for lone surrogates, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# -- pictures ----------------------------------------------------------------------------------------------------------
def image(cell: object, size: int) -> np.ndarray | None:
    """`size` float32 numbers within 0 to 255, a NaN among them as the middle; None for anything else than an image."""
    try:
        flat = np.asarray(cell).reshape(-1)
    except Exception:  # lists of lists of different lengths, objects of foreign types
        return None
    if flat.size != size or flat.dtype.kind not in "uifb":
        return None
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num(flat.astype(np.float32), nan=127.5), 0.0, 255.0)
