"""Other people's PATE-GANs and ours, audited in one run: worst-case pair, black box (Ganev et al. 2025, Figure 5a).

    python -m benchmarks.pate_gan_peers_audit --minutes 3 --python NAME=PYTHON ... --source NAME=CHECKOUT ...

Tools are given as to `benchmarks.pate_gan_peers`. They are told what the published audit told them (two teachers, at
most 100 rounds, noise 0.001 for the one that has 1), with three differences: synthcity has fewer rounds, because a fit
takes half a minute otherwise; turing is told the categories, as its own pipeline does, where the published audit read
bounds off the table; and smartnoise-synth is told the bounds and runs until its own accountant stops it, where the
published audit left scaling out. Bounds that a tool reads off the table by itself are part of what is audited. Of each
as many fits are made as `--minutes` allow; what they could have shown at most stands beside the bound. Ours get
`--runs` fits in the same run. Results go to benchmarks/results/audit-peers-*.json; `--show` prints what is there.
"""

import argparse
import re
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.audit_figures import RESULTS, keep, say
from benchmarks.pate_gan_peers import DELTA, EPSILON, SMARTNOISE, Places, places_of
from understudy.audit.external import External
from understudy.audit.result import AuditResult
from understudy.audit.run import run_audit

ROWS = 1000  # synthetic rows that the attacker gets of every fit
WORDS = {  # what a tool is told besides its table, as in the published audit
    "original": "--teachers 2 --rounds 100",
    "updated, lamda 0.001": "--teachers 2 --rounds 100 --lamda 0.001",
    "synthcity": "--teachers 2 --rounds 3",
    "turing": "--teachers 2 --rounds 100 --categories 0,1",
    "borealis": "--teachers 2 --rounds 100",
    SMARTNOISE: "--teachers 2 --columns bounds",
}
OURS = ("pate-gan", "pate-gan-joint")
PLACES = "{input} {output} --rows {rows} --seed {seed} --count {count}"


def command(name: str, places: Places) -> str | None:
    """The template of a tool's command; None for a tool that is not here."""
    begun = places.words(name)
    return None if begun is None else f"{shlex.join(begun)} {PLACES} {told(name)}"


def told(name: str) -> str:
    """The tool's own words, without the places of this machine."""
    return f"--epsilon {EPSILON:g} --delta {DELTA:g} {WORDS[name]}"


def audit_tool(name: str, template: str, version: str, options: argparse.Namespace) -> AuditResult:
    """As many fits as the time allows: batches are made until it is over, then what is there is judged."""
    started, runs, result = time.monotonic(), 0, None
    while result is None or (time.monotonic() - started < 60.0 * options.minutes and runs < options.runs):
        runs += max(40, 2 * options.batch) if runs == 0 else 2 * options.batch
        source = External(template, ROWS, options.timeout, jobs=1, batch=options.batch)
        result = run_audit(
            name,
            epsilon=EPSILON,
            delta=DELTA,
            runs=runs,
            rows=ROWS,
            folder=options.work / file_name(name),
            external=source,
            batch=options.batch,
        )
        result = replace(
            result, options={"told": told(name), "commit": version}, notes=(*result.notes, *source.remarks)
        )
        keep(result, f"peers-{file_name(name)}")
    return result


def audit_ours(name: str, options: argparse.Namespace) -> None:
    """One of our methods on the same pair."""
    result = run_audit(name, epsilon=EPSILON, delta=DELTA, runs=options.runs, rows=ROWS, seed=7, jobs=1)
    keep(result, f"peers-{name}")


def file_name(name: str) -> str:
    """A tool's name without what file names do not like."""
    return name.split(",")[0].replace(" ", "-")


def table() -> str:
    """What the recorded audits found."""
    head = ("method", "fits", "clopper-pearson (largest possible)", "mistakes without, with the target", "verdict")
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for file in sorted(RESULTS.glob("audit-peers-*.json")):
        result = AuditResult.load(file)
        (outcome,) = result.outcomes
        exact = outcome.bound("clopper-pearson")
        assert exact is not None
        found = "**violation found**" if outcome.violated else "no violation found"
        cells = [f"`{result.method}`", f"{result.fits:,}", f"{exact.epsilon:.2f} ({exact.largest:.2f})"]
        mistakes = ", ".join(re.findall(r"\d+ of \d+", exact.detail)[:2])  # tables without the target, with it
        lines.append(" | ".join([*cells, mistakes, found]))
    return "".join(f"| {line} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], help="[NAME=]interpreter of the environment of a tool")
    parser.add_argument("--source", action="append", default=[], help="NAME=checkout of a tool's repository")
    parser.add_argument("--methods", help="names, separated by semicolons; all that are here by default")
    parser.add_argument("--minutes", type=float, default=3.0, help="for each tool")
    parser.add_argument("--runs", type=int, default=2000, help="fits at most, and of each of ours")
    parser.add_argument("--batch", type=int, default=25, help="fits in one start of a tool")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that one fit may take")
    parser.add_argument("--work", type=Path, default=Path("audit-batches"))
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    places = places_of(options.python, options.source)
    for name in [] if options.show else (options.methods.split(";") if options.methods else [*WORDS, *OURS]):
        template = command(name, places) if name in WORDS else None
        if name in OURS:
            audit_ours(name, options)
        elif template is None:
            say(f"{name}: left out, as its place was not given")
        else:
            audit_tool(name, template, places.version(name), options)
    sys.stdout.write(table())


if __name__ == "__main__":
    main()
