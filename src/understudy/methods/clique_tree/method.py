"""The clique tree as a method: few fixed Gaussian answers for the whole table.

    column cells 1, 2     where to cut numeric columns
    one-way marginals     noisy counts of every column's outcomes
    pair distances        L1 distances of all columns and pairs from what is known of them, in one noisy vector
    pair levels           what coarser cells would lose of the farthest pairs, in another
    clique counts         noisy counts of every column, of the chosen pairs, and of triples (`triples.py`), all in one answer

After SWIFT (google/dpsynth): choose once, count once, fit for long. The workload is every pair of columns; pairs with the
label, or with the column that `focus` names, count more, and `workload` says what others count (`workload.py`). What is chosen
is a function of released distances (`select.py`).

**Wide tables.** With d columns there are d (d - 1) / 2 pairs; the noise of their distances grows with the root of that number,
and all that is counted afterwards shares one budget. Sums of bounded vectors have noise that does not grow with the columns. So
pictures and tables of more than 128 columns are handed over to the mean embedding (`taken_by`), by the schema alone, and the
plan says so.

**Few rows.** Where the released number of rows says that counts of pairs would be noise, the same answers ask for class means
(`few_rows.py`), and for what is missing together (`gaps.py`).

**Not enough rows for counts.** Where released distances say that counts of pairs would be wrong by more than what one number for
every pair tells, the last answer asks for these numbers (`scores.py`, `correlations.py`).

**People with several rows.** The rows of a unit share a weight of 1 in every answer, so that noise does not grow with the
number of rows that a unit may have. Figures are then averages over people, not over rows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.measure.cells import Grouping, estimate, learned_columns
from understudy.measure.decimals import found_decimals
from understudy.measure.one_way import announce_one_way
from understudy.methods.clique_tree.assemble import assemble
from understudy.methods.clique_tree.columns import ONE_WAY, Columns, ask_columns, averaged, level_map
from understudy.methods.clique_tree.correlations import arranged, by_themselves, kept_products, pairs_of, products_pay
from understudy.methods.clique_tree.descent import Measured, descend
from understudy.methods.clique_tree.few_rows import ask_again, ask_classes, enough_rows, kept_classes
from understudy.methods.clique_tree.gaps import ESTIMATED, gaps_of
from understudy.methods.clique_tree.generator import CliqueTreeGenerator
from understudy.methods.clique_tree.inside import Counted, best_known
from understudy.methods.clique_tree.kept import Table, kept_tables
from understudy.methods.clique_tree.levels import Layout
from understudy.methods.clique_tree.pairs import DISTANCES, LEVELS, ask_pairs
from understudy.methods.clique_tree.scores import ask_products
from understudy.methods.clique_tree.select import Candidate, Chosen, Selection
from understudy.methods.clique_tree.targets import targets_of
from understudy.methods.clique_tree.tree import JunctionTree
from understudy.methods.clique_tree.triples import count_triples
from understudy.methods.clique_tree.workload import Source, Workload, document
from understudy.methods.clique_tree.zeros import Side, Zeros
from understudy.methods.mean_embedding.method import MeanEmbedding
from understudy.methods.pictures.method import picture_shape
from understudy.methods.registry import METHODS
from understudy.questions import Clique, Counts
from understudy.recipe import Announced, Curator, Opening, Recipe, check_counts, check_positive
from understudy.released import Released
from understudy.schema import Codec, Schema
from understudy.schema.constraints import Sum

COUNTS = "clique counts"
MOST_COLUMNS = METHODS["clique-tree"].most_columns
BY_CLASS = (
    "learned of pairs: how every column depends on the label (class means) and nothing else, because rows are few"
)
BY_CLASS_AND_GAPS = BY_CLASS.replace("and nothing else", "and what is missing together")
BY_PRODUCTS = "learned of pairs: one number for each (products of scores), because counts would have told less"


@dataclass(kw_only=True, eq=False, repr=False)
class CliqueTree(Estimator):
    """Shares and weights are the first that were tried (Adult, 0.1 for distances after SWIFT)."""

    method: ClassVar[str] = "clique-tree"
    redrawn: ClassVar[str] = "understudy.methods.clique_tree.redraw_few:redrawn"
    conditioned: ClassVar[str] = "understudy.methods.marginals.conditioned:Conditioned"
    by_person: ClassVar[bool] = True

    cells_share: float = 0.05  # shares of the squared privacy loss, see above
    marginals_share: float = 0.1
    distances_share: float = 0.07
    levels_share: float = 0.03
    counts_share: float = 0.7
    focus: str | None = None  # a column whose pairs count more; None: the label, if there is one
    focus_weight: float = 3.0
    workload: Source = None  # what columns and pairs count: a file or a mapping
    column_weight: float = 2.0  # of every column by itself, where a pair has 1
    model_cells: int = 400_000  # of the clique tree; what has no room there is counted beside it
    passes: int = 200  # of the descent over the tree, at most; more lower the loss by a few per cent, see `descent.py`

    @property
    def histogram_weight(self) -> float:
        """Half of what others give it: pairs with the label show the classes, too."""
        return 0.5 * super().histogram_weight

    def check_options(self) -> None:
        check_positive(
            cells_share=self.cells_share,
            marginals_share=self.marginals_share,
            distances_share=self.distances_share,
            levels_share=self.levels_share,
            counts_share=self.counts_share,
            focus_weight=self.focus_weight,
            column_weight=self.column_weight,
        )
        check_counts(model_cells=self.model_cells, passes=self.passes)
        document(self.workload)

    def settings(self, schema: Schema, rows: int | None) -> dict[str, Any]:
        """With what the workload says in the place of its file's name."""
        return super().settings(schema, rows) | {"workload": document(self.workload)}

    def workload_of(self, schema: Schema, said: Mapping[str, Any] | None) -> Workload:
        """The weights of pairs; `said` is the workload as the plan has it."""
        return Workload.of(said, self.focus, self.focus_weight, schema)

    def taken_by(self, schema: Schema) -> tuple[Recipe, str]:
        columns, pictures = learned_columns(schema), picture_shape(schema) is not None
        if columns <= MOST_COLUMNS and not pictures:
            return self, ""
        why = "pictures" if pictures else f"{columns:,} columns, more than {MOST_COLUMNS}"
        for option in ("focus", "workload"):
            if getattr(self, option) is not None:
                raise UsageError(
                    f"{option}: mean-embedding takes this table ({why}), and all its columns count the same; leave it out"
                )
        other = MeanEmbedding(
            epsilon=self.epsilon, delta=self.delta, seed=self.seed, estimate_share=self.estimate_share
        )
        return other, f"{why}: counts of pairs would be noise, so mean-embedding takes this table from clique-tree"

    def announce(self, schema: Schema) -> list[Announced]:
        pairs = self.workload_of(schema, document(self.workload)).wanted(schema)
        if learned_columns(schema) == 0:
            return []
        releases = announce_one_way(schema, self.cells_share, self.marginals_share, ONE_WAY)
        if pairs:
            detail = f"{pairs:,} pair{'s' if pairs > 1 else ''} of columns"
            releases.append(Announced(DISTANCES, self.distances_share, dpa.GaussianDpEvent, detail=detail))
            detail = "what coarser cells of the farthest pairs lose"
            releases.append(Announced(LEVELS, self.levels_share, dpa.GaussianDpEvent, detail=detail))
        return [
            *releases,
            Announced(COUNTS, self.counts_share, dpa.GaussianDpEvent, detail="columns, chosen pairs and triples"),
        ]

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        """What the workload is, and what is asked instead of counts of pairs where rows are few."""
        columns, said = learned_columns(schema), settings["workload"]
        wanted = self.workload_of(schema, said)
        weighed = [] if said is None and self.focus is None else [wanted.words()]
        if DISTANCES not in noise or columns == 0:
            return weighed
        instead = (
            "where released distances say that counts of pairs tell less, one number is asked for every pair of columns"
        )
        instead += "; weights of single pairs do not count there" if said and said["pairs"] else ""
        of_label = any(wanted.of_pair(one.name, schema.label, schema.label) > 0.0 for one in schema.features)
        if schema.label_kind not in ("binary", "multiclass") or not of_label:
            return [*weighed, instead]
        needed = math.ceil(enough_rows(columns, noise[COUNTS]))
        alone = "; that serves the label, whatever else counts" if weighed else ""
        several = sum(column.missing for column in schema.columns) > 1
        gaps = ", and rows that miss much at once by themselves if their released number stands out" if several else ""
        return [
            *weighed,
            f"below about {needed:,} rows (released, not read; more where a class is rare) pairs of columns drown in noise: then "
            f"columns and class means are asked for{gaps}{alone}",
            instead,
        ]

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        noise, max_rows = plan.parameters["noise"], codec.schema.max_rows_per_unit
        if not codec.blocks:
            layout = Layout([[one_cell(codec.class_count)]], [])
            tree = JunctionTree(layout.sizes, [], [], 1.0)
            beliefs = tree.run([])
            network = assemble(tree, beliefs, layout, [], [], targets_of(tree, beliefs, []))
            return Opening(CliqueTreeGenerator.of(network, codec), network)
        columns = self.ask_columns(curator, codec, counts, plan)
        wanted = self.workload_of(codec.schema, plan.parameters["settings"]["workload"])
        weights, matter = self.weights(columns, codec.schema.label, wanted)
        enough = enough_rows(len(columns.nodes), noise[COUNTS], columns.class_weight)
        if columns.rows < enough and any(pair[0] == 0 for pair in weights):
            return self.by_class(curator, codec, columns, noise)
        if DISTANCES in noise and not weights:  # of a label one class was found, and nothing else is wanted
            again = range(1, len(columns.levels))
            columns, _ = ask_again(curator, columns, noise, {DISTANCES: again, LEVELS: again}, max_rows)
        base = [
            Candidate((n,), (len(columns.levels[n]) - 1,), columns.alone(n), 0.0, self.column_weight)
            for n in columns.numbers
        ]
        selection = Selection(columns.levels, base, noise[COUNTS], self.model_cells)
        if weights:
            pairs = ask_pairs(curator, columns, (noise[DISTANCES], noise[LEVELS]), max_rows, weights, matter)
            # Products compete with counts that are worth what they are by themselves: where rows are few, few tables are
            # counted, and they tell next to nothing of each other (bfi: pairs off by 0.115 instead of 0.099, two fits).
            apart = Selection(columns.levels, base, noise[COUNTS], self.model_cells, together=False)
            apart.run(pairs)
            scored = self.score_weights(columns, codec.schema.label, wanted)
            if products_pay(columns, pairs, apart.total, noise[COUNTS], scored):
                return self.by_products(curator, codec, columns, noise, scored)
            selection.run(pairs)
            selection.tie(pairs.candidates, sums_of(codec.schema, columns))
            count_triples(selection, columns, weights)
        chosen = selection.tables()
        layout = Layout(columns.levels, used(columns, chosen))
        columns, measured, raw = ask_counts(curator, columns, layout, chosen, noise[COUNTS], max_rows)
        kept = kept_tables(codec, columns, layout, raw, measured)
        inside, beside = (
            [m for m, one in zip(measured, chosen, strict=True) if one.beside is b] for b in (False, True)
        )
        tables = {tuple(number for number, _ in one.keys) for one in chosen}  # some pairs at two levels
        several = [sum(len(nodes) == k for nodes in tables) for k in (2, 3)]
        said = counted(several[0], several[1], len(weights), len(beside))
        return self.opening_of(codec, columns, layout, inside, beside, kept)._replace(said=said)

    def ask_columns(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Columns:
        """What is asked before anything about pairs."""
        pair_noise = plan.parameters["noise"][COUNTS] * math.sqrt(2.0 * learned_columns(codec.schema))
        return ask_columns(curator, codec, counts, plan, pair_noise)

    def by_class(self, curator: Curator, codec: Codec, columns: Columns, noise: Mapping[str, float]) -> Opening:
        """The model of a table with few rows: columns that depend on the class (`few_rows.py`)."""
        again = {DISTANCES: range(1, len(columns.levels)), LEVELS: [0]}
        gaps = gaps_of(codec, columns)
        columns, apart = ask_again(curator, columns, noise, again, codec.schema.max_rows_per_unit, gaps)
        columns, measured = ask_classes(curator, codec, columns, noise, COUNTS, apart)
        layout = Layout(columns.levels, [(number, 0) for number in range(1, len(columns.levels))])
        kept = kept_classes(codec, columns, measured, noise[COUNTS])
        if apart is None:
            return self.opening_of(codec, columns, layout, measured, [], kept)._replace(said=BY_CLASS)
        # Pairs beside the class form loops: the descent meets them if it knows every column by itself.
        alone = [Measured((number,), mass, ESTIMATED) for number, mass in enumerate(columns.masses)]
        opening = self.opening_of(codec, columns, layout, [*alone, *measured], [], kept)
        return opening._replace(said=BY_CLASS_AND_GAPS)

    def by_products(
        self,
        curator: Curator,
        codec: Codec,
        columns: Columns,
        noise: Mapping[str, float],
        weights: Mapping[int, float],
    ) -> Opening:
        """The model of a table with too few rows to count pairs (`scores.py`, `correlations.py`)."""
        columns, products = ask_products(curator, columns, COUNTS, noise[COUNTS], weights)
        layout = Layout(columns.levels, [(one.number, one.level) for one in products.scores.each])
        alone = by_themselves(columns, layout, products.scores)
        pairs = pairs_of(columns, products, sums_of(codec.schema, columns))
        inside, beside = arranged(layout, pairs, self.model_cells)
        kept = kept_products(codec, columns, layout, products, alone)
        return self.opening_of(codec, columns, layout, [*alone, *inside], beside, kept)._replace(said=BY_PRODUCTS)

    def score_weights(self, columns: Columns, label: str | None, wanted: Workload) -> dict[int, float]:
        """Columns that count more or less than others, in products of scores: a weight is a part of the budget of its pairs."""
        names = [label, *columns.names[1:]]  # a label that is a number is a column, too
        found = {number: math.sqrt(wanted.of_column(names[number], label)) for number in columns.numbers}
        return {number: weight for number, weight in found.items() if weight != 1.0}

    def opening_of(
        self,
        codec: Codec,
        columns: Columns,
        layout: Layout,
        inside: list[Measured],
        beside: list[Measured],
        kept: tuple[Released, ...],
    ) -> Opening:
        """The model of largest entropy that fits all counts `inside` its tree, and what rows are drawn from."""
        zeros, sides = Zeros(codec, intervals(columns)), sides_of(layout)
        inside, beside = ([zeros.without(m, sides) for m in part] for part in (inside, beside))
        tables_inside = [item.nodes for item in inside]
        impossible = zeros.links(sides, tables_inside, layout.links, self.model_cells)
        tree = JunctionTree(layout.sizes, tables_inside, [*layout.links, *impossible], columns.rows)
        beliefs = descend(tree, inside, self.passes)
        targets = targets_of(tree, beliefs, beside)
        counted = finest_pairs(layout, [*inside, *beside], tree.total)
        network = assemble(tree, beliefs, layout, columns.nodes, columns.masses[1:], targets, counted)
        found = found_decimals(columns.nodes)
        return Opening(CliqueTreeGenerator.of(network, codec), network, released=kept, decimals=found)

    def weights(self, columns: Columns, label: str | None, wanted: Workload) -> tuple[dict[Clique, float], set[Clique]]:
        """The workload: how much each pair counts that is wanted, and the pairs that are expected to depend.

        Of pairs with the label every class counts the same, however rare it is: what is told about a class is
        P(column | class), which a wrong row moves by 1 / n_c. On average over K classes that is N / (K n_c) times as much as
        where all rows are of one kind.
        """
        names = [label, *columns.names[1:]]
        pairs = [(a, b) for a in columns.numbers for b in columns.numbers if a < b]
        rarity = columns.class_weight if wanted.focus == label else 1.0
        weights = {(a, b): wanted.of_pair(names[a], names[b], label) * (rarity if a == 0 else 1.0) for a, b in pairs}
        return {pair: weight for pair, weight in weights.items() if weight > 0.0}, {
            (a, b) for a, b in pairs if wanted.matters(names[a], names[b], label)
        }


def counted(pairs: int, triples: int, wanted: int, beside: int) -> str:
    """Which way was taken, for people, where it is that of counts."""
    if not wanted:
        return "learned of pairs: nothing, as there is none that is wanted"
    more = f", {beside:,} of them beside the tree" if beside else ""
    follow = "; what the others show follows from these" if pairs < wanted else ""
    three = f", and {triples:,} sets of three columns at once" if triples else ""
    return f"learned of pairs: {pairs:,} of {wanted:,} were counted{more}{follow}{three}"


def sums_of(schema: Schema, columns: Columns) -> list[list[int]]:
    """The total and the parts of every sum that the schema states, by their numbers."""
    number = {name: place for place, name in enumerate(columns.names)}
    stated = [one for one in schema.constraints if isinstance(one, Sum)]
    return [[number[one.total], *(number[part] for part in one.parts)] for one in stated]


def sides_of(layout: Layout) -> list[Side]:
    """The nodes of the model, as constraints see them."""
    return [
        Side(column, grouping.cell, grouping.cells)
        for (column, _), grouping in zip(layout.keys, layout.groups, strict=True)
    ]


def finest_pairs(layout: Layout, measured: list[Measured], rows: float) -> Counted:
    """The pairs that were counted, and their noise."""
    pairs = [item for item in measured if len(item.nodes) == 2]
    nodes = np.asarray([item.nodes for item in pairs], int).reshape(-1, 2)
    noise = np.asarray([float(np.max(item.deviation)) for item in pairs]) / max(rows, 1.0)
    column = np.asarray([number for number, _ in layout.keys])
    return best_known(Counted(nodes[:, 0], nodes[:, 1], noise), np.asarray(layout.sizes), column)


def intervals(columns: Columns) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Where the outcomes of every column begin and how far they reach."""
    return {number: node.interval() for number, node in enumerate(columns.nodes, 1)}


def used(columns: Columns, chosen: list[Chosen]) -> list[tuple[int, int]]:
    """Columns and levels that the model needs: those of the chosen pairs, and for a column without pairs its finest one."""
    found = [key for one in chosen if len(one.keys) > 1 for key in one.keys]
    alone = set(columns.numbers) - {number for number, _ in found}
    return [*found, *((number, len(columns.levels[number]) - 1) for number in alone)]


def ask_counts(
    curator: Curator, columns: Columns, layout: Layout, chosen: list[Chosen], sigma: float, max_rows: int
) -> tuple[Columns, list[Measured], list[Table]]:
    """Counts of every column's outcomes and of the chosen pairs, all in one answer."""
    keys = [*((number, None) for number in range(len(columns.levels))), *layout.keys]
    place = {key: at for at, key in enumerate(keys)}
    cliques = [tuple(place[key if len(one.keys) > 1 else (key[0], None)] for key in one.keys) for one in chosen]
    cells, sizes = level_map(columns, keys)
    budgets = tuple(one.budget for one in chosen)
    question = Counts.of_cliques(cells, sizes, cliques, sigma, max_rows, share=True, budgets=budgets)
    found = curator.ask(COUNTS, question).value
    measured, masses = [], list(columns.masses)
    tables: list[Table] = []
    for one, part, deviation in zip(chosen, found, question.deviations, strict=True):
        if len(one.keys) > 1:
            tables.append((tuple(one.keys), np.asarray(part, float), deviation))
            measured.append(Measured(tuple(layout.number[key] for key in one.keys), np.asarray(part, float), deviation))
            continue
        number = one.keys[0][0]
        both, spread = averaged(columns.counts[number], columns.noise[number], np.asarray(part, float), deviation)
        tables.append((((number, None),), both, spread))
        masses[number] = both if number == 0 else estimate(columns.nodes[number - 1], both, spread, columns.rows)
        measured.append(of_column(layout, number, both, masses[number], spread))
    return columns._replace(masses=masses), measured, tables


def of_column(layout: Layout, number: int, counts: np.ndarray, mass: np.ndarray, noise: float) -> Measured:
    """A column's outcomes added up to the cells of its finest node, without the noise of those that are believed empty."""
    node = layout.finest[number]
    grouping = layout.groups[node]
    kept = (mass != 0.0).astype(float)
    cells = np.bincount(grouping.cell, counts * kept, minlength=grouping.cells)
    merged = np.bincount(grouping.cell, kept, minlength=grouping.cells)
    return Measured((node,), cells, noise * np.sqrt(np.maximum(merged, 1.0)))


def one_cell(classes: int) -> Grouping:
    """Classes are cells of their own."""
    return Grouping(np.arange(classes), classes)
