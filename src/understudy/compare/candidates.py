"""What a comparison fits: methods, each with every combination of the values that some of its options are to have.

Every candidate gets the same share of the budget: epsilon_i is the largest at which all releases of all fits together, priced as
one list of events, cost at most epsilon. So all of the models may be published, or any of them, and the total is what was asked.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from understudy.accounting import Budget, Plan
from understudy.accounting import epsilon as price
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.methods.registry import METHODS, WEIGHED, check_names, method_options
from understudy.methods.registry import method as method_class
from understudy.schema import Schema

VALUE = re.compile(r"[\w.+-]{1,40}")  # of an option that is varied


class Candidate(NamedTuple):
    """A method and the options in which it differs from its defaults."""

    method: str
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is called in results, and its folder: `pate-gan,teachers=50`."""
        return ",".join([self.method, *(f"{option}={value}" for option, value in self.options.items())])


def candidates(methods: Sequence[str], vary: Mapping[str, Iterable[Any]]) -> list[Candidate]:
    """Every method with every combination of the varied options."""
    check_methods(methods)
    for method in methods:
        check_names(method, method_options(method), vary)
    values = {option: listed(option, wanted) for option, wanted in vary.items()}
    settings = [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    found = [Candidate(method, options) for method in methods for options in settings]
    if len(found) < 2:
        raise UsageError("methods: name at least two different methods, e.g. mst and mean-embedding, or vary an option")
    return found


def check_methods(methods: Sequence[str]) -> None:
    """Refuse names that no method has, and one that is there twice."""
    for number, name in enumerate(methods):
        if name not in METHODS:
            raise UsageError(f"methods: {name!r} is unknown; choose from {', '.join(METHODS)}")
        if name in methods[:number]:
            raise UsageError(
                f"methods: {name!r} is named twice; name at least two different methods, or vary an option"
            )


def listed(option: str, values: object) -> list[Any]:
    """The values of one option, as Python has them. The same one twice would be one model, paid for as two."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise UsageError(f"vary: {option} takes a list of values, e.g. [50, 200], not {values!r}")
    found = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not found:
        raise UsageError(f"vary: {option} has no values")
    for number, value in enumerate(found):
        if not VALUE.fullmatch(str(value)):  # candidates have folders of their name
            raise UsageError(f"vary: {option} takes numbers and words here, not {value!r}")
        if value in found[:number]:
            raise UsageError(f"vary: {option} has the value {value!r} twice")
    return found


def split(
    each: Sequence[Candidate], schema: Schema, budget: Budget, weights: Mapping[str, Any] = MappingProxyType({})
) -> tuple[list[Estimator], float]:
    """Estimators with equal shares, and what all of their releases cost together. `weights` are for methods with a workload."""
    from understudy.accounting.gaussian import epsilon as gaussian_epsilon
    from understudy.accounting.gaussian import mu

    # mu / sqrt(m) is exact for Gaussian releases; others (categories with their own delta) need a little less
    share = budget.epsilon / len(each)
    if not budget.pure:
        share = gaussian_epsilon(mu(budget.epsilon, budget.delta) / len(each) ** 0.5, budget.delta)
    while True:
        made = [planned(one, share, schema, budget, weights) for one in each]
        estimators, plans = [estimator for estimator, _ in made], [plan for _, plan in made]
        for plan in plans:
            if not plan.valid:
                raise UsageError(f"methods: {plan.method} has no valid guarantee ({plan.void_reason}); leave it out")
        together = price([charge.event for plan in plans for charge in plan.charges], budget.delta)
        if together <= budget.epsilon:
            return estimators, together
        share *= 0.98 * budget.epsilon / together


def planned(
    one: Candidate, share: float, schema: Schema, budget: Budget, weights: Mapping[str, Any]
) -> tuple[Estimator, Plan]:
    """A candidate's estimator and plan; what is wrong with a value that is varied says so."""
    wanted = {**(weights if one.method in WEIGHED else {}), **one.options}
    try:
        estimator: Estimator = method_class(one.method)(epsilon=share, delta=budget.delta, **wanted)
        return estimator, estimator.plan(schema)
    except UsageError as error:
        if any(re.search(rf"\b{option}\b", str(error)) for option in one.options):
            raise UsageError(f"vary: {error}") from None
        raise


def weights_of(each: Sequence[Candidate], **said: Any) -> dict[str, Any]:
    """The options of a workload. UsageError if no method has one."""
    found = {option: value for option, value in said.items() if value is not None}
    if found and not any(one.method in WEIGHED for one in each):
        check_names(each[0].method, (), found)
    return found
