"""A question to a model: estimate, interval, how much of its width is privacy noise, and what rests on the model alone.

The question is answered on copies of the stand-in (`Model.redrawn`) and combined (`combine`). Copies do not show what is
wrong in all of them alike. For that the interval is widened on either side, with s the standard deviation of what is
averaged in all rows and p the share of rows in the group:

**Not counted together.** No released table holds all columns of the question. The model supplies their dependence: largest
entropy, that is as little as the tables allow. A correlation rho between group and value that the model does not know moves
the group's mean by rho s sqrt((1 - p) / p); the interval allows for rho = `UNKNOWN`, and the answer says that it rests on
the model.

**Counted in cells.** A table counts a numeric column in a few cells, and within a cell the model takes all groups to be
alike: the same formula, with the standard deviation within cells for s and rho = `WITHIN`. Quantiles allow for half the
interval that they fall into. A condition (`age = 40`) most of whose rows share cells with others is not told by the counts at
all: such an answer rests on the model like one that no table counts.

**Hidden by shrinkage.** What noise hides `mean-embedding` takes to be alike in all groups, and so do its copies; the sum over a
group may be off by 1.96 deviations of its noise. (Counts of other methods that noise makes negative become zero, which draws a
small group towards everybody else, and in copies once more: that is taken off as bias, see `rules`.)

**Rare values.** A count that does not stand out from its noise is drawn towards others, in the fit and not in its copies. Of the
share of one value the interval is widened by what the model's rows differ from the released count, which is noisy and
not drawn anywhere, where that is below four deviations of its noise.

**Shares of the label.** Every method draws classes in exact shares (`sampling/even.py`), so that none of their sampling variance
shows between copies, and none is taken off.

**Rows of one person** are not independent; the sampling part of the variance is multiplied by the most rows that one person
may have, which is the worst case.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from understudy.artifact import Model
from understudy.errors import UsageError
from understudy.infer import ranges
from understudy.infer.codes import OfSpecials, Outcome, with_companions
from understudy.infer.columns import numbers_alone, rows_of_a_person
from understudy.infer.condition import MISSING, THERE, Condition
from understudy.infer.question import Question, parse
from understudy.infer.rules import UNKNOWN, WITHIN, About, Combined, combine, widened
from understudy.infer.run import MOST_ROWS, Found, own_tables, rests_on_the_model, too_short
from understudy.released import covers, fitted_tables
from understudy.seeds import rng

HALF = 0.5  # of a condition's rows in cells that hold others, too: from there on counts do not tell it


@dataclass(frozen=True)
class Line:
    """The answer for one group."""

    group: str
    combined: Combined
    allowance: float  # by how much the interval was widened on either side for what the model does not know
    bare: tuple[float, float]  # the interval without it


@dataclass(frozen=True)
class Answered:
    """All groups, and what to know about them."""

    question: str
    lines: tuple[Line, ...]
    covered: bool
    remarks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        found = [{"group": one.group, "allowance": one.allowance} | asdict(one.combined) for one in self.lines]
        return {"question": self.question, "covered": self.covered, "remarks": list(self.remarks), "answers": found}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Copies that serve many questions."""

    frames: list[pd.DataFrame]
    totals: list[int]  # rows of the table, according to each copy
    resolution: Any  # how finely the model sees a column
    chance: float = 1.0  # how much of the sampling variance of rows shows between copies
    own: Sequence[pd.DataFrame] = ()  # tables of the model itself

    @cached_property
    def together(self) -> pd.DataFrame:
        """All tables one below the other, the copies first."""
        return pd.concat([*self.frames, *self.own], ignore_index=True)

    def ask(self, question: Question, rows: int) -> tuple[list[Found], list[Found]]:
        """Answers of the copies, and of the tables of the model itself, which has so many `rows`."""
        lengths = [len(frame) for frame in (*self.frames, *self.own)]
        found = question.on_each(self.together, lengths, [*self.totals, *(rows for _ in self.own)])
        return found[: len(self.frames)], found[len(self.frames) :]


def draw(
    model: Model,
    *,
    copies: int = 20,
    rows: int | None = None,
    seed: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Drawn:
    """Copies of a stand-in; with `rows` rows each, by default as many as the table has, up to `MOST_ROWS`.

    `on_progress` hears of every copy three times, when it is fitted, when its rows are drawn and while it is set beside tables
    of the model itself: some methods take seconds or, with many columns, a minute for each. The first
    word, of no steps, is said at once.
    """
    if copies < 2:
        raise UsageError(f"copies={copies} must be at least 2")
    size = min(model.rows, MOST_ROWS) if rows is None else rows
    step = on_progress or (lambda steps: None)
    step(0)
    source, random = model.redraw_source(), rng(seed)
    models, frames = [], []
    for one in source.copies(copies, random):
        models.append(one)
        step(1)
    for one in models:
        frames.append(prepared(one.sample(size, seed=int(random.integers(2**31))), model))
        step(1)
    chance = source.chance(size)
    own = [prepared(frame, model) for frame in own_tables(model, size, copies, chance, random, step)]
    return Drawn(frames, [one.rows for one in models], source.resolution, chance, own)


def answer(
    model: Model,
    text: str,
    *,
    copies: int = 20,
    rows: int | None = None,
    seed: int | None = None,
    about: About = "population",
    level: float = 0.95,
    drawn: Drawn | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Answered:
    """Answer a question such as `mean(hours) by sex where age > 40` with an interval. `drawn`: copies that `draw` made before;
    `on_progress` hears of those that are made now."""
    if not 0 < level < 1:
        raise UsageError(f"level={level:g} must lie between 0 and 1, such as 0.95")
    question = parse(text, model.resolved)  # with the categories that a fit found
    parts = split(question, model)  # before copies are made: what cannot be asked ends here
    drawn = drawn or draw(model, copies=copies, rows=rows, seed=seed, on_progress=on_progress)
    found = [answered(model, group, part, drawn, about, level) for group, part in parts]
    lines = [line for own in found for line in own.lines]
    if not lines:
        raise UsageError(f"question: no row of the stand-in answers {text!r}; ask about a larger group")
    merged = tuple(dict.fromkeys(one for own in found for one in own.merged))
    lost = {group for own in found for group in own.lost}
    covered = all(own.covered for own in found)
    return Answered(text, tuple(lines), covered, remarks(model, question, covered, merged, lost))


def prepared(rows: pd.DataFrame, model: Model) -> pd.DataFrame:
    """A drawn table as questions need it: numbers alone, and beside them which code stands where there is none."""
    return numbers_alone(rows, model.schema).assign(**with_companions(rows, model.schema))


def split(question: Question, model: Model) -> list[tuple[str | None, Question]]:
    """A question for every range of `by`; the question itself, which names its groups, where `by` is no number."""
    if not question.ranged:
        return [(None, question)]
    whole = replace(question, by=None, ranged=False, cuts=())
    return [(one.group, replace(whole, where=(*question.where, one))) for one in ranges.groups(question, model)]


class Part(NamedTuple):
    """What was found for one question."""

    lines: tuple[Line, ...] = ()
    covered: bool = True
    merged: tuple[str, ...] = ()
    lost: frozenset[str] = frozenset()  # groups that are too rare


def answered(model: Model, group: str | None, question: Question, drawn: Drawn, about: About, level: float) -> Part:
    """All groups of one question, or the `group` that it is itself."""
    each, own = drawn.ask(question, model.rows)
    groups = [name for name in each[0] if all(name in found and np.isfinite(found[name]).all() for found in each)]
    lost = frozenset(set(each[0]) - set(groups)) if group is None else frozenset([group])
    if not groups:
        return Part(lost=lost if group is not None else frozenset())
    covered = question.columns in ((), (model.schema.label,)) or covers(fitted_tables(model.released), question.columns)
    first, lines = drawn.frames[0], []
    merged = merged_values(question, drawn) if covered else ()
    covered = covered and not merged
    for name in groups:
        found = combine(
            [one[name][0] for one in each],
            [one[name][1] for one in each],
            about=about,
            ratio=rows_of_a_person(model) * len(first) / model.rows,
            level=level,
            chance=0.0 if question.columns == (model.schema.label,) else drawn.chance,
            own=[one[name][0] for one in own if name in one],
        )
        share = share_of(question, first, name)
        allowance = unknown(question, drawn, share, covered, found.estimate)
        if question.what == "count":
            allowance *= model.rows * share
        shown = possible(model, question, widened(found, allowance))
        lines.append(Line(name if group is None else group, shown, allowance, (found.low, found.high)))
    return Part(tuple(lines), covered, merged, lost if group is None else frozenset())


def merged_values(question: Question, drawn: Drawn) -> tuple[str, ...]:
    """Conditions on numbers that the counts of several columns cannot tell: most of their rows share a cell with others."""
    if len(question.columns) < 2:
        return ()
    asked = (one for one in (question.value, *question.where) if one is not None)
    found = [one for one in asked if drawn.resolution.merged(question.columns, seen(one)) > HALF]
    return tuple(map(str, found))


def seen(condition: Condition) -> Condition | Outcome:
    """A condition as the model's resolution asks it of a column's outcomes."""
    return Outcome(condition) if isinstance(condition, OfSpecials) else condition


def possible(model: Model, question: Question, found: Combined) -> Combined:
    """Of a share or a count: no less than nobody; of a share no more than everybody. Of numbers: what the schema allows."""
    least, most = 0.0, 1.0 if question.what == "share" else math.inf
    if question.what not in ("share", "count"):
        column = model.resolved.column(str(question.column))
        if column.kind not in ("integer", "continuous"):
            return found
        least, most = (float(bound) for bound in column.bounds)
    low, middle, high = (min(max(one, least), most) for one in (found.low, found.estimate, found.high))
    return replace(found, low=low, estimate=middle, high=high)


def unknown(question: Question, drawn: Drawn, share: float, covered: bool, estimate: float) -> float:
    """By how much the answer may be off for what all copies have in common, see above."""
    rows, resolution = drawn.frames[0], drawn.resolution
    odds = math.sqrt((1.0 - share) / share)
    if question.column is None:  # a count: off by so much of itself
        return 0.0 if covered else UNKNOWN * odds
    spread = spread_of(question, rows)
    if not covered:
        return UNKNOWN * spread * odds
    several = len(question.columns) > 1
    lost = resolution.hidden(question.column, spread) / (share * float(np.mean(drawn.totals))) if several else 0.0
    coarse = resolution.within_cells(question.columns, question.column) if several and question.value is None else 0.0
    rare = 0.0
    if not several and question.value is not None and question.value.sign in ("=", "!=", MISSING, THERE):
        held = estimate if question.value.sign in ("=", MISSING) else 1.0 - estimate
        total = float(np.mean(drawn.totals))
        rare = resolution.shrunk(question.column, question.value.value, held * total) / total
    finest = 0.5 * resolution.interval(question.column, estimate) if question.share is not None else 0.0
    return lost + WITHIN * coarse * odds + finest + rare


def spread_of(question: Question, rows: pd.DataFrame) -> float:
    """Standard deviation of what is averaged, over all rows."""
    if question.value is not None:
        share = float(question.value.holds(rows).mean())
        return math.sqrt(share * (1.0 - share))
    return float(rows[question.column].astype(float).std())


def share_of(question: Question, rows: pd.DataFrame, group: str) -> float:
    """Share of rows that the answer is about; 1 for a question about all of them."""
    kept = np.ones(len(rows), bool)
    for condition in question.where:
        kept &= condition.holds(rows).to_numpy()
    if question.by is not None:
        kept &= (question.by + "=" + rows[question.by].astype(str)).to_numpy() == group
    return float(np.clip(kept.mean(), 1.0 / max(len(rows), 1), 1.0))


def remarks(
    model: Model, question: Question, covered: bool, merged: tuple[str, ...], lost: set[str]
) -> tuple[str, ...]:
    """What a reader of the numbers should know."""
    said = [too_short(model)] if too_short(model) else []
    if merged:
        said.append(
            f"{', '.join(merged)}: counted together with the other columns only in cells that hold other values, too; the answer "
            f"rests on the model there, and the interval allows for a correlation of {UNKNOWN:g} that it does not know"
        )
    elif not covered:
        said.append(rests_on_the_model(model, question.columns))
    if rows_of_a_person(model) > 1:
        said.append("several rows may be of one person; the interval takes the worst case")
    if lost:
        said.append(f"too rare in the stand-in to be answered: {', '.join(sorted(lost)[:5])}")
    if model.people and (question.what == "count" or model.schema.max_rows_per_unit > 1):
        said.append(of_people(model, question))
    return tuple(said)


def of_people(model: Model, question: Question) -> str:
    """Whose number an answer is, where the rows of a person share a weight of 1."""
    unit = model.schema.unit
    if question.what != "count":
        return f"about people, not rows: each person ({unit!r}) counts once, however many rows are theirs"
    if model.schema.rows is None:
        return f"counts people, not rows: each person ({unit!r}) counts once, however many rows are theirs"
    return f"the share of people ({unit!r}) times the stated number of rows: each person counts once in that share"
