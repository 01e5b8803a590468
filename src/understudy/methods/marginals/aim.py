"""Adaptive choice of marginals as a method (AIM; McKenna, Mullins, Sheldon, Miklau 2022), with a schedule fixed in the plan.

    column cells 1, 2       where to cut numeric columns
    marginals by class      noisy counts of every column's outcomes per class, all in one answer
    choice k, counts k      in each round of stage k = 1 .. `STAGES`: choose the marginal that the model gets most wrong, count it
                            with noise, fit the model again

The workload is every pair of columns per class. A candidate r is a part of it: a column per class, a pair, a pair per class.
Its score, where n_r are the exact counts, mu_r the model's and s the noise that a count would have,

    w_r ( ||n_r - mu_r||_1 - sqrt(2 / pi) s cells(r) ),         w_r = sum over the workload of the nodes shared with r,

is by how much the model is wrong beyond what noise would bring. A unit, whose rows share a weight of 1, moves it by w_r at most.
Candidates whose model would hold more than `model_cells` cells (times the share of the budget spent so far, as published) are
left out; that depends on released choices only.

**Annealing.** The published AIM doubles a round's budget when the last count taught it little, and ends when the budget is
spent. What is spent when then depends on released values, and a price that is fixed beforehand does not cover that without a
privacy filter. Here the number of rounds and their noise are public and in the plan: stages of equally many rounds, each with
`GROWTH` times the squared privacy loss of the one before. Strong dependence is found while rounds are cheap; what is left is
counted with less noise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from understudy.accounting import Plan
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.measure.cells import learned_columns
from understudy.methods.marginals.by_class import (
    ByClass,
    announce_by_class,
    ask_by_class,
    cells_in_pairs,
    check_size,
    check_width,
    repeated,
)
from understudy.methods.marginals.junction import Clique, Graph, Measured, Model, all_pairs, tables
from understudy.questions import Counts, MarginalChoice
from understudy.questions.counts import deviation
from understudy.recipe import Announced, Curator, Opening, check_counts, check_positive
from understudy.schema import Codec, Schema

STAGES = 3
GROWTH = 2.0  # a stage's squared privacy loss, in terms of the one before


@dataclass(kw_only=True, eq=False, repr=False)
class Aim(Estimator):
    """Options of AIM."""

    method: ClassVar[str] = "aim"
    words: ClassVar[Mapping[str, str]] = {
        "rounds": "marginals that are chosen and counted; more mean more noise on each; None: twice as many as there are columns",
    }
    redrawn: ClassVar[str] = "understudy.methods.marginals.redraw:Redrawn"
    conditioned: ClassVar[str] = "understudy.methods.marginals.conditioned:Conditioned"
    by_person: ClassVar[bool] = True

    cells_share: float = 0.06  # shares of the squared privacy loss, see above
    marginals_share: float = 0.25
    choices_share: float = 0.1
    pairs_share: float = 0.5
    rounds: int | None = None  # None: twice as many as there are columns
    most_cells: int = 16  # cells of a column in pairs, at most
    noise_per_cell: float = 1.0  # rows in an average cell of a pair, in standard deviations of its noise
    model_cells: int = 250_000  # the largest model, which time and memory follow
    round_steps: int = 30  # of mirror descent between two rounds
    steps: int = 200  # and at the end; more of them fit the noise, too

    def check_options(self) -> None:
        check_positive(
            cells_share=self.cells_share,
            marginals_share=self.marginals_share,
            choices_share=self.choices_share,
            pairs_share=self.pairs_share,
            noise_per_cell=self.noise_per_cell,
        )
        check_counts(steps=self.steps, round_steps=self.round_steps, model_cells=self.model_cells)
        if self.rounds is not None:
            check_counts(rounds=self.rounds)
        if self.most_cells < 2:
            raise UsageError(f"most_cells={self.most_cells} must be at least 2")

    def stages(self, columns: int) -> list[tuple[int, float]]:
        """Rounds and share of each stage: public, from the number of columns and the options."""
        if columns < 2:
            return []
        rounds = self.rounds or 2 * columns
        shares = np.power(GROWTH, np.arange(min(STAGES, rounds)))
        split = [len(part) for part in np.array_split(np.arange(rounds), len(shares))]
        return list(zip(split, (shares / shares.sum()).tolist(), strict=True))

    def announce(self, schema: Schema) -> list[Announced]:
        columns = learned_columns(schema)
        check_width(self.method, columns)
        check_size(self.method, schema, self.model_cells)
        releases = announce_by_class(schema, self.cells_share, self.marginals_share)
        for number, (rounds, share) in enumerate(self.stages(columns), 1):
            event, detail = partial(repeated, rounds), f"{rounds} rounds"
            releases.append(
                Announced(choice(number), share * self.choices_share, event, rounds, f"choices in {detail}")
            )
            releases.append(Announced(count(number), share * self.pairs_share, event, rounds, f"marginals in {detail}"))
        return releases

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        noise, max_rows = plan.parameters["noise"], codec.schema.max_rows_per_unit
        stages = self.stages(learned_columns(codec.schema))
        last = deviation(noise.get(count(len(stages)), 1.0), 1, max_rows, share=True)
        most = cells_in_pairs(counts, last, self.noise_per_cell, self.most_cells)
        start = ask_by_class(curator, codec, counts, plan, most)
        if not start.nodes:
            return start.opening(codec, [])
        model = Model(start.sizes, start.total)
        model.add(start.measured)
        beliefs = model.descend(self.round_steps)
        weights = workload_weights(start) if stages else {}
        spent, cells, sizes = 0.0, start.cells, tuple(start.sizes)
        for number, (rounds, share) in enumerate(stages, 1):
            sigma = noise[count(number)]
            per_count = deviation(sigma, 1, max_rows, share=True)
            for _ in range(rounds):
                spent += share / rounds
                known = all_pairs(beliefs)
                open_to = [clique for clique in weights if fits(model.graph, clique, spent * self.model_cells)]
                estimates = tuple(np.rint(estimate(beliefs, known, clique)).astype(np.int64) for clique in open_to)
                by_noise = tuple(round(math.sqrt(2.0 / math.pi) * per_count * e.size) for e in estimates)
                own = tuple(weights[clique] for clique in open_to)
                choose = MarginalChoice(
                    cells, sizes, tuple(open_to), estimates, by_noise, own, noise[choice(number)], max_rows, share=True
                )
                found = open_to[curator.ask(choice(number), choose).value]
                asked = Counts.of_cliques(cells, sizes, [found], sigma, max_rows, share=True)
                part = curator.ask(count(number), asked).value[0]
                model.add([Measured(found, part.astype(float), per_count)])
                beliefs = model.descend(self.round_steps)
        beliefs = model.descend(self.steps)
        return start._replace(measured=model.measured).opening(codec, tables(beliefs))


def choice(stage: int) -> str:
    """The purpose of a stage's choice."""
    return f"choice {stage}"


def count(stage: int) -> str:
    """The purpose of a stage's counts."""
    return f"counts {stage}"


def workload_weights(start: ByClass) -> dict[Clique, int]:
    """Candidates and the nodes they share with all pairs per class, divided by what they have in common."""
    columns = range(1, len(start.nodes) + 1)
    workload: list[Clique] = [(0, a, b) for a in columns for b in columns if a < b]
    labelled = start.sizes[0] > 1
    found: dict[Clique, int] = {}
    for clique in [*((0, a) for a in columns), *workload, *(pair[1:] for pair in workload if labelled)]:
        own = set(clique) if labelled else set(clique) - {0}
        found[clique] = sum(len(own.intersection(other)) for other in workload)
    common = math.gcd(*found.values())
    return {clique: weight // common for clique, weight in found.items()}


def estimate(beliefs: Any, known: dict[Clique, np.ndarray], clique: Clique) -> np.ndarray:
    """The model's counts of a candidate."""
    if clique in known:
        return known[clique]
    if 0 in clique:
        return np.asarray(beliefs.marginal(clique))
    return np.asarray(known[0, *clique].sum(axis=0))


def fits(graph: Graph, clique: Clique, most: float) -> bool:
    """Whether the model with this marginal would keep to so many cells; one that changes nothing always does."""
    columns = [node for node in clique if node]
    if len(columns) == 1:
        return True
    cells = graph.cells_with(*columns)
    return cells == graph.cells or cells <= most
