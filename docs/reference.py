"""The reference, generated: every command from Typer, every public name from its docstring."""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from typing import Any

import understudy as us
from understudy.cli._commands import COMMANDS, load

PAGE = """\
# {title}

{lead}

"""


def commands() -> str:
    """A page with every command, its arguments and its options."""
    lead = "Every command has `--help`; most have `--json`. [Command line](../cli.md) has exit codes and what commands share."
    parts = [PAGE.format(title="Commands", lead=lead)]
    for name in COMMANDS:
        parts += _command(load(name), f"understudy {name}", "##")
    return "\n".join(parts)


def _command(command: Any, path: str, level: str) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    yield f"{level} {path}\n\n{_prose(command.help or '')}\n"
    if inner:
        for name, one in inner.items():
            yield from _command(one, f"{path} {name}", level + "#")
        return
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    words = " ".join(_usage(one) for one in arguments)
    yield f"```text\n{path} {words}{' ' * bool(words)}[OPTIONS]\n```\n"
    rows = [(_flags(one), _prose(getattr(one, "help", "") or "")) for one in shown if one.name != "help"]
    if rows:
        yield (
            "| Argument or option | Meaning |\n| --- | --- |\n"
            + "\n".join(f"| {flag} | {text} |" for flag, text in rows)
            + "\n"
        )


def _usage(argument: Any) -> str:
    word = argument.metavar or argument.name.upper()
    return word if argument.required else f"[{word}]"


def _flags(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"`{one.metavar or one.name.upper()}`"
    value = "" if one.is_flag else f" {one.metavar or _kind(one)}"
    default = one.default
    shown = not one.is_flag and isinstance(default, str | int | float) and not isinstance(default, bool)
    said = f"; default {default}" if shown else "; required" if one.required else ""
    return f"`{', '.join(one.opts)}{value}`{said}".replace("|", "\\|")


def _kind(option: Any) -> str:
    """What the value is: a placeholder that says it."""
    annotation = option.type_descriptor.annotation
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(one.value) for one in annotation)
    return {"int": "N", "float": "X", "Path": "PATH", "str": "TEXT"}.get(getattr(annotation, "__name__", ""), "VALUE")


def _prose(text: str) -> str:
    """One paragraph that Markdown leaves as it is."""
    line = " ".join(text.split())
    return re.sub(r"([<>|*_\\])", r"\\\1", line)


def api() -> str:
    """A page with the public surface: signatures and docstrings."""
    lead = "`import understudy as us`. What is not listed here may change without notice."
    parts = [PAGE.format(title="Python", lead=lead)]
    for name in us.__all__:
        value = getattr(us, name)
        if inspect.isclass(value):
            parts += _class(name, value)
        elif callable(value):
            parts.append(f"## us.{name}\n\n{_signature(f'us.{name}', value)}\n{_docstring(value)}\n")
        elif name == "METHODS":
            parts.append(f"## us.{name}\n\nMethods by name: {', '.join(f'`{one}`' for one in value)}.\n")
    return "\n".join(parts)


def _class(name: str, kind: type) -> Iterator[str]:
    yield f"## us.{name}\n\n{_signature(f'us.{name}', kind)}\n{_docstring(kind)}\n"
    for member, value in inspect.getmembers(kind):
        if member.startswith("_") or not _ours(kind, member):
            continue
        if isinstance(value, property | cached_property):
            yield f"### {name}.{member}\n\n{_docstring(value)}\n"
        elif inspect.isroutine(value) and inspect.getdoc(value):
            yield f"### {name}.{member}()\n\n{_signature(member, value)}\n{_docstring(value)}\n"


def _ours(kind: type, member: str) -> bool:
    owner = next(base for base in kind.__mro__ if member in vars(base))
    return owner.__module__.startswith("understudy")


def _signature(name: str, value: Any) -> str:
    try:
        found = inspect.signature(value)
    except ValueError:
        return ""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values() if one.name != "self"]
    text = f"{name}{found.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"
    if len(text) > 90:
        words = [str(one) for one in plain]
        named = [one.kind is inspect.Parameter.KEYWORD_ONLY for one in plain]
        if any(named):
            words.insert(named.index(True), "*")
        text = f"{name}(\n    " + ",\n    ".join(words) + ",\n)"
    return f"```text\n{text}\n```\n"


def _docstring(value: Any) -> str:
    return re.sub(r"(?m)^(#+ )", r"\\\1", inspect.getdoc(value) or "")
