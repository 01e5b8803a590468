"""A fitted model: rows drawn from it, under conditions, beside given values, and again as other noise would have had them.

All of it is post-processing: it costs no privacy, and its randomness, reproducible with a seed, is not privacy noise. `sample`
needs nothing but what the model's folder holds (`folder.py`) and works in constant memory. What is guaranteed: `certified.py`.
"""

import math
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy import estimates
from understudy.certified import Certified
from understudy.errors import UsageError
from understudy.folder import read, write
from understudy.lazy import resolve
from understudy.methods.registry import method
from understudy.sampling.condition import Boxes, Where, on_label_only, parse_boxes, parse_where
from understudy.sampling.constrained import Keeper
from understudy.sampling.drawing import BATCH, EVERY, Source
from understudy.sampling.matching import Matching, changes_rows
from understudy.sampling.ruled_out import to_blame
from understudy.schema.codec import to_pandas
from understudy.schema.given import given_rows
from understudy.seeds import rng, sequence


class Model(Certified):
    """A fitted generator: sample-only, with its plan, ledger and certificate."""

    def __repr__(self) -> str:
        """Five lines: what it is, what is guaranteed, what it holds, and what to do with it."""
        budget, schema = self.plan.budget, self.schema
        lost = estimates.lost(schema, self.resolved)
        found = f"NOT FOUND: {', '.join(lost[:5])}" if lost else "all found" if schema.estimates else "none"
        guarantee = f"epsilon {budget.epsilon:g}, delta {budget.delta:g}, protects {self.plan.unit}"
        return "\n".join(
            [
                f"Model of {len(schema.columns)} columns, made by {self.method}",
                f"  guarantee  {f'VOID: {self.void_reason}' if self.void_reason else guarantee}",
                f"  label      {schema.label or 'none'} ({schema.label_kind})",
                f"  estimates  {found}",
                f"  sample(rows={self.rows:,})  save(folder)  certificate",
            ]
        )

    def save(self, folder: str | Path) -> Path:
        """Write the folder whole or not at all."""
        return write(self, folder)

    # -- rows ------------------------------------------------------------------------------------------------------------
    def sample(self, rows: int | None = None, *, seed: int | None = None, where: Where = None) -> pd.DataFrame:
        """A stand-in as a frame with the original names, order and dtypes."""
        batches = list(self.sample_batches(self.rows if rows is None else rows, seed=seed, where=where))
        return pd.concat(batches, ignore_index=True) if len(batches) > 1 else batches[0]

    def sample_polars(self, rows: int | None = None, *, seed: int | None = None, where: Where = None) -> Any:
        """The same as a polars frame; polars must be installed."""
        import polars

        return polars.from_arrow(
            pa.concat_tables(self.sample_arrow(self.rows if rows is None else rows, seed=seed, where=where))
        )

    def sample_batches(
        self, rows: int, batch: int = BATCH, *, seed: int | None = None, where: Where = None
    ) -> Iterator[pd.DataFrame]:
        """`sample` in batches, so that any number of rows fits into memory."""
        for table in self.sample_arrow(rows, batch, seed=seed, where=where):
            yield to_pandas(table, self.codec.schema)

    def sample_arrow(
        self,
        rows: int,
        batch: int = BATCH,
        *,
        seed: int | None = None,
        where: Where = None,
        blocks: slice = EVERY,
    ) -> Iterator[pa.Table]:
        """The same as Arrow tables with the schema's exact types: the quick way into a file. `blocks`: some batches of all."""
        if rows < 0:
            raise UsageError(f"rows={rows} must not be negative")
        found = self.conditions(where)
        yield from self.keeper(found).batches(partial(self._drawn, found), rows, batch, seed, blocks)

    def keeper(self, found: Boxes = ((),)) -> Keeper:
        """What keeps the schema's constraints in drawn rows, under conditions."""
        schema = self.codec.schema
        return Keeper(schema.checks, found, [column.name for column in schema.columns if column.kind == "identifier"])

    def _drawn(
        self, found: Boxes, rows: int, batch: int, seed: int | None, blocks: slice = EVERY
    ) -> Iterator[pa.Table]:
        """Rows under conditions, as the model draws them."""
        if found != ((),) and changes_rows(
            self.generator
        ):  # also on the class: what is fitted is of all classes together
            yield from self.matching(found).batches(rows, batch, seed, blocks)
            return
        if self.needs_tree(found):
            yield from self.under(found).batches(rows, batch, seed, blocks)
            return
        yield from self.source.tables(self._class_weights(found), rows, batch, seed, blocks)

    @cached_property
    def source(self) -> Source:
        """What draws blocks of rows; what it prepares is kept as long as the model."""
        return Source(self.generator, self.weights, self.marginals, self.codec)

    def conditions(self, where: Where) -> Boxes:
        """Where `where` holds, as disjoint boxes. UsageError if this model cannot draw under it."""
        if not method(self.method).conditioned:
            parse_where(where, self.codec.schema)
        return parse_boxes(where, self.codec.schema)

    def needs_tree(self, found: Boxes) -> bool:
        """Whether conditions are on more than the class, which every generator is asked for."""
        return found != ((),) and on_label_only(found, self.codec.schema) is None

    def conditioned(self) -> Any:
        """What draws rows given anything about any columns, if the model is a tree of tables."""
        found = method(self.method).conditioned
        if not found:
            raise UsageError(
                f"given: method {self.method!r} trains a generator, which cannot be asked for rows with given values; fit "
                "clique-tree, mst, aim or independent"
            )
        return resolve(found)(self)

    def under(self, found: Boxes) -> Any:
        """What draws rows under conditions on any columns. UsageError that names what the model rules out."""
        source = self.conditioned()
        try:
            return source.where(found)
        except UsageError as error:
            raise to_blame(source, found) or error from None

    def matching(self, found: Boxes) -> Matching:
        """What keeps those of ordinary rows that fulfil conditions, or draws rows under them where they are rare."""
        schema, tree = self.codec.schema, self.under(found)
        return Matching(
            ordinary=lambda rows, seed: next(self.sample_arrow(rows, rows, seed=seed)),
            tree=tree,
            probability=math.fsum(math.exp(part.given.log_mass) for part in tree.parts),
            found=found,
            columns=schema.columns,
            label=None if schema.label is None else schema.column(schema.label),
        )

    def complete(self, partial: object, *, seed: int | None = None, skip_impossible: bool = False) -> pd.DataFrame:
        """Rows of which some columns are given (a frame or a file), with all others drawn given these.

        Rows whose values cannot occur together are refused, or with `skip_impossible` left out: the index of the frame says
        which rows are there, counted from 0.
        """
        skipped: list[int] = []
        tables = self.complete_arrow(partial, seed=seed, on_skipped=skipped.extend if skip_impossible else None)
        found = to_pandas(pa.concat_tables(tables), self.codec.schema)
        if skipped:
            found.index = pd.RangeIndex(len(found) + len(skipped)).delete([row - 1 for row in skipped])
        return found

    def complete_arrow(
        self, partial: object, *, seed: int | None = None, on_skipped: Callable[[list[int]], None] | None = None
    ) -> Iterator[pa.Table]:
        """The same block by block, as Arrow tables. `on_skipped`: rows that cannot be are left out, and their numbers, from 1 on,
        told to it at the end; without it they are refused at the end."""
        yield from self.conditioned().completed(given_rows(partial, self.codec.schema), self.keeper(), seed, on_skipped)

    def redrawn(self, count: int, *, seed: int | None = None, source: Any = None) -> "Iterator[Model]":
        """Models that could have been fitted, had the privacy noise fallen otherwise. Post-processing: costs nothing."""
        if count < 1:
            raise UsageError(f"copies={count} must be at least 1")
        own, random = source or self.redraw_source(), rng(seed)
        found: Iterator[Model] = own.copies(count, random)
        return found

    def redraw_source(self) -> Any:
        """What draws such models, if the method can: `copies(count, random)`; `chance(rows)`, how much of the sampling variance
        of so many rows shows between copies; and `resolution`: how finely it sees a column."""
        redraw = method(self.method).redrawn
        if (
            not self.codec.blocks and self.plan.valid
        ):  # a label alone: whatever the method, its histogram was asked with noise
            redraw = "understudy.methods.marginals.redraw:RedrawnClasses"
        if not redraw:
            raise UsageError(
                f"copies: method {self.method!r} cannot draw any: {method(self.method).not_redrawn}; fit clique-tree, mst, "
                "aim, independent or mean-embedding"
            )
        return resolve(redraw)(self)

    def copies(
        self, count: int = 20, *, rows: int | None = None, seed: int | None = None, source: Any = None
    ) -> list[pd.DataFrame]:
        """Stand-ins of models that could have been fitted: they differ by privacy noise, estimation and sampling.

        For `understudy.infer`, which turns answers on all of them into one answer with an interval. `source`: what
        `redraw_source` gave before.
        """
        models = self.redrawn(count, seed=seed, source=source)
        seeds = sequence(seed).generate_state(count)
        size = self.rows if rows is None else rows
        return [model.sample(size, seed=int(own)) for model, own in zip(models, seeds, strict=True)]

    def _class_weights(self, found: Boxes) -> np.ndarray:
        wanted = on_label_only(found, self.codec.schema)
        own = shares(self.class_counts)
        return own if wanted is None else own * wanted / float((own * wanted).sum())


def load(folder: str | Path) -> Model:
    """Read a model folder. Foreign, truncated or altered files give a clear error; nothing in them is executed."""
    return Model(**vars(read(folder)))


def shares(counts: tuple[float, ...]) -> np.ndarray:
    """Class shares from noisy counts; a class whose count came out negative keeps a sliver, so that it can still appear."""
    positive = np.maximum(np.asarray(counts, np.float64), 1e-9)
    return np.asarray(positive / positive.sum())
