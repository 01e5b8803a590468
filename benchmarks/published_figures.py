"""Do published figures keep their two promises? Their intervals, and their price.

    python -m benchmarks.published_figures --data DIR --out published.jsonl [--repeats 200] [--runs 4000] [--only coverage]
    python -m benchmarks.published_figures --out published.jsonl --show

**Coverage.** People are rows of Adult (without `--data`: of the simulated population of `benchmarks.coverage`), the stand-in is
other rows of it, its columns drawn from two halves that do not know each other. Each repeat publishes again, with noise from
the operating system, at epsilon 0.2 and 1; the figure without noise is in its interval or not.

**Audit, wall box.** The attacker sees all three answers and knows both tables: all people, and all but one, the person chosen
among 20 (and an odd one, every cell at its end) that moves the answers most. Of each run it has the log-likelihood ratio,
which no attack can beat; the threshold is the middle between both means, known without the runs. `audit.estimates` turns wrong
guesses into lower bounds of epsilon. A mutant whose noise is for half the sensitivity has to exceed the claim.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coverage import POPULATIONS
from benchmarks.store import append, read
from understudy.accounting import Budget, Ledger
from understudy.accounting.gaussian import mu
from understudy.audit.estimates import Errors, clopper_pearson, gaussian_bound
from understudy.private import Curator, PrivateTable, SecureNoise
from understudy.private.answers import ANSWERS
from understudy.private.mapping import Block
from understudy.published import intervals, run, unseen
from understudy.published.measures import Reference, ask
from understudy.questions import Counts, MeanDistances
from understudy.schema import codec_of

EPSILONS, DELTA, PEOPLE, MODELS = (1.0, 0.2), 1e-5, 6000, ("logistic", "tree")
LEVEL = 0.05  # how often a bound may be too high


class Setting:
    """People, a stand-in and its models, encoded once."""

    def __init__(self, data: str | None) -> None:
        self.population = POPULATIONS["adult" if data else "simulated"]
        everybody = self.population.load(data).sample(frac=1.0, random_state=0).reset_index(drop=True)
        self.schema = self.population.schema
        self.people = everybody[:PEOPLE].reset_index(drop=True)
        one, other = everybody[PEOPLE : 2 * PEOPLE], everybody[2 * PEOPLE : 3 * PEOPLE]
        names = list(everybody.columns)
        left = [name for number, name in enumerate(names) if number % 2 or name == self.schema.label]
        parts = [one[left].reset_index(drop=True), other[[n for n in names if n not in left]].reset_index(drop=True)]
        self.codec = codec_of(self.schema, True)
        self.candidate = run.candidate("stand-in", pd.concat(parts, axis=1)[names], self.codec, MODELS)
        self.asked = ask(self.codec, self.candidate.rows, self.candidate.classes, run.carry)
        self.codes = run.carry(self.asked.step, self.candidate.rows, self.candidate.classes)
        self.real = self.codec.encode(self.people)

    def published(self, table: PrivateTable, epsilon: float) -> tuple[Any, Any, Any]:
        """One publication with noise from the operating system."""
        announced = run.plan(self.schema, Budget(epsilon, DELTA))
        ledger = Ledger(announced, None)
        curator = Curator(table, self.schema, ledger, SecureNoise())
        curator.adopt(self.codec)
        people, left_out = run.ask_people(curator, self.asked, [self.candidate], announced, 1)
        measured = run.ask_distances(curator, self.asked, [self.candidate], announced, 1, people)
        scored = run.ask_scores(curator, self.codec, [self.candidate], announced, 1)
        return people.figure, (*measured[0], left_out[0]), scored[0]

    def exact(self, people: float) -> dict[str, float]:
        """The figures without noise, for the stand-in's reference that so many people asked for."""
        reference = Reference.of(self.asked, self.codes, round(max(people, 1.0)))
        codes = run.carry(self.asked.step, *self.real)
        missed = run.carry(unseen.unseen(self.asked, self.codes), *self.real)
        return {measure: reference.value(measure, codes) for measure in self.asked.measures} | {
            "unseen": float(missed.mean())
        }

    def exact_area(self) -> float:
        """Mean AUROC of binned scores."""
        assert self.candidate.judges is not None
        found = []
        for judge in self.candidate.judges.every:
            (number,) = judge.judged
            cell = run.carry(judge.cells, *self.real)[:, number]
            hit = self.real.classes == number
            found.append(
                intervals.area(*(np.bincount(cell[own], minlength=judge.bins).astype(float) for own in (hit, ~hit)))
            )
        return float(np.mean(found))

    def exact_calibration(self) -> np.ndarray:
        """Share of the positive class in every range."""
        assert self.candidate.judges is not None
        judges = self.candidate.judges
        cell = run.carry(judges.calibration, *self.real)[:, 0]
        hit = self.real.classes == judges.every[0].judged[0]
        return np.asarray([hit[cell == k].mean() for k in range(len(judges.predicted))])


def coverage(setting: Setting, out: Path, repeats: int) -> None:
    """Append one record a repeat."""
    area, shares = setting.exact_area(), setting.exact_calibration()
    table = PrivateTable(setting.people, setting.schema)
    for epsilon in EPSILONS:
        done = sum(one.get("kind") == "coverage" and one["epsilon"] == epsilon for one in read(out))
        for number in range(done, repeats):
            people, measured, (auroc, _, bars) = setting.published(table, epsilon)
            exact = setting.exact(people.value)
            held = {one.name: one.low <= exact[one.name] <= one.high for one in measured}
            held["auroc"] = auroc.low <= area <= auroc.high
            width = {one.name: one.high - one.low for one in (*measured, auroc)}
            inside = [bool(bar.low <= share <= bar.high) for bar, share in zip(bars, shares, strict=True)]
            held["people"] = people.low <= len(setting.people) <= people.high
            record = {"cell": f"coverage {epsilon:g} {number}", "kind": "coverage", "epsilon": epsilon}
            append(out, record | {"held": held, "width": width, "calibration": inside})


# -- the audit ---------------------------------------------------------------------------------------------------------------
def questions(setting: Setting, epsilon: float, people: float) -> list[Any]:
    """The three questions, as `run` asks them, given the released number of people."""
    found: list[Any] = []

    class Noted:
        def ask(self, purpose: str, question: Any) -> Any:
            found.append(question)
            value = [np.asarray([people]), np.ones(2)] if purpose == run.PEOPLE else empty(question)
            return type("Release", (), {"value": value})

    announced = run.plan(setting.schema, Budget(epsilon, DELTA))
    about, _ = run.ask_people(Noted(), setting.asked, [setting.candidate], announced, 1)  # type: ignore[arg-type]
    run.ask_distances(Noted(), setting.asked, [setting.candidate], announced, 1, about)  # type: ignore[arg-type]
    run.ask_scores(Noted(), setting.codec, [setting.candidate], announced, 1)  # type: ignore[arg-type]
    return found


def empty(question: Any) -> Any:
    """An answer of the right shape."""
    if isinstance(question, MeanDistances):
        return np.zeros(len(question.groups))
    return [np.ones(shape) for shape in question.shapes]


def answer(question: Any, rows: np.ndarray, classes: np.ndarray) -> Any:
    """Exact sums of some rows."""
    how = ANSWERS[type(question)]
    total = how.start(question, rows.shape[1])
    how.add(question, total, Block(rows, classes))
    return total


class Silent:
    """No noise."""

    void_reason = "audit"

    def draw(self, kind: str, scale: float, shape: tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape, np.int64)


def released(question: Any, total: Any, noise: Any) -> np.ndarray:
    """What leaves, as one vector in deviations of its noise."""
    parts = ANSWERS[type(question)].release(question, total, noise)
    if isinstance(question, Counts):
        own = zip(parts, question.deviations, strict=True)
        return np.concatenate([np.ravel(part) / deviation for part, deviation in own])
    return np.ravel(parts) / question.deviation


def audit(setting: Setting, out: Path, runs: int, epsilon: float, halved: bool) -> None:
    """Guess whether somebody is among the people, many times."""
    real, codec = setting.real, setting.codec
    odd = np.zeros((1, codec.width), np.float32)
    every = np.concatenate([odd, real.rows[:200]])
    labels = np.concatenate([[0], real.classes[:200]]).astype(np.int32)
    base = real.rows[200:], real.classes[200:]
    asked = questions(setting, epsilon, float(len(base[1])))
    without = [answer(question, *base) for question in asked]

    def with_one(number: int) -> list[Any]:
        rows = np.concatenate([base[0], every[number : number + 1]])
        return [answer(question, rows, np.r_[base[1], labels[number]]) for question in asked]

    def apart(totals: list[Any]) -> np.ndarray:
        pairs = zip(asked, totals, without, strict=True)
        return np.concatenate([released(q, a, Silent()) - released(q, b, Silent()) for q, a, b in pairs])

    moves = [float(np.linalg.norm(apart(with_one(number)))) for number in range(0, len(every), 10)]
    target = 10 * int(np.argmax(moves))
    member = with_one(target)
    direction = apart(member) * (2.0 if halved else 1.0)
    noise = SecureNoise()
    middle = np.concatenate([released(q, b, Silent()) for q, b in zip(asked, without, strict=True)]) + apart(member) / 2
    wrong = []
    for totals, sign in ((without, 1.0), (member, -1.0)):
        found = 0
        for _ in range(runs):
            drawn = np.concatenate([released(q, total, noise) for q, total in zip(asked, totals, strict=True)])
            quiet = np.concatenate([released(q, total, Silent()) for q, total in zip(asked, totals, strict=True)])
            seen = quiet + (drawn - quiet) / (2.0 if halved else 1.0)  # the mutant's noise is for half the sensitivity
            found += sign * float((seen - middle) @ direction) > 0.0
        wrong.append(found)
    errors = Errors(wrong[0], wrong[1], runs)
    bounds = [bound(errors, DELTA, LEVEL, LEVEL) for bound in (gaussian_bound, clopper_pearson)]
    record = {
        "cell": f"audit {epsilon:g} {'half noise' if halved else 'right'}",
        "kind": "audit",
        "epsilon": epsilon,
        "mutant": halved,
        "runs": runs,
        "wrong": wrong,
        "moved": max(moves),
        "allowed": mu(epsilon, DELTA),
        "bounds": {one.kind: one.epsilon for one in bounds},
    }
    append(out, record)


def show(records: list[dict[str, Any]]) -> list[str]:
    """Two tables."""
    lines = ["| epsilon | figure | repeats | held | median width |", "| --- | --- | --- | --- | --- |"]
    for epsilon in EPSILONS:
        own = [one for one in records if one["kind"] == "coverage" and one["epsilon"] == epsilon]
        for name in own[0]["held"] if own else ():
            held = np.mean([one["held"][name] for one in own])
            width = "" if name == "people" else f"{np.median([one['width'][name] for one in own]):.4f}"
            lines.append(f"| {epsilon:g} | {name} | {len(own)} | {held:.1%} | {width} |")
        if own:
            bars = np.mean([held for one in own for held in one["calibration"]])
            lines.append(f"| {epsilon:g} | calibration, five ranges | {len(own)} | {bars:.1%} | |")
    lines += ["", "| claim | noise | runs | wrong guesses | gaussian bound | Clopper-Pearson | mu seen of mu allowed |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for one in records:
        if one["kind"] == "audit":
            bounds = [f"{value:.2f}" for value in one["bounds"].values()]
            kind = "half (mutant)" if one["mutant"] else "as it is"
            lines.append(
                f"| {one['epsilon']:g} | {kind} | 2 x {one['runs']:,} | {one['wrong'][0]} + {one['wrong'][1]} | "
                f"{bounds[0]} | {bounds[1]} | {one['moved']:.3f} of {one['allowed']:.3f} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with adult.parquet; without it: the simulated population")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--runs", type=int, default=4000, help="on each side, of the audit")
    parser.add_argument("--only", choices=("audit", "coverage"), help="one of both")
    parser.add_argument("--show", action="store_true", help="print the tables of what is there and leave")
    given = parser.parse_args()
    if not given.show:
        setting = Setting(given.data)
        for epsilon, halved in ((1.0, False), (4.0, False), (4.0, True)):
            if given.only != "coverage" and not any(
                one["cell"] == f"audit {epsilon:g} {'half noise' if halved else 'right'}" for one in read(given.out)
            ):
                audit(setting, given.out, given.runs, epsilon, halved)
        if given.only != "audit":
            coverage(setting, given.out, given.repeats)
    sys.stdout.write("\n".join(show(read(given.out))) + "\n")


if __name__ == "__main__":
    main()
