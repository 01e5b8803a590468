"""`understudy fit`: learn a private stand-in for a table and write it, with its certificate, as a folder."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli._output import AsJson, EngineName, Overwrite, Quiet, need, options, quoted, show, writable_folder
from understudy.cli._recipe import (
    NO_ACCOUNT,
    AccountFile,
    Config,
    Delta,
    Epsilon,
    Focus,
    Method,
    Request,
    Rows,
    Seed,
    Setting,
    Use,
    ValidFor,
    WorkloadFile,
    estimator,
    flagged,
    request,
    resolve,
)
from understudy.errors import UsageError
from understudy.people import People
from understudy.progress import FitProgress

if TYPE_CHECKING:
    from understudy.adviser.advice import Advice
    from understudy.estimator import Estimator
    from understudy.schema import Schema

app = typer.Typer()
UNUSED = 1.0


@app.command(help="Learn a private stand-in for a table and write it as a folder, with its certificate.")
def fit(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="CSV or Parquet table.")] = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="Schema file: what is public.")] = None,
    method: Method = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Model folder to write. (default: FILE with the ending .understudy)")
    ] = None,
    account: AccountFile = None,
    valid_for: ValidFor = None,
    seed: Seed = None,
    use: Use = "everything",
    rows: Rows = None,
    focus: Focus = None,
    workload: WorkloadFile = None,
    pairs: Setting = None,
    config: Config = None,
    not_private: Annotated[
        bool,
        typer.Option("--not-private", help="Needed for references such as gan: their result has no guarantee at all."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted fit.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fit although the adviser says that nothing useful will come of it.")
    ] = False,
    engine: EngineName = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a method to a table and write the model folder."""
    if not_private and epsilon is None:
        epsilon = UNUSED  # references have no budget
    wanted = request(
        config=config,
        data=file,
        schema=schema,
        method=method,
        epsilon=epsilon,
        delta=delta,
        seed=seed,
        out=out,
        rows=rows,
        focus=focus,
        workload=workload,
        pairs=pairs,
    )
    data = need("FILE", wanted.data, "name the table to learn from")
    target = wanted.out or beside(data)
    writable_folder(target, overwrite or (resume and _is_its_own(target)))

    with FitProgress(wanted.epsilon, quiet or as_json) as progress:
        from understudy.accounting import Budget
        from understudy.folder import check_replaceable
        from understudy.plan import delta_notes
        from understudy.schema import Schema
        from understudy.schema.check import remarks

        check_replaceable(target)
        loaded = Schema.load(wanted.schema)
        if valid_for is not None:
            with options("valid_for"):
                loaded = replace(loaded, people=People.parse(valid_for))
        started, before = time.perf_counter(), written(target)
        resolved, advice = resolve(wanted, loaded, use=use)
        model = estimator(resolved)
        check_consent(model, not_private)
        if not quiet:
            for line in remarks(data, loaded):
                typer.echo(line, err=True)
            if model.private:
                for line in delta_notes(Budget(model.epsilon, model.delta), resolved.rows):
                    typer.echo(line, err=True)
        if model.private and not resume:
            verdict(advice, loaded, resolved, force, quiet or as_json)
        try:
            if target.is_dir() and not any(target.iterdir()):
                target.rmdir()  # an empty folder was made for us; the model replaces it as a whole
            with options("resume", "account", "engine", "focus", "workload"):
                model.fit(
                    data,
                    loaded,
                    progress=progress,
                    checkpoint=checkpoint_of(target),
                    resume=resume,
                    out=target,
                    account=account,
                    engine=engine,
                )
        except KeyboardInterrupt:
            if written(target) == before:
                _say_what_is_left(checkpoint_of(target), model.delta)
                raise
            typer.echo(f"interrupted when the fit was done: {target} is written", err=True)
            return
    if not quiet:
        seconds = time.perf_counter() - started
        show(summary(model, target, seconds), lambda: _text(model, target, seconds), as_json)


def beside(data: Path) -> Path:
    """Where the model goes if nobody says: beside the table, which must be on this machine for that."""
    from understudy.schema.storage import is_address

    if is_address(data):
        raise UsageError("--out: name the folder to write; the table is not on this machine")
    return data.with_suffix(".understudy")


def verdict(advice: "Advice | None", schema: "Schema", wanted: Request, force: bool, quiet: bool) -> None:
    """One line before anything is spent; where nothing useful can come of it, a refusal that --force overrules.

    Who named a method is not advised, and hears only whether any method can work.
    """
    from understudy.adviser.advice import prospect

    if advice is None:
        found = prospect(schema, epsilon=wanted.epsilon, delta=wanted.delta, rows=wanted.rows)
        hopeless, said = bool(found.hopeless), found.words(wanted.rows or schema.rows)
    else:
        hopeless, said = advice.hopeless, flagged(advice.expect)
    if hopeless and not force:
        raise UsageError(f"{said} Nothing was spent; add --force to fit all the same")
    if said and not quiet:
        typer.echo(f"{wanted.method}: {said}", err=True)


def check_consent(model: "Estimator", not_private: bool) -> None:
    """A method without privacy runs only for those who say that they know."""
    if not model.private and not not_private:
        raise UsageError(
            f"method {model.method!r} has no privacy guarantee, it is a reference to compare with; "
            "add --not-private to run it all the same, and never publish what it makes"
        )
    if model.private and not_private:
        raise UsageError(f"--not-private is for references only, and method {model.method!r} is private; leave it out")


def written(target: Path) -> int | None:
    """When the model at `target` was written; None where there is none."""
    file = target / "certificate.json"
    return file.stat().st_mtime_ns if file.is_file() else None


def checkpoint_of(target: Path) -> Path:
    """The checkpoint stands beside the model, never inside: it holds private state and must not be handed on."""
    return target.with_name(target.name + ".checkpoint")


def summary(model: "Estimator", target: Path, seconds: float) -> dict[str, Any]:
    """Public figures only: nothing here was read from rows except through a paid release."""
    from understudy import estimates

    plan = model.fitted.plan
    return {
        "model": str(target),
        "method": plan.method,
        "epsilon": plan.epsilon,
        "delta": plan.budget.delta,
        "unit": plan.unit,
        "valid": plan.valid,
        "void_reason": plan.void_reason,
        "estimated": estimates.found(model.fitted.schema, model.fitted.resolved, model.fitted.released),
        "not_found": estimates.lost(model.fitted.schema, model.fitted.resolved),
        "seconds": round(seconds, 2),
        "account": model.fitted.account,
    } | ({"report": dict(model.fitted.report)} if model.fitted.report else {})


def _text(model: "Estimator", target: Path, seconds: float) -> str:
    from understudy import keeping

    plan = model.fitted.plan
    guarantee = f"epsilon {plan.epsilon:.4g}, delta {plan.budget.delta:g}, protects {plan.unit}"
    if not plan.valid:
        guarantee = f"NOT A VALID GUARANTEE: {plan.void_reason}"
    pictures = any(column.kind == "image" for column in model.fitted.schema.columns)  # CSV has no images
    return "\n".join(
        [
            f"wrote {target} in {seconds:.0f} s ({plan.method})",
            guarantee,
            charged_line(model.fitted.account),
            *model.fitted.remarks,
            *keeping.notes(plan.method, model.fitted.schema),
            f"next: understudy sample {quoted(target)} --rows 1000 --out synthetic.{'parquet' if pictures else 'csv'}",
        ]
    )


def charged_line(account: Mapping[str, Any] | None) -> str:
    """What the fit did to the holder's account, or that it did nothing."""
    if account is None:
        return NO_ACCOUNT
    return (
        f"entry {account['number']} of the account: together epsilon {account['total']:.4g} of {account['epsilon']:g} at delta "
        f"{account['delta']:g}"
    )


def _is_its_own(target: Path) -> bool:
    """Whether the fit that is resumed has written this very model: going on with it replaces nobody's work."""
    if written(target) is None:
        return False
    from understudy.begin import saved_already

    return saved_already(checkpoint_of(target), target)


def _say_what_is_left(folder: Path, delta: float) -> None:
    from understudy.begin import left_behind

    resumable, spent = left_behind(folder, delta)
    if resumable:
        said = "holds private state, keep it secret. The same command with --resume goes on and charges nothing twice."
    elif spent:
        said = (
            f"holds the ledger of what was charged, epsilon {spent:.4g} at delta {delta:g}. That is "
            "spent; it cannot be resumed, and another fit costs its own epsilon on top."
        )
    else:
        return
    typer.echo(f"stopped; {folder} {said}", err=True)
