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

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.account import Account, Payer, Receipt, account_of
from understudy.accounting import Budget, Charge, Ledger, Plan, noise_scale
from understudy.accounting import epsilon as price
from understudy.accounting.book import Posting
from understudy.adviser.advice import advise
from understudy.adviser.experience import LABEL
from understudy.artifact import Model, codec_of, load
from understudy.candidates import Candidate, candidates
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.files import read_json, write_json
from understudy.methods.registry import METHODS, WEIGHED, check_names
from understudy.methods.registry import method as method_class
from understudy.plan import describe_unit
from understudy.private import Curator, NoiseSource, PrivateTable, SecureNoise, same_table
from understudy.private.checkpoint import Checkpoint
from understudy.questions import POINTS, ModelChoice, Step
from understudy.questions import row_maps as maps
from understudy.schema import Schema

CHOICE = "choice between the models"
TRAINING_ROWS = 20_000  # of each stand-in, for the classifier that is judged
TREES = 50
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


def split(
    each: Sequence[Candidate], schema: Schema, budget: Budget, weights: Mapping[str, Any] = MappingProxyType({})
) -> tuple[list[Estimator], float]:
    """Estimators with equal shares, and what all of their releases cost together. `weights` are for methods with a workload."""
    from understudy.accounting.gaussian import epsilon as gaussian_epsilon
    from understudy.accounting.gaussian import mu

    # mu / sqrt(m) is exact for Gaussian releases; others (categories with their own delta) need a little less
    share = budget.epsilon / len(each)
    if not budget.pure:
        share = gaussian_epsilon(mu(budget.epsilon, budget.delta) / len(each) ** 0.5, budget.delta)
    while True:
        made = [planned(one, share, schema, budget, weights) for one in each]
        estimators, plans = [estimator for estimator, _ in made], [plan for _, plan in made]
        for plan in plans:
            if not plan.valid:
                raise UsageError(f"methods: {plan.method} has no valid guarantee ({plan.void_reason}); leave it out")
        together = price([charge.event for plan in plans for charge in plan.charges], budget.delta)
        if together <= budget.epsilon:
            return estimators, together
        share *= 0.98 * budget.epsilon / together


def planned(
    one: Candidate, share: float, schema: Schema, budget: Budget, weights: Mapping[str, Any]
) -> tuple[Estimator, Plan]:
    """A candidate's estimator and plan; what is wrong with a value that is varied says so."""
    wanted = {**(weights if one.method in WEIGHED else {}), **one.options}
    try:
        estimator: Estimator = method_class(one.method)(epsilon=share, delta=budget.delta, **wanted)
        return estimator, estimator.plan(schema)
    except UsageError as error:
        if any(re.search(rf"\b{option}\b", str(error)) for option in one.options):
            raise UsageError(f"vary: {error}") from None
        raise


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
    focus: str | None = None,
    workload: str | Path | Mapping[str, Any] | None = None,
) -> Comparison:
    """Fit every method and, with held-out rows in `real`, choose one. Finished models in `out` are kept, not fitted again.

    `vary` names options and their values, `{"teachers": [50, 200]}`: every method is then fitted with every combination.
    `focus` and `workload` are for those of the methods that have a workload; there must be one.
    `account` is the holder's: charged for all fits at once before the first, and for the choice before it is made.
    `noise` is the choice's; other than the operating system's it voids the choice, and the result says so.
    """
    budget = Budget(epsilon, delta)
    if real is not None and budget.pure:
        raise UsageError("real: a choice is priced with a delta; give one, e.g. 1e-5, or publish all models")
    check_tables(data, real, schema)
    folder = Path(out)
    check_table(folder, data, schema)
    each = candidates(methods, vary or {})
    estimators, together = split(each, schema, budget, weights_of(each, focus=focus, workload=workload))
    named = {one.name: estimator for one, estimator in zip(each, estimators, strict=True)}
    record = check_same(folder, named, schema)
    payer = account_of(account)
    entries = tuple(entry(name, estimator, schema, budget, folder) for name, estimator in named.items())
    choice = [] if real is None or made_before(folder) else [choice_event(budget)]
    bill = None if payer is None else bill_of(payer, named, schema, folder, choice)
    begin(folder, record, data, schema)
    receipt = None if payer is None or bill is None else charge_fits(payer, bill, named, schema, folder)
    models = [_fit(name, one, data, schema, folder, seed, progress, receipt) for name, one in named.items()]
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


def weights_of(each: Sequence[Candidate], **said: Any) -> dict[str, Any]:
    """The options of a workload. UsageError if no method has one."""
    found = {option: value for option, value in said.items() if value is not None}
    if found and not any(one.method in WEIGHED for one in each):
        check_names(each[0].method, (), found)
    return found


def made_before(folder: Path) -> Comparison | None:
    """The result of an earlier run that has made its choice."""
    path = folder / RESULT
    if not path.is_file():
        return None
    found = read_json(path)
    try:
        entries = tuple(Entry(**one) for one in found["entries"])
        return None if found["chosen"] is None else Comparison(**found | {"entries": entries})
    except (KeyError, TypeError):
        raise UsageError(f"out: {str(path)!r} is damaged; put it back as it was, or choose another name") from None


def check_tables(data: object, real: object, schema: Schema) -> None:
    """What can be known of the tables without a row of theirs is looked at before anything is written or charged."""
    PrivateTable(data, schema)
    if real is None:
        return
    if schema.label_kind not in ("binary", "multiclass"):
        raise UsageError(
            "real: a choice is made by predicting a class label, and the schema names none; publish all models"
        )
    if same(data, real):
        raise UsageError(
            "real: this is the table that is learned from; a choice is made on held-out rows of other people, who pay for it"
        )
    try:
        PrivateTable(real, schema)
    except UsageError as error:
        raise UsageError(f"real: {error}") from None


def same(data: object, real: object) -> bool:
    """Whether two tables are one frame or one file. Whether people are in both is theirs to know."""
    try:
        return data is real or os.path.samefile(data, real)  # type: ignore[arg-type]
    except (OSError, TypeError, ValueError):  # frames, addresses
        return False


def check_same(folder: Path, named: Mapping[str, Estimator], schema: Schema) -> dict[str, Any]:
    """What a comparison is known by. A folder belongs to one: models fitted under another split would spend more than the total,
    and so would models that were there before."""
    wanted = {
        "methods": {name: estimator.epsilon for name, estimator in named.items()},
        "schema": schema.fingerprint(),
        "delta": next(iter(named.values())).delta,
    }
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"out: {str(folder)!r} is a file and a folder is needed; choose another name")
    path = folder / RECORD
    if path.exists():
        if read_json(path) != wanted:
            raise UsageError(
                f"out: {str(folder)!r} holds another comparison; use the same methods, budget and schema, or another name"
            )
    elif folder.exists() and any(folder.iterdir()):
        raise UsageError(f"out: {str(folder)!r} holds files that are of no comparison; choose another name")
    return wanted


def begin(folder: Path, record: dict[str, Any], data: object, schema: Schema) -> None:
    """From here on the folder is this comparison's, and its models are of this table."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / RECORD).exists():
        keep_secret(sealed(folder), same_table.seal(data, schema))
        write_json(folder / RECORD, record)


def sealed(folder: Path) -> Path:
    """Where a comparison keeps the seal of its table: beside the folder, never inside, because it was computed from the rows."""
    return folder.with_name(f"{folder.name}.table.json")


def keep_secret(path: Path, found: Mapping[str, Any]) -> None:
    """A file for its owner alone."""
    path.unlink(missing_ok=True)  # of a comparison whose folder was deleted
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"secret": "computed from the rows: never hand this file on", **found}, file)


def check_table(folder: Path, data: object, schema: Schema) -> None:
    """Models that are kept must be of the table that the others will be fitted to. Without a seal nobody can know."""
    path = sealed(folder)
    if (folder / RECORD).exists() and path.is_file() and same_table.differs(data, schema, read_json(path)):
        raise UsageError(
            f"out: {str(folder)!r} holds models of another table; go on with the file it was begun with, or choose another name"
        )


@dataclass(frozen=True)
class Bill:
    """What the holder's account is charged for all fits, and by which token."""

    token: str
    postings: tuple[Posting, ...]


def bill_of(
    payer: Account, named: Mapping[str, Estimator], schema: Schema, folder: Path, choice: Sequence[dpa.DpEvent]
) -> Bill:
    """UsageError if the account does not cover all fits and the choice: fits alone would be paid for half of what was asked."""
    path = folder / CHARGED
    token = str(read_json(path)["token"]) if path.exists() else secrets.token_hex(16)
    postings = tuple(posting for one in named.values() for posting in payer.postings(one.plan(schema), schema))
    open_ = () if payer.refresh().receipt(token) else postings
    payer.check([*open_, *(Posting(CHOICE, event) for event in choice)])
    return Bill(token, postings)


def charge_fits(payer: Account, bill: Bill, named: Mapping[str, Estimator], schema: Schema, folder: Path) -> Receipt:
    """One entry for all fits. Its token is in the folder before it is charged: run again, nothing is charged twice."""
    write_json(folder / CHARGED, {"token": bill.token})
    return payer.charge(f"compare {', '.join(named)}", bill.postings, schema.fingerprint(), bill.token)


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
        return finished(
            load(target), estimator.plan(schema), schema, target
        )  # by an earlier run, which has paid for it
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


def finished(model: Model, plan: Plan, schema: Schema, target: Path) -> Model:
    """A model of an earlier run, which must be what the total was computed for."""
    other = model.plan.fingerprint() != plan.fingerprint() or model.schema.fingerprint() != schema.fingerprint()
    if other or model.void_reason:
        raise UsageError(
            f"out: {str(target)!r} is not the model that this comparison fits (another budget, schema or workload, or no "
            "guarantee): its total would be untrue; choose another name"
        )
    return model


def entry(name: str, estimator: Estimator, schema: Schema, budget: Budget, folder: Path) -> Entry:
    """One candidate of a comparison: its plan, and what it is expected to keep (not known of options that are varied)."""

    def kept(epsilon: float) -> float | None:
        if budget.pure or name not in METHODS:
            return None
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
