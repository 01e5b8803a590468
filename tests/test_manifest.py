"""Manifests of files of rows; what the commands make of them is in tests/cli/test_path.py."""

import hashlib
import json

import pytest

from understudy import manifest
from understudy.errors import UsageError


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "certificate.json").write_text("{}")
    return tmp_path / "model"


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n1\n")
    return tmp_path / "rows.csv"


def test_what_is_written_is_what_is_read(model, rows):
    place = manifest.write(rows, model, 1, "a = 1")
    assert place == manifest.path_of(rows) and place.name == "rows.csv.manifest.json"
    stated = manifest.check(str(rows), str(model))
    assert (stated.file, stated.rows, stated.where) == ("rows.csv", 1, "a = 1")
    assert stated.sha256 == hashlib.sha256(b"a\n1\n").hexdigest() and stated.model == hashlib.sha256(b"{}").hexdigest()


def test_a_large_file_counts_to_its_end(tmp_path):
    content = b"x" * (1 << 20) + b"y"
    (tmp_path / "large").write_bytes(content)
    assert manifest.sha256(tmp_path / "large") == hashlib.sha256(content).hexdigest()


def test_a_folder_of_parts_is_its_names_and_contents(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    seen = set()
    for name, content in (("part-1", "a"), ("part-2", "b"), ("part-2", "c"), ("part-3", "b")):
        (folder / name).write_text(content)
        seen.add(manifest.sha256(folder))
    (folder / "part-3").rename(folder / "part-4")
    assert len(seen | {manifest.sha256(folder)}) == 5
    again = tmp_path / "again"
    again.mkdir()
    for name, content in (("part-4", "b"), ("part-2", "c"), ("part-1", "a")):  # in another order
        (again / name).write_text(content)
    assert manifest.sha256(again) == manifest.sha256(folder)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("nothing of the kind", "damaged"),
        ("[]", "damaged"),
        ("{}", "damaged"),
        (json.dumps({"format": manifest.FORMAT}), "damaged"),
        (json.dumps({"format": "understudy manifest 2"}), "not a manifest of this version"),
        (None, "no manifest"),
    ],
)
def test_what_is_no_manifest_is_told_in_one_line(model, rows, damage, words):
    place = manifest.write(rows, model, 1)
    place.unlink() if damage is None else place.write_text(damage)
    with pytest.raises(UsageError, match=words) as told:
        manifest.read(rows)
    assert "\n" not in str(told.value)


def test_altered_rows_another_model_and_no_model_are_refused(model, rows):
    manifest.write(rows, model, 1)
    (model / "certificate.json").write_text("{ }")
    with pytest.raises(UsageError, match="another model"):
        manifest.check(rows, model)
    rows.write_text("a\n2\n")
    with pytest.raises(UsageError, match="altered"):
        manifest.check(rows, model)
    with pytest.raises(UsageError, match="not a model folder"):
        manifest.model_digest(model.parent)
