"""How often 95 % intervals from a stand-in hold the truth of a population that is known.

    python -m benchmarks.coverage --data DIR --out coverage.jsonl --minutes 40 [--method clique-tree] [--repeats 200]
    python -m benchmarks.coverage --out coverage.jsonl --show [--pooled]

A population is a table (Adult, the NIST excerpt of Massachusetts) or a formula (`simulated`); its answers are computed from
all of it. A repeat draws `ROWS` rows from it with replacement, fits a method with noise from the operating system, draws 20
copies and asks the questions of the population; the truth is in the interval or not. Beside it: one synthetic table taken as
real rows (naive), and the widths of both over those of the real rows. Logistic coefficients and differences go through
`understudy.infer.run`. Two more are for tables of which `clique-tree` asks other questions: `--populations breast-cancer` has few
rows (400 are drawn), `--populations items` too few to count pairs of its columns (2,000).

Repeats are appended to the file one by one, in turns over populations and epsilons; the next run goes on where it stopped.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.fingerprint import fingerprint
from benchmarks.registry import dataset, read_source
from benchmarks.store import append, read
from understudy.errors import UsageError
from understudy.infer.ask import answer, draw
from understudy.infer.question import parse
from understudy.infer.rules import combine
from understudy.infer.run import difference, evaluate, not_known
from understudy.methods.registry import method
from understudy.released import covers, fitted_tables
from understudy.schema import Column, Schema

ROWS, COPIES, EPSILONS = 5000, 20, (0.3, 1.0, 3.0)
Z = 1.959964


@dataclass(frozen=True)
class Population:
    """A table that stands for everybody, and what is asked about it."""

    schema: Schema
    load: Callable[[str | None], pd.DataFrame]
    questions: tuple[str, ...]
    differences: tuple[str, ...]  # questions with two groups: the first minus the second
    outcome: tuple[str, Any]  # of a logistic regression
    features: tuple[str, ...]
    rows: int = ROWS  # that a repeat draws


def simulated(_: str | None) -> pd.DataFrame:
    """Numbers that follow each other, categories that follow numbers, a label that follows both: 400,000 people."""
    random, rows = np.random.default_rng(2026), 400_000
    age = np.clip(random.normal(45, 15, rows), 18, 90).round().astype(int)
    hours = np.clip(40 - 0.1 * (age - 45) + random.normal(0, 8, rows), 1, 99).round().astype(int)
    sex = np.where(random.random(rows) < 1 / (1 + np.exp(-0.05 * (hours - 40))), "m", "f")
    town = np.where(random.random(rows) < 0.3 + 0.004 * (age - 45), "a", random.choice(["b", "c", "d"], rows))
    score = 0.03 * (age - 45) + 0.04 * (hours - 40) + 0.5 * (sex == "m") - 1.0
    ill = np.where(random.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")
    return pd.DataFrame({"age": age, "hours": hours, "sex": sex, "town": town, "ill": ill})


def items(_: str | None) -> pd.DataFrame:
    """Fourteen answers from 1 to 5 that follow two moods, sex and age, and whether somebody left: 400,000 people."""
    random, rows = np.random.default_rng(2027), 400_000
    age, female = random.integers(18, 80, rows), random.random(rows) < 0.55
    mood = random.normal(0, 1, (rows, 2)) + np.stack([(age - 49) / 60, 0.4 * female], axis=1)
    found = {}
    for number in range(14):
        latent = (0.5 + 0.03 * number) * mood[:, number % 2] + random.normal(0, 1, rows)
        found[f"q{number}"] = np.searchsorted([-1.2, -0.4, 0.4, 1.2], latent) + 1
    left = random.random(rows) < 1 / (1 + np.exp(1.0 + 0.8 * mood[:, 0]))
    return pd.DataFrame(found | {"age": age, "sex": np.where(female, "f", "m"), "left": np.where(left, "yes", "no")})


def adult(folder: str | None) -> pd.DataFrame:
    names = [column.name for column in ADULT.columns]
    return pd.read_parquet(Path(folder or ".") / "adult.parquet", columns=names).astype({"age": int})


def nist(folder: str | None) -> pd.DataFrame:
    rows = pd.read_parquet(Path(folder or ".") / "nist_ma2019.parquet")[[column.name for column in NIST.columns]]
    return rows.astype({column.name: str for column in NIST.columns if column.kind == "categorical"})


def breast_cancer(_: str | None) -> pd.DataFrame:
    return read_source(dataset("breast-cancer"), None)


def category(name: str, *values: str) -> Column:
    return Column(name=name, kind="categorical", categories=values)


SIMULATED = Schema(
    columns=(
        Column(name="age", kind="integer", lower=18, upper=90),
        Column(name="hours", kind="integer", lower=1, upper=99),
        category("sex", "f", "m"),
        category("town", *"abcd"),
        category("ill", "no", "yes"),
    ),
    label="ill",
)
_ADULT = Schema.load(Path(__file__).parent / "schemas" / "adult.yaml")
_KEPT = ("age", "education-num", "marital-status", "relationship", "race", "sex", "hours-per-week", "income")
ADULT = Schema(columns=tuple(_ADULT.column(name) for name in _KEPT), label="income")
NIST = Schema(
    columns=(
        Column(name="AGEP", kind="integer", lower=0, upper=99),
        category("SEX", "1", "2"),
        category("MSP", "N", *"123456"),
        category("RAC1P", *"123456789"),
        category("OWN_RENT", *"012"),
        category("EDU", "N", *(str(level) for level in range(1, 13))),
        category("DPHY", "N", *"12"),
        category("DEYE", *"12"),
    ),
    label="DEYE",
)
BREAST_CANCER = Schema.load(Path(__file__).parent / "schemas" / "breast_cancer.yaml")
ITEMS = Schema(
    columns=(
        *(Column(name=f"q{number}", kind="integer", lower=1, upper=5) for number in range(14)),
        Column(name="age", kind="integer", lower=18, upper=79),
        category("sex", "f", "m"),
        category("left", "no", "yes"),
    ),
    label="left",
)
LARGE = ("simulated", "adult", "nist")
POPULATIONS = {
    "simulated": Population(
        SIMULATED,
        simulated,
        (
            *("mean(age)", "mean(hours)", "median(age)", "quantile(hours, 0.9)", "share(sex = m)", "share(town = a)"),
            *(
                "share(ill = yes)",
                "mean(age) by ill",
                "mean(hours) by ill",
                "share(sex = m) by ill",
                "share(town = a) by ill",
            ),
            *(
                "mean(hours) by sex",
                "mean(age) where hours > 45",
                "share(ill = yes) by sex",
                "share(ill = yes) where age > 60",
            ),
        ),
        ("mean(age) by ill", "mean(hours) by ill", "share(sex = m) by ill"),
        ("ill", "yes"),
        ("age", "hours", "sex"),
    ),
    "adult": Population(
        ADULT,
        adult,
        (
            *(
                "mean(age)",
                "mean(education-num)",
                "mean(hours-per-week)",
                "median(age)",
                "quantile(hours-per-week, 0.9)",
            ),
            *(
                "share(sex = Male)",
                "share(race = Black)",
                "share(marital-status = Divorced)",
                "share(relationship = Wife)",
            ),
            *(
                'share(income = ">50K")',
                "mean(age) by income",
                "mean(hours-per-week) by income",
                "share(sex = Male) by income",
            ),
            *('share(income = ">50K") by sex', "mean(hours-per-week) by sex", "mean(age) where hours-per-week > 45"),
        ),
        ("mean(age) by income", "mean(hours-per-week) by income", "share(sex = Male) by income"),
        ("income", ">50K"),
        ("age", "education-num", "hours-per-week", "sex"),
    ),
    "nist": Population(
        NIST,
        nist,
        (
            *(
                "mean(AGEP)",
                "median(AGEP)",
                "quantile(AGEP, 0.9)",
                "share(SEX = 1)",
                "share(MSP = 1)",
                "share(RAC1P = 2)",
            ),
            *("share(OWN_RENT = 2)", "share(EDU = 12)", "share(DPHY = 1)", "share(DEYE = 1)", "mean(AGEP) by DEYE"),
            *("share(DPHY = 1) by DEYE", "share(OWN_RENT = 2) by DEYE", "mean(AGEP) by SEX", "share(DEYE = 1) by SEX"),
        ),
        ("mean(AGEP) by DEYE", "share(DPHY = 1) by DEYE", "share(OWN_RENT = 2) by DEYE"),
        ("DEYE", "1"),
        ("AGEP", "SEX", "OWN_RENT"),
    ),
    "breast-cancer": Population(
        BREAST_CANCER,
        breast_cancer,
        (
            *(f'mean("{name}")' for name in ("mean radius", "mean texture", "mean smoothness", "worst concavity")),
            *('median("mean area")', 'quantile("worst texture", 0.9)', "share(target = 0)"),
            *(f'mean("{name}") by target' for name in ("mean radius", "mean texture", "mean symmetry", "area error")),
            *('share(target = 0) where "mean radius" > 15', 'median("mean perimeter") by target'),
        ),
        tuple(f'mean("{name}") by target' for name in ("mean radius", "mean smoothness", "texture error")),
        ("target", 0),
        ("mean symmetry", "texture error"),
        400,
    ),
    "items": Population(
        ITEMS,
        items,
        (
            *("mean(q0)", "mean(q5)", "mean(q13)", "mean(age)", "median(age)", "quantile(age, 0.9)", "share(q3 = 5)"),
            *("share(sex = m)", "share(left = yes)", "mean(q12) by left", "mean(q13) by sex", "share(sex = m) by left"),
            *("mean(age) where q12 > 3", "share(left = yes) where q0 = 1"),
        ),
        ("mean(q12) by left", "mean(q13) by sex", "mean(age) by left"),
        ("left", "yes"),
        ("q0", "q12", "age", "sex"),
        2000,
    ),
}


def functions(population: Population) -> dict[str, Callable[[pd.DataFrame], Any]]:
    """What is not a question: differences of groups, and a logistic regression."""

    def gap(text: str) -> Callable[[pd.DataFrame], Any]:
        question = parse(text, population.schema)

        def function(rows: pd.DataFrame) -> tuple[float, float]:
            groups = list(question.on(rows).values())
            return difference(*groups[:2]) if len(groups) > 1 else (float("nan"), float("nan"))

        return function

    return {f"difference of {text}": gap(text) for text in population.differences} | {
        "logistic": lambda rows: logistic(rows, population)
    }


def logistic(rows: pd.DataFrame, population: Population) -> dict[str, tuple[float, float]]:
    """Coefficients and variances by Newton's method: numbers in tens, categories as indicators of all but the first."""
    name, value = population.outcome
    y = (rows[name] == value).to_numpy(float)
    columns: dict[str, np.ndarray] = {"constant": np.ones(len(rows))}
    for feature in population.features:
        column = population.schema.column(feature)
        if column.kind in ("integer", "continuous"):
            columns[feature] = rows[feature].to_numpy(float) / 10.0
        else:
            columns |= {f"{feature}={one}": (rows[feature] == one).to_numpy(float) for one in column.outcomes[1:]}
    x = np.stack(list(columns.values()), axis=1)
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30, 30)))
        information = x.T @ (x * (p * (1.0 - p))[:, None]) + 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(information, x.T @ (y - p))
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    return {
        key: (float(b), float(v)) for key, b, v in zip(columns, beta, np.diag(np.linalg.inv(information)), strict=True)
    }


def truths(population: Population, everybody: pd.DataFrame) -> dict[str, float]:
    found = {}
    for text in population.questions:
        for group, pair in parse(text, population.schema).on(everybody).items():
            found[f"{text} {group}".strip()] = pair[0]
    for name, function in functions(population).items():
        for part, pair in evaluate(function, everybody, np.random.default_rng(0)).items():
            found[f"{name} {part}".strip()] = pair[0]
    return found


def repeat(
    population: Population, everybody: pd.DataFrame, truth: dict[str, float], epsilon: float, name: str
) -> list[dict[str, Any]]:
    """One table, one fit, all questions."""
    random = np.random.default_rng()
    rows = everybody.iloc[random.integers(0, len(everybody), population.rows)].reset_index(drop=True)
    model = method(name)(epsilon=epsilon).fit(rows, population.schema).fitted
    drawn = draw(model, copies=COPIES)
    naive = model.sample(model.rows)
    found, counted = [], fitted_tables(model.released)

    def note(
        name: str,
        kind: str,
        ours: tuple[float, float],
        bare: tuple[float, float],
        columns: Any,
        one: Any,
        real: Any,
    ) -> None:
        alone = one[0] - Z * one[1] ** 0.5, one[0] + Z * one[1] ** 0.5
        exact = truth[name]
        unit = 2 * Z * real[1] ** 0.5  # 0: a quantile of whole numbers that real rows leave no doubt of
        pairs = [pair for pair in itertools.combinations(columns, 2) if not covers(counted, pair)]
        found.append(
            {
                "name": name,
                "kind": kind,
                "low": ours[0],
                "high": ours[1],
                "truth": exact,
                "alone": one[0],
                "together": covers(counted, columns),
                "uncounted_pairs": len(pairs),
                "held": bool(ours[0] <= exact <= ours[1]),
                "bare": bool(bare[0] <= exact <= bare[1]),
                "naive": bool(alone[0] <= exact <= alone[1]),
                "width": (ours[1] - ours[0]) / unit if unit else None,
                "naive_width": (alone[1] - alone[0]) / unit if unit else None,
            }
        )

    for text in population.questions:
        question = parse(text, population.schema)
        try:
            answered = answer(model, text, drawn=drawn)
        except UsageError:  # nobody in some copy's group: there is no answer, and no interval to judge
            continue
        alone, real = question.on(naive), question.on(rows)
        for line in answered.lines:
            if line.group in alone and line.group in real:
                kind = "model" if not answered.covered else "column" if len(question.columns) == 1 else "table"
                interval, pair = (line.combined.low, line.combined.high), (alone[line.group], real[line.group])
                note(f"{text} {line.group}".strip(), kind, interval, line.bare, question.columns, *pair)
    asked = {f"difference of {text}": parse(text, population.schema).columns for text in population.differences}
    for name, function in functions(population).items():
        each = [evaluate(function, frame, random) for frame in drawn.frames]
        own = [evaluate(function, frame, random) for frame in drawn.own]
        alone, real = (evaluate(function, frame, random) for frame in (naive, rows))
        for part in real:
            if all(part in one and np.isfinite(one[part]).all() for one in (*each, alone)):
                both = combine(
                    [one[part][0] for one in each],
                    [one[part][1] for one in each],
                    chance=drawn.chance,
                    own=[one[part][0] for one in own if part in one],
                )
                kind = "regression" if name == "logistic" else "difference"
                columns = asked.get(name, (population.outcome[0], *population.features))
                spread = np.sqrt(len(drawn.frames[0]) * np.mean([one[part][1] for one in each]))
                allowance = not_known(model, drawn.resolution, columns, drawn.frames[0]) * float(spread)
                interval = both.low - allowance, both.high + allowance
                kind += "" if covers(counted, columns) else ", model"
                note(f"{name} {part}".strip(), kind, interval, (both.low, both.high), columns, alone[part], real[part])
    return found


def turns(done: list[dict[str, Any]], names: list[str], repeats: int) -> Iterator[tuple[str, float, int]]:
    """The cell with the fewest repeats comes next, until all have as many as asked."""
    counts = {
        (name, e): sum(r["population"] == name and r["epsilon"] == e for r in done) for name in names for e in EPSILONS
    }
    while min(counts.values()) < repeats:
        name, e = min(counts, key=lambda key: counts[key])
        yield name, e, counts[name, e]
        counts[name, e] += 1


def summary(records: list[dict[str, Any]], pooled: bool) -> list[str]:
    """One line for each method, population, epsilon and kind of quantity, and how many repeats of which code they are from."""
    cells = pd.DataFrame(records).groupby(["method", "code", "population", "epsilon"]).size()
    lines = [
        f"{name}: {own.min()} to {own.max()} repeats of every population and epsilon, {own.sum()} in all, code {code}."
        for (name, code), own in cells.groupby(level=[0, 1])
    ]
    lines += [
        "",
        "| method | population | epsilon | quantity | answers | held | without allowance | naive | width | naive width |",
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    where = ("method", "population", "epsilon")
    table = pd.DataFrame([{key: r[key] for key in where} | one for r in records for one in r["answers"]])
    if pooled:
        table["population"] = "all"
    for (made, name, e, kind), own in table.groupby([*where, "kind"]):
        figures = f"{own.held.mean():.1%} | {own.bare.mean():.1%} | {own.naive.mean():.1%}"
        widths = f"{own.width.median():.2f} | {own.naive_width.median():.2f}"
        lines.append(f"| {made} | {name} | {e:g} | {kind} | {len(own):,} | {figures} | {widths} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with adult.parquet and nist_ma2019.parquet; without it: simulated only")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=40.0, help="processor time after which no repeat is begun")
    parser.add_argument("--method", default="mst", help="a method that can draw copies")
    parser.add_argument("--populations", default=",".join(LARGE), help="comma-separated")
    parser.add_argument("--repeats", type=int, default=200, help="of every population and epsilon")
    parser.add_argument("--pooled", action="store_true", help="all populations in one line")
    parser.add_argument("--show", action="store_true", help="print the table of what is there and leave")
    given = parser.parse_args()
    if not given.show:
        names = [name for name in given.populations.split(",") if given.data or name not in ("adult", "nist")]
        people = {name: POPULATIONS[name].load(given.data) for name in names}
        truth = {name: truths(POPULATIONS[name], people[name]) for name in names}
        done = [record for record in read(given.out) if record["method"] == given.method]
        for name, e, number in turns(done, names, given.repeats):
            if time.process_time() > 60.0 * given.minutes:
                break
            found = repeat(POPULATIONS[name], people[name], truth[name], e, given.method)
            cell = f"{given.method} {name} {e:g} {number}"
            found_in = {"cell": cell, "method": given.method, "population": name, "epsilon": e}
            found_in["code"] = fingerprint(given.method)
            append(given.out, found_in | {"answers": found})
    sys.stdout.write("\n".join(summary(read(given.out), given.pooled)) + "\n")


if __name__ == "__main__":
    main()
