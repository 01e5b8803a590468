"""Published beside ours: one table per metric, as text, Markdown or HTML.

published      as printed in the paper (audited implementations: the best of 25 synthetic tables)
ours           mean and standard deviation over seeds; every run counts
ours best      per classifier the best run, then the average, as the papers do; optimistic, because the choice
               looks at real test rows
real data      setting A: the same models trained on the real rows
gain kept      of AUROC: (ours - 1/2) / (real data - 1/2), because papers' models on real rows are not ours

A metric that depends on a class's share is not set beside a published one where the shares differ (`OTHER_SHARES`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from benchmarks.cells import REAL
from benchmarks.published import look_up
from benchmarks.registry import DATASETS
from benchmarks.score import model_agreement
from benchmarks.suites import NOISE_FREE, NOT_PRIVATE, Reference, Suite, Variant

OTHER_SHARES = {("credit-card-fraud", "auprc")}  # 0.85 % frauds here, 0.17 % in the papers
LOWER_IS_BETTER = ("mmd", "dimension-wise-probability-error", "rmse")
METRIC_TITLES = {
    "auroc": "AUROC",
    "auprc": "AUPRC",
    "sra": "Synthetic ranking agreement",
    "accuracy": "Accuracy",
    "feature-ranking-agreement": "Feature ranking agreement",
    "dimension-wise-f1": "Dimension-wise F1",
    "dimension-wise-f1-top-50": "Dimension-wise F1, 50 most frequent columns",
    "dimension-wise-f1-top-100": "Dimension-wise F1, 100 most frequent columns",
    "mmd": "MMD (squared)",
}
FOOTNOTE = (
    "ours: mean (standard deviation) over seeds, every run counted; ours best: best run per classifier, "
    "as the papers report "
    "(optimistic: choosing looks at real test rows); real data: setting A; published numbers of the "
    "audited implementations are the best of 25."
)


@dataclass(frozen=True)
class Table:
    """Head and rows of text cells, ready to be drawn in any form."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def build(suite: Suite, records: Sequence[Mapping[str, Any]]) -> list[Table]:
    """One table per metric of the suite that has anything to show."""
    tables = [_table(suite, records, metric) for metric in suite.metrics]
    return [table for table in tables if table.rows]


def _table(suite: Suite, records: Sequence[Mapping[str, Any]], metric: str) -> Table:
    # References of other metrics' tables (e.g. audit Table 5 is AUROC, Table 10 AUPRC) have no numbers here and fall
    # away.
    used = {r.title: [o for o in suite.references if o.title == r.title] for r in suite.references}
    lines = []
    for key in _row_keys(suite, records):
        group = [r for r in records if _fit_key(suite, r) == key[:-1]]
        real = [r for r in records if r["dataset"] == key.dataset and r["method"] == REAL]
        variant = suite.variant(group[0]["options"])
        printed = {title: _printed(references, key, variant, metric) for title, references in used.items()}
        model = key.model
        lines.append(
            (
                _names(key),
                printed,
                _ours(group, real, metric, model),
                _real(real, metric, model),
                _gain_kept(group, real, metric, model),
            )
        )
    titles = [title for title in used if any(printed[title] is not None for _, printed, *_ in lines)]
    rows = tuple(
        (*names, *(_figure(printed[title]) for title in titles), *ours, real_data, *gain)
        for names, printed, ours, real_data, gain in lines
        if any(printed.values()) or ours[0] != "-" or real_data != "-"
    )
    head = ("data set", "method", "epsilon", *(("model",) if suite.per_model else ()))
    rows = rows if suite.per_model else tuple((*row[:3], *row[4:]) for row in rows)
    title = f"{suite.title}: {METRIC_TITLES.get(metric, metric)}"
    gain_title = ("gain kept",) if metric == "auroc" else ()
    return Table(title, (*head, *titles, "ours mean (sd)", "ours best", "real data (setting A)", *gain_title), rows)


class _Key(NamedTuple):
    """What a row of a table stands for."""

    dataset: str
    method: str
    variant: str  # its label
    epsilon: float | None
    model: str


def _fit_key(suite: Suite, record: Mapping[str, Any]) -> tuple[str, str, str, float | None]:
    label = "" if record["method"] == REAL else suite.variant(record["options"]).label
    return record["dataset"], record["method"], label, record["epsilon"]


def _row_keys(suite: Suite, records: Sequence[Mapping[str, Any]]) -> list[_Key]:
    keys: dict[_Key, None] = {}
    only_real = all(record["method"] == REAL for record in records)
    for record in records:
        if record["method"] == REAL and not only_real:
            continue
        for model in (*(_models(records) if suite.per_model else ()), "average"):
            keys.setdefault(_Key(*_fit_key(suite, record), model))
    order = {name: i for i, name in enumerate(suite.datasets)}
    return sorted(keys, key=lambda key: order.get(key.dataset, len(order)))


def _models(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(model for record in records for model in record.get("models", {})))


def _names(key: _Key) -> tuple[str, str, str, str]:
    title = DATASETS[key.dataset].title if key.dataset in DATASETS else key.dataset
    method = f"{key.method}, {key.variant}" if key.variant else key.method
    return title, method, "-" if key.epsilon is None else f"{key.epsilon:g}", key.model


def _printed(references: Sequence[Reference], key: _Key, variant: Variant, metric: str) -> float | None:
    if (key.dataset, metric) in OTHER_SHARES:
        return None
    model = key.model.removesuffix("-g-pate")  # the same model with the settings of that paper's appendix
    for reference in references:
        if key.method == REAL and reference.method != REAL:
            continue  # a row of real data has nothing to do with what a generator scored
        for method in [reference.method] if reference.method else [key.method, NOISE_FREE.get(key.method)]:
            wanted = {"table": reference.table, "dataset": key.dataset, "method": method, "metric": metric}
            text = reference.variant if variant.published is None else variant.published
            if text is not None:
                wanted["variant"] = text
            # A reference without privacy stands beside what was printed without privacy, whatever budget it was given.
            budget = math.inf if key.method in NOT_PRIVATE and not reference.method else key.epsilon
            for row in look_up(reference.paper, **wanted):
                if row.model in (model, "", "cnn") and (budget is None or row.epsilon in (None, budget)):
                    return row.value
    return None


def _ours(
    group: Sequence[Mapping[str, Any]], real: Sequence[Mapping[str, Any]], metric: str, model: str
) -> tuple[str, str]:
    """(mean (sd), best). A failed cell is counted in words, not silently left out."""
    if group and group[0]["method"] == REAL:
        return "-", "-"
    good = [record for record in group if record["status"] == "ok"]
    values = [value for record in good if (value := value_of(record, real, metric, model)) is not None]
    failed = len(group) - len(good)
    words = f"; {failed} failed" if failed else ""
    if not values:
        return (f"-{words}" if failed else "-"), "-"
    spread = f" ({statistics.stdev(values):.4f})" if len(values) > 1 else " (one run)"
    best = _best(good, values, metric, model)
    void = "; guarantee void" if any(record.get("guarantee") == "void" for record in good) else ""
    return f"{statistics.fmean(values):.4f}{spread}{words}{void}", f"{best:.4f}"


def _best(good: Sequence[Mapping[str, Any]], values: Sequence[float], metric: str, model: str) -> float:
    choose = min if metric in LOWER_IS_BETTER else max
    per_model = [[r["models"][name].get(metric) for r in good if name in r.get("models", {})] for name in _models(good)]
    known = [[value for value in runs if value is not None] for runs in per_model]
    if model == "average" and known and all(known):
        return statistics.fmean(choose(runs) for runs in known)
    return choose(values)


def value_of(record: Mapping[str, Any], real: Sequence[Mapping[str, Any]], metric: str, model: str) -> float | None:
    """A run's figure; ranking agreement needs the run of the same seed on real rows."""
    if metric == "sra":
        own = next((r for r in real if r["seed"] == record["seed"] and r["status"] == "ok"), None)
        return None if own is None else model_agreement(own["models"], record.get("models_c", {}))
    if model != "average":
        return record.get("models", {}).get(model, {}).get(metric)
    return record.get("metrics", {}).get(metric)


def _real(real: Sequence[Mapping[str, Any]], metric: str, model: str) -> str:
    if metric in ("sra", "feature-ranking-agreement", "mmd"):
        return "-"  # rows against themselves: nothing to learn
    values = [v for r in real if r["status"] == "ok" and (v := value_of(r, (), metric, model)) is not None]
    return f"{statistics.fmean(values):.4f}" if values else "-"


def _gain_kept(
    group: Sequence[Mapping[str, Any]], real: Sequence[Mapping[str, Any]], metric: str, model: str
) -> tuple[str, ...]:
    """One cell for AUROC, none for others; "-" where real rows are no better than chance or were not scored."""
    if metric != "auroc":
        return ()
    means = []
    for records in (group, real):
        values = [value_of(record, (), metric, model) for record in records if record["status"] == "ok"]
        known = [value for value in values if value is not None]
        means.append(statistics.fmean(known) if known else math.nan)
    ours, ceiling = means
    kept = math.nan if group[0]["method"] == REAL or not ceiling > 0.5 else (ours - 0.5) / (ceiling - 0.5)
    return ("-" if math.isnan(kept) else f"{kept:.0%}",)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def markdown(tables: Sequence[Table], footnote: str = FOOTNOTE) -> str:
    """GitHub tables with a heading each."""
    parts = []
    for table in tables:
        lines = [f"| {' | '.join(cells)} |" for cells in (table.head, ["---"] * len(table.head), *table.rows)]
        parts.append(f"### {table.title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join([*parts, footnote, ""])


def html(tables: Sequence[Table], title: str, footnote: str = FOOTNOTE) -> str:
    """One self-contained page: no script, nothing fetched."""
    style = (
        "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 "
        "1rem;color:#1b1b1b;background:#fff}"
        "div{overflow-x:auto}table{border-collapse:collapse;margin:0 0 "
        "2rem}caption{text-align:left;font-weight:600;padding:.4rem 0}"
        "th,td{border-bottom:1px solid #ccc;padding:.3rem "
        ".7rem;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
        "th:first-child,td:first-child{text-align:left}@media print{body{margin:0}}"
    )
    parts = []
    for table in tables:
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
        parts.append(
            f""
            f"<div><table><caption>{escape(table.title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f""
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body><h1>{escape(title)}</h1>\n{''.join(parts)}\n"
        f"<p>{escape(footnote)}</p></body></html>\n"
    )


def rich(table: Table) -> Any:
    """For the terminal."""
    from rich.table import Table as RichTable

    drawn = RichTable(title=table.title, title_justify="left")
    for i, name in enumerate(table.head):
        drawn.add_column(name, justify="left" if i < 2 else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn
