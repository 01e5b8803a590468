"""What a fit would cost and what to expect of it, for the Plan page: public values in, public values out.

The same functions that `understudy plan` calls: the adviser, the estimator's plan, and the bound on the best attacker.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.accounting import Plan
    from understudy.adviser.advice import Advice

FALSE_ALARMS = (0.01, 0.05, 0.1)
AUTO = "auto"
USES = {"everything": "everything", "label": "predicting the label", "counts": "counts and cross tables"}


@dataclass(frozen=True)
class Wish:
    """What the form asks for."""

    epsilon: float = 1.0
    delta: float = 1e-5
    method: str = AUTO
    rows: int | None = None
    use: str = "everything"  # what the stand-in is for: the adviser ranks methods by it

    @classmethod
    def read(cls, sent: Mapping[str, str]) -> "Wish":
        """From the fields of the form; empty ones have their defaults."""
        method = sent.get("method", "").strip() or AUTO
        rows = _number(sent, "rows", None)
        if rows is not None and (rows < 1 or rows != int(rows)):
            raise UsageError("rows must be a whole number from 1")
        epsilon, delta = _number(sent, "epsilon", cls.epsilon), _number(sent, "delta", cls.delta)
        assert epsilon is not None and delta is not None
        use = sent.get("use", "") or cls.use
        return cls(epsilon, delta, method, None if rows is None else int(rows), use)


@dataclass(frozen=True)
class Outlook:
    """A plan, what it means for an attacker, and the adviser's view of it."""

    wish: Wish
    method: str
    plan: "Plan"
    advice: "Advice"
    gains: tuple[tuple[float, float], ...]  # false alarms, most true positives
    warnings: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the method says about itself on this table."""
        return tuple(self.plan.notes)


def outlook(schema: Schema, wish: Wish) -> Outlook:
    """The plan of a wish. No row is read; `wish.rows` only makes the advice concrete."""
    import understudy as us
    from understudy.adviser import advice as adviser

    named = None if wish.method == AUTO else wish.method
    kind = us.method(named) if named else None  # refuses a name that it does not know
    advice = adviser.advise(schema, epsilon=wish.epsilon, delta=wish.delta, rows=wish.rows, method=named, use=wish.use)
    method = named or advice.method
    plan = (kind or us.method(method))(epsilon=wish.epsilon, delta=wish.delta).plan(schema, rows=wish.rows)
    return Outlook(wish, method, plan, advice, gains(plan), tuple(_warnings(schema, wish)))


def useful(schema: Schema, options: Mapping[str, Any]) -> bool:
    """Whether anything can come of a fit with these options; `fit` refuses otherwise, unless forced."""
    from understudy.adviser import advice as adviser

    epsilon, delta = float(options["epsilon"]), float(options["delta"])
    return not adviser.prospect(schema, epsilon=epsilon, delta=delta, rows=options.get("rows")).hopeless


def gains(plan: "Plan") -> tuple[tuple[float, float], ...]:
    """For each rate of false alarms, how many members the best attacker can recognise."""
    from understudy.accounting.attacker import best_true_positive_rate, best_true_positive_rate_gaussian

    mu = plan.mu
    if mu is not None and math.isfinite(mu):
        return tuple((rate, best_true_positive_rate_gaussian(mu, rate)) for rate in FALSE_ALARMS)
    return tuple((rate, best_true_positive_rate(plan.epsilon, plan.budget.delta, rate)) for rate in FALSE_ALARMS)


def _warnings(schema: Schema, wish: Wish) -> list[str]:
    rows, said = wish.rows or schema.rows, []
    if rows is not None and wish.delta * rows >= 1:
        said.append(
            f"delta {wish.delta:g} is not below 1 / {rows:,}: a method could publish one person outright and still keep such a "
            "promise. Choose a smaller delta."
        )
    elif wish.delta > 1e-3:
        said.append(f"delta {wish.delta:g} is large: it should be well below 1 / the number of persons.")
    if wish.epsilon > 10:
        said.append(f"epsilon {wish.epsilon:g} promises little: see below what the best attacker gains.")
    return said


def methods() -> list[str]:
    """Methods with a guarantee; references without one are for the command line."""
    import understudy as us

    made = {name: us.method(name)() for name in us.METHODS}
    return [AUTO, *(name for name, one in made.items() if one.private and not one.void_reason)]


def save(path: Path, *, table: Path, schema: Path, model: Path, method: str, wish: Wish) -> None:
    """The options of the fit, as `understudy fit --config` takes them; paths as seen from the file."""
    options = {
        "data": table.name,
        "schema": schema.name,
        "method": method,
        "epsilon": wish.epsilon,
        "delta": wish.delta,
        "out": model.name,
    } | ({} if wish.rows is None else {"rows": wish.rows})
    write_atomically(path, yaml.safe_dump(options, sort_keys=False, allow_unicode=True))


def saved(path: Path) -> dict[str, Any]:
    """Options that were saved; a UsageError if the file was changed into something else."""
    from understudy.cli._output import read_config

    return read_config(path)


def _number(sent: Mapping[str, str], name: str, default: float | None) -> float | None:
    text = str(sent.get(name, "")).strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{name} must be a number such as {'1000' if name == 'rows' else '1'}") from None
    if not math.isfinite(value):
        raise UsageError(f"{name} must be a finite number")
    return value
