"""A schema that is still being written: entries, some of them open, and their text.

A schema file is a promise by the holder of a table, so whoever drafts one for them (from a header, from types, from a data
dictionary) leaves open what it does not know: `kind: "?"`, with a comment that helps. `Schema.load` refuses such a line by
the column's name until it is filled in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from understudy.errors import UsageError
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.document import OPEN, column_entry, nearest
from understudy.schema.paid import PaidKinds
from understudy.schema.text import flow, scalar

SHARE_FROM = 9  # from this many estimated bounds of one kind on, they share one estimate
SAID = (
    "continuous",
    "integer",
    "categorical",
    "ordinal",
    "boolean",
    "datetime",
    "identifier",
)  # kinds one word can state
ASK = f"say its kind: {', '.join(SAID)}"
TEXT_NOTE = "text: if these are names or free text, delete the line or use kind identifier"
LONGEST_NOTE = 160

_HEAD = """\
# What is public about {what}. Drafted from {source}; read every line before use.
# Whatever stands here is treated as public and costs no budget. Whatever says `estimate` is found privately and is
# paid for from epsilon, so declare bounds and categories wherever they are known without looking at the data.
#   kinds         replace every "?"; the schema does not load before. Say what you know, do not look it up in the rows:
#                   continuous, integer, datetime    with `lower: 0, upper: 120`, or with `bounds: estimate`
#                   categorical                      with `categories: [a, b, c]`, or `categories: estimate, other: true`
#                   ordinal                          with `categories: [small, large]` in order
#                   boolean, identifier              alone; an identifier is regenerated, never learned
#   0 and 1       in a boolean column: add `dtype: int8`, or true and false come back
#   days          a datetime without a time of day: add `dtype: "date32[day]"`, or seconds come back
#   dates         not like 2020-12-31: add `format: "%d.%m.%Y"` (days come back in that form)
#   decimals      `decimals: 2` rounds numbers that come back; `decimal: ","` at the top: numbers are written 3,14
#   codes         values beside the numbers that mean something else (999, N): add `codes: [999, N]`
#   bounds        columns of one kind may share an estimate: `bounds: {{estimate: NAME}}`
#   categories    `other: true` collects the rest
#   missing       add `missing: true` where a value may be absent; without it gaps count as the middle of the bounds,
#                   `other` or the first category
# Delete the lines of columns that should not be released. Then run: understudy schema check
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a draft: a column, or an open one (`column` is None), or one that is left out and why."""

    name: str
    column: Column | None = None
    open_kind: str = OPEN  # of an open one: `?`, or ordinal, whose list is open
    note: str = ""
    left_out: bool = False


def of_kind(name: str, kind: str, *, missing: bool = False, dtype: str | None = None, note: str = "") -> Entry:
    """The entry of a column whose kind somebody has said: what belongs to the kind is estimated or left open."""
    if kind == OPEN:
        return Entry(name=name, note=note or ASK)
    if kind == "ordinal":  # an order cannot be estimated
        return Entry(name=name, open_kind=kind, note=note or "list its values in order")
    if kind not in SAID:
        raise UsageError(
            f"column {name!r}: kind {kind!r} cannot be drafted{nearest(kind, SAID)}; use {', '.join(SAID)}"
        )
    estimate = name if kind in (*NUMERIC, "categorical") else None
    gap = missing and kind != "identifier"
    column = Column(name=name, kind=kind, estimate=estimate, missing=gap, dtype=dtype)  # type: ignore[arg-type]
    return Entry(name=name, column=column, note=note)


def one_line(text: object) -> str:
    """A description as a comment: one line, not too long."""
    words = " ".join(str(text).split()) if isinstance(text, str) else ""
    printable = "".join(letter if letter.isprintable() else "?" for letter in words)
    return printable if len(printable) <= LONGEST_NOTE else printable[: LONGEST_NOTE - 3] + "..."


def share_estimates(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Let many columns of one numeric kind share one estimate, since each separate one takes its part of the budget."""
    counts = {kind: sum(c.estimate is not None and c.kind == kind for c in columns) for kind in NUMERIC}
    taken = {c.name for c in columns}

    def shared(column: Column) -> Column:
        if column.estimate is None or counts.get(column.kind, 0) < SHARE_FROM:
            return column
        group = f"all {column.kind}"
        while group in taken:
            group += " columns"
        return replace(column, estimate=group)

    return tuple(shared(c) for c in columns)


def write(
    entries: Iterable[Entry],
    *,
    what: str,
    source: str,
    remarks: Sequence[str] = (),
    rows: int | None = None,
    label: str | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    paid: PaidKinds | None = None,
) -> str:
    """The text of the draft. It depends on the arguments alone."""
    listed = list(entries)
    shared = {c.name: c for c in share_estimates([entry.column for entry in listed if entry.column is not None])}
    lines = [_HEAD.format(what=what, source=source)]
    lines += [f"# {one_line(remark)}\n" for remark in remarks]
    lines.append("understudy: schema\n")
    lines.append(f"rows: {rows}\n" if rows is not None else "# rows: 1000   the number of rows, only if it is public\n")
    lines += [_label_line(label), _unit_line(unit, max_rows)]
    if paid is not None:
        lines.append(f"kinds: {flow(paid.entry())}   # what finding the kinds has cost; every plan charges it\n")
    lines.append("columns:\n")
    for entry in listed:
        if entry.left_out:
            lines.append(f"  # {scalar(entry.name)}: left out, {entry.note}\n")
            continue
        body = column_entry(shared[entry.name]) if entry.column is not None else _open(entry)
        lines.append(f"  {scalar(entry.name)}: {flow(body)}{f'   # {entry.note}' if entry.note else ''}\n")
    return "".join(lines)


def _label_line(label: str | None) -> str:
    if label is None:
        return "# label: {column: NAME}   the column to predict, if there is one\n"
    return f"label: {flow({'column': label})}   # add `positive: VALUE` to say which class is the positive one\n"


def _unit_line(unit: str | None, max_rows: int) -> str:
    """Somebody who does not hear of units protects rows where they mean people."""
    if unit is None:
        return "# unit: {column: NAME, max_rows: 5}   the column that names a person, where one may have several rows\n"
    said = flow({"column": unit, "max_rows": max_rows})
    return f"unit: {said}   # most rows of one person; more are dropped\n"


def _open(entry: Entry) -> dict[str, str]:
    return {"kind": OPEN} if entry.open_kind == OPEN else {"kind": entry.open_kind, "categories": OPEN}
