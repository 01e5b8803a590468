"""Small parts of checkpoints; what becomes of whole ones is in tests/fit/test_resume.py."""

import fcntl

from understudy.private.checkpoint import Checkpoint, generation


def test_the_mark_of_a_folder_is_all_of_its_four_bytes_and_no_more(tmp_path, monkeypatch):
    """The kernel writes 32 bits into a place for 64; what stands behind them is nobody's."""
    monkeypatch.setattr(fcntl, "ioctl", lambda descriptor, request, room: b"\x01\x02\x03\x84" + b"\xff" * 4)
    assert generation(tmp_path) == 0x84030201


def test_a_folder_without_a_mark_has_the_mark_zero(tmp_path, monkeypatch):
    def refused(descriptor, request, room):
        raise OSError

    monkeypatch.setattr(fcntl, "ioctl", refused)
    assert generation(tmp_path) == generation(tmp_path / "gone") == 0


def test_what_a_killed_process_left_half_written_goes_with_the_next_writing(tmp_path):
    """Rows and teachers of many kills would pile up otherwise; other files and their parts are left alone."""
    checkpoint = Checkpoint(tmp_path)
    for name in (".state.safetensors.0badcafe.part", ".data.safetensors.0badcafe.part", "state.safetensors"):
        (tmp_path / name).write_bytes(b"old")
    checkpoint._write("state.safetensors", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".data.safetensors.0badcafe.part", "state.safetensors"]
    assert (tmp_path / "state.safetensors").read_bytes() == b"new"
    assert (tmp_path / "state.safetensors").stat().st_mode & 0o777 == 0o600
