"""One fit, three engines: with the noise fixed the releases are the same, bit for bit; also when a worker is killed midway."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conformance.tables import GENERATORS, mixed_schema, mixed_table, quick_compilation  # noqa: F401
from tests.engine import work
from tests.fit import test_partitions
from tests.private import test_stripes, test_unit_stripes
from understudy.accounting.ledger import charges_in
from understudy.artifact import Model, load
from understudy.audit.run import run_audit
from understudy.engine import check, opened
from understudy.engine.seats import ask_all
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.methods.gradients import method as gradients
from understudy.private import SeededNoise, stripes, table, units
from understudy.private.sharded import Keepers
from understudy.private.unit_stripes import Owners
from understudy.sampling import to_files

ROWS = 400
QUICK = ("independent", "mst", "mean-embedding")


@pytest.fixture(scope="module")
def engines():
    """One of each, for all tests of this file: Ray takes seconds to start. Workers compile as this file does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        with opened("inline") as inline, opened("processes:2") as processes, opened("ray:2") as ray:
            yield {"inline": inline, "processes": processes, "ray": ray}


@pytest.fixture(autouse=True)
def streamed(monkeypatch):
    """Nothing is held in memory: every question is a pass over partitions."""
    monkeypatch.setattr(table, "IN_MEMORY", 0)
    monkeypatch.setattr(units, "IN_MEMORY", 0)
    monkeypatch.setattr(units, "ROWS_PER_FILE", 100)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(mixed_table(ROWS)), path, row_group_size=40)
    return path


def released(name, source, schema, engine, **more):
    """Everything that a fit with fixed noise leaves, without the ledger's random tokens."""
    model = fit(GENERATORS[name], source, schema, noise=SeededNoise(3), engine=engine, **more)
    weights = {key: value.tobytes() for key, value in model.weights.items()}
    charged = [(entry["purpose"], str(entry["event"])) for entry in model.ledger["entries"]]
    return weights, model.class_counts, model.resolved.fingerprint(), charged


def same_on_all(name, source, schema, engines):
    found = {kind: released(name, source, schema, engine) for kind, engine in engines.items()}
    assert found["processes"] == found["inline"] and found["ray"] == found["inline"]


@pytest.mark.parametrize("name", QUICK)
def test_releases_are_the_same_on_every_engine(name, source, engines):
    same_on_all(name, source, mixed_schema(), engines)


def test_estimates_and_units_are_the_same_on_every_engine(tmp_path, engines):
    """Bounds and categories, asked of cells as they were read, of units that workers brought together; two files of a folder."""
    whole = pa.Table.from_pandas(test_partitions.rows())
    for name, first in (("a.parquet", 0), ("b.parquet", 500)):
        pq.write_table(whole.slice(first, 500), tmp_path / name, row_group_size=100)
    same_on_all("independent", tmp_path, test_partitions.BY_PERSON, engines)


def test_a_table_at_an_address_is_read_by_every_engine(source, engines):
    expected = released("independent", source, mixed_schema(), engines["inline"])
    for engine in engines.values():
        assert released("independent", f"file://{source}", mixed_schema(), engine) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GENERATORS if name not in QUICK])
def test_releases_of_all_methods_are_the_same(name, source, engines):
    same_on_all(name, source, mixed_schema(), engines)


class Lent:
    """A worker that is used again afterwards: to start one takes seconds."""

    def __init__(self, seat):
        self.begin, self.finish = seat.begin, seat.finish

    def close(self):
        return


def kept_by_workers(kind, engines, monkeypatch, counted, lent=None):
    """What two workers count, who keep teachers or units; one of them is killed between two rounds, and all end afterwards.

    `lent`: what they count before that, undisturbed.
    """
    taken, pids, seats = [], [], engines[kind].seats

    def taking(most):
        taken.extend(() if taken else seats(most))
        return taken

    def kill(number):
        if number == 1:
            pids.extend(ask_all(taken, work.pid, [None] * len(taken)))
            os.kill(pids[1], signal.SIGKILL)

    found = []
    if lent is not None:
        monkeypatch.setattr(engines[kind], "seats", lambda most: [Lent(seat) for seat in taking(most)])
        found.append(lent(engines[kind]))
    monkeypatch.setattr(engines[kind], "seats", taking)
    found.append(counted(engines[kind], kill))
    assert len(taken) == 2
    for _ in range(100):  # the workers end with the conversation
        if not any(alive(pid) for pid in pids):
            break
        time.sleep(0.1)
    assert not any(alive(pid) for pid in pids)
    return found


def votes_of_teachers(engine, between=lambda number: None):
    return test_stripes.votes(test_stripes.subject(), engine, between)


def sums_of_gradients(engine, between=lambda number: None):
    return test_unit_stripes.sums(test_unit_stripes.subject(), engine, between)


@pytest.mark.parametrize("kind", ["processes", "ray"])
def test_stripes_count_the_same_on_every_engine_also_when_a_worker_is_killed(kind, engines, monkeypatch):
    monkeypatch.setattr(stripes, "STRIPE", test_stripes.SMALL)
    sums, votes = kept_by_workers(kind, engines, monkeypatch, votes_of_teachers, lent=sums_of_gradients)
    np.testing.assert_array_equal(sums, sums_of_gradients(engines["inline"]))
    np.testing.assert_array_equal(votes, votes_of_teachers(engines["inline"]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["processes", "ray"])
def test_gradients_add_up_to_the_same_when_a_worker_is_killed(kind, engines, monkeypatch):
    (sums,) = kept_by_workers(kind, engines, monkeypatch, sums_of_gradients)
    np.testing.assert_array_equal(sums, sums_of_gradients(engines["inline"]))


def alive(pid):
    """Whether a process runs; one that is over and was not fetched yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pate-gan", "pate-gan-joint", "g-pate"])
def test_releases_of_teachers_in_stripes_are_the_same(name, source, engines, monkeypatch):
    monkeypatch.setattr(stripes, "STRIPE", 1 << 15)
    kept = []
    deal_out = Keepers.deal_out
    monkeypatch.setattr(Keepers, "deal_out", lambda self, *how: kept.append(self) or deal_out(self, *how))
    same_on_all(name, source, mixed_schema(), engines)
    assert len(kept) == 3 and all(one._cut.stripes > 1 for one in kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dpgan", "rdp-cgan"])
def test_releases_of_units_in_stripes_are_the_same(name, source, engines, monkeypatch):
    monkeypatch.setattr(gradients, "PER_STRIPE", 20)
    kept = []
    deal_out = Owners.deal_out
    monkeypatch.setattr(Owners, "deal_out", lambda self, *how: kept.append(self) or deal_out(self, *how))
    same_on_all(name, source, mixed_schema(), engines)
    assert len(kept) == 3 and all(one._mechanism.stripes > 1 for one in kept)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "model"
    fit(GENERATORS["mst"], mixed_table(ROWS), mixed_schema(), noise=SeededNoise(3), out=folder)
    return folder


@pytest.mark.parametrize("name", ["rows.csv", "rows"])
def test_samples_are_the_same_on_every_engine(name, model, engines, tmp_path, monkeypatch):
    monkeypatch.setattr(to_files, "BATCH", 100)
    monkeypatch.setattr(to_files, "PART", 3)
    written, told = {}, []
    for kind, engine in engines.items():
        out = tmp_path / kind / name
        out.parent.mkdir()
        saved = {"folder": model} if kind == "processes" else {}  # loaded by workers, or sent to them
        to_files.write_rows(load(model), out, 1250, seed=5, engine=engine, on_progress=told.append, **saved)
        files = sorted(out.iterdir()) if out.is_dir() else [out]
        written[kind] = [(file.name, file.read_bytes()) for file in files]
    assert sum(told) == 3 * 1250 and len(written["inline"]) == (5 if name == "rows" else 1)
    assert written["processes"] == written["inline"] and written["ray"] == written["inline"]
    first = pa.concat_tables(load(model).sample_arrow(1250, 100, seed=5)).slice(0, 100)
    if name == "rows":
        assert pq.read_table(tmp_path / "ray" / name).slice(0, 100).cast(first.schema).equals(first)


def test_a_block_that_depends_on_those_before_it_is_caught(model, tmp_path, monkeypatch):
    """Mutant: every call draws with the keys of the first blocks, whichever blocks were asked for."""
    monkeypatch.setattr(to_files, "BATCH", 100)
    monkeypatch.setattr(to_files, "PART", 3)
    right = Model.sample_arrow
    to_files.write_rows(load(model), tmp_path / "right", 1000, seed=5, engine="inline")

    def wrong(self, *how, blocks, **more):
        return right(self, *how, blocks=slice(0, len(range(10)[blocks])), **more)

    monkeypatch.setattr(Model, "sample_arrow", wrong)
    to_files.write_rows(load(model), tmp_path / "wrong", 1000, seed=5, engine="inline")
    parts = [sorted((tmp_path / name).iterdir()) for name in ("right", "wrong")]
    assert [a.read_bytes() == b.read_bytes() for a, b in zip(*parts, strict=True)] == [True, False, False, False]


def test_an_audit_is_the_same_on_every_engine_and_goes_on_after_a_kill(engines, tmp_path):
    def audit(engine, folder):
        how = {
            "runs": 80,
            "batch": 20,
            "seed": 1,
            "target": "lonely",
            "attacks": ("likelihood-ratio",),
            "threats": ("wall-box",),
        }
        result = run_audit("independent", engine=engine, folder=folder, **how)
        return result.outcomes

    found = {kind: audit(engine, tmp_path / kind) for kind, engine in engines.items()}
    assert found["processes"] == found["inline"] and found["ray"] == found["inline"]
    for batch in sorted((tmp_path / "ray").glob("batch-*.npz"))[:2]:  # as if it had been killed before these
        batch.unlink()
    assert audit(engines["ray"], tmp_path / "ray") == found["inline"]


@pytest.mark.parametrize("kind", ["processes", "ray"])
def test_a_worker_killed_in_the_middle_does_not_show(kind, source, engines):
    """The piece is computed again, the release and what is charged are those of an undisturbed fit."""
    engine, killed = engines[kind], []
    expected = released("mst", source, mixed_schema(), engines["inline"])

    pids = set(engine.map_jobs(work.pid, range(8)))

    def kill_all(event):
        if event["stage"] == "question" and not killed:
            killed.extend(pids)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    assert released("mst", source, mixed_schema(), engine, progress=kill_all) == expected
    assert killed and os.getpid() not in killed


@pytest.mark.parametrize("kind", ["processes", "ray"])
def test_what_a_worker_may_not_return_is_refused(kind, engines):
    for wrong in (work.wrong_shape, work.floats):
        with pytest.raises(RuntimeError, match="refused"):
            engines[kind].sum_over_partitions(wrong, [range(3)] * 2, work.zeros)
    with pytest.raises(RuntimeError) as caught:
        engines[kind].sum_over_partitions(work.blurt, [range(3)] * 2, work.zeros)
    assert work.SECRET not in repr(caught.value)


@pytest.mark.parametrize("kind", ["inline", "processes", "ray"])
def test_a_fit_whose_partition_disappears_ends_in_one_line_and_goes_on_when_it_is_back(kind, tmp_path, source, engines):
    moved, checkpoint = tmp_path / "rows.parquet", tmp_path / "checkpoint"
    moved.write_bytes(source.read_bytes())

    def disappear(event):
        if event["stage"] == "question" and moved.exists():
            moved.unlink()

    with pytest.raises(UsageError, match="readable Parquet file") as caught:
        released("mst", moved, mixed_schema(), engines[kind], progress=disappear, checkpoint=checkpoint)
    assert "\n" not in str(caught.value)
    lost = [charge.purpose for charge in charges_in(checkpoint / "ledger.jsonl")]
    moved.write_bytes(source.read_bytes())
    *_, charged = released("mst", moved, mixed_schema(), engines[kind], checkpoint=checkpoint, resume=True)
    *_, whole = released("mst", source, mixed_schema(), engines["inline"])
    assert lost and [purpose for purpose, _ in charged[: len(lost)]] == lost
    assert charged == whole  # every question once


def test_nothing_is_open_about_a_ray_of_our_own(engines, monkeypatch):
    """Ports, token and files are looked at; each mutant (a port on the network, no token, a readable folder) is seen."""
    ray = engines["ray"]
    ray.start()
    found = list(check.ray_findings(ray))
    assert {one.check for one in found} == {"version", "token", "loopback", "dashboard", "files"}
    assert all(one.ok for one in found if one.check != "dashboard")  # another program may have that port
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setattr(check, "listening", lambda pid: ["00000000"])
    ray.home.chmod(0o755)
    wrong = {one.check for one in check.ray_findings(ray) if not one.ok}
    ray.home.chmod(0o700)
    assert wrong >= {"token", "loopback", "files"}
