"""A file is written whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from understudy.errors import UsageError
from understudy.files import alone, write_atomically


def test_text_and_bytes_replace_what_was_there(tmp_path):
    file = tmp_path / "note.txt"
    assert write_atomically(str(file), "first\n") == file
    write_atomically(file, "Größe\r\n")
    assert file.read_bytes() == "Größe\r\n".encode()
    write_atomically(file, b"\x00\xff")
    assert file.read_bytes() == b"\x00\xff"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_alone_and_names_it(tmp_path, monkeypatch, step):
    def full(*_):
        raise OSError(28, os.strerror(28), "elsewhere")

    file = tmp_path / "note.txt"
    file.write_text("old")
    monkeypatch.setattr(*((os, step) if step == "fsync" else (Path, step)), full)
    with pytest.raises(OSError, match="No space") as caught:
        write_atomically(file, "new")
    assert caught.value.filename == str(file)
    assert [f.read_text() for f in tmp_path.iterdir()] == ["old"]


def test_contents_reach_the_disk_before_the_name_unless_nobody_needs_that(tmp_path, monkeypatch):
    steps = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: (steps.append("fsync"), sync(file))[1])
    monkeypatch.setattr(Path, "replace", lambda part, to: (steps.append("replace"), replace(part, to))[1])
    write_atomically(tmp_path / "note.txt", "x")
    write_atomically(tmp_path / "note.txt", "y", synced=False)
    assert steps == ["fsync", "replace", "replace"] and (tmp_path / "note.txt").read_text() == "y"


def test_an_absent_folder_is_told_with_the_name_of_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "absent" / "note.txt", "new")
    assert caught.value.filename.endswith("note.txt")


def test_mode_holds_from_the_first_byte(tmp_path):
    write_atomically(tmp_path / "secret", "key", mode=0o600)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_long_name_has_a_neighbour_too(tmp_path):
    name = "n" * 255
    assert write_atomically(tmp_path / name, "x").read_text() == "x"


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    with alone(tmp_path / "model"):
        with pytest.raises(UsageError, match="another fit"), alone(tmp_path / "model"):
            pass
        with alone(tmp_path / "other"):
            pass
        assert os.stat(tmp_path / ".model.lock").st_mode & 0o077 == 0
    with alone(tmp_path / "model"):
        pass
    assert list(tmp_path.iterdir()) == []
