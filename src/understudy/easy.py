"""The shortest way: `us.fit(data, schema, epsilon=1.0)`. The method is the adviser's unless you name one."""

import dataclasses
from pathlib import Path
from typing import Any

from understudy.account import Payer
from understudy.adviser import advice as adviser
from understudy.engine import Engine
from understudy.errors import UsageError
from understudy.methods.registry import WEIGHTS, check_names
from understudy.methods.registry import method as method_of
from understudy.schema import Schema


def fit(
    data: object,
    schema: Schema | str | Path,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    method: str = adviser.AUTO,
    rows: int | None = None,
    seed: int | None = None,
    force: bool = False,
    out: str | Path | None = None,
    account: Payer | None = None,
    engine: str | Engine | None = None,
    **options: object,
) -> Any:
    """Fit a method to a frame or file and return the fitted estimator (`sample`, `save`, `certificate`).

    `method="auto"` takes the adviser's choice, from public facts alone; `rows` is a public guess of how many there are, for
    the adviser only; `options` are the method's own; with `focus` or `workload` it is a method that has a workload. A fit of
    which nothing useful will come is refused unless `force=True`; nothing is spent then. `out` saves the model there; `account`
    names the holder's account, which is charged first.
    """
    known = schema if isinstance(schema, Schema) else Schema.load(schema)
    if method == adviser.AUTO:
        weighed = any(options.get(option) is not None for option in WEIGHTS)
        method = adviser.advise(known, epsilon=epsilon, delta=delta, rows=rows, weighed=weighed).method
    kind = method_of(method)
    hopeless = kind.private and adviser.prospect(known, epsilon=epsilon, delta=delta, rows=rows).hopeless
    if hopeless and not force:
        raise UsageError(f"{hopeless} Nothing was spent; force=True fits all the same")
    check_names(method, [option.name for option in dataclasses.fields(kind)], options)
    estimator = kind(epsilon=epsilon, delta=delta, seed=seed, **options)
    return estimator.fit(data, known, out=out, account=account, engine=engine)
