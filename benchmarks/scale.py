"""Scale on paper: what a pass over 10 billion rows takes on 1, 10 and 100 workers, and where more of them no longer help.

    python -m benchmarks.scale [--results FILE] [--rows 10000000000] [--passes 4]

From the newest measurements of `python -m benchmarks.engines` and these assumptions, each a line that can be changed:

    t(w) = passes * ( rows * c / w  +  pieces * (m + s / b) )  +  start

- c: processor seconds of a worker for one row of 30 columns and one pass, measured (`sums`, engine processes).
- Rows are dealt evenly; a worker has a core of its own and storage that feeds it (the table says how fast that must be).
- pieces = PIECES * w: every worker returns so many sums in a pass, of `s` bytes each. The curator takes them one by one:
  `m` seconds for a message (2,000 empty tasks of Ray took 2.1 s) and s / b to receive and add it, b = 1 GB/s.
- What grows with w is therefore the curator's share, and it stops scaling where that reaches the workers' share:

    w* = sqrt(rows * c / (PIECES * (m + s / b)))

- The curator holds one sum, those on the way (AHEAD for each worker), the model and no rows.
"""

import argparse
import json
import math
from pathlib import Path

from benchmarks.engines import RESULTS
from benchmarks.large_tables import say
from understudy.engine.base import AHEAD
from understudy.private.passes import PIECES

MESSAGE = 2.1 / 2000  # seconds for a task of Ray, its answer included
RECEIVE = 1e9  # bytes a second that the curator takes in and adds up
BYTES_A_ROW = 83  # Parquet of 30 columns, benchmarks/large_tables
SUM = (
    30 * 29 / 2 * 64 * 64 * 8
)  # bytes of all pair marginals of 30 columns with 64 cells each: more than any question asks
START = 60.0  # seconds until a cluster's workers have imported what they need


def measured(path: Path) -> tuple[float, str]:
    """Processor seconds for a row and a pass, and where from."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    (*_, newest) = (one for one in found if one["task"] == "sums" and one["engine"].startswith("processes"))
    source = f"{newest['amount']:,} rows, {newest['method']}, {newest['passes']} passes, {newest['version']}"
    return (newest["cpu"] - newest["own"]) / newest["amount"] / newest["passes"], source


def seconds(rows: float, passes: int, cost: float, workers: int) -> tuple[float, float]:
    """Of the workers and of the curator, together t(w)."""
    return passes * rows * cost / workers, passes * PIECES * workers * (MESSAGE + SUM / RECEIVE) + START


def most_workers(rows: float, cost: float) -> float:
    """w*: beyond it the curator takes longer than the workers."""
    return math.sqrt(rows * cost / (PIECES * (MESSAGE + SUM / RECEIVE)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", default=str(RESULTS))
    parser.add_argument("--rows", type=float, default=1e10)
    parser.add_argument("--passes", type=int, default=4)
    given = parser.parse_args()
    cost, source = measured(Path(given.results))
    say(f"c = {cost * 1e6:.3f} processor seconds for a million rows and a pass (from {source})")
    say(f"the table: {given.rows * BYTES_A_ROW / 1e12:.2f} TB of Parquet; a sum: at most {SUM / 1e6:.1f} MB")
    say("")
    say(
        "| workers | workers' hours | curator's minutes | together, hours | storage must feed GB/s | curator holds at most GB |"
    )
    say("| --- | --- | --- | --- | --- | --- |")
    for workers in (1, 10, 100):
        theirs, own = seconds(given.rows, given.passes, cost, workers)
        feed = given.rows * given.passes * BYTES_A_ROW / theirs / 1e9
        held = (2 + AHEAD * workers) * SUM / 1e9
        say(
            f"| {workers} | {theirs / 3600:.2f} | {own / 60:.1f} | {(theirs + own) / 3600:.2f} | {feed:.2f} | {held:.2f} |"
        )
    say("")
    say(
        f"It stops scaling at about {most_workers(given.rows, cost):,.0f} workers: the curator then takes as long as they do."
    )


if __name__ == "__main__":
    main()
