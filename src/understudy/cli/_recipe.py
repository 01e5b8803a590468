"""From flags and a configuration file to an estimator: what `plan` and `fit` share."""

import types
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from understudy.cli._output import need, number, options, read_config, settings
from understudy.errors import UsageError

if TYPE_CHECKING:
    from understudy.adviser.advice import Advice
    from understudy.estimator import Estimator
    from understudy.schema import Schema

DEFAULT_METHOD = "auto"
DEFAULT_DELTA = 1e-5
USES = ("everything", "label", "counts")  # of the adviser, which is imported when it is asked

Config = Annotated[Path | None, typer.Option("--config", help="YAML file with these options; flags override it.")]


def method_names(incomplete: str) -> list[str]:
    """For shells that complete words."""
    from understudy.methods.registry import METHODS

    return [name for name in (DEFAULT_METHOD, *METHODS) if name.startswith(incomplete)]


Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        help=f"Name of the method, or auto: the adviser's choice. (default: {DEFAULT_METHOD})",
        autocompletion=method_names,
    ),
]
Epsilon = Annotated[float | None, typer.Option("--epsilon", help="Privacy budget of the whole fit, all included.")]
Delta = Annotated[float | None, typer.Option("--delta", help=f"Failure probability. (default: {DEFAULT_DELTA:g})")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Fixes public randomness (initial weights, latent noise). Privacy noise has no seed."),
]
AccountFile = Annotated[
    Path | None,
    typer.Option("--account", help="The holder's account: charged before the first release ('understudy account')."),
]
ValidFor = Annotated[
    str | None,
    typer.Option("--valid-for", metavar="FROM:TO", help="Only people whose unit id lies from FROM on and before TO."),
]
NO_ACCOUNT = "charged to no account: whatever else is released from the same people adds up (understudy account create)"
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any option of the method, e.g. --set teachers=500. Repeatable."),
]


Focus = Annotated[
    str | None,
    typer.Option("--focus", metavar="COLUMN", help="A column whose pairs count more, in the place of the label."),
]
WorkloadFile = Annotated[
    Path | None,
    typer.Option("--workload", metavar="FILE", help="YAML file that says what columns and pairs of columns count."),
]
Rows = Annotated[
    int | None, typer.Option("--rows", min=1, help="Rows you expect, from public knowledge; for the advice only.")
]


def known_use(word: str) -> str:
    """A use that the adviser knows."""
    if word not in USES:
        raise UsageError(f"--for {word!r}: choose one of {', '.join(USES)}")
    return word


Use = Annotated[
    str,
    typer.Option(
        "--for",
        callback=known_use,
        help=f"What the stand-in is for, the adviser ranks methods by it: {', '.join(USES)}.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for, flags over configuration file over defaults."""

    data: Path | None
    schema: Path
    method: str
    epsilon: float
    delta: float
    seed: int | None
    out: Path | None
    rows: int | None
    options: dict[str, object]


def request(
    *,
    config: Path | None,
    data: Path | None = None,
    schema: Path | None,
    method: str | None,
    epsilon: float | None,
    delta: float | None,
    seed: int | None = None,
    out: Path | None = None,
    rows: int | None = None,
    focus: str | None = None,
    workload: Path | None = None,
    pairs: Sequence[str] | None = None,
    schema_is: str = "--schema",
) -> Request:
    """Merge flags and file; the flag wins. `schema_is`: how the command at hand calls its schema."""
    file = read_config(config)

    def pick(name: str, flag: object, default: object = None) -> Any:
        if flag is not None:
            return flag
        found = file.get(name)
        return default if found is None else found

    whole = {"seed": pick("seed", seed), "rows": pick("rows", rows)}
    for name, value in whole.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise UsageError(f"{name} must be a whole number, not {value!r}")
    wanted = Request(
        data=pick("data", data),
        schema=need(schema_is, pick("schema", schema), "name the schema file ('understudy schema init' drafts one)"),
        method=str(pick("method", method, DEFAULT_METHOD)),
        epsilon=number(
            "epsilon", need("--epsilon", pick("epsilon", epsilon), "name the privacy budget, e.g. --epsilon 1")
        ),
        delta=number("delta", pick("delta", delta, DEFAULT_DELTA)),
        seed=whole["seed"],
        out=pick("out", out),
        rows=whole["rows"],
        options=file.get("options", {})
        | settings(pairs or ())
        | weights(pick("focus", focus), pick("workload", workload)),
    )
    from understudy.accounting import Budget

    with options("epsilon", "delta"):
        Budget(wanted.epsilon, wanted.delta)  # refuses what cannot be a budget, in the words of the command line
    return wanted


def weights(focus: object, workload: object) -> dict[str, object]:
    """The flags of a workload as options of the method; a file by its name."""
    found = {"focus": focus, "workload": str(workload) if isinstance(workload, Path) else workload}
    return {name: value for name, value in found.items() if value is not None}


def resolve(wanted: Request, schema: "Schema", use: str = "everything") -> tuple[Request, "Advice | None"]:
    """The request with the adviser's method in the place of `auto`, and the advice (public facts only, no row is read).

    Who names a method is not advised: the request is as it was, and the advice None (`fit` asks `adviser.prospect` then).
    """
    from understudy.adviser import advice as adviser
    from understudy.methods.registry import WEIGHTS

    if wanted.method != adviser.AUTO:
        return wanted, None
    weighed = any(wanted.options.get(option) is not None for option in WEIGHTS)
    if use == "label" and schema.label is None and not weighed:  # a focus is in the place of one
        raise UsageError(
            "--for label: the schema names no label; add `label: {column: NAME}` to it, or leave --for out"
        )
    advice = adviser.advise(
        schema, epsilon=wanted.epsilon, delta=wanted.delta, rows=wanted.rows, use=use, weighed=weighed
    )
    return replace(wanted, method=advice.method), advice


def flagged(text: str) -> str:
    """Advice in the words of the command line: there `use` is `--for`."""
    from understudy.adviser.advice import FOR_THE_LABEL

    return text.replace(FOR_THE_LABEL, "--for label")


def estimator(wanted: Request) -> "Estimator":
    """The estimator of a request. Unknown options are refused by name, with the nearest one that exists."""
    import understudy as us

    with options("method"):
        kind = us.method(wanted.method)
    with options("focus", "workload"):
        check_options(wanted.method, wanted.options)
    made: Estimator = kind(epsilon=wanted.epsilon, delta=wanted.delta, seed=wanted.seed, **wanted.options)
    return made


def check_options(method: str, wanted: dict[str, object]) -> None:
    """Refuse options that the method does not have, and values that are none of theirs."""
    from understudy.methods.registry import check_names, method_options
    from understudy.methods.registry import method as kind

    check_names(method, method_options(method), wanted)
    hints = get_type_hints(kind(method))
    for name, value in wanted.items():
        check_type(name, value, hints.get(name, Any))


NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "null"}


def check_type(name: str, value: object, hint: object) -> None:
    """Refuse a value that the option's annotation does not admit, in words. Ranges are the method's own business."""
    choices: list[str] = []
    for part in get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,):
        if get_origin(part) is Literal:
            if value in get_args(part):
                return
            choices += [repr(choice) for choice in get_args(part)]
        elif part not in NAMES:
            return  # lists and other structures are judged by the method
        elif type(value) is part or (part is float and type(value) is int):
            return
        elif part is not type(None):
            choices.append(NAMES[part])
    raise UsageError(f"option {name!r} must be {' or '.join(choices)}, not {value!r}")
