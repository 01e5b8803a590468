"""A place in `result.json`: the value together with its address.

Every figure a page shows is printed from a `Element`, so the page can say where each number comes from
(`data-path`, a JSON pointer as in RFC 6901) and what it is to the last bit (`data-value`). That makes "the figures in
the page equal those in the file" a property of the construction, and easy to check from outside.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from understudy.errors import UsageError
from understudy.report import svg
from understudy.report.svg import Num

FORMAT = 2


class Element:
    """Read-only cursor; a missing entry is the file's fault and named by its address."""

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: str = "") -> None:
        self.value = value
        self.path = path

    def __getitem__(self, key: str | int) -> "Element":
        step = str(key).replace("~", "~0").replace("/", "~1")
        try:
            return Element(self.value[key], f"{self.path}/{step}")
        except (KeyError, IndexError, TypeError):
            raise UsageError(
                f"the result file has no entry {self.path}/{step}; write it again with 'understudy evaluate'"
            ) from None

    def get(self, key: str) -> "Element":
        """The entry, or an empty node: for optional parts of a file."""
        if isinstance(self.value, dict) and key in self.value:
            return self[key]
        return Element(None, self.path)

    def __iter__(self) -> Iterator["Element"]:
        if not isinstance(self.value, list):
            raise UsageError(f"the result file holds no list at {self.path}; write it again with 'understudy evaluate'")
        return (self[i] for i in range(len(self.value)))

    def items(self) -> Iterator[tuple[str, "Element"]]:
        """Keys and entries of an object in the order of the file; nothing where there is no object."""
        return ((k, self[k]) for k in self.value) if isinstance(self.value, dict) else iter(())

    def __len__(self) -> int:
        return len(self.value) if isinstance(self.value, list | dict) else 0

    def __bool__(self) -> bool:
        """Whether there is something here: not null, not empty. Zero is something."""
        return self.value is not None and self.value != [] and self.value != {} and self.value != ""

    @property
    def number(self) -> Num | None:
        """The value where it is a finite number."""
        return self.value if svg.is_figure(self.value) else None

    @property
    def text(self) -> str:
        """The value as words; none for null."""
        return "" if self.value is None else str(self.value)

    def __str__(self) -> str:
        return self.text


def read(path: str | Path) -> Element:
    """The root of a result file, or a sentence about what is wrong with it."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{str(path)!r}: there is no such file; 'understudy evaluate' writes one") from None
    except IsADirectoryError:
        raise UsageError(f"{str(path)!r} is a folder; name the result.json in it") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise UsageError(
            f"{str(path)!r} is not JSON; a report is drawn from the result.json of 'understudy evaluate'"
        ) from None
    if not isinstance(data, dict) or "header" not in data or "release" not in data:
        raise UsageError(f"{str(path)!r} is not a result of 'understudy evaluate'")
    if data.get("format") != FORMAT:
        raise UsageError(f"{str(path)!r} has format {data.get('format')!r}, this version draws format {FORMAT}")
    return Element(data)


def read_marked(path: str | Path, what: str, command: str) -> Element:
    """The root of a file that names its own kind, as audits and traces do: `"format": "understudy <what> 1"`."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise UsageError(f"{str(path)!r} cannot be read; name the {what}.json of '{command}'") from None
    if not isinstance(data, dict) or data.get("format") != f"understudy {what} 1":
        raise UsageError(
            f"{str(path)!r} is not a{'n' * (what[0] == 'a')} {what} of this version; write one with '{command}'"
        )
    return Element(data)


def figure(node: Element, digits: int = 3, *, percent: bool = False, fixed: bool = False) -> Markup:
    """The number as text, with its exact value and its address. `fixed`: always `digits` decimals."""
    value = node.number
    if value is None:
        return Markup('<span class="none" title="not defined">{}</span>').format(svg.NO_FIGURE)
    if percent:
        shown = f"{value * 100:.{max(0, digits - 2)}f} %"
    else:
        shown = f"{value:.{digits}f}" if fixed else svg.number(value, digits)
    return addressed(node, shown)


def addressed(node: Element, shown: str) -> Markup:
    """A printed form of the node's number that carries the number itself and its place in the file."""
    return Markup('<span data-path="{}" data-value="{}">{}</span>').format(
        svg.clean(node.path), repr(node.value), shown
    )


def summary(node: Element, digits: int = 3, *, percent: bool = False) -> Markup:
    """Mean and, where there are several runs, its spread: `0.812 ± 0.011`."""
    if not node:
        return Markup('<span class="none">{}</span>').format(svg.NO_FIGURE)
    mean = figure(node["mean"], digits, percent=percent)
    if node["sd"].number is None:
        return mean
    # Beside a mean of ordinary size the spread has the same decimals: 0.012 ± 0.000, not 0.012 ± 3.1e-5.
    ordinary = 0.5 * 10**-digits <= abs(node["mean"].number or 0.0) < 100
    return mean + " ± " + figure(node["sd"], digits, percent=percent, fixed=ordinary)


def spread(node: Element) -> tuple[Num | None, Num | None]:
    """Ends of the error bar: one standard deviation either way; none for a single run."""
    mean, sd = node["mean"].number, node["sd"].number
    return (None, None) if mean is None or sd is None else (mean - sd, mean + sd)


def day(seconds: Num) -> str:
    """Seconds since 1970 as a calendar day, or as a number where the calendar ends."""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return svg.number(seconds)


def date(node: Element) -> str:
    """A point in time as a day."""
    return figure(node) if node.number is None else day(node.number)
