"""What a method says about itself: its options, which releases it will ask for, and how it opens the conversation.

A method is a dataclass of public options. From them and a schema follow the releases it announces (`announce`, public values
only) and, once the plan has their noise, its first questions and who talks to whom from then on (`begin`). Planning and fitting
(`plan.py`, `fit.py`) know methods by this face alone; users see them through `estimator.py`.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import dp_accounting as dpa
import numpy as np
from sklearn.base import BaseEstimator

from understudy.accounting import Budget, Charge, Plan
from understudy.accounting.plan import HISTOGRAM_WEIGHT
from understudy.conversation import Generator
from understudy.errors import UsageError
from understudy.measure.marginals import Marginals
from understudy.options import described, hint
from understudy.private import Curator, Mechanism
from understudy.released import Released
from understudy.schema import Codec, Schema

# What a method is written with: files of methods take the curator's and the mechanisms' types from here, and import from the wall
# only the mechanism that answers them.
__all__ = [
    "Announced",
    "Curator",
    "Mechanism",
    "Opening",
    "Recipe",
    "check_choice",
    "check_counts",
    "check_positive",
]


class Announced(NamedTuple):
    """One release of the plan before its noise is known.

    `weight` is its share of the squared privacy loss; with a common factor s the release gets the noise multiplier
    z = s sqrt(answers / weight), so that Gaussian releases together cost mu = 1 / s whatever the split.
    """

    purpose: str
    weight: float
    event: Callable[[float], dpa.DpEvent]  # noise multiplier of one answer -> event of all answers
    answers: int = 1
    detail: str = ""


class Opening(NamedTuple):
    """How a method starts to talk: who asks, who answers, what was released to start from, and for how many rounds."""

    generator: Generator
    hints: Any
    purpose: str = ""
    mechanism: Mechanism | None = None  # None: nothing is asked beyond what `begin` asked
    rounds: int = 0
    marginals: Marginals | None = None  # released; generated rows go back through them
    released: tuple[Released, ...] = ()  # tables of counts with known noise, kept so that copies can be drawn
    decimals: Mapping[str, int] = MappingProxyType({})  # of columns whose numbers were found to have so many
    said: str = ""  # which way the method took, for people: a function of what was released


@dataclass(kw_only=True, eq=False, repr=False)
class Recipe(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Options common to all methods.

    `epsilon` is the total of the whole fit and `delta` its failure probability; `seed` steers public randomness only.
    `estimate_share` is the share of the squared loss for bounds and categories that the schema leaves open (None: it
    grows with the square root of their number, see `plan.estimate_share`).
    """

    method: ClassVar[str]
    redrawn: ClassVar[str] = ""  # `module:name` of what draws copies of a fitted model; empty: it cannot be done
    not_redrawn: ClassVar[str] = (  # and then this is why
        "it learns from answers in rounds, and what their noise did to it cannot be drawn again without the rows"
    )
    conditioned: ClassVar[str] = ""  # the same of what draws rows given anything about any columns
    by_person: ClassVar[bool] = (
        False  # True: the rows of a unit share a weight of 1 in every answer, so people are counted
    )
    # What options mean in this method, where `options.WORDS` does not say it.
    words: ClassVar[Mapping[str, str]] = MappingProxyType({})
    private: ClassVar[bool] = True  # False: a reference without any guarantee; `fit` asks for --not-private

    epsilon: float = 1.0
    delta: float = 1e-5
    seed: int | None = None
    estimate_share: float | None = None

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        text = inspect.cleandoc(vars(cls).get("__doc__") or f"The method {getattr(cls, 'method', '')!r}.")
        if "Options\n" not in text:
            cls.__doc__ = f"{text}\n\n{described(cls)}"

    def __new__(cls, *_: object, **options: object) -> Self:
        """TypeError for options that the method does not have, with the new name of an old one.

        Here and not in `__init__`, which every dataclass writes itself and scikit-learn reads the options from.
        """
        known = option_names(cls)
        for name in options:
            if known and name not in known:
                raise TypeError(f"{cls.__name__} has no option {name!r}; {hint(name, known)}")
        made: Self = super().__new__(cls)
        return made

    def set_params(self, **options: Any) -> Self:
        """Change options; ValueError for unknown ones, as in scikit-learn, with the new name of an old one."""
        known = option_names(type(self))
        for name in options:
            if known and name not in known:
                raise ValueError(f"Invalid parameter {name!r} of {type(self).__name__}: {hint(name, known)}")
        changed: Self = super().set_params(**options)
        return changed

    def taken_by(self, schema: Schema) -> "tuple[Recipe, str]":
        """Who fits a table with this schema: the method itself, or the one that it hands such tables over to, and why."""
        return self, ""

    def announce(self, schema: Schema) -> list[Announced]:
        """The releases this method asks for, besides the schema's estimates and the class histogram."""
        raise TypeError(f"{type(self).__name__} does not say what it asks for")

    @property
    def histogram_weight(self) -> float:
        """The weight of the class histogram (or the number of rows) beside what is announced."""
        return HISTOGRAM_WEIGHT

    def unpriced(self) -> tuple[Charge, ...]:
        """Charges without a valid price; only research presets, whose certificate is void, have any."""
        return ()

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        """Ask for what is needed once and set up the conversation."""
        raise TypeError(f"{type(self).__name__} does not say how it begins")

    def settings(self, schema: Schema, rows: int | None) -> dict[str, Any]:
        """The resolved public options that the plan and the certificate show."""
        return {name: value for name, value in self.get_params().items() if name not in ("epsilon", "delta", "seed")}

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        """What the plan should say about whether it can work. `noise` has the plan's multiplier of every purpose."""
        return []

    def conditional(self, schema: Schema) -> bool:
        """Whether a class label is a condition of the generator (else it is one more column)."""
        return True

    @property
    def void_reason(self) -> str:
        """Why the guarantee does not hold, for research presets; empty for everything else."""
        return ""

    @property
    def budget(self) -> Budget:
        """What the whole fit may spend."""
        return Budget(self.epsilon, self.delta)

    def check_options(self) -> None:
        """Refuse options out of range, naming the option and the way out."""


def check_positive(**options: object) -> None:
    """UsageError for options that are no positive number."""
    for name, value in options.items():
        if not (isinstance(value, (int, float)) and 0 < value < math.inf):
            raise UsageError(f"{name}={value} must be a number greater than 0")


def option_names(kind: type) -> list[str]:
    """Of the signature, not of the fields: who derives a class may give it options of its own. None where it takes any."""
    taken = list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    return [] if any(one.kind is one.VAR_KEYWORD for one in taken) else [one.name for one in taken]


def check_counts(**options: Any) -> None:
    """UsageError for options that are no positive whole number."""
    check_positive(**options)
    for name, value in options.items():
        if value != int(value):
            raise UsageError(f"{name}={value} must be a whole number")


def check_choice(**options: tuple[Any, tuple[Any, ...]]) -> None:
    """UsageError for options that are none of the allowed values."""
    for name, (value, allowed) in options.items():
        if value not in allowed:
            raise UsageError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")
