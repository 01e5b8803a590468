"""An audit from beginning to end: make shadow fits on both tables of a pair, attack them, say what was found.

    pair  ->  batches of shadow fits on D' and D  ->  what each attack looks at (kept per batch)  ->  game  ->  result

With `folder` an interrupted audit goes on where it stopped (`batches.py`).
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from understudy import engine as engines
from understudy.audit import forecast
from understudy.audit.attacks import attack as attack_called
from understudy.audit.batches import Fits, Job, Task, computed, describe, finished, make_tasks, settled_seed
from understudy.audit.estimates import Claim
from understudy.audit.game import decide
from understudy.audit.result import AuditResult
from understudy.audit.shadow import sample_tables, shadow_fits
from understudy.audit.targets import RECORD, Pair, made_up, record_pair, remote_rows
from understudy.audit.threats import threat as threat_called
from understudy.audit.vulnerable import MINI_ATTACKS, most_vulnerable
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.methods.registry import check_names
from understudy.methods.registry import method as method_called
from understudy.schema import Schema
from understudy.schema.tables import as_frame, read_table
from understudy.versions import versions

BATCH = 200  # shadow fits in one compiled program
ROWS = 1000  # synthetic rows an attacker draws from each model
TINY_TABLE = {"teachers": 2, "rounds": 100}  # of methods with teachers on four or five records, as in the paper
Report = Callable[[dict[str, Any]], None]  # hears how far an audit is


def run_audit(
    method: str | Estimator,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    options: Mapping[str, object] | None = None,
    threats: Sequence[str] = ("black-box",),
    attacks: Sequence[str] = ("querybased",),
    target: str | Pair = "worst-case",
    data: object = None,
    schema: Schema | None = None,
    row: int | str | None = None,
    runs: int = 2000,
    rows: int = ROWS,
    seed: int | None = None,
    progress: Report | None = None,
    folder: str | Path | None = None,
    external: Fits | None = None,
    secure: bool = False,
    canary: bool = False,
    batch: int = BATCH,
    jobs: int = 1,
    engine: str | engines.Engine | None = None,
    confidence: float = 0.95,
) -> AuditResult:
    """Audit `method` with `runs` shadow fits, half of them with the target.

    `external` (a table and a number -> synthetic tables) audits any other generator; `method` is then only its name.
    `engine` runs batches as jobs, on a cluster too; without one they run in `jobs` processes.
    `row` is a position in `data`, or "mini-attacks" to look for the row that is told best.
    """
    started = time.monotonic()
    looks = plays(threats, attacks, external is not None)
    pair = target if isinstance(target, Pair) else make_pair(target, data, schema, row)
    estimator = None if external is not None else make_estimator(method, epsilon, delta, options, pair)
    if row == MINI_ATTACKS and pair.name == RECORD:
        pair = find_row(estimator, external, pair, looks, rows)
    claim, sentence = claim_of(estimator, pair, epsilon, delta)
    job = Job(
        estimator=estimator,
        pair=pair,
        attacks=tuple(dict.fromkeys(name for _, name in looks)),
        rows=rows,
        secure=secure,
        canary=canary,
        folder=None if folder is None else Path(folder),
        external=external,
    )
    seed = settled_seed(job, seed, describe(job, method, epsilon, delta, runs, batch))
    tasks = make_tasks(runs, batch, seed)
    known = sum(task.count for task in tasks if finished(job, task))
    if progress is not None and estimator is not None:
        expected = forecast.seconds(estimator, pair, runs - known, jobs)
        progress({"stage": "forecast", "done": 0, "runs": runs, "seconds": expected})
    sides = computed(job, tasks, jobs, engine, steps(progress, tasks, runs, known, started))
    made = time.monotonic() - started
    outcomes = tuple(
        decide(
            *(side[name] for side in sides),
            claim=claim,
            threat=threat,
            attack=name,
            target=pair.name,
            learns=attack_called(name).learns,
            confidence=confidence,
            family=len(looks),
        )
        for threat, name in looks
    )
    fits = sum(task.count for task in tasks) - known
    return AuditResult(
        method=method if isinstance(method, str) else method.method,
        options={} if estimator is None else changed_options(estimator),
        epsilon=claim.epsilon,
        delta=delta,
        claim=sentence,
        outcomes=outcomes,
        fits=sum(task.count for task in tasks),
        seconds=time.monotonic() - started,
        fits_per_second=fits / made if made > 0 else 0.0,
        versions=versions(),
        notes=notes_of(job, known),
    )


def steps(progress: Report | None, tasks: Sequence[Task], runs: int, known: int, started: float) -> engines.Progress:
    """Turn finished batches into fits, and into the seconds that are left: those that were `known` before took none."""

    def tell(done: int, _: int, label: str) -> None:
        if progress is not None:
            spent = time.monotonic() - started
            fits = sum(task.count for task in tasks[:done])
            eta = spent * (runs - fits) / max(fits - known, 1) if fits > known else None
            progress({"stage": "fits", "done": fits, "runs": runs, "elapsed": spent, "eta": eta, "label": label})

    return tell


# -- what is audited ------------------------------------------------------------------------------------------------------
def make_pair(target: str, data: object, schema: Schema | None, row: int | str | None) -> Pair:
    """The pair of neighbouring tables: made up, or the user's table with and without one unit."""
    if target != RECORD:
        return made_up(target)
    if data is None or schema is None:
        raise UsageError(f"target {RECORD!r} needs a table and its schema")
    frame = read_table(data, schema) if isinstance(data, (str, Path)) else as_frame(data, schema)
    if len(frame) < 2:
        raise UsageError(f"target {RECORD!r} needs a table of at least two rows")
    if row is None or row == MINI_ATTACKS:
        row = int(remote_rows(frame, schema, 1)[0])
    if not isinstance(row, int) or not 0 <= row < len(frame):
        raise UsageError(f"row {row} is not a row of the table; rows are counted from 0, or use {MINI_ATTACKS}")
    return record_pair(frame, schema, row)


def find_row(
    estimator: Estimator | None, external: Fits | None, pair: Pair, looks: Sequence[tuple[str, str]], rows: int
) -> Pair:
    """The row that small attacks tell best, by the first chosen attack that looks at tables."""
    chosen = [attack_called(name) for _, name in looks if attack_called(name).needs == "table"]
    if not chosen:
        raise UsageError(f"row {MINI_ATTACKS!r} needs an attack on tables, such as groundhog")

    def fits(frame: pd.DataFrame, count: int, seed: int) -> Sequence[pd.DataFrame]:
        if external is not None:
            return external(frame, count)
        assert estimator is not None
        return sample_tables(shadow_fits(estimator, frame, pair.schema, count, seed=seed), rows, seed)

    return most_vulnerable(as_frame(pair.with_, pair.schema), pair.schema, fits, chosen[0].features)


def make_estimator(
    method: str | Estimator, epsilon: float, delta: float, options: Mapping[str, object] | None, pair: Pair
) -> Estimator:
    """The method under attack with its options checked; an estimator is taken as it is."""
    if isinstance(method, Estimator):
        return method
    kind = method_called(method)
    known = kind().get_params()
    chosen = dict(options or {})
    check_names(method, sorted(known), chosen)
    if pair.name != RECORD and all(name in known for name in TINY_TABLE):
        chosen = TINY_TABLE | dict(pair.sizes) | chosen
    made: Estimator = kind(epsilon=epsilon, delta=delta, **chosen)
    return made


def claim_of(estimator: Estimator | None, pair: Pair, epsilon: float, delta: float) -> tuple[Claim, str]:
    """What is claimed of the method, as numbers and in words."""
    if estimator is None:
        claim = Claim(epsilon, delta)
        return (
            claim,
            f"({epsilon:g}, {delta:g})-differential privacy for adding or removing one unit, as its maker says",
        )
    plan = estimator.plan(pair.schema)
    if not plan.valid:
        return Claim(math.inf, plan.budget.delta), f"none: {plan.void_reason}"
    budget = plan.budget
    words = f"({budget.epsilon:g}, {budget.delta:g})-differential privacy for adding or removing {plan.unit}"
    if plan.mu is not None:
        words += f"; by Gaussian noise with mu = {plan.mu:.4g} over all answers"
    return Claim(budget.epsilon, budget.delta, plan.mu), words


def plays(threats: Sequence[str], attacks: Sequence[str], external: bool) -> list[tuple[str, str]]:
    """Which attack is played under which threat model. An attack that no chosen threat model allows is an error."""
    found = []
    for name in attacks:
        needs = attack_called(name).needs
        if external and needs != "table":
            raise UsageError(f"attack {name!r} needs more than tables, which is all an external command gives")
        allowed = [threat for threat in threats if needs in threat_called(threat).sees]
        if not allowed:
            raise UsageError(f"attack {name!r} needs to see the {needs}; use it with the threat {weakest(needs)!r}")
        found.append((allowed[0], name))  # a stronger view of the same features adds nothing
    return found


def weakest(needs: str) -> str:
    """The weakest attacker that sees what an attack needs."""
    return {"table": "black-box", "artifact": "model-box"}.get(needs, "wall-box")


def changed_options(estimator: Estimator) -> dict[str, object]:
    """Options that differ from the defaults, besides the budget."""
    default = type(estimator)().get_params()
    skip = ("epsilon", "delta", "seed")
    return {
        name: value for name, value in estimator.get_params().items() if value != default[name] and name not in skip
    }


def notes_of(job: Job, known: int) -> tuple[str, ...]:
    """What a reader must know about how the runs were made."""
    notes = [f"{job.pair.name}: {job.pair.note}"]
    if job.external is None:
        notes.append(
            "noise from the operating system and OpenDP's exact sampler, as in a fit"
            if job.secure
            else "shadow fits drew seeded noise: the operating system's generator and the exact sampler were not audited"
        )
        if "table" in {attack_called(name).needs for name in job.attacks}:
            notes.append(
                f"the attacker drew {job.rows} rows from every model and saw the model's default number of rows"
            )
    if job.canary:
        notes.append(
            "a canary asked in the generator's place: the rounds are as telling as any questions can make them"
        )
    if known:
        notes.append(f"{known} fits were kept from an earlier run")
    return tuple(notes)
