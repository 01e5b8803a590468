"""Shares of a column's values: histograms and category bars, real beside synthetic or synthetic alone.

Of two sides the first (real) is an outline and the second (synthetic) is filled, so they can lie over each other and
still be told apart without colour.
"""

from collections.abc import Sequence

from markupsafe import Markup

from understudy.report import svg
from understudy.report.charts import Numbers, percent_label
from understudy.report.svg import Num


def histogram(
    title: str,
    edges: Sequence[Num],
    series: Sequence[tuple[str, Numbers]],
    *,
    tick_words: Sequence[str] | None = None,
    height: Num = 168,
) -> Markup:
    """Shares per bin. One series: filled. Two: the first (real) as an outline over the second (synthetic), filled."""
    colours, filled = _sides(len(series))
    head, used = _side_legend(series)
    top, bottom = used + 8, height - 20
    y = svg.scale((), bottom, top, limits=(0.0, _tallest(series) * 1.05))
    left = 12 + max(svg.text_width(percent_label(t)) for t in y.ticks(3))
    low, high = float(edges[0]), float(edges[-1])
    if high <= low:
        high = low + 1.0
    x = svg.Scale(low, high, left, svg.WIDTH - 12)
    parts = [head]
    for tick in y.ticks(3):
        place = y.at(tick) or 0
        parts += [
            svg.line(left, place, svg.WIDTH - 12, place),
            svg.text(left - 5, place + 4, percent_label(tick), anchor="end", fill=svg.MUTED),
        ]
    for (_, shares), colour, fill in reversed(list(zip(series, colours, filled, strict=True))):
        parts.append(_steps(edges, shares, x, y, colour, fill))
    words = tick_words or (svg.tick_label(_tidy(low)), svg.tick_label(_tidy(high)))
    parts += [
        svg.text(left, height - 5, svg.fit_text(words[0], 150), fill=svg.MUTED),
        svg.text(svg.WIDTH - 12, height - 5, svg.fit_text(words[1], 150), anchor="end", fill=svg.MUTED),
    ]
    return svg.picture(title, height, parts)


def _tidy(value: Num) -> Num:
    return float(f"{value:.4g}")


def _sides(count: int) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    return ((svg.ORANGE,), (True,)) if count == 1 else ((svg.BLUE, svg.ORANGE), (False, True))


def _side_sample(colour: str, filled: bool) -> str:
    if filled:
        return svg.rect(-10, -5, 20, 10, fill=colour, opacity=0.45)
    return svg.element("path", d="M-10,5V-5H10V5", fill="none", stroke=colour, stroke_width=2.0)


def _steps(edges: Sequence[Num], shares: Numbers, x: svg.Scale, y: svg.Scale, colour: str, fill: bool) -> str:
    floor = y.start
    path = [f"M{x.at(edges[0]) or x.start:.1f},{floor:.1f}"]
    for i, share in enumerate(shares):
        place = y.at(share)
        path.append(f"V{floor if place is None else place:.1f}H{x.at(edges[i + 1]) or x.start:.1f}")
    path.append(f"V{floor:.1f}")
    return svg.element(
        "path",
        d="".join(path),
        fill=colour if fill else "none",
        fill_opacity=0.45 if fill else None,
        stroke=colour,
        stroke_width=1.0 if fill else 2.0,
    )


def category_bars(
    title: str, labels: Sequence[str], series: Sequence[tuple[str, Numbers]], *, rest: str = ""
) -> Markup:
    """Shares per category as horizontal bars: the first of two series (real) outlined, the other filled.

    `rest` is a line of words underneath, for categories that are not drawn.
    """
    colours, filled = _sides(len(series))
    head, used = _side_legend(series)
    left = 10 + min(124.0, max((svg.text_width(svg.clean(n)) for n in labels), default=0.0))
    x = svg.scale((), left, svg.WIDTH - 46, limits=(0.0, _tallest(series)))
    pitch, top = 10.0 * len(series) + 6, used + 6
    parts = [head]
    for i, name in enumerate(labels):
        parts.append(svg.text(left - 6, top + (i + 0.5) * pitch + 4, svg.fit_text(name, left - 9), anchor="end"))
        for j, (side, shares) in enumerate(series):
            end = x.at(shares[i])
            if end is None:
                continue
            y, wide = top + i * pitch + 3 + j * 10, max(0.6, end - left)
            tip = f"{name}, {side}: {svg.number(shares[i])}"
            fill = colours[j] if filled[j] else "#ffffff"
            parts.append(svg.rect(left, y, wide, 8, fill=fill, stroke=colours[j], tip=tip))
            share = percent_label(round(float(shares[i] or 0), 3))
            parts.append(svg.text(left + wide + 4, y + 7.5, share, fill=svg.MUTED, size=9))
    bottom = top + pitch * len(labels) + 4
    if rest:
        parts.append(svg.text(4, bottom + 10, svg.fit_text(rest, svg.WIDTH - 8), fill=svg.MUTED))
    return svg.picture(title, bottom + (16 if rest else 0), parts)


def _tallest(series: Sequence[tuple[str, Numbers]]) -> Num:
    return max((v for _, shares in series for v in shares if v is not None and svg.is_figure(v)), default=1.0) or 1.0


def _side_legend(series: Sequence[tuple[str, Numbers]]) -> tuple[str, Num]:
    if len(series) < 2:
        return "", 0.0
    colours, filled = _sides(len(series))
    return svg.legend([(n, _side_sample(c, f)) for (n, _), c, f in zip(series, colours, filled, strict=True)], 0)
