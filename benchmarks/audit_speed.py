"""Shadow fits per second, side by side and one at a time, in the same run.

    python -m benchmarks.audit_speed [--fits 200] [--singles 5] [--rounds 100] [--runs 2000 --jobs 2]

The worst-case table, PATE-GAN, two teachers, 100 rounds. One-at-a-time fits are warm: the first, which compiles, is not counted,
and the number of rows is declared public so that shards have one capacity and none compiles again. CPU seconds are given beside
wall seconds, because the machine may be shared. With --runs a whole audit of so many fits is made as well, in --jobs processes,
each of which compiles for itself. Results go to benchmarks/results/audit-speed.json.
"""

import argparse
import json
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy import engine
from understudy.audit.run import run_audit
from understudy.audit.shadow import sample_tables, shadow_fits
from understudy.audit.targets import worst_case
from understudy.files import write_atomically
from understudy.fit import fit
from understudy.methods.pate_gan.method import PateGan
from understudy.private import SeededNoise
from understudy.schema.tables import as_frame

RESULTS = Path(__file__).resolve().parent / "results" / "audit-speed.json"


def timed(work: Any) -> tuple[float, float]:
    wall, cpu = time.monotonic(), time.process_time()
    work()
    return time.monotonic() - wall, time.process_time() - cpu


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def whole_audit(runs: int, jobs: int, rounds: int) -> dict[str, Any]:
    """The command of the README, as a user would run it: both tables, all fits, the attack."""
    before = cpu_of_children()
    wall, own = timed(lambda: run_audit("pate-gan", options={"rounds": rounds}, runs=runs, jobs=jobs, seed=1))
    return {"runs": runs, "jobs": jobs, "wall": wall, "cpu": own + cpu_of_children() - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--singles", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    audit = whole_audit(options.runs, options.jobs, options.rounds) if options.runs else None
    pair = worst_case()
    schema = replace(pair.schema, rows=len(as_frame(pair.with_)))
    estimator = PateGan(epsilon=1.0, rounds=options.rounds, teachers=2)

    def together(seed: int) -> Any:
        return lambda: sample_tables(shadow_fits(estimator, pair.with_, schema, options.fits, seed=seed), 1000, seed)

    def alone(seed: int) -> Any:
        return lambda: fit(estimator, pair.with_, schema, noise=SeededNoise(seed)).sample(1000, seed=seed)

    first = timed(together(0))
    batch = timed(together(1))
    timed(alone(0))
    singles = [timed(alone(seed)) for seed in range(1, options.singles + 1)]
    wall, cpu = (sum(one[k] for one in singles) / len(singles) for k in (0, 1))
    result = {
        "cores": engine.cores(),
        "rounds": options.rounds,
        "first batch with compilation": {"fits": options.fits, "wall": first[0], "cpu": first[1]},
        "batch": {"fits": options.fits, "wall": batch[0], "cpu": batch[1], "cpu per fit": batch[1] / options.fits},
        "one at a time": {"fits": len(singles), "wall per fit": wall, "cpu per fit": cpu},
        "times as many per CPU second": cpu / (batch[1] / options.fits),
        "times as many per second": wall / (batch[0] / options.fits),
        "2,000 fits, CPU seconds": first[1] + (2000 - options.fits) * batch[1] / options.fits,
    }
    if audit is not None:
        result["whole audit"] = audit
    write_atomically(RESULTS, json.dumps(result, indent=1) + "\n")
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
