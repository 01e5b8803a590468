"""The audit through the reader: a pair of files, with and without a person whose cells are odd, read anew by every fit.

The mutant is the reader as it was, which parses a column as a whole: one person's cells then change how everybody's are read.
"""

import pytest

from understudy.audit.run import run_audit
from understudy.audit.targets import MANY_OTHERS, made_up
from understudy.private import PrivateTable
from understudy.private import table as private_table
from understudy.schema import Codec

from ..schema.old_reader import OldTable

METHODS = ("mst", pytest.param("mean-embedding", marks=pytest.mark.slow))  # one reader serves both
WALL = {"threats": ("wall-box",), "attacks": ("likelihood-ratio",), "target": "odd-cell", "runs": 40, "seed": 3}
SURE = {"confidence": 1.0 - 1e-6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where batches of fits are kept."""
    return tmp_path_factory.mktemp("audit")


def test_the_pair_is_one_of_neighbouring_files():
    pair = made_up("odd-cell")
    without, with_ = pair.without.read_bytes(), pair.with_.read_bytes()
    assert with_.startswith(without) and with_.count(b"\n") == without.count(b"\n") + 1 == MANY_OTHERS + 2
    blocks = [
        PrivateTable(side, pair.schema)._blocks(Codec(pair.schema)).gathered() for side in (pair.without, pair.with_)
    ]
    assert [len(block) for block in blocks] == [MANY_OTHERS, MANY_OTHERS + 1]


@pytest.mark.parametrize("method", METHODS)
def test_an_odd_person_shows_no_more_than_the_claim(method, folder):
    """False failure: 1e-6."""
    assert not run_audit(method, epsilon=1.0, folder=folder / method, **WALL | SURE).violated


@pytest.mark.parametrize("method", METHODS)
def test_a_reader_of_whole_columns_is_caught(method, monkeypatch):
    monkeypatch.setattr(private_table, "open_table", OldTable)
    result = run_audit(method, epsilon=1.0, **WALL)
    best = max(bound.epsilon for bound in result.outcomes[0].bounds if bound.frequentist)
    assert result.violated and best > 10.0


def test_batches_are_kept_by_what_the_files_hold(folder):
    """The digest of a kept audit is of the files' bytes, not of where they lie."""
    first = run_audit("mst", epsilon=1.0, folder=folder / "mst", **WALL | SURE)  # kept by the test above, when it ran
    again = run_audit("mst", epsilon=1.0, folder=folder / "mst", **WALL | SURE)
    assert again.outcomes == first.outcomes and any("kept" in note for note in again.notes)
