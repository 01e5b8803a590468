"""Whole-table fidelity: measures that need no label, each beside what real rows and rows without dependence score."""

from dataclasses import dataclass

from understudy.evaluate.result.summary import Matrix, Summary

LEAST_WAY = {"told-apart": 0.05}  # an AUROC of shuffled columns that chance may show in a few hundred rows


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure of the synthetic tables and of the references that it is read against.

    `bootstrap` and `held_out` are real rows scored in place of synthetic ones: no stand-in can be expected to do better.
    `independent` are the real rows with every column shuffled on its own: all columns right, no dependence. `uniform`, where
    columns alone are measured, knows the schema and nothing else.
    """

    name: str
    value: Summary  # one run per synthetic table
    perfect: float
    bootstrap: float | None
    held_out: float | None  # None: no held-out rows given, or they are the test rows of this measure
    independent: float | None
    uniform: float | None
    floor: float | None  # what real rows score: the bootstrap; held-out rows where copies cannot but look perfect
    lost: float | None  # where the mean lies between the floor (0) and no dependence (1); None: those two hardly differ

    @classmethod
    def of(cls, name: str, value: Summary, perfect: float, uniform: float | None, **known: float | None) -> "Measure":
        """With floor and loss worked out. `known` are the references by name."""
        bootstrap, held_out, independent = (known.get(key) for key in ("bootstrap", "held_out", "independent"))
        floor = bootstrap
        if bootstrap is not None and (bootstrap >= perfect if value.higher_is_better else bootstrap <= perfect):
            floor = perfect if held_out is None else held_out
        return cls(
            name=name,
            value=value,
            perfect=perfect,
            bootstrap=bootstrap,
            held_out=held_out,
            independent=independent,
            uniform=uniform,
            floor=floor,
            lost=_lost(value, perfect, floor, independent if uniform is None else uniform, LEAST_WAY.get(name, 0.0)),
        )


def _lost(value: Summary, perfect: float, floor: float | None, worst: float | None, least: float) -> float | None:
    if value.mean is None or floor is None or worst is None:
        return None
    way = floor - worst if value.higher_is_better else worst - floor
    # Where no dependence is nearly as good as real rows, or better, its distance from them is mostly chance.
    if way <= max(least, 0.5 * abs(floor - perfect)):
        return None
    return (floor - value.mean if value.higher_is_better else value.mean - floor) / way


@dataclass(frozen=True, kw_only=True)
class MarginalError:
    """How far the joint distribution of one set of columns is off."""

    columns: tuple[str, ...]
    distance: float  # total variation, mean over synthetic tables


@dataclass(frozen=True, kw_only=True)
class Associations:
    """Cramer's V of every pair of columns, on the bins of the other measures."""

    columns: tuple[str, ...]
    real: Matrix
    synthetic: Matrix  # mean over synthetic tables
    difference: Matrix  # synthetic - real
    strong: int  # pairs whose association counts as strong


@dataclass(frozen=True, kw_only=True)
class Target:
    """A column predicted from all others: AUROC of boosted trees on real test rows."""

    column: str
    classes: int
    real: float  # trained on real rows
    synthetic: Summary  # trained on synthetic rows
    bootstrap: float | None


@dataclass(frozen=True, kw_only=True)
class ImpossiblePair:
    """A pair of columns in which synthetic rows hold values that no real row holds together."""

    columns: tuple[str, str]
    share: float  # of synthetic rows, mean over tables


@dataclass(frozen=True, kw_only=True)
class DeterminedPair:
    """In the real rows the first column determines the second."""

    columns: tuple[str, str]
    real: float  # share of rows that follow
    synthetic: Summary


@dataclass(frozen=True, kw_only=True)
class WholeTable:
    """Every measure, and where to look when one of them is bad."""

    compared_with: str  # "train" or "test": the real rows behind every measure
    real_rows: int
    held_out_rows: int | None
    bins: int  # of a numeric column
    boosted_rows: int  # most rows a side that the boosted classifiers see; 0: they were left out
    measures: tuple[Measure, ...]
    associations: Associations | None
    worst_sets: tuple[MarginalError, ...]
    targets: tuple[Target, ...]
    telling_columns: tuple[str, ...]
    impossible: tuple[ImpossiblePair, ...]
    determined: tuple[DeterminedPair, ...]
    notes: tuple[str, ...] = ()

    def measure(self, name: str) -> Measure | None:
        """The measure of that name, where it was computed."""
        return next((one for one in self.measures if one.name == name), None)

    def figures(self) -> dict[str, float | None]:
        """Means over the synthetic tables, by name."""
        return {one.name: one.value.mean for one in self.measures}
