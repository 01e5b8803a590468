"""The audit of `clique-tree`: how much of every answer's price each pair uses, and what attacks show of it.

    python -m benchmarks.audit_clique_tree used              computed from both tables, a minute
    python -m benchmarks.audit_clique_tree fits [--threats wall-box] [--targets crowd] [--epsilons 1 4] [--runs N]
    python -m benchmarks.audit_clique_tree show              the tables of docs/audit.md from what is stored

By default a black-box attack has as many fits as make the largest bound that they could show exceed the claim, and the likelihood
ratio as many as make a bound of 0.7 of the claim likely where all of it is used. Finished batches are kept in --work and an
interrupted run goes on there. Results go to benchmarks/results/audit-clique-tree-*.json.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audit_figures import RESULTS, SEED, SIZES, again, keep, say, tell
from understudy.audit.result import AuditResult
from understudy.audit.run import run_audit
from understudy.audit.targets import made_up
from understudy.audit.used import used
from understudy.files import write_atomically
from understudy.methods.registry import method

METHOD = "clique-tree"
ATTACKS = {"black-box": "querybased", "wall-box": "likelihood-ratio"}
ASKED = ("worst-case", "corner", "labelled-corner", "person", "labelled-person", "odd-cell")
WAYS = {"crowd": "counts of pairs", "rare-person": "class means", "alike": "products of scores"}  # one pair for each
EPSILONS = (1.0, 4.0)
# 400 fits could show 2.88 and 1,300 could show 4.1. Of guesses about a claim of 1 that is used in full 44.7 % are wrong: 7,000 of
# them show 0.76 on average, and 3,000 show 3.5 of a claim of 4.
RUNS = {"black-box": {1.0: 400, 4.0: 1300}, "wall-box": {1.0: 7000, 4.0: 3000}}
FITS = 20  # of `used`
USED = RESULTS / f"audit-{METHOD}-used.json"


def measure_used(options: argparse.Namespace) -> None:
    known: dict[str, Any] = {}
    for target in options.targets or (*ASKED, *WAYS):
        for epsilon in options.epsilons:
            found = used(method(METHOD)(epsilon=epsilon, **SIZES[METHOD]), made_up(target), FITS, options.seed)
            known.setdefault(target, {})[f"{epsilon:g}"] = {
                "fits": FITS,
                "epsilon": found.epsilon,
                "share of the claim": found.epsilon / found.claimed,
                "answers": {
                    purpose: {
                        "part": answers[0].price / found.mu**2,
                        "used": [float(how([one.share for one in answers])) for how in (np.min, np.mean, np.max)],
                        "asked": sorted({one.kind for one in answers}),
                    }
                    for purpose, answers in found.by_purpose.items()
                },
            }
            say(f"{target} {epsilon:g}: {found.epsilon:.3f} of {found.claimed:.3f}, largest share {found.worst:.6f}")
    write_atomically(USED, json.dumps(known, indent=1) + "\n")


def audit(options: argparse.Namespace) -> None:
    for threat in options.threats or ATTACKS:
        for target in options.targets or ((*WAYS, *ASKED) if threat == "wall-box" else ASKED):
            for epsilon in options.epsilons:
                name = f"{METHOD}-{target}-{threat}-{epsilon:g}{again(options)}"
                result = run_audit(
                    METHOD,
                    epsilon=epsilon,
                    options=SIZES[METHOD],
                    threats=(threat,),
                    attacks=(ATTACKS[threat],),
                    target=target,
                    runs=options.runs or RUNS[threat].get(epsilon, 2000),
                    seed=options.seed,
                    secure=options.secure,
                    batch=200,
                    folder=options.work / name,
                    progress=tell(name) if options.verbose else None,
                    jobs=options.jobs,
                )
                keep(result, name)


def show(options: argparse.Namespace) -> None:
    stored = json.loads(USED.read_text(encoding="utf-8")) if USED.exists() else {}
    purposes = list(dict.fromkeys(name for one in stored.values() for each in one.values() for name in each["answers"]))
    say(f"| pair | epsilon | {' | '.join(purposes)} | could show |\n|{' --- |' * (len(purposes) + 3)}")
    for target, budgets in stored.items():
        for epsilon, one in budgets.items():
            shares = [f"{one['answers'][name]['used'][1]:.2f}" if name in one["answers"] else "" for name in purposes]
            say(f"| `{target}` | {epsilon} | {' | '.join(shares)} | {one['epsilon']:.2f} |")
    say(
        "\n| pair | threat | epsilon | runs | gaussian | clopper-pearson (largest possible) | verdict |\n|"
        + " --- |" * 7
    )
    for target in (*ASKED, *WAYS):
        for threat in ATTACKS:
            for epsilon in EPSILONS:
                file = RESULTS / f"audit-{METHOD}-{target}-{threat}-{epsilon:g}{again(options)}.json"
                if file.exists():
                    say(line(AuditResult.load(file), target, threat))


def line(result: AuditResult, target: str, threat: str) -> str:
    """A row of the table."""
    outcome = result.outcomes[0]
    bounds = {bound.kind: bound for bound in outcome.bounds}
    exact, gaussian = bounds["clopper-pearson"], bounds["gaussian"]
    share = f" ({gaussian.epsilon / result.epsilon:.0%})" if threat == "wall-box" else ""
    verdict = "**violation found**" if result.violated else "no violation found"
    return (
        f"| `{target}` | {threat} | {result.epsilon:g} | {outcome.runs:,} | {gaussian.epsilon:.2f}{share} | "
        f"{exact.epsilon:.2f} ({exact.largest:.2f}) | {verdict} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("used", "fits", "show"))
    parser.add_argument("--targets", nargs="*")
    parser.add_argument("--threats", nargs="*", choices=list(ATTACKS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--secure", action="store_true", help="the operating system's noise instead of seeded noise")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("audit-batches"))
    options = parser.parse_args()
    {"used": measure_used, "fits": audit, "show": show}[options.what](options)


if __name__ == "__main__":
    main()
