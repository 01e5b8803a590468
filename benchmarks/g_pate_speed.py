"""What a round of G-PATE costs: rounds per second and memory against teachers, and against its bare matrix products.

    python -m benchmarks.g_pate_speed [--networks dense,conv] [--teachers 500,1000,2000,4000]

A round trains every teacher (three steps on its own rows and 32 generated ones), takes the gradient of every teacher for 16
generated rows, projects, votes, adds noise and moves the generator. Images of 28 x 28, one ensemble that sees ten classes,
shards of up to 10 rows. The bare products are those of the same sizes and nothing else: for every teacher, step and row,
layer by layer, forward, back to the weights, and for the judged rows back to the row. Each number of teachers runs in a
process of its own, whose peak memory is given. Results go to benchmarks/results/g-pate-speed.json.
"""

import argparse
import json
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.files import write_atomically

SIDE, CLASSES, OWN, STEPS, PRACTICE, JUDGED = 28, 10, 5, 3, 32, 16
KERNELS, HIDDEN = 8, 16
OUT = Path(__file__).resolve().parent / "results" / "g-pate-speed.json"


def products(network: str, teachers: int, capacity: int) -> Any:
    """A function of no arguments that computes the bare products of a round."""
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)
    width = SIDE * SIDE + CLASSES
    sizes = [(width, HIDDEN), (HIDDEN, 1)]
    if network == "conv":
        places, seen = (SIDE // 2) ** 2, 25
        sizes = [(places * KERNELS + CLASSES, HIDDEN), (HIDDEN + CLASSES, 1)]
    weights = [0.1 * jax.random.normal(key, (teachers, *size)) for size in sizes]
    kernel = 0.1 * jax.random.normal(key, (teachers, 25, KERNELS))

    def layers(x: Any, weights: Any, shared: bool) -> Any:
        """Activations of all layers; `shared` inputs are the same for all teachers."""
        found = []
        for number, weight in enumerate(weights):
            x = jnp.einsum("nw,kwh->knh" if shared and not number else "knw,kwh->knh", x, weight)
            found.append(x)
        return found

    def spread(x: Any, weight: Any, shared: bool) -> Any:
        return jnp.einsum("nps,ksm->knpm" if shared else "knps,ksm->knpm", x, weight)

    def step(weights: Any, kernel: Any, x: Any, shared: bool, to_rows: bool) -> Any:
        """Forward and backward through all layers; ones stand for what a loss would send back."""
        inputs: Any = x
        total: Any = 0.0
        if network == "conv":
            maps = spread(x, kernel, shared)
            x = jnp.pad(maps.reshape(*maps.shape[:2], -1), ((0, 0), (0, 0), (0, CLASSES)))
            shared = False
        first = layers(x, weights[:1], shared)[0]
        last = jnp.einsum("knh,khj->knj", first, weights[1][:, :HIDDEN])
        back = jnp.einsum("knj,khj->knh", last, weights[1][:, :HIDDEN])
        if to_rows:
            slope = jnp.einsum("knh,kwh->knw", back, weights[0])
            if network == "conv":
                slope = slope[..., :-CLASSES].reshape(*slope.shape[:2], places, KERNELS)
                slope = jnp.einsum("knpm,ksm->knps", slope, kernel)
            return slope.sum()
        total += jnp.einsum("nw,knh->kwh" if shared else "knw,knh->kwh", x, back)
        if network == "conv":
            slope = jnp.einsum("knh,kwh->knw", back, weights[0])[..., :-CLASSES]
            slope = slope.reshape(*slope.shape[:2], places, KERNELS)
            through = jnp.einsum("nps,knpm->ksm" if inputs.ndim == 3 else "knps,knpm->ksm", inputs, slope)
            return total, through, jnp.einsum("knh,knj->khj", first, last)
        return total, 0.0, jnp.einsum("knh,knj->khj", first, last)

    row = (places, seen) if network == "conv" else (width,)
    practice = jax.random.normal(key, (STEPS, PRACTICE, *row))
    judged = jax.random.normal(key, (JUDGED, *row))
    own = jax.random.normal(key, (teachers, capacity, *row))

    @jax.jit
    def run(weights: Any, kernel: Any, practice: Any, judged: Any, own: Any) -> Any:
        def one(carry: Any, fakes: Any) -> Any:
            weights, kernel = carry
            for x, shared in ((fakes, True), (own, False)):
                slope, through, last = step(weights, kernel, x, shared, False)
                moved = weights[1].at[:, :HIDDEN].add(-1e-6 * last)
                weights, kernel = [weights[0] - 1e-6 * slope, moved], kernel - 1e-6 * through
            return (weights, kernel), None

        (weights, kernel), _ = jax.lax.scan(one, (weights, kernel), practice)
        return step(weights, kernel, judged, True, True)

    return lambda: jax.block_until_ready(run(weights, kernel, practice, judged, own))


def whole(network: Any, teachers: int) -> tuple[Any, int]:
    """A round as a fit runs it, and the capacity of its shards."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from understudy.methods.g_pate.generator import Hints
    from understudy.methods.g_pate.method import GPate, pictures
    from understudy.nn.copula import Start
    from understudy.nn.heads import Block, Heads
    from understudy.private.blocks import Blocks
    from understudy.private.noise import SeededNoise
    from understudy.private.rounds import run_chunk

    width, shape = SIDE * SIDE, (SIDE, SIDE, 1)
    recipe = GPate(
        teachers=teachers, by_class=False, network=network, teacher_kernels=KERNELS, teacher_steps=STEPS,
        practice=PRACTICE, judged=JUDGED, chunk=500 if network == "conv" else 4096,
    )  # fmt: skip
    chosen = pictures(width, HIDDEN)
    heads = Heads(width, tuple(Block("numeric", i, 1) for i in range(width)))
    mechanism = recipe._mechanism(chosen, (teachers,), 10, CLASSES, 1, 10.0, width, shape)
    generator = recipe._generator(chosen, heads, CLASSES, shape, 30)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(OWN * teachers, width)).astype(np.float32)
    blocks = Blocks.of(rows, rng.integers(0, CLASSES, len(rows)).astype(np.int32))
    data, held = mechanism.prepare(blocks, SeededNoise(0))
    data, held = jax.tree.map(jnp.asarray, (data, held))
    zeros, ones = np.zeros((CLASSES, width), np.float32), np.ones((CLASSES, 1), np.float32)
    start = Start(zeros, zeros, ones, 0.5 + zeros[0], 0.5 + zeros[0], zeros[0], ones)
    hints = Hints(start, np.full(CLASSES, 1.0 / CLASSES, np.float32))
    state = jax.jit(generator.init)(jax.random.key(0, impl="rbg"), hints)
    tape = jnp.asarray(mechanism.tape(1, SeededNoise(1)), jnp.int32)
    keys = jax.random.key(1), jax.random.key(2, impl="rbg")
    run = lambda: jax.block_until_ready(run_chunk(replace(mechanism), generator, data, held, state, tape, *keys))  # noqa: E731
    return run, int(data.rows.shape[-2])


def work(network: str, teachers: int) -> None:
    from benchmarks.speed import best

    run, capacity = whole(network, teachers)
    spent = best(run, 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bare = best(products(network, teachers, capacity), 3)
    figures = {"rounds_per_second": 1.0 / spent, "round": spent, "products": bare, "ratio": spent / bare}
    sys.stdout.write(json.dumps(figures | {"peak_megabytes": peak, "capacity": capacity}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="dense,conv")
    parser.add_argument("--teachers", default="500,1000,2000,4000")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker[0], int(given.worker[1]))
        return
    found: dict[str, Any] = json.loads(OUT.read_text()) if OUT.exists() else {}
    for network in given.networks.split(","):
        for teachers in given.teachers.split(","):
            command = [sys.executable, "-m", "benchmarks.g_pate_speed", "--worker", network, teachers]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr[-2000:])
            figures = json.loads(done.stdout.splitlines()[-1])
            found.setdefault(network, {})[teachers] = figures
            sys.stdout.write(f"{network} {teachers}: {json.dumps(figures)}\n")
            sys.stdout.flush()
            write_atomically(OUT, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
