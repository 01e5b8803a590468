"""How often the audit catches each mutant, and with which bound: the table in docs/audit.md.

    python -m benchmarks.audit_mutants [--repeats 3] [--only TEXT]

The mutants live in tests/audit/mutants.py. Results go to benchmarks/results/audit-mutants.json after every audit; audits that are
there already are not made again.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from understudy.audit.run import run_audit
from understudy.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "audit-mutants.json"


def load_mutants() -> Any:
    """The tests' own module: tests are not typed, so they are not imported where types are checked."""
    return importlib.import_module("tests.audit.mutants")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, mutant in load_mutants().MUTANTS.items():
        if options.only not in name:
            continue
        found = known.get(name, {}).get("audits", [])[: options.repeats]
        for seed in range(len(found), options.repeats):
            result = run_audit(mutant.make(), epsilon=1.0, runs=mutant.runs, seed=100 + seed, **mutant.settings())
            bounds = {bound.kind: round(bound.epsilon, 3) for bound in result.outcomes[0].bounds if bound.frequentist}
            found.append({"violated": result.violated, "bounds": bounds})
            known[name] = {
                "check": f"{mutant.threat}, {mutant.attack}, {mutant.target}",
                "runs": mutant.runs,
                "caught": sum(one["violated"] for one in found),
                "repeats": len(found),
                "audits": found,
            }
            write_atomically(RESULTS, json.dumps(known, indent=1) + "\n")
        sys.stdout.write(f"{name}: caught {known[name]['caught']} of {len(found)}, {found[0]['bounds']}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
