"""For researchers: public data sets with schemas, the papers' tables, and a runner that prints both sides.

    python -m benchmarks --help          (from the root of the repository, with the package installed)
    python -m benchmarks.figures --help  (and the other scripts beside this file, which have no sub-command)

    from benchmarks.registry import load

    train, test, schema = load("epileptic-seizure", data="my-data", seed=0)

Files come from `data` or the environment variable UNDERSTUDY_DATA; tables that ship inside scikit-learn and
statsmodels need none. Nothing here is private: the tables are public benchmarks, and results compare synthetic rows
with real ones. Nothing here is in the wheel, and the package knows nothing of it.

This file imports nothing, so that a script can run in an environment that holds another tool and not understudy.
"""
