"""The twelve predictive models of PATE-GAN (Table 1), and what one of them scores.

Jordon et al. 2019, Section 5.1 and appendix; names of the scikit-learn classes from Ganev et al. 2025, Appendix B.2.
All with their libraries' default settings, except that iterations are bounded and LogisticRegression may take 1000 of
them. XGBoost is the papers' XGBRegressor on the 0/1 label (multi-class: one regressor per class).

A model is one row of the table below: a name, the classifier, the counterpart for a numeric label. Naive Bayes and
linear discriminants have no exact counterpart; Bayesian ridge (on values, or on values cut at one half) and ridge
stand in for them.

Scores: AUROC and AUPRC (average precision) of the positive class; several classes: macro average of the one-vs-rest
AUROC over the classes present among the test rows, and accuracy; numeric label: R2 and RMSE. Scores are
`predict_proba`, else `decision_function`, else `predict`.

Bad training data never raises. One class only: 0.5 / the base rate / the share of that class, and a note. A model that
fails is scored the same way, and a note names the exception's type (its text may quote values).
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from understudy.errors import UsageError

Task = Literal["binary", "multiclass", "numeric"]
Make = Callable[[int], Any]

METRICS: Mapping[str, tuple[str, ...]] = {
    "binary": ("auroc", "auprc"),
    "multiclass": ("auroc", "accuracy"),
    "numeric": ("r2", "rmse"),
}
HIGHER_IS_BETTER = {"auroc": True, "auprc": True, "accuracy": True, "recall": True, "r2": True, "rmse": False}


def _xgb(seed: int) -> Any:
    from xgboost import XGBRegressor  # an extra: without it the other eleven still run

    return XGBRegressor(random_state=seed, n_jobs=1, verbosity=0)


MODELS: Mapping[str, tuple[Make, Make]] = {
    "logistic": (lambda s: LogisticRegression(max_iter=1000, random_state=s), lambda s: LinearRegression()),
    "forest": (lambda s: RandomForestClassifier(random_state=s), lambda s: RandomForestRegressor(random_state=s)),
    "gaussian-nb": (lambda s: GaussianNB(), lambda s: BayesianRidge()),
    "bernoulli-nb": (lambda s: BernoulliNB(), lambda s: make_pipeline(Binarizer(threshold=0.5), BayesianRidge())),
    "linear-svc": (lambda s: LinearSVC(random_state=s), lambda s: LinearSVR(random_state=s)),
    "tree": (lambda s: DecisionTreeClassifier(random_state=s), lambda s: DecisionTreeRegressor(random_state=s)),
    "lda": (lambda s: LinearDiscriminantAnalysis(), lambda s: Ridge(random_state=s)),
    "adaboost": (lambda s: AdaBoostClassifier(random_state=s), lambda s: AdaBoostRegressor(random_state=s)),
    "bagging": (lambda s: BaggingClassifier(random_state=s), lambda s: BaggingRegressor(random_state=s)),
    "gbm": (
        lambda s: GradientBoostingClassifier(random_state=s),
        lambda s: GradientBoostingRegressor(random_state=s),
    ),
    "mlp": (lambda s: MLPClassifier(random_state=s), lambda s: MLPRegressor(random_state=s)),
    "xgboost": (_xgb, _xgb),
}
# The four of G-PATE (Long et al. 2021, appendix A.6) with the settings given there; only run when asked for by name.
OF_G_PATE: Mapping[str, tuple[Make, Make]] = {
    "logistic-g-pate": (
        lambda s: LogisticRegression(l1_ratio=1.0, solver="liblinear", class_weight={0: 1, 1: 350}, random_state=s),
        MODELS["logistic"][1],
    ),
    "adaboost-g-pate": (
        lambda s: AdaBoostClassifier(LogisticRegression(max_iter=1000), n_estimators=200, random_state=s),
        MODELS["adaboost"][1],
    ),
    "bagging-g-pate": (
        lambda s: BaggingClassifier(LogisticRegression(max_iter=1000), n_estimators=100, random_state=s),
        MODELS["bagging"][1],
    ),
    "mlp-g-pate": (
        lambda s: MLPClassifier((18, 18, 18), activation="tanh", random_state=s),
        MODELS["mlp"][1],
    ),
}
EVERY: Mapping[str, tuple[Make, Make]] = {**MODELS, **OF_G_PATE}


def choose(names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The models asked for, in the order of the table; None: all twelve (eleven without xgboost installed)."""
    from importlib.util import find_spec

    if names is None:
        return tuple(n for n in MODELS if n != "xgboost" or find_spec("xgboost"))
    for name in names:
        if name not in EVERY:
            raise UsageError(f"models: unknown model {name!r}; known are {', '.join(EVERY)}")
    if "xgboost" in names and not find_spec("xgboost"):
        raise UsageError("models: xgboost needs the package xgboost-cpu (install understudy[evaluate])")
    return tuple(n for n in EVERY if n in names)


@dataclass(frozen=True, kw_only=True)
class TestSet:
    """Where a fitted model is scored. `groups` maps a name to (code per row, number of groups); -1 belongs to none."""

    features: np.ndarray
    target: np.ndarray
    groups: Mapping[str, tuple[np.ndarray, int]]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One model on one training set, scored on one or more test sets: what a worker process gets."""

    model: str
    task: Task
    classes: int  # number of label values in the schema; 1 for a numeric label
    positive: int  # index of the positive class
    features: np.ndarray
    target: np.ndarray  # int class index, or float
    tests: Mapping[str, TestSet]
    seed: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one fitted model scored on every test set, with its groups, remarks and time."""

    scores: Mapping[str, dict[str, float | None]]  # test set -> metric -> value
    groups: Mapping[str, dict[str, list[dict[str, float | None]]]]  # test set -> grouping -> per group
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float


def run(job: Job) -> Outcome:
    """Fit and score. Never raises on contents; library warnings are collected, not printed.

    One thread per model: workers would fight for cores, and sums in another order would make results depend on `jobs`.
    """
    start = time.perf_counter()
    notes: list[str] = []
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predict = _fit(job, notes)
        scores, groups = {}, {}
        for name, test in job.tests.items():
            outputs = _predict(predict, test.features, job)
            scores[name] = score(job.task, test.target, outputs, job.positive)
            groups[name] = {
                by: [_group_score(job, by, test, outputs, codes == g, g) for g in range(count)]
                for by, (codes, count) in test.groups.items()
            }
    seen = dict.fromkeys(f"{w.category.__name__}: {_first_line(w.message)}" for w in caught)
    return Outcome(
        scores=scores,
        groups=groups,
        notes=tuple(dict.fromkeys(notes)),
        warnings=tuple(seen),
        seconds=time.perf_counter() - start,
    )


def score(task: str, truth: np.ndarray, outputs: np.ndarray, positive: int) -> dict[str, float | None]:
    """Metrics of the task from model outputs: class scores [n, classes], or predictions [n] for a numeric label."""
    if task == "numeric":
        return _regression(truth, outputs)
    if task == "binary":
        hit = truth == positive
        if hit.all() or not hit.any():  # also no rows at all
            return {"auroc": None, "auprc": None}
        column = outputs[:, positive]
        return {
            "auroc": float(roc_auc_score(hit, column)),
            "auprc": float(average_precision_score(hit, column)),
        }
    areas = []
    for k in range(outputs.shape[1]):
        hit = truth == k
        if hit.any() and not hit.all():
            areas.append(float(roc_auc_score(hit, outputs[:, k])))
    accuracy = float((outputs.argmax(axis=1) == truth).mean()) if len(truth) else None
    return {"auroc": float(np.mean(areas)) if areas else None, "accuracy": accuracy}


def base_score(task: str, truth: np.ndarray, positive: int) -> dict[str, float | None]:
    """What knowing only the test labels' distribution scores."""
    if len(truth) == 0:
        return dict.fromkeys(METRICS[task])
    if task == "binary":
        return {"auroc": 0.5, "auprc": float((truth == positive).mean())}
    if task == "multiclass":
        return {"auroc": 0.5, "accuracy": float(np.bincount(truth).max() / len(truth))}
    return {"r2": 0.0, "rmse": float(truth.std())}


def _fit(job: Job, notes: list[str]) -> Callable[[np.ndarray], np.ndarray]:
    if job.task == "numeric":
        return _fit_numeric(job, notes)
    present = np.unique(job.target)
    if len(present) < 2:
        what = "no usable rows" if len(present) == 0 else "one class only"
        notes.append(f"training data have {what}: counted as knowing nothing (AUROC 0.5, AUPRC base rate)")
        return _constant(job, present)
    if len(present) < job.classes:
        notes.append(f"{job.classes - len(present)} of {job.classes} classes absent from the training data")
    try:
        if job.model == "xgboost":
            return _fit_xgboost_per_class(job, present)
        model = EVERY[job.model][0](job.seed).fit(job.features, job.target)
        return lambda rows: _class_scores(model, rows, job.classes)
    except Exception as error:
        notes.append(f"the model failed ({type(error).__name__}): counted as knowing nothing")
        return _constant(job, present)


def _predict(predict: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, job: Job) -> np.ndarray:
    """Libraries refuse to predict nothing; nothing is what no rows give."""
    if len(rows):
        return predict(rows)
    return np.zeros(0) if job.task == "numeric" else np.zeros((0, job.classes))


def _constant(job: Job, present: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    column = np.zeros(job.classes)
    if len(present):
        column[np.bincount(job.target).argmax()] = 1.0
    return lambda rows: np.broadcast_to(column, (len(rows), job.classes))


def _class_scores(model: Any, rows: np.ndarray, classes: int) -> np.ndarray:
    """One column per class of the schema; a class the model has never seen scores lowest everywhere."""
    if hasattr(model, "predict_proba"):
        raw = model.predict_proba(rows)
    else:
        raw = model.decision_function(rows)
        raw = np.stack([-raw, raw], axis=1) if raw.ndim == 1 else raw
    raw = np.nan_to_num(np.asarray(raw, dtype=np.float64))
    out = np.full((len(rows), classes), raw.min() - 1.0 if raw.size else 0.0)
    out[:, model.classes_] = raw
    return out


def _fit_xgboost_per_class(job: Job, present: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    wanted = [job.positive] if job.task == "binary" else [int(k) for k in present]
    models = {k: _xgb(job.seed).fit(job.features, (job.target == k).astype(np.float32)) for k in wanted}

    def predict(rows: np.ndarray) -> np.ndarray:
        out = np.full((len(rows), job.classes), -10.0)
        for k, model in models.items():
            out[:, k] = model.predict(rows)
        if job.task == "binary":
            out[:, 1 - job.positive] = 1.0 - out[:, job.positive]
        return out

    return predict


def _fit_numeric(job: Job, notes: list[str]) -> Callable[[np.ndarray], np.ndarray]:
    mean = float(job.target.mean()) if len(job.target) else 0.0
    scale = float(job.target.std()) if len(job.target) else 0.0
    if not np.isfinite(scale) or scale == 0.0:
        notes.append("training data have a constant label: its value is the prediction")
        return lambda rows: np.full(len(rows), mean)
    try:  # standardised target: the SVM and the perceptron depend on its units
        model = EVERY[job.model][1](job.seed).fit(job.features, (job.target - mean) / scale)
        return lambda rows: np.nan_to_num(np.asarray(model.predict(rows), dtype=np.float64).reshape(-1)) * scale + mean
    except Exception as error:
        notes.append(f"the model failed ({type(error).__name__}): the training mean is the prediction")
        return lambda rows: np.full(len(rows), mean)


def _regression(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float | None]:
    if len(truth) == 0:
        return {"r2": None, "rmse": None}
    squared = float(np.mean((truth - predicted) ** 2))
    spread = float(truth.var())
    return {"r2": 1.0 - squared / spread if spread > 0 else None, "rmse": squared**0.5}


def _group_score(
    job: Job, by: str, test: TestSet, outputs: np.ndarray, mask: np.ndarray, group: int
) -> dict[str, float | None]:
    """A subgroup: the task's metrics on its rows. A class of the label: one-vs-rest AUROC and recall."""
    if by != "class":
        return score(job.task, test.target[mask], outputs[mask], job.positive)
    recall = float((outputs[mask].argmax(axis=1) == group).mean()) if mask.any() else None
    area = float(roc_auc_score(mask, outputs[:, group])) if mask.any() and not mask.all() else None
    return {"auroc": area, "recall": recall}


def _first_line(message: object) -> str:
    """Libraries explain at length; the first sentence names the problem."""
    return str(message).strip().split("\n")[0][:200]
