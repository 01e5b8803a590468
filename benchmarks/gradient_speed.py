"""What clipping and noise cost: a private critic step against the same step without them, in one process.

    python -m benchmarks.gradient_speed            batch 64, 178 columns, the networks of dpgan and rdp-cgan

A step is a whole round: sample, gradient on real rows, generated rows and their gradient, optimiser, weight clipping, and the
generator's step when it is due. Ratios are taken between runs that alternate, because other programs share the machine.
"""

import json
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from understudy.methods.gradients.generator import GanGenerator, Hints
from understudy.methods.gradients.presets import DpGan, RdpCgan
from understudy.nn.copula import Start
from understudy.nn.heads import Block, Heads
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.noisy_gradient import NoisyGradient
from understudy.private.mechanisms.plain_gradient import PlainGradient
from understudy.private.noise import SecureNoise
from understudy.private.rounds import run_chunk

COLUMNS, BATCH, ROWS, ROUNDS, REPEATS = 178, 64, 1280, 20, 9


def main() -> None:
    heads = Heads(COLUMNS, tuple(Block("numeric", column, 1) for column in range(COLUMNS)))
    recipes = {"dpgan": DpGan(batch=BATCH), "rdp-cgan, critic's rounds": RdpCgan(batch=BATCH, autoencoder="none")}
    for name, recipe in recipes.items():
        print(json.dumps({"networks": name} | measure(recipe._generator(heads, 2))))  # noqa: T201


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
    main()
