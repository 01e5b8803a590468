"""`understudy account`: the holder's account of everything that was released about the same people."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli._output import AsJson, options, show
from understudy.cli._recipe import DEFAULT_DELTA, DEFAULT_METHOD, ValidFor, estimator, request, resolve
from understudy.errors import UsageError

if TYPE_CHECKING:
    from understudy.account import Account
    from understudy.accounting.book import Posting

app = typer.Typer(no_args_is_help=True, help="A budget for all releases about the same people, charged by every run.")
File = Annotated[Path, typer.Argument(metavar="ACCOUNT", help="The account's file.")]


@app.command()
def create(
    file: File,
    unit: Annotated[
        list[str],
        typer.Option("--unit", help="Column that names the people in a schema; 'row' for tables without. Repeatable."),
    ],
    epsilon: Annotated[float, typer.Option("--epsilon", help="What all releases together may cost.")],
    delta: Annotated[float, typer.Option("--delta", help="Failure probability of all of them.")] = DEFAULT_DELTA,
    as_json: AsJson = False,
) -> None:
    """Begin an account: a file that only grows and is charged before every release."""
    from understudy.account import Account

    with options("unit", "epsilon", "delta"):
        account = Account.create(file, units=unit, epsilon=epsilon, delta=delta)
    show(
        describe(account),
        lambda: (
            f"wrote {file} and {file}.head for {' or '.join(unit)}: epsilon {epsilon:g}, delta {delta:g}\n"
            f"next: understudy fit FILE --schema SCHEMA --epsilon 1 --account {file}"
        ),
        as_json,
    )


@app.command("show")
def show_(file: File, as_json: AsJson = False) -> None:
    """What was charged when, for what, and what is left."""
    from understudy.account import Account

    account = Account(file)
    found = describe(account)
    show(found, lambda: "\n".join(_words(found)), as_json)


@app.command()
def plan(
    file: File,
    epsilon: Annotated[float, typer.Option("--epsilon", help="Budget of each fit.")],
    schema: Annotated[
        Path | None, typer.Option("--schema", help="Schema of the fits. (default: one Gaussian release each)")
    ] = None,
    method: Annotated[str, typer.Option("--method", help="Method of the fits.")] = DEFAULT_METHOD,
    delta: Annotated[float | None, typer.Option("--delta", help="Of each fit. (default: the account's)")] = None,
    valid_for: ValidFor = None,
    as_json: AsJson = False,
) -> None:
    """How many more fits of a kind the account covers."""
    from understudy.account import Account

    account = Account(file)
    chosen = float(account.book.budget.delta) if delta is None else delta
    with options("account", "valid_for"):
        postings = _postings(account, epsilon, chosen, schema, method, valid_for)
        count = account.book.how_many(postings)
        after = account.book.total_with(postings) if count else None
    show(
        {"fits": count, "total": account.book.total, "total_after_one": after, "epsilon_left": account.book.left()},
        lambda: (
            f"{count:,} more: after one the total would be epsilon {after:.4g} of {account.book.budget.epsilon:g}"
            if after is not None
            else f"none: epsilon {account.book.left():.4g} is left for a further release of Gaussian noise"
        ),
        as_json,
    )


@app.command()
def verify(
    file: File,
    model: Annotated[
        list[Path] | None, typer.Option("--model", help="Model folder that must have been charged here. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the chain and the head, and that models were charged by this file. Exit code 1 if one was not."""
    from understudy.account import Account
    from understudy.accounting.certificate import Certificate
    from understudy.files import read_json

    account = Account(file)
    found = []
    for folder in model or []:
        named = Certificate.from_dict(read_json(folder / "certificate.json")).content.get("account")
        found.append(
            {"model": str(folder), "ok": _charged(account, named), "entry": None if named is None else named["number"]}
        )
    whole = {"whole": True, "entries": len(account.book.entries), "models": found}
    lines = [f"ok      {file}: {len(account.book.entries)} entries, none altered, none missing up to the noted head"]
    lines += [
        f"ok      {one['model']}: entry {one['entry']}"
        if one["ok"]
        else f"FAILED  {one['model']}: was not charged to this account, or its entry is lost"
        for one in found
    ]
    show(whole, lambda: "\n".join(lines), as_json)
    if not all(one["ok"] for one in found):
        raise typer.Exit(1)


@app.command()
def move(
    file: File,
    to: Annotated[Path, typer.Argument(metavar="TO", help="New place, which must be free.")],
    as_json: AsJson = False,
) -> None:
    """Go on in another place. The old file stays as a record and refuses charges."""
    from understudy.account import Account

    Account(file).move(to)
    said = f"{to} takes charges from now on; {file} refuses them"
    show({"account": str(to), "closed": str(file)}, lambda: said, as_json)


@app.command()
def admit(
    file: File,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="Another column that names the same people.")],
    as_json: AsJson = False,
) -> None:
    """Let tables that call the same people otherwise be charged too."""
    from understudy.account import Account

    with options("unit"):
        Account(file).admit(unit)
    units = Account(file).book.units
    said = f"{file} covers tables whose unit is {unit} too; ranges of ids count only for {units[0]}"
    show({"account": str(file), "units": list(units)}, lambda: said, as_json)


def describe(account: "Account") -> dict[str, Any]:
    """Budget, entries and what is left, as `show` prints them."""
    from understudy.accounting import events
    from understudy.accounting.book import worst

    book = account.book
    return {
        "account": account.name,
        "units": list(book.units),
        "epsilon": book.budget.epsilon,
        "delta": book.budget.delta,
        "total": book.total,
        "epsilon_left": book.left(),
        "entries": [
            {
                "number": number,
                "when": entry.when,
                "what": entry.what,
                "people": next((str(p.people) for p in entry.postings if p.people is not None), "everybody"),
                "epsilon_alone": worst(entry.postings, book.budget.delta),
                "releases": [{"purpose": p.purpose, "noise": events.describe(p.event)} for p in entry.postings],
            }
            for number, entry in enumerate(book.entries, 1)
        ],
    }


def _words(found: dict[str, Any]) -> list[str]:
    lines = [
        f"account {found['account']} for {' or '.join(found['units'])}: epsilon {found['epsilon']:g}, delta {found['delta']:g}"
    ]
    for one in found["entries"]:
        about = "" if one["people"] == "everybody" else f", only {one['people']}"
        lines.append(
            f"{one['number']:4}  {one['when']}  {one['what']} (epsilon {one['epsilon_alone']:.4g} alone{about})"
        )
    return [
        *lines,
        f"spent: epsilon {found['total']:.4g}, all events composed",
        f"left:  a further release of Gaussian noise may have epsilon {found['epsilon_left']:.4g}",
    ]


def _charged(account: "Account", named: dict[str, Any] | None) -> bool:
    """Whether the entry that a certificate names stands in the account as it was."""
    if named is None or named["account"] != account.name:
        return False
    found = account.receipt(named["token"])
    return found is not None and (found.number, found.head) == (named["number"], named["head"])


def _postings(
    account: "Account", epsilon: float, delta: float, schema: Path | None, method: str, valid_for: str | None
) -> "tuple[Posting, ...]":
    import dp_accounting as dpa

    from understudy.accounting import Budget, noise_scale
    from understudy.accounting.book import Posting
    from understudy.people import People
    from understudy.schema import Schema

    people = None if valid_for is None else People.parse(valid_for)
    if schema is None:
        sigma = noise_scale(Budget(epsilon, delta), lambda scale: [dpa.GaussianDpEvent(scale)])
        return (Posting("one Gaussian release", dpa.GaussianDpEvent(sigma), people),)
    if not schema.is_file():
        raise UsageError(f"--schema {str(schema)!r}: there is no such file")
    loaded = replace(Schema.load(schema), people=people)
    wanted = request(config=None, schema=schema, method=method, epsilon=epsilon, delta=delta)
    return account.postings(estimator(resolve(wanted, loaded)[0]).plan(loaded), loaded)
