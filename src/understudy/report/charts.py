"""Charts with axes: lines over a numeric axis, and bars or dots with error bars.

Bars start at zero or not at all: where an axis does not contain zero the same figures are drawn as dots, because the
length of a cut-off bar lies. A mark that shows a figure of the result carries it unrounded in `data-value` together
with its place in the file (`data-path`), so a test can compare page and file.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from understudy.report import svg
from understudy.report.svg import Num

Numbers = Sequence[Num | None]


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line: points, and where they exist the ends of an interval per point."""

    name: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    points_only: bool = False


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One figure of one series in one row of a bar chart. `runs` are the single values behind it."""

    value: Num | None
    low: Num | None = None
    high: Num | None = None
    runs: Numbers = ()
    path: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A thin line at a value that gives the figures their meaning (chance, noise, the published value)."""

    name: str
    value: Num | None


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_log: bool = False,
    x_limits: tuple[Num, Num] | None = None,
    y_limits: tuple[Num, Num] | None = None,
    bands: bool = False,
    diagonal: bool = False,
    references: Sequence[Reference] = (),
    height: Num = 260,
) -> Markup:
    """Lines over a numeric axis, with shaded bands or error bars where a series has intervals."""
    everything = [v for s in series for part in (s.y, s.low or (), s.high or ()) for v in part]
    everything += [r.value for r in references]
    samples = [(s.name, _line_sample(i, s)) for i, s in enumerate(series)]
    samples += [
        (r.name, svg.line(-10, 0, 10, 0, stroke=svg.MUTED, dash="3 3")) for r in references if r.value is not None
    ]
    if diagonal:
        samples.append(("equal", svg.line(-10, 0, 10, 0, stroke=svg.MUTED, dash="1 2")))
    names, used = svg.legend(samples, 2)
    top, bottom = used + 22, height - 36
    y = svg.scale(everything, bottom, top, log=y_log, limits=y_limits, pad=0.04)
    left = 12 + max((svg.text_width(svg.tick_label(t)) for t in y.ticks()), default=20)
    x = svg.scale([v for s in series for v in s.x], left, svg.WIDTH - 12, log=x_log, limits=x_limits, pad=0.02)
    parts = [
        names,
        svg.text(4, used + 12, y_label, fill=svg.MUTED),
        *y_axis(y, left),
        *x_axis(x, top, bottom, x_label),
    ]
    if diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        if low < high:
            parts.append(
                svg.line(x.at(low) or 0, y.at(low) or 0, x.at(high) or 0, y.at(high) or 0, stroke=svg.MUTED, dash="1 2")
            )
    for reference in references:
        place = y.at(reference.value)
        if place is not None:
            parts.append(svg.line(left, place, svg.WIDTH - 12, place, stroke=svg.MUTED, dash="3 3"))
    for i, one in enumerate(series):
        parts += _draw_series(i, one, x, y, bands)
    return svg.picture(title, height, parts)


def _line_sample(i: int, one: Series) -> str:
    colour = svg.SERIES_COLOURS[i % len(svg.SERIES_COLOURS)]
    stroke = "" if one.points_only else svg.line(-11, 0, 11, 0, stroke=colour, width=2, dash=svg.SERIES_DASHES[i % 6])
    return stroke + svg.marker(i, 0, 0, colour, size=3.5)


def _draw_series(i: int, one: Series, x: svg.Scale, y: svg.Scale, bands: bool) -> list[str]:
    colour = svg.SERIES_COLOURS[i % len(svg.SERIES_COLOURS)]
    places = [(x.at(a), y.at(b), a, b) for a, b in zip(one.x, one.y, strict=True)]
    parts: list[str] = []
    if one.low is not None and one.high is not None:
        ends = [(x.at(a), y.at(b), y.at(c)) for a, b, c in zip(one.x, one.low, one.high, strict=True)]
        known = [(a, b, c) for a, b, c in ends if a is not None and b is not None and c is not None]
        if bands and len(known) > 1:
            path = (
                "L".join(f"{a:.1f},{c:.1f}" for a, _, c in known)
                + "L"
                + "L".join(f"{a:.1f},{b:.1f}" for a, b, _ in reversed(known))
            )
            parts.append(svg.element("path", d=f"M{path}z", fill=colour, fill_opacity=0.18))
        else:
            parts += [_whisker_v(a, b, c, colour) for a, b, c in known]
    if not one.points_only:
        runs: list[list[str]] = [[]]
        for a, b, _, _ in places:  # a missing point breaks the line instead of being bridged
            if a is None or b is None:
                runs.append([])
            else:
                runs[-1].append(f"{a:.1f},{b:.1f}")
        parts += [
            svg.element(
                "path",
                d="M" + "L".join(run),
                fill="none",
                stroke=colour,
                stroke_width=2.0,
                stroke_dasharray=svg.SERIES_DASHES[i % 6],
            )
            for run in runs
            if len(run) > 1
        ]
    size = 2.5 if len(places) > 60 else 3.5
    parts += [
        svg.marker(i, a, b, colour, size=size, tip=f"{one.name}: {svg.number(u)}, {svg.number(v)}")
        for a, b, u, v in places
        if a is not None and b is not None
    ]
    return parts


def _whisker_v(x: Num, low: Num, high: Num, colour: str) -> str:
    return svg.element(
        "path",
        d=f"M{x:.1f},{low:.1f}V{high:.1f}M{x - 3:.1f},{low:.1f}h6M{x - 3:.1f},{high:.1f}h6",
        stroke=colour,
        stroke_width=1.4,
    )


def y_axis(y: svg.Scale, left: Num) -> list[str]:
    """Horizontal grid lines with their values on the left."""
    parts = []
    for tick in y.ticks():
        place = y.at(tick)
        if place is not None:
            parts.append(svg.line(left, place, svg.WIDTH - 12, place))
            parts.append(svg.text(left - 5, place + 4, svg.tick_label(tick), anchor="end", fill=svg.MUTED))
    return parts


def x_axis(x: svg.Scale, top: Num, bottom: Num, label: str, *, words: Sequence[str] | None = None) -> list[str]:
    """Vertical grid lines with their values underneath (`words` instead, where given) and the name of the axis."""
    parts, free = [], -100.0
    for i, tick in enumerate(x.ticks()):
        place = x.at(tick)
        if place is None:
            continue
        parts.append(svg.line(place, top, place, bottom))
        shown = words[i] if words else svg.tick_label(tick)
        half = svg.text_width(shown) / 2
        centre = min(max(place, half + 1), svg.WIDTH - 1 - half)
        if centre - half > free + 4:  # a label that would touch its neighbour is left out, its grid line stays
            parts.append(svg.text(centre, bottom + 14, shown, anchor="middle", fill=svg.MUTED))
            free = centre + half
    parts.append(
        svg.text(svg.WIDTH - 12, bottom + 29, svg.fit_text(label, svg.WIDTH - 24), anchor="end", fill=svg.MUTED)
    )
    return parts


def bar_chart(
    title: str,
    rows: Sequence[tuple[str, Sequence[Mark]]],
    names: Sequence[str],
    *,
    label: str,
    limits: tuple[Num, Num] | None = None,
    references: Sequence[Reference] = (),
    bars: bool = False,
    percent: bool = False,
) -> Markup:
    """Rows of horizontal bars (from zero) or dots, one mark per series, with error bars and the runs as ticks."""
    everything: list[Num | None] = [0.0] if bars else []
    everything += [v for _, marks in rows for m in marks for v in (m.value, m.low, m.high, *m.runs)]
    everything += [r.value for r in references]
    samples = [(n, _bar_sample(i, bars)) for i, n in enumerate(names)]
    samples += [
        (r.name, svg.line(0, -7, 0, 7, stroke=svg.MUTED, dash="3 2", width=1.5))
        for r in references
        if r.value is not None
    ]
    head, used = svg.legend(samples, 2) if len(samples) > 1 else ("", 0.0)
    step = 13.0 if bars else 11.0
    pitch = max(18.0, step * len(names) + 7)
    left = 10 + min(118.0, max((svg.text_width(svg.clean(n)) for n, _ in rows), default=0.0))
    top = used + 10
    bottom = top + pitch * len(rows)
    x = svg.scale(everything, left, svg.WIDTH - 14, limits=limits, pad=0.0 if bars else 0.03)
    words = [percent_label(t) for t in x.ticks()] if percent else None
    parts = [head]
    for tick in x.ticks():
        at = x.at(tick) or 0
        parts.append(svg.line(at, top, at, bottom))
    for i, (name, _) in enumerate(rows):
        if i % 2 == 0:
            parts.append(svg.rect(0, top + i * pitch, svg.WIDTH, pitch, fill="#57606a", opacity=0.06))
        parts.append(svg.text(left - 7, top + (i + 0.5) * pitch + 4, svg.fit_text(name, left - 10), anchor="end"))
    for reference in references:
        place = x.at(reference.value)
        if place is not None:
            parts.append(svg.line(place, top, place, bottom, stroke=svg.MUTED, dash="3 2", width=1.5))
    for i, (name, marks) in enumerate(rows):
        for j, mark in enumerate(marks):
            middle = top + (i + 0.5) * pitch + (j - (len(marks) - 1) / 2) * step
            parts += _draw_mark(j, mark, x, middle, f"{name}, {names[j]}" if names[j] else name, bars)
    parts += x_axis(x, bottom, bottom + 3, label, words=words)
    return svg.picture(title, bottom + 36, parts)


def _bar_sample(i: int, bars: bool) -> str:
    colour = svg.SERIES_COLOURS[i % len(svg.SERIES_COLOURS)]
    return svg.rect(-10, -4, 20, 8, fill=colour, opacity=0.75) if bars else svg.marker(i, 0, 0, colour)


def _draw_mark(j: int, mark: Mark, x: svg.Scale, middle: Num, name: str, bars: bool) -> list[str]:
    colour = svg.SERIES_COLOURS[j % len(svg.SERIES_COLOURS)]
    place = x.at(mark.value)
    if place is None:
        return [svg.text(x.start + 4, middle + 4, "no figure", fill=svg.MUTED, size=9)]
    interval = f" ({svg.number(mark.low)} to {svg.number(mark.high)})" if svg.is_figure(mark.low) else ""
    tip = f"{name}: {svg.number(mark.value)}{interval}"
    parts = []
    if bars:
        zero = x.at(0.0) or x.start
        parts.append(svg.rect(min(zero, place), middle - 5, abs(place - zero), 10, fill=colour, opacity=0.75, tip=tip))
    for run in mark.runs if len(mark.runs) > 1 else ():
        spot = x.at(run)
        if spot is not None:
            parts.append(svg.line(spot, middle - 3, spot, middle + 3, stroke=colour, width=1))
    low, high = x.at(mark.low), x.at(mark.high)
    if low is not None and high is not None:
        ink = svg.INK if bars else colour
        parts.append(
            svg.element(
                "path",
                d=f"M{low:.1f},{middle:.1f}H{high:.1f}M{low:.1f},{middle - 4:.1f}v8M{high:.1f},{middle - 4:.1f}v8",
                stroke=ink,
                stroke_width=1.4,
            )
        )
    if not bars:
        parts.append(svg.marker(j, place, middle, colour, tip=tip, path=mark.path, value=mark.value))
    return parts


def percent_label(share: Num) -> str:
    """A share as an axis value: `2.5 %`."""
    return svg.tick_label(round(share * 100, 6)) + " %"
