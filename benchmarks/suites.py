"""Suites: which data sets, budgets and figures repeat which published table.

A suite names its data sets, its budgets (epsilon), what is scored, and the published columns to print beside our own.
Where a table varies something else (an ablation, the number of teachers), the suite has variants: every method runs once
with the options of each, and the published number of a variant is the one that the paper prints for it.
`--quick` keeps every data set but takes fewer rows, classifiers, budgets and seeds; quick results go to a file of
their own and are never mixed with full ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from understudy.errors import UsageError

Scoring = Literal["utility", "images", "codes", "whole-table"]

IMPLEMENTATIONS = ("original", "updated", "synthcity", "turing", "borealis", "smartnoise")
FOUR = ("credit-card-fraud", "cervical-cancer", "isolet-vowels", "epileptic-seizure")
WHOLE_TABLES = (
    "adult", "cardiovascular", "diabetes-130us", "diabetes-130us-people", "diabetes-130us-rows", "credit-card-fraud",
    "cervical-cancer", "nist-ma2019", "nist-national2019",
)  # fmt: skip
WHOLE_MEASURES = (
    "one-way", "two-way", "three-way", "association", "strong-association", "query", "told-apart", "label-target",
    "other-targets", "k-marginal", "impossible-rows", "determined-pairs",
)  # fmt: skip
QUICK_ROWS = 2_000
QUICK_IMAGES = 1_000
QUICK_CODES = 12
OF_G_PATE = "-g-pate"  # models with the settings of that paper; its tables call them by the plain name
QUICK_CLASSIFIERS = ("logistic", "gaussian-nb", "tree")

# References without privacy: no budget enters them, so one run stands for all, and what papers print for a private
# method at infinite epsilon is the number of the reference that has its networks.
NOT_PRIVATE = ("gan", "medgan", "tablegan", "corgan", "pate-gan-noise-free", "g-pate-noise-free")
NOISE_FREE = {"gan": "dpgan", "corgan": "rdp-cgan", "pate-gan-noise-free": "pate-gan", "g-pate-noise-free": "g-pate"}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A published column: the number of `paper`, `table` and `method` (empty: the method we run) for the row's
    data set and budget.
    """

    title: str
    paper: str
    table: str
    method: str = ""
    variant: str | None = None


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One row of an ablation: what it is called, which options of the method make it, and how the published numbers
    name it (None: they do not tell variants apart).
    """

    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    published: str | None = None


@dataclass(frozen=True, kw_only=True)
class Suite:
    """One table to repeat."""

    name: str
    title: str
    datasets: tuple[str, ...]
    metrics: tuple[str, ...] = ("auroc", "auprc")
    epsilons: tuple[float, ...] = (1.0,)
    delta: float = 1e-5
    methods: tuple[str, ...] = ("pate-gan",)
    seeds: int = 5
    references: tuple[Reference, ...] = ()
    per_model: bool = False
    scoring: Scoring = "utility"
    classifiers: tuple[str, ...] | None = None  # None: all twelve
    split: str = "random"
    rows: int | None = None
    max_rows: int = 20_000  # classifiers train on at most this many rows
    columns: int | None = None  # code tables: only so many of the most frequent codes
    variants: tuple[Variant, ...] = ()

    def variant(self, options: Mapping[str, Any]) -> Variant:
        """The variant that a cell with these options belongs to: of those it contains, the one that says most."""
        held = [one for one in self.variants if one.options.items() <= options.items()]
        return max(held, key=lambda one: len(one.options), default=Variant())

    def quick(self) -> Suite:
        """The same table in minutes: fewer rows, classifiers, budgets, codes, variants and seeds."""
        names = (
            tuple(n for n in QUICK_CLASSIFIERS if self.classifiers is None or n in self.classifiers) or self.classifiers
        )
        few = 1 if self.scoring != "utility" else 2
        ends = self.epsilons if len(self.epsilons) <= few else (self.epsilons[0], self.epsilons[-1])[:few]
        return replace(
            self,
            title=f"{self.title} (quick variant: not comparable with published numbers)",
            rows=QUICK_ROWS if self.scoring != "images" else QUICK_IMAGES,
            max_rows=QUICK_ROWS,
            classifiers=names,
            epsilons=ends,
            columns=QUICK_CODES if self.scoring == "codes" else None,
            variants=self.variants if len(self.variants) < 2 else (self.variants[0], self.variants[-1]),
            seeds=1,
        )


def _paper(table: str, title: str = "published", **more: str) -> Reference:
    return Reference(title=title, paper="pate-gan", table=table, **more)


def _audited(table: str) -> tuple[Reference, ...]:
    return tuple(Reference(title=name, paper="pate-gan-audit", table=table, method=name) for name in IMPLEMENTATIONS)


def _table(paper: str, table: str, title: str = "published", **more: str) -> Reference:
    return Reference(title=title, paper=paper, table=table, **more)


_EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0)
_FOUR_MODELS = tuple(f"{name}{OF_G_PATE}" for name in ("logistic", "adaboost", "bagging", "mlp"))  # appendix A.6

_MLP = "without convolution in"
_ABLATIONS = (
    Variant(published=""),
    Variant(label=f"{_MLP} autoencoder", options={"autoencoder": "mlp"}, published=f"{_MLP} autoencoder"),
    Variant(label="without autoencoder", options={"autoencoder": "none"}, published="without autoencoder"),
    Variant(label=f"{_MLP} generator", options={"generator": "mlp"}, published=f"{_MLP} generator"),
    Variant(label=f"{_MLP} critic", options={"critic": "mlp"}, published=f"{_MLP} discriminator"),
    Variant(label=f"{_MLP} either", options={"generator": "mlp", "critic": "mlp"}, published=f"{_MLP} either"),
)


def _directions(projected: int, teachers: int, published: str) -> Variant:
    """G-PATE with one ensemble per digit: the paper counts the teachers of all ten."""
    label = f"{projected} dimensions, 10 x {teachers} teachers"
    return Variant(label=label, options={"projected": projected, "teachers": teachers}, published=published)


def _suites(*suites: Suite) -> dict[str, Suite]:
    return {suite.name: suite for suite in suites}


SUITES = _suites(
    Suite(
        name="pate-gan-table-1",
        title="PATE-GAN Table 1: Kaggle Credit, twelve models",
        datasets=("credit-card-fraud",),
        references=(_paper("1"),),
        per_model=True,
    ),
    Suite(
        name="pate-gan-table-2",
        title="PATE-GAN Table 2 and audit Table 4: four data sets, average of twelve models",
        datasets=FOUR,
        references=(_paper("2"), *_audited("4")),
    ),
    Suite(
        name="pate-gan-table-3",
        title="PATE-GAN Table 3: synthetic ranking agreement against epsilon, Kaggle Credit",
        datasets=("credit-card-fraud",),
        metrics=("sra",),
        epsilons=_EPSILONS,
        references=(_paper("3"),),
    ),
    Suite(
        name="pate-gan-table-5",
        title="PATE-GAN Table 5 and audit Table 7: setting A (real rows only)",
        datasets=(*FOUR, "mnist"),
        methods=(),
        references=(_paper("5", method="real"), _table("pate-gan-audit", "7", "audit", method="real")),
    ),
    Suite(
        name="pate-gan-table-6",
        title="PATE-GAN Table 6: agreement of the feature-importance ranking against epsilon, Kaggle Credit",
        datasets=("credit-card-fraud",),
        metrics=("feature-ranking-agreement",),
        epsilons=_EPSILONS,
        references=(_paper("6"),),
    ),
    Suite(
        name="pate-gan-table-7",
        title="PATE-GAN Table 7: UCI ISOLET at epsilon 1 and 10",
        datasets=("isolet-vowels",),
        epsilons=(1.0, 10.0),
        references=(_paper("7"),),
    ),
    Suite(
        name="pate-gan-table-8",
        title="PATE-GAN Table 8: UCI Epileptic Seizure at epsilon 1 and 10",
        datasets=("epileptic-seizure",),
        epsilons=(1.0, 10.0),
        references=(_paper("8"),),
    ),
    Suite(
        name="pate-gan-table-11",
        title="PATE-GAN Table 11: Kaggle Cervical Cancer, twelve models",
        datasets=("cervical-cancer",),
        references=(_paper("11"),),
        per_model=True,
    ),
    Suite(
        name="audit-table-5",
        title="Audit Tables 5 and 10: UCI Epileptic Seizure, twelve models",
        datasets=("epileptic-seizure",),
        references=(*_audited("5"), *_audited("10")),
        per_model=True,
    ),
    Suite(
        name="audit-table-8",
        title="Audit Tables 8 and 9: Kaggle Credit, twelve models",
        datasets=("credit-card-fraud",),
        references=(
            _table("pate-gan-audit", "8", method="paper"),
            _table("pate-gan-audit", "9", method="paper"),
            *_audited("8"),
            *_audited("9"),
        ),
        per_model=True,
    ),
    Suite(
        name="g-pate-table-1",
        title="G-PATE Tables 1 and 4: Kaggle Credit, four models",
        datasets=("credit-card-fraud",),
        methods=("g-pate", "pate-gan"),
        references=(_table("g-pate", "1"), _table("g-pate", "4")),
        classifiers=_FOUR_MODELS,
        per_model=True,
    ),
    Suite(
        name="g-pate-table-2",
        title="G-PATE Table 2: ten-class accuracy on MNIST and Fashion-MNIST",
        datasets=("mnist", "fashion-mnist"),
        metrics=("accuracy",),
        epsilons=(1.0, 10.0),
        methods=("g-pate",),
        seeds=3,
        references=(_table("g-pate", "2"),),
        scoring="images",
        split="official",
    ),
    Suite(
        name="g-pate-table-3",
        title="G-PATE Table 3: projected dimensions and number of teachers, epsilon 1",
        datasets=("mnist", "fashion-mnist"),
        metrics=("accuracy",),
        methods=("g-pate",),
        seeds=1,
        references=(_table("g-pate", "3"),),
        scoring="images",
        split="official",
        max_rows=5_000,  # runs of the CNN in minutes; the trend is what is asked for
        variants=(
            # The paper varies one and keeps the other at its best, 10 dimensions and 4,000 teachers: one row for both.
            _directions(5, 400, "projection=5"),
            _directions(10, 400, "projection=10"),
            _directions(20, 400, "projection=20"),
            _directions(784, 400, "projection=none"),
            _directions(10, 200, "teachers=2000"),
            _directions(10, 300, "teachers=3000"),
        ),
    ),
    Suite(
        name="rdp-cgan-table-2",
        title="RDP-CGAN Table 2: dimension-wise prediction on code tables (the open demo and HIVA, not full MIMIC-III)",
        datasets=("mimic3-demo", "hiva"),
        metrics=("dimension-wise-f1", "dimension-wise-f1-top-50", "dimension-wise-f1-top-100", "mmd"),
        epsilons=(1.0, 10.0),
        methods=("rdp-cgan", "dpgan", "medgan", "corgan"),  # nothing published: full MIMIC-III is not among our tables
        seeds=3,
        scoring="codes",
    ),
    Suite(
        name="rdp-cgan-table-6",
        title="RDP-CGAN Table 6: four of six data sets at epsilon 1",
        datasets=("cervical-cancer", "epileptic-seizure", "cardiovascular", "mitbih"),
        methods=(
            "dpgan",
            "pate-gan",
            "rdp-cgan",
            "corgan",
        ),  # corgan: rdp-cgan's networks without privacy, the upper bound
        seeds=3,
        references=(_table("rdp-cgan", "6"),),
    ),
    Suite(
        name="rdp-cgan-table-4",
        title="RDP-CGAN Tables 4 and 5: references without privacy (gan: DPGAN's networks, corgan: RDP-CGAN's)",
        datasets=("cervical-cancer", "epileptic-seizure", "cardiovascular", "mitbih"),
        methods=("medgan", "tablegan", "gan", "corgan"),
        seeds=2,
        references=(_table("rdp-cgan", "4"), _table("rdp-cgan", "5")),
    ),
    Suite(
        name="rdp-cgan-table-7",
        title="RDP-CGAN Tables 7 and 8: ablations without privacy (corgan: RDP-CGAN's networks with noise off)",
        datasets=("cervical-cancer", "cardiovascular", "epileptic-seizure", "mitbih"),
        methods=("corgan",),
        seeds=1,
        references=(_table("rdp-cgan", "7"), _table("rdp-cgan", "8")),
        variants=_ABLATIONS,
    ),
    Suite(
        name="gradients-sanity",
        title="Does training on noisy gradients work at all: DPGAN and RDP-CGAN at epsilon 100 beside their networks "
        "without noise (gan, corgan)",
        datasets=("epileptic-seizure", "cardiovascular"),
        methods=("gan", "dpgan", "corgan", "rdp-cgan"),
        epsilons=(100.0,),
        seeds=2,
        classifiers=("logistic", "gaussian-nb", "forest"),
        max_rows=5_000,
    ),
    Suite(
        name="pate-gan-no-start",
        title="PATE-GAN without a paid start: joint votes alone, beside the published figures of PATE-GAN",
        datasets=("credit-card-fraud", "epileptic-seizure", "cardiovascular", "isolet-vowels"),
        methods=("pate-gan-joint",),
        seeds=3,
        references=(
            _paper("2", method="pate-gan"),
            _table("rdp-cgan", "6", "in RDP-CGAN", method="pate-gan"),
        ),
    ),
    Suite(
        name="pate-gan-as-published",
        title="PATE-GAN's Algorithm 1 as published, stopping where its own accountant says (its guarantee is void)",
        datasets=("credit-card-fraud", "cervical-cancer", "epileptic-seizure"),
        methods=("pate-gan-as-published",),
        seeds=3,
        references=(_paper("2", method="pate-gan"), *_audited("4")),
    ),
    Suite(
        name="gradients-start",
        title="What the gradients of DPGAN add to the start that was paid for, and what they are worth alone",
        datasets=("cervical-cancer", "epileptic-seizure", "cardiovascular"),
        methods=("dpgan",),
        seeds=3,
        classifiers=("logistic", "gaussian-nb", "forest"),
        max_rows=5_000,
        variants=(
            Variant(label="start and gradients", options={"gradients_share": 0.2}),
            Variant(label="start alone", options={"gradients_share": None}),
            Variant(label="gradients alone", options={"start": "none"}),
        ),
    ),
    Suite(
        name="mixed",
        title="Mixed tables without a published comparison: Adult, and diabetes 130-US with the patient as unit",
        datasets=("adult", "diabetes-130us"),
        metrics=("auroc", "auprc", "accuracy"),
        seeds=3,
    ),
    Suite(
        name="methods",
        title="Our methods beside each other: six tables at epsilon 1, average of twelve models",
        datasets=(*FOUR, "adult", "cardiovascular"),
        methods=("pate-gan", "mean-embedding", "mst", "aim", "independent"),
        seeds=3,
        references=(_paper("2", "PATE-GAN paper", method="pate-gan"), *_audited("4")),
    ),
    Suite(
        name="person-level",
        title="What person-level privacy costs: diabetes 130-US by patient and by encounter",
        datasets=("diabetes-130us", "diabetes-130us-rows"),
        metrics=("auroc", "accuracy"),
        methods=("mst", "mean-embedding"),
        seeds=3,
    ),
    Suite(
        name="whole-table",
        title="Whole-table fidelity: every measure that needs no label",
        datasets=WHOLE_TABLES,
        metrics=WHOLE_MEASURES,
        epsilons=(0.1, 1.0, 10.0, 100.0),
        methods=("independent", "mst", "aim", "clique-tree", "mean-embedding", "pate-gan"),
        seeds=3,
        scoring="whole-table",
    ),
    Suite(
        name="builtin",
        title="Tables that need no file: breast cancer, digits, RAND health insurance (person as unit)",
        datasets=("breast-cancer", "digits", "randhie"),
        metrics=("auroc", "auprc", "accuracy"),
        seeds=3,
    ),
)


def suite(name: str) -> Suite:
    """The suite of that name."""
    found = SUITES.get(name)
    if found is None:
        near = get_close_matches(name, SUITES, n=1)
        advice = f"did you mean {near[0]!r}?" if near else "see `python -m benchmarks list`"
        raise UsageError(f"--suite: unknown suite {name!r}; {advice}")
    return found
