"""`understudy evaluate`: compare synthetic rows with held-out real ones. What it writes is not private."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli._output import AsJson, Overwrite, Quiet, need, options, show, writable_folder
from understudy.cli._publish import Price
from understudy.cli._publish import publish as pay
from understudy.cli._recipe import AccountFile
from understudy.errors import UsageError
from understudy.evaluate.result import Evaluation, Summary, Utility, WholeTable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from understudy.schema import Schema

app = typer.Typer()

_LOG_SECONDS = 10.0
ARGUMENTS = (
    "models",
    "metrics",
    "by",
    "max_rows",
    "image_shape",
    "synthetic",
    "synthetic_test",
    "count",
    "stable",
)  # named in errors


@app.command(help="Compare synthetic rows with held-out real ones. The result is NOT private: do not share it.")
def evaluate(
    synthetic: Annotated[list[Path], typer.Option("--synthetic", help="Synthetic rows; repeat for several samples.")],
    schema: Annotated[Path, typer.Option("--schema", help="Schema file (.yaml, .json).")],
    out: Annotated[Path, typer.Option("--out", help="Folder for result.json and the reports.")],
    real: Annotated[
        Path | None,
        typer.Option(
            "--real", help="Held-out real rows (.csv, .parquet). Without them: a release report and nothing else."
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option("--train", help="Real rows the generator saw: adds setting A and distances.")
    ] = None,
    synthetic_test: Annotated[
        list[Path] | None, typer.Option("--synthetic-test", help="Test part of each synthetic sample (setting C).")
    ] = None,
    models: Annotated[str | None, typer.Option("--models", help="Comma-separated; default: all twelve.")] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics", help="Of utility,fidelity,mmd,dimension,groups,diagnostics; default: all that apply."
        ),
    ] = None,
    by: Annotated[list[str] | None, typer.Option("--by", help="Column whose groups are reported; repeat.")] = None,
    max_rows: Annotated[
        int, typer.Option("--max-rows", help="Classifiers train on at most this many; 0: all.")
    ] = 20_000,
    model_dir: Annotated[
        Path | None,
        typer.Option("--model-dir", help="Model folder that made the rows: adds its certificate and a release report."),
    ] = None,
    image_shape: Annotated[
        str | None, typer.Option("--image-shape", help="Rows are pictures, e.g. 28x28: adds a CNN and a grid.")
    ] = None,
    count: Annotated[
        str | None,
        typer.Option(
            "--count",
            help="Compare distributions with one real row of each person (people) or all (rows); default: as the model counts.",
        ),
    ] = None,
    stable: Annotated[
        str | None,
        typer.Option(
            "--stable", help="Column in every marginal of the k-marginal score (SDNist: PUMA); default: none."
        ),
    ] = None,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish",
            help="Only figures that may be published: with noise, paid for by the people of --real with --epsilon.",
        ),
    ] = False,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Budget of --publish.")] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help="Failure probability of --publish. (default: 1e-05)")
    ] = None,
    account: AccountFile = None,
    seed: Annotated[int, typer.Option("--seed", help="Of subsamples, splits and models.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", help="Worker processes; 0: one per core.")] = 0,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare synthetic rows with held-out real ones and write the result and its pages."""
    for option, path in (
        ("--real", real),
        ("--schema", schema),
        ("--train", train),
        *(("--synthetic", s) for s in synthetic),
    ):
        if path is not None and not path.is_file():
            raise UsageError(f"{option} {str(path)!r}: there is no such file")
    writable_folder(out, overwrite)
    if publish:
        refuse_unpaid(metrics=metrics, by=by, train=train, synthetic_test=synthetic_test, image_shape=image_shape,
                      count=count, stable=stable)  # fmt: skip
        price = Price(epsilon, delta, account)
        people = need("--real", real, "published figures are about the people of a table")
        pay(synthetic, people, schema, out, price, model_dir, _names(models), quiet=quiet, as_json=as_json)
        return
    if epsilon is not None or delta is not None or account is not None:
        raise UsageError("--epsilon, --delta and --account are the price of --publish; add it, or leave them out")
    shape = parse_shape(image_shape)

    from understudy.schema import Schema

    if real is None:
        unused = {
            "--train": train,
            "--synthetic-test": synthetic_test,
            "--models": models,
            "--metrics": metrics,
            "--by": by,
            "--count": count,
            "--stable": stable,
        }
        result = only_release(
            synthetic, Schema.load(schema), model_dir, [name for name, value in unused.items() if value]
        )
        files = save(result, out, "release")
        if not quiet:
            text = "\n".join([result.header.banner, *(f"wrote {path}" for path in files)])
            show(result.to_dict(), lambda: text, as_json)
        return

    from understudy.evaluate.run import evaluate as run

    with _Progress(quiet or as_json) as progress, options(*ARGUMENTS):
        result = run(
            list(synthetic),
            real,
            Schema.load(schema),
            train=train,
            synthetic_test=list(synthetic_test) if synthetic_test else None,
            models=_names(models),
            metrics=_names(metrics),
            by=tuple(by or ()),
            max_rows=max_rows or None,
            image_shape=shape,
            model=model_dir,
            count=count,
            stable=stable,
            seed=seed,
            jobs=jobs or None,
            progress=progress,
        )
    files = save(result, out, "both")
    if as_json:
        typer.echo(result.to_json())
    elif not quiet:
        show({}, lambda: summary(result, files), False)
    if result.diagnostics is not None and result.diagnostics.copied:
        raise typer.Exit(1)


def only_release(synthetic: list[Path], schema: "Schema", model: Path | None, unused: list[str]) -> Evaluation:
    """Without real rows: the synthetic ones described, nothing compared."""
    if unused:
        raise UsageError(f"{unused[0]} compares with real rows; name held-out ones with --real")
    if model is None or len(synthetic) > 1:
        raise UsageError(
            "--real is missing; without real rows there is a release report only, of one --synthetic file that the model "
            "named by --model-dir made"
        )
    from understudy.evaluate.alone import describe

    return describe(synthetic[0], schema, model)


def save(result: Evaluation, out: Path, kind: str) -> list[Path]:
    """`result.json` and its pages."""
    from understudy import report

    out.mkdir(parents=True, exist_ok=True)
    path = out / "result.json"
    result.save(path)
    if kind == "release":
        (out / report.FILES["internal"]).unlink(missing_ok=True)  # of an earlier result
    return [path, *report.write(path, out, kind)]


def refuse_unpaid(**given: object) -> None:
    """Options of figures that --publish does not pay for."""
    for name, value in given.items():
        if value:
            option = name.replace("_", "-")
            raise UsageError(
                f"--{option}: --publish shows only what it pays for; leave --{option} out, or evaluate without it"
            )


def parse_shape(text: str | None) -> tuple[int, int] | tuple[int, int, int] | None:
    """`28x28` or `32x32x3` as numbers."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) not in (2, 3) or not all(p.strip().isdigit() for p in parts):
        raise UsageError(f"--image-shape {text!r}: write height x width (x channels), e.g. 28x28 or 32x32x3")
    numbers = [int(p) for p in parts]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (numbers[0], numbers[1], numbers[2])


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def summary(result: Evaluation, files: list[Path]) -> str:
    """The figures one looks for first, as plain text."""
    lines = [result.header.banner, ""]
    if result.utility is not None:
        lines += _utility(result.utility)
    if result.fidelity is not None and result.fidelity.whole is not None:
        lines += _whole(result.fidelity.whole)
    if result.mmd is not None:
        lines.append(f"MMD squared     {_mean(result.mmd.value, 5)}")
    lines += [f"warning: {text}" for text in result.warnings] + [f"note: {text}" for text in result.header.notes]
    lines += ["", *(f"wrote {path}" for path in files)]
    if result.release.origin is None:
        lines.append("no release report: name the model that made the rows with --model-dir")
    return "\n".join(lines)


def _utility(utility: Utility) -> list[str]:
    headline = utility.metrics[0]
    names = [m.model for m in utility.settings[0].models]
    lines = [f"{headline:14s}" + "".join(f"{'setting ' + s.name:>18s}" for s in utility.settings)]
    for i, name in enumerate(names):
        cells = "".join(f"{_spread(s.models[i].scores[headline]):>18s}" for s in utility.settings)
        lines.append(f"{name:14s}{cells}")
    lines.append(f"{'average':14s}" + "".join(f"{_spread(s.average[headline]):>18s}" for s in utility.settings))
    for other in utility.metrics[1:]:
        lines.append(f"{other:14s}" + "".join(f"{_spread(s.average[other]):>18s}" for s in utility.settings))
    if utility.ranking_models is not None:
        lines.append(f"ranking agreement of models {_mean(utility.ranking_models.value)}")
    if utility.ranking_features is not None:
        lines.append(f"ranking agreement of features {_mean(utility.ranking_features.value)}")
    return [*lines, *(f"{name}: {MEANING[name]}" for name in (s.name for s in utility.settings)), ""]


MEANING = {  # of the settings, in the papers' letters
    "A": "trained on real rows, tested on held-out real rows",
    "B": "trained on synthetic rows, tested on held-out real rows",
    "C": "trained and tested on synthetic rows",
}
SHOWN = {
    "two-way": "pairs of columns",
    "association": "associations",
    "told-apart": "told from real",
    "other-targets": "others predicted",
    "impossible-rows": "impossible rows",
    "k-marginal": "k-marginal",
}


def _whole(whole: WholeTable) -> list[str]:
    """The few whole-table measures that matter most; `--json` and the report have all."""
    lines = [f"{'whole table':18s}{'synthetic':>12s}{'real rows':>12s}{'no dependence':>16s}{'lost':>8s}"]
    for name, title in SHOWN.items():
        if (one := whole.measure(name)) is not None:
            digits = 0 if name == "k-marginal" else 3
            shown = [_figure(value, digits) for value in (one.value.mean, one.floor, one.independent)]
            lost = "-" if one.lost is None else f"{one.lost:.0%}"
            lines.append(f"{title:18s}{shown[0]:>12s}{shown[1]:>12s}{shown[2]:>16s}{lost:>8s}")
    return [*lines, "lost: the way from real rows drawn again (0 %) to columns without dependence (100 %)", ""]


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _mean(figure: Summary, digits: int = 3) -> str:
    return "-" if figure.mean is None else f"{figure.mean:.{digits}f}"


def _spread(figure: Summary) -> str:
    if figure.mean is None:
        return "-"
    return f"{figure.mean:.4f}" + (f" (sd {figure.sd:.3f})" if figure.sd is not None else "")


class _Progress:
    """Steps on standard error: a live bar on a terminal, now and then a line in a log."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.display: Progress | None = None
        self.task: TaskID | None = None
        self.last = float("-inf")

    def __enter__(self) -> "_Progress":
        if not self.quiet:
            from understudy.progress import _display

            self.display = _display()
            if self.display.live.console.is_terminal:
                self.display.start()
                self.task = self.display.add_task("reading tables", total=None, spent="")
            else:
                sys.stderr.write("reading tables\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self.display is not None and self.task is not None:
            self.display.stop()

    def __call__(self, done: int, total: int, label: str) -> None:
        if self.display is not None and self.task is not None:
            self.display.update(self.task, completed=done, total=total, description=label)
        elif not self.quiet and (time.monotonic() - self.last > _LOG_SECONDS or done == total):
            self.last = time.monotonic()
            sys.stderr.write(f"{done}/{total} {label}\n")
            sys.stderr.flush()
