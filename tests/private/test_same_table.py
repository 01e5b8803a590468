"""The seal in a checkpoint tells the table of a fit from every other one, and says nothing without its key."""

import json

import pandas as pd
import pytest

from understudy.errors import UsageError
from understudy.private.same_table import differs, seal
from understudy.schema import Column, Schema

SCHEMA = Schema(columns=(Column(name="a", kind="integer", lower=0, upper=9), Column(name="b", kind="boolean")))


def test_a_file_is_told_from_every_other(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,true\n2,false\n")
    sealed = json.loads(json.dumps(seal(path, SCHEMA)))
    assert not differs(path, SCHEMA, sealed)
    for text in ("a,b\n1,true\n2,true\n", "a,b\n1,true\n", "b,a\ntrue,1\n"):
        path.write_text(text)
        assert differs(path, SCHEMA, sealed)
    path.unlink()
    with pytest.raises(UsageError, match="does not exist"):
        differs(path, SCHEMA, sealed)


def test_frames_are_told_by_names_types_and_length():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False]})
    sealed = seal(frame, SCHEMA)
    assert not differs(frame.copy(), SCHEMA, sealed)
    assert differs(frame.head(1), SCHEMA, sealed)
    assert differs(frame.astype({"a": float}), SCHEMA, sealed)


def test_two_seals_of_one_table_have_nothing_in_common(tmp_path):
    """The digest has a key of its own each time: whoever sees one cannot test guesses of the table against it."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,true\n")
    first, second = seal(path, SCHEMA), seal(path, SCHEMA)
    assert first["digest"] != second["digest"] and first["key"] != second["key"]
