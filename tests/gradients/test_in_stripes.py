"""Fits whose units are in stripes: charged as announced, the same after an interruption, and no file stays."""

import os
import stat
import tempfile

import pytest
from sklearn.base import clone

from tests.fit.test_resume import same, stop_at
from understudy.accounting.events import flatten
from understudy.accounting.ledger import entries_from_dict
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.methods.gradients import method
from understudy.methods.gradients.method import stripes_of
from understudy.private import SeededNoise, curator, unit_stripes
from understudy.scratch import clear_usual, private_folder, usual_folder

from ..conformance.tables import GENERATORS
from .test_streamed import BY_PERSON, BY_ROW, persons, spread_everything


@pytest.fixture
def opened(monkeypatch):
    """Few units in four stripes, and the conversations that were opened."""
    found, right = [], unit_stripes.Sampled
    monkeypatch.setattr(method, "stripes_of", lambda expected: 4)
    monkeypatch.setattr(curator, "Sampled", lambda *given, **more: found.append(right(*given, **more)) or found[-1])
    return found


class Keyed(SeededNoise):
    """Tapes from a stream of their own: a resumed fit draws the key of a conversation that it throws away."""

    def secret(self, size):
        return super().secret(size) if size > 8 else bytes(size)


def test_stripes_are_cut_by_the_expected_sample_alone():
    assert [stripes_of(units) for units in (0.0, 8191.0, 8192.0, 50_000.0, 1e9)] == [1, 1, 2, 12, 64]


@pytest.mark.parametrize("streamed", [False, True], ids=["held", "streamed"])
@pytest.mark.parametrize("schema", [BY_ROW, BY_PERSON], ids=["by row", "by person"])
def test_what_a_fit_in_stripes_charges_is_what_it_announced(schema, streamed, opened, tmp_path, monkeypatch):
    if streamed:
        spread_everything(monkeypatch)
    model = fit(clone(GENERATORS["dpgan"]), persons(), schema, checkpoint=tmp_path / "c")
    spent = {}
    for charge in entries_from_dict(model.ledger)[1]:
        of_purpose = spent.setdefault(charge.purpose, {})
        for event, times in flatten(charge.event).items():
            of_purpose[event] = of_purpose.get(event, 0) + times
    assert spent == clone(GENERATORS["dpgan"]).plan(schema).announced()
    assert len(opened) == 1
    assert list(tmp_path.iterdir()) == [] and not unit_stripes.KEPT


@pytest.mark.parametrize("stage,number", [("rounds", 1), ("finish", 0)])
def test_a_fit_whose_units_are_in_stripes_goes_on_where_it_was(stage, number, opened, tmp_path):
    """Rows are in private files beside the checkpoint, and gone with it."""
    given = (clone(GENERATORS["dpgan"]).set_params(seed=1), persons(), BY_ROW)
    expected = fit(*given, noise=Keyed(3))
    folder, noise = tmp_path / "checkpoint", Keyed(3)
    with pytest.raises(KeyboardInterrupt):
        fit(*given, checkpoint=folder, progress=stop_at(stage, number), noise=noise)
    files = list((folder / "units").iterdir())
    assert files and all(file.name.startswith("rows-") for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((folder / "units").stat().st_mode) == 0o700
    same(fit(*given, checkpoint=folder, resume=True, noise=noise), expected)
    assert list(tmp_path.iterdir()) == [] and len(opened) == 3


@pytest.mark.parametrize("stage,number", [("rounds", 1), ("finish", 0)])
def test_rounds_that_were_shown_are_never_asked_again(stage, number, opened, tmp_path, monkeypatch):
    """Not even with the same noise: were a file of rows gone by then, the noise would fall out of the difference."""
    right, secrets = unit_stripes.Owners.add_up, []

    def spied(owners, query, secret):
        secrets.append(bytes(secret))
        return right(owners, query, secret)

    monkeypatch.setattr(unit_stripes.Owners, "add_up", spied)
    given = (clone(GENERATORS["dpgan"]).set_params(seed=1), persons(), BY_ROW)
    with pytest.raises(KeyboardInterrupt):
        fit(*given, checkpoint=tmp_path / "c", progress=stop_at(stage, number))
    assert secrets
    fit(*given, checkpoint=tmp_path / "c", resume=True)
    assert len(set(secrets)) == len(secrets)


def test_a_link_to_another_folder_is_not_cleared(tmp_path, monkeypatch):
    """Whoever may write to the system's temporary folder may have put it there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "home" / "thesis").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    usual_folder().symlink_to(tmp_path / "home")
    clear_usual()
    assert (tmp_path / "home" / "thesis").is_dir()
    with pytest.raises(UsageError, match="belongs to somebody else"):
        private_folder(None, "understudy-units-")


def test_files_of_a_killed_fit_go_when_any_other_starts(tmp_path, monkeypatch):
    """Without a checkpoint they lie in the user's temporary folder, locked while their process lives."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, running = (private_folder(None, f"understudy-{name}-") for name in ("units", "teachers"))
    os.close(left.lock)  # as the operating system does for a process that is killed
    fit(clone(GENERATORS["independent"]), persons(), BY_ROW, noise=Keyed(3))
    assert running.folder.is_dir() and not left.folder.exists()
    running.remove()
