"""How fast, as ratios within one run: machines differ and are noisy, ratios less so.

    round      one PATE-GAN round against the bare matrix products of the same sizes, in the same process
    teachers   seconds per teacher from 100 to 4,000 teachers, and peak memory at 4,000
    sample     1,000,000 rows x 30 columns to Parquet against PyArrow writing an existing frame of that shape
    memory     peak memory while sampling 1 and 10 million rows

Each part that measures memory runs in a process of its own, because peak memory of a process never goes down.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FEATURES, BATCH, STEPS = 178, 64, 5
PARTS = ("round", "teachers", "sample", "memory")


def run(parts: tuple[str, ...] = PARTS, quick: bool = False) -> dict[str, Any]:
    """All parts, each in its own process; returns the figures."""
    return {part: json.loads(in_process(part, quick)) for part in parts}


def in_process(part: str, quick: bool, *extra: str) -> str:
    command = [sys.executable, "-m", "benchmarks.speed", part, "quick" if quick else "full", *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"speed benchmark {part!r} failed:\n{done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


def best(action: Callable[[], Any], repeats: int) -> float:
    """Smallest of several timings, after one call that compiles."""
    action()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def one_round(teachers: int, repeats: int = 7) -> dict[str, float]:
    """Seconds of a round with `teachers` one-layer teachers, n_T = n_S = 5, and of its bare matrix products."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from understudy.methods.pate_gan.generator import PateGanGenerator
    from understudy.nn.copula import Start
    from understudy.nn.heads import Block, Heads
    from understudy.private.blocks import Blocks
    from understudy.private.mechanisms.teacher_votes import TeacherVotes
    from understudy.private.noise import SeededNoise
    from understudy.private.rounds import run_chunk

    heads = Heads(FEATURES, tuple(Block("numeric", i, 1) for i in range(FEATURES)))
    generator = PateGanGenerator(
        heads=heads, classes=1, latent=8, hidden=32, student_hidden=64, judged=BATCH, practice=BATCH, teacher_steps=STEPS,
        student_steps=STEPS, generator_steps=1, batch=BATCH, rounds=1, student_learning_rate=1e-3, generator_learning_rate=1e-3,
        student_decay=0.0, replay=False,
    )  # fmt: skip
    mechanism = TeacherVotes(
        teachers=(teachers,), capacity=10, judged=BATCH, classes_per_unit=1, kind="gaussian", sigma=100.0, answers="score",
        learning_rate=0.1, weight_decay=0.01,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5 * teachers, FEATURES)).astype(np.float32)
    blocks = Blocks.of(rows, np.zeros(len(rows), np.int32))
    data, held = mechanism.prepare(blocks, SeededNoise(0))
    data, held = jax.tree.map(jnp.asarray, (data, held))
    zeros = np.zeros((1, FEATURES), np.float32)
    start = Start(
        zeros, zeros, np.ones((1, 1), np.float32), zeros[0] + 0.5, zeros[0] + 0.5, zeros[0], np.ones((1, 1), np.float32)
    )
    state = generator.init(jax.random.key(0), start)
    tape = jnp.zeros((1, 1, BATCH), jnp.int32)
    keys = jax.random.key(1), jax.random.key(2)

    def whole() -> Any:
        return jax.block_until_ready(run_chunk(mechanism, generator, data, held, state, tape, *keys))

    fakes = jnp.asarray(rng.normal(size=(STEPS, BATCH, FEATURES)).astype(np.float32))
    weight = jnp.asarray(rng.normal(size=(teachers, FEATURES)).astype(np.float32))

    @jax.jit
    def products(weight: Any, fakes: Any, rows: Any) -> Any:
        """Forward and backward products of n_T steps on fakes and own rows, and the products of the votes; nothing else."""

        def step(weight: Any, batch: Any) -> Any:
            back = jnp.einsum("kn,nw->kw", jnp.einsum("nw,kw->kn", batch, weight), batch)
            own = jnp.einsum("ks,ksw->kw", jnp.einsum("ksw,kw->ks", rows, weight), rows)
            return 0.5 * weight + 1e-6 * (back + own), None

        weight, _ = jax.lax.scan(step, weight, fakes)
        return jnp.einsum("nw,kw->kn", fakes[0], weight).sum(axis=0)

    bare = lambda: jax.block_until_ready(products(weight, fakes, data.rows[0]))  # noqa: E731
    return {"teachers": teachers, "round": best(whole, repeats), "products": best(bare, repeats)}


def round_part(quick: bool) -> dict[str, Any]:
    found = one_round(200 if quick else 1000)
    return found | {"ratio": found["round"] / found["products"], "limit": 5.0}


def teachers_part(quick: bool) -> dict[str, Any]:
    sizes = (50, 200) if quick else (100, 500, 1000, 2000, 4000)
    rows = [one_round(size) for size in sizes]
    per_teacher = {row["teachers"]: 1e6 * row["round"] / row["teachers"] for row in rows}
    return {"microseconds_per_teacher": per_teacher, "peak_mb": peak_mb(), "limit_mb": 2048}


def sample_part(quick: bool) -> dict[str, Any]:
    """Sampling to Parquet against writing a frame that exists already."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 20_000 if quick else 1_000_000
    model = toy_model()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_samples(model, 10_000, path)
        started = time.perf_counter()
        write_samples(model, rows, path)
        sampled = time.perf_counter() - started
        frame = pq.read_table(path).to_pandas()
        started = time.perf_counter()
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        written = time.perf_counter() - started
    ratio = sampled / written
    return {"rows": rows, "columns": 30, "sample": sampled, "write": written, "ratio": ratio, "limit": 5.0}


def memory_part(quick: bool) -> dict[str, Any]:
    few, many = (20_000, 60_000) if quick else (1_000_000, 10_000_000)
    peaks = {rows: float(in_process("peak", quick, str(rows))) for rows in (few, many)}
    return {"peak_mb": peaks, "growth": peaks[many] / peaks[few]}


def toy_model() -> Any:
    """A small model of 30 mixed columns, fitted on made-up rows."""
    import numpy as np
    import pandas as pd

    from understudy.methods.pate_gan.method import PateGan
    from understudy.schema import Column, Schema

    rng = np.random.default_rng(0)
    columns = [Column(name=f"x{i}", kind="continuous", lower=-4, upper=4) for i in range(20)]
    columns += [Column(name=f"n{i}", kind="integer", lower=0, upper=100) for i in range(5)]
    columns += [Column(name=f"c{i}", kind="categorical", categories=("a", "b", "c")) for i in range(4)]
    columns += [Column(name="label", kind="categorical", categories=("no", "yes"))]
    frame = pd.DataFrame({f"x{i}": rng.normal(size=2000) for i in range(20)})
    for i in range(5):
        frame[f"n{i}"] = rng.integers(0, 100, 2000)
    for i in range(4):
        frame[f"c{i}"] = rng.choice(["a", "b", "c"], 2000)
    frame["label"] = rng.choice(["no", "yes"], 2000)
    schema = Schema(columns=tuple(columns), label="label", positive="yes")
    return PateGan(rounds=2, seed=0).fit(frame, schema).fitted


def write_samples(model: Any, rows: int, path: Path) -> None:
    from understudy.schema import open_writer

    with open_writer(path, model.codec) as writer:
        for table in model.sample_arrow(rows, seed=0):
            writer.write(table)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(part: str, size: str, rows: str = "0") -> None:
    quick = size == "quick"
    if part == "peak":
        with tempfile.TemporaryDirectory() as folder:
            write_samples(toy_model(), int(rows), Path(folder) / "rows.parquet")
        sys.stdout.write(f"{peak_mb()}\n")
        return
    parts = {"round": round_part, "teachers": teachers_part, "sample": sample_part, "memory": memory_part}
    sys.stdout.write(json.dumps(parts[part](quick)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
