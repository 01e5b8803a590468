"""Choosing one of the models by its figures on real rows, which is another release.

It is the exponential mechanism on held-out rows of other people: each model's classifier earns points for the held-out rows it
gets right, weighted so that classes count alike,

    points(row of class c) = 255 min_j(n_j) / n_c  if right, else 0          (n: class shares of the stand-in, public)

and the choice is priced at epsilon for the held-out people. The people of the training table are not in those rows, so it
costs them nothing more (parallel composition); whoever is in both tables pays for both, and that price is stated too.

The holder's account does not know who is in which table, so there the choice adds up with the fits.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.account import Account
from understudy.accounting import Budget, Charge, Ledger, Plan, noise_scale
from understudy.accounting.book import Posting
from understudy.artifact import Model
from understudy.errors import UsageError
from understudy.plan import describe_unit
from understudy.private import Curator, NoiseSource, PrivateTable
from understudy.questions import POINTS, ModelChoice, Step
from understudy.questions import row_maps as maps
from understudy.schema import Schema, codec_of

CHOICE = "choice between the models"
TRAINING_ROWS = 20_000  # of each stand-in, for the classifier that is judged
TREES = 50


def choose(
    models: Sequence[Model],
    real: object,
    schema: Schema,
    budget: Budget,
    noise: NoiseSource,
    record: Path,
    payer: Account | None = None,
) -> tuple[int, dpa.DpEvent]:
    """The model whose classifier does best on held-out rows, by a paid choice, and the event it cost."""
    resolved, event = models[0].resolved, choice_event(budget)
    judges = tuple(judge_of(model, resolved) for model in models)
    question = ModelChoice(judges, event.noise_multiplier, schema.max_rows_per_unit)
    plan = Plan(
        method=CHOICE,
        budget=budget,
        unit=describe_unit(schema),
        charges=(Charge(CHOICE, event),),
        parameters={},
        notes=(),
    )
    table = PrivateTable(real, schema)
    try:
        with choice_ledger(plan, record) as ledger:
            if payer is not None:
                payer.charge(CHOICE, [Posting(CHOICE, event)], plan.fingerprint())
            curator = Curator(table, schema, ledger, noise)
            curator.adopt(codec_of(resolved, True))
            return curator.ask(CHOICE, question).value, event
    finally:
        table.close()


def choice_event(budget: Budget) -> dpa.GaussianDpEvent:
    """What the choice costs: all of the budget, of the held-out people."""
    return dpa.GaussianDpEvent(noise_scale(budget, lambda sigma: [dpa.GaussianDpEvent(sigma)]))


@contextmanager
def choice_ledger(plan: Plan, record: Path) -> Iterator[Ledger]:
    """On disk: a choice that was charged and lost its result, in a crash, is not made again. One that was not charged is."""
    with Ledger.reopen(plan, record) if record.exists() else Ledger(plan, record) as ledger:
        if ledger.spent:
            raise UsageError(
                f"out: a choice was charged epsilon {ledger.epsilon_spent:.4g} in {str(record)!r} and ended before its result "
                "was written; a second one costs the held-out people as much again. Publish all models; or note that, move "
                "the file away (it is the record), and run again"
            )
        yield ledger


def judge_of(model: Model, resolved: Schema) -> Step:
    """Points by a classifier that learned from the stand-in alone: balanced, as many as a row of its class can earn."""
    from sklearn.ensemble import RandomForestClassifier

    codec = codec_of(resolved, True)
    learned = codec.encode(model.sample(min(model.rows, TRAINING_ROWS), seed=0))
    counts = np.bincount(learned.classes, minlength=codec.class_count)
    shares = np.maximum(counts, 1)
    if np.count_nonzero(counts) < 2:
        return maps.Constant(np.zeros(1))
    classifier = RandomForestClassifier(TREES, min_samples_leaf=5, class_weight="balanced", random_state=0, n_jobs=-1)
    classifier.fit(learned.rows, learned.classes)
    trees = tuple(tree_of(one.tree_, classifier.classes_, codec.class_count) for one in classifier.estimators_)
    return maps.Same(maps.Forest(trees), maps.Label()) * maps.Entry(
        maps.Label(), (POINTS * shares.min() / shares)[:, None]
    )


def tree_of(tree: Any, present: np.ndarray, classes: int) -> maps.Tree:
    """A fitted tree as plain arrays; `present` are the classes that it knows."""
    value = np.zeros((tree.node_count, classes))
    value[:, present] = tree.value[:, 0, :]
    leaf = tree.children_left < 0
    feature = np.where(leaf, -1, tree.feature)
    return maps.Tree(feature, tree.threshold, tree.children_left, tree.children_right, value)
