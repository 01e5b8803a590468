"""Made-up evaluations that look like real ones: a mixed table, a wide one, images, binary codes, and almost nothing."""

import base64
import functools
import math
import random
import struct
import zlib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from understudy import report
from understudy.evaluate import result as r

HOSTILE = "\"><script>alert(1)</script>\n'ä"
MODELS = (
    "LogisticRegression",
    "RandomForest",
    "GaussianNB",
    "BernoulliNB",
    "LinearSVC",
    "DecisionTree",
    "LinearDiscriminantAnalysis",
    "AdaBoost",
    "Bagging",
    "GradientBoosting",
    "MLP",
    "XGBRegressor",
)
ORIGIN = {"model": "5f" * 32, "file": "a0" * 32}
CERTIFICATE = {
    "understudy": "certificate",
    "format": 1,
    "valid": True,
    "void_reasons": [],
    "flags": [],
    "method": "pate-gan",
    "claim": {
        "epsilon": 1.0,
        "delta": 1e-5,
        "unit": "one row",
        "neighbours": "add or remove one unit",
        "model": "central",
    },
    "budget": {"epsilon": 1.0, "delta": 1e-5},
    "attacker": {
        "rule": "trade-off curve of Gaussian noise",
        "at_1%_false_alarms": 0.03811,
        "at_10%_false_alarms": 0.24502,
    },
    "charges": [
        {"purpose": "label histogram", "share": 0.04, "epsilon_alone": 0.12, "noise": "Gaussian, scale 35"},
        {"purpose": "teacher votes", "share": 0.96, "epsilon_alone": 0.97, "noise": "Gaussian, scale 41, 3,840 times"},
    ],
    "unprotected": ["the names, order and kinds of the columns", "the number of rows, declared public in the schema"],
    "assumptions": ["Neighbouring tables differ by one unit.", "Noise comes from the operating system."],
    "not_covered": ["Groups: for a family of g units epsilon counts g times."],
    "notes": [],
}


def png(width: int, height: int, draw: Callable[[int, int], int]) -> str:
    """A grey PNG, base64."""
    raw = b"".join(b"\0" + bytes(draw(x, y) & 255 for x in range(width)) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


class Maker:
    def __init__(self, seed: int = 1, runs: int = 5) -> None:
        self.random = random.Random(seed)
        self.runs = runs

    def about(self, mean: float, sd: float = 0.01, low: float = 0.0, high: float = 1.0) -> r.Summary:
        return r.Summary.of([min(high, max(low, self.random.gauss(mean, sd))) for _ in range(self.runs)])

    def shares(self, count: int, centre: float, width: float) -> tuple[float, ...]:
        weights = [
            math.exp(-((((i + 0.5) / count - centre) / width) ** 2)) + 0.02 * self.random.random() for i in range(count)
        ]
        return tuple(w / sum(weights) for w in weights)

    def shape(self, column: str, kind: str, labels: tuple[str, ...] | None = None, off: float = 0.05) -> r.ColumnShape:
        numeric = labels is None
        count = 20 if labels is None else len(labels)
        centre, width = self.random.uniform(0.2, 0.8), self.random.uniform(0.1, 0.4)
        real = self.shares(count, centre, width)
        fake = self.shares(count, centre + off, width * (1 + off))
        low, high = (1.2e9, 1.6e9) if kind == "datetime" else (0.0, 90.0)
        edges = tuple(low + (high - low) * i / count for i in range(count + 1)) if numeric else None
        distance = sum(abs(a - b) for a, b in zip(real, fake, strict=True)) / 2
        mean = low + (high - low) * centre
        return r.ColumnShape(
            column=column,
            kind=kind,
            measure="kolmogorov-smirnov" if numeric else "total variation",
            distance=self.about(distance, 0.005),
            histogram=r.Histogram(
                edges=edges, labels=labels, real=real, synthetic=fake, is_datetime=kind == "datetime"
            ),
            real_missing=0.05 if column == "workclass" else 0.0,
            synthetic_missing=self.about(0.06, 0.004) if column == "workclass" else r.Summary.of([0.0] * self.runs),
            real_mean=mean if numeric else None,
            synthetic_mean=self.about(mean * 1.02, 1.0, 0, 2e9) if numeric else None,
            real_sd=12.0 if numeric else None,
            synthetic_sd=self.about(13.0, 0.4, 0, 99) if numeric else None,
            distinct_real=71,
            distinct_synthetic=80,
        )

    def matrix(self, count: int, strength: float) -> tuple[tuple[float | None, ...], ...]:
        loads = [self.random.uniform(-1, 1) for _ in range(count)]
        return tuple(
            tuple(1.0 if i == j else (strength * loads[i] * loads[j]) for j in range(count)) for i in range(count)
        )

    def pairs(self, columns: tuple[str, ...]) -> r.Associations:
        n = len(columns)
        state = self.random.getstate()
        real = self.matrix(n, 0.9)
        self.random.setstate(state)
        fake = self.matrix(n, 0.6)
        diff = tuple(
            tuple(None if a is None or b is None else b - a for a, b in zip(x, y, strict=True))
            for x, y in zip(real, fake, strict=True)
        )
        return r.Associations(columns=columns, real=real, synthetic=fake, difference=diff, strong=7)

    def measure(self, name: str, mean: float, floor: float, independent: float) -> r.Measure:
        better = name in ("k-marginal", "label-target", "other-targets", "determined-pairs")
        perfect = {"k-marginal": 1000.0, "told-apart": 0.5}.get(name, 1.0 if better else 0.0)
        runs = self.about(mean, 0.004 * max(1.0, mean), high=1000.0).runs
        known = {"bootstrap": floor, "held_out": 1.2 * floor, "independent": independent}
        uniform = independent if name == "one-way" else None
        return r.Measure.of(name, r.Summary.of(runs, better), perfect, uniform, **known)

    def whole(self, columns: tuple[str, ...]) -> r.WholeTable:
        figures = {
            "one-way": (0.02, 0.004, 0.5),
            "two-way": (0.05, 0.011, 0.08),
            "three-way": (0.12, 0.023, 0.2),
            "association": (0.05, 0.004, 0.13),
            "query": (0.09, 0.015, 0.16),
            "told-apart": (0.9, 0.51, 0.99),
            "other-targets": (0.8, 0.98, 0.0),
            "k-marginal": (880.0, 974.0, 820.0),
            "impossible-rows": (0.3, 0.02, 0.9),
            "determined-pairs": (0.82, 0.999, 0.2),
        }
        first, last = columns[0], columns[-1]
        return r.WholeTable(
            compared_with="train",
            real_rows=39_074,
            held_out_rows=9_768,
            bins=20,
            boosted_rows=10_000,
            measures=tuple(self.measure(name, *values) for name, values in figures.items()),
            associations=self.pairs(columns[:60]) if len(columns) > 1 else None,
            worst_sets=(r.MarginalError(columns=columns[:2], distance=0.36),),
            targets=(r.Target(column=last, classes=3, real=0.91, synthetic=self.about(0.85, 0.01), bootstrap=0.9),),
            telling_columns=columns[:2],
            impossible=(r.ImpossiblePair(columns=(first, last), share=0.12),),
            determined=(r.DeterminedPair(columns=(first, last), real=1.0, synthetic=self.about(0.8, 0.01)),),
            notes=("made-up figures",),
        )

    def setting(self, name: str, mean: float) -> r.Setting:
        sides = {"A": ("real", "real"), "B": ("synthetic", "real"), "C": ("synthetic", "synthetic")}
        keep, self.runs = self.runs, 1 if name == "A" else self.runs
        models = tuple(
            r.ModelScores(
                model=m,
                scores={
                    "auroc": self.about(mean - 0.05 * (i % 4) / 3, 0.012),
                    "auprc": self.about(mean - 0.2 - 0.05 * (i % 3), 0.03),
                },
                warnings=("did not converge in 1000 iterations",) if m == "LinearSVC" else (),
            )
            for i, m in enumerate(MODELS)
        )
        setting = r.Setting(
            name=name,
            trained_on=sides[name][0],
            tested_on=sides[name][1],
            train_rows=(20_000,) * self.runs,
            test_rows=(9_768,) * self.runs,
            models=models,
            average={"auroc": self.about(mean - 0.02, 0.01), "auprc": self.about(mean - 0.24, 0.02)},
        )
        self.runs = keep
        return setting

    def utility(self) -> r.Utility:
        agreement = r.RankingAgreement(
            of="models",
            value=self.about(0.7, 0.04),
            items=MODELS,
            real=tuple(0.9 - 0.01 * i for i in range(12)),
            synthetic=tuple(0.8 - 0.008 * i for i in range(12)),
            tied_pairs=self.about(0.01, 0.001),
            without_ties=self.about(0.71, 0.04),
        )
        return r.Utility(
            task="binary",
            metrics=("auroc", "auprc"),
            higher_is_better={"auroc": True, "auprc": True},
            base={"auroc": 0.5, "auprc": 0.24},
            settings=(self.setting("A", 0.90), self.setting("B", 0.79), self.setting("C", 0.83)),
            ranking_models=agreement,
            ranking_features=None,
        )

    def groups(self, by: str, role: str, values: tuple[str, ...], gone: tuple[str, ...] = ()) -> r.Groups:
        groups = tuple(
            r.Group(
                value=v,
                real_rows=4000 // (i + 1) ** 2 if v not in gone else 12,
                real_share=0.6 / (i + 1),
                synthetic_share=r.Summary.of([0.0] * self.runs) if v in gone else self.about(0.55 / (i + 1), 0.01),
                vanished=v in gone,
                shape_distance=r.Summary.of([None] * self.runs) if v in gone else self.about(0.1 + 0.03 * i, 0.01),
                setting_a={"auroc": 0.9 - 0.02 * i},
                setting_b={"auroc": self.about(0.8 - 0.04 * i, 0.01)},
            )
            for i, v in enumerate(values)
        )
        return r.Groups(by=by, role=role, groups=groups, vanished=gone, metrics=("auroc",))

    def release(self, shapes: tuple[r.ColumnShape, ...], violations: tuple[r.Violation, ...]) -> r.SyntheticTable:
        columns = tuple(
            r.SyntheticColumn(
                column=s.column,
                kind=s.kind,
                missing=0.06 if s.column == "workclass" else 0.0,
                edges=s.histogram.edges,
                labels=s.histogram.labels,
                shares=s.histogram.synthetic,
                outside=0.0,
                mean=None if s.histogram.edges is None else 41.3,
                sd=None if s.histogram.edges is None else 12.1,
                quantiles=None if s.histogram.edges is None else (0.0, 4.0, 20.5, 41.0, 60.0, 80.0, 90.0),
                is_datetime=s.histogram.is_datetime,
            )
            for s in shapes
        )
        names = tuple(s.column for s in shapes)[:60]
        schema = {
            "understudy": "schema",
            "label": {"column": shapes[0].column},
            "columns": {
                s.column: {"kind": s.kind, "lower": 0, "upper": 90}
                if s.histogram.labels is None
                else {"kind": s.kind, "categories": list(s.histogram.labels), "missing": True}
                for s in shapes
            },
        }
        return r.SyntheticTable(
            schema=schema,
            rows=30_000,
            columns=columns,
            pair_columns=names,
            pair_measures=(("pearson",) * len(names),) * len(names),
            pairs=self.matrix(len(names), 0.6),
            violations=violations,
            origin=ORIGIN,
        )

    def header(self, shapes: tuple[r.ColumnShape, ...], **changes: object) -> r.Header:
        values: dict[str, object] = dict(  # noqa: C408
            created="2026-03-01T12:34:56+00:00",
            test_rows=9_768,
            train_rows=39_074,
            synthetic_rows=(30_000,) * self.runs,
            columns=len(shapes),
            kinds={s.column: s.kind for s in shapes},
            label="income",
            label_kind="binary",
            positive=">50K",
            classes=("<=50K", ">50K"),
            max_rows=20_000,
            seed=7,
            metrics=("utility", "fidelity", "groups", "diagnostics"),
            models=MODELS,
            versions={"understudy": "0.1", "scikit-learn": "1.7"},
            certificate=CERTIFICATE,
            seconds=214.5,
        )
        return r.Header(**(values | changes))  # type: ignore[arg-type]

    def fidelity(self, shapes: tuple[r.ColumnShape, ...], violations: tuple[r.Violation, ...] = ()) -> r.Fidelity:
        return r.Fidelity(shapes=shapes, whole=self.whole(tuple(s.column for s in shapes)), violations=violations)

    def diagnostics(self) -> r.Diagnostics:
        return r.Diagnostics(
            exact_copies=self.about(0.002, 0.0004),
            exact_copies_expected=0.0031,
            compared_with="train",
            distances=r.Distances(
                quantiles=(0.05, 0.25, 0.5, 0.75, 0.95),
                synthetic_to_train=(0.1, 0.4, 0.8, 1.3, 2.2),
                holdout_to_train=(0.05, 0.3, 0.6, 1.0, 1.9),
                closer_than_holdout=self.about(0.503, 0.004),
            ),
        )

    def adult(self) -> r.Evaluation:
        """A mixed table with missing cells, a datetime, odd names and a subgroup that vanished."""
        work = ("Private", "Self-emp-not-inc", "Local-gov", "State-gov", "Never-worked", "Without-pay", "Federal-gov")
        shapes = (
            self.shape("income", "categorical", ("<=50K", ">50K")),
            self.shape("age", "integer"),
            self.shape("workclass", "categorical", work, 0.2),
            self.shape("native-country", "categorical", tuple(f"Country number {i}" for i in range(41)), 0.02),
            self.shape("hours-per-week", "integer", None, 0.12),
            self.shape("admitted", "datetime", None, 0.1),
            self.shape("capital-gain", "continuous", None, 0.3),
            self.shape(HOSTILE, "categorical", ("<b>", "&amp;", '"quoted"'), 0.01),
            self.shape("年齢の説明がとても長い列名です", "integer"),
            self.shape("عمر المريض", "integer"),
            self.shape("a_column_with_a_very_long_name_that_nobody_would_want_to_read_in_a_chart", "continuous"),
        )
        broken = (r.Violation(column="age", rule="above upper", share=self.about(0.004, 0.001)),)
        return r.Evaluation(
            header=self.header(shapes),
            release=self.release(shapes, broken),
            fidelity=self.fidelity(shapes, broken),
            utility=self.utility(),
            mmd=r.Mmd(value=self.about(0.012, 0.001), noise=0.0004, bandwidth=1.7, real_rows=9768, synthetic_rows=9768),
            groups=(
                self.groups("income", "class", ("<=50K", ">50K")),
                self.groups("workclass", "subgroup", work, ("Never-worked", HOSTILE)[:1]),
            ),
            diagnostics=self.diagnostics(),
            warnings=("LinearSVC did not converge",),
        )

    def wide(self, columns: int = 617) -> r.Evaluation:
        """As many columns as ISOLET: the page must show the most telling ones and stay small."""
        shapes = tuple(self.shape(f"f{i}", "continuous", None, 0.1 * self.random.random()) for i in range(columns))
        return r.Evaluation(
            header=self.header(shapes),
            release=self.release(shapes, ()),
            fidelity=self.fidelity(shapes),
            utility=self.utility(),
            diagnostics=self.diagnostics(),
        )

    def images(self) -> r.Evaluation:
        shapes = (self.shape("label", "categorical", tuple("0123456789")), self.shape("p0", "integer"))
        noise = random.Random(3)
        real = png(280, 280, lambda x, y: int(255 * abs(math.sin((x % 28) / (3 + y // 28)) * math.cos((y % 28) / 5))))
        fake = png(280, 280, lambda x, y: noise.randrange(256) // (1 + (x % 28) // 6))
        release = self.release(shapes, ())
        return r.Evaluation(
            header=self.header(shapes, label="label", label_kind="multiclass", classes=tuple("0123456789")),
            release=r.SyntheticTable(
                **{**{f: getattr(release, f) for f in release.__dataclass_fields__}, "grid_png": fake}
            ),
            images=r.Images(
                height=28,
                width=28,
                channels=1,
                classes=tuple("0123456789"),
                real_grid_png=real,
                synthetic_grid_png=fake,
                columns_in_grid=10,
                accuracy_a=0.984,
                accuracy_b=self.about(0.61, 0.02),
                accuracy_per_class_b={str(i): 0.5 + 0.03 * i for i in range(10)},
            ),
            groups=(self.groups("label", "class", tuple("0123456789")),),
        )

    def codes(self) -> r.Evaluation:
        """An unlabelled binary table: dimension-wise figures instead of settings A, B and C."""
        shapes = tuple(self.shape(f"code {i}", "boolean", ("False", "True")) for i in range(60))
        names = tuple(s.column for s in shapes)
        real = tuple(self.random.random() ** 2 for _ in names)
        fake = tuple(min(1.0, max(0.0, v + self.random.gauss(0, 0.05))) for v in real)
        prediction = tuple(
            r.DimensionPrediction(
                model=m,
                top=t,
                columns=names[:t],
                real=real[:t],
                synthetic=fake[:t],
                real_mean=0.4,
                synthetic_mean=self.about(0.35, 0.02),
            )
            for m in ("forest", "xgboost", "tree")
            for t in (10, 50)
        )
        probability = r.DimensionProbability(
            columns=names,
            real=real,
            synthetic=fake,
            mean_absolute_difference=self.about(0.04, 0.002),
            correlation=self.about(0.97, 0.005),
        )
        return r.Evaluation(
            header=self.header(shapes, label=None, label_kind="none", positive=None, classes=(), models=()),
            release=self.release(shapes, ()),
            fidelity=self.fidelity(shapes),
            mmd=r.Mmd(value=self.about(0.01, 0.001), noise=None, bandwidth=2.0, real_rows=900, synthetic_rows=900),
            dimension_wise=r.DimensionWise(probability=probability, prediction=prediction),
        )

    def bare(self) -> r.Evaluation:
        """Nothing but a header and one column without a single value."""
        empty = r.Summary.of([None])
        shape = r.ColumnShape(
            column="x",
            kind="continuous",
            measure="kolmogorov-smirnov",
            distance=empty,
            histogram=r.Histogram(edges=None, labels=None, real=(), synthetic=()),
            real_missing=1.0,
            synthetic_missing=r.Summary.of([1.0]),
        )
        column = r.SyntheticColumn(
            column="x", kind="continuous", missing=1.0, edges=None, labels=None, shares=(), outside=0.0,
            mean=None, sd=None, quantiles=None,
        )  # fmt: skip
        return r.Evaluation(
            header=self.header(
                (shape,), certificate=None, train_rows=None, synthetic_rows=(0,), test_rows=0, label=None
            ),
            release=r.SyntheticTable(
                schema={}, rows=0, columns=(column,), pair_columns=("x",), pair_measures=(("pearson",),),
                pairs=((None,),), violations=(), origin=ORIGIN,
            ),
            fidelity=r.Fidelity(shapes=(shape,), whole=None, violations=()),
        )  # fmt: skip


CASES = ("adult", "wide", "images", "codes", "bare")
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source"}


class Element:
    """One element of a parsed page: tag, attributes, and the text inside it."""

    def __init__(self, tag: str, attributes: dict[str, str | None], parents: tuple[str, ...]) -> None:
        self.tag, self.attributes, self.parents, self.text = tag, attributes, parents, ""


class Page(HTMLParser):
    """The elements of a page in order; refuses tags that are not closed in the order they were opened."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.text = text
        self.feed(text)
        self.close()
        assert not self._open, [e.tag for e in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({k for k, _ in attrs}) == len(attrs), f"an attribute stands twice in <{tag}>"
        element = Element(tag, dict(attrs), tuple(e.tag for e in self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), tuple(e.tag for e in self._open)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1].tag == tag, f"</{tag}> closes {[e.tag for e in self._open]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        return [e for e in self.elements if e.tag == tag]


def follow(data: Any, pointer: str) -> Any:
    """What stands at an address (RFC 6901) of a JSON document."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        data = data[int(key)] if isinstance(data, list) else data[key]
    return data


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def parse() -> type[Page]:
    return Page


@pytest.fixture
def at() -> Callable[[Any, str], Any]:
    return follow


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """name -> a result file beside its two pages, made once."""

    @functools.cache
    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        getattr(Maker(), name)().save(folder / "result.json")
        report.write(folder / "result.json", folder)
        if not (folder / "release.html").exists():  # no certificate: drawn here all the same, in red
            (folder / "release.html").write_text(report.render(folder / "result.json", "release"), encoding="utf-8")
        return folder / "result.json"

    return make


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, results: Callable[[str], Path]) -> Path:
    """The result file of each made-up evaluation in turn."""
    return results(request.param)
