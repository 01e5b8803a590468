"""Models that learned from a stand-in, written as row maps: what they say about a person is a function of that row alone.

The twelve models of `evaluate.classifiers` learn from encoded rows of the stand-in. Each becomes a map to one score per class,
larger for likelier classes. Of two classes it is what its library computes up to a rising function; of more, linear models
score a class against the mean of the others:

    logistic, linear-svc, lda         Linear                    gaussian-nb      Linear of (x^2, x)
    tree, forest, bagging             Leaves, shares            bernoulli-nb     Linear of (x > 0)
    adaboost                          Leaves, weighted votes    mlp              Linear, max(0, .), Linear
    gbm, xgboost                      Leaves, boosted values

and `Binned` cuts it at quantiles of the stand-in's own scores, of rows that the models did not learn from. A table
[classes, bins] of people is then a histogram: a person is in one cell (`understudy.questions.counts`).
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

from understudy.evaluate.classifiers import MODELS, choose
from understudy.published.measures import Carry
from understudy.questions import Step
from understudy.questions import row_maps as maps

BINS, CALIBRATION_BINS = 16, 5
TRAINING_ROWS = 20_000  # of a stand-in, for models; a fifth of its rows, at least, is kept for the bins
LEARNED = 0.8
XGBOOST = "xgboost"


@dataclass(frozen=True, eq=False)
class Judge:
    """One model: bins of its scores [classes], and for which classes it is judged."""

    name: str
    cells: Step
    bins: int
    judged: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Judges:
    """All models of one stand-in, and the bins of a logistic model's probability with what it says in each."""

    every: tuple[Judge, ...]
    calibration: Step
    predicted: tuple[float, ...]


class Held(NamedTuple):
    """Rows of the stand-in that models did not learn from."""

    rows: np.ndarray
    classes: np.ndarray


def learn(
    rows: np.ndarray,
    classes: np.ndarray,
    count: int,
    positive: int | None,
    names: Sequence[str] | None,
    carry: Carry,
    seed: int = 0,
) -> Judges | None:
    """Models of one stand-in; None where its rows show fewer than two classes. `positive`: of a binary label."""
    order = np.random.default_rng([seed, 11]).permutation(len(rows))[: int(TRAINING_ROWS / LEARNED)]
    cut = int(LEARNED * len(order))
    known, others = order[:cut], order[cut:]
    if len(np.unique(classes[known])) < 2 or len(np.unique(classes[others])) < 2:
        return None
    judged = tuple(range(count)) if positive is None else (positive,)
    x, y, held = rows[known], classes[known], Held(rows[others], classes[others])
    every = []
    for name in choose(None if names is None else tuple(names)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # `evaluate` says it; here a model is judged as it is
            score = as_map(name, x, y, count, seed)
        edges = tuple(quantiles(column, held.classes, BINS) for column in carry(score, *held).T)
        every.append(Judge(name, maps.Binned(score, edges), BINS, judged))
    return Judges(tuple(every), *calibrated(x, y, held, judged[-1], carry, seed))


def quantiles(scores: np.ndarray, classes: np.ndarray, bins: int) -> np.ndarray:
    """Edges of bins that hold about equally much of all classes, each class counting alike; ties make fewer of them."""
    weight = 1.0 / np.bincount(classes)[classes]
    order = np.argsort(scores, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    places = np.searchsorted(share, np.arange(1, bins) / bins)
    return np.unique(scores[order][np.clip(places, 0, len(scores) - 1)])


def calibrated(
    x: np.ndarray, y: np.ndarray, held: Held, positive: int, carry: Carry, seed: int
) -> tuple[Step, tuple[float, ...]]:
    """A logistic model of the positive class against the rest: bins of its score, and the mean probability in each."""
    model = LogisticRegression(max_iter=1000, random_state=seed).fit(x, y == positive)
    score = maps.Linear(maps.Places(), np.asarray(model.coef_, float), np.asarray(model.intercept_, float))
    found = carry(score, *held)[:, 0]
    edges = np.unique(np.quantile(found, np.arange(1, CALIBRATION_BINS) / CALIBRATION_BINS))
    cell, chance = np.searchsorted(edges, found, side="right"), 1.0 / (1.0 + np.exp(-found))
    said = [float(chance[cell == k].mean()) if (cell == k).any() else 0.5 for k in range(len(edges) + 1)]
    return maps.Binned(score, (edges,)), tuple(said)


# -- models as maps ------------------------------------------------------------------------------------------------------------
def as_map(name: str, x: np.ndarray, y: np.ndarray, count: int, seed: int) -> Step:
    """A fitted model's scores of all classes."""
    if name == XGBOOST:
        return maps.Leaves(tuple(tree for k in np.unique(y) for tree in boosted(x, y == k, int(k), count, seed)))
    model = MODELS[name][0](seed).fit(x, y)
    present = np.asarray(model.classes_, int)
    if hasattr(model, "theta_"):
        return gaussian(model, present, count)
    if hasattr(model, "feature_log_prob_"):
        return bernoulli(model, present, count)
    if hasattr(model, "coefs_"):
        hidden = maps.Linear(
            maps.Places(), np.asarray(model.coefs_[0].T, float), np.asarray(model.intercepts_[0], float)
        )
        return linear((hidden + abs(hidden)) * 0.5, model.coefs_[1].T, model.intercepts_[1], present, count)
    if hasattr(model, "coef_"):
        return linear(maps.Places(), model.coef_, model.intercept_, present, count)
    return maps.Leaves(trees_of(model, present, count))


def linear(of: Step, weights: np.ndarray, bias: np.ndarray, present: np.ndarray, count: int) -> Step:
    """Scores of a linear model, each less the mean of the others; of two classes libraries keep one."""
    weights, bias = np.asarray(weights, float), np.asarray(bias, float)
    if len(bias) == 1 and len(present) == 2:
        weights, bias = np.concatenate([-weights, weights]), np.concatenate([-bias, bias])
    every, offsets = np.zeros((count, weights.shape[1])), np.full(count, -1e9)  # a class that it never saw comes last
    scale = len(present) / max(len(present) - 1, 1)
    every[present] = scale * (weights - weights.mean(axis=0))
    offsets[present] = scale * (bias - bias.mean())
    return maps.Linear(of, every, offsets)


def gaussian(model: GaussianNB, present: np.ndarray, count: int) -> Step:
    """log P(class) + sum_j log N(x_j; theta, v), in x and its squares."""
    theta, v = model.theta_, model.var_
    bias = np.log(model.class_prior_) - 0.5 * (np.log(2.0 * np.pi * v) + theta**2 / v).sum(axis=1)
    weights = np.concatenate([-0.5 / v, theta / v], axis=1)
    return linear(maps.joined(maps.Places() * maps.Places(), maps.Places()), weights, bias, present, count)


def bernoulli(model: BernoulliNB, present: np.ndarray, count: int) -> Step:
    """log P(class) + sum_j log P(x_j > 0 or not)."""
    yes = model.feature_log_prob_
    no = np.log1p(-np.exp(np.minimum(yes, -1e-12)))
    width = yes.shape[1]
    least = np.asarray([np.nextafter(np.float32(0.0), np.float32(1.0))], np.float64)
    above = maps.Cuts(np.arange(width), (least,) * width, np.full(width, -1))
    seen = maps.LookUp(above, (np.asarray([0.0, 1.0]),) * width)
    return linear(seen, yes - no, model.class_log_prior_ + no.sum(axis=1), present, count)


def trees_of(model: Any, present: np.ndarray, count: int) -> tuple[maps.Tree, ...]:
    """Trees whose leaves add up to a model's scores."""
    if hasattr(model, "tree_"):
        return (shares(model, present, count),)
    if hasattr(model, "estimator_weights_"):
        pairs = zip(model.estimators_, model.estimator_weights_, strict=False)
        return tuple(votes(one, weight, count) for one, weight in pairs)
    if np.ndim(model.estimators_) == 2:  # boosted: one regression tree per round and class
        several = model.estimators_.shape[1] > 1
        return tuple(
            values(
                one.tree_,
                [(int(present[k]), 1.0)] if several else [(int(present[0]), -1.0), (int(present[1]), 1.0)],
                count,
            )
            for stage in model.estimators_
            for k, one in enumerate(stage)
        )
    return tuple(shares(one, present, count) for one in model.estimators_)


def nodes_of(tree: Any, value: np.ndarray) -> maps.Tree:
    """A fitted tree as plain arrays."""
    feature = np.where(tree.children_left < 0, -1, tree.feature)
    return maps.Tree(feature, tree.threshold, tree.children_left, tree.children_right, value)


def shares(model: DecisionTreeClassifier, present: np.ndarray, count: int) -> maps.Tree:
    """Shares of classes in every leaf."""
    own = model.tree_.value[:, 0, :]
    value = np.zeros((len(own), count))
    value[:, present[np.asarray(model.classes_, int)] if own.shape[1] < len(present) else present] = own / own.sum(
        axis=1, keepdims=True
    )
    return nodes_of(model.tree_, value)


def votes(model: DecisionTreeClassifier, weight: float, count: int) -> maps.Tree:
    """A weight for the class that a leaf predicts."""
    own = model.tree_.value[:, 0, :]
    value = np.zeros((len(own), count))
    value[np.arange(len(own)), np.asarray(model.classes_, int)[own.argmax(axis=1)]] = weight
    return nodes_of(model.tree_, value)


def values(tree: Any, where: Sequence[tuple[int, float]], count: int) -> maps.Tree:
    """The number of a leaf, for some classes with a sign."""
    value = np.zeros((tree.node_count, count))
    for number, sign in where:
        value[:, number] = sign * tree.value[:, 0, 0]
    return nodes_of(tree, value)


def boosted(x: np.ndarray, hit: np.ndarray, number: int, count: int, seed: int) -> list[maps.Tree]:
    """XGBoost's regressor of one class: it goes left where x is below a threshold, we where it is at or below."""
    model = MODELS[XGBOOST][0](seed).fit(x, hit.astype(np.float32))
    found = []
    for text in model.get_booster().get_dump(dump_format="json"):
        nodes: list[dict[str, Any]] = []
        todo = [json.loads(text)]
        while todo:
            one = todo.pop()
            nodes.append(one)
            todo += one.get("children", [])
        place = {one["nodeid"]: at for at, one in enumerate(nodes)}
        value = np.zeros((len(nodes), count))
        value[:, number] = [one.get("leaf", 0.0) for one in nodes]
        cut = [np.nextafter(np.float32(one.get("split_condition", 0.0)), np.float32(-np.inf)) for one in nodes]
        found.append(
            maps.Tree(
                np.asarray([int(one["split"][1:]) if "split" in one else -1 for one in nodes]),
                np.asarray(cut, np.float64),
                np.asarray([place[one["yes"]] if "yes" in one else 0 for one in nodes]),
                np.asarray([place[one["no"]] if "no" in one else 0 for one in nodes]),
                value,
            )
        )
    return found
