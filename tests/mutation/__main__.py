"""`make mutants`: random small changes to the code that guarantees rest on, each run against the tests that reach it.

    make mutants SAMPLE=100 SEED=0 PACKAGES="private questions accounting"
    make mutants AGAIN=1        only those that got away the last time, after writing tests

A sample of all mutants (`mutate`) is drawn by the seed. Each is written into a copy of the sources and meets the quick items that
reach it (`reach`), the fastest first, until one fails. The result of a mutant is

    caught        a test failed; the first one is named
    timeout       the tests did not end: an endless loop, which is noticed too
    survived      all passed: look at it. Either a test is missing, or the mutant is as right as the original
    equivalent    it survived, and `equivalent.json` says why no test could tell it from the original
    not reached   no quick test comes by

Results: `.mutants/results.json` and `.mutants/results.txt`. Each mutant is also written to `.mutants/tried.jsonl` as soon as it
is known, so that a run that was stopped goes on where it was, as long as sources and tests are the same.
"""

import argparse
import json
import sys
from pathlib import Path

from .reach import HERE, Project, record, state
from .trial import Trial, Tried, named, sample, table, try_all

TESTS = ("accounting", "private", "questions", "account", "g_pate", "gradients", "pictures")


def main() -> None:
    given = argparse.ArgumentParser(prog="make mutants")
    given.add_argument("--sample", type=int, default=100)
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--packages", nargs="+", default=["private", "questions", "accounting"])
    given.add_argument("--tests", nargs="+", help="folders of tests; by default those that know these packages")
    given.add_argument("--workers", type=int, default=2)
    given.add_argument("--again", action="store_true", help="only mutants that were not caught the last time")
    options = given.parse_args()
    root = HERE.parents[1]
    tests = options.tests or [f"tests/{name}" for name in TESTS if (root / "tests" / name).is_dir()]
    project = Project(root)
    told("recording which tests reach which lines (kept in .mutants)")
    reach = record(project, tests, options.workers)
    folders = [Path("understudy") / name for name in options.packages]
    before = _read(project.kept) if options.again else []
    if options.again:
        loose = {
            (trial.file, trial.before, trial.after) for trial in before if trial.outcome not in ("caught", "timeout")
        }
        chosen = named(project, folders, loose)
    else:
        chosen = sample(project, folders, options.sample, options.seed)
    tried = Tried(project.kept / "tried.jsonl", state(project, tests))
    trials = try_all(project, chosen, reach, _equivalent(), options.workers, report=told, tried=tried)
    caught = [trial for trial in before if trial.outcome in ("caught", "timeout")]
    _write(project.kept, caught + trials)


def told(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _equivalent() -> dict[tuple[str, str, str], str]:
    entries = json.loads((HERE / "equivalent.json").read_text())
    return {(entry["file"], entry["before"], entry["after"]): entry["why"] for entry in entries}


def _read(folder: Path) -> list[Trial]:
    return [Trial(**entry) for entry in json.loads((folder / "results.json").read_text())]


def _write(folder: Path, trials: list[Trial]) -> None:
    (folder / "results.json").write_text(json.dumps([trial.as_dict() for trial in trials], indent=1) + "\n")
    lines = table(trials)
    (folder / "results.txt").write_text("\n".join(lines) + "\n")
    told("\n".join(lines))


if __name__ == "__main__":
    main()
