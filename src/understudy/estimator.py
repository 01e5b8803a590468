"""What users call: an estimator in scikit-learn's manner.

A method derives from `Estimator` and says what `recipe.py` asks of it. Planning, fitting, sampling, saving and certifying are
the same for all methods and live here, in `plan.py`, in `fit.py` and in `artifact.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from understudy.account import Payer
from understudy.accounting import Certificate, Plan
from understudy.artifact import Model
from understudy.engine import Engine
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.plan import make_plan
from understudy.progress import FitProgress, watched
from understudy.recipe import Recipe
from understudy.sampling.condition import Where
from understudy.schema import Schema


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(Recipe):
    """A method as users call it: `plan`, `fit`, `sample`, `save`."""

    def __repr__(self, **more: int) -> str:
        """Its options before a fit, as scikit-learn shows them; the model in five lines afterwards."""
        return repr(self.model_) if hasattr(self, "model_") else super().__repr__(**more)

    def plan(self, schema: Schema, *, rows: int | None = None) -> Plan:
        """What the fit will cost, before any row is read. `rows` is a public guess used for advice only."""
        return make_plan(self, schema, rows)

    def fit(
        self,
        data: object,
        schema: Schema,
        *,
        progress: Callable[[dict[str, Any]], None] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        out: str | Path | None = None,
        account: Payer | None = None,
        engine: str | Engine | None = None,
    ) -> "Estimator":
        """Fit on a frame or a file. Returns self; the fitted model is `model_`, and is saved to `out` if that is given.

        Terminals and notebooks see a bar with what is spent; `progress` gets the same events as dictionaries instead.
        `account` names the holder's account (`understudy.account`), which is charged before anything is released.
        `engine` says where large tables are added up: inline, processes, ray or ray@HOST:PORT (`understudy.engine`).
        """
        with FitProgress(self.epsilon, quiet=progress is not None or not watched()) as shown:
            heard = progress or shown
            self.model_: Model = fit(
                self,
                data,
                schema,
                progress=heard,
                checkpoint=checkpoint,
                resume=resume,
                out=out,
                account=account,
                engine=engine,
            )
        self.polars_ = type(data).__module__.split(".")[0] == "polars"
        return self

    @property
    def fitted(self) -> Model:
        """The model; UsageError before `fit`."""
        if not hasattr(self, "model_"):
            raise UsageError(f"this {type(self).__name__} is not fitted yet; call fit(data, schema) first")
        return self.model_

    @property
    def certificate(self) -> Certificate:
        """Of the fitted model."""
        return self.fitted.certificate

    @property
    def history(self) -> Mapping[str, list[float]]:
        """Figures of every round, computed from released values only."""
        return self.fitted.history

    def sample(self, rows: int | None = None, *, seed: int | None = None, where: Where = None) -> Any:
        """A stand-in as a pandas frame, or as a polars one if it was fitted on polars."""
        model = self.fitted
        if getattr(self, "polars_", False):
            return model.sample_polars(rows, seed=seed, where=where)
        return model.sample(rows, seed=seed, where=where)

    def sample_batches(
        self, rows: int, batch: int = 65_536, *, seed: int | None = None, where: Where = None
    ) -> Iterator[pd.DataFrame]:
        """The same in batches."""
        return self.fitted.sample_batches(rows, batch, seed=seed, where=where)

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model into a folder."""
        return self.fitted.save(folder)
