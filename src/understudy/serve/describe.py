"""The schema as a form, and a form as a schema.

A schema document goes in, fields come out (`fields`); what the browser sends back is laid over the document (`merge`). Keys that
the form does not show (types, sizes of images, shared estimates) stay as they were unless the column's kind changes: then they
are drafted anew, as `schema init` would. Values are written one to a line, as in YAML where that matters: `1` is a number, `"1"`
is text. Bounds may be typed as the table writes them (31.12.2020 under its format, 1,5 under a decimal comma).

`judge` says what is still wrong, for every column at once. It looks at the document and at the file's header and declared types.
No row is read anywhere in this file.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from understudy.errors import UsageError
from understudy.schema import Schema, draft, import_dictionary
from understudy.schema.columns import LISTED, NUMERIC
from understudy.schema.document import OPEN, column_from
from understudy.schema.draft import column_types, public_types
from understudy.schema.facts import check_types, file_format, parquet_schema
from understudy.schema.text import dump_yaml, flow, parse_yaml, read_document, scalar

LEFT_OUT = ""  # kind of a column that is not released at all
EDITED = (
    "kind",
    "lower",
    "upper",
    "bounds",
    "categories",
    "missing",
    "other",
    "format",
    "decimals",
    "codes",
)  # by the form
WHOLE = ("rows", "label", "unit", "columns", "decimal", "constraints")  # of the whole table, by the form too
HEAD = "# What is public about {name}. Whatever stands here counts as public; `estimate` is found privately and paid for.\n"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

Document = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """One column as the form shows it."""

    number: int
    name: str
    kind: str
    reason: str
    lower: str = ""
    upper: str = ""
    categories: str = ""
    missing: bool = False
    other: bool = False
    format: str = ""
    decimals: str = ""
    codes: str = ""
    more: str = ""  # keys that the form does not show
    known: bool = True  # in the table's header


@dataclass(frozen=True)
class Judgement:
    """What keeps a schema from being used (`problems`, by column; `""` for the whole), and what is worth knowing."""

    problems: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Nothing is left to be said."""
        return not self.problems


def load(path: Path, table: Path) -> tuple[Document, bool]:
    """The schema's document, and whether it stands in a file; without one, a draft from header and types."""
    if not path.exists():
        return document_of(draft(table)), False
    return document_of(path.read_text(encoding="utf-8-sig")), True


def document_of(text: str) -> Document:
    """The document in a schema's text; a UsageError when it has no columns to show."""
    try:
        document = parse_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise UsageError(f"the schema is not valid YAML{where}; mend it as text") from None
    if not isinstance(document, dict) or not isinstance(document.get("columns"), dict):
        raise UsageError("the schema needs `columns:` with one line for each column; mend it as text")
    if any(not isinstance(entry, dict) for entry in document["columns"].values()):
        raise UsageError("a column of the schema has no `{kind: ...}`; mend it as text")
    return document


def imported(path: Path) -> str:
    """The text of a schema from a data dictionary, or of a schema file that is there already."""
    content = read_document(path, "file")
    if isinstance(content, dict) and content.get("understudy") == "schema":
        return dump_yaml(document_of(dump_yaml(content)))
    return import_dictionary(path)


def text_of(document: Document, table: Path) -> str:
    """The document as a schema file."""
    return HEAD.format(name=ascii(table.name)) + dump_yaml({"understudy": "schema"} | document)


# -- to the form ----------------------------------------------------------------------------------------------------


def fields(document: Document, table: Path) -> list[Field]:
    """Every column of the header, and those of the document that the header lacks."""
    entries = document["columns"]
    types = public_types(table, entries)
    names = names_of(document, table)
    return [_field(i, name, entries.get(name), types.get(name), name in types) for i, name in enumerate(names)]


def names_of(document: Document, table: Path) -> list[str]:
    """The columns in the order of the form, whose fields are numbered: a name may hold anything, an address may not."""
    types = public_types(table, document["columns"])
    return [*types, *(name for name in document["columns"] if name not in types)]


def digest(names: list[str]) -> str:
    """Tells whether a form was made for these columns."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:16]


def _field(number: int, name: str, entry: Mapping[str, Any] | None, stored: object, known: bool) -> Field:
    reason = f"{stored} in the file." if stored is not None else ""
    if not known:
        reason = "The table has no column of this name."
    if entry is None:
        return Field(number, name, LEFT_OUT, reason, known=known)
    listed = entry.get("categories")
    rest = {key: value for key, value in entry.items() if key not in EDITED}
    if isinstance(entry.get("bounds"), dict):
        rest["bounds"] = entry["bounds"]
    return Field(
        number,
        name,
        str(entry.get("kind", OPEN)),
        reason,
        lower=shown(entry.get("lower")),
        upper=shown(entry.get("upper")),
        categories="\n".join(_lines(listed)) if isinstance(listed, list) else "",
        missing=entry.get("missing") is True,
        other=entry.get("other") is True,
        format=str(entry.get("format", "")),
        decimals=shown(entry.get("decimals")),
        codes=flow(entry.get("codes", [])).strip("[]"),
        more=", ".join(f"{key}: {_plain(value)}" for key, value in rest.items()),
        known=known,
    )


def _lines(values: list[Any]) -> list[str]:
    """Categories as lines: without quotes where the list as a whole comes back the same (10 beside 01)."""
    plain = [value if isinstance(value, str) else shown(value) for value in values]
    return plain if _listed("\n".join(plain).splitlines()) == values else [shown(value) for value in values]


def roles(document: Document) -> dict[str, dict[str, Any]]:
    """Label and unit as the form shows them; a schema file may give just a column's name."""
    said = {role: document.get(role) or "" for role in ("label", "unit")}
    found = {role: dict(value) if isinstance(value, dict) else {"column": value} for role, value in said.items()}
    return {
        "label": {"column": "", "positive": None} | found["label"],
        "unit": {"column": "", "max_rows": 1} | found["unit"],
    }


def constraints(document: Document) -> str:
    """The constraints as lines of the form, one to a line; what was no list stands as it was typed."""
    said = document.get("constraints", [])
    return "\n".join(f"- {flow(one)}" for one in said) if isinstance(said, list) else str(said)


def held_out(file: Path, table: Path) -> bool:
    """Whether a file can hold other rows of the table: the same columns, by its header, and not our synthetic rows."""
    if file == table or ".synthetic." in file.name:
        return False
    try:
        return set(column_types(table)) <= set(column_types(file))
    except UsageError:
        return False


def shown(value: object) -> str:
    """A value as one line; `read` gives the same value back."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = value == value.strip() and value.isprintable() and read(value) == value and value
    return value if plain else scalar(value)


def read(line: str) -> Any:
    """A line as a value: quoted text, true or false, a number, or the text that it is."""
    text = line.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return parse_yaml(text)
        except yaml.YAMLError:
            return text
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text) and not re.match(r"[-+]?0\d", text):  # 007 is a code
        number = float(text)
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else number
    return text


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# -- and back -------------------------------------------------------------------------------------------------------


def merge(document: Document, sent: Mapping[str, str], table: Path) -> Document:
    """The document with what the form says laid over it."""
    names = names_of(document, table)
    if sent.get("columns") != digest(names):
        raise UsageError("the columns have changed since the form was opened; load the page again")
    kinds = {name: sent.get(f"kind-{i}", LEFT_OUT) for i, name in enumerate(names)}
    changed = {n: k for n, k in kinds.items() if k and k != document["columns"].get(n, {}).get("kind")}
    types = public_types(table, document["columns"])
    comma = sent.get("decimal", document.get("decimal")) == ","
    said = {name: kind for name, kind in changed.items() if name in types and kind != OPEN}
    fresh = document_of(draft(table, kinds=said, named=document["columns"]))["columns"] if said else {}
    columns: Document = {}
    for i, (name, kind) in enumerate(kinds.items()):
        if kind == LEFT_OUT:
            continue
        old = fresh.get(name, {}) if name in changed else document["columns"][name]
        columns[name] = _entry(old, kind, partial(_sent, sent, i), comma)
    made: Document = {key: value for key, value in document.items() if key not in WHOLE}
    if rows := sent.get("rows", "").strip():
        made["rows"] = read(rows)
    if label := sent.get("label"):
        positive = sent.get("positive", "").strip()
        made["label"] = {"column": label} | ({"positive": read(positive)} if positive else {})
    if unit := sent.get("unit"):
        old_unit = roles(document)["unit"]
        kept = {
            key: old_unit[key] for key in old_unit if old_unit["column"] == unit and key not in ("column", "max_rows")
        }
        made["unit"] = {"column": unit, "max_rows": read(sent.get("max_rows", "").strip() or "1")} | kept
        if unit in columns:  # it names persons and is never learned
            entry = columns[unit]
            columns[unit] = entry if entry["kind"] == "identifier" else {"kind": "identifier"}
    made |= {"decimal": ","} if comma else {}
    known = _yaml(sent["constraints"].strip()) if "constraints" in sent else document.get("constraints")
    made |= {"constraints": known} if known else {}
    return made | {"columns": columns}


def _sent(sent: Mapping[str, str], number: int, key: str) -> str:
    return sent.get(f"{key}-{number}", "").strip()


def _entry(old: Mapping[str, Any], kind: str, sent: Callable[[str], str], comma: bool) -> Document:
    entry: Document = {"kind": kind} | {key: value for key, value in old.items() if key not in EDITED}
    if kind in NUMERIC:
        form = sent("format") if kind == "datetime" else ""
        bounds = {side: _bound(sent(side), form, comma) for side in ("lower", "upper") if sent(side)}
        entry |= bounds or {"bounds": old.get("bounds", "estimate")}
        entry |= {"format": form} if form else {}
        entry |= {"decimals": read(sent("decimals"))} if kind == "continuous" and sent("decimals") else {}
        entry |= {"codes": _yaml(f"[{sent('codes')}]")} if kind != "datetime" and sent("codes") else {}
    elif kind in LISTED:
        listed = _listed(sent("categories").splitlines())
        unsaid = old.get("categories") if isinstance(old.get("categories"), dict) else "estimate"
        entry["categories"] = listed or (OPEN if kind == "ordinal" else unsaid)
        entry |= {"other": True} if sent("other") else {}
    entry |= {"missing": True} if sent("missing") and kind != "identifier" else {}
    return entry


def _bound(text: str, form: str, comma: bool) -> Any:
    """A bound as the table writes its cells, or as a schema writes it."""
    if form:
        with suppress(ValueError):
            found = datetime.strptime(text, form)
            return found.isoformat() if "%H" in form else found.date().isoformat()
    return read(text.replace(",", ".") if comma else text)


def _listed(lines: list[str]) -> list[Any]:
    """Categories of one sort: where 01 or `none` stands among numbers, all of them are text."""
    typed = [line.strip() for line in lines if line.strip()]
    values = [read(line) for line in typed]
    mixed = len({str if isinstance(value, str) else bool if isinstance(value, bool) else float for value in values}) > 1
    return (
        [value if isinstance(value, str) else line for value, line in zip(values, typed, strict=True)]
        if mixed
        else values
    )


def _yaml(text: str) -> Any:
    """What a field that takes YAML holds; text that is none stays text, and the schema refuses it in words."""
    try:
        return parse_yaml(text)
    except yaml.YAMLError:
        return text


# -- what is left to say ---------------------------------------------------------------------------------------------


def judge(document: Document, table: Path) -> Judgement:
    """Problems of every column, or of the whole once the columns are in order, from public facts alone."""
    problems: dict[str, str] = {}
    types = public_types(table, document["columns"])
    for name, entry in document["columns"].items():
        if name not in types:
            problems[name] = "is not in the table; leave it out, or mend the name in the table"
        elif entry.get("kind") == OPEN or entry.get("categories") == OPEN:
            problems[name] = "list its values in order" if entry.get("kind") == "ordinal" else "say what kind it is"
        else:
            try:
                column = column_from(name, entry)
                if file_format(table) == "parquet":
                    check_types(parquet_schema(table), [column])
            except UsageError as error:
                problems[name] = str(error).removeprefix(f"column {name!r}: ")
    if problems:
        return Judgement(problems)
    try:
        schema = Schema.from_dict({"understudy": "schema"} | document)
    except UsageError as error:
        return Judgement({"": str(error)})
    return Judgement(remarks=tuple(_remarks(schema, types)))


def _remarks(schema: Schema, types: Mapping[str, Any]) -> list[str]:
    """What one should know before going on."""
    said = []
    waiting = [column.name for group in schema.estimates.values() for column in group]
    if waiting:
        few = ", ".join(waiting[:4]) + (" and others" if len(waiting) > 4 else "")
        said.append(
            f"{len(waiting)} column{'s' * (len(waiting) > 1)} ({few}) will be estimated, which takes a part of epsilon. "
            "Bounds and lists that you know without looking at the rows are better, and free."
        )
    if schema.unit is None:
        said.append("One row is protected. If a person has several rows, name the column that tells persons apart.")
    if left := [name for name in types if name not in schema.names]:
        said.append(f"{len(left)} column{'s' * (len(left) > 1)} of the table will not be released.")
    return said


def ready(path: Path, table: Path) -> bool:
    """Whether the schema file can be planned with."""
    try:
        return judge(load(path, table)[0], table).ready
    except UsageError:
        return False
