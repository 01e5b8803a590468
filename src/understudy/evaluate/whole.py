"""Whole-table fidelity: every measure of `metrics` on the same bins, sets and questions, beside what real rows would score.

Each synthetic table and each reference goes through one function, `_count`, so that a measure means the same for all of them:

    bootstrap     as many rows as the synthetic table has, drawn from the real ones with replacement
    held out      real rows that the generator never saw, where given
    independent   the real rows, every column shuffled on its own: what a method that learns columns alone can reach

The number of held-out rows is usually smaller, so their sampling error is larger; both numbers stand in the result. References
are drawn once, with the seed of the evaluation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.evaluate import boosting, codes
from understudy.evaluate.codes import Codes
from understudy.evaluate.metrics import (
    associations,
    determined,
    impossible,
    k_marginal,
    marginals,
    queries,
    targets,
    told_apart,
)
from understudy.evaluate.result import DeterminedPair, MarginalError, Measure, Summary, Target, WholeTable
from understudy.evaluate.table import Table, prepare
from understudy.schema import Schema

# name: whether more is better, and what a perfect stand-in scores
MEASURES: Mapping[str, tuple[bool, float]] = {
    "one-way": (False, 0.0),
    "two-way": (False, 0.0),
    "three-way": (False, 0.0),
    "association": (False, 0.0),
    "strong-association": (False, 0.0),
    "query": (False, 0.0),
    "told-apart": (False, 0.5),
    "label-target": (True, 1.0),
    "other-targets": (True, 1.0),
    "k-marginal": (True, 1000.0),
    "impossible-rows": (False, 0.0),
    "determined-pairs": (True, 1.0),
}
WORST_SETS = 10
Tick = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class _Ruler:
    """What every table is measured with: fixed by the real rows and the seed."""

    real: Codes
    pairs: marginals.PairCounts
    triples: list[tuple[int, ...]]
    associations: np.ndarray
    queries: list[tuple[queries.Condition, ...]]
    answers: np.ndarray
    sdnist: Codes
    sets: list[tuple[int, ...]]
    dependences: list[determined.Dependence]


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """One table, measured."""

    figures: dict[str, float | None]
    pairs: marginals.PairCounts
    two_way: np.ndarray
    three_way: np.ndarray
    associations: np.ndarray


def whole_table(
    real: object,
    synthetic: object,
    schema: Schema,
    *,
    held_out: object = None,
    stable: str | None = None,
    boosted: bool = True,
    seed: int = 0,
) -> WholeTable | None:
    """Every measure of one or several synthetic tables against real rows: frames or files.

    `held_out` adds a second floor and test rows for the targets. `stable` is the column that SDNist's k-marginal keeps in
    every marginal. `boosted=False` leaves out what trains classifiers. None without a column or a row on either side.
    """
    sources = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    made = [prepare(source, schema) for source in sources]
    held = None if held_out is None else prepare(held_out, schema)
    return compare(prepare(real, schema), made, schema, held_out=held, stable=stable, boosted=boosted, seed=seed)


def compare(
    real: Table,
    synthetic: Sequence[Table],
    schema: Schema,
    *,
    held_out: Table | None = None,
    stable: str | None = None,
    boosted: bool = True,
    seed: int = 0,
    compared_with: str = "train",
    tick: Tick = lambda _: None,
) -> WholeTable | None:
    """As `whole_table`, on prepared tables; `tick` is told what comes next."""
    if real.rows == 0 or not real.values or not synthetic or min(table.rows for table in synthetic) == 0:
        return None
    held_out = held_out if held_out is not None and held_out.rows > 0 else None
    tick("marginals, associations, queries")
    coding, percentiles = codes.public_bins(real, schema), codes.percentiles(real, schema)
    ruler = _ruler(coding.apply(real), percentiles.apply(real), schema.label, stable, seed)
    counted = [_count(ruler, coding.apply(table), percentiles.apply(table)) for table in synthetic]
    references = _references(ruler, real.rows, synthetic[0].rows, seed)
    if held_out is not None:
        references["held_out"] = _count(ruler, coding.apply(held_out), percentiles.apply(held_out)).figures
    learned = _learn(real, synthetic, held_out, schema, seed, tick) if boosted else _Learned()
    runs = [one.figures | more for one, more in zip(counted, learned.runs or [{}] * len(counted), strict=True)]
    for name, figures in learned.references.items():
        references[name] = references[name] | figures
    uniform = {"one-way": float(marginals.uniform(ruler.real).mean())}
    names, chosen = ruler.real.names, list(ruler.pairs)
    return WholeTable(
        compared_with=compared_with,
        real_rows=real.rows,
        held_out_rows=None if held_out is None else held_out.rows,
        bins=codes.BINS,
        boosted_rows=boosting.MAX_ROWS if boosted else 0,
        measures=tuple(
            Measure.of(
                name,
                Summary.of([run.get(name) for run in runs], better),
                perfect,
                uniform.get(name),
                **{key: figures.get(name) for key, figures in references.items()},
            )
            for name, (better, perfect) in MEASURES.items()
            if any(run.get(name) is not None for run in runs)
        ),
        associations=associations.describe(names, chosen, ruler.associations, [one.associations for one in counted])
        if chosen
        else None,
        worst_sets=_worst_sets(ruler, counted),
        targets=learned.targets,
        telling_columns=learned.telling,
        impossible=impossible.worst(names, [one.pairs for one in counted], ruler.pairs),
        determined=_determined(ruler, counted),
        notes=_notes(ruler, schema, stable),
    )


def _ruler(real: Codes, sdnist: Codes, label: str | None, stable: str | None, seed: int) -> _Ruler:
    pairs = marginals.count_pairs(real, marginals.pairs_of(real.names, label))
    asked = queries.draw(real, seed)
    return _Ruler(
        real=real,
        pairs=pairs,
        triples=marginals.triples_of(len(real.names), marginals.TRIPLES, seed),
        associations=associations.vector(pairs),
        queries=asked,
        answers=queries.answers(real, asked),
        sdnist=sdnist,
        sets=k_marginal.sets_of(real.names, stable, seed),
        dependences=determined.find(pairs),
    )


def _count(ruler: _Ruler, table: Codes, sdnist: Codes) -> _Counted:
    """The measures that count."""
    pairs = marginals.count_pairs(table, list(ruler.pairs))
    two, three = marginals.two_way(ruler.pairs, pairs), marginals.of_sets(ruler.real, table, ruler.triples)
    linked = associations.vector(pairs)
    every, strong = associations.errors(ruler.associations, linked) if pairs else (None, None)
    follow = [value for one in ruler.dependences if (value := one.agreement(pairs)) is not None]
    return _Counted(
        figures={
            "one-way": float(marginals.one_way(ruler.real, table).mean()),
            "two-way": float(two.mean()) if len(two) else None,
            "three-way": float(three.mean()) if len(three) else None,
            "association": every,
            "strong-association": strong,
            "query": queries.error(ruler.answers, queries.answers(table, ruler.queries)),
            "k-marginal": k_marginal.score(ruler.sdnist, sdnist, ruler.sets),
            "impossible-rows": impossible.share(table, pairs, ruler.pairs) if pairs else None,
            "determined-pairs": float(np.mean(follow)) if follow else None,
        },
        pairs=pairs,
        two_way=two,
        three_way=three,
        associations=linked,
    )


def _references(ruler: _Ruler, rows: int, size: int, seed: int) -> dict[str, dict[str, float | None]]:
    rng = np.random.default_rng([seed, 1])
    again = rng.integers(rows, size=size)
    bootstrap = _count(ruler, ruler.real.take(again), ruler.sdnist.take(again)).figures
    state = rng.integers(1 << 62)
    shuffled = [table.shuffled(np.random.default_rng(state)) for table in (ruler.real, ruler.sdnist)]
    return {"bootstrap": bootstrap, "independent": _count(ruler, *shuffled).figures}


@dataclass(frozen=True, kw_only=True)
class _Learned:
    """What boosted trees found."""

    runs: tuple[dict[str, float | None], ...] = ()
    references: Mapping[str, dict[str, float | None]] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    telling: tuple[str, ...] = ()


def _learn(
    real: Table, synthetic: Sequence[Table], held_out: Table | None, schema: Schema, seed: int, tick: Tick
) -> _Learned:
    bootstrap, independent = _drawn(real, seed)
    tick("told from real")
    told = [told_apart.compare(real, t, schema, seed, explain=number == 0) for number, t in enumerate(synthetic)]
    tick("told from real: references")
    known: dict[str, dict[str, float | None]] = {
        name: {"told-apart": told_apart.compare(real, table, schema, seed)[0]}
        for name, table in (("bootstrap", bootstrap), ("independent", independent), ("held_out", held_out))
        if table is not None
    }
    tick("columns as targets")
    found = targets.compare(real, held_out, synthetic, schema, seed)
    known["bootstrap"] |= _kept(schema.label, {one: one.bootstrap for one in found})
    known["independent"] |= {"label-target": 0.0, "other-targets": 0.0}
    runs = [
        {"told-apart": area} | _kept(schema.label, {one: one.synthetic.runs[k] for one in found})
        for k, (area, _) in enumerate(told)
    ]
    return _Learned(runs=tuple(runs), references=known, targets=found, telling=told[0][1])


def _drawn(real: Table, seed: int) -> tuple[Table, Table]:
    """Bootstrap and independent rows for the classifiers: no more of them than those see."""
    rng = np.random.default_rng([seed, 2])
    size = min(real.rows, 2 * boosting.MAX_ROWS)
    few = real.sample(size, seed + 2)
    shuffled = {name: values[rng.permutation(few.rows)] for name, values in few.values.items()}
    return real.take(rng.integers(real.rows, size=size)), Table(rows=few.rows, values=shuffled, absent=real.absent)


def _kept(label: str | None, scores: Mapping[Target, float | None]) -> dict[str, float | None]:
    shares = {one.column: targets.kept(score, one.real) for one, score in scores.items()}
    others = [share for name, share in shares.items() if name != label and share is not None]
    return {
        "label-target": None if label is None else shares.get(label),
        "other-targets": float(np.mean(others)) if others else None,
    }


def _worst_sets(ruler: _Ruler, counted: Sequence[_Counted]) -> tuple[MarginalError, ...]:
    found = []
    for sets, distances in (
        (list(ruler.pairs), np.mean([one.two_way for one in counted], axis=0)),
        (ruler.triples, np.mean([one.three_way for one in counted], axis=0)),
    ):
        for k in np.argsort(-distances, kind="stable")[:WORST_SETS]:
            columns = tuple(ruler.real.names[i] for i in sets[k])
            found.append(MarginalError(columns=columns, distance=round(float(distances[k]), 6)))
    return tuple(found)


def _determined(ruler: _Ruler, counted: Sequence[_Counted]) -> tuple[DeterminedPair, ...]:
    return tuple(
        DeterminedPair(
            columns=one.columns(ruler.real.names),
            real=one.agreement(ruler.pairs) or 0.0,
            synthetic=Summary.of([one.agreement(table.pairs) for table in counted]),
        )
        for one in ruler.dependences
    )


def _notes(ruler: _Ruler, schema: Schema, stable: str | None) -> tuple[str, ...]:
    width = len(ruler.real.names)
    used = len({i for pair in ruler.pairs for i in pair})
    notes = []
    if used < width and width > 1:
        notes.append(f"pairs are those of {used} of {width} columns, evenly spaced")
    if stable is not None and stable not in ruler.real.names:
        notes.append(f"k-marginal: there is no column {stable!r}; triples were drawn instead")
    open_bounds = [
        c.name for c in schema.columns if c.kind in ("continuous", "integer", "datetime") and c.lower is None
    ]
    if open_bounds:
        columns = "one column" if len(open_bounds) == 1 else f"{len(open_bounds)} columns"
        notes.append(f"bins of {columns} without declared bounds span the real rows")
    return tuple(notes)
