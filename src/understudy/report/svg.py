"""Scalable pictures as markup: the few pieces that every chart of a report is made of.

A picture is an inline `<svg>` of fixed view-box width (`WIDTH` = 360 units, the width of a small phone) that the page
lets grow to about one and a half times that size, so its letters stay between 10 and 17 pixels on every screen and
on paper. Nothing here needs a library, a font, a script or a network.

Colours are from the palette of Okabe and Ito (2008, "Color universal design"), which people with the common forms of
colour blindness can tell apart; series differ in marker shape or dash as well, so that a grey print-out still reads.
The diverging map runs from blue over near-white to orange-brown (ColorBrewer "PuOr"-like, safe for the same readers).

Guarantees
- every text that comes from outside is escaped, control characters and lone surrogates become visible marks;
- numbers that are missing, infinite or not a number are left out of a drawing, never drawn somewhere else;
- output is a pure function of the arguments: equal input, equal bytes.
"""

import functools
import html
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

# Whole numbers are figures too; the type checker of the tests takes `float` literally.
Num = float | int

WIDTH = 360
FONT = 11

INK = "#1f2328"
MUTED = "#57606a"
GRID_COLOUR = "#d8dee4"
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#00795A"
PURPLE = "#9A4F84"
BROWN = "#8a6d00"
SERIES_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, BROWN, INK)
SERIES_DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 3", "10 4")

NO_FIGURE = "–"


def clean(text: object) -> str:
    """The text on one line: line breaks, controls and lone surrogates become visible marks instead of vanishing."""
    if isinstance(text, str) and text.isprintable():
        return text
    marks = {"\n": "⏎", "\r": "⏎", "\t": "⇥"}
    out = []
    for letter in str(text):
        if letter in marks:
            out.append(marks[letter])
        elif unicodedata.category(letter) in ("Cc", "Cs") or letter in "\u202a\u202b\u202c\u202d\u202e\u2028\u2029":
            out.append("\ufffd")
        else:
            out.append(letter)
    return "".join(out)


def esc(text: object) -> str:
    """Text that is safe between tags and inside a quoted attribute."""
    return html.escape(clean(text), quote=True)


@functools.cache
def letter_width(letter: str) -> Num:
    """In units of the font size, slightly generous: capitals are wider than small letters, East Asian ones double."""
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in "<=>+±→−":
        return 0.84
    if letter in "mMW%@…":
        return 0.98
    return 0.78 if letter.isupper() or letter == "w" else 0.57


def text_width(text: str, size: Num = FONT) -> Num:
    """An estimate of the drawn width: the page cannot know which font a reader has."""
    return size * sum(map(letter_width, text))


def fit_text(text: object, width: Num, size: Num = FONT) -> str:
    """The cleaned text, shortened with an ellipsis until its estimated width fits."""
    whole = clean(text)
    if text_width(whole, size) <= width:
        return whole
    room, kept = width / size - letter_width("…"), 0
    for letter in whole:
        room -= letter_width(letter)
        if room < 0:
            break
        kept += 1
    return whole[:kept] + "…"


def is_figure(value: object) -> bool:
    """Whether this is a number that can be drawn: finite, not a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def number(value: object, digits: int = 3) -> str:
    """A figure as people read it: fixed decimals for moderate sizes, thousands separators, powers of ten outside."""
    if not is_figure(value):
        return NO_FIGURE
    assert isinstance(value, (int, float))
    if isinstance(value, int) or (float(value).is_integer() and abs(value) >= 1000):
        return f"{int(value):,}" if abs(value) < 1e15 else f"{value:.3g}"
    size = abs(value)
    if size != 0 and (size < 0.5 * 10**-digits or size >= 1e7):
        return short_power(value)
    return f"{value:,.{digits if size < 100 else 1}f}"


def short_power(value: Num) -> str:
    """`1e-5`, `2.72e-4`: no padding zeros."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def attributes(**values: object) -> str:
    """`a="b"` pairs; underscores become hyphens, None is left out."""
    pairs = []
    for name, value in values.items():
        if value is None or value == "":
            continue
        shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else esc(value)
        pairs.append(f' {name.rstrip("_").replace("_", "-")}="{shown}"')
    return "".join(pairs)


def element(tag: str, body: str = "", **values: object) -> str:
    """One SVG element; `body` is markup, attribute values are escaped."""
    start = f"<{tag}{attributes(**values)}"
    return f"{start}>{body}</{tag}>" if body else f"{start}/>"


def text(
    x: Num,
    y: Num,
    words: object,
    *,
    anchor: str = "start",
    fill: str = INK,
    size: Num = FONT,
    weight: str | None = None,
    turn: Num | None = None,
) -> str:
    """A label at a point. `turn` rotates it about that point (degrees)."""
    rotate = None if turn is None else f"rotate({turn:g} {x:.1f} {y:.1f})"
    return element(
        "text",
        esc(words),
        x=float(x),
        y=float(y),
        text_anchor=None if anchor == "start" else anchor,
        fill=None if fill == INK else fill,
        font_size=None if size == FONT else float(size),
        font_weight=weight,
        transform=rotate,
    )


def line(x1: Num, y1: Num, x2: Num, y2: Num, *, stroke: str = GRID_COLOUR, width: Num = 1.0, dash: str = "") -> str:
    """A straight stroke between two points."""
    return element(
        "line",
        x1=float(x1),
        y1=float(y1),
        x2=float(x2),
        y2=float(y2),
        stroke=stroke,
        stroke_width=float(width),
        stroke_dasharray=dash,
    )


def rect(
    x: Num,
    y: Num,
    width: Num,
    height: Num,
    *,
    fill: str,
    stroke: str | None = None,
    tip: str = "",
    opacity: Num | None = None,
) -> str:
    """A box; a negative width or height is drawn as none, `tip` appears under the pointer."""
    return element(
        "rect",
        element("title", esc(tip)) if tip else "",
        x=float(x),
        y=float(y),
        width=float(max(0.0, width)),
        height=float(max(0.0, height)),
        fill=fill,
        stroke=stroke,
        fill_opacity=opacity,
    )


def marker(
    kind: int,
    x: Num,
    y: Num,
    colour: str,
    *,
    size: Num = 4.0,
    tip: str = "",
    path: str | None = None,
    value: Num | None = None,
) -> str:
    """One data point: circle, square, diamond, triangle by series, so that shape repeats what colour says."""
    s, a, b = size, size * 0.9, size * 1.3
    shapes = (
        f"M{x - s:.2f},{y:.2f}a{s:.2f},{s:.2f} 0 1,0 {2 * s:.2f},0a{s:.2f},{s:.2f} 0 1,0 {-2 * s:.2f},0z",
        f"M{x - a:.2f},{y - a:.2f}h{2 * a:.2f}v{2 * a:.2f}h{-2 * a:.2f}z",
        f"M{x:.2f},{y - b:.2f}l{b:.2f},{b:.2f}l{-b:.2f},{b:.2f}l{-b:.2f},{-b:.2f}z",
        f"M{x:.2f},{y - b:.2f}l{b:.2f},{1.7 * b:.2f}h{-2 * b:.2f}z",
    )
    shown = None if value is None else repr(value)
    return element(
        "path",
        element("title", esc(tip)) if tip else "",
        d=shapes[kind % len(shapes)],
        fill=colour,
        stroke="#ffffff",
        stroke_width=0.8,
        data_path=path,
        data_value=shown,
    )


def picture(title: str, height: Num, parts: Iterable[str], *, width: Num = WIDTH, css: str = "chart") -> Markup:
    """The `<svg>` around the parts; the title is its accessible name."""
    body = element("title", esc(title)) + "".join(parts)
    return Markup(
        f'<svg class="{css}" role="img" aria-label="{esc(title)}" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="inherit" font-size="{FONT}" fill="{INK}" xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


@dataclass(frozen=True)
class Scale:
    """Data to drawing units along one axis; `at` is None for what the axis cannot show."""

    low: Num
    high: Num
    start: Num
    end: Num
    log: bool = False

    def at(self, value: object) -> Num | None:
        """The place of a value on the axis; just past the end for what lies outside."""
        if not is_figure(value):
            return None
        assert isinstance(value, (int, float))
        if self.log:
            if value <= 0:
                return None
            share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        share = min(max(share, -0.02), 1.02)  # a value outside a fixed axis sits just past its end, visibly
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[Num]:
        """Round values to label the axis at."""
        return log_ticks(self.low, self.high) if self.log else nice_ticks(self.low, self.high, count)


LARGEST = 1e300


def scale(
    values: Iterable[object],
    start: Num,
    end: Num,
    *,
    log: bool = False,
    limits: tuple[Num, Num] | None = None,
    pad: Num = 0.0,
) -> Scale:
    """A scale over the drawable values, widened when they do not spread; `limits` fixes the ends, `pad` leaves air."""
    seen = [float(v) for v in values if is_figure(v) and (not log or v > 0)]  # type: ignore[arg-type, operator]
    seen = [min(max(v, -LARGEST), LARGEST) for v in seen]  # near the largest float a width would overflow
    if limits is not None:
        low, high = limits
    elif not seen:
        low, high = (0.1, 10.0) if log else (0.0, 1.0)
    else:
        low, high = min(seen), max(seen)
    if log:
        low, high = max(low, 1e-300), max(high, 1e-300)
        if high / low < 1.001:
            low, high = low / 2, high * 2
    elif high - low < 1e-12 * max(1.0, abs(low)):
        low, high = low - max(0.5, abs(low) * 0.1), high + max(0.5, abs(high) * 0.1)
    elif limits is None:
        low, high = low - pad * (high - low), high + pad * (high - low)
    return Scale(low, high, start, end, log)


def nice_ticks(low: Num, high: Num, count: int = 5) -> list[Num]:
    """Round numbers (1, 2, 2.5, 5 times a power of ten) inside the interval, at most `count` + 1 of them."""
    rough = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) if abs(i * step) < 1e12 else i * step for i in range(first, last + 1)]


def log_ticks(low: Num, high: Num) -> list[Num]:
    """Powers of ten inside the interval; with fewer than two of them also their doubles and fives."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    stride = max(1, (last - first) // 6)
    powers = [10.0**k for k in range(first, last + 1, stride) if low * 0.999 <= 10.0**k <= high * 1.001]
    if len(powers) >= 2:
        return powers
    fine = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [v for v in fine if low * 0.999 <= v <= high * 1.001] or [low, high]


def tick_label(value: Num) -> str:
    """The shortest usual form of an axis value: `0.25`, `1,000`, `1e-5`."""
    if value == 0:
        return "0"
    if abs(value) >= 1e7 or abs(value) < 1e-3:
        return short_power(value)
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def legend(entries: Sequence[tuple[str, str]], y: Num, *, left: Num = 4.0, right: Num = WIDTH - 4) -> tuple[str, Num]:
    """Named samples in rows that wrap: entries (name, its mark around (0, 0)) to drawing and height."""
    parts, x, row = [], left, 0
    for name, sample in entries:
        words = fit_text(name, right - left - 34)
        width = 30 + text_width(words) + 10
        if x > left and x + width > right + 10:
            x, row = left, row + 1
        parts.append(element("g", sample, transform=f"translate({x + 12:.1f} {y + 8 + row * 16:.1f})"))
        parts.append(text(x + 28, y + 12 + row * 16, words))
        x += width
    return "".join(parts), (row + 1) * 16.0 if entries else 0.0
