"""What commands share: printing, reading options, and checking places to write before work begins."""

import json
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from understudy.errors import UsageError

Value = TypeVar("Value")
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there already.")]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        envvar="UNDERSTUDY_ENGINE",
        metavar="NAME",
        help="Where work runs: inline, processes, processes:N, ray, ray:N, ray@HOST:PORT. It never changes a result.",
    ),
]


def show(data: Mapping[str, object], text: Callable[[], object], as_json: bool) -> None:
    """Print `data` as JSON, or call `text` and print what it returns (a string or a Rich renderable)."""
    if as_json:
        typer.echo(json.dumps(plain(data), ensure_ascii=False, indent=2, allow_nan=False))
        return
    content = text()
    if isinstance(content, str):
        typer.echo(content)
    else:
        from rich.console import Console

        Console(soft_wrap=False).print(content)


def plain(value: object) -> object:
    """Only what JSON knows: infinities become strings, arrays lists, paths text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def yaml_value(text: str) -> object:
    """A value as one would write it in YAML, with `1e-5` read as the number it is."""
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return numeric(value)


def numeric(value: object) -> object:
    """YAML 1.1 reads `1e-5` (no point) as text; people mean a number."""
    if isinstance(value, str):
        try:
            return float(value) if set(value) <= set("0123456789+-.eE") else value
        except ValueError:
            return value
    return value


def settings(pairs: Sequence[str]) -> dict[str, object]:
    """`--set teachers=500 --set noise=laplace` as a dictionary."""
    found: dict[str, object] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"--set {pair!r} is not of the form name=value, e.g. --set teachers=500")
        found[name.strip().replace("-", "_")] = yaml_value(value.strip())
    return found


CONFIG_KEYS = ("data", "schema", "method", "epsilon", "delta", "out", "seed", "rows", "focus", "workload", "options")


def read_config(path: Path | None) -> dict[str, Any]:
    """The `--config` file: the same names as the flags, and `options` for the method's own."""
    if path is None:
        return {}
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"--config {str(path)!r}: there is no such file") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise UsageError(f"--config {str(path)!r} is not valid YAML") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UsageError(f"--config {str(path)!r} must hold 'name: value' lines, one of them per option")
    for key in content:
        if key not in CONFIG_KEYS:
            near = get_close_matches(str(key), CONFIG_KEYS, n=1)
            advice = f"did you mean {near[0]!r}?" if near else "a method's own options stand under 'options:'"
            raise UsageError(f"--config {str(path)!r}: unknown option {str(key)!r}; {advice}")
    options = content.get("options") or {}
    if not isinstance(options, dict):
        raise UsageError(f"--config {str(path)!r}: 'options' must hold 'name: value' lines")
    content["options"] = {str(key).replace("-", "_"): numeric(value) for key, value in options.items()}
    # Files are named as seen from the file that names them, so a configuration can be moved with its folder.
    for key in ("data", "schema", "out"):
        if content.get(key) is not None:
            content[key] = path.parent / str(content[key])
    for said in (content, content["options"]):
        if isinstance(said.get("workload"), str):  # it may also be written out there
            said["workload"] = str(path.parent / said["workload"])
    return content


def number(name: str, value: Any) -> float:
    """An option of the configuration file that must be a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a number, not {value!r}") from None


def as_options(text: str, *names: str) -> str:
    """The library names arguments (`resume=True`, `methods: ...`); on the command line they are options."""
    found = re.compile(rf"(?<![\w-])({'|'.join(names)})(?:=True\b|(?=[=:]))")
    return found.sub(lambda name: "--" + name[1].replace("_", "-"), text)


@contextmanager
def options(*names: str) -> Iterator[None]:
    """Errors of the library in the words of the command line."""
    try:
        yield
    except UsageError as error:
        raise UsageError(as_options(str(error), *names)) from None


def quoted(path: Path) -> str:
    """A path as one types it in a shell, for lines that propose a command."""
    return shlex.quote(str(path))


def counted(number: int, thing: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def need(name: str, value: Value | None, advice: str) -> Value:
    """The value, or a sentence that says which option is missing and where it comes from."""
    if value is None:
        raise UsageError(f"{name} is missing; {advice}")
    return value


def writable_file(path: Path) -> None:
    """Refuse a file that cannot be written before hours are spent on its contents."""
    if path.is_dir():
        raise UsageError(f"--out {str(path)!r} is a folder; name a file in it")
    _writable_parent(path)


def writable_folder(path: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something already or cannot be made."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out {str(path)!r} is a file and a folder is needed; choose another name")
    if path.is_dir() and any(path.iterdir()) and not overwrite:
        raise UsageError(f"--out {str(path)!r} holds files already; choose another name or add --overwrite")
    _writable_parent(path)


def _writable_parent(path: Path) -> None:
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(f"--out {str(path)!r}: cannot write into {str(parent)!r}; choose another place")
