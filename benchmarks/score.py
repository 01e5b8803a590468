"""How one synthetic table scores: the evaluation's figures as a small dictionary that fits on one JSON line.

    utility   setting B of the twelve models (trained on synthetic, tested on real), and setting C for the ranking
              agreement
    images    accuracy of the small convolutional network, trained on synthetic, tested on real
    codes     dimension-wise prediction (F1) and MMD, for binary code tables
    whole-table   every measure of whole-table fidelity against the training rows, each with its references

The real training rows score through the same functions in place of the synthetic ones: that is setting A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from understudy.evaluate import Evaluation, evaluate, whole_table
from understudy.evaluate.result import Setting
from understudy.schema import Schema

FAMILIES = {"utility": ("utility",), "images": ()}
IMAGE_SHAPE = (28, 28)
EXPECTED = "no real training rows given"  # setting A is a cell of its own, so this note says nothing new


def score(
    synthetic: pd.DataFrame,
    synthetic_test: pd.DataFrame,
    *,
    train: pd.DataFrame,
    test: pd.DataFrame,
    schema: Schema,
    scoring: str,
    classifiers: Sequence[str] | None,
    max_rows: int,
    seed: int,
    stable: str | None = None,
) -> dict[str, Any]:
    """`metrics` (averages), `models` and `models_c` (per model, settings B and C), `notes`."""
    if scoring == "whole-table":
        return _whole(synthetic, train, test, schema, seed, stable)
    if scoring == "codes":
        return {
            "metrics": _codes(synthetic, train, test, schema, max_rows, seed),
            "models": {},
            "models_c": {},
            "notes": [],
        }
    found = evaluate(
        synthetic,
        test,
        schema,
        synthetic_test=synthetic_test,
        metrics=FAMILIES[scoring],
        models=None if classifiers is None else tuple(classifiers),
        max_rows=max_rows,
        image_shape=IMAGE_SHAPE if scoring == "images" else None,
        seed=seed,
        jobs=1,
    )
    if scoring == "images":
        return {"metrics": _images(found), "models": {}, "models_c": {}, "notes": _notes(found, {})}
    settings = {setting.name: setting for setting in found.utility.settings} if found.utility is not None else {}
    metrics = {name: summary.mean for name, summary in settings["B"].average.items()} if "B" in settings else {}
    agreement = feature_agreement(train, synthetic, schema)
    return {
        "metrics": metrics | ({} if agreement is None else {"feature-ranking-agreement": agreement}),
        "models": _per_model(settings.get("B")),
        "models_c": _per_model(settings.get("C")),
        "notes": _notes(found, settings),
    }


def feature_agreement(train: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> float | None:
    """Share of feature pairs ordered alike by absolute correlation with the label, real against synthetic (PATE-
    GAN Table 6).
    """
    if schema.label_kind not in ("binary", "numeric"):
        return None
    from understudy.evaluate.metrics import pairs, ranking
    from understudy.evaluate.table import prepare

    real = pairs.label_association(prepare(train, schema), schema)
    other = pairs.label_association(prepare(synthetic, schema), schema)
    names = [name for name in real if name in other]
    return ranking.agreement([real[name] for name in names], [other[name] for name in names]).value


def model_agreement(
    real: Mapping[str, Mapping[str, Any]], synthetic: Mapping[str, Mapping[str, Any]], metric: str = "auroc"
) -> float | None:
    """Synthetic ranking agreement (PATE-GAN Eq. 8): setting A's per-model scores against setting C's."""
    pairs = [(real[name].get(metric), synthetic[name].get(metric)) for name in real if name in synthetic]
    known = [(a, c) for a, c in pairs if a is not None and c is not None]
    if len(known) < 2 or len(known) < len(pairs):
        return None
    orders = [(a - b) * (c - d) > 0 for i, (a, c) in enumerate(known) for b, d in known[:i]]
    return sum(orders) / len(orders)


def _per_model(setting: Setting | None) -> dict[str, dict[str, float | None]]:
    if setting is None:
        return {}
    return {model.model: {name: summary.mean for name, summary in model.scores.items()} for model in setting.models}


def _images(found: Evaluation) -> dict[str, float | None]:
    return {"accuracy": None if found.images is None else found.images.accuracy_b.mean}


def _codes(
    synthetic: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame, schema: Schema, max_rows: int, seed: int
) -> dict[str, float | None]:
    """Figures of these rows alone: beside 1,617 codes, fitting the real rows again in every cell would double the hours."""
    from understudy.evaluate.metrics import dimension, mmd
    from understudy.evaluate.table import prepare

    made, known, held = (prepare(frame, schema) for frame in (synthetic, train, test))
    scores = dimension.mean_f1(known, held, made, schema, seed=seed, max_rows=max_rows)
    metrics: dict[str, float | None] = {f"dimension-wise-f1-top-{top}": value for top, value in scores.items()}
    # The smallest set (top ten columns) averaged over the models is the papers' headline.
    metrics["dimension-wise-f1"] = next(iter(metrics.values()), None)
    if scores:
        shares = dimension.probability(held, [made], dimension.binary_columns(schema))
        metrics["dimension-wise-probability-error"] = shares.mean_absolute_difference.mean
    metrics["mmd"] = mmd.compare(held, [made], schema, seed).value.mean
    return metrics


def _whole(
    synthetic: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame, schema: Schema, seed: int, stable: str | None
) -> dict[str, Any]:
    """Measures with `references` beside them: what real rows, held-out ones and rows without dependence score."""
    found = whole_table(train, synthetic, schema, held_out=test if len(test) else None, stable=stable, seed=seed)
    if found is None:
        return {"metrics": {}, "models": {}, "models_c": {}, "notes": ["there was nothing to compare"]}
    label = {t.column: t for t in found.targets}.get(schema.label or "")
    aurocs = {} if label is None else {"label-auroc": label.synthetic.mean, "label-auroc-real": label.real}
    others = [t.synthetic.mean / t.real for t in found.targets if t is not label]
    aurocs |= {"other-targets-auroc-over-real": sum(others) / len(others)} if others else {}
    return {
        "metrics": found.figures() | aurocs,
        "references": {
            one.name: {
                "bootstrap": one.bootstrap,
                "held_out": one.held_out,
                "independent": one.independent,
                "lost": one.lost,
            }
            for one in found.measures
        },
        "models": {},
        "models_c": {},
        "notes": list(found.notes),
    }


def _notes(found: Evaluation, settings: Mapping[str, Setting]) -> list[str]:
    own = [note for note in found.header.notes if not note.startswith(EXPECTED)]
    utility = () if found.utility is None else found.utility.notes
    models = [note for model in (settings["B"].models if "B" in settings else ()) for note in model.notes]
    return list(dict.fromkeys([*own, *utility, *models]))
