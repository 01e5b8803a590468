"""`understudy demo`: the whole path on a real table that ships with a dependency, through the commands a user types."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli._output import AsJson, show
from understudy.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer()

STORY = """\
Understudy demo. The table: the RAND health insurance experiment ({rows:,} yearly records of {persons:,} persons in the
training part). It is public, so this page may show its figures. We treat it as secret, and protect each *person*
with all of their records: whoever holds the result can hardly tell whether a person took part.
"""

RESULT = """\
What came of it
  The question: did a person see a doctor in a year? A logistic regression answers it for {persons:,} persons that no
  fit has seen (area under the ROC curve; 0.5 is guessing):
      trained on the real records        {real:.3f}
      trained on the synthetic records   {fake:.3f}
  The guarantee: epsilon {epsilon:.3g}, delta {delta:g}, for {unit}.
  Files: {out}/train.csv (real), {out}/model (may be handed on), {out}/synthetic.csv (may be handed on)
"""


@app.command(help="The whole path on a table that ships with a dependency: plan, fit, sample, verify, compare.")
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("demo"),
    epsilon: Annotated[float, typer.Option("--epsilon", help="Privacy budget.")] = 1.0,
    seed: Annotated[int, typer.Option("--seed", help="Fixes public randomness and the split.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit, sample, evaluate and report on a public table."""
    try:
        from understudy.demo import load

        train, test, schema = load(seed)
    except ModuleNotFoundError as error:
        raise UsageError(f"the demo needs the package {error.name!r}; run 'make demo' or install 'evaluate'") from None

    out.mkdir(parents=True, exist_ok=True)
    train.to_csv(out / "train.csv", index=False)
    schema.save(out / "schema.yaml")
    persons = train[schema.unit].nunique()
    if not as_json:
        typer.echo(STORY.format(rows=len(train), persons=persons))

    model, synthetic, schema_file = out / "model", out / "synthetic.csv", out / "schema.yaml"
    budget, seeded = ["--epsilon", f"{epsilon:g}"], ["--seed", str(seed)]
    quiet = ["--overwrite", *(["--quiet"] if as_json else [])]
    steps = [
        ["plan", str(schema_file), *budget],
        ["fit", str(out / "train.csv"), "--schema", str(schema_file), *budget, *seeded, "--out", str(model), *quiet],
        # The number of records is private; the length of the synthetic table is our free choice.
        ["sample", str(model), "--rows", "16000", *seeded, "--out", str(synthetic), *quiet],
        ["certificate", "verify", str(model)],
    ]
    for words in steps:
        if not (as_json and words[0] in ("plan", "certificate")):
            _step(words, as_json)

    figures = _compare(model, train, test, synthetic) | {"out": str(out)}
    show(figures, lambda: RESULT.format(**figures), as_json)


def _step(words: list[str], as_json: bool) -> None:
    """Run one command as if it had been typed; what it needs from the user ends the demo with the same code."""
    from understudy.cli import run

    if not as_json:
        typer.echo(f"$ understudy {shlex.join(word for word in words if word != '--overwrite')}")
    code = run(words)
    if code:
        raise typer.Exit(code)
    if not as_json:
        typer.echo()


def _compare(model: Path, train: "pd.DataFrame", test: "pd.DataFrame", synthetic: Path) -> dict[str, object]:
    """Train on real and on synthetic rows, test on persons that were held out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    import understudy as us
    from understudy.schema import read_table

    loaded = us.load(model)
    codec, unit = loaded.codec, loaded.schema.unit
    held_out = codec.encode(test)

    def area(frame: object) -> float:
        rows = codec.encode(frame)
        if len(set(rows.classes.tolist())) < 2:
            return 0.5  # one class only: such rows teach nothing
        learner = LogisticRegression(max_iter=2000).fit(rows.rows, rows.classes)
        return float(roc_auc_score(held_out.classes, learner.predict_proba(held_out.rows)[:, 1]))

    plan = loaded.plan
    return {
        "real": area(train),
        "fake": area(read_table(synthetic, loaded.resolved)),
        "persons": int(test[unit].nunique()),
        "epsilon": plan.epsilon,
        "delta": plan.budget.delta,
        "unit": plan.unit,
    }
