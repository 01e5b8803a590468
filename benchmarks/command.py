"""`python -m benchmarks`: repeat the published experiments and print both sides. Heavy imports happen inside the
commands; exit codes and messages are those of `understudy`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy import cli
from understudy.cli._output import AsJson, EngineName, settings, show
from understudy.errors import UsageError
from understudy.files import write_atomically

PROGRAM = "python -m benchmarks"
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run the published experiments and print both sides.",
)

RESULTS = Path("benchmarks/results")
Data = Annotated[
    str | None, typer.Option("--data", help="Folder with the data files (or set UNDERSTUDY_DATA).", show_default=False)
]
Out = Annotated[Path, typer.Option("--out", help="Folder for results: JSON lines, Markdown, HTML.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="Fewer rows, classifiers, budgets and seeds: minutes instead of hours.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Cells at the same time. (default: one per core)", show_default=False),
]
Options = Annotated[
    list[str] | None, typer.Option("--set", help="An option of the method: --set teachers=500. May be repeated.")
]
Delta = Annotated[float | None, typer.Option("--delta", help="(default: the suite's, 1e-5)", show_default=False)]
CellsAsJson = Annotated[bool, typer.Option("--json", help="Print just the finished cells, one JSON object a line.")]


def run(args: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    return cli.run(args, lambda: typer.main.get_command(app), PROGRAM)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Suites, data sets (and where the public gets them), published tables."""
    from benchmarks.published import papers
    from benchmarks.registry import DATASETS
    from benchmarks.suites import SUITES

    content: dict[str, dict[str, Any]] = {
        "suites": {
            s.name: {"title": s.title, "datasets": s.datasets, "methods": s.methods, "epsilons": s.epsilons}
            for s in SUITES.values()
        },
        "datasets": {
            d.name: {"title": d.title, "source": d.source, "file": d.file and f"{d.file}.parquet", "note": d.note}
            for d in DATASETS.values()
        },
        "published": {
            name: {"citation": p["citation"], "tables": p["tables"], "left_out": p["left_out"]}
            for name, p in papers().items()
        },
    }

    def text() -> str:
        lines = ["Suites (python -m benchmarks run --suite NAME):"]
        lines += [f"  {name:<20} {s['title']}" for name, s in content["suites"].items()]
        lines += ["", "Data sets (file in --data DIR, or none needed; where the public gets it):"]
        lines += [f"  {name:<25} {d['file'] or '-':<32} {d['source']}" for name, d in content["datasets"].items()]
        lines += ["", "Published tables shipped as data:"]
        lines += [
            f"  {name:<16} Tables {', '.join(p['tables'])}: {p['citation']}" for name, p in content["published"].items()
        ]
        return "\n".join(lines)

    show(content, text, as_json)


@app.command("run")
def run_suite(
    suite: Annotated[str, typer.Option("--suite", help="Which table to repeat; see `python -m benchmarks list`.")],
    methods: Annotated[
        str | None, typer.Option("--methods", help="Comma-separated. (default: the suite's)", show_default=False)
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Comma-separated. (default: the suite's)", show_default=False)
    ] = None,
    delta: Delta = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="(default: the suite's)", show_default=False)
    ] = None,
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Only these of the suite, comma-separated.", show_default=False)
    ] = None,
    option: Options = None,
    quick: Quick = False,
    data: Data = None,
    out: Out = RESULTS,
    jobs: Jobs = None,
    engine: EngineName = None,
    as_json: CellsAsJson = False,
) -> None:
    """Fit, sample and score every cell of a suite, then print published beside ours. Finished cells are not
    repeated.
    """
    from benchmarks import runner, tables, whole_tables
    from benchmarks import suites as all_suites

    chosen = all_suites.suite(suite)
    chosen = chosen.quick() if quick else chosen
    only = _words(datasets)
    for name in only or ():
        if name not in chosen.datasets:
            raise UsageError(f"--datasets: {name!r} is not in suite {suite!r}, which has {', '.join(chosen.datasets)}")
    names = _words(methods)
    _check_methods(names if names is not None else chosen.methods)
    wanted = runner.cells(
        chosen,
        methods=names,
        epsilons=_numbers("--epsilon", epsilon),
        delta=delta,
        seeds=seeds,
        datasets=only,
        options=settings(option or []),
    )
    stem = chosen.name + ("-quick" if quick else "")
    records = runner.run(wanted, out / f"{stem}.jsonl", data=data, jobs=jobs, engine=engine, report=_report(as_json))
    layout = whole_tables if chosen.scoring == "whole-table" else tables
    if layout is whole_tables:  # every cell of today's code, and of other packages, whatever was asked for this time
        records = whole_tables.current(out / f"{stem}.jsonl")
    made = layout.build(chosen, records)
    write_atomically(out / f"{stem}.md", f"# {chosen.title}\n\n{tables.markdown(made, layout.FOOTNOTE)}")
    write_atomically(out / f"{stem}.html", tables.html(made, chosen.title, layout.FOOTNOTE))
    _end(records, made, out / stem, as_json, layout.FOOTNOTE)


@app.command("sweep")
def sweep(
    dataset: Annotated[str, typer.Option("--dataset", help="See `python -m benchmarks list`.")] = "epileptic-seizure",
    methods: Annotated[str, typer.Option("--methods", help="Comma-separated.")] = "pate-gan",
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Comma-separated. (default: 0.1 to 10)", show_default=False)
    ] = None,
    teachers: Annotated[
        str | None,
        typer.Option(
            "--teachers",
            help="Comma-separated numbers or shares such as N/1000; 'papers' for those of the papers.",
            show_default=False,
        ),
    ] = None,
    delta: Delta = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1)] = 3,
    option: Options = None,
    quick: Quick = False,
    data: Data = None,
    out: Out = RESULTS,
    jobs: Jobs = None,
    engine: EngineName = None,
    as_json: CellsAsJson = False,
) -> None:
    """Utility against epsilon (0.1 to 10) or against the number of teachers, with a drawing (SVG)."""
    from benchmarks import runner
    from benchmarks import suites as all_suites
    from benchmarks import sweep as sweeps
    from benchmarks.registry import load

    rows = all_suites.QUICK_ROWS if quick else None
    names = _words(methods) or []
    _check_methods(names)
    counts: list[int | None] = [None]
    if teachers is not None:
        words = list(sweeps.TEACHERS) if teachers == "papers" else _words(teachers) or []
        counts = [*sweeps.teacher_counts(words, len(load(dataset, data, rows=rows).train))]
    epsilons = _numbers("--epsilon", epsilon) or ([1.0] if teachers is not None else list(sweeps.EPSILONS))
    wanted = sweeps.cells(
        dataset=dataset,
        methods=names,
        epsilons=(epsilons[0], epsilons[-1]) if quick and len(epsilons) > 2 else epsilons,
        teachers=counts,
        delta=1e-5 if delta is None else delta,
        seeds=1 if quick else seeds,
        rows=rows,
        classifiers=all_suites.QUICK_CLASSIFIERS if quick else None,
        max_rows=all_suites.QUICK_ROWS if quick else 20_000,
        options=settings(option or []),
    )
    stem = f"sweep-{dataset}" + ("-quick" if quick else "")
    records = runner.run(wanted, out / f"{stem}.jsonl", data=data, jobs=jobs, engine=engine, report=_report(as_json))
    files = {f"{stem}-{ending}.svg": drawing for ending, drawing in sweeps.drawings(records).items()}
    for name, drawing in files.items():
        write_atomically(out / name, drawing)
    _end(records, [], out / stem, as_json)
    if not as_json:
        for name in files:
            typer.echo(f"drawn: {out / name}")


@app.command("export")
def export(
    dataset: Annotated[str, typer.Argument(help="See `python -m benchmarks list`.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for train.parquet, test.parquet and schema.yaml.")],
    seed: Annotated[int, typer.Option("--seed")] = 0,
    split: Annotated[str, typer.Option("--split", help="random or official.")] = "random",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write a benchmark task as files, ready for `understudy fit` and `understudy evaluate`."""
    import shutil

    from benchmarks import store
    from benchmarks.registry import load, schema_path

    store.prepare(out)
    train, test, _ = load(dataset, data, seed=seed, split=split)
    train.to_parquet(out / "train.parquet", index=False)
    test.to_parquet(out / "test.parquet", index=False)
    shutil.copyfile(schema_path(dataset), out / "schema.yaml")
    content = {
        "dataset": dataset,
        "out": str(out),
        "train_rows": len(train),
        "test_rows": len(test),
        "columns": train.shape[1],
    }
    show(content, lambda: f"{out}: {len(train):,} training rows, {len(test):,} test rows, schema.yaml", as_json)


@app.command("schema")
def schema(
    name: Annotated[str, typer.Argument(help="A data set, or a schema file such as epileptic_seizure_raw_binary.")],
    as_json: AsJson = False,
) -> None:
    """Print the schema file of a data set: `python -m benchmarks schema adult > adult.yaml`."""
    from benchmarks.registry import schema_path
    from understudy.schema import Schema

    path = schema_path(name)
    show(Schema.load(path).to_dict() if as_json else {}, lambda: path.read_text(encoding="utf-8").rstrip("\n"), as_json)


@app.command("readme")
def readme(
    file: Annotated[Path, typer.Option("--readme", help="The file with the results markers.")] = Path("README.md"),
    results: Annotated[Path, typer.Option("--results", help="Folder with the results files.")] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Write the table of results into the README, from the results files."""
    from benchmarks.readme import update

    section = update(file, results)
    show({"readme": str(file), "section": section}, lambda: section, as_json)


@app.command("tables")
def show_tables(
    results: Annotated[Path, typer.Option("--results", help="Folder with the results files.")] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Write the tables of every suite again from its results file; nothing is run."""
    from benchmarks import papers, store, tables, whole_tables
    from benchmarks.cells import REAL
    from benchmarks.suites import SUITES

    written, pooled = [], papers.pooled(results)
    for suite in SUITES.values():
        file = results / f"{suite.name}.jsonl"
        layout = whole_tables if suite.scoring == "whole-table" else tables
        here = {store.computation(record) for record in store.read(file)}
        # What two suites ran has one number: that of the newest code, wherever it was run.
        newest = [record for record in pooled if store.computation(record) in here]
        records = whole_tables.current(file) if layout is whole_tables else newest
        known = [dict(one.options) for one in suite.variants]
        strange = known and any(r["method"] != REAL and dict(r["options"]) not in known for r in records)
        # Runs of variants that the suite no longer has keep the table they have.
        if records and not strange:
            text = tables.markdown(layout.build(suite, records), layout.FOOTNOTE)
            write_atomically(results / f"{suite.name}.md", f"# {suite.title}\n\n{text}")
            written.append(suite.name)
    show({"suites": written}, lambda: f"wrote {len(written)} tables in {results}", as_json)


@app.command("papers")
def papers_page(
    page: Annotated[Path, typer.Option("--page", help="The page to write.")] = Path("docs/papers.md"),
    results: Annotated[Path, typer.Option("--results", help="Folder with the results files.")] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Write every published figure beside ours, with a verdict, from the results files."""
    from benchmarks.papers import write

    text = write(page, results)
    show({"page": str(page), "lines": len(text.splitlines())}, lambda: f"wrote {page}", as_json)


@app.command("adviser")
def adviser(
    results: Annotated[Path, typer.Option("--results", help="Folder with the results files.")] = RESULTS,
    out: Annotated[Path, typer.Option("--out", help="The adviser's file.")] = Path(
        "src/understudy/adviser/experience.json"
    ),
    as_json: AsJson = False,
) -> None:
    """Write what the adviser knows (`plan`, `--method auto`) from the results files."""
    from benchmarks.experience import write

    found = write(results, out)
    places = {one.place for one in found}
    text = f"wrote {out}: {len(found)} results of {len({one.method for one in found})} methods at {len(places)} places"
    show({"file": str(out), "results": len(found)}, lambda: text, as_json)


@app.command("speed")
def speed(
    parts: Annotated[list[str] | None, typer.Argument(help="Which parts. (default: all)", show_default=False)] = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Speed as ratios within one run: teachers against bare matrix products, sampling against writing."""
    from benchmarks import speed as measure

    chosen = tuple(parts or measure.PARTS)
    for part in chosen:
        if part not in measure.PARTS:
            raise UsageError(f"unknown part {part!r} of the speed benchmark; there are: {', '.join(measure.PARTS)}")
    content = measure.run(chosen, quick)

    def text() -> str:
        lines = []
        for part, figures in content.items():
            lines.append(f"{part}:")
            lines += [f"  {name:<40} {_short(value)}" for name, value in figures.items()]
        return "\n".join(lines)

    show(content, text, as_json)


def _short(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _numbers(option: str, text: str | None) -> list[float] | None:
    words = _words(text)
    try:
        return None if words is None else [float(word) for word in words]
    except ValueError:
        raise UsageError(f"{option} {text!r}: give numbers separated by commas") from None


def _check_methods(names: Any) -> None:
    """An unknown method is told before the first setting-A cell has run for minutes."""
    from understudy import method

    for name in names:
        if name != "real":
            method(name)


def _report(as_json: bool) -> Any:
    import json

    def tell(record: Any, done: int, everything: int) -> None:
        if as_json:
            typer.echo(json.dumps(record, ensure_ascii=False, allow_nan=False))
            return
        budget = "" if record["epsilon"] is None else f", epsilon {record['epsilon']:g}"
        figures = ", ".join(
            f"{name} {value:.4f}" for name, value in list(record.get("metrics", {}).items())[:2] if value is not None
        )
        outcome = figures if record["status"] == "ok" else f"failed: {record['error']}"
        where = f"{record['dataset']}, {record['method']}{budget}, seed {record['seed']}"
        typer.echo(f"[{done}/{everything}] {where}: {outcome} ({record['total_seconds']:.0f} s)", err=True)

    return tell


def _end(records: Any, made: Any, stem: Path, as_json: bool, footnote: str = "") -> None:
    if as_json:
        return
    from rich.console import Console

    from benchmarks import tables

    console = Console()
    console = console if console.is_terminal else Console(width=160)  # a file or a pipe has no width of its own
    for table in made:
        console.print(tables.rich(table))
    failed = sum(record["status"] != "ok" for record in records)
    typer.echo(f"{footnote}\n" if made else "", nl=False)
    typer.echo(f"results: {stem}.jsonl ({len(records)} cells{f', {failed} failed' if failed else ''})")
