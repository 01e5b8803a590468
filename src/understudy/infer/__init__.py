"""Answers with error bars from copies of a stand-in.

rules.py      estimates and variances of all copies -> one estimate, its variance, an interval; the rules are derived there
run.py        run any function on all copies: means, quantiles, statsmodels results, scikit-learn estimators
question.py   `mean(hours) by sex where age > 40`: read it, and answer it on one table
ask.py        the same on a model: interval, how much of it is privacy noise, and what rests on the model alone
"""

from typing import Any

from understudy.lazy import lazily

_WHERE = {
    "Combined": "understudy.infer.rules",
    "combine": "understudy.infer.rules",
    "analyse": "understudy.infer.run",
    "mean": "understudy.infer.run",
    "proportion": "understudy.infer.run",
    "difference": "understudy.infer.run",
    "quantile": "understudy.infer.run",
    "answer": "understudy.infer.ask",
    "parse": "understudy.infer.question",
}

__all__ = [*_WHERE]


def __getattr__(name: str) -> Any:
    return lazily(__name__, _WHERE, name)
