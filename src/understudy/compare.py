"""Several methods, or one with several settings, on one table under one budget, and a choice between them that is paid for.

Every candidate, a method with its options, gets the same share of the budget: epsilon_i is the largest at which all releases
of all fits together, priced as one list of events, cost at most epsilon. So all of the models may be published, or any of
them, and the total is what was asked.

Choosing one by its figures on real rows is another release. Here it is the exponential mechanism on held-out rows of other
people: each model's classifier earns points for the held-out rows it gets right, weighted so that classes count alike,

    points(row of class c) = 255 min_j(n_j) / n_c  if right, else 0          (n: class shares of the stand-in, public)

and the choice is priced at epsilon for the held-out people. The people of the training table are not in those rows, so it
costs them nothing more (parallel composition); whoever is in both tables pays for both, and that price is stated too.

The holder's account does not know who is in which table, so there the choice adds up with the fits.
"""

import itertools
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.account import Account, Payer, Receipt, account_of
from understudy.accounting import Budget, Charge, Ledger, Plan, noise_scale
from understudy.accounting import epsilon as price
from understudy.accounting.book import Posting
from understudy.accounting.ledger import refuse_taken
from understudy.adviser import advise
from understudy.artifact import Model, codec_of, load
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.experience import LABEL
from understudy.files import read_json, write_json
from understudy.methods.registry import check_names, method_options
from understudy.methods.registry import method as method_class
from understudy.plan import describe_unit
from understudy.private import Curator, NoiseSource, PrivateTable, SecureNoise
from understudy.private.checkpoint import Checkpoint
from understudy.questions import POINTS, ModelChoice, Step
from understudy.questions import row_maps as maps
from understudy.schema import Schema

CHOICE = "choice between the models"
TRAINING_ROWS = 20_000  # of each stand-in, for the classifier that is judged
TREES = 50
VALUE = re.compile(r"[\w.+-]{1,40}")  # of an option that is varied
RECORD, RESULT, CHOICE_LEDGER, CHARGED = "comparison.json", "result.json", "choice-ledger.jsonl", "account.json"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One candidate of a comparison."""

    method: str  # and the options that are varied, as `Candidate.name` has them
    epsilon: float  # what its fit may spend
    folder: str
    kept: float | None  # of the gain over chance, expected from the benchmark at this epsilon; None: not known
    kept_alone: float | None  # the same, had it had the whole budget


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a comparison paid, and which model it chose."""

    epsilon: float  # all fits together, recomputed
    delta: float
    unit: str
    entries: tuple[Entry, ...]
    chosen: str | None  # by the paid choice
    choice_epsilon: float | None  # for the held-out people
    both_epsilon: float | None  # for somebody in both tables
    void_reason: str = ""  # why the choice has no guarantee: its noise was seeded

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """What was spent and what choosing costs, in words."""
        share = self.entries[0].epsilon
        said = [
            f"{len(self.entries)} models together cost epsilon {self.epsilon:.4g}, delta {self.delta:g}, and protect "
            f"{self.unit}: publish any or all of them",
            f"each fit had epsilon {share:.4g}; one method alone, chosen by public facts (the adviser), could have "
            "had all of it",
        ]
        if self.chosen is None:
            return [
                *said,
                "choosing one by its figures on real rows is a release of its own that nothing above pays for; "
                "real=FILE makes a paid choice on held-out rows of other people",
            ]
        void = [f"NOT A VALID GUARANTEE of the choice: {self.void_reason}"] if self.void_reason else []
        return [
            *said,
            *void,
            f"chosen on the held-out rows: {self.chosen}; that cost the held-out people epsilon {self.choice_epsilon:.4g}, "
            f"the people of the table nothing more, and somebody in both {self.both_epsilon:.4g} in all",
        ]


class Candidate(NamedTuple):
    """A method and the options in which it differs from its defaults."""

    method: str
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is called in results, and its folder: `pate-gan,teachers=50`."""
        return ",".join([self.method, *(f"{option}={value}" for option, value in self.options.items())])


def candidates(methods: Sequence[str], vary: Mapping[str, Sequence[Any]]) -> list[Candidate]:
    """Every method with every combination of the varied options."""
    for method in methods:
        check_names(method, method_options(method), vary)
    for option, values in vary.items():
        for value in values:
            if not VALUE.fullmatch(str(value)):  # candidates have folders of their name
                raise UsageError(f"vary: {option} takes numbers and words here, not {value!r}")
    settings = [dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]
    found = [Candidate(method, options) for method in methods for options in settings]
    if len({one.name for one in found}) != len(found) or len(found) < 2:
        raise UsageError("methods: name at least two different methods, e.g. mst and mean-embedding, or vary an option")
    return found


def split(each: Sequence[Candidate], schema: Schema, budget: Budget) -> tuple[list[Estimator], float]:
    """Estimators with equal shares, and what all of their releases cost together."""
    from understudy.accounting.gaussian import epsilon as gaussian_epsilon
    from understudy.accounting.gaussian import mu

    share = gaussian_epsilon(mu(budget.epsilon, budget.delta) / len(each) ** 0.5, budget.delta)
    while True:
        # mu / sqrt(m) is exact for Gaussian releases; others (categories with their own delta) need a little less
        estimators = [method_class(one.method)(epsilon=share, delta=budget.delta, **one.options) for one in each]
        plans = [estimator.plan(schema) for estimator in estimators]
        for plan in plans:
            if not plan.valid:
                raise UsageError(f"methods: {plan.method} has no valid guarantee ({plan.void_reason}); leave it out")
        together = price([charge.event for plan in plans for charge in plan.charges], budget.delta)
        if together <= budget.epsilon:
            return estimators, together
        share *= 0.98 * budget.epsilon / together


def compare(
    data: object,
    schema: Schema,
    *,
    methods: Sequence[str],
    epsilon: float,
    delta: float = 1e-5,
    vary: Mapping[str, Sequence[Any]] | None = None,
    out: str | Path,
    real: object = None,
    seed: int | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
    account: Payer | None = None,
    noise: NoiseSource | None = None,
) -> Comparison:
    """Fit every method and, with held-out rows in `real`, choose one. Finished models in `out` are kept, not fitted again.

    `vary` names options and their values, `{"teachers": [50, 200]}`: every method is then fitted with every combination.
    `account` is the holder's: charged for all fits at once before the first, and for the choice before it is made.
    `noise` is the choice's; other than the operating system's it voids the choice, and the result says so.
    """
    budget = Budget(epsilon, delta)
    if real is not None and schema.label_kind not in ("binary", "multiclass"):
        raise UsageError(
            "real: a choice is made by predicting a class label, and the schema names none; publish all models"
        )
    each = candidates(methods, vary or {})
    estimators, together = split(each, schema, budget)
    named = {one.name: estimator for one, estimator in zip(each, estimators, strict=True)}
    folder = Path(out)
    check_same(folder, named, schema)
    payer = account_of(account)
    receipt = None if payer is None else charge_fits(payer, named, schema, folder)
    models = [_fit(name, one, data, schema, folder, seed, progress, receipt) for name, one in named.items()]
    entries = tuple(entry(name, estimator, schema, budget, folder) for name, estimator in named.items())
    earlier = made_before(folder)
    if earlier is not None:
        return earlier  # a second choice would be a second release
    chosen = choice_epsilon = both = None
    source = noise or SecureNoise()
    if real is not None:
        number, charged = choose(models, real, schema, budget, source, folder / CHOICE_LEDGER, payer)
        chosen, choice_epsilon = each[number].name, price([charged], delta)
        events = [charge.event for model in models for charge in model.plan.charges]
        both = price([*events, charged], delta)
    found = Comparison(
        epsilon=together,
        delta=delta,
        unit=describe_unit(schema),
        entries=entries,
        chosen=chosen,
        choice_epsilon=choice_epsilon,
        both_epsilon=both,
        void_reason=source.void_reason if real is not None else "",
    )
    write_json(folder / RESULT, found.to_dict())
    return found


def made_before(folder: Path) -> Comparison | None:
    """The result of an earlier run that has made its choice."""
    path = folder / RESULT
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["chosen"] is None:
        return None
    return Comparison(**found | {"entries": tuple(Entry(**one) for one in found["entries"])})


def check_same(folder: Path, named: Mapping[str, Estimator], schema: Schema) -> None:
    """A folder belongs to one comparison: models fitted under another split would spend more than the total."""
    wanted = {
        "methods": {name: estimator.epsilon for name, estimator in named.items()},
        "schema": schema.fingerprint(),
        "delta": next(iter(named.values())).delta,
    }
    path = folder / RECORD
    if path.exists():
        if json.loads(path.read_text(encoding="utf-8")) != json.loads(json.dumps(wanted)):
            raise UsageError(
                f"out: {str(folder)!r} holds another comparison; use the same methods and budget, or another name"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_json(path, wanted)


def charge_fits(payer: Account, named: Mapping[str, Estimator], schema: Schema, folder: Path) -> Receipt:
    """One entry for all fits. Its token is in the folder before it is charged: run again, nothing is charged twice."""
    path = folder / CHARGED
    if not path.exists():
        write_json(path, {"token": secrets.token_hex(16)})
    token = str(read_json(path)["token"])
    postings = [posting for one in named.values() for posting in payer.postings(one.plan(schema), schema)]
    return payer.charge(f"compare {', '.join(named)}", postings, schema.fingerprint(), token)


def _fit(
    name: str,
    estimator: Estimator,
    data: object,
    schema: Schema,
    folder: Path,
    seed: int | None,
    progress: Any,
    receipt: Receipt | None = None,
) -> Model:
    target = folder / name
    if (target / "model.json").is_file():
        return load(target)  # paid for and finished by an earlier run
    checkpoint = folder / f"{name}.checkpoint"
    resume = Checkpoint(checkpoint).exists()
    spent = Checkpoint(checkpoint).spent(estimator.delta)
    if spent and not resume:
        raise UsageError(
            f"out: the fit of {name} in {str(folder)!r} ended where it cannot be resumed and had charged epsilon "
            f"{spent:.4g} at delta {estimator.delta:g}; fitting it again would exceed the total of this comparison. Keep the "
            "folder as the record, and begin another under another name, whose cost comes on top"
        )
    estimator.seed = seed
    return estimator.fit(
        data, schema, progress=progress, checkpoint=checkpoint, resume=resume, out=target, account=receipt
    ).fitted


def entry(name: str, estimator: Estimator, schema: Schema, budget: Budget, folder: Path) -> Entry:
    """One candidate of a comparison: its plan, and what it is expected to keep (not known of options that are varied)."""

    def kept(epsilon: float) -> float | None:
        known = advise(schema, epsilon=epsilon, delta=budget.delta, use=LABEL).outlook
        return next((one.kept for one in known if one.method == name), None)

    return Entry(
        method=name,
        epsilon=estimator.epsilon,
        folder=str(folder / name),
        kept=kept(estimator.epsilon),
        kept_alone=kept(budget.epsilon),
    )


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
    resolved = models[0].resolved
    sigma = noise_scale(budget, lambda sigma: [dpa.GaussianDpEvent(sigma)])
    judges = tuple(judge_of(model, resolved) for model in models)
    question = ModelChoice(judges, sigma, schema.max_rows_per_unit)
    plan = Plan(
        method=CHOICE,
        budget=budget,
        unit=describe_unit(schema),
        charges=(Charge(CHOICE, question.event),),
        parameters={},
        notes=(),
    )
    refuse_taken(record)
    if payer is not None:
        payer.charge(CHOICE, [Posting(CHOICE, question.event)], plan.fingerprint())
    ledger = Ledger(plan, record)  # on disk: a second choice after a crash would have to be paid again, and is refused
    curator = Curator(PrivateTable(real, schema), schema, ledger, noise)
    curator.adopt(codec_of(resolved, True))
    try:
        return curator.ask(CHOICE, question).value, question.event
    finally:
        ledger.close()


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
