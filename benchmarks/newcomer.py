"""The path of README on a table that nobody tuned for: 800 rows, 20 columns of mixed kinds, made by this script.

    python -m benchmarks.newcomer make --out DIR                 # patients.csv, other-patients.csv, and two schemas
    python -m benchmarks.newcomer walk --out DIR --epsilon 1     # plan, fit, sample, score: what was promised, what was kept

`draft.yaml` states kinds and nothing else, as somebody writes who replaces every "?" and stops there; `declared.yaml` also
states the bounds and categories that the form on which such data are collected would have. Rows follow a plain model: two
hidden factors move the numbers, the categories and the outcome.
"""

import argparse
import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS = 800
LEVELS = {
    "sex": ("female", "male"),
    "smoker": ("never", "former", "current"),
    "region": ("north", "south", "east", "west", "centre"),
    "insurance": ("statutory", "private", "none"),
    "department": ("cardiology", "surgery", "medicine", "neurology", "emergency", "paediatrics"),
    "marital": ("single", "married", "divorced", "widowed"),
    "education": ("primary", "secondary", "tertiary"),
    "pain": ("none", "mild", "moderate", "severe"),
}
RANGES: dict[str, tuple[str, Any, Any]] = {
    "age": ("integer", 18, 100),
    "weight_kg": ("continuous", 35, 160),
    "height_cm": ("continuous", 140, 205),
    "systolic": ("integer", 80, 220),
    "heart_rate": ("integer", 40, 160),
    "glucose": ("continuous", 3, 25),
    "creatinine": ("continuous", 0.2, 6),
    "visits": ("integer", 0, 40),
    "cost_eur": ("continuous", 0, 50_000),
    "admitted": ("datetime", "2022-01-01", "2024-12-31"),
}


def table(rows: int, seed: int, pull: float = 1.0) -> pd.DataFrame:
    """`rows` rows of the model, with hidden factors of the strength `pull`."""
    rng = np.random.default_rng(seed)
    ill, old = pull * rng.normal(size=(2, rows))
    noise = lambda: rng.normal(size=rows)  # noqa: E731
    found: dict[str, Any] = {
        "age": np.clip(np.round(55 + 16 * old), 18, 100).astype(int),
        "sex": rng.choice(LEVELS["sex"], rows),
        "weight_kg": np.round(np.clip(78 + 9 * ill + 10 * noise(), 35, 160), 1),
        "height_cm": np.round(np.clip(172 + 9 * noise(), 140, 205), 1),
        "smoker": _level("smoker", 0.9 * ill + noise(), rng),
        "systolic": np.clip(np.round(128 + 9 * ill + 8 * old + 9 * noise()), 80, 220).astype(int),
        "heart_rate": np.clip(np.round(76 + 8 * ill + 8 * noise()), 40, 160).astype(int),
        "glucose": np.round(np.clip(np.exp(1.75 + 0.2 * ill + 0.12 * noise()), 3, 25), 2),
        "creatinine": np.round(np.clip(np.exp(0.1 + 0.25 * old + 0.25 * noise()), 0.2, 6), 2),
        "region": rng.choice(LEVELS["region"], rows, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
        "insurance": rng.choice(LEVELS["insurance"], rows, p=[0.8, 0.15, 0.05]),
        "department": rng.choice(LEVELS["department"], rows, p=[0.25, 0.25, 0.2, 0.15, 0.1, 0.05]),
        "marital": rng.choice(LEVELS["marital"], rows, p=[0.3, 0.5, 0.12, 0.08]),
        "education": _level("education", noise() - 0.4 * old, rng),
        "pain": _level("pain", ill + noise(), rng),
        "visits": np.minimum(rng.poisson(np.exp(1.2 + 0.4 * ill)), 40),
        "cost_eur": np.round(np.clip(np.exp(7.5 + 0.7 * ill + 0.5 * noise()), 0, 50_000), 2),
        "admitted": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 1095, rows), unit="D"),
        "diabetic": np.where(ill + 0.5 * old + noise() > 1.0, "yes", "no"),
        "readmitted": np.where(1.4 * ill + 0.7 * old + 0.8 * noise() > 0.8, "yes", "no"),
    }
    return pd.DataFrame(found)


def _level(name: str, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    levels = np.asarray(LEVELS[name])
    cuts = np.linspace(-0.8, 1.2, len(levels) - 1)
    return levels[np.searchsorted(cuts, score)]


def schema_text(declared: bool, columns: Sequence[str] | None = None) -> str:
    """The schema of the table, or of some of its columns: kinds alone, or with what the form states."""
    lines = ["understudy: schema", 'label: {column: readmitted, positive: "yes"}', "columns:"]
    for name in columns or table(1, 0).columns:
        if name in RANGES:
            kind, lower, upper = RANGES[name]
            more = f"lower: {lower}, upper: {upper}" if declared else "bounds: estimate"
        else:
            kind = "categorical"
            levels = LEVELS.get(name, ("no", "yes"))
            more = f"categories: {json.dumps(list(levels))}" if declared else "categories: estimate"
        lines.append(f"  {name}: {{kind: {kind}, {more}}}")
    return "\n".join(lines) + "\n"


def make(out: Path, rows: int = ROWS, seed: int = 0) -> None:
    """Write the training rows, other people's rows to judge by, and both schemas."""
    out.mkdir(parents=True, exist_ok=True)
    table(rows, seed).to_csv(out / "patients.csv", index=False)
    table(4000, seed + 10_000).to_csv(out / "other-patients.csv", index=False)
    for name in ("draft", "declared"):
        (out / f"{name}.yaml").write_text(schema_text(name == "declared"), encoding="utf-8")


def walk(out: Path, epsilon: float, method: str, schemas: list[str], seed: int) -> list[dict[str, Any]]:
    """Plan, fit, sample and score, as README has it; one line per schema."""
    from understudy.adviser.advice import advise
    from understudy.cli import run
    from understudy.schema import Schema

    found = []
    for name in schemas:
        file, model, fake = out / f"{name}.yaml", out / f"model-{name}", out / f"fake-{name}.csv"
        advice = advise(Schema.load(file), epsilon=epsilon, rows=ROWS)
        words = [
            "fit",
            str(out / "patients.csv"),
            "--schema",
            str(file),
            "--epsilon",
            str(epsilon),
            "--rows",  # as README has it: without them the adviser assumes a table of usual size and chooses for that
            str(ROWS),
            "--out",
            str(model),
        ]
        words += ["--method", method, "--overwrite", "--force", "--json"]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = run(words) or run(["sample", str(model), "--rows", "4000", "--out", str(fake), "--overwrite", "-q"])
        if code:
            raise SystemExit(code)
        found.append({"schema": name, "seed": seed, "promised": advice.expect, "method": advice.method})
        found[-1] |= kept(pd.read_csv(fake), pd.read_csv(out / "patients.csv"), pd.read_csv(out / "other-patients.csv"))
    return found


def kept(fake: pd.DataFrame, real: pd.DataFrame, other: pd.DataFrame) -> dict[str, Any]:
    """Share of the real rows' gain over chance that a forest of synthetic rows keeps, and columns without variation."""
    areas = {name: _area(rows, other) for name, rows in (("real", real), ("fake", fake))}
    gain = (areas["fake"] - 0.5) / (areas["real"] - 0.5)
    return areas | {"kept": gain, "constant": [name for name in fake if fake[name].nunique(dropna=False) < 2]}


def _area(rows: pd.DataFrame, other: pd.DataFrame) -> float:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    both = pd.get_dummies(pd.concat([rows, other]).drop(columns=["readmitted", "admitted"])).fillna(0.0)
    target = pd.concat([rows, other])["readmitted"] == "yes"
    if target.iloc[: len(rows)].nunique() < 2:
        return 0.5
    forest = RandomForestClassifier(300, min_samples_leaf=5, random_state=0)
    forest.fit(both.iloc[: len(rows)], target.iloc[: len(rows)])
    return float(roc_auc_score(target.iloc[len(rows) :], forest.predict_proba(both.iloc[len(rows) :])[:, 1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("make", "walk"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--schemas", default="draft,declared")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    for seed in range(given.seeds):
        make(given.out, seed=seed)
        if given.step == "walk":
            for line in walk(given.out, given.epsilon, given.method, given.schemas.split(","), seed):
                print(json.dumps(line))  # noqa: T201


if __name__ == "__main__":
    main()
