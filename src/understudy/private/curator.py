"""The door in the wall.

A curator holds the table, the ledger and the noise. Each of its methods charges the ledger first, then computes, then
returns a `Release`. What it returns may be shown to anyone; what it holds may not.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Ledger
from understudy.marginals import Marginals
from understudy.private.mechanisms.bounds import PrivateBounds
from understudy.private.mechanisms.categories import PrivateCategories
from understudy.private.mechanisms.column_histograms import ColumnHistograms, Floats
from understudy.private.mechanisms.exponential_choice import POINTS, ExponentialChoice, Judge, score, total_points
from understudy.private.mechanisms.group_sum import GroupMap, GroupSum
from understudy.private.mechanisms.histogram import ClassHistogram
from understudy.private.mechanisms.marginal_counts import (
    CellMap,
    Clique,
    MarginalCounts,
    cell_numbers,
    exact_counts,
)
from understudy.private.mechanisms.noisy_sum import BLOCK, FeatureMap, NoisySum, Vectors
from understudy.private.mechanisms.second_moments import ClassFeatureMap, SecondMoments
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Ints
from understudy.private.release import Release
from understudy.private.rounds import Conversation, Mechanism
from understudy.private.table import PrivateTable
from understudy.schema import Bounds, Codec, Column, Encoded, Schema, to_numbers, to_texts

__all__ = ["Curator"]

Estimate = PrivateBounds | PrivateCategories


class Curator:
    """Answers questions about one table under one ledger.

    `transcript` collects what was released. A curator that is given one repeats it instead of asking the table again, which
    is how a fit resumes without being charged twice.
    """

    __slots__ = ("_cells", "_codec", "_encoded", "_ledger", "_noise", "_replay", "_schema", "_table", "transcript")

    def __init__(
        self,
        table: PrivateTable | None,
        schema: Schema,
        ledger: Ledger,
        noise: NoiseSource,
        transcript: Sequence[Any] | None = None,
    ) -> None:
        self._table, self._schema, self._ledger, self._noise = table, schema, ledger, noise
        self._encoded: Encoded | None = None
        self._codec: Codec | None = None
        self._cells: tuple[IntArray, tuple[int, ...], dict[Clique, IntArray]] | None = None
        self._replay = iter(transcript) if transcript is not None else None
        self.transcript: list[Any] = []

    def __repr__(self) -> str:
        return "Curator(contents are private)"

    def _release(self, purpose: str, event: dpa.DpEvent, compute: Callable[[], Any]) -> Any:
        """Charge, compute, write down; or repeat what an interrupted fit has already released and paid."""
        if self._replay is not None:
            value = next(self._replay)
        else:
            # The token is fresh: a second release under the same purpose would have to be announced and paid.
            self._ledger.charge(purpose, event, token=secrets.token_hex(16))
            value = compute()
        self.transcript.append(value)
        return value

    # -- what the schema left to be estimated ------------------------------------------------------------------------
    def estimate(self, group: str, mechanism: Estimate) -> Release[Bounds | tuple[Any, ...]]:
        """Bounds or categories of the columns that share the estimate `group`."""
        columns = [column for column in self._schema.columns if column.estimate == group]
        value = self._release(f"estimate {group}", mechanism.event, lambda: self._estimate(columns, mechanism))
        found = as_bounds(value, columns) if isinstance(mechanism, PrivateBounds) else tuple(value)
        return Release(found, mechanism.event)

    def _estimate(self, columns: Sequence[Column], mechanism: Estimate) -> list[Any]:
        table = self._rows()
        if isinstance(mechanism, PrivateBounds):
            values = np.concatenate([to_numbers(table._column(column.name), column) for column in columns])
            return list(mechanism.release(values, self._noise))
        keys: list[str] = []
        units = []
        for column in columns:
            found, present = to_texts(table._column(column.name), column)
            keys += found
            units.append(table._unit_ids()[present])
        return list(mechanism.release(keys, np.concatenate(units), self._noise))

    # -- from here on the schema is resolved --------------------------------------------------------------------------
    def adopt(self, codec: Codec) -> Release[None]:
        """Encode the rows with a resolved schema. Nothing leaves."""
        empty = Encoded(np.zeros((0, codec.width), np.float32), np.zeros(0, np.int32))
        self._codec, self._encoded = codec, empty if self._table is None else self._table._encode(codec)
        return Release(None, dpa.NoOpDpEvent())

    def class_histogram(self, mechanism: ClassHistogram) -> Release[IntArray]:
        """Noisy number of rows of every class; without a class label, the noisy number of rows."""
        codec, encoded = self._inside()
        compute = lambda: mechanism.release(encoded.classes, codec.class_count, self._noise).tolist()  # noqa: E731
        return Release(np.asarray(self._release("class histogram", mechanism.event, compute)), mechanism.event)

    def column_cells(self, purpose: str, mechanism: ColumnHistograms, numeric: Ints, edges: Floats) -> Release[Floats]:
        """Noisy cell counts of the numeric coordinates, all in one answer."""
        codec, encoded = self._inside()
        mechanism.check(codec, numeric.tolist(), ())
        compute = lambda: mechanism.cells(encoded.rows[:, numeric], edges, self._noise).tolist()  # noqa: E731
        return Release(np.asarray(self._release(purpose, mechanism.event, compute)), mechanism.event)

    def column_marginals(
        self, purpose: str, mechanism: ColumnHistograms, numeric: Ints, edges: Floats, discrete: Ints
    ) -> Release[tuple[Floats, Floats]]:
        """Noisy cell counts of numeric coordinates and noisy counts of ones of discrete coordinates, in one answer."""
        codec, encoded = self._inside()
        mechanism.check(codec, numeric.tolist(), discrete.tolist())

        def compute() -> list[Any]:
            cells = mechanism.cells(encoded.rows[:, numeric], edges, self._noise) if len(numeric) else np.zeros((0, 1))
            return [cells.tolist(), mechanism.ones(encoded.rows[:, discrete], self._noise).tolist()]

        cells, ones = self._release(purpose, mechanism.event, compute)
        return Release((np.asarray(cells), np.asarray(ones)), mechanism.event)

    def view(self, marginals: Marginals) -> Release[None]:
        """See the rows through released marginals from here on. Nothing leaves."""
        _, encoded = self._inside()
        self._encoded = encoded._replace(rows=marginals.view(encoded.rows))
        return Release(None, dpa.NoOpDpEvent())

    def see(self, features: FeatureMap) -> Release[None]:
        """See every row through a public map of that row alone from here on. Nothing leaves."""
        _, encoded = self._inside()
        starts = range(0, max(len(encoded.rows), 1), BLOCK)
        blocks = [np.asarray(features(encoded.rows[first : first + BLOCK]), np.float32) for first in starts]
        self._encoded = encoded._replace(rows=np.concatenate(blocks))
        return Release(None, dpa.NoOpDpEvent())

    def feature_sum(
        self, purpose: str, mechanism: NoisySum, features: FeatureMap, *, pooled: bool = False
    ) -> Release[Vectors]:
        """Noisy per-class sums (`pooled`: one sum) of a public feature map of the rows, clipped to norm 1 per unit."""
        codec, encoded = self._inside()

        def compute() -> Any:
            units = None if self._schema.unit is None else self._rows()._unit_ids()
            rows, classes = encoded.rows, np.zeros_like(encoded.classes) if pooled else encoded.classes
            count = 1 if pooled else codec.class_count
            return mechanism.release(rows, classes, count, units, features, self._noise).tolist()

        return Release(np.asarray(self._release(purpose, mechanism.event, compute)), mechanism.event)

    def group_sum(self, purpose: str, mechanism: GroupSum, features: GroupMap) -> Release[Vectors]:
        """Noisy sums per public group of a public vector of every row, clipped to norm 1 per unit."""
        _, encoded = self._inside()

        def compute() -> Any:
            units = None if self._schema.unit is None else self._rows()._unit_ids()
            return mechanism.release(encoded.rows, encoded.classes, units, features, self._noise).tolist()

        return Release(np.asarray(self._release(purpose, mechanism.event, compute)), mechanism.event)

    def second_moments(self, purpose: str, mechanism: SecondMoments, features: ClassFeatureMap) -> Release[Vectors]:
        """Noisy per-class sums of products of a public vector's coordinates, clipped to norm 1 per unit."""
        codec, encoded = self._inside()

        def compute() -> Any:
            units = None if self._schema.unit is None else self._rows()._unit_ids()
            rows, classes = encoded.rows, encoded.classes
            return mechanism.release(rows, classes, codec.class_count, units, features, self._noise).tolist()

        return Release(np.asarray(self._release(purpose, mechanism.event, compute)), mechanism.event)

    # -- marginals ----------------------------------------------------------------------------------------------------
    def discretise(self, cells: CellMap, sizes: Sequence[int]) -> Release[None]:
        """Put every row into one public cell of each node. Nothing leaves."""
        _, encoded = self._inside()
        self._cells = cell_numbers(cells(encoded.rows, encoded.classes), sizes), tuple(sizes), {}
        return Release(None, dpa.NoOpDpEvent())

    def marginal_counts(
        self, purpose: str, mechanism: MarginalCounts, cliques: Sequence[Clique]
    ) -> Release[list[IntArray]]:
        """Noisy counts of the marginals `cliques`, all in one answer."""
        compute = lambda: [  # noqa: E731
            part.tolist() for part in mechanism.release([self._counts(clique) for clique in cliques], self._noise)
        ]
        counts = [np.asarray(part, np.int64) for part in self._release(purpose, mechanism.event, compute)]
        return Release(counts, mechanism.event)

    def choose_marginal(
        self,
        purpose: str,
        mechanism: ExponentialChoice,
        candidates: Sequence[Clique],
        estimates: Sequence[IntArray],
        penalties: Sequence[int],
        weights: Sequence[int] | None = None,
    ) -> Release[int]:
        """The number of a candidate whose integer estimate is far from the truth, by the exponential mechanism.

        A candidate's score counts `weights` times, so a unit of m rows moves it by m times its weight, which the mechanism's
        scale has to cover.
        """
        times = [1] * len(candidates) if weights is None else list(weights)
        if mechanism.max_rows_per_unit < max(times) * self._schema.max_rows_per_unit:
            raise RuntimeError("the choice is priced for less than a unit's weight")

        def compute() -> int:
            public = zip(candidates, estimates, penalties, times, strict=True)
            scores = [w * score(self._counts(clique), estimate, penalty) for clique, estimate, penalty, w in public]
            return mechanism.release(scores, self._noise)

        return Release(int(self._release(purpose, mechanism.event, compute)), mechanism.event)

    def _counts(self, clique: Clique) -> IntArray:
        """Exact counts, kept because choices look at the same marginals again and again; they stay inside."""
        if self._cells is None:
            raise RuntimeError("discretise the rows before asking about marginals")
        cells, sizes, known = self._cells
        if clique not in known:
            known[clique] = exact_counts(cells, sizes, clique)
        return known[clique]

    def choose_model(self, purpose: str, mechanism: ExponentialChoice, judges: Sequence[Judge]) -> Release[int]:
        """The number of the judge that gives these rows most points, by the exponential mechanism.

        A judge is a public function; its points are clipped to 0..POINTS a row, so a unit of m rows moves a total by at
        most m POINTS, which the mechanism's scale has to cover.
        """
        _, encoded = self._inside()
        if mechanism.max_rows_per_unit < POINTS * self._schema.max_rows_per_unit:
            raise RuntimeError("the choice is priced for less than a unit's points")

        def compute() -> int:
            return mechanism.release([total_points(judge, encoded) for judge in judges], self._noise)

        return Release(int(self._release(purpose, mechanism.event, compute)), mechanism.event)

    def converse(self, purpose: str, mechanism: Mechanism) -> Release[Conversation]:
        """Open a conversation of many rounds. It charges the ledger itself, chunk by chunk."""
        _, encoded = self._inside()
        units = np.zeros(0, np.uint64) if self._table is None else self._table._unit_ids()
        data, held = mechanism.prepare(encoded, units, self._schema.unit is None, self._noise)
        conversation = Conversation(purpose, mechanism, data, held, self._ledger, self._noise)
        return Release(conversation, dpa.NoOpDpEvent())

    def _rows(self) -> PrivateTable:
        if self._table is None:
            raise RuntimeError("this curator only repeats what was released before")
        return self._table

    def _inside(self) -> tuple[Codec, Encoded]:
        if self._codec is None or self._encoded is None:
            raise RuntimeError("adopt a codec before asking about encoded rows")
        return self._codec, self._encoded


def as_bounds(interval: Sequence[float], columns: Sequence[Column]) -> Bounds:
    """Whole numbers for integer columns: outwards, so that nothing inside the private interval is lost."""
    lower, upper = interval
    if all(column.kind == "integer" for column in columns):
        lower, upper = float(np.floor(lower)), float(np.ceil(upper))
    return Bounds(lower, upper)
