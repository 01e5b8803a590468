"""Batches of shadow fits: what each attack looks at, computed once, and kept for an audit that is interrupted.

    job (the same for all)  x  task (side, number, seed)  ->  features, one row for each fit

With a folder every finished batch is kept there, beside a description of the audit, so that another audit does not take it up.
What is kept are features of synthetic tables and scores, no rows of a table.
"""

import hashlib
import io
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from understudy import engine as engines
from understudy.audit.attacks import attack as attack_called
from understudy.audit.attacks import likelihood_ratio
from understudy.audit.shadow import opens_rounds, sample_tables, shadow_fits
from understudy.audit.targets import Pair, Side
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.files import write_atomically
from understudy.private import SecureNoise, SeededNoise
from understudy.schema.tables import as_frame
from understudy.seeds import folded

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


def make_tasks(runs: int, batch: int, seed: int) -> list[Task]:
    """Batches of both sides in turn; every batch has a seed of its own."""
    half, tasks = runs // 2, []
    for number, first in enumerate(range(0, half, batch)):
        for secret in (0, 1):
            own = int(np.random.SeedSequence([folded(seed), number, secret]).generate_state(1)[0])
            tasks.append(Task(secret, number, min(batch, half - first), own))
    return tasks


def computed(
    job: Job, tasks: Sequence[Task], jobs: int, engine: str | engines.Engine | None, progress: engines.Progress
) -> list[dict[str, np.ndarray]]:
    """The features of all batches, by attack: of the fits without the target, and of those with it."""
    found = engines.run_jobs(
        partial(run_task, job),
        tasks,
        jobs=1 if job.external is not None else jobs,
        progress=progress,
        engine=None if job.external is not None else engines.named(engine),
    )
    sides = [[one for task, one in zip(tasks, found, strict=True) if task.secret == secret] for secret in (0, 1)]
    return [{name: np.concatenate([one[name] for one in side]) for name in job.attacks} for side in sides]


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
