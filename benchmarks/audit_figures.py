"""The audit's figures: worst-case pair against every method, the wall box at three budgets, a real record.

    python -m benchmarks.audit_figures figure-5a             worst-case pair, black box, 1,000 + 1,000 fits, all methods
    python -m benchmarks.audit_figures figure-5a --noise-free   the same methods without any noise, which must be caught
    python -m benchmarks.audit_figures wall                  every answer; 20,000 runs at epsilon 1, 2,000 at 4 and 10
    python -m benchmarks.audit_figures figure-5b --data DIR  a cervical-cancer record, GroundHog, 30 minutes or --runs N

Finished batches are kept in --work and an interrupted run goes on there. Results go to benchmarks/results/audit-*.json.
"""

import argparse
import contextlib
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.audit_mutants import load_mutants
from benchmarks.registry import load
from understudy.audit.result import AuditResult
from understudy.audit.run import run_audit
from understudy.audit.targets import TIGHTEST
from understudy.methods.registry import METHODS, method

RESULTS = Path(__file__).resolve().parent / "results"
SEED = 7
# Sizes that make 2,000 fits of a tiny table cheap; they do not enter the guarantee.
SIZES: dict[str, dict[str, Any]] = {
    "clique-tree": {"passes": 5},
    "dpgan": {"rounds": 100},
    "rdp-cgan": {"rounds": 30, "layers": 2, "code": 16, "noise": 16, "batch": 64},
    "g-pate-as-published": {"teachers": 20, "rounds": 10},
}
VOTES_ALONE: dict[str, Any] = {
    "votes_share": 1000.0,
    "moments_share": 0.0,
    "rounds": 4,
    "judged": 8,
}  # nearly all budget

GRADIENTS_ALONE: dict[str, Any] = {
    "start": "none",
    "gradients_share": 1000.0,
    "sampling_rate": 1.0,  # everybody in every sample: the answers are then plain Gaussian noise around known sums
    "rounds": 10,
    "hidden": 4,
    "critic_hidden": 4,
}


def private_methods() -> list[str]:
    return [name for name in METHODS if not method(name)().void_reason]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def tell(name: str) -> Any:
    def progress(event: dict[str, Any]) -> None:
        say(f"{name}: {event['done']} of {event['runs']} fits, {event.get('elapsed', 0.0):.0f} s")

    return progress


def keep(result: AuditResult, name: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    result.save(RESULTS / f"audit-{name}.json")
    for outcome in result.outcomes:
        figures = ", ".join(
            f"{bound.kind} {bound.epsilon:.2f} (at most {bound.largest:.2f})" for bound in outcome.bounds
        )
        say(f"{name}: {outcome.threat} {outcome.attack}: {figures}; violated: {outcome.violated}")


def figure_5a(options: argparse.Namespace) -> None:
    ending = "-noise-free" if options.noise_free else ""
    silence = load_mutants().no_noise_anywhere() if options.noise_free else contextlib.nullcontext()
    with silence:
        for name in options.methods or private_methods():
            result = run_audit(
                name,
                epsilon=1.0,
                options=SIZES.get(name, {}),
                threats=("black-box",),
                attacks=("querybased",),
                target="worst-case",
                runs=options.runs or (400 if options.noise_free else 2000),
                seed=options.seed,
                secure=options.secure,
                folder=options.work / f"5a-{name}{ending}",
                progress=tell(name),
                jobs=1 if options.noise_free else options.jobs,
            )
            keep(result, f"worst-case-{name}{ending}")


def again(options: argparse.Namespace) -> str:
    """What the result of a repetition is called after, so that it stands beside the first one."""
    return ("" if options.seed == SEED else f"-seed-{options.seed}") + ("-secure" if options.secure else "")


def wall(options: argparse.Namespace) -> None:
    cases = [
        ("pate-gan-votes", "pate-gan", "lonely", VOTES_ALONE),
        ("mean-embedding", "mean-embedding", "corner", {}),
        ("dpgan-gradients", "dpgan", "lonely", GRADIENTS_ALONE),
    ]
    for name in private_methods():
        if name not in ("pate-gan", "mean-embedding") and name in TIGHTEST:
            cases.append((name, name, TIGHTEST[name], SIZES.get(name, {})))
    for label, name, target, chosen in cases:
        if options.methods and label not in options.methods:
            continue
        for epsilon in options.epsilons:
            result = run_audit(
                name,
                epsilon=epsilon,
                options=chosen,
                threats=("wall-box",),
                attacks=("likelihood-ratio",),
                target=target,
                runs=options.runs or (20_000 if epsilon < 2.0 else 2_000),
                seed=options.seed,
                secure=options.secure,
                canary=True,
                batch=1000,
                folder=options.work / f"wall-{label}-{epsilon:g}{again(options)}",
                progress=tell(f"{label} {epsilon:g}"),
                jobs=options.jobs,
            )
            keep(result, f"wall-{label}-{epsilon:g}{again(options)}")


def figure_5b(options: argparse.Namespace) -> None:
    """As many fits as are asked for, or as the time allows: batches are made until it is over, then what is there is judged."""
    train, test, schema = load("cervical-cancer", options.data, seed=0)
    table = pd.concat([train, test], ignore_index=True)
    for name in options.methods or ["pate-gan"]:
        started, runs, result = time.monotonic(), 0, None
        while runs == 0 or (options.runs is None and time.monotonic() - started < 60.0 * options.minutes):
            runs += options.runs or 4 * options.batch
            result = run_audit(
                name,
                epsilon=1.0,
                options={"teachers": 5} if name == "pate-gan" else {},  # as in the paper
                threats=("black-box",),
                attacks=("groundhog",),
                target="record",
                data=table,
                schema=schema,
                row=int(options.row) if (options.row or "").isdecimal() else options.row,
                runs=runs,
                rows=len(table),
                seed=options.seed,
                secure=options.secure,
                batch=options.batch,
                folder=options.work / f"5b-{name}",
                progress=tell(name),
                jobs=options.jobs,
            )
            keep(result, f"cervical-{name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=("figure-5a", "wall", "figure-5b"))
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--epsilons", nargs="*", type=float, default=[4.0, 10.0, 1.0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument(
        "--row", help="position of the target, or mini-attacks; without it the row furthest from all others"
    )
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--noise-free", action="store_true", help="figure-5a of the methods without any noise")
    parser.add_argument("--secure", action="store_true", help="the operating system's noise instead of seeded noise")
    parser.add_argument("--work", type=Path, default=Path("audit-batches"))
    options = parser.parse_args()
    {"figure-5a": figure_5a, "wall": wall, "figure-5b": figure_5b}[options.figure](options)


if __name__ == "__main__":
    main()
