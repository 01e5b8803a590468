"""Exact number of units that hold each key (`understudy.questions.categories`).

A column may hold as many different texts as rows. Each text is counted in the one pass whose share it falls into, by a keyed
hash of that text alone; what passes the threshold is kept and the other counts are forgotten before the next pass. How
many passes there are follows from the size of the table, and the noise of every key is its own, so shares do not show.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from understudy.private.noise import NoiseSource
from understudy.questions import ColumnCategories
from understudy.questions.categories import LARGEST_LIST, LONGEST
from understudy.schema import Schema
from understudy.schema.cells import UNREADABLE
from understudy.schema.rows import Rows

RAW = True
MOST_TEXTS = 2_000_000  # different texts that are held at once, in the mean over keys of the hash


class Share(NamedTuple):
    """Every text belongs to one of `of` shares."""

    number: int
    of: int
    key: bytes

    def holds(self, text: str) -> bool:
        """Whether a key belongs to this share."""
        if self.of == 1:
            return True
        digest = hashlib.blake2b(text.encode(), key=self.key, digest_size=8).digest()
        return int.from_bytes(digest, "little") % self.of == self.number


WHOLE = Share(0, 1, b"")


def shares(question: ColumnCategories, rows: int, key: bytes) -> list[Share]:
    """So many that the texts of a table of about `rows` rows fit into memory share by share, whatever they are."""
    number = max(-(-rows * len(question.columns) // MOST_TEXTS), 1)
    return [Share(i, number, key) for i in range(number)]


def start(question: ColumnCategories, width: int) -> Counter[str]:
    """Counts of no rows."""
    return Counter()


def add(
    question: ColumnCategories,
    total: Counter[str],
    rows: Rows,
    units: np.ndarray | None,
    schema: Schema,
    share: Share = WHOLE,
) -> None:
    """A unit counts each of its distinct keys once, those of one share; blocks hold whole units."""
    texts: list[str] = []
    owner = []
    for name in question.columns:
        keys = rows.keys(schema.column(name))
        keys = keys.dictionary_encode() if not pa.types.is_dictionary(keys.type) else keys
        code = keys.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        present = np.flatnonzero(code >= 0)
        own = present if units is None else units[present]
        pairs = np.unique(np.stack([np.asarray(own, np.int64), code[present].astype(np.int64)]), axis=1)
        names = keys.dictionary.to_pylist()
        if len(question.columns) == 1:
            for number, count in enumerate(np.bincount(pairs[1], minlength=len(names)).tolist()):
                if count and is_category(names[number]) and share.holds(names[number]):
                    total[names[number]] += count
            continue
        texts += [names[number] for number in pairs[1].tolist()]
        owner.append(pairs[0])
    if len(question.columns) > 1:
        both = set(zip(texts, np.concatenate(owner).tolist(), strict=True))
        total.update(text for text, _ in both if is_category(text) and share.holds(text))


def is_category(key: str) -> bool:
    """Not what could not be read, nor is longer than any category, nor holds half a surrogate pair, which no file could hold.
    Decided key by key."""
    if key == UNREADABLE or len(key) > LONGEST:
        return False
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def release(question: ColumnCategories, totals: Iterable[Counter[str]], noise: NoiseSource) -> list[str]:
    """The keys that pass, in alphabetical order, at most `LARGEST_LIST` of the largest. `totals`: one for every share."""
    passing: list[tuple[int, str]] = []
    for total in totals:
        keys = sorted(total)
        noisy = noise.draw("gaussian", question.scale, (len(keys),))
        found = [(total[key] + int(extra), key) for key, extra in zip(keys, noisy, strict=True)]
        passing += [(count, key) for count, key in found if count >= question.threshold]
        passing = sorted(passing, reverse=True)[:LARGEST_LIST]
    return sorted(key for _, key in passing)
