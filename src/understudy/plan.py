"""Recipe + schema + budget -> plan, from public values only.

Every release i has a weight w_i (weights add up to 1) and gets the noise multiplier z_i = s sqrt(T_i / w_i) for each of its T_i
answers. For Gaussian answers the sum of T_i / z_i^2 is 1 / s^2 whatever the split, so the common factor s is what
calibration solves for, and w_i is the share of the squared privacy loss that release i spends. What the schema itself has cost
before (kinds of columns that were found privately) is a fixed charge beside them: its noise was drawn, s makes room for it.
"""

import math
from collections.abc import Mapping
from functools import partial

import dp_accounting as dpa

from understudy.accounting import Budget, Charge, Plan, noise_scale, prior
from understudy.accounting import epsilon as price
from understudy.errors import UsageError
from understudy.questions import ColumnBounds, ColumnCategories
from understudy.recipe import Announced, Recipe
from understudy.schema import Schema

THRESHOLD_DELTA = 0.1  # share of delta that private categories may use, all together
LARGEST_NOISE = 1e6  # noise multiplier of one answer; beyond it answers are noise alone and leave 32-bit integers
HISTOGRAM_WEIGHT = 0.1  # share of the squared loss for the class histogram: it sets class ratios and row counts


def make_plan(recipe: Recipe, schema: Schema, rows: int | None = None) -> Plan:
    """Solve for the noise and list every event of the fit. Reads no row; `rows` only makes the advice concrete."""
    recipe.check_options()
    budget = recipe.budget
    announced = preparation(recipe, schema, budget) + recipe.announce(schema)
    paid = already_paid(schema, budget)
    factor = common_factor(announced, budget, paid) if announced else 0.0
    calibrated = multipliers(announced, factor)
    charges = paid + tuple(Charge(release.purpose, release.event(z), release.detail) for release, z in calibrated)
    noise = {release.purpose: z for release, z in calibrated}
    settings = recipe.settings(schema, rows or schema.rows)
    return Plan(
        method=recipe.method,
        budget=budget,
        unit=describe_unit(schema),
        charges=charges + recipe.unpriced(),
        parameters={"settings": settings, "noise": noise},
        notes=(
            *recipe.advice(schema, settings, noise, rows or schema.rows),
            *estimate_notes(schema, budget.delta, noise),
        ),
        valid=not recipe.void_reason,
        void_reason=recipe.void_reason,
    )


def already_paid(schema: Schema, budget: Budget) -> tuple[Charge, ...]:
    """What the schema itself has cost: fixed charges, whose noise was drawn when it was drafted."""
    paid = prior.charges(schema.to_dict())
    spent = price([charge.event for charge in paid], budget.delta) if paid else 0.0
    if spent >= budget.epsilon:
        raise UsageError(
            f"finding the kinds of the schema's columns has cost epsilon {spent:.3g} at delta={budget.delta:g} already, and "
            f"nothing of epsilon={budget.epsilon:g} is left for a fit; raise epsilon"
        )
    return paid


def common_factor(announced: list[Announced], budget: Budget, paid: tuple[Charge, ...] = ()) -> float:
    """The smallest s that fits the budget beside what is paid already."""
    fixed = [charge.event for charge in paid]
    for release in announced:
        if not (math.isfinite(release.weight) and release.weight > 0.0):
            raise UsageError(f"the share of {release.purpose!r} is {release.weight}; shares must be positive numbers")
    factor = noise_scale(
        budget, lambda scale: fixed + [release.event(z) for release, z in multipliers(announced, scale)]
    )
    release, largest = max(multipliers(announced, factor), key=lambda pair: pair[1])
    if largest > LARGEST_NOISE:
        raise UsageError(
            f"epsilon={budget.epsilon:g} with delta={budget.delta:g} is too small: {release.purpose!r} would need noise of "
            f"{largest:,.0f} times one unit's influence; raise epsilon, or ask for less (fewer rounds, fewer estimates)"
        )
    return factor


def multipliers(announced: list[Announced], factor: float) -> list[tuple[Announced, float]]:
    total = sum(release.weight for release in announced)
    return [(release, factor * math.sqrt(release.answers * total / release.weight)) for release in announced]


def preparation(recipe: Recipe, schema: Schema, budget: Budget) -> list[Announced]:
    """What every method pays first: the schema's estimates, and the class histogram or the row count."""
    groups = schema.estimates
    if groups and not 0.0 < recipe.estimate_share < 0.8:
        raise UsageError(
            f"estimate_share={recipe.estimate_share} must lie between 0 and 0.8: the schema's estimates are paid from "
            "it, and the rest must be left to learn from"
        )
    releases = []
    for group, columns in groups.items():
        what = "categories" if columns[0].kind == "categorical" else "bounds"
        detail = f"{what} of {len(columns)} column{'s' if len(columns) > 1 else ''}"
        event = partial(estimate_event, schema, group, budget.delta)
        releases.append(Announced(f"estimate {group}", recipe.estimate_share / len(groups), event, detail=detail))
    if schema.rows is None or schema.label_kind in ("binary", "multiclass"):
        what = "rows of every class" if schema.label_kind in ("binary", "multiclass") else "number of rows"
        releases.append(Announced("class histogram", HISTOGRAM_WEIGHT, dpa.GaussianDpEvent, detail=what))
    return releases


def estimate_question(schema: Schema, group: str, delta: float, z: float) -> ColumnBounds | ColumnCategories:
    """The question that finds one group's bounds or categories, with noise multiplier `z`."""
    columns, rows = schema.estimates[group], schema.max_rows_per_unit
    names = tuple(column.name for column in columns)
    if columns[0].kind == "categorical":
        lists = sum(members[0].kind == "categorical" for members in schema.estimates.values())
        return ColumnCategories(names, z, THRESHOLD_DELTA * delta / lists, rows)
    whole = all(column.kind == "integer" for column in columns)
    return ColumnBounds(names, z, rows, datetimes=columns[0].kind == "datetime", whole=whole)


def estimate_event(schema: Schema, group: str, delta: float, z: float) -> dpa.DpEvent:
    return estimate_question(schema, group, delta, z).event


def estimate_notes(schema: Schema, delta: float, noise: Mapping[str, float]) -> list[str]:
    """From how many values on an estimate sees something: what is rarer is given up, and a small table loses much."""
    asked = [estimate_question(schema, group, delta, noise[f"estimate {group}"]) for group in schema.estimates]
    cells = [question.threshold for question in asked if isinstance(question, ColumnBounds)]
    lists = [question.threshold for question in asked if isinstance(question, ColumnCategories)]
    notes = []
    if cells:
        notes.append(
            f"estimated bounds see a range of values (a to 1.4 a; a year) from about {max(cells):,.0f} values in it on and clamp "
            "what lies beyond; bounds that you know are better and free"
        )
    if lists:
        notes.append(
            f"estimated categories are seen from about {max(lists):,} units on, rarer ones are lost; a list that you know is "
            "better and free"
        )
    return notes


def describe_unit(schema: Schema) -> str:
    if schema.unit is None:
        return "one row"
    return (
        f"all rows that share a value of column {schema.unit!r}, at most {schema.max_rows_per_unit} rows "
        "(rows without a value there are left out)"
    )
