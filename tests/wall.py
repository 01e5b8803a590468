"""Questions asked at the door of a table made up on the spot, with nothing to pay and, unless told otherwise, no noise."""

from typing import Any

import numpy as np
import pandas as pd

from understudy.accounting import Ledger
from understudy.private import Curator, PrivateTable
from understudy.private.blocks import Blocks
from understudy.schema import Column, Schema

PLAIN = Schema(columns=(Column(name="x", kind="continuous", lower=0, upper=1),))


class NoNoise:
    """Zeros instead of noise, and a note of the scales that were asked for."""

    void_reason = "no noise: void"

    def __init__(self) -> None:
        self.scales: list[float] = []

    def draw(self, kind: Any, scale: float, shape: tuple[int, ...]) -> Any:
        self.scales.append(scale)
        return np.zeros(shape, np.int64)

    def secret(self, size: int) -> bytes:
        return bytes(size)


class FixedBits:
    """Secret bits that depend on nothing but the request's number, so that two neighbouring tables can be compared.

    `requests` says, in turn, how many words are drawn for the whole table and which of them belong to what is gone: the others
    keep theirs. Under the real generator words are independent, so this coupling has the same distribution. What is asked for
    after that has nothing to do with rows.
    """

    void_reason = "test"

    def __init__(self, *requests: tuple[int, Any]) -> None:
        self.generator, self.requests = np.random.default_rng(7), iter(requests)

    def draw(self, kind: Any, scale: float, shape: tuple[int, ...]) -> Any:
        return np.zeros(shape, np.int64)

    def secret(self, size: int) -> bytes:
        words, gone = next(self.requests, (None, ()))
        if words is None:
            return self.generator.bytes(size)
        drawn = np.frombuffer(self.generator.bytes(8 * words), np.uint64)
        kept = np.delete(drawn, np.asarray(gone, int)).tobytes()
        assert len(kept) == size
        return kept


class FreeLedger(Ledger):
    """Takes every charge."""

    def __init__(self) -> None:
        pass

    def charge(self, *charge: Any, **options: Any) -> None:
        pass


def ask(question: Any, rows: Any, classes: Any = None, units: Any = None, noise: Any = None) -> Any:
    """The answer about encoded rows, each a unit of its own unless `units` says whose it is."""
    rows = np.asarray(rows)
    classes = np.zeros(len(rows), np.int32) if classes is None else np.asarray(classes, np.int32)
    curator = Curator(None, PLAIN, FreeLedger(), noise or NoNoise())
    curator._blocks = Blocks.of(rows, classes, units)
    return curator.ask("test", question).value


def ask_cells(question: Any, frame: pd.DataFrame, schema: Schema, noise: Any = None) -> Any:
    """The answer about cells as they were read."""
    return Curator(PrivateTable(frame, schema), schema, FreeLedger(), noise or NoNoise()).ask("test", question).value
