"""What becomes of a table whose bounds are far wider than its values, as whoever knows little of a table states them.

    python -m benchmarks.wide_bounds [--methods clique-tree,mst,aim,independent,mean-embedding] [--fits 20] [--epsilon 1]
    PYTHONPATH=OTHER/src python -m benchmarks.wide_bounds      the same with the sources of another checkout

A made-up table of 1,500 rows: costs of about 700 within 0 and 1,000,000, fees of which half are zero within 0 and 10,000,000,
a balance around zero within a million, and days of four years within thirty. Printed for every method: in how many fits a mean is
off by more than its double (the balance by more than 100, days by more than 90), and the largest mean of the costs.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import understudy as us

ROWS = 1_500
SCHEMA = """\
understudy: schema
label: {column: late, positive: "yes"}
columns:
  cost: {kind: continuous, lower: 0, upper: 1000000, decimals: 2}
  fee: {kind: continuous, lower: 0, upper: 10000000, decimals: 2}
  balance: {kind: continuous, lower: -1000000, upper: 1000000, decimals: 2}
  day: {kind: datetime, lower: 2000-01-01, upper: 2030-12-31, format: "%Y-%m-%d"}
  age: {kind: integer, lower: 0, upper: 120}
  kind: {kind: categorical, categories: [a, b, c, d]}
  late: {kind: categorical, categories: ["no", "yes"]}
"""


def table() -> pd.DataFrame:
    """Always the same rows: noise is what differs between fits."""
    random = np.random.default_rng(0)
    cost = np.exp(random.normal(6.3, 0.8, ROWS))
    fee = np.where(random.random(ROWS) < 0.5, 0.0, np.exp(random.normal(5.5, 1.0, ROWS)))
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(random.integers(0, 1_461, ROWS), "D")
    return pd.DataFrame(
        {
            "cost": cost.round(2),
            "fee": fee.round(2),
            "balance": random.normal(0.0, 300.0, ROWS).round(2),
            "day": days,
            "age": np.clip(random.normal(47.0, 15.0, ROWS), 18, 97).astype(int),
            "kind": random.choice(list("abcd"), ROWS, p=[0.4, 0.3, 0.2, 0.1]),
            "late": np.where(random.random(ROWS) < 0.1 + 0.3 * (cost > 700), "yes", "no"),
        }
    )


def wrong(real: pd.DataFrame, drawn: pd.DataFrame) -> bool:
    """Whether a mean is of another kind than the real one."""
    doubled = any(not 0.5 < drawn[name].mean() / real[name].mean() < 2.0 for name in ("cost", "fee"))
    days = abs((pd.to_datetime(drawn["day"]).mean() - real["day"].mean()).days)
    return doubled or abs(drawn["balance"].mean()) > 100.0 or days > 90


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="clique-tree,mst,aim,independent,mean-embedding")
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    real = table()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "schema.yaml"
        file.write_text(SCHEMA, encoding="utf-8")
        schema = us.Schema.load(file)
    for name in given.methods.split(","):
        drawn = [
            us.method(name)(epsilon=given.epsilon).fit(real, schema).sample(ROWS, seed=0) for _ in range(given.fits)
        ]
        off, largest = sum(wrong(real, one) for one in drawn), max(one["cost"].mean() for one in drawn)
        sys.stdout.write(
            f"{name}: wrong in {off} of {given.fits} fits; mean cost up to {largest:,.0f} ({real['cost'].mean():,.0f})\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
