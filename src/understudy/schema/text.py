"""Schema files as text: YAML or JSON in, YAML or JSON out.

YAML 1.1 reads `no` as false, `12:30` as 750 and `007` as 7, which quietly ruins category lists. The reader here keeps
to the YAML 1.2 core rules (only true/false are booleans), leaves numbers with leading zeros and dates as text, keeps
mapping keys as the text they are written as, and refuses repeated keys.
"""

import json
import os
import re
from pathlib import Path
from typing import Any, ClassVar

import yaml

from understudy.errors import UsageError


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """SafeLoader with fewer surprises; see the module docstring."""

    yaml_implicit_resolvers: ClassVar[dict[str | None, list[tuple[str, re.Pattern[str]]]]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key_node.start_mark)
            if key_node.value in found:
                problem = f"{key_node.value!r} appears twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            found[key_node.value] = self.construct_object(value_node, deep=True)
        return found


def _construct_map(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    (
        "float",
        r"^(?:[-+]?(?:(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+)"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def parse_yaml(text: str) -> Any:
    """The plain objects a YAML text describes; yaml.YAMLError when it does not."""
    return yaml.load(text, Loader=_Loader)  # a SafeLoader with narrower rules


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} appears twice")
        found[key] = value
    return found


def read_document(path: str | os.PathLike[str], what: str) -> Any:
    """Parse a .json file as JSON, anything else as YAML; every failure is one line that names the file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{what} {str(file)!r} does not exist") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what} {str(file)!r} is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"{what} {str(file)!r} cannot be read: {error.strerror}") from None
    if not text.strip():
        raise UsageError(f"{what} {str(file)!r} is empty")
    try:
        if file.suffix.lower() == ".json":
            return json.loads(text, object_pairs_hook=_unique)
        return parse_yaml(text)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or "not understood"
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UsageError(f"{what} {str(file)!r} is not valid YAML{where}: {problem}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what} {str(file)!r} is not valid JSON: {error}") from None


def scalar(value: str | int | float | bool | None) -> str:
    """One value as YAML that this reader reads back unchanged; plain where possible, double-quoted otherwise."""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*", value)
    if plain and parse_yaml(value) == value:
        return value
    return '"' + "".join(_escaped(letter) for letter in value) + '"'


def _escaped(letter: str) -> str:
    # Not JSON's escapes: those write letters beyond 16 bits as two halves, which YAML reads as two letters.
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() and letter != "\ufeff" else f"\\U{ord(letter):08x}"


def flow(value: Any) -> str:
    """A plain object as one line of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    return scalar(value)


def dump_yaml(document: dict[str, Any]) -> str:
    """The schema document as YAML, one line for each column."""
    lines = [f"{scalar(key)}: {flow(value)}" for key, value in document.items() if key != "columns"]
    lines.append("columns:")
    lines += [f"  {scalar(name)}: {flow(entry)}" for name, entry in document["columns"].items()]
    return "\n".join(lines) + "\n"
