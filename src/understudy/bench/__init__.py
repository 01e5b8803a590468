"""Benchmark: public data sets with schemas, the papers' tables, and a runner that prints both side by side.

    from understudy.bench import load

    train, test, schema = load("epileptic-seizure", data="my-data", seed=0)

Files come from `data` or the environment variable UNDERSTUDY_DATA; tables that ship inside scikit-learn and
statsmodels need none. Nothing here is private: the tables are public benchmarks, and results compare synthetic rows
with real ones.
"""

from understudy.bench.registry import DATASETS, Dataset, Split, load, schema_path

__all__ = ["DATASETS", "Dataset", "Split", "load", "schema_path"]
