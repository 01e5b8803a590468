"""What clipping and noise cost: a private critic step against the same step without them, in one process.

    python -m benchmarks.gradient_speed            batch 64, 178 columns, the networks of dpgan and rdp-cgan
    python -m benchmarks.gradient_speed workers    sums over larger samples in this process and in two workers, dpgan, 60 columns

A step is a whole round: sample, gradient on real rows, generated rows and their gradient, optimiser, weight clipping, and the
generator's step when it is due. Ratios are taken between runs that alternate, because other programs share the machine. With
`workers` it is the sum over real rows alone (`private.unit_stripes`), the quickest of ten rounds, and whether sums agree. One
process uses all cores that it has (`taskset -c 0` leaves it one), so on one machine two workers are hardly quicker.
"""

import hashlib
import json
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from understudy.engine import made
from understudy.methods.gradients.generator import GanGenerator, Hints
from understudy.methods.gradients.method import stripes_of
from understudy.methods.gradients.presets import DpGan, RdpCgan
from understudy.nn.copula import Start
from understudy.nn.heads import Block, Heads
from understudy.private import stream
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.noisy_gradient import NoisyGradient
from understudy.private.mechanisms.plain_gradient import PlainGradient
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.private.rounds import run_chunk
from understudy.private.unit_stripes import Owners
from understudy.questions.rounds import GradientQuery

COLUMNS, BATCH, ROWS, ROUNDS, REPEATS = 178, 64, 1280, 20, 9


def main() -> None:
    heads = Heads(COLUMNS, tuple(Block("numeric", column, 1) for column in range(COLUMNS)))
    recipes = {"dpgan": DpGan(batch=BATCH), "rdp-cgan, critic's rounds": RdpCgan(batch=BATCH, autoencoder="none")}
    for name, recipe in recipes.items():
        print(json.dumps({"networks": name} | measure(recipe._generator(heads, 2))))  # noqa: T201


def workers(units: int) -> None:
    """Sums over samples of so many units, a twentieth of the table."""
    heads = Heads(60, tuple(Block("numeric", column, 1) for column in range(60)))
    generator = DpGan()._generator(heads, 2)
    rng, rows = np.random.default_rng(0), 20 * units
    blocks = Blocks.of(rng.standard_normal((rows, 60), np.float32), rng.integers(0, 2, rows).astype(np.int32))
    mechanism = NoisyGradient(generator.losses, (1.0,), 0.05, 5.0, piece=256, stripes=max(stripes_of(units), 2))
    query = GradientQuery(jnp.int32(0), (generator._critic.init(jax.random.key(0)),))
    for name in ("inline", "processes:2"):
        with made(name) as engine:
            owners = Owners(mechanism, 60, None, engine)
            owners.deal_out(blocks)
            times, sums = [], hashlib.sha256()
            for secret in stream.secrets_of_rounds(12, SeededNoise(0)):
                begun = time.perf_counter()
                sums.update(owners.add_up(query, secret).tobytes())
                times.append(time.perf_counter() - begun)
            owners.close()
        found = {"units": units, "engine": name, "ms": round(1e3 * min(times[2:]), 1), "sums": sums.hexdigest()[:8]}
        print(json.dumps(found))  # noqa: T201


def measure(generator: GanGenerator) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    blocks = Blocks.of(rng.normal(size=(ROWS, COLUMNS)).astype(np.float32), rng.integers(0, 2, ROWS).astype(np.int32))
    rate = BATCH / ROWS
    mechanisms: dict[str, Any] = {
        "private": NoisyGradient(generator.losses, (1.0,), rate, 5.0, piece=BATCH),
        "plain": PlainGradient(generator.losses, rate, piece=BATCH),
    }
    zeros, ones = np.zeros((2, COLUMNS), np.float32), np.ones(COLUMNS, np.float32)
    start = Start(zeros, zeros, np.ones((2, 1), np.float32), 0.5 * ones, ones, 0.0 * ones, np.ones((2, 1), np.float32))
    hints = Hints(start, np.full(2, 0.5, np.float32), np.asarray(BATCH, np.float32))
    state = jax.jit(generator.init)(jax.random.key(0), hints)
    secret, public = jax.random.key(1), jax.random.key(2)
    runs: dict[str, Any] = {}
    for name, mechanism in mechanisms.items():
        data, held = jax.tree.map(jnp.asarray, mechanism.prepare(blocks, SecureNoise()))
        tape = jnp.asarray(mechanism.tape(ROUNDS, SecureNoise()), jnp.int32)
        runs[name] = (mechanism, generator, data, held, state, tape, secret, public)
        jax.block_until_ready(run_chunk(*runs[name]))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(REPEATS):
        for name, arguments in runs.items():
            begun = time.perf_counter()
            jax.block_until_ready(run_chunk(*arguments))
            times[name].append((time.perf_counter() - begun) / ROUNDS)
    best = {name: min(values) for name, values in times.items()}
    return {
        "private_ms": round(1e3 * best["private"], 3),
        "plain_ms": round(1e3 * best["plain"], 3),
        "ratio": round(best["private"] / best["plain"], 2),
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["workers"]:
        for number in (2_000, 8_192, 20_000):
            workers(number)
    else:
        main()
