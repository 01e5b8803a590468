"""The door in the wall.

A curator holds the table, the ledger and the noise. `ask(purpose, question)` answers every single question: it
charges the ledger, adds up exact integers over the rows, adds noise once, and returns a `Release`. `see` changes how
rows are seen from then on, `converse` opens rounds. What it returns may be shown to anyone; what it holds may not.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Ledger
from understudy.engine import Engine
from understudy.private.answers import ANSWERS, categories
from understudy.private.asked import Asked, AskedRaw
from understudy.private.blocks import Blocks
from understudy.private.looked_at import looked_at
from understudy.private.noise import NoiseSource
from understudy.private.partition import Dealing
from understudy.private.passes import Ticker, Told, add_up
from understudy.private.release import Release
from understudy.private.rounds import Conversation, Mechanism
from understudy.private.sharded import Sharded, in_stripes
from understudy.private.stripes import Striped
from understudy.private.table import PrivateTable
from understudy.private.unit_stripes import Sampled, Summing
from understudy.questions import Clique, ColumnCategories, Counts, MarginalChoice, Question, Step, digest
from understudy.schema import Codec, Schema

__all__ = ["Curator"]

QUESTION = "question "  # how the tokens of single questions begin
NOT_YET = object()  # instead of an answer that was not given


class Curator:
    """Answers questions about one table under one ledger.

    `transcript` collects what was released. A curator that is given one repeats it instead of asking the table again, which
    is how a fit resumes without being charged twice. `write_down` gets every new answer before anybody else does. `told` hears
    which share of a pass over the table is done. `engine` adds up over tables that are read again for every question; noise and
    ledger are here and nowhere else.
    """

    __slots__ = (
        "_blocks",
        "_engine",
        "_known",
        "_ledger",
        "_noise",
        "_paid",
        "_replay",
        "_schema",
        "_table",
        "_told",
        "_write_down",
        "transcript",
    )

    def __init__(
        self,
        table: PrivateTable | None,
        schema: Schema,
        ledger: Ledger,
        noise: NoiseSource,
        transcript: Sequence[Any] | None = None,
        told: Callable[[str, float], None] | None = None,
        engine: Engine | None = None,
        write_down: Callable[[Any], None] | None = None,
    ) -> None:
        self._engine, self._write_down, self._paid = engine, write_down, 0
        self._table, self._schema, self._ledger, self._noise, self._told = table, schema, ledger, noise, told
        self._blocks: Blocks | None = None
        self._known: dict[tuple[str, Clique], Any] = {}
        self._replay = iter(transcript or ())
        self.transcript: list[Any] = []

    def __repr__(self) -> str:
        return "Curator(contents are private)"

    def adopt(self, codec: Codec) -> Release[None]:
        """Encode rows with a resolved schema from here on. Nothing leaves."""
        if self._table is not None:
            self._blocks = self._table._blocks(codec)
        else:
            units = None if self._schema.unit is None else np.zeros(0, np.int64)
            self._blocks = Blocks.of(np.zeros((0, codec.width), np.float32), np.zeros(0, np.int32), units)
        self._known = {}
        return Release(None, dpa.NoOpDpEvent())

    def see(self, row_map: Step) -> Release[None]:
        """See every row through a public map of that row alone from here on. Nothing leaves."""
        self._blocks, self._known = self._inside().seen(row_map), {}
        return Release(None, dpa.NoOpDpEvent())

    def ask(self, purpose: str, question: Question) -> Release[Any]:
        """The answer to a single question, charged before it is computed."""
        answer = ANSWERS.get(type(question))
        if answer is None:
            raise RuntimeError(f"{type(question).__name__} is no question that the wall knows")
        most = self._schema.max_rows_per_unit
        if getattr(question, "rows_per_unit", most) < most:
            raise RuntimeError(f"{purpose!r} is priced for fewer rows of a unit than the schema allows")
        compute = lambda: answer.release(question, self._exact(purpose, question), self._noise)  # noqa: E731
        return Release(question.read(self._release(purpose, question, compute)), question.event)

    def converse(
        self, purpose: str, mechanism: Mechanism, apart: bool = False, folder: Path | None = None
    ) -> Release[Conversation]:
        """Open a conversation of many rounds. It charges the ledger itself, chunk by chunk.

        `apart`: teachers or units too many for one program may be with the engine's workers, and their private files in `folder`.
        """
        blocks = self._inside()
        if isinstance(mechanism, Striped) and mechanism.dealing.touched < self._reach(mechanism.dealing):
            raise RuntimeError(f"{purpose!r} is priced for fewer ensembles than the rows of a unit may be in")
        kind = kept_apart(mechanism, blocks.width) if apart else None
        if kind is not None:
            how = (mechanism, self._ledger, self._noise, blocks, folder, self._engine)
            return Release(kind(purpose, *how, resumed=self._table is None), dpa.NoOpDpEvent())
        data, held = mechanism.prepare(blocks, self._noise)
        conversation = Conversation(purpose, mechanism, data, held, self._ledger, self._noise, blocks)
        return Release(conversation, dpa.NoOpDpEvent())

    def _release(self, purpose: str, question: Question, compute: Callable[[], Any]) -> Any:
        """Charge, compute, write down; or repeat what an interrupted fit has already released and paid.

        An answer is written down before anybody gets it. So of a question that was charged and has no answer there (its rows
        could not be read, or the process died) nothing ever left, and the first answer to it is what was paid for. The ledger
        takes the charge as the same for the same question in the same place only.
        """
        place = f"{QUESTION}{len(self.transcript)}"
        self._ledger.charge(purpose, question.event, token=place, digest=digest(question))
        value = next(self._replay, NOT_YET)
        if value is NOT_YET:
            value = compute()
            if self._write_down is not None:
                self._write_down(value)
        self.transcript.append(value)
        return value

    def enter(self, purpose: str, event: dpa.DpEvent) -> Release[None]:
        """Charge what was released about this table before the fit, so that one ledger holds all of it. Nothing leaves."""
        self._paid += 1
        self._ledger.charge(purpose, event, token=f"paid before {self._paid}", digest="paid before")
        return Release(None, dpa.NoOpDpEvent())

    # -- exact sums, which stay inside ---------------------------------------------------------------------------------
    def _exact(self, purpose: str, question: Any) -> Any:
        told = self._teller(purpose)
        if getattr(ANSWERS[type(question)], "RAW", False):
            unread = self._rows()._parts_of(question.columns)
            if isinstance(question, ColumnCategories):
                return self._shares(question, unread, told)
            return self._sum(unread, AskedRaw(question, self._schema), told)
        blocks = self._inside()
        asked = Asked(question, blocks.width)
        if not isinstance(question, Counts | MarginalChoice):
            return self._sum(blocks.looking_at(looked_at(question)), asked, told)
        # Exact counts are kept, because choices look at the same marginals again and again.
        cells, wanted = digest((question.cells, question.sizes, question.grid)), list(asked.start())
        missing = tuple(clique for clique in wanted if (cells, clique) not in self._known)
        if missing:
            found = self._sum(blocks.looking_at(looked_at(question)), replace(asked, cliques=missing), told)
            self._known |= {(cells, clique): counts for clique, counts in found.items()}
        return {clique: self._known[cells, clique] for clique in wanted}

    def _sum(self, parts: Sequence[Any], asked: Asked | AskedRaw, told: Told | None = None) -> Any:
        return add_up(parts, asked.start, asked.add, told, self._engine)

    def _shares(self, question: ColumnCategories, parts: Sequence[Any], told: Told | None) -> Iterator[Counter[str]]:
        """Counts of texts, share by share; all passes together are one for whoever watches."""
        every = categories.shares(question, self._rows()._most_rows, secrets.token_bytes(32))
        ticker = Ticker(len(every), told)
        for share in every:
            yield self._sum(parts, AskedRaw(question, self._schema, share))
            ticker.done()

    def _reach(self, dealing: Dealing) -> int:
        """In how many ensembles the rows of one unit may be."""
        return 1 if self._schema.unit is None else min(len(dealing.teachers), self._schema.max_rows_per_unit)

    def _teller(self, purpose: str) -> Told | None:
        tell = self._told
        return None if tell is None else (lambda share: tell(purpose, share))

    def _rows(self) -> PrivateTable:
        if self._table is None:
            raise RuntimeError("this curator only repeats what was released before")
        return self._table

    def _inside(self) -> Blocks:
        if self._blocks is None:
            raise RuntimeError("adopt a codec before asking about encoded rows")
        return self._blocks


def kept_apart(mechanism: Mechanism, width: int) -> type[Sharded] | type[Sampled] | None:
    """The conversation in which workers keep a mechanism's rows, if it has so many; by public settings alone."""
    if in_stripes(mechanism, width):
        return Sharded
    return Sampled if isinstance(mechanism, Summing) and mechanism.stripes > 1 else None
