"""The table as a whole: every measure between real rows and no dependence, and the pairs of columns behind them."""

import functools

from markupsafe import Markup

from understudy.report import page
from understudy.report.charts import Mark, Reference, bar_chart
from understudy.report.fidelity import SHOWN_PAIRS, choose, draw_pairs, largest_pairs
from understudy.report.node import Element
from understudy.report.utility import mark

TITLES = {
    "one-way": "Single columns",
    "two-way": "Pairs of columns",
    "three-way": "Triples of columns",
    "association": "Associations",
    "strong-association": "Strong pairs",
    "query": "Counting queries",
    "told-apart": "Told from real",
    "label-target": "Label predicted",
    "other-targets": "Others predicted",
    "k-marginal": "k-marginal",
    "impossible-rows": "Impossible rows",
    "determined-pairs": "Determined pairs",
}
MEANINGS = {
    "one-way": "share of rows that would have to move to make a column equal, mean over columns",
    "two-way": "the same for the joint distribution of two columns, mean over pairs",
    "three-way": "the same for three columns, mean over triples drawn at random",
    "association": "mean difference of Cramér's V over all pairs",
    "strong-association": "the same over pairs whose real V is at least 0.3",
    "query": "mean relative error of random questions about three columns",
    "told-apart": "AUROC of boosted trees, real against synthetic; 0.5 cannot tell (copies of real rows score below)",
    "label-target": "share of the gain over chance that boosted trees keep for the label",
    "other-targets": "share of the gain over chance that boosted trees keep for other columns",
    "k-marginal": "NIST's score, 0 to 1000",
    "impossible-rows": "share of rows that hold a pair of values no real row holds",
    "determined-pairs": "share of rows that follow where one column determines another",
}
PERCENT = ("impossible-rows", "determined-pairs", "label-target", "other-targets")
MAPS = (
    ("real", "Real rows", "What the synthetic rows should look like."),
    (
        "synthetic",
        "Synthetic rows",
        "What to see: the same pattern as in the real rows; a pale map has lost the associations.",
    ),
    (
        "difference",
        "Synthetic − real",
        "What to see: pale is good. Orange: associated too strongly; blue: too weakly.",
    ),
)

_fill = functools.partial(page.fill, "whole_table")


def measures(root: Element) -> Markup:
    """Every measure with its references, and one chart that puts them on the same scale."""
    whole = root["fidelity"]["whole"] if root["fidelity"] else Element(None)
    if not whole:
        return Markup()
    judged = [one for one in whole["measures"] if one["lost"].number is not None]
    drawing = bar_chart(
        "How far each measure is on the way from real rows to no dependence",
        [(TITLES[one["name"].text], [Mark(value=one["lost"].number, path=one["lost"].path)]) for one in judged],
        ["synthetic rows"],
        label="0: as real rows, 1: no dependence",
        references=(Reference(name="real rows", value=0.0), Reference(name="no dependence", value=1.0)),
    )
    return _fill(
        "measures",
        whole=whole,
        titles=TITLES,
        meanings=MEANINGS,
        percent=PERCENT,
        judged=judged,
        drawing=drawing,
        targets=_targets(whole["targets"]),
    )


def _targets(found: Element) -> Markup:
    if not found:
        return Markup()
    rows = [
        (t["column"].text, [Mark(value=t["real"].number, path=t["real"].path), mark(t["synthetic"])]) for t in found
    ]
    return bar_chart(
        "AUROC of predicting a column from all others",
        rows,
        ["trained on real rows", "trained on synthetic rows"],
        label="AUROC on real test rows",
        references=(Reference(name="guessing", value=0.5),),
    )


def pairs(root: Element) -> Markup:
    """Three heat maps over the same columns, the pairs in numbers, and where rows are off."""
    whole = root["fidelity"]["whole"] if root["fidelity"] else Element(None)
    if not whole:
        return Markup()
    found = whole["associations"]
    if not found:
        return Markup('<p class="note">Fewer than two columns: there are no pairs.</p>')
    kept = choose(found["difference"], SHOWN_PAIRS)
    maps = []
    for side, title, caption in MAPS:
        limit, key = (0.5, "difference, colour ends at ±0.5") if side == "difference" else (1.0, "association")
        drawn = f"Association of pairs of columns: {title}"
        maps.append((title, draw_pairs(drawn, found["columns"], found[side], kept, limit, key), caption))
    cells = largest_pairs(found["difference"], kept)
    total = len(found["columns"])
    return _fill("pairs", found=found, whole=whole, total=total, kept=len(kept), maps=maps, cells=cells)
