"""An audit from beginning to end: make shadow fits on both tables of a pair, attack them, say what was found.

    pair  ->  batches of shadow fits on D' and D  ->  what each attack looks at (kept per batch)  ->  game  ->  result

With `folder` every finished batch is kept there and an interrupted audit goes on where it stopped. What is kept are features of
synthetic tables and scores, no rows of a table.
"""

import hashlib
import io
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy import engine as engines
from understudy.audit import forecast
from understudy.audit.attacks import attack as attack_called
from understudy.audit.attacks import likelihood_ratio
from understudy.audit.estimates import Claim
from understudy.audit.game import decide
from understudy.audit.result import AuditResult
from understudy.audit.shadow import opens_rounds, sample_tables, shadow_fits
from understudy.audit.targets import RECORD, Pair, Side, made_up, record_pair, remote_rows
from understudy.audit.threats import threat as threat_called
from understudy.audit.vulnerable import MINI_ATTACKS, most_vulnerable
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.files import write_atomically
from understudy.methods.registry import check_names
from understudy.methods.registry import method as method_called
from understudy.private import SecureNoise, SeededNoise
from understudy.schema import Schema
from understudy.schema.tables import as_frame, read_table
from understudy.seeds import folded
from understudy.versions import versions

BATCH = 200  # shadow fits in one compiled program
ROWS = 1000  # synthetic rows an attacker draws from each model
TINY_TABLE = {"teachers": 2, "rounds": 100}  # of methods with teachers on four or five records, as in the paper
Fits = Callable[[pd.DataFrame, int], Sequence[pd.DataFrame]]  # any generator: a table and a number -> synthetic tables


@dataclass(frozen=True)
class Job:
    """What every batch needs to know."""

    estimator: Estimator | None
    pair: Pair
    attacks: tuple[str, ...]
    rows: int
    secure: bool
    canary: bool
    folder: Path | None
    external: Fits | None = None


@dataclass(frozen=True)
class Task:
    """One batch: `count` fits on one side of the pair."""

    secret: int
    number: int
    count: int
    seed: int

    @property
    def file(self) -> str:
        """Where its scores are kept for a later run."""
        return f"batch-{self.number:04d}-{'with' if self.secret else 'without'}.npz"


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
    progress: Callable[[dict[str, Any]], None] | None = None,
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

    def tell(done: int, total: int, label: str) -> None:
        if progress is not None:
            spent = time.monotonic() - started
            fits = sum(task.count for task in tasks[:done])
            eta = spent * (runs - fits) / max(fits - known, 1) if fits > known else None
            progress({"stage": "fits", "done": fits, "runs": runs, "elapsed": spent, "eta": eta, "label": label})

    features = engines.run_jobs(
        partial(run_task, job),
        tasks,
        jobs=1 if external is not None else jobs,
        progress=tell,
        engine=None if external is not None else engines.named(engine),
    )
    sides = [
        {
            name: np.concatenate(
                [part[name] for task, part in zip(tasks, features, strict=True) if task.secret == secret]
            )
            for name in job.attacks
        }
        for secret in (0, 1)
    ]
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


# -- batches --------------------------------------------------------------------------------------------------------------
def make_tasks(runs: int, batch: int, seed: int) -> list[Task]:
    """Batches of both sides in turn; every batch has a seed of its own."""
    half, tasks = runs // 2, []
    for number, first in enumerate(range(0, half, batch)):
        for secret in (0, 1):
            own = int(np.random.SeedSequence([folded(seed), number, secret]).generate_state(1)[0])
            tasks.append(Task(secret, number, min(batch, half - first), own))
    return tasks


def run_task(job: Job, task: Task) -> dict[str, np.ndarray]:
    """The features of one batch: read if they are known, computed and kept otherwise."""
    if finished(job, task):
        assert job.folder is not None
        with np.load(job.folder / task.file, allow_pickle=False) as kept:
            return {name: kept[name] for name in job.attacks}
    found = features_of(job, task)
    if job.folder is not None:
        packed = io.BytesIO()
        np.savez_compressed(packed, **found)  # type: ignore[arg-type]
        write_atomically(job.folder / task.file, packed.getvalue())
    return found


def features_of(job: Job, task: Task) -> dict[str, np.ndarray]:
    """Features of every attack for one batch of shadow fits."""
    pair, frame = job.pair, job.pair.side(task.secret)
    attacks = [attack_called(name) for name in job.attacks]
    if job.external is not None:
        tables = job.external(as_frame(frame, pair.schema), task.count)
        return {attack.name: with_size(attack.features(tables, pair.schema), None) for attack in attacks}
    assert job.estimator is not None
    plan = job.estimator.plan(pair.schema)
    listens = any(attack.needs == "transcript" for attack in attacks)
    if all(attack.name == "likelihood-ratio" for attack in attacks) and not opens_rounds(job.estimator, pair, plan):
        noise = SecureNoise() if job.secure else SeededNoise(task.seed)
        ratios = likelihood_ratio.of_brief_fits(job.estimator, pair, plan, frame, task.count, noise)
        return {"likelihood-ratio": ratios[:, None]}
    watch = likelihood_ratio.watcher(pair, job.canary) if listens or job.canary else None
    fitted = shadow_fits(
        job.estimator, frame, pair.schema, task.count, seed=task.seed, secure=job.secure, plan=plan, watch=watch
    )
    tables = sample_tables(fitted, job.rows, task.seed) if any(attack.needs == "table" for attack in attacks) else []
    found = {}
    for attack in attacks:
        if attack.needs == "table":
            found[attack.name] = with_size(attack.features(tables, pair.schema), fitted.sizes(pair.schema))
        elif attack.learns:
            found[attack.name] = attack.features(fitted)
        else:
            first = likelihood_ratio.of_first_answers(job.estimator, pair, plan, fitted.transcripts)
            found[attack.name] = attack.features(first + likelihood_ratio.ratios_of_rounds(fitted.info))
    return found


def with_size(features: np.ndarray, sizes: np.ndarray | None) -> np.ndarray:
    """The default length of the synthetic table is something an attacker sees, too."""
    return features if sizes is None else np.concatenate([features, np.asarray(sizes, float)[:, None]], axis=1)


# -- resuming -------------------------------------------------------------------------------------------------------------
def describe(
    job: Job, method: str | Estimator, epsilon: float, delta: float, runs: int, batch: int
) -> dict[str, object]:
    """What must be the same for kept batches to be of use. The tables go in as a digest."""
    rows = [contents(side) for side in (job.pair.without, job.pair.with_)]
    return {
        "understudy": "audit batches",
        "method": method if isinstance(method, str) else method.method,
        "options": {} if job.estimator is None else {k: repr(v) for k, v in sorted(job.estimator.get_params().items())},
        "epsilon": epsilon,
        "delta": delta,
        "tables": hashlib.sha256(b"".join(rows)).hexdigest(),
        "schema": job.pair.schema.fingerprint(),
        "attacks": sorted(job.attacks),
        "rows": job.rows,
        "secure": job.secure,
        "canary": job.canary,
        "batch": batch,
    }


def contents(side: Side) -> bytes:
    """What a side holds, so that two runs can be compared."""
    if isinstance(side, Path):
        return side.read_bytes()
    return bytes(pd.util.hash_pandas_object(side, index=False).to_numpy().tobytes())


def settled_seed(job: Job, seed: int | None, described: dict[str, object]) -> int:
    """The seed of the audit: the one in the folder if it goes on there, else a new one, which is written down."""
    fresh = secrets.randbits(31) if seed is None else seed
    if job.folder is None:
        return fresh
    job.folder.mkdir(parents=True, exist_ok=True)
    path = job.folder / "batches.json"
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        own = known.pop("seed", None)
        if known != described or (seed is not None and own != seed):
            raise UsageError(f"{str(job.folder)!r} holds batches of another audit; choose another folder or delete it")
        return int(own)
    write_atomically(path, json.dumps(described | {"seed": fresh}, indent=1) + "\n")
    return fresh


def finished(job: Job, task: Task) -> bool:
    """Whether an earlier run has kept the scores of this task."""
    path = None if job.folder is None else job.folder / task.file
    if path is None or not path.exists():
        return False
    with np.load(path, allow_pickle=False) as kept:
        return all(name in kept and len(kept[name]) == task.count for name in job.attacks)


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
