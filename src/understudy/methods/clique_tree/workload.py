"""The workload: how much each pair of columns counts, as a file or a mapping says it. All of it is public.

    columns: {income: 3, postcode: 0}              all pairs with these columns
    pairs: [{columns: [age, income], weight: 5}]   these pairs, whatever is said of their columns
    default: 1                                     all others

A pair of two named columns counts as much as the product of their weights; 0 means not wanted: nothing is asked about such a
pair, and the others are asked with less noise. Pairs with the label count `focus_weight` times what is said otherwise, unless
its weight is said, too. A column in `focus` has this weight in the place of the label.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from understudy.errors import UsageError
from understudy.schema import Schema
from understudy.schema.document import mapping, nearest
from understudy.schema.text import read_document

MOST_WEIGHT, LEAST_WEIGHT = 1000.0, 0.001  # beyond, weights would be in the way of numbers; 0 is another thing
FAINT = 0.1  # of the usual weight: the least that a column has in products of scores, which are asked for of all pairs

Document = Mapping[str, Any]
Source = str | os.PathLike[str] | Document | None


class Workload(NamedTuple):
    """Weights of pairs by the names of their columns."""

    columns: Mapping[str, float]
    pairs: Mapping[frozenset[str], float]
    default: float
    focus: str | None  # the column that matters most where nothing else is said
    factor: float  # of pairs with the label, whose weight is not said; 1 where another column is the focus

    @classmethod
    def of(cls, document: Document | None, focus: str | None, focus_weight: float, schema: Schema) -> "Workload":
        """The workload of a fit. UsageError for names that are no columns that are learned."""
        said = document or plain({})
        columns, default = dict(said["columns"]), float(said["default"])
        pairs = {frozenset(one["columns"]): float(one["weight"]) for one in said["pairs"]}
        for name in [*columns, *sorted({name for pair in pairs for name in pair})]:
            check_column("workload", name, schema)
        if focus is None:
            factor = 1.0 if schema.label in columns else focus_weight
            return cls(columns, pairs, default, schema.label, factor)
        check_column("focus", focus, schema)
        if focus in columns:
            raise UsageError(f"focus: the workload says what {focus!r} counts, too; leave one of them out")
        return cls({**columns, focus: focus_weight * (default or 1.0)}, pairs, default, focus, 1.0)

    def of_pair(self, a: str | None, b: str | None, label: str | None) -> float:
        """How much a pair counts. The class has the name of the label; without a label it has none."""
        listed = self.pairs.get(frozenset((a or "", b or "")))
        if listed is not None:
            return listed
        weight = self.default
        if a in self.columns or b in self.columns:
            weight = self.columns.get(a or "", 1.0) * self.columns.get(b or "", 1.0)
        return weight * (self.factor if label is not None and label in (a, b) else 1.0)

    def matters(self, a: str | None, b: str | None, label: str | None) -> bool:
        """Whether whoever wrote this expects the pair to depend: it counts more than others, or has the focus in it."""
        weight = self.of_pair(a, b, label)
        return weight > self.default or (weight > 0.0 and self.focus is not None and self.focus in (a, b))

    def of_column(self, name: str | None, label: str | None) -> float:
        """How much a column counts in products of scores, which know no weights of single pairs."""
        weight = self.columns.get(name or "", self.default) / max(self.default, FAINT)
        return max(weight * (self.factor if label is not None and name == label else 1.0), FAINT)

    def words(self) -> str:
        """What counts, for people."""
        each = [(" and ".join(sorted(pair)), weight) for pair, weight in self.pairs.items()]
        each += [(f"pairs with {name}", weight) for name, weight in self.columns.items()]
        said = [
            f"{name} {f'{weight:g}' if weight else 'not wanted'}"
            for name, weight in [*each, ("all others", self.default)]
        ]
        label = (
            f"; of these, pairs with {self.focus} {self.factor:g} times as much"
            if self.focus and self.factor != 1.0
            else ""
        )
        return f"what pairs of columns count: {', '.join(said)}{label}"

    def wanted(self, schema: Schema) -> int:
        """How many pairs of columns count at all."""
        names = [column.name for column in schema.features]
        if schema.label_kind in ("binary", "multiclass"):
            names.append(schema.label or "")
        each = ((a, b) for number, a in enumerate(names) for b in names[:number])
        return sum(self.of_pair(a, b, schema.label) > 0.0 for a, b in each)


def check_column(option: str, name: str, schema: Schema) -> None:
    """UsageError unless the schema has a column of this name and something is learned of it."""
    if name not in schema.names:
        raise UsageError(f"{option}: {name!r} is not a column of the schema{nearest(name, schema.names)}")
    if schema.column(name).kind == "identifier":
        raise UsageError(f"{option}: column {name!r} is an identifier, of which nothing is learned; leave it out")


def document(source: Source) -> dict[str, Any] | None:
    """What a file or a mapping says, in one form that plans and models keep; None where there is none."""
    if source is None:
        return None
    if isinstance(source, str | os.PathLike):
        found = read_document(source, "workload:")
        if not isinstance(found, Mapping):
            raise UsageError(f"workload: {str(source)!r} should hold weights, such as `columns: {{age: 2}}`")
        return plain(found)
    return plain(source)


def plain(found: object) -> dict[str, Any]:
    """The document with nothing left open. UsageError for anything that is not a workload."""
    said = mapping(found, "workload", ("columns", "pairs", "default"))
    columns, pairs = said.get("columns") or {}, said.get("pairs") or []
    if not isinstance(columns, Mapping):
        raise UsageError("workload: columns should hold `name: weight` pairs")
    if not isinstance(pairs, list | tuple):
        raise UsageError("workload: pairs should be a list, such as [{columns: [age, income], weight: 5}]")
    made = [pair_from(one, f"workload: pair {number}") for number, one in enumerate(pairs, 1)]
    for number, one in enumerate(made):
        if any(set(one["columns"]) == set(other["columns"]) for other in made[:number]):
            raise UsageError(f"workload: the pair {' and '.join(map(repr, one['columns']))} is there twice")
    return {
        "default": weight_from(said.get("default", 1.0), "workload: default"),
        "columns": {str(name): weight_from(one, f"workload: column {name!r}") for name, one in columns.items()},
        "pairs": made,
    }


def pair_from(one: object, what: str) -> dict[str, Any]:
    """Two columns and their weight."""
    said = mapping(one, what, ("columns", "weight"))
    names = said.get("columns")
    if not isinstance(names, list | tuple) or len(names) != 2 or str(names[0]) == str(names[1]):
        raise UsageError(f"{what} needs `columns:` with the names of two columns, such as [age, income]")
    if "weight" not in said:
        raise UsageError(f"{what} needs a weight")
    return {"columns": [str(name) for name in names], "weight": weight_from(said["weight"], what)}


def weight_from(value: object, what: str) -> float:
    """A weight; UsageError for what cannot be one."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and (value == 0 or LEAST_WEIGHT <= value <= MOST_WEIGHT)
    ):
        return float(value)
    raise UsageError(f"{what} must count 0 (not wanted) or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}, not {value!r}")
