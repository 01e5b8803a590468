"""Every published figure beside ours, with a verdict: docs/papers.md, written by `python -m benchmarks papers`.

One number per cell. Suites overlap (PATE-GAN on cervical cancer stands in three), so runs are pooled over all results files, and
of two runs of the same cell (data set, method, options, budget, classifiers, seed) the one that finished last counts:

    above, below         our mean is further from the published figure than the spread over seeds
    within the spread    it is not
    ... (one run)        there is no spread to say so
    not run (N min)      a data set and a method that are here, and no result; what one seed would take, by recorded seconds
    no score             a run whose rows cannot be scored so, as they are of one class, or of more than two
    not ours             a figure of another implementation

Tables with a figure for each classifier are told by their average and by how many classifiers are above.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import curves, store
from benchmarks.cells import REAL
from benchmarks.published import Printed, papers, rows
from benchmarks.registry import DATASETS
from benchmarks.suites import NOISE_FREE, NOT_PRIVATE, OF_G_PATE, SUITES, Variant
from benchmarks.tables import METRIC_TITLES, OTHER_SHARES, value_of
from understudy.files import write_atomically
from understudy.methods.registry import METHODS

HEAD = (
    "data set",
    "method",
    "metric",
    "epsilon",
    "published",
    "ours (sd, seeds)",
    "gain kept",
    "models above",
    "verdict",
)
OURS = (REAL, *METHODS)
FOUR_OF_G_PATE = {name.removesuffix(OF_G_PATE) for name in SUITES["g-pate-table-1"].classifiers or ()}
SAME_RUN = {"teachers=4000": "projection=10"}  # G-PATE varies one and keeps the other at its best: one row for both
FACTS = ("samples", "features", "columns", "positives", "imbalance", "auroc-change-percent")  # of data sets, not scores

PREFACE = """# The papers' tables, beside ours

Written by `python -m benchmarks papers` from `benchmarks/published` and `benchmarks/results`; no number in a table is typed by
hand. Ours is the mean over seeds of runs with a valid guarantee and default options (delta 1e-5;
[how it is measured](benchmark.md)), and stands here once per cell.
A verdict is *above* or *below* where the difference exceeds the spread over seeds.
On tables the defaults of `pate-gan`, `g-pate`, `dpgan` and `rdp-cgan` put all or nearly all of their budget into a paid
start, so two of them side by side compare starts; what votes and gradients reach alone stands in [pate-gan.md](pate-gan.md)
and [gradients.md](gradients.md).
*Gain kept* is (AUROC - 1/2) over that of models trained on real rows here: the papers' models on real rows are often stronger or
weaker than ours (RDP-CGAN's have 0.97 on the epileptic table where our twelve have 0.82, so that its 0.84 at epsilon 1 is
above our real rows). Published figures of the audited implementations are the best of 25. Noise-free columns of private
methods are compared with the reference that has the same networks (`gan`, `corgan`, `pate-gan-noise-free`,
`g-pate-noise-free`). Runs were made by several versions of the code, as their records say. What was not run has the time
beside it that one seed would take, from seconds that were recorded on two cores. Figures of tables that
are not public or not here (MAGGIC, UNOS, PTB Diagnostic, full MIMIC-III) are left out.
"""

Record = Mapping[str, Any]


class Line(NamedTuple):
    """What one line of the page is about."""

    dataset: str
    method: str
    metric: str
    epsilon: float | None
    variant: str


def write(page: Path, results: Path) -> str:
    """Write the page from the results files; returns its text."""
    records = pooled(results)
    parts = [PREFACE]
    for paper, about in papers().items():
        parts.append(f"## {about['citation']}\n")
        parts += [section(paper, table, title, records) for table, title in about["tables"].items()]
        parts += [f"Not in the text that we have: {gap}\n" for gap in about["left_out"]]
    text = "\n".join([*parts, curves.section(records)])
    write_atomically(page, text)
    return text


def pooled(results: Path) -> list[Record]:
    """Every finished run of every suite once."""  # quick runs have another file name
    return store.newest(record for name in SUITES for record in store.read(results / f"{name}.jsonl"))


def section(paper: str, table: str, title: str, records: Sequence[Record]) -> str:
    """One published table."""
    printed = [r for r in rows(paper) if r.table == table and r.metric not in FACTS and r.dataset in DATASETS]
    lines: dict[Line, list[Printed]] = {}
    for row in printed:
        lines.setdefault(Line(row.dataset, row.method, row.metric, row.epsilon, row.variant), []).append(row)
    body = [cells(paper, line, own, records) for line, own in lines.items()]
    heading = f"### Table {table}: {title}\n"
    if not body:
        return f"{heading}\nNothing here that can be set beside ours.\n"
    text = [f"| {' | '.join(row)} |" for row in (HEAD, ("---",) * len(HEAD), *body)]
    return "\n".join([heading, *text, ""])


def cells(paper: str, line: Line, printed: Sequence[Printed], records: Sequence[Record]) -> tuple[str, ...]:
    """The cells of one line."""
    average = next((row for row in printed if row.model in ("average", "", "cnn")), None)
    published = average.value if average else statistics.fmean(row.value for row in printed)
    own, real = ours(paper, line, records), matching(line._replace(method=REAL, epsilon=None), {}, records)
    own = [r for r in own if judged_alike(r, printed)]
    real = [r for r in real if judged_alike(r, printed)]
    each = set() if average else names_of_models(printed)
    values, ceiling = scores(own, real, line.metric, each), scores(real, (), line.metric, each)
    method = f"{line.method}, {line.variant}" if line.variant else line.method
    other_share = (line.dataset, line.metric) in OTHER_SHARES  # not set beside ours at all
    return (
        DATASETS[line.dataset].title,
        method,
        METRIC_TITLES.get(line.metric, line.metric),
        "-" if line.epsilon is None else f"{line.epsilon:g}",
        f"{published:.4f}",
        "-" if other_share else figure(values),
        kept(values, ceiling) if line.metric == "auroc" and line.method != REAL else "-",
        "-" if other_share else models_above(own, printed, line.metric),
        verdict(line, published, values) or why_not(line, own) or f"not run{estimate(line, records)}",
    )


def ours(paper: str, line: Line, records: Sequence[Record]) -> list[Record]:
    """Our runs of the same method at the same budget; noise-free columns are those of the reference with the same networks."""
    if line.method in NOT_PRIVATE:
        return matching(line._replace(epsilon=None), options_of(paper, line.variant), records, any_budget=True)
    if line.epsilon == float("inf"):
        reference = next((name for name, private in NOISE_FREE.items() if private == line.method), "")
        return matching(line._replace(method=reference), options_of(paper, line.variant), records, any_budget=True)
    return matching(line, options_of(paper, line.variant), records)


def why_not(line: Line, own: Sequence[Record]) -> str:
    """Why runs have no figure: models that saw one class tell nobody apart, and so rank nothing; AUPRC is of two classes."""
    if line.metric == "auprc" and any("accuracy" in record["metrics"] for record in own):
        return "no score: more than two classes"
    return "no score: rows of one class" if own and all(record["metrics"].get("auroc") == 0.5 for record in own) else ""


def estimate(line: Line, records: Sequence[Record]) -> str:
    """How long one seed of a cell would take, from the recorded seconds of its method and of its data set."""
    method = line.method
    if line.epsilon == float("inf") and method not in NOT_PRIVATE:
        method = next((name for name, private in NOISE_FREE.items() if private == method), method)
    here = [record for record in records if record["dataset"] == line.dataset and record.get("evaluate_seconds")]
    fits = [
        [record for record in records if record["method"] == name and record.get("fit_seconds")]
        for name in (method, line.method)  # where the reference was never run, the method that it is a reference for
    ]
    known = next((one for one in fits if one), [])
    nearest = [record for record in known if record["dataset"] == line.dataset] or known
    if not here or (not nearest and method != REAL):
        return " (time unknown)"
    seconds = statistics.median(record["evaluate_seconds"] for record in here)
    seconds += statistics.median(record["fit_seconds"] for record in nearest) if nearest else 0.0
    return f" (about {max(round(seconds / 60), 1)} min)"


def options_of(paper: str, variant: str) -> Mapping[str, Any] | None:
    """The options that make a published variant; None where no suite says so: the defaults are another variant."""
    variant = SAME_RUN.get(variant, variant)
    known: Iterable[Variant] = (
        one
        for suite in SUITES.values()
        if any(reference.paper == paper for reference in suite.references)
        for one in suite.variants
        if one.published == variant
    )
    found = next(iter(known), None)
    return (None if found is None else found.options) if variant else {}


def matching(
    line: Line, options: Mapping[str, Any] | None, records: Sequence[Record], any_budget: bool = False
) -> list[Record]:
    """Runs of this data set, method and budget with exactly these options and no void guarantee."""
    return [
        record
        for record in records
        if record["dataset"] == line.dataset
        and record["method"] == line.method
        and (any_budget or record["epsilon"] == line.epsilon)
        and options is not None
        and dict(record["options"]) == dict(options)
        and (record["method"] in NOT_PRIVATE or record.get("guarantee", "valid") != "void")
    ]


def names_of_models(printed: Sequence[Printed]) -> set[str]:
    """The classifiers that have a published figure of their own."""
    return {row.model for row in printed} - {"average", "", "cnn"}


def judged_alike(record: Record, printed: Sequence[Printed]) -> bool:
    """Whether the run was scored by the models of the table: all twelve, or the four of G-PATE's appendix with its settings."""
    each, own = names_of_models(printed), record.get("classifiers")
    if each and each <= FOUR_OF_G_PATE:
        return own is not None and {name.removesuffix(OF_G_PATE) for name in own} == FOUR_OF_G_PATE
    return own is None


def scores(records: Sequence[Record], real: Sequence[Record], metric: str, models: set[str]) -> list[float]:
    """The average figure of every run that has it: over the models that are named, or over all that judged the run."""
    if models:
        found = [[scores_of_model([record], metric, model) for model in models] for record in records]
        return [statistics.fmean(value for one in own for value in one) for own in found if all(own)]
    known = [value_of(record, real, metric, "average") for record in records]
    return [value for value in known if value is not None]


def scores_of_model(records: Sequence[Record], metric: str, model: str) -> list[float]:
    """One classifier's figure in every run that has it."""
    models = [entry for record in records for entry in record.get("models", {}).items()]
    found = [entry.get(metric) for name, entry in models if name.removesuffix(OF_G_PATE) == model]
    return [value for value in found if value is not None]


def figure(values: Sequence[float]) -> str:
    """Mean, standard deviation and number of seeds."""
    if not values:
        return "-"
    spread = f"{statistics.stdev(values):.4f}, {len(values)}" if len(values) > 1 else "one run"
    return f"{statistics.fmean(values):.4f} ({spread})"


def kept(values: Sequence[float], ceiling: Sequence[float]) -> str:
    """Share of the gain over chance that models trained on real rows have."""
    if not values or not ceiling or not statistics.fmean(ceiling) > 0.5:
        return "-"
    return f"{(statistics.fmean(values) - 0.5) / (statistics.fmean(ceiling) - 0.5):.0%}"


def models_above(records: Sequence[Record], printed: Sequence[Printed], metric: str) -> str:
    """Of the classifiers that have a published figure, how many have a higher mean here."""
    each = [row for row in printed if row.model not in ("average", "", "cnn")]
    pairs = [(row.value, scores_of_model(records, metric, row.model)) for row in each]
    known = [(value, statistics.fmean(own)) for value, own in pairs if own]
    return f"{sum(own > value for value, own in known)} of {len(known)}" if known else "-"


def verdict(line: Line, published: float, values: Sequence[float]) -> str:
    """In words, see the top of this file; empty where there is no result."""
    if line.method not in OURS:
        return "not ours: another implementation"
    if (line.dataset, line.metric) in OTHER_SHARES:
        return "not comparable: another share of the rare class"
    if not values:
        return ""
    mean = statistics.fmean(values)
    side = "above" if mean > published else "below"
    if len(values) == 1:
        return f"{side} (one run)"
    return side if abs(mean - published) > statistics.stdev(values) else "within the spread"
