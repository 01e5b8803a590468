"""When files are written by worker processes that nobody asked for: where it pays."""

from types import SimpleNamespace

import pytest

from understudy.engine import Inline
from understudy.sampling import to_files


@pytest.mark.parametrize(
    ("rows", "fitted", "workers"),
    [
        (to_files.PAYS - 1, False, False),
        (to_files.PAYS, False, True),
        (to_files.PAYS_FITTED - 1, True, False),
        (to_files.PAYS_FITTED, True, True),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_workers_draw_where_it_pays_or_they_were_named(rows, fitted, workers, named, tmp_path, monkeypatch):
    used = []
    engine = SimpleNamespace(by_default=not named)
    monkeypatch.setattr(to_files, "write_file", lambda drawing, codec, target, engine, heard: used.append(engine))
    monkeypatch.setattr(to_files, "opened", lambda name: _Opened(engine))
    model = SimpleNamespace(generator=SimpleNamespace(fitted_afterwards=fitted) if fitted else object(), codec=None)
    to_files.write_rows(model, tmp_path / "rows.csv", rows, seed=1)
    assert used == [engine] if named or workers else isinstance(used[0], Inline)


class _Opened:
    def __init__(self, engine):
        self.engine = engine

    def __enter__(self):
        return self.engine

    def __exit__(self, *how):
        pass
