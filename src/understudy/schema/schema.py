"""The schema of a table: its columns, label, privacy unit and, if the holder says so, its row count.

A schema is the whole of what is public. It is written by the data holder, checked here without looking at a row, and
stored with every model. Two schemas are the same when `fingerprint()` agrees.

A row is protected by itself, or together with all rows of its `unit`; then rows with an empty unit id are left out, and of
the others at most `max_rows_per_unit` are kept for each unit. With `people` the rows of units outside that range of ids are
left out as well (`unit: {column: patient, max_rows: 4, from: "2025-0001", to: "2026-0001"}`).
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from understudy.errors import UsageError
from understudy.people import People
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.constraints import Check, Constraint, compiled, constraints_from
from understudy.schema.document import column_entry, column_from, mapping, nearest, reference, refuse_open
from understudy.schema.estimates import Bounds, category_value, usable_bounds, usable_categories
from understudy.schema.paid import PaidKinds
from understudy.schema.search import witness
from understudy.schema.text import dump_yaml, read_document
from understudy.schema.types import Value

LabelKind = Literal["none", "binary", "multiclass", "numeric"]
MOST_ROWS = 1_000_000_000  # of a unit: noise grows with it and has to fit into 64 bits
CLASS_KINDS = ("categorical", "boolean", "ordinal")


@dataclass(frozen=True, kw_only=True, repr=False)
class Schema:
    """Everything that is public about a table, in the order of its columns."""

    columns: tuple[Column, ...]
    label: str | None = None
    positive: Value | None = None
    unit: str | None = None
    max_rows_per_unit: int = 1
    rows: int | None = None
    people: People | None = None  # None: everybody; else only units whose id lies in this range
    kinds: PaidKinds | None = None  # what finding the kinds has cost, if they were found privately
    constraints: tuple[Constraint, ...] = ()  # kept in every sample

    def __post_init__(self) -> None:
        if not self.columns:
            raise UsageError("the schema has no columns")
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise UsageError(f"column {column.name!r} appears twice in the schema")
            seen.add(column.name)
        for pixel in (pixel for column in self.columns for pixel in column.pixels):
            if pixel.name in seen:
                raise UsageError(f"column {pixel.name!r} has the name of an image's pixel; rename one of them")
        if all(column.kind == "identifier" for column in self.columns):
            raise UsageError("the schema has only identifiers, and those are never learned; declare another column")
        _check_groups(self.columns)
        _check_unit(self)
        if self.rows is not None and self.rows < 0:
            raise UsageError(f"rows must be a whole number from 0, not {self.rows!r}")
        _check_label(self)
        _check_kinds(self)
        if self.constraints:
            witness(self.checks)

    def __repr__(self) -> str:
        """A few lines; `to_dict` has everything."""
        kinds = Counter(column.kind for column in self.columns)
        waiting = [column.name for group in self.estimates.values() for column in group]
        unit = (
            "one row" if self.unit is None else f"all rows with the same {self.unit}, at most {self.max_rows_per_unit}"
        )
        return "\n".join(
            [
                f"Schema of {len(self.columns)} columns: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}",
                f"  label      {self.label or 'none'} ({self.label_kind})",
                f"  protects   {unit}",
                f"  estimates  {', '.join(waiting) or 'none'}",
            ]
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Schema":
        """Read a schema file: JSON when its name ends in .json, YAML otherwise."""
        return cls.from_dict(read_document(path, "schema file"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema file, YAML or JSON by its name."""
        document = self.to_dict()
        is_json = Path(path).suffix.lower() == ".json"
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n" if is_json else dump_yaml(document)
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write the schema to {str(path)!r}: {error.strerror}") from None

    @classmethod
    def from_dict(cls, document: object) -> "Schema":
        """The schema a parsed schema file describes."""
        document = mapping(
            document,
            "the schema file",
            ("understudy", "rows", "label", "unit", "kinds", "decimal", "columns", "constraints"),
        )
        if document.get("understudy", "schema") != "schema":
            raise UsageError("this is not a schema file: its first line should read `understudy: schema`")
        entries = document.get("columns")
        if not isinstance(entries, Mapping) or not entries:
            raise UsageError("the schema needs `columns:` with one line for each column, such as `age: {kind: ...}`")
        refuse_open(entries)
        label = reference(document.get("label"), "label", "positive")
        unit = reference(document.get("unit"), "unit", "max_rows", "from", "to")
        max_rows = unit.get("max_rows", 1)
        if not isinstance(max_rows, int) or isinstance(max_rows, bool):
            raise UsageError(f"unit: max_rows must be a whole number, not {max_rows!r}")
        decimal = document.get("decimal", ".")
        if not isinstance(decimal, str):
            raise UsageError(f'decimal must be "." or ",", not {decimal!r}')
        rows = document.get("rows")
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool)):
            raise UsageError(f"rows must be a whole number, not {rows!r}")
        return cls(
            columns=tuple(column_from(str(name), entry, decimal) for name, entry in entries.items()),
            label=label.get("column"),
            positive=label.get("positive"),
            unit=unit.get("column"),
            max_rows_per_unit=max_rows,
            rows=rows,
            people=people_of(unit),
            kinds=PaidKinds.from_entry(document.get("kinds")),
            constraints=constraints_from(document.get("constraints")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain objects in the form of the schema file; `from_dict` reads them back to an equal schema."""
        document: dict[str, Any] = {"understudy": "schema"}
        if self.rows is not None:
            document["rows"] = self.rows
        if self.label is not None:
            document["label"] = {"column": self.label}
            if self.positive is not None:
                document["label"]["positive"] = self.positive
        if self.unit is not None:
            document["unit"] = {"column": self.unit, "max_rows": self.max_rows_per_unit}
            if self.people is not None:
                bounds = {"from": self.people.lower, "to": self.people.upper}
                document["unit"] |= {name: bound for name, bound in bounds.items() if bound is not None}
        if self.decimal != ".":
            document["decimal"] = self.decimal
        if self.kinds is not None:
            document["kinds"] = self.kinds.entry()
        document["columns"] = {column.name: column_entry(column) for column in self.columns}
        if self.constraints:
            document["constraints"] = [one.entry() for one in self.constraints]
        return document

    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form; column order counts."""
        text = json.dumps(list(_ordered(self.to_dict())), ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        pixels = {pixel.name: pixel for column in self.columns for pixel in column.pixels}
        return pixels | {column.name: column for column in self.columns}

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The constraints in a form that can be tested."""
        return compiled(self.constraints, self)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in table order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The column called `name`; an image's pixels have names too."""
        if name not in self._by_name:
            raise UsageError(f"the schema has no column {name!r}{nearest(name, self.names)}")
        return self._by_name[name]

    @cached_property
    def features(self) -> tuple[Column, ...]:
        """Columns that are learned as features: neither identifiers nor the class label. An image is its pixels."""
        skip = self.label if self.label_kind in ("binary", "multiclass") else None
        learned = (c for c in self.columns if c.kind != "identifier" and c.name != skip)
        return tuple(part for column in learned for part in (column.pixels or (column,)))

    @property
    def label_kind(self) -> LabelKind:
        """What kind of label there is; a class label whose categories are to be estimated counts as multiclass."""
        if self.label is None:
            return "none"
        column = self.column(self.label)
        if column.kind not in CLASS_KINDS:
            return "numeric"
        return "binary" if column.resolved and len(column.outcomes) == 2 else "multiclass"

    @property
    def positive_value(self) -> Value | None:
        """The declared positive class, else the last one of a binary label (true, 1), else None."""
        if self.positive is None and self.label is not None and self.label_kind == "binary":
            return self.column(self.label).outcomes[-1]
        return self.positive

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers in text files."""
        return "," if any(column.decimal == "," for column in self.columns) else "."

    @property
    def resolved(self) -> bool:
        """True when no estimate is left to be made; only then can rows be encoded."""
        return all(column.resolved for column in self.columns)

    @property
    def estimates(self) -> dict[str, tuple[Column, ...]]:
        """Estimate groups still to be made, with their columns, in table order."""
        groups: dict[str, tuple[Column, ...]] = {}
        for column in self.columns:
            if column.estimate is not None:
                groups[column.estimate] = (*groups.get(column.estimate, ()), column)
        return groups

    def with_estimates(self, found: "Mapping[str, Bounds | tuple[Value, ...]]") -> "Schema":
        """This schema with the given groups filled in.

        Never raises on what was found: a range without width is widened, one beyond the column's type is cut, a list
        without categories gets a stand-in, and the declared positive class is added when the estimate missed it.
        """
        for group in found:
            if group not in self.estimates:
                raise UsageError(f"the schema has no estimate {group!r}{nearest(group, self.estimates)}")
        columns = tuple(
            c if c.estimate is None or c.estimate not in found else self._filled(c, found[c.estimate])
            for c in self.columns
        )
        return replace(self, columns=columns)

    def with_decimals(self, found: Mapping[str, int]) -> "Schema":
        """This schema with the decimals of these columns."""
        columns = (replace(c, decimals=found[c.name]) if c.name in found else c for c in self.columns)
        return replace(self, columns=tuple(columns)) if found else self

    def _filled(self, column: Column, value: "Bounds | tuple[Value, ...]") -> Column:
        if column.kind in NUMERIC:
            lower, upper = usable_bounds(column, float(value[0]), float(value[1]))
            return replace(column, estimate=None, lower=lower, upper=upper)
        declared = self.positive if column.name == self.label else None
        return replace(column, estimate=None, categories=usable_categories(column, value, declared))


def _ordered(document: dict[str, Any]) -> "list[tuple[str, Any]]":
    # JSON objects carry no order, a table does: the columns become a list of pairs.
    return [(k, list(v.items()) if k == "columns" else v) for k, v in document.items()]


def people_of(unit: Mapping[str, Any]) -> People | None:
    """The range of ids that `unit:` of a schema file states, if it states one."""
    bounds = [unit.get(name) for name in ("from", "to")]
    if bounds == [None, None]:
        return None
    if not all(isinstance(bound, str | None) for bound in bounds):
        raise UsageError('unit: from and to are ids and must be texts, in quotes: from: "2025-0001"')
    return People(*bounds)


def _check_groups(columns: tuple[Column, ...]) -> None:
    first: dict[str, Column] = {}
    for column in columns:
        if column.estimate is None:
            continue
        leader = first.setdefault(column.estimate, column)
        if leader.kind != column.kind:
            raise UsageError(
                f"estimate {column.estimate!r} mixes kinds: column {leader.name!r} is {leader.kind}, "
                f"column {column.name!r} is {column.kind}; give each kind an estimate of its own"
            )


def _check_unit(schema: Schema) -> None:
    if schema.unit is None:
        if schema.max_rows_per_unit != 1:
            raise UsageError("max_rows is given without a unit column")
        if schema.people is not None:
            raise UsageError("valid_for is a range of ids and needs a unit column in the schema")
        return
    column = schema.column(schema.unit) if schema.unit in schema.names else None
    if column is None:
        raise UsageError(f"unit column {schema.unit!r} is not among the columns{nearest(schema.unit, schema.names)}")
    if column.kind != "identifier":
        raise UsageError(
            f"unit column {schema.unit!r} must be of kind identifier: it names persons and is never learned"
        )
    if not 1 <= schema.max_rows_per_unit <= MOST_ROWS:
        raise UsageError(f"unit: max_rows must be from 1 to {MOST_ROWS:,}, not {schema.max_rows_per_unit}")


def _check_kinds(schema: Schema) -> None:
    # Votes of single rows say nothing about persons with many rows, and the other way round: no price carries over.
    if schema.kinds is not None and schema.kinds.unit != schema.unit:
        voted, declared = (
            "one row" if unit is None else f"column {unit!r}" for unit in (schema.kinds.unit, schema.unit)
        )
        raise UsageError(
            f"the kinds of columns were found for the unit {voted}, but the schema protects {declared}; keep that unit, or "
            "draft the schema again for this one"
        )


def _check_label(schema: Schema) -> None:
    if schema.label is None:
        if schema.positive is not None:
            raise UsageError("a positive class is given without a label column")
        return
    if schema.label not in schema.names:
        raise UsageError(f"label column {schema.label!r} is not among the columns{nearest(schema.label, schema.names)}")
    column = schema.column(schema.label)
    if column.kind == "identifier":
        raise UsageError(f"label column {schema.label!r} is an identifier, and those are never learned")
    if column.kind == "image":
        raise UsageError(f"label column {schema.label!r} is an image; a label is a class or a number")
    if column.kind not in CLASS_KINDS:
        if schema.positive is not None:
            raise UsageError(
                f"label column {schema.label!r} is {column.kind}, so it has no positive class; "
                "make it categorical or boolean, or leave `positive` out"
            )
        return
    if column.missing:
        raise UsageError(
            f"label column {schema.label!r} cannot be missing; leave `missing` out, or give it `other: true`"
        )
    if schema.positive is None:
        return
    positive = category_value(schema.positive, column) if type(schema.positive) is not str else schema.positive
    if column.resolved:
        match = [v for v in column.outcomes if v == positive and (type(v) is str) == (type(positive) is str)]
        if not match:
            raise UsageError(
                f"label column {schema.label!r}: the positive class {schema.positive!r} is not one of its values"
            )
        positive = match[0]
    object.__setattr__(schema, "positive", positive)
