"""How good is a stand-in? Compare synthetic rows with held-out real ones. The results are NOT private.

    from understudy.evaluate import evaluate
    result = evaluate(fake, test, schema, train=train)      # frames or files; several fakes as a list
    result.save("result.json")

Families (`metrics`): utility (settings A, B, C and ranking agreement), fidelity (column shapes, the whole table, violations),
mmd, dimension (binary tables), groups (who is hurt), diagnostics. What each computes and where it comes from stands in its
own file under `metrics/` and in `docs/evaluation.md`. The whole-table measures alone, with or without a label:

    whole_table(train, fake, schema, held_out=test).figures()

Without real rows a file that a model made can still be described, for a release report: `describe("fake.csv", schema, "model")`.

Nothing raises on odd contents of a table. `jobs` worker processes fit the models; results do not depend on `jobs`.
Importing this package brings in the result records only; scikit-learn and pandas come with the first evaluation.
"""

import sys
import types
from functools import partial
from typing import Any

from understudy.evaluate.result import FAMILIES, Evaluation, Summary, WholeTable
from understudy.lazy import lazily

_WHERE = {
    "describe": "understudy.evaluate.alone",
    "evaluate": "understudy.evaluate.run",
    "whole_table": "understudy.evaluate.whole",
}

__all__ = ["FAMILIES", "Evaluation", "Summary", "WholeTable", "describe", "evaluate", "whole_table"]
__getattr__ = partial(lazily, __name__, _WHERE)


class _Callable(types.ModuleType):
    """`understudy.evaluate` is a module and, at the surface, a verb; this makes `us.evaluate(...)` work either way."""

    def __call__(self, *arguments: Any, **options: Any) -> Evaluation:
        from understudy.evaluate.run import evaluate

        return evaluate(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
