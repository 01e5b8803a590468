"""Pictures made of cells: heat maps of a matrix, and grids of small images.

A heat map colours a value in [-limit, limit] from blue (negative) over near-white (zero) to orange-brown (positive);
equal sizes get equal lightness, so sign and strength are read separately. What is not defined is struck through, not
white: no figure is not the same as no association. The diagonal is left grey.
"""

import base64
import binascii
import struct
from collections.abc import Sequence

from markupsafe import Markup

from understudy.report import svg
from understudy.report.svg import Num

NEGATIVE = ((247, 247, 247), (146, 197, 222), (33, 102, 172), (5, 48, 97))
POSITIVE = ((247, 247, 247), (253, 184, 99), (179, 88, 6), (127, 59, 8))


def diverging(value: Num, limit: Num = 1.0) -> str:
    """The colour of a value, linear between four stops on each side."""
    share = min(1.0, abs(value) / limit) if limit > 0 else 0.0
    stops = POSITIVE if value >= 0 else NEGATIVE
    place = share * (len(stops) - 1)
    i = min(int(place), len(stops) - 2)
    mix = [round(a + (b - a) * (place - i)) for a, b in zip(stops[i], stops[i + 1], strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mix)


def heat_map(
    title: str,
    labels: Sequence[str],
    matrix: Sequence[Sequence[Num | None]],
    *,
    limit: Num = 1.0,
    key: str = "",
) -> Markup:
    """A square matrix with names on the left and along the top, and the colour key underneath."""
    count = max(1, len(labels))
    left = 8 + min(104.0, max((svg.text_width(svg.clean(n), 9) for n in labels), default=0.0))
    side = min((svg.WIDTH - left - 4) / count, 40.0)
    head = 8 + min(86.0, max((svg.text_width(svg.clean(n), 9) for n in labels), default=0.0))
    size = min(9.0, max(5.0, side * 0.95))
    every = 1 if side >= 6 else 2
    parts = []
    for i, name in enumerate(labels):
        if i % every == 0:
            parts.append(
                svg.text(
                    left - 4,
                    head + (i + 0.5) * side + size * 0.36,
                    svg.fit_text(name, left - 5, size),
                    anchor="end",
                    size=size,
                )
            )
            parts.append(
                svg.text(
                    left + (i + 0.5) * side + size * 0.36,
                    head - 4,
                    svg.fit_text(name, head - 5, size),
                    size=size,
                    turn=-90,
                )
            )
    edge = side * count
    parts.append(svg.rect(left, head, edge, edge, fill=svg.GRID_COLOUR))
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            if i == j:
                continue  # a column with itself says nothing; the grey ground stays
            names = f"{svg.fit_text(labels[i], 160)} and {svg.fit_text(labels[j], 160)}"
            parts.append(_cell(value, limit, left + j * side, head + i * side, side, f"{names}: {svg.number(value)}"))
    parts.append(svg.rect(left, head, edge, edge, fill="none", stroke=svg.MUTED))
    bottom = head + edge + 10
    wide = min(200.0, svg.WIDTH - 16 - 60)
    start = (svg.WIDTH - wide) / 2
    parts += [
        svg.rect(start + k * wide / 20, bottom, wide / 20 + 0.5, 10, fill=diverging((k - 9.5) / 9.5 * limit, limit))
        for k in range(20)
    ]
    parts += [
        svg.text(start - 5, bottom + 9, svg.tick_label(-limit).replace("-", "−"), anchor="end", fill=svg.MUTED),
        svg.text(start + wide + 5, bottom + 9, "+" + svg.tick_label(limit), fill=svg.MUTED),
    ]
    if key:
        parts.append(
            svg.text(svg.WIDTH / 2, bottom + 24, svg.fit_text(key, svg.WIDTH - 8), anchor="middle", fill=svg.MUTED)
        )
    return svg.picture(title, bottom + (30 if key else 16), parts)


def _cell(value: Num | None, limit: Num, x: Num, y: Num, side: Num, tip: str) -> str:
    if value is not None and svg.is_figure(value):
        return svg.rect(x, y, side, side, fill=diverging(value, limit), tip=tip)
    stroke = svg.line(x + side * 0.2, y + side * 0.8, x + side * 0.8, y + side * 0.2, stroke=svg.MUTED, width=0.8)
    return svg.rect(x, y, side, side, fill="#ffffff", tip=tip) + stroke


def png_size(data: str) -> tuple[int, int] | None:
    """Width and height from the header of a base64 PNG; None when the text is not one."""
    try:
        head = base64.b64decode(data[:44], validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    width, height = struct.unpack(">II", head[16:24])
    return (width, height) if width and height else None


def image_grid(title: str, png: str, row_labels: Sequence[str] = ()) -> Markup:
    """One PNG that holds a grid of images, one row per class, with the class names beside its rows."""
    data = png.removeprefix("data:image/png;base64,").strip()
    size = png_size(data)
    if size is None:
        return Markup('<p class="note">{}: the file holds no readable PNG.</p>').format(svg.clean(title))
    left = (
        4 + min(80.0, max((svg.text_width(svg.clean(n)) for n in row_labels), default=0.0)) + (6 if row_labels else 0)
    )
    wide = svg.WIDTH - left - 4
    tall = wide * size[1] / size[0]
    if tall > 1.4 * svg.WIDTH:
        wide, tall = wide * 1.4 * svg.WIDTH / tall, 1.4 * svg.WIDTH
    parts = [
        svg.text(left - 6, 4 + (i + 0.5) * tall / len(row_labels) + 4, svg.fit_text(name, left - 8), anchor="end")
        for i, name in enumerate(row_labels)
    ]
    parts.append(
        svg.element(
            "image",
            href=f"data:image/png;base64,{data}",
            x=float(left),
            y=4.0,
            width=float(wide),
            height=float(tall),
            style="image-rendering:pixelated",
            preserveAspectRatio="none",
        )
    )
    parts.append(svg.rect(left, 4, wide, tall, fill="none", stroke=svg.GRID_COLOUR))
    return svg.picture(title, tall + 8, parts)
