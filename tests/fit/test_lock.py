"""Two fits and one checkpoint folder: the second is refused before it deletes, reads or charges anything."""

import contextlib

import pytest

from understudy import method
from understudy.errors import UsageError
from understudy.private.checkpoint import Checkpoint, empty

from ..conformance.tables import mixed_schema, mixed_table


def stopped_while_another_began(folder, stage):
    """A fit that is stopped when it reaches a stage, after a second one into the same folder; what the second one said, and
    which files were there before and after it."""
    said, files = [], []

    def callback(event):
        if event["stage"] != stage:
            return
        files.append(sorted(path.name for path in folder.iterdir()))
        try:
            method("independent")(epsilon=1.0).fit(
                mixed_table(),
                mixed_schema("sick"),
                checkpoint=folder,
                progress=lambda event: said.append(event["stage"]),
            )
        except UsageError as error:
            said.append(str(error))
        files.append(sorted(path.name for path in folder.iterdir()) if folder.is_dir() else None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        method("independent")(epsilon=1.0).fit(
            mixed_table(), mixed_schema("sick"), checkpoint=folder, progress=callback
        )
    return said, files


def test_a_second_fit_into_the_same_folder_is_refused_before_the_first_charge(tmp_path):
    said, files = stopped_while_another_began(tmp_path / "checkpoint", "estimate")
    assert len(said) == 1 and "another fit is using" in said[0]
    assert files[0] == files[1] and {"SECRET.txt", "ledger.jsonl"} <= set(files[0])


def test_without_the_lock_it_would_delete_the_first_ones_folder(tmp_path, monkeypatch):
    """Mutant: as it was."""
    monkeypatch.setattr(Checkpoint, "held", lambda self: contextlib.nullcontext())
    monkeypatch.setattr(Checkpoint, "_take", lambda self: None)
    said, files = stopped_while_another_began(tmp_path / "checkpoint", "estimate")
    assert not any("another fit" in line for line in said) and files[0] != files[1]


def test_the_folder_is_free_again_after_a_fit_that_was_stopped(tmp_path):
    folder = tmp_path / "checkpoint"
    for _ in range(2):  # nothing was charged, so the second one starts afresh
        with pytest.raises(KeyboardInterrupt):
            method("independent")(epsilon=1.0).fit(
                mixed_table(), mixed_schema("sick"), checkpoint=folder, progress=stop_in_reading
            )


def stop_in_reading(event):
    if event["stage"] == "read":
        raise KeyboardInterrupt


def test_a_folder_that_somebody_else_made_meanwhile_is_theirs(tmp_path):
    first, second = Checkpoint(tmp_path / "c"), Checkpoint(tmp_path / "c")
    with first.held(), second.held():  # there is no folder yet, so both begin
        second.create(1e-5)
        with pytest.raises(UsageError, match="another fit"):
            first.create(1e-5)
    with first.held():
        first.create(1e-5)


def made_in_between(folder, monkeypatch):
    """A fit begins while another one is just making sure that nothing was charged in its folder: who got it, and whose mark
    is there."""
    first, second, got = Checkpoint(folder), Checkpoint(folder), []
    spent = Checkpoint.refuse_spent

    def beginning(self, delta):
        if self is first:
            with contextlib.suppress(UsageError):
                second.create(delta)
                (folder / "of the second").touch()
                got.append("second")
        spent(self, delta)

    monkeypatch.setattr(Checkpoint, "refuse_spent", beginning)
    with first.held(), second.held():
        with contextlib.suppress(UsageError):
            first.create(1e-5)
            got.append("first")
        return got, (folder / "of the second").exists()


def test_a_folder_that_is_made_at_any_moment_belongs_to_one(tmp_path, monkeypatch):
    assert made_in_between(tmp_path / "c", monkeypatch) in ((["first"], False), (["second"], True))


def test_looking_before_the_folder_is_ours_is_caught(tmp_path, monkeypatch):
    """Mutant: as it was. Both have the folder, and the first has emptied it, ledger and all, under the second."""

    def create(self, delta):
        if self._lock is None and self.folder.is_dir():
            self._take()
        self.refuse_spent(delta)
        if self.folder.is_dir():
            empty(self.folder)
        else:
            self.folder.mkdir()
            self._take()
        self._write("SECRET.txt", b"")

    monkeypatch.setattr(Checkpoint, "create", create)
    assert made_in_between(tmp_path / "c", monkeypatch) == (["second", "first"], False)
