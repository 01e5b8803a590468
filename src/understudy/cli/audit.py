"""`understudy audit`: attack a method to check its claim; `understudy audit trace` looks inside the wall, on public data."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.audit.result import AuditResult
from understudy.cli._output import AsJson, EngineName, Overwrite, Quiet, need, options, settings, show, writable_folder
from understudy.cli._recipe import DEFAULT_DELTA, Setting
from understudy.errors import UsageError
from understudy.progress import bar

if TYPE_CHECKING:
    from understudy.audit.trace import Trace
    from understudy.schema import Schema


class Group(TyperGroup):
    """Options of its own and a sub-command; its context is of the type that `audit` says it takes."""

    context_class = typer.Context


app = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    help="Attack a method to check its claim. Exit code 1 when a lower bound exceeds the claimed epsilon.",
)

MADE = "lonely"  # what `--target made` stands for: nobody against one record, so that every answer is about the target
METHOD = "pate-gan"
BATCHES = "batches"
LONG = 60.0  # seconds from which on the time left is worth a line
EXTERNAL_RUNS = 25  # fits of an outside command between two kept batches

Method = Annotated[
    str | None, typer.Option("--method", help=f"Name of the method. (default: {METHOD})", show_default=False)
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", help="Claimed epsilon of the whole fit.", show_default=False)
]
Delta = Annotated[
    float | None, typer.Option("--delta", help=f"Claimed delta (default: {DEFAULT_DELTA:g}).", show_default=False)
]
Out = Annotated[Path, typer.Option("--out", help="Folder for the results.")]
Data = Annotated[Path | None, typer.Option("--data", help="Table (.csv, .parquet).", show_default=False)]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Schema of the table.", show_default=False)]


@app.callback(invoke_without_command=True)
def audit(
    context: typer.Context,
    method: Method = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    threat: Annotated[
        list[str] | None,
        typer.Option(
            "--threat",
            help="What the attacker sees: black-box, model-box, wall-box. May be repeated. (default: what the attack needs)",
            show_default=False,
        ),
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            help="querybased, groundhog, histogram, correlation, artifact, answers, likelihood-ratio. May be repeated.  "
            "(default: querybased; groundhog for a record)",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="Pair of tables to tell apart: worst-case, made, corner, opposite, rare-class, numeric, person, "
            "labelled-corner, labelled-person, rare-person, crowd, alike, odd-cell, or record (of --data).",
        ),
    ] = "worst-case",
    data: Data = None,
    schema: SchemaFile = None,
    row: Annotated[
        str | None,
        typer.Option(
            "--row",
            help="Row of --data, from 0, or mini-attacks: the one that small attacks tell best. (default: the one furthest "
            "from the others)",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="Shadow fits, half with the target and half without.")] = 2000,
    rows: Annotated[int, typer.Option("--rows", help="Synthetic rows that the attacker gets of every fit.")] = 1000,
    out: Out = Path("audit"),
    pairs: Setting = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Of the shadow fits, whose noise is seeded unless --secure-noise is given."),
    ] = None,
    secure: Annotated[
        bool, typer.Option("--secure-noise", help="Shadow fits draw noise like real fits: exact, unseeded, slower.")
    ] = False,
    canary: Annotated[
        bool,
        typer.Option("--canary", help="Ask about the target all along, instead of what the generator would ask."),
    ] = False,
    external: Annotated[
        str | None,
        typer.Option(
            "--external",
            metavar="COMMAND",
            help="Audit a command that reads {input} and writes {output}; also {rows}, {seed}, {count}.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds one fit of --external may take.")] = 600.0,
    jobs: Annotated[int, typer.Option("--jobs", min=0, help="Processes; 0: one per core.")] = 0,
    engine: EngineName = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the batches of an interrupted audit.")] = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack a method, or a tool's command, on a pair of tables and print what its claim is worth."""
    if context.invoked_subcommand is not None:
        return
    claimed = need("--epsilon", epsilon, "name the claim to check, e.g. --epsilon 1")
    at = DEFAULT_DELTA if delta is None else delta
    if not claimed > 0 or not 0 <= at < 1:
        raise UsageError(
            f"(epsilon, delta) = ({claimed:g}, {at:g}) is no claim; epsilon > 0 and 0 <= delta < 1 are needed"
        )
    if runs < 40:
        raise UsageError(f"--runs {runs} is too few for a bound; use 40 or more, better 2000")
    if external is not None and (pairs or method is not None):
        raise UsageError("--external audits a command; --method and --set belong to our own methods")
    if (data is None) != (schema is None) or (target == "record") != (data is not None):
        raise UsageError("--target record needs --data FILE and --schema FILE; the other targets take neither")
    batches = make_place(out, resume, overwrite)

    from understudy.audit.run import BATCH, run_audit

    attacks = list(dict.fromkeys(attack or (["groundhog"] if target == "record" else ["querybased"])))
    source = None
    if external is not None:
        from understudy.audit.external import External

        with options("external", "rows", "timeout"):
            source = External(external, rows, timeout, jobs or None)
    batch = EXTERNAL_RUNS if source is not None else BATCH
    silent = quiet or as_json
    with bar("shadow fits", runs // 2 * 2, silent) as advance, options("external", "engine"):
        result = run_audit(
            external if external is not None else method or METHOD,
            epsilon=claimed,
            delta=at,
            options=settings(pairs or ()),
            threats=threat or default_threats(attacks),
            attacks=attacks,
            target=MADE if target == "made" else target,
            data=data,
            schema=None if schema is None else load_schema(schema),
            row=int(row) if row is not None and row.isdecimal() else row,
            runs=runs,
            rows=rows,
            seed=seed,
            secure=secure,
            canary=canary,
            progress=steps(advance, silent),
            folder=batches,
            external=source,
            batch=batch,
            jobs=1 if source is not None else jobs or cores(),
            engine=engine,
        )
    if external is not None and source is not None:
        from dataclasses import replace

        notes = (*result.notes, *source.remarks)
        result = replace(result, method=name_of(external), options={"command": external}, notes=notes)
    files = write(result, out)
    if not quiet:
        show(result.to_dict(), lambda: text(result, files), as_json)
    if result.violated:
        raise typer.Exit(1)


def make_place(out: Path, resume: bool, overwrite: bool) -> Path:
    """Refuse to mix audits: the folder is new, or its batches are gone on with, or they are thrown away by request."""
    batches = out / BATCHES
    if resume:
        if not batches.is_dir():
            raise UsageError(f"--out {str(out)!r} holds no unfinished audit; run without --resume")
        return batches
    if batches.is_dir() and any(batches.iterdir()) and not overwrite:
        raise UsageError(f"--out {str(out)!r} holds an audit; go on with --resume, start again with --overwrite")
    writable_folder(out, overwrite)
    if batches.is_dir():
        for file in batches.iterdir():
            if file.name == "batches.json" or file.suffix == ".npz":
                file.unlink()
    return batches


def default_threats(attacks: list[str]) -> list[str]:
    """The weakest attacker that can play each attack."""
    from understudy.audit.attacks import attack
    from understudy.audit.run import weakest

    return list(dict.fromkeys(weakest(attack(name).needs) for name in attacks))


def load_schema(path: Path) -> "Schema":
    """Read a schema file; the import waits until it is needed."""
    from understudy.schema import Schema

    return Schema.load(path)


def cores() -> int:
    """Processors this process may use."""
    from understudy.engine import cores as count

    return count()


def name_of(command: str) -> str:
    """How the page calls an outside command: by the program or script before its first placeholder."""
    from understudy.audit.external import words_of

    words = words_of(command)
    first = next(number for number, word in enumerate(words) if "{" in word)
    plain = [word for word in words[:first] if not word.startswith("-")]
    return f"external command {Path(plain[-1]).name}" if plain else "external command"


def steps(advance: Callable[[int], None], silent: bool) -> Callable[[dict[str, Any]], None]:
    """Turn the audit's reports into steps of the bar. How long it may take is said before the start, and once more, closer,
    after the first batch."""
    seen, said = 0, silent

    def tell(event: dict[str, Any]) -> None:
        nonlocal seen, said
        if event.get("stage") == "forecast":
            if not silent:
                before(event["seconds"], event["runs"])
            return
        advance(event["done"] - seen)
        seen = event["done"]
        left = event.get("eta")  # known after the first batch
        if not said and left is not None:
            said = True
            if left > LONG:
                typer.echo(f"about {duration(left)} to go; Ctrl-C keeps finished batches, --resume goes on", err=True)

    return tell


def before(expected: tuple[float, float] | None, runs: int) -> None:
    """What is known about the time before a long audit starts."""
    if expected is None:
        typer.echo(
            f"{runs:,} shadow fits; no stored run of this method says how long they take, the first batch will",
            err=True,
        )
    elif expected[1] > LONG:
        low, high = (duration(one) for one in expected)
        typer.echo(f"{runs:,} shadow fits will take about {low} to {high} by the stored runs of this method", err=True)


def duration(seconds: float) -> str:
    """In the unit that one would plan with."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def write(result: AuditResult, out: Path) -> list[Path]:
    """audit.json and audit.html, each whole or not at all."""
    from understudy.report import audit_page

    out.mkdir(parents=True, exist_ok=True)
    path = out / "audit.json"
    result.save(path)
    return [path, audit_page.write(path, out / "audit.html")]


def text(result: AuditResult, files: list[Path]) -> str:
    """The findings as plain lines; what was not found is not called anything else."""
    lines = [f"claim: {result.claim}", ""]
    for outcome in result.outcomes:
        lines.append(f"{outcome.threat}, {outcome.attack}, {outcome.target}: {outcome.runs:,} fits")
        for bound in outcome.bounds:
            upper = "" if bound.upper is None else f" to {bound.upper:.3f}"
            sort = "" if bound.frequentist else ", credible interval, not a frequentist bound"
            lines.append(
                f"  {bound.kind:<16} epsilon at least {bound.epsilon:.3f}{upper} "
                f"({bound.confidence:.0%}; these runs could show {bound.largest:.2f}{sort})"
            )
    lines += [
        "",
        f"{result.fits:,} shadow fits in {result.seconds:.0f} s ({result.fits_per_second:.1f} fits per second)",
        *(f"note: {note}" for note in result.notes),
        violation(result) if result.violated else "no violation found by these attacks",
        *(f"wrote {file}" for file in files),
    ]
    return "\n".join(lines)


def violation(result: AuditResult) -> str:
    """That a bound exceeds the claim, how often that happens to an honest method, and how to find out which it was."""
    chance = 1.0 - min(bound.confidence for outcome in result.outcomes for bound in outcome.bounds if bound.frequentist)
    return (
        f"VIOLATION FOUND: a lower bound exceeds the claim. By chance that happens in up to {chance:.0%} of audits of an honest "
        "method, so audit again before you believe it: another --seed, more --runs. Twice is no chance"
    )


@app.command()
def trace(
    data: Data = None,
    schema: SchemaFile = None,
    method: Method = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    public: Annotated[
        bool,
        typer.Option("--public-data", help="Yes, this table is public: a trace shows what the wall is there to hide."),
    ] = False,
    out: Out = Path("trace"),
    pairs: Setting = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of public randomness: initial weights, latent noise.")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Look inside the wall, on PUBLIC data: rows seen by each teacher, their losses, the accountant. For research."""
    if not public:
        raise UsageError(
            "a trace prints what the guarantee protects (which teacher saw which rows, their losses); it is for research "
            "on public tables. Add --public-data to say that this table is public"
        )
    file = need("--data", data, "name the public table to learn from")
    wanted = load_schema(need("--schema", schema, "name its schema ('understudy schema init' drafts one)"))
    budget = need("--epsilon", epsilon, "name the privacy budget, e.g. --epsilon 1")
    writable_folder(out, overwrite)

    from understudy.audit.trace import trace as run

    kind = method or METHOD
    started = time.perf_counter()
    with bar("rounds", 100, quiet or as_json) as advance:
        seen = 0

        def tell(done: int, total: int) -> None:
            nonlocal seen
            now = 100 * done // total
            advance(now - seen)
            seen = now

        found = run(
            kind,
            file,
            wanted,
            epsilon=float(budget),
            delta=DEFAULT_DELTA if delta is None else delta,
            options=settings(pairs or ()),
            seed=seed,
            progress=tell,
        )
    out.mkdir(parents=True, exist_ok=True)
    files = write_trace(found, out)
    if not quiet:
        show(found.to_dict(), lambda: trace_text(found, files, time.perf_counter() - started), as_json)
    if not found.passed:
        raise typer.Exit(1)


def write_trace(found: "Trace", out: Path) -> list[Path]:
    """Write `trace.json` and its page."""
    import json

    from understudy.files import write_atomically
    from understudy.report import trace_page

    path = write_atomically(out / "trace.json", json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n")
    return [path, trace_page.write(path, out / "trace.html")]


def trace_text(found: "Trace", files: list[Path], seconds: float) -> str:
    """The checks of a trace as lines for the terminal."""
    lines = ["research on public data: this shows what the wall is there to hide", ""]
    lines += [
        f"{'as it should be' if check.passed else 'WRONG          '}  {check.name}: {check.detail}"
        for check in found.checks
    ]
    return "\n".join([*lines, "", f"{found.rounds} rounds in {seconds:.0f} s", *(f"wrote {file}" for file in files)])
