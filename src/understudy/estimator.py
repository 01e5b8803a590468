"""What users configure and call: an estimator in scikit-learn's manner.

A method is a dataclass of public options that derives from `Estimator` and says two things: which releases it will ask for
(`announce`, from public values only) and how it opens the conversation (`begin`). Planning, fitting, sampling, saving and
certifying are the same for all methods and live here, in `planning.py` and in `fit.py`.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import dp_accounting as dpa
import pandas as pd
from sklearn.base import BaseEstimator

from understudy.accounting import Budget, Certificate, Charge, Plan
from understudy.artifact import Model
from understudy.conversation import Generator
from understudy.errors import UsageError
from understudy.marginals import Marginals
from understudy.private import Curator, Mechanism
from understudy.schema import Codec, Schema


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


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(BaseEstimator):
    """Options common to all methods. `epsilon` is the total of the whole fit; `seed` steers public randomness only."""

    method: ClassVar[str]
    private: ClassVar[bool] = True  # False: a reference without any guarantee; `fit` asks for --not-private

    epsilon: float = 1.0
    delta: float = 1e-5
    seed: int | None = None
    estimate_share: float = 0.1

    # -- what a method says about itself ------------------------------------------------------------------------------
    def announce(self, schema: Schema) -> list[Announced]:
        """The releases this method asks for, besides the schema's estimates and the class histogram."""
        raise TypeError(f"{type(self).__name__} does not say what it asks for")

    def unpriced(self) -> tuple[Charge, ...]:
        """Charges without a valid price; only research presets, whose certificate is void, have any."""
        return ()

    def begin(self, curator: Curator, codec: Codec, counts: Any, plan: Plan) -> Opening:
        """Ask for what is needed once and set up the conversation."""
        raise TypeError(f"{type(self).__name__} does not say how it begins")

    def settings(self, schema: Schema, rows: int | None) -> dict[str, Any]:
        """The resolved public options that the plan and the certificate show."""
        return {name: value for name, value in self.get_params().items() if name not in ("epsilon", "delta", "seed")}

    def advice(self, schema: Schema, settings: dict[str, Any], factor: float, rows: int | None) -> list[str]:
        """What the plan should say about whether it can work."""
        return []

    def conditional(self, schema: Schema) -> bool:
        """Whether a class label is a condition of the generator (else it is one more column)."""
        return True

    @property
    def void_reason(self) -> str:
        """Why the guarantee does not hold, for research presets; empty for everything else."""
        return ""

    def check_options(self) -> None:
        """Refuse options out of range, naming the option and the way out."""

    # -- the same for all methods --------------------------------------------------------------------------------------
    def plan(self, schema: Schema, *, rows: int | None = None) -> Plan:
        """What the fit will cost, before any row is read. `rows` is a public guess used for advice only."""
        from understudy.planning import make_plan

        self.check_options()
        return make_plan(self, schema, Budget(self.epsilon, self.delta), rows)

    def fit(
        self,
        data: Any,
        schema: Schema,
        *,
        progress: Callable[[dict[str, Any]], None] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        out: str | Path | None = None,
    ) -> "Estimator":
        """Fit on a frame or a file. Returns self; the fitted model is `model_`, and is saved to `out` if that is given."""
        from understudy.fit import fit

        self.model_: Model = fit(self, data, schema, progress=progress, checkpoint=checkpoint, resume=resume, out=out)
        return self

    @property
    def fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise UsageError(f"this {type(self).__name__} is not fitted yet; call fit(data, schema) first")
        return self.model_

    @property
    def certificate(self) -> Certificate:
        return self.fitted.certificate

    @property
    def history(self) -> Mapping[str, list[float]]:
        """Figures of every round, computed from released values only."""
        return self.fitted.history

    def sample(self, rows: int | None = None, *, seed: int | None = None, where: Any = None) -> pd.DataFrame:
        return self.fitted.sample(rows, seed=seed, where=where)

    def sample_batches(
        self, rows: int, batch: int = 65_536, *, seed: int | None = None, where: Any = None
    ) -> Iterator[pd.DataFrame]:
        return self.fitted.sample_batches(rows, batch, seed=seed, where=where)

    def fit_sample(self, data: Any, schema: Schema, rows: int | None = None) -> pd.DataFrame:
        return self.fit(data, schema).sample(rows)

    def save(self, folder: str | Path) -> Path:
        return self.fitted.save(folder)


def check_positive(**options: Any) -> None:
    for name, value in options.items():
        if not (isinstance(value, (int, float)) and 0 < value < math.inf):
            raise UsageError(f"{name}={value} must be a number greater than 0")


def check_counts(**options: Any) -> None:
    check_positive(**options)
    for name, value in options.items():
        if value != int(value):
            raise UsageError(f"{name}={value} must be a whole number")


def check_choice(**options: tuple[Any, tuple[Any, ...]]) -> None:
    for name, (value, allowed) in options.items():
        if value not in allowed:
            raise UsageError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")
