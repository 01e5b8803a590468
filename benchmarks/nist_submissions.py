"""`clique-tree` on the columns and budgets of differentially private submissions whose k-marginal score NIST has published.

    python -m benchmarks.nist_submissions --data DIR [--seeds 3] [--tables nist-ma2019]

A score depends on how many columns a submission has: all 24, or one of the archive's shorter lists. So a figure for 24 columns
is not beside one for nine. The archive keeps its reports outside of its repository; what stands in the outputs of its notebooks
and in SDNist's sample reports is below, with the row of `index.csv` that says which submission it is. Its delta is not
said; ours is 1e-5.

The score is SDNist's: marginals of PUMA with every pair of the other columns, or without PUMA of all pairs; numbers in 20
percentiles.
"""

import argparse
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import understudy as us
from benchmarks.registry import load
from understudy.evaluate import codes
from understudy.evaluate.metrics import k_marginal
from understudy.evaluate.table import prepare
from understudy.fit import fit
from understudy.private import SeededNoise

PUMA = "PUMA"
LISTS = {
    "industry-focused": "PUMA SEX MSP HISP RAC1P OWN_RENT INDP_CAT EDU PINCP_DECILE",
    "demographic-focused": "AGEP SEX MSP RAC1P HOUSING_TYPE OWN_RENT EDU PINCP_DECILE DVET DEYE",
    "demographic-focused-except-DEYE": "AGEP SEX MSP RAC1P HOUSING_TYPE OWN_RENT EDU PINCP_DECILE DVET",
}


class Submission(NamedTuple):
    """One synthetic table of the archive."""

    table: str
    columns: str
    epsilon: float
    method: str
    score: int
    where: str


ARCHIVE = "crc_data_and_metric_bundle_1.2/notebooks"
SAMPLES = "SDNist, sample-reports/acs_excerpt_reports"
SUBMISSIONS = (
    Submission("nist-ma2019", "industry-focused", 5.0, "smartnoise mst", 911, f"{ARCHIVE}/nb4, row 204"),
    Submission("nist-ma2019", "industry-focused", 5.0, "smartnoise pacsynth", 823, f"{ARCHIVE}/nb4, row 252"),
    Submission("nist-ma2019", "demographic-focused", 10.0, "synthpop ipf", 957, f"{ARCHIVE}/nb4, row 66"),
    Submission("nist-national2019", "demographic-focused", 1.0, "smartnoise mst", 958, f"{SAMPLES}/r_mst_e_1"),
    Submission("nist-national2019", "demographic-focused", 1.0, "smartnoise aim", 976, f"{SAMPLES}/r_aim_e_1"),
    Submission("nist-national2019", "demographic-focused", 10.0, "Sarus", 947, f"{ARCHIVE}/nb0"),
    Submission("nist-national2019", "demographic-focused", 10.0, "patectgan", 805, f"{SAMPLES}/r_patectgan_e_10"),
    Submission("nist-national2019", "demographic-focused-except-DEYE", 10.0, "DPHist", 912, f"{SAMPLES}/r_dphist_e_10"),
)


def sets(names: list[str]) -> list[tuple[int, ...]]:
    """The marginals that SDNist scores."""
    return k_marginal.sets_of(names, PUMA, 0) if PUMA in names else list(itertools.combinations(range(len(names)), 2))


def scores(one: Submission, data: Path, seeds: int) -> list[float]:
    """Of as many fits."""
    rows, _, schema = load(one.table, data, seed=0)
    names = LISTS[one.columns].split()
    own = replace(schema, columns=tuple(column for column in schema.columns if column.name in names), constraints=())
    rows, found = rows[names], []
    real = prepare(rows, own)
    coding = codes.percentiles(real, own)
    for seed in range(seeds):
        model = fit(us.CliqueTree(epsilon=one.epsilon), rows, own, noise=SeededNoise(seed))
        drawn = coding.apply(prepare(model.sample(len(rows), seed=seed), own))
        known = coding.apply(real)
        found.append(k_marginal.score(known, drawn, sets(list(known.names))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="*")
    options = parser.parse_args()
    known: dict[tuple[str, str, float], list[float]] = {}
    sys.stdout.write(
        "| table | columns | epsilon | submission | its score | clique-tree | where |\n|" + " --- |" * 7 + "\n"
    )
    for one in SUBMISSIONS:
        if options.tables and one.table not in options.tables:
            continue
        key = one.table, one.columns, one.epsilon
        if key not in known:
            known[key] = scores(one, options.data, options.seeds)
        ours = " ".join(f"{score:.0f}" for score in known[key])
        columns = f"{one.columns} ({len(LISTS[one.columns].split())})"
        line = f"| {one.table} | {columns} | {one.epsilon:g} | {one.method} | {one.score} | {ours} | {one.where} |\n"
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
