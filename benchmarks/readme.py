"""The README's tables of results, written from the results files between two markers.

One row a data set at epsilon 1: real rows, the method of ours with the highest mean, PATE-GAN, and what the paper printed; and
for the whole of one table one row a method, with the newest code of each. Only full runs count (quick ones have another
file name), with default options and a valid guarantee, and only what is in the files: no number is typed by hand. Everything
else is in the files beside them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import store
from benchmarks.cells import REAL
from benchmarks.papers import pooled
from benchmarks.published import look_up
from benchmarks.registry import DATASETS
from benchmarks.suites import SUITES, Suite
from understudy.errors import UsageError
from understudy.files import write_atomically

START, END = "<!-- results -->", "<!-- /results -->"
EPSILON = 1.0
HEAD = ("data set", "real rows", "ours, best method", "ours, pate-gan", "published")


class Front(NamedTuple):
    """A suite whose data sets the README shows, the figure, and the method of which `paper` printed it in Table 2."""

    suite: str
    metric: str
    paper: str
    method: str


FRONT = (Front("methods", "auroc", "pate-gan", "pate-gan"), Front("g-pate-table-2", "accuracy", "g-pate", "g-pate"))
FOOTNOTE = (
    "Budget (1, 1e-5). AUROC of twelve classifiers trained on the rows named above and tested on held-out real rows (pictures:\n"
    "accuracy of a CNN), mean (standard deviation) over seeds, every finished run. Published: for the method in brackets.\n"
    "Written by `python -m benchmarks readme`. More methods, budgets and figures: [benchmarks/results](benchmarks/results)."
)

WHOLE, WHOLE_METRICS = "adult", ("two-way", "three-way", "association", "told-apart", "impossible-rows", "label-auroc")
WHOLE_METHODS = ("clique-tree", "aim", "mst", "mean-embedding", "dpmm mst", "smartnoise mst")
AGAIN = "real rows again"  # a bootstrap of the training rows; its label is that of the rows themselves
WHOLE_FOOTNOTE = (
    "The whole of Adult at (1, 1e-5): distance of pairs and triples of columns, error of associations, AUROC of telling rows\n"
    "from real ones, rows with a pair of values that no real row has, AUROC of boosting ([more](docs/clique-tree.md#measured))."
)


def update(readme: Path, results: Path) -> str:
    """Replace what stands between the markers; returns the text put there."""
    try:
        text = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--readme {str(readme)!r}: {error.strerror}") from None
    before, found_start, rest = text.partition(START)
    _, found_end, after = rest.partition(END)
    if not found_start or not found_end:
        raise UsageError(f"--readme {str(readme)!r} lacks the markers {START} and {END}")
    section = section_of(results)
    write_atomically(readme, f"{before}{START}\n{section}\n{END}{after}")
    return section


def section_of(results: Path) -> str:
    """The table as Markdown, with a line that says what it shows."""
    rows, every = [], pooled(results)  # a figure that stands in two suites is the same here and in docs/papers.md
    for front in FRONT:
        good = [r for r in every if counts(r) and judged_as(r, SUITES[front.suite])]
        rows += [row for name in SUITES[front.suite].datasets if (row := row_of(front, name, good))]
    if not rows:
        return "No results yet: `python -m benchmarks run --suite methods --data DIR` makes them."
    lines = [f"| {' | '.join(cells)} |" for cells in (HEAD, ["---"] * len(HEAD), *rows)]
    return "\n".join([*lines, "", FOOTNOTE, *whole(results)])


def whole(results: Path) -> list[str]:
    """What methods keep of one table as a whole, with a blank line before; nothing where none was run."""
    every = [r for r in store.latest(store.read(results / "whole-table.jsonl")).values() if r["dataset"] == WHOLE]
    every = [r for r in every if r["status"] == "ok" and r["epsilon"] == EPSILON and not r["options"]]
    good = [r for r in every if r["method"] in WHOLE_METHODS]
    if not good:
        return []
    rows, own = [], list[Mapping[str, Any]]()
    for method in WHOLE_METHODS:
        code = (
            max((r["finished"], r["code"]) for r in good if r["method"] == method)[1] if method in names(good) else ""
        )
        own = [r for r in good if r["method"] == method and r["code"] == code]
        if own:
            rows.append([method, *(figure([r["metrics"][name] for r in own], spread=False) for name in WHOLE_METRICS)])
    first = [r for r in good if r["method"] == good[0]["method"]]
    known = [[r["references"].get(name, {}).get("bootstrap") for r in first] for name in WHOLE_METRICS[:-1]]
    known.append([r["metrics"]["label-auroc-real"] for r in first])
    rows.append([AGAIN, *(figure(values, spread=False) for values in known)])
    head = ("method", *(name.replace("-", " ") for name in WHOLE_METRICS))
    return ["", *(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)), "", WHOLE_FOOTNOTE]


def names(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """Of the methods that were run."""
    return {record["method"] for record in records}


def counts(record: Mapping[str, Any]) -> bool:
    budget = record["method"] == REAL or record["epsilon"] == EPSILON
    return budget and not record["options"] and record.get("guarantee", "valid") == "valid"


def judged_as(record: Mapping[str, Any], suite: Suite) -> bool:
    """Whether a run's rows were scored as those of a suite are."""
    own = (
        record.get("scoring") or "utility",
        tuple(record.get("classifiers") or ()),
        record.get("max_rows", suite.max_rows),
    )
    return own == (suite.scoring, tuple(suite.classifiers or ()), suite.max_rows)


def row_of(front: Front, dataset: str, records: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """The data set's cells, or None where no method of ours was run."""
    runs: dict[str, list[float]] = {}
    for record in records:
        if record["dataset"] == dataset:
            runs.setdefault(record["method"], []).append(record["metrics"][front.metric])
    ours = [method for method in runs if method != REAL]
    if not ours:
        return None
    several = [
        method for method in ours if len(runs[method]) > 1
    ] or ours  # one run decides nothing where others have more
    best = max(several, key=lambda method: statistics.fmean(runs[method]))
    printed = look_up(
        front.paper, table="2", dataset=dataset, method=front.method, metric=front.metric, epsilon=EPSILON
    )
    return (
        DATASETS[dataset].title,
        figure(runs.get(REAL, []), spread=False),
        f"{figure(runs[best])} {best}",
        figure(runs.get("pate-gan", [])),
        f"{printed[0].value:.3f} ({front.method})" if printed else "-",
    )


def figure(values: Sequence[float], spread: bool = True) -> str:
    if not values:
        return "-"
    words = f" ({statistics.stdev(values):.3f})" if len(values) > 1 else " (one run)"
    return f"{statistics.fmean(values):.3f}{words if spread else ''}"
