"""Fit time, memory and quality on Adult beside other packages' marginal methods, measured in one run.

    python -m benchmarks.peers --data DIR --python ENV/bin/python [--python OTHER/bin/python]

Each method is fitted in a process of its own, one after the other, on the same training rows with the same public bounds and
categories at (1, 1e-5). The environments given by --python hold smartnoise-synth and / or dpmm; a package that none of them
holds is left out and named. `fit` is the wall time of the fit alone; processor time (with children) and the peak of resident
memory cover importing, reading and encoding, too. All rows are scored by the same models on the same held-out real rows.
Peers run with their defaults, except for public bounds, categories and twenty bins per numeric column.
Results go to benchmarks/results/peers.json and peers.md.
"""

import argparse
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EPSILON, DELTA, BINS = 1.0, 1e-5, 20
MISSING = "missing"  # the word for a missing category
SCORED = 20_000  # rows that the models are trained on
OURS = ("independent", "mst", "aim", "mean-embedding", "pate-gan")
PEERS = (
    ("smartnoise mst", "snsynth"),
    ("smartnoise aim", "snsynth"),
    ("dpmm mst", "dpmm"),
    ("dpmm aim", "dpmm"),
    ("dpmm priv-bayes", "dpmm"),
)
RESULTS = Path(__file__).resolve().parent / "results"


def fit_ours(method: str, job: dict) -> tuple[float, object]:
    import understudy as us
    from benchmarks import registry

    split = registry.load("adult", data=job["data"], seed=job["seed"])
    started = time.perf_counter()
    model = us.method(method)(epsilon=EPSILON, delta=DELTA, seed=job["seed"]).fit(split.train, split.schema)
    spent = time.perf_counter() - started
    return spent, lambda: model.sample(len(split.train), seed=job["seed"])


def read_training(job: dict):
    """Training rows in a peer's environment. Categories are texts, also where they look like numbers."""
    import pandas as pd

    texts = {name: str for name, facts in job["columns"].items() if "categories" in facts}
    return pd.read_csv(job["train"], keep_default_na=False, dtype=texts)


def fit_smartnoise(method: str, job: dict) -> tuple[float, object]:
    from snsynth import Synthesizer
    from snsynth.transform import BinTransformer, LabelTransformer, TableTransformer

    frame = read_training(job)
    columns = [
        BinTransformer(bins=BINS, **facts) if "lower" in facts else LabelTransformer(nullable=False)
        for facts in job["columns"].values()
    ]
    started = time.perf_counter()
    synthesizer = Synthesizer.create(method, epsilon=job["epsilon"], delta=DELTA)
    synthesizer.fit(frame, transformer=TableTransformer(columns))
    return time.perf_counter() - started, lambda: synthesizer.sample(len(frame))


def fit_dpmm(method: str, job: dict) -> tuple[float, object]:
    import pandas as pd
    from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

    pipeline = {"mst": MSTPipeline, "aim": AIMPipeline, "priv-bayes": PrivBayesPipeline}[method]
    frame = read_training(job)
    for name, facts in job["columns"].items():
        if "categories" in facts:
            frame[name] = pd.Categorical(frame[name], categories=facts["categories"])
    started = time.perf_counter()
    model = pipeline(epsilon=job["epsilon"], delta=DELTA, n_bins=BINS)
    model.fit(frame, domain=job["columns"])
    return time.perf_counter() - started, lambda: model.generate(n_records=len(frame))


def work(name: str, job: dict) -> None:
    """In a process of its own: fit, write down what it took, then draw rows."""
    package, _, method = name.partition(" ")
    fit = {"smartnoise": fit_smartnoise, "dpmm": fit_dpmm}.get(package)
    started = time.perf_counter()
    spent, draw = fit(method, job) if fit else fit_ours(name, job)
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    figures = {
        "fit_seconds": spent,
        "wall_seconds": time.perf_counter() - started,
        "cpu_seconds": sum(own.ru_utime + own.ru_stime for own in usage),
        "peak_megabytes": max(own.ru_maxrss for own in usage) / 1024,
    }
    rows = draw()
    rows.to_csv(job["rows"], index=False)
    Path(job["figures"]).write_text(json.dumps(figures))


def score(rows, split) -> dict[str, float]:
    """AUROC on the real test rows of models trained on generated ones."""
    import warnings

    import xgboost
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.preprocessing import MinMaxScaler

    from understudy.schema import Codec

    codec = Codec(split.schema)
    rows = rows.sample(min(len(rows), SCORED), random_state=0)
    (x, y), (x_test, y_test) = codec.encode(rows), codec.encode(split.test)
    scale = MinMaxScaler().fit(x)
    models = {
        "logistic regression": LogisticRegression(max_iter=300),
        "linear discriminant": LinearDiscriminantAnalysis(),
        "Bernoulli naive Bayes": BernoulliNB(binarize=0.5),
        "gradient boosting": xgboost.XGBClassifier(n_estimators=100, max_depth=5, learning_rate=0.1, n_jobs=1),
    }
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models.items():
            model.fit(scale.transform(x), y)
            found[name] = float(roc_auc_score(y_test, model.predict_proba(scale.transform(x_test))[:, 1]))
    return found


def prepare(
    folder: Path, data: str, seed: int, dataset: str = "adult", epsilon: float = EPSILON
) -> tuple[dict, object]:
    """Training rows as text for environments without our readers."""
    from benchmarks import registry

    split = registry.load(dataset, data=data, seed=seed)
    columns, frame = public_columns(split.schema, split.train)
    frame.to_csv(folder / "train.csv", index=False)
    job = {"data": data, "seed": seed, "train": str(folder / "train.csv"), "columns": columns, "epsilon": epsilon}
    return job, split


def public_columns(schema, frame):
    """Bounds or categories of every column that is learned, and the rows in these terms.

    Peers know numbers and texts. What stands beside numbers (missing, codes) becomes numbers below the lower bound, one bin for
    each, and a missing category a word: what is told apart in the table can be told apart by them.
    """
    import numpy as np
    import pandas as pd

    from understudy.evaluate.table import categories, evaluated, is_discrete, prepare

    table, columns, found = prepare(frame, schema), {}, {}
    for column in evaluated(schema):
        name, values = column.name, table.values[column.name]
        if is_discrete(column):
            words = [*map(str, categories(column)), *([MISSING] if column.missing else [])]
            gap = len(words) - 1 if column.missing else 0
            found[name] = np.asarray(words, object)[np.where(values < 0, gap, values)]
            columns[name] = {"categories": words}
            continue
        (lower, upper), step, beside = column.bounds, bin_width(column), len(column.specials)
        which = table.coded.get(name, np.full(len(values), -1)) + int(
            column.missing
        )  # 0: missing, where that is allowed
        below = lower - (np.maximum(which, 0) + 0.5) * step if beside else (lower + upper) / 2
        found[name] = np.where(np.isnan(values), below, np.clip(values, lower, upper))
        columns[name] = {"lower": lower - beside * step, "upper": upper}
    return columns, pd.DataFrame(found)


def bin_width(column) -> float:
    """So that `BINS` bins hold the numbers and, in one bin each, what stands beside them."""
    lower, upper = column.bounds
    return (upper - lower) / (BINS - len(column.specials))


def read_rows(path: Path, split):
    """Generated rows in the schema's terms: the way back from `public_columns`."""
    import numpy as np
    import pandas as pd

    rows = pd.read_csv(path, keep_default_na=False, dtype=str)
    for column in split.schema.columns:
        if column.kind in ("integer", "continuous"):
            (lower, upper), beside = column.bounds, column.specials
            numbers = pd.to_numeric(rows[column.name], errors="coerce").fillna(lower).to_numpy(float)
            inside = np.clip(numbers, lower, upper)
            cells = pd.Series(np.rint(inside).astype(np.int64) if column.kind == "integer" else inside, dtype=object)
            if beside:
                place = np.clip((lower - numbers) // bin_width(column), 0, len(beside) - 1).astype(int)
                below = numbers < lower
                cells[below] = pd.Series([beside[k] for k in place[below]], dtype=object, index=cells.index[below])
            rows[column.name] = cells if beside else cells.infer_objects()
        elif column.kind != "identifier":
            known = {str(value): value for value in column.outcomes if value is not None}
            rows[column.name] = rows[column.name].map(lambda text, known=known: known.get(text))
    return rows


def run(name: str, python: str, job: dict, folder: Path, seconds: int) -> dict:
    """One method in one process, which has so much processor time; what goes wrong is part of the result."""
    own = job | {"rows": str(folder / "rows.csv"), "figures": str(folder / "figures.json")}
    for key in ("rows", "figures"):
        Path(own[key]).unlink(missing_ok=True)
    (folder / "job.json").write_text(json.dumps(own))
    command = [python, "-m", "benchmarks.peers", "--worker", name, "--job", str(folder / "job.json")]
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    single |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    done = subprocess.run(
        command,
        env=os.environ | single,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1)),
    )
    if -done.returncode == signal.SIGXCPU:
        return {"error": f"stopped after {seconds} s of processor time"}
    if not Path(own["figures"]).exists():
        return {"error": (done.stderr.strip().splitlines() or ["ended without a message"])[-1]}
    return json.loads(Path(own["figures"]).read_text())


def holds(python: str, package: str) -> str:
    """The version of a package in an environment, or nothing."""
    distribution = {"snsynth": "smartnoise-synth"}.get(package, package)
    line = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    done = subprocess.run([python, "-c", line], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def table(record: dict) -> str:
    models = next((list(r["auroc"]) for r in record["methods"].values() if "auroc" in r), [])
    lines = [
        "| method | fit (s) | processor (s) | peak memory (MB) | mean AUROC | gradient boosting |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, result in record["methods"].items():
        if "auroc" not in result:
            lines.append(f"| {name} | {result['error']} | | | | |")
            continue
        mean = sum(result["auroc"].values()) / len(models)
        cells = [f"{result[k]:.1f}" if k in result else "" for k in ("fit_seconds", "cpu_seconds")]
        cells.append(f"{result['peak_megabytes']:.0f}" if "peak_megabytes" in result else "")
        lines.append(f"| {name} | {' | '.join(cells)} | {mean:.3f} | {result['auroc']['gradient boosting']:.3f} |")
    return "\n".join(lines) + "\n"


def write(record: dict, out: Path) -> None:
    """After every method, so that a run that is stopped leaves what it measured."""
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n")
    out.with_suffix(".md").write_text(table(record))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder that holds adult.parquet")
    parser.add_argument("--python", action="append", default=[], help="interpreter of an environment with the peers")
    parser.add_argument("--only", help="comma-separated names of methods; others keep their last result")
    parser.add_argument("--seed", type=int, default=0, help="of the split; noise has none")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds of processor time for one method")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker, json.loads(Path(given.job).read_text()))
        return
    if not given.data:
        parser.error("--data DIR is needed: the folder that holds adult.parquet")
    out = RESULTS / "peers.json"
    record = json.loads(out.read_text()) if given.only and out.exists() else {"methods": {}}
    record |= {
        "data": "adult",
        "epsilon": EPSILON,
        "delta": DELTA,
        "seed": given.seed,
        "python": platform.python_version(),
    }
    record["cores"] = os.cpu_count()
    places = dict.fromkeys(OURS, sys.executable)
    versions = {}
    for name, package in PEERS:
        found = [(python, version) for python in given.python if (version := holds(python, package))]
        if found:
            places[name], versions[package] = found[0]
        else:
            sys.stderr.write(f"{name}: no environment given by --python holds {package}; left out\n")
    record["versions"] = versions
    wanted = given.only.split(",") if given.only else [*places, "real rows"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        job, split = prepare(folder, given.data, given.seed)
        for name in (name for name in places if name in wanted):
            result = run(name, places[name], job, folder, given.timeout)
            if "error" not in result:
                result["auroc"] = score(read_rows(folder / "rows.csv", split), split)
            record["methods"][name] = result | {"load": os.getloadavg()[0]}
            sys.stderr.write(f"{name} {json.dumps(result)}\n")
            write(record, out)
        if "real rows" in wanted:
            record["methods"]["real rows"] = {"auroc": score(split.train, split)}
    write(record, out)
    sys.stdout.write(table(record))


if __name__ == "__main__":
    main()
