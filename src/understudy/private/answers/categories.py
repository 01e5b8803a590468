"""Exact number of units that hold each key (`understudy.questions.categories`)."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.private.noise import NoiseSource
from understudy.questions import ColumnCategories
from understudy.questions.categories import LARGEST_LIST
from understudy.schema import Schema
from understudy.schema.cells import UNREADABLE

RAW = True


def start(question: ColumnCategories, width: int) -> Counter[str]:
    return Counter()


def add(question: ColumnCategories, total: Counter[str], rows: Any, units: Any, schema: Schema) -> None:
    """A unit counts each of its distinct keys once; blocks hold whole units."""
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
                if count and is_category(names[number]):
                    total[names[number]] += count
            continue
        texts += [names[number] for number in pairs[1].tolist()]
        owner.append(pairs[0])
    if len(question.columns) > 1:
        both = set(zip(texts, np.concatenate(owner).tolist(), strict=True))
        total.update(text for text, _ in both if is_category(text))


def is_category(key: str) -> bool:
    """Not what could not be read, and not half a surrogate pair, which no file could hold. Decided key by key."""
    if key == UNREADABLE:
        return False
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def release(question: ColumnCategories, total: Counter[str], noise: NoiseSource) -> list[str]:
    """The keys that pass, in alphabetical order, at most `LARGEST_LIST` of the largest."""
    keys = sorted(total)
    noisy = noise.draw("gaussian", question.scale, (len(keys),))
    totals = [(total[key] + int(extra), key) for key, extra in zip(keys, noisy, strict=True)]
    passing = [(count, key) for count, key in totals if count >= question.threshold]
    return sorted(key for _, key in sorted(passing, reverse=True)[:LARGEST_LIST])
