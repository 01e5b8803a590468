"""The two drawings of an audit: bounds against the claim, and the attack's curve in the region that the claim allows.

A lower bound is drawn as a mark with a line to the right: the truth lies somewhere along it. Where the method gives an upper end
the line stops there; where it does not, the line fades out with an arrow. A hollow tick shows the largest value that this number
of runs could have shown, so that a short reach is seen as a short reach.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from understudy.report import svg
from understudy.report.charts import x_axis, y_axis
from understudy.report.svg import Num

CLAIM = svg.ORANGE
ALLOWED = "#bcd6ea"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One bound in the forest: marks by kind, hollow for what is not a frequentist bound."""

    name: str
    low: Num | None
    high: Num | None
    largest: Num | None
    frequentist: bool
    exceeds: bool
    path: str


def forest(title: str, groups: Sequence[tuple[str, Sequence[Estimate]]], claim: Num | None) -> Markup:
    """Rows of bounds under the name of their attack, over one axis of epsilon with the claim as a line."""
    every = [e for _, estimates in groups for e in estimates]
    shown = max([1.0, *(float(v) for e in every for v in (e.low, e.high, claim) if v is not None)])
    # A reach far beyond all bounds would squeeze them together; its tick is then left to the table.
    reach = [float(e.largest) for e in every if e.largest is not None and e.largest <= 3 * shown]
    top_value = max([shown, *reach]) * 1.08
    samples = [
        ("lower bound", svg.marker(0, 0, 0, svg.BLUE) + svg.line(4, 0, 12, 0, stroke=svg.BLUE, width=2)),
        ("credible interval", _bar(-9, 9, 0, svg.PURPLE) + svg.marker(2, 0, 0, svg.PURPLE)),
        ("most these runs can show", svg.line(0, -6, 0, 6, stroke=svg.MUTED, width=2)),
    ]
    if any(e.exceeds for e in every):
        samples.insert(1, ("lower bound above the claim", svg.marker(1, 0, 0, CLAIM, size=4.5)))
    if claim is not None:
        samples.append(("claimed epsilon", svg.line(0, -7, 0, 7, stroke=CLAIM, width=2, dash="4 2")))
    head, used = svg.legend(samples, 2)
    left = 16 + max((svg.text_width(e.name) for e in every), default=40)
    top = used + 8
    bottom = top + sum(20 + 17 * len(estimates) + 6 for _, estimates in groups)
    x = svg.Scale(0.0, top_value, left, svg.WIDTH - 16)
    parts = [head]
    y = top
    for number, (name, estimates) in enumerate(groups):
        height = 20 + 17 * len(estimates) + 6
        if number % 2 == 0:
            parts.append(svg.rect(0, y, svg.WIDTH, height, fill="#57606a", opacity=0.06))
        for tick in x.ticks():
            at = x.at(tick) or 0.0
            parts.append(svg.line(at, y + 20, at, y + height))
        parts.append(svg.text(6, y + 14, svg.fit_text(name, svg.WIDTH - 12), weight="600"))
        if claim is not None and (place := x.at(claim)) is not None:  # not across the name above
            parts.append(svg.line(place, y + 20, place, y + height, stroke=CLAIM, width=2, dash="4 2"))
        for row, estimate in enumerate(estimates):
            middle = y + 29 + 17 * row
            parts.append(svg.text(left - 7, middle + 4, estimate.name, anchor="end", fill=svg.MUTED))
            parts += _estimate(estimate, x, middle)
        y += height
    parts += x_axis(x, bottom, bottom + 3, "epsilon")
    return svg.picture(title, bottom + 36, parts)


def _estimate(one: Estimate, x: svg.Scale, middle: Num) -> list[str]:
    low, high, largest = x.at(one.low), x.at(one.high), x.at(one.largest)
    if low is None:
        return [svg.text(x.start + 4, middle + 4, "no figure", fill=svg.MUTED, size=9)]
    colour = CLAIM if one.exceeds else svg.BLUE if one.frequentist else svg.PURPLE
    parts = []
    if largest is not None and one.largest is not None and one.largest <= x.high:
        parts.append(svg.line(largest, middle - 6, largest, middle + 6, stroke=svg.MUTED, width=2))
    if high is not None:
        parts.append(_bar(low, high, middle, colour))
    else:
        end = x.end + 6
        parts.append(svg.line(low, middle, end, middle, stroke=colour, width=1.2, dash="1 3"))
        arrow = f"M{end - 4:.1f},{middle - 3:.1f}l5,3l-5,3"
        parts.append(svg.element("path", d=arrow, fill="none", stroke=colour, stroke_width=1.2))
    kind = 1 if one.exceeds else 0 if one.frequentist else 2
    to = f" to {svg.number(one.high)}" if one.high is not None else " or more"
    tip = f"{one.name}: {svg.number(one.low)}{to}"
    parts.append(svg.marker(kind, low, middle, colour, size=4.5, tip=tip, path=one.path, value=one.low))
    return parts


def _bar(low: Num, high: Num, middle: Num, colour: str) -> str:
    return svg.element(
        "path",
        d=f"M{low:.1f},{middle:.1f}H{high:.1f}M{high:.1f},{middle - 4:.1f}v8",
        stroke=colour,
        stroke_width=1.6,
        fill="none",
    )


def roc(
    title: str, points: Sequence[tuple[Num, Num]], allowed: Sequence[tuple[Num, Num, Num]], height: Num = 300
) -> Markup:
    """The attack's curve over the region of rates that the claim allows: `allowed` holds (rate, lowest, highest)."""
    samples = [("the attack", svg.line(-11, 0, 11, 0, stroke=svg.BLUE, width=2))]
    if allowed:
        samples.append(("allowed by the claim", svg.rect(-10, -5, 20, 10, fill=ALLOWED, stroke=svg.MUTED)))
    samples.append(("guessing", svg.line(-10, 0, 10, 0, stroke=svg.MUTED, dash="1 2")))
    names, used = svg.legend(samples, 2)
    top, bottom = used + 22, height - 36
    y, x = svg.Scale(0.0, 1.0, bottom, top), svg.Scale(0.0, 1.0, 34, svg.WIDTH - 14)
    parts = [names, svg.text(4, used + 12, "true positive rate", fill=svg.MUTED)]
    if allowed:
        upper = [f"{x.at(a) or 0:.1f},{y.at(high) or 0:.1f}" for a, _, high in allowed]
        lower = [f"{x.at(a) or 0:.1f},{y.at(low) or 0:.1f}" for a, low, _ in reversed(allowed)]
        parts.append(svg.element("path", d=f"M{'L'.join(upper + lower)}z", fill=ALLOWED, stroke=svg.MUTED))
    parts += [*y_axis(y, 34), *x_axis(x, top, bottom, "false positive rate")]
    parts.append(svg.line(x.start, y.start, x.end, y.end, stroke=svg.MUTED, dash="1 2"))
    places = [(x.at(a), y.at(b)) for a, b in points]
    drawn = [f"{a:.1f},{b:.1f}" for a, b in places if a is not None and b is not None]
    if len(drawn) > 1:
        parts.append(svg.element("path", d="M" + "L".join(drawn), fill="none", stroke=svg.BLUE, stroke_width=2.0))
    return svg.picture(title, height, parts)
