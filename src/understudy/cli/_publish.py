"""`understudy evaluate --publish`: figures with noise that may be published, and what they cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from understudy.cli._output import need, options, show
from understudy.cli._recipe import DEFAULT_DELTA, NO_ACCOUNT
from understudy.errors import UsageError

if TYPE_CHECKING:
    from understudy.published.result import Figure, Published

RESULT, LEDGER = "published.json", "ledger.jsonl"
NOTHING = "  says nothing: too few people of a class for this epsilon"
TITLES = {
    "one-way": "single columns",
    "two-way": "pairs of columns",
    "three-way": "three columns",
    "association": "associations",
    "query": "counting queries",
}


class Price(NamedTuple):
    """The options that say what may be spent, and from which account."""

    epsilon: float | None
    delta: float | None
    account: Path | None


def publish(
    synthetic: Sequence[Path],
    real: Path,
    schema: Path,
    out: Path,
    price: Price,
    model_dir: Path | None,
    models: Sequence[str] | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Ask, pay, write `published.json`, and with a model the release report."""
    from understudy import report
    from understudy.artifact import load
    from understudy.files import write_json
    from understudy.manifest import verified
    from understudy.published.document import document
    from understudy.published.run import check
    from understudy.published.run import publish as run
    from understudy.schema import Schema

    budget = need("--epsilon", price.epsilon, "published figures have a price, e.g. --epsilon 0.2")
    if (out / LEDGER).exists():
        raise UsageError(
            f"--out {str(out)!r} holds a published evaluation; a second one is a second release: choose another name"
        )
    known = Schema.load(schema)
    with options("synthetic", "schema", "models", "account", "epsilon", "delta"):
        model = None
        if model_dir is not None:
            verified(model_dir)
            model = load(model_dir)
        resolved = check(known, model)
        # All that can be refused is refused before anything is paid.
        origin_checked(synthetic, model_dir)
        out.mkdir(parents=True, exist_ok=True)
        found = run(
            list(synthetic),
            real,
            known,
            epsilon=budget,
            delta=DEFAULT_DELTA if price.delta is None else price.delta,
            model=model,
            models=models,
            account=price.account,
            record=out / LEDGER,
            names=[path.name for path in synthetic],
        )
        written = document(found, list(synthetic), known, resolved, model_dir)
    write_json(out / RESULT, written)
    files = [out / RESULT]
    if model_dir is not None and len(synthetic) == 1:
        files += report.write(out / RESULT, out, "release")
    if as_json or not quiet:
        show(found.to_dict(), lambda: "\n".join(lines(found, files, price.account is None)), as_json)


def origin_checked(synthetic: Sequence[Path], model_dir: Path | None) -> None:
    """Every file was made by the model, where one is named."""
    if model_dir is not None:
        from understudy.evaluate.run import origin_of

        origin_of(list(synthetic), model_dir)


def lines(found: "Published", files: Sequence[Any], alone: bool) -> list[str]:
    """For people."""
    people = found.people
    said = [f"people {people.value:,.0f} ({people.low:,.0f} to {people.high:,.0f})"]
    for one in found.stand_ins:
        said += ["", f"{one.name:<28}{'distance':>10}{'95 % interval':>20}{'as the stand-in':>18}"]
        said += [f"  {TITLES[figure.name]:<26}{row(figure)}" for figure in one.measures]
        if one.unseen is not None:
            said.append(f"  {'people left out':<26}{row(one.unseen)}")
        if one.k_marginal is not None:
            said.append(f"  {'k-marginal (of 1000)':<26}{row(one.k_marginal, 0)}")
        if one.auroc is not None:
            nothing = one.auroc.low <= 0.0 and one.auroc.high >= 1.0
            said.append(f"  {f'AUROC of {len(one.models)} models':<26}{row(one.auroc)}{NOTHING if nothing else ''}")
        said += [
            f"  {f'predicted {bar.predicted:.2f}, observed':<26}{bar.observed:>10.3f}{f'{bar.low:.3f} to {bar.high:.3f}':>20}"
            for bar in one.calibration
        ]
    said += ["", "as the stand-in: what people drawn from the stand-in itself would give"]
    said += ["people left out: they have a pair of values that no row of the stand-in has", ""]
    return [
        *said,
        *(f"- {line}" for line in [*found.lines(), *([NO_ACCOUNT] if alone else [])]),
        *(f"wrote {path}" for path in files),
    ]


def row(figure: "Figure", digits: int = 4) -> str:
    """Value, interval and floor in columns."""
    floor = "" if figure.floor is None else f"{figure.floor:.{digits}f}"
    interval = f"{figure.low:.{digits}f} to {figure.high:.{digits}f}"
    return f"{figure.value:>10.{digits}f}{interval:>20}{floor:>18}"
