"""Recipe + schema + budget -> plan, from public values only.

Every release i has a weight w_i (weights add up to 1) and gets the noise multiplier z_i = s sqrt(T_i / w_i) for each of its T_i
answers. For Gaussian answers the sum of T_i / z_i^2 is 1 / s^2 whatever the split, so the common factor s is what
calibration solves for, and w_i is the share of the squared privacy loss that release i spends. At delta = 0 losses themselves
add up: Laplace answers get z_i = s T_i / w_i, and w_i is the share of epsilon. What the schema itself has cost
before (kinds of columns that were found privately) is a fixed charge beside them: its noise was drawn, s makes room for it.
"""

import math
from functools import partial

import dp_accounting as dpa

from understudy import estimates, keeping
from understudy.accounting import Budget, Charge, Plan, noise_scale, prior
from understudy.accounting import epsilon as price
from understudy.accounting.plan import COUNTED
from understudy.errors import UsageError
from understudy.recipe import Announced, Recipe
from understudy.schema import Schema

LARGEST_NOISE = 1e6  # noise multiplier of one answer; beyond it answers are noise alone and leave 32-bit integers
LARGEST_DELTA = 1e-3  # without a public number of rows: one in a thousand is too much for any table worth protecting


def make_plan(recipe: Recipe, schema: Schema, rows: int | None = None) -> Plan:
    """Solve for the noise and list every event of the fit. Reads no row; `rows` only makes the advice concrete."""
    recipe.check_options()
    recipe, handed_over = recipe.taken_by(schema)
    budget = recipe.budget
    announced = preparation(recipe, schema, budget) + recipe.announce(schema)
    paid = already_paid(schema, budget)
    factor = common_factor(announced, budget, paid) if announced else 0.0
    calibrated = multipliers(announced, factor, budget.pure)
    charges = paid + tuple(Charge(release.purpose, release.event(z), release.detail) for release, z in calibrated)
    noise = {release.purpose: z for release, z in calibrated}
    settings = recipe.settings(schema, rows or schema.rows)
    settings["estimate_share"] = estimates.share(recipe.estimate_share, schema)
    return Plan(
        method=recipe.method,
        budget=budget,
        unit=describe_unit(schema),
        charges=charges + recipe.unpriced(),
        parameters={"settings": settings, "noise": noise},
        notes=(
            *([handed_over] if handed_over else []),
            *delta_notes(budget, rows or schema.rows),
            *recipe.advice(schema, settings, noise, rows or schema.rows),
            *estimates.notes(schema, budget.delta, noise, rows or schema.rows),
            *keeping.notes(recipe.method, schema),
        ),
        valid=not recipe.void_reason,
        void_reason=recipe.void_reason,
    )


def delta_notes(budget: Budget, rows: int | None) -> list[str]:
    """Delta is the chance that the guarantee fails: above 1 / rows it allows to publish somebody's row outright."""
    limit = LARGEST_DELTA if rows is None else min(LARGEST_DELTA, 1.0 / rows)
    if budget.delta <= limit:
        return []
    why = f"more than one in {rows:,} rows" if rows is not None and budget.delta > 1.0 / rows else "far too large"
    return [
        f"LARGE DELTA: {budget.delta:g} is {why}; a method that publishes whole rows with that probability would pass. "
        "Take a delta well below 1 / rows"
    ]


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
    if budget.pure:
        check_pure(announced, fixed)
    factor = noise_scale(
        budget, lambda scale: fixed + [release.event(z) for release, z in multipliers(announced, scale, budget.pure)]
    )
    release, largest = max(multipliers(announced, factor, budget.pure), key=lambda pair: pair[1])
    if largest > LARGEST_NOISE:
        raise UsageError(
            f"epsilon={budget.epsilon:g} with delta={budget.delta:g} is too small: {release.purpose!r} would need noise of "
            f"{largest:,.0f} times one unit's influence; raise epsilon, or ask for less (fewer rounds, fewer estimates)"
        )
    return factor


def check_pure(announced: list[Announced], fixed: list[dpa.DpEvent]) -> None:
    """delta = 0 is for Laplace noise alone: whatever else is asked for has no price there."""
    asked = [release.purpose for release in announced if not math.isfinite(price(release.event(1e6), 0.0))]
    if asked or not math.isfinite(price(fixed, 0.0)):
        which = repr(asked[0]) if asked else "what the schema has cost"
        raise UsageError(
            f"delta=0: {which} has noise without a price at delta 0; give a delta such as 1e-5, or use method pate-gan or "
            "pate-gan-priced with noise=laplace, start=none (pate-gan) and a schema without estimates"
        )


def multipliers(announced: list[Announced], factor: float, pure: bool = False) -> list[tuple[Announced, float]]:
    """The noise multiplier of every release, for a common factor."""
    total = sum(release.weight for release in announced)
    if pure:
        return [(release, factor * release.answers * total / release.weight) for release in announced]
    return [(release, factor * math.sqrt(release.answers * total / release.weight)) for release in announced]


def preparation(recipe: Recipe, schema: Schema, budget: Budget) -> list[Announced]:
    """What every method pays first: the schema's estimates, and the class histogram or the row count."""
    groups = schema.estimates
    weights = estimates.weights(schema, estimates.share(recipe.estimate_share, schema))
    releases = []
    for group, columns in groups.items():
        what = "categories" if columns[0].kind == "categorical" else "bounds"
        detail = f"{what} of {len(columns)} column{'s' if len(columns) > 1 else ''}"
        event = partial(estimates.event, schema, group, budget.delta)
        releases.append(Announced(f"estimate {group}", weights[group], event, detail=detail))
    people = recipe.by_person and schema.unit is not None  # a public number of rows says little about their number
    if schema.rows is None or schema.label_kind in ("binary", "multiclass") or people:
        what = "people" if people else "rows"
        what = f"{what} of every class" if schema.label_kind in ("binary", "multiclass") else f"{COUNTED}{what}"
        noise = dpa.LaplaceDpEvent if budget.pure else dpa.GaussianDpEvent
        releases.append(Announced("class histogram", recipe.histogram_weight, noise, detail=what))
    return releases


def describe_unit(schema: Schema) -> str:
    """Who is protected, in words."""
    if schema.unit is None:
        return "one row"
    outside = "" if schema.people is None else f"; only {schema.people} are in it, rows of others are left out"
    return (
        f"all rows that share a value of column {schema.unit!r}, at most {schema.max_rows_per_unit} "
        f"row{'s' * (schema.max_rows_per_unit > 1)} "
        f"(rows without a value there are left out{outside})"
    )
