"""Which method fits a table, judged from public facts and our own benchmark.

Facts come from the schema, the budget and a public number of rows; no row is read, so advice is free. Experience is what
`python -m benchmarks run` measured on public tables (`experience.py`; `experience.json`, which `python -m
benchmarks adviser` writes), for the use that is asked for: all columns and their relations (`everything`), the label, or counts.

Tables are near when they offer as much signal, s = mu rows / rows per unit with mu the Gaussian parameter of the budget (for
the label over the number of classes besides), as many columns, and as many numeric ones; weights fall off as a Gaussian
kernel. The method that ran on most near tables is recommended, or the one that kept most more than it where both ran
(`experience.ranked`); the weighted mean of its `kept`, its range and those of the measures are what to expect, widened as tables
left out have shown to be needed. Bounds and categories that the schema leaves open take their
toll from both: less of the budget is left to learn from, and on a small table part of them is not found (`estimates.toll`).
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from understudy import estimates
from understudy.accounting import Budget
from understudy.accounting.gaussian import mu as gaussian_mu
from understudy.accounting.plan import HISTOGRAM_WEIGHT
from understudy.adviser.experience import (
    EVERYTHING,
    LABEL,
    TYPICAL_ROWS,
    USES,
    Experience,
    Facts,
    Outlook,
    nearness,
    ranked,
    shipped,
)
from understudy.errors import UsageError
from understudy.methods.registry import METHODS, WEIGHED
from understudy.schema import Schema

AUTO = "auto"
NUMERIC = ("continuous", "integer", "ordinal", "datetime")
FOR_THE_LABEL = 'use="label"'  # the way to ask for it; commands have a flag of another name
NEAR = 0.3  # total weight below which no benchmark table counts as similar
COUNT_NOISE = 0.2  # of a class: noise on its count beyond this share, and nothing can be learned of it
USEFUL = 0.3  # of the gain over chance; below it a model trained on the stand-in says little about people
USEFUL_WHOLE = 0.1  # of the dependence between columns; below it columns are hardly better than unrelated
WIDE = 0.67  # of the scale: a range that leaves so much open is no forecast
WHOLE_TABLE = (
    "clique-tree",
    "aim",
    "mst",
)  # methods for all columns together, the first that exists and takes so many columns


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A recommendation with its reasons."""

    method: str
    why: str  # two sentences
    expect: str
    useful: bool
    similar: tuple[str, ...]  # titles of the benchmark tables it rests on, nearest first
    outlook: tuple[Outlook, ...]  # best first
    rows_needed: int = 0  # from about how many rows on the fit can be of use
    hopeless: bool = False  # no method can work, whatever is expected of this one

    def to_dict(self) -> dict[str, object]:
        """As JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """The same words, for `print`."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The choice and the outlook in words."""
        return [f"{self.method}: {self.why}", self.expect]


def facts_of(schema: Schema, epsilon: float, delta: float = 1e-5, rows: int | None = None) -> Facts:
    """The public facts of a fit. `rows` overrides the schema's own public count."""
    Budget(epsilon, delta)  # refuses what cannot be a budget
    toll = estimates.toll(schema, gaussian_mu(epsilon, delta), delta, rows or schema.rows)
    features = schema.features
    numeric = sum(column.kind in NUMERIC for column in features)
    classified = schema.label_kind in ("binary", "multiclass")
    label = schema.column(schema.label) if classified and schema.label is not None else None
    classes = max(2, len(label.categories or ())) if label is not None else 1
    return Facts(
        epsilon=epsilon,
        delta=delta,
        rows=rows or schema.rows,
        columns=max(len(features), 1),
        numeric=numeric / max(len(features), 1),
        classes=classes,
        rows_per_unit=schema.max_rows_per_unit,
        label=schema.label_kind,
        learning=toll.learning,
        classes_declared=label is None or label.categories is not None or label.kind == "boolean",
    )


class Prospect(NamedTuple):
    """What can be said of a fit before a method is chosen: public facts alone, no experience."""

    hopeless: str  # why no method can work; empty: one may
    rows_needed: int  # from about how many rows on the fit can be of use

    def words(self, rows: int | None) -> str:
        """For people; nothing where so many rows are enough."""
        return self.hopeless or (_from_rows_on(self.rows_needed) if rows is None else "")


def prospect(schema: Schema, *, epsilon: float, delta: float = 1e-5, rows: int | None = None) -> Prospect:
    """What those hear who name their method: whether any can work. `advise` asks this, too, and ranks methods besides."""
    facts = facts_of(schema, epsilon, delta, rows)
    toll = estimates.toll(schema, gaussian_mu(epsilon, delta), delta, facts.rows)
    return Prospect(too_little(facts) or not_found(facts, toll), enough_rows(facts, toll))


def advise(
    schema: Schema,
    *,
    epsilon: float,
    delta: float = 1e-5,
    rows: int | None = None,
    method: str | None = None,
    experience: Sequence[Experience] | None = None,
    use: str = EVERYTHING,
    weighed: bool = False,
) -> Advice:
    """The method to take for a table with this schema, and what to expect of it; or what to expect of `method`.

    `use` is what the stand-in is for: everything, label or counts. `weighed`: only methods that have a workload will do.
    """
    if use not in USES:
        raise UsageError(f"use: {use!r} is unknown; choose one of {', '.join(USES)}")
    facts = facts_of(schema, epsilon, delta, rows)
    toll = estimates.toll(schema, gaussian_mu(epsilon, delta), delta, facts.rows)
    every = shipped() if experience is None else tuple(experience)
    known = tuple(one for one in every if one.use == use)
    weights = [nearness(facts, one.facts, use) for one in known]

    def takes(name: str) -> bool:
        if method is not None:
            return name == runs(method, schema)
        return name in WEIGHED if weighed else name == runs(name, schema)

    outlook = ranked(known, weights, takes)
    near = by_title(known, weights)
    hopeless, needed = prospect(schema, epsilon=epsilon, delta=delta, rows=rows)
    if not outlook and method is not None and use != LABEL and schema.label_kind != "none":
        return advise(schema, epsilon=epsilon, delta=delta, rows=rows, method=method, experience=every, use=LABEL)
    alone = len({column.name for column in schema.columns if column.kind != "identifier"}) < 2  # then no columns depend
    if not outlook or alone or sum(near.values()) < NEAR:
        return without_experience(facts, hopeless, method, needed, WEIGHED if weighed else WHOLE_TABLE)
    ran = {one.title for one in known if one.method == outlook[0].method}
    nearest = [title for title in near if title in ran]
    similar = tuple([title for title in nearest if near[title] > 0.1][:3] or nearest[:1])
    why = reasons(facts, outlook, similar, paired(known, weights, outlook), use)
    outlook = [less(one, toll) for one in outlook]
    best = outlook[0]
    chosen = best.method if method is None else method
    enough = best.kept >= (USEFUL if use == LABEL else USEFUL_WHOLE)
    useful = not hopeless and (enough or _useful_for_label(schema, epsilon, delta, rows, chosen, every, use))
    return Advice(
        method=chosen,
        why=why,
        expect=hopeless or expectation(facts, best, enough, toll, needed, use),
        useful=useful,
        similar=similar,
        outlook=tuple(outlook),
        rows_needed=needed,
        hopeless=bool(hopeless),
    )


def runs(method: str, schema: Schema) -> str:
    """The method that fits such a table when this one is asked to: itself, the one that it hands the table over to, or none."""
    row = METHODS.get(method)
    if row is None:
        return method  # of somebody else, who says what it takes
    pictures = bool(row.wider) and {column.kind for column in schema.columns if column.name != schema.label} == {
        "image"
    }
    return row.wider if pictures or len(schema.features) > row.most_columns else method


def by_title(known: Sequence[Experience], weights: Sequence[float]) -> dict[str, float]:
    """How near each benchmark table is at the nearest of its budgets; the nearest table first."""
    near: dict[str, float] = {}
    for one, weight in zip(known, weights, strict=True):
        near[one.title] = max(weight, near.get(one.title, 0.0))
    return dict(sorted(near.items(), key=lambda pair: -pair[1]))


def recommend(facts: Facts, known: Sequence[Experience], among: Sequence[str]) -> Outlook | None:
    """The outlook of the best of some methods, from experience of one use; None where no table is near."""
    weights = [nearness(facts, one.facts, one.use) for one in known]
    if sum(by_title(known, weights).values()) < NEAR:
        return None
    return next(iter(ranked(known, weights, lambda method: method in among)), None)


def _useful_for_label(
    schema: Schema, epsilon: float, delta: float, rows: int | None, method: str, known: Sequence[Experience], use: str
) -> bool:
    """Whether a fit that keeps few relations still serves models of the label."""
    if use == LABEL or schema.label_kind == "none":
        return False
    advice = advise(schema, epsilon=epsilon, delta=delta, rows=rows, method=method, experience=known, use=LABEL)
    return advice.useful and bool(advice.outlook)


def less(one: Outlook, toll: estimates.Toll) -> Outlook:
    """An outlook with estimates: at worst all that they lose mattered, at best only columns that are not found at all."""
    middle = (toll.kept + toll.most) / 2
    return replace(one, kept=one.kept * middle, lowest=one.lowest * toll.kept, highest=one.highest * toll.most)


def paired(
    known: Sequence[Experience], weights: Sequence[float], outlook: Sequence[Outlook]
) -> tuple[str, float, float] | None:
    """The second method and what both kept where both ran; None unless the first kept more there."""
    if len(outlook) < 2:
        return None
    first, second = outlook[0].method, outlook[1].method
    kept: dict[tuple[str, float], dict[str, float]] = {}
    mass = {one.place: weight for one, weight in zip(known, weights, strict=True)}
    for one in known:
        kept.setdefault(one.place, {})[one.method] = one.kept
    both = {place: values for place, values in kept.items() if first in values and second in values}
    total = sum(mass[place] for place in both)
    if not total:
        return None

    def mean(name: str) -> float:
        return float(sum(mass[place] * values[name] for place, values in both.items()) / total)

    ahead = round(mean(first), 2) > round(mean(second), 2)
    return (second, mean(first), mean(second)) if ahead else None


def class_noise(facts: Facts) -> float:
    """Standard deviation of the noisy count of a class."""
    return facts.rows_per_unit / (facts.mu * math.sqrt(HISTOGRAM_WEIGHT))


def enough_rows(facts: Facts, toll: estimates.Toll) -> int:
    """From about how many rows on a fit can be of use: class counts stand out, and estimates find what they look for."""
    return max(math.ceil(class_noise(facts) / COUNT_NOISE * facts.classes), toll.rows_needed)


def too_little(facts: Facts) -> str:
    """Why nothing can work, if so: the noise on the count of a class is a good part of the class itself."""
    if facts.rows is None:
        return ""
    noise, size = class_noise(facts), facts.rows / facts.classes
    if noise < COUNT_NOISE * size:
        return ""
    return (
        f"No method will give something useful: even the number of rows of a class is known only to +-{noise:,.0f} of about "
        f"{size:,.0f}. What would help: more rows, a larger epsilon, fewer rows per unit, fewer classes."
    )


def not_found(facts: Facts, toll: estimates.Toll) -> str:
    """Why nothing can work, if so: most of what the schema leaves open would not be found."""
    if facts.rows is None or toll.kept >= USEFUL:
        return ""
    return (
        f"No method will give something useful: of {toll.count} columns that are estimated, {len(toll.lost)} would not be found "
        f"in {facts.rows:,} rows. What would help: declare bounds and categories in the schema, the label's first."
    )


def reasons(
    facts: Facts,
    outlook: Sequence[Outlook],
    similar: Sequence[str],
    against: tuple[str, float, float] | None,
    use: str = LABEL,
) -> str:
    """Why this method, in words: what it kept on which tables where it was run, and what stood second there."""
    best = outlook[0]
    names = ", ".join(similar)
    first = f"On the benchmark tables most like this one on which it was run ({names}) "
    what = "gain over chance" if use == LABEL else "dependence between columns"
    first += f"it kept {best.kept:.0%} of the {what} that real rows give"
    if against is not None:
        first += f"; where {against[0]} was run too, {against[1]:.0%} against {against[2]:.0%}"
    rows = f"{facts.rows:,} rows" if facts.rows else f"an unknown number of rows ({TYPICAL_ROWS:,} assumed)"
    second = (
        f"Compared by public facts only: {_columns(facts)}, {facts.numeric:.0%} of them numeric, "
        f"{rows}, {_classes(facts)}, epsilon {facts.epsilon:g}"
    )
    return f"{first}. {second}."


def expectation(facts: Facts, best: Outlook, useful: bool, toll: estimates.Toll, needed: int, use: str = LABEL) -> str:
    """What to expect of this fit, in words, with what limits the guess."""
    wide = best.highest - best.lowest > WIDE
    told = _forecast(best, toll, use) + (NO_FORECAST if wide else "")
    if facts.rows is None:
        told = f"{_from_rows_on(needed)} With {TYPICAL_ROWS:,} rows {told[0].lower()}{told[1:]}"
        told += "; a public row count says more"
    if toll.lost:
        told += f"; {_estimated(len(toll.lost))} would not be found: declare what is known of them"
    if facts.classes == 1 and use == LABEL:
        told += "; those tables have a class label, this one has none, so take it as a rough guide"
    if not useful:
        little = "What they kept on average is" if wide else "That is"
        told += f". {little} too little to be of use: more rows or a larger epsilon would help"
        told += (
            ""
            if use == LABEL or facts.label == "none"
            else f"; models of one label may still be served ({FOR_THE_LABEL})"
        )
    return told + "."


NO_FORECAST = (
    ". So wide a range of the share is no forecast, results on similar tables are too far apart: evaluate a fit on public rows "
    "of the same form first"
)


def _forecast(best: Outlook, toll: estimates.Toll, use: str) -> str:
    """What near tables kept, as ranges."""
    span = _span("%", best.lowest, best.highest)
    told = f"Expect classifiers to keep {span} of their gain over chance"
    if use != LABEL:
        told = f"Expect {span} of the dependence between columns to be kept{_measured(best)}"
    told += " (what they kept on those tables, widened as tables left out have shown to be needed"
    return told + (f"; {_estimated(toll.count)} counted in)" if toll.count else ")")


WORDS = {
    "two-way": "distance of pairs",
    "three-way": "distance of triples",
    "query": "error of counting queries",
    "told-apart": "told from real",
    "other-targets": "other columns predicted",
}


def _span(form: str, low: float, high: float) -> str:
    """A range in words."""
    written = [f"{one:.0%}" if form == "%" else f"{one:.2f}" for one in (low, high)]
    return f"about {written[1]}" if written[0] == written[1] else " to ".join(written)


def _measured(best: Outlook) -> str:
    """The measures that matter for the use, as they were on near tables."""
    parts = [f"{word} {_span('', *best.measures[name])}" for name, word in WORDS.items() if name in best.measures]
    return f": {', '.join(parts)}" if parts else ""


def promised(advice: Advice) -> dict[str, tuple[float, float]]:
    """The ranges that `expect` states: of the share that is kept, and of the measures."""
    if not advice.outlook or advice.hopeless:
        return {}
    best = advice.outlook[0]
    return {"kept": (best.lowest, best.highest)} | dict(best.measures)


def without_experience(
    facts: Facts, hopeless: str, named: str | None, needed: int, among: Sequence[str] = WHOLE_TABLE
) -> Advice:
    """A rule of thumb where no benchmark table is similar: the method for whole tables, as far as it takes so many columns."""
    fitting = [one for one in among if one in METHODS and facts.columns <= METHODS[one].most_columns]
    method = named or (fitting[0] if fitting else "mean-embedding" if among is WHOLE_TABLE else among[0])
    why = (
        "It measures columns together, which serves every use of a table."
        if fitting
        else "It needs one answer for all columns together, which is what many columns ask for."
    )
    if named is not None:
        why = "It was asked for by name."
    unknown = "What to expect is not known; evaluate a fit on public rows of the same form first."
    if facts.rows is None:
        unknown = f"{_from_rows_on(needed)} {unknown}"
    return Advice(
        method=method,
        why=(
            f"{why} No benchmark table is like this one ({_columns(facts)}, {_classes(facts)}, epsilon "
            f"{facts.epsilon:g}): a rule of thumb."
        ),
        expect=hopeless or unknown,
        useful=not hopeless,
        similar=(),
        outlook=(),
        rows_needed=needed,
        hopeless=bool(hopeless),
    )


def _from_rows_on(needed: int) -> str:
    return f"It works from about {needed:,} rows on."


def _estimated(count: int) -> str:
    return f"{count} estimated column{'s' if count > 1 else ''}"


def _columns(facts: Facts) -> str:
    return f"{facts.columns} column{'s' if facts.columns > 1 else ''}"


def _classes(facts: Facts) -> str:
    if facts.classes == 1:
        return "no class label"
    return f"{facts.classes} classes" if facts.classes_declared else "a label whose classes are not declared"
