"""Any analysis on all copies of a stand-in, combined.

    found = analyse(model, lambda rows: smf.logit("sick ~ age", rows).fit(disp=0))
    found["age"].estimate, found["age"].low, found["age"].high

A function gets one copy as a frame and returns

    (estimate, variance), or {name: (estimate, variance)}      its own variances
    a result of statsmodels (`params`, `cov_params()`)         every coefficient
    a number, an array, or a fitted scikit-learn estimator     variances by the bootstrap: rows drawn again with replacement

Bootstrap variances of the copies are averaged (`combine` needs their mean only), so a few resamples of each copy are enough.

**What a function looks at** is found by trying: the columns that change its answer when they are shuffled, one at a time, in the
first copy. (The mean of a column does not change; it needs no link to others.) Where no released table counts all of them
together, as for nearly every regression, the answer rests on the model: the interval is widened (`rules`), and `remark` says
so. It is widened a little where a table counts them together, a number among them in a few cells. Copies that were drawn before
come without their model, and nothing can be said about them.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from understudy.artifact import Model
from understudy.errors import UsageError
from understudy.infer.rules import UNKNOWN, WITHIN, About, Combined, combine, widened
from understudy.released import covers, estimated, fitted_tables
from understudy.seeds import rng

RESAMPLES = 6
EVEN = 4  # tables of the model itself, where rows are drawn evenly and tables hardly differ
MOST_ROWS = 50_000  # of a copy, unless more are asked for: copies of large tables would only be slow
TOO_SHORT = (
    "mean-embedding",
)  # methods whose intervals fell short in `python -m benchmarks.coverage` (docs/inference.md)
Found = dict[str, tuple[float, float]]
Values: TypeAlias = Sequence[Any] | np.ndarray | pd.Series


def analyse(
    source: Model | Iterable[pd.DataFrame],
    function: Callable[[pd.DataFrame], Any],
    *,
    copies: int = 20,
    rows: int | None = None,
    seed: int | None = None,
    about: About = "population",
    level: float = 0.95,
    ratio: float | int = 1.0,
    chance: float = 1.0,
) -> dict[str, Combined]:
    """Run `function` on every copy and combine. `source` is a model, whose copies are drawn, or copies that were drawn before.

    `ratio` and `chance` count for drawn copies, as in `combine`: their rows over the table's, and 0 for rows of `clique-tree`.
    """
    if isinstance(source, Model):
        size = min(source.rows, MOST_ROWS) if rows is None else rows
        redraw = source.redraw_source()
        frames: Iterable[pd.DataFrame] = source.copies(copies, rows=size, seed=seed, source=redraw)
        ratio, chance = size / source.rows, redraw.chance(size)
        itself = own_tables(source, size, copies, chance, rng(seed))
    else:
        frames, itself = source, []
    frames = list(frames)
    random = rng(seed)
    each = [evaluate(function, frame, random) for frame in frames]
    alone = [evaluate(function, frame, random) for frame in itself]
    if not each:
        raise UsageError("analyse: there are no copies")
    names = [name for name in each[0] if all(name in found for found in each)]
    missing = sorted({name for found in each for name in found} - set(names))
    if missing or not names:
        raise UsageError(
            f"analyse: {missing or 'nothing'} is not answered by every copy; a group may be empty in some of them"
        )
    found = {
        name: combine(
            [found[name][0] for found in each],
            [found[name][1] for found in each],
            about=about,
            ratio=ratio,
            level=level,
            chance=chance,
            own=[found[name][0] for found in alone if name in found],
        )
        for name in names
    }
    if not isinstance(source, Model):
        return found
    columns = looked_at(function, frames[0])
    remark = "; ".join(part for part in (too_short(source), rests_on_the_model(source, columns)) if part)
    unseen = not_known(source, redraw.resolution, columns, frames[0])
    spreads = {name: float(np.sqrt(len(frames[0]) * np.mean([one[name][1] for one in each]))) for name in names}
    return {name: replace(widened(one, unseen * spreads[name]), remark=remark) for name, one in found.items()}


def own_tables(
    model: Model,
    rows: int,
    copies: int,
    chance: float,
    random: np.random.Generator,
    on_progress: Callable[[int], None] = lambda steps: None,
) -> list[pd.DataFrame]:
    """Tables of the model itself, which show how far its copies are off on average: few where rows are drawn evenly.

    `on_progress` hears of as many steps as there are copies, however few tables that are.
    """
    count = copies if chance > 0.0 else min(copies, EVEN)
    found = []
    for number in range(count):
        found.append(model.sample(rows, seed=int(random.integers(2**31))))
        on_progress(copies * (number + 1) // count - copies * number // count)
    return found


def not_known(model: Model, resolution: Any, columns: Sequence[str], rows: pd.DataFrame) -> float:
    """By what part of its deviation an answer about these columns may be off for what all copies have in common (`rules`)."""
    if rests_on_the_model(model, columns):
        return UNKNOWN * math.sqrt(max(uncounted(model, columns), 1))
    if len(columns) < 2:
        return 0.0
    parts, hidden = [0.0], [0.0]
    for name in columns:
        spread = spread_of(rows[name], model.schema.column(name).kind in ("integer", "continuous"))
        if spread > 0.0:
            parts.append(resolution.within_cells(tuple(columns), name) / spread)
            hidden.append(0.0 if name == model.schema.label else resolution.hidden(name, spread) / spread)
    counts = np.asarray(model.class_counts, float) / max(float(np.sum(model.class_counts)), 1.0)
    least = float(np.sqrt((counts * (1.0 - counts)).min()))  # of the class that is hidden most
    unseen = max(hidden) / (model.rows * least) if least > 0.0 else 0.0
    return WITHIN * min(max(parts), 1.0) + min(unseen, 1.0)


def uncounted(model: Model, columns: Sequence[str]) -> int:
    """How many pairs of these columns no released table counts together."""
    tables = fitted_tables(model.released)
    return sum(not covers(tables, pair) for pair in itertools.combinations(columns, 2))


def spread_of(values: pd.Series, number: bool) -> float:
    """Standard deviation of a number, or of whether a value is not the commonest one; some values of numbers are codes."""
    if number:
        return float(pd.to_numeric(values, errors="coerce").std())
    common = float(values.value_counts(normalize=True).max())
    return float(np.sqrt(common * (1.0 - common)))


def looked_at(function: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> tuple[str, ...]:
    """Columns whose link to others a function's answer depends on: those that change it, or end it, when they are shuffled."""
    order, same = np.random.default_rng(0).permutation(len(frame)), outcome(function, frame)
    return tuple(
        str(name)
        for name in frame.columns
        if outcome(function, frame.assign(**{str(name): frame[name].to_numpy()[order]})) != same
    )


def outcome(function: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> str:
    """An answer, or how it failed, to ten digits: sums of the same numbers in another order are the same answer."""
    try:
        result = function(frame)
        if isinstance(result, Mapping):
            values = [part for pair in result.values() for part in pair]
        elif hasattr(result, "cov_params"):
            values = [*np.asarray(result.params), *np.diag(np.asarray(result.cov_params()))]
        else:
            values = list(result) if isinstance(result, tuple) else list(numbers(result))
        return " ".join(f"{float(value):.9e}" for value in values)
    except Exception as error:  # a function of the user, on rows that do not fit together
        return type(error).__name__


def too_short(model: Model) -> str:
    """A remark about methods whose intervals fell short when they were measured, and about tables of few rows."""
    if estimated(model.released):
        return (
            "the table has so few rows that classes were not counted but estimated from class means; intervals of such models "
            "held less often than they state when they were measured"
        )
    if model.plan.method not in TOO_SHORT:
        return ""
    return (
        f"intervals of {model.plan.method} held less often than they state when they were measured; where an interval decides "
        "something, fit clique-tree or mst"
    )


def rests_on_the_model(model: Model, columns: Sequence[str]) -> str:
    """A remark where no released table counts these columns together; empty where one does."""
    if tuple(columns) == (model.schema.label,) or covers(fitted_tables(model.released), columns):
        return ""
    return (
        f"no released table counts {', '.join(columns)} together: the answer rests on the model, and the interval allows for a "
        f"correlation of {UNKNOWN:g} that it does not know"
        + (f" in each of {pairs} pairs of columns" if (pairs := uncounted(model, columns)) > 1 else "")
    )


def evaluate(function: Callable[[pd.DataFrame], Any], frame: pd.DataFrame, random: np.random.Generator) -> Found:
    """Estimates and variances on one table."""
    result = function(frame)
    if isinstance(result, tuple) and len(result) == 2:
        return {"": (float(result[0]), float(result[1]))}
    if isinstance(result, Mapping):
        return {str(name): (float(pair[0]), float(pair[1])) for name, pair in result.items()}
    if hasattr(result, "cov_params"):
        variances = np.diag(np.asarray(result.cov_params()))
        return {
            str(name): (float(result.params[name]), float(v))
            for name, v in zip(result.params.index, variances, strict=True)
        }
    values = numbers(result)
    again = [
        numbers(function(frame.iloc[random.integers(0, len(frame), len(frame))].reset_index(drop=True)))
        for _ in range(RESAMPLES)
    ]
    if len({len(one) for one in [values, *again]}) > 1:
        raise UsageError("analyse: the function gives another number of values on other rows; name them in a mapping")
    spread = np.var(again, axis=0, ddof=1)
    names = [""] if len(values) == 1 else [str(place) for place in range(len(values))]
    return {name: (float(v), float(s)) for name, v, s in zip(names, values, spread, strict=True)}


def numbers(result: Any) -> np.ndarray:
    """A number, an array, or the coefficients of a scikit-learn estimator (the intercept last)."""
    if hasattr(result, "coef_"):
        result = np.concatenate([np.ravel(result.coef_), np.ravel(result.intercept_)])
    try:
        return np.atleast_1d(np.asarray(result, float)).ravel()
    except (TypeError, ValueError):
        raise UsageError(
            f"analyse: a {type(result).__name__} is no estimate; return numbers, or (estimate, variance)"
        ) from None


# -- common estimates with their variances --------------------------------------------------------------------------------------


def present(values: Values) -> np.ndarray:
    """The numbers that are there."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "bif":  # no need of a series, which takes longer to make
        return np.asarray(values[~np.isnan(values)], float)
    return np.asarray(pd.Series(values).dropna(), float)


def mean(values: Values) -> tuple[float, float]:
    """Mean of the values that are present, and its variance."""
    own = present(values)
    if len(own) < 2:
        return float("nan"), float("nan")
    return float(own.mean()), float(own.var(ddof=1) / len(own))


def proportion(holds: Values) -> tuple[float, float]:
    """Share of rows, and its variance (Agresti and Coull's centre keeps it above zero for shares of 0 and 1)."""
    own = present(holds)
    if len(own) == 0:
        return float("nan"), float("nan")
    centre = (own.sum() + 2.0) / (len(own) + 4.0)
    return float(own.mean()), float(centre * (1.0 - centre) / (len(own) + 4.0))


def difference(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Of two estimates on different rows."""
    return one[0] - other[0], one[1] + other[1]


def quantile(values: Values, share: float) -> tuple[float, float]:
    """Quantile, and its variance from the order statistics one standard error to either side (Woodruff 1952)."""
    own = np.sort(present(values))
    if len(own) < 2:
        return float("nan"), float("nan")
    step = np.sqrt(share * (1.0 - share) / len(own))
    low, middle, high = np.quantile(own, np.clip([share - step, share, share + step], 0.0, 1.0))
    return float(middle), float(((high - low) / 2.0) ** 2)
