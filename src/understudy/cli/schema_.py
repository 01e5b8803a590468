"""`understudy schema`: say what is public about a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli._output import AsJson, Overwrite, need, options, quoted, show, writable_file
from understudy.cli._recipe import AccountFile
from understudy.errors import UsageError
from understudy.files import write_atomically

if TYPE_CHECKING:
    from understudy.schema import FoundKinds

REMARK = (
    "(From the private rows: keep it to yourself, and change the schema by what you know of the table, since what stands "
    "there counts as public. None of this stops a fit.)"
)

app = typer.Typer(no_args_is_help=True, help="Say what is public about a table: draft, check or import a schema.")


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or Parquet table.")],
    label: Annotated[str | None, typer.Option("--label", help="Column to predict.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Column that names the protected person.")] = None,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Most rows of one person; more are dropped.")] = 1,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="NAME=KIND", help="Say a column's kind; '*=KIND' for all that are left open."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Schema file to write. (default: FILE with the ending .yaml)")
    ] = None,
    public_data: Annotated[
        bool,
        typer.Option("--public-data", help="The table is public: copy kinds, bounds and categories from its contents."),
    ] = False,
    estimate_kinds: Annotated[
        bool,
        typer.Option("--estimate-kinds", help="CSV: find kinds privately, by noisy votes of cells; needs --epsilon."),
    ] = False,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="What --estimate-kinds may cost, e.g. 0.05.")
    ] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="Of --estimate-kinds. (default: 1e-6)")] = None,
    account: AccountFile = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented draft from the header only (Parquet: its types); no row is looked at.

    CSV has no types: kinds are left open ("?") for you to say, in the file or by --kind.
    """
    from understudy.schema import draft

    out = out or file.with_suffix(".yaml")
    said = _kinds(kind or ())
    if unit is None and max_rows != 1:
        raise UsageError("--max-rows is given without --unit")
    if estimate_kinds and public_data:
        raise UsageError("--estimate-kinds is for private tables and --public-data for public ones; choose one")
    if not estimate_kinds and (epsilon is not None or delta is not None or account is not None):
        raise UsageError("--epsilon, --delta and --account pay for --estimate-kinds, which is not given")
    _free(out, overwrite)
    if _ledger(out).exists():
        raise UsageError(
            f"--out {str(out)!r}: kinds were found and paid for under this name ({_ledger(out).name!r}); edit that "
            "schema, or choose another name and count both prices"
        )
    found = None
    if estimate_kinds:
        paid = need("--epsilon", epsilon, "say what finding the kinds may cost, e.g. --epsilon 0.05")
        found = _find(file, out, said, label, unit, max_rows, paid, delta, account)
    text = draft(file, label=label, unit=unit, public_data=public_data, kinds=said, max_rows=max_rows, found=found)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, text)
    left = text.count(': "?"}')
    price = "" if found is None else f"; finding kinds has cost epsilon {epsilon:g}, which every fit counts in its own"
    show(
        {"schema": str(out), "public_data": public_data, "open": left}
        | ({} if found is None else {"epsilon_spent": epsilon}),
        lambda: (
            f"wrote {out}{price}\n{_advice(left)}, then: understudy schema check {quoted(file)} --schema {quoted(out)}"
        ),
        as_json,
    )


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or Parquet table.")],
    schema: Annotated[Path, typer.Option("--schema", help="Schema file.")],
    as_json: AsJson = False,
) -> None:
    """Say whether a table fits its schema, by column, never by value. Exit code 1 if it does not.

    The answer depends on the private rows: it is for the holder of the table only.
    """
    from understudy.schema import Schema
    from understudy.schema import check as problems_of

    problems = problems_of(file, Schema.load(schema))
    show(
        {"fits": not problems, "problems": problems},
        lambda: (
            "\n".join([*problems, REMARK])
            if problems
            else f"{file} fits {schema}; next: understudy plan {quoted(schema)} --epsilon 1"
        ),
        as_json,
    )
    if problems:
        raise typer.Exit(1)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="DICTIONARY", help="JSON or YAML data dictionary of a table.")],
    out: Annotated[Path, typer.Option("--out", help="Schema file to write.")],
    format: Annotated[
        str | None, typer.Option("--format", help="sdv, frictionless or nist. (default: by the content)")
    ] = None,
    table: Annotated[str | None, typer.Option("--table", help="Which table, if it describes several.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Turn a data dictionary into a draft: SDV metadata, a Frictionless table schema, a NIST excerpt's dictionary.

    Bounds and categories that it states are used; what it does not state is `estimate` or open ("?").
    """
    from understudy.schema import import_dictionary

    _free(out, overwrite)
    text = import_dictionary(file, format, table)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, text)
    left = text.count(': "?"}')
    show(
        {"schema": str(out), "open": left},
        lambda: f"wrote {out}; {_advice(left).lower()} before use",
        as_json,
    )


def _advice(left: int) -> str:
    return f'Replace what says "?" ({left} column{"s" * (left > 1)})' if left else "Read it"


def _kinds(pairs: Sequence[str]) -> dict[str, str]:
    """`--kind age=integer --kind '*=categorical'` as a dictionary; a name may hold `=` itself."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, separator, kind = pair.rpartition("=")
        if not separator or not name:
            raise UsageError(f"--kind {pair!r} is not of the form NAME=KIND, e.g. --kind age=integer")
        if name in found:
            raise UsageError(f"--kind names the column {name!r} twice")
        found[name] = kind.strip()
    return found


def _find(
    file: Path,
    out: Path,
    said: dict[str, str],
    label: str | None,
    unit: str | None,
    max_rows: int,
    epsilon: float,
    delta: float | None,
    account: Path | None,
) -> "FoundKinds":
    """Kinds of the columns that nobody has said; whatever can be refused is refused before the price is paid."""
    from understudy.kinds import DELTA, find_kinds
    from understudy.schema.draft import check_roles, public_types

    types = public_types(file)
    check_roles(types, label, unit, said)
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    with options("account"):
        return find_kinds(
            file,
            epsilon,
            DELTA if delta is None else delta,
            names=[name for name in types if name not in said],
            unit=unit,
            max_rows=max_rows,
            ledger=_ledger(out),
            account=account,
        )


def _ledger(out: Path) -> Path:
    """The charge for finding the kinds of the schema `out`: beside it, so that no later draft of that name forgets it."""
    return out.with_name(out.name + ".kinds-ledger.jsonl")


def _free(out: Path, overwrite: bool) -> None:
    if out.exists() and not overwrite:
        raise UsageError(f"--out {str(out)!r} exists already; choose another name or add --overwrite")
    writable_file(out)
