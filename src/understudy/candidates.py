"""What a comparison fits: methods, each with every combination of the values that some of its options are to have."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import UsageError
from understudy.methods.registry import METHODS, check_names, method_options

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
