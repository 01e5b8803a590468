"""Teachers in stripes: the same votes for any number of workers, whoever forgets or dies; mutants vote otherwise."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.engine import Inline, Refused
from understudy.engine.seats import InlineSeat
from understudy.private import sharded, stripes
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.joint_votes import JointVotes
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.private.partition import Dealing
from understudy.private.sharded import Keepers
from understudy.private.stripes import Cut, Dealer, Reply, cut_into, shards_of
from understudy.questions.panels import Panel
from understudy.scratch import private_folder

from .test_teacher_votes import WIDTH, mechanism, question

TEACHERS = (23, 9)
ROUNDS = 3


SMALL = 6 * (2 * 6 * WIDTH + 2 * (WIDTH + 1))  # numbers of six teachers in each class


@pytest.fixture(autouse=True)
def small_stripes(monkeypatch):
    """Four stripes of six teachers in each class."""
    monkeypatch.setattr(stripes, "STRIPE", SMALL)


def subject(kind=TeacherVotes, **changes):
    return kind(**vars(mechanism(teachers=TEACHERS, **changes)))


def table(rows=90, units=None):
    rng = np.random.default_rng(0)
    cells, classes = rng.normal(size=(rows, WIDTH)).astype(np.float32), rng.integers(0, 2, rows).astype(np.int32)
    return Blocks.of(cells, classes, units)


class Several(Inline):
    """So many workers, all of them in this process."""

    def __init__(self, workers):
        self._workers = workers

    def seats(self, most):
        return [InlineSeat() for _ in range(min(most, self._workers))]


def votes(ensemble, engine, between=lambda number: None, rounds=ROUNDS, chunk=2):
    keepers = Keepers(ensemble, WIDTH, b"\0" * 8, None, engine)
    try:
        keepers.deal_out(table(), b"key")
        found = []
        for number in range(rounds):
            if number % chunk == 0:
                keepers.seal(number)
            between(number)
            found.append(keepers.count(question(number)))
        return np.asarray(found)
    finally:
        keepers.close()


def in_one(ensemble, rounds=ROUNDS):
    """The votes of one ensemble that was never cut, on the same deal."""
    home = private_folder(None, "understudy-test-")
    whole = Cut(1, max(TEACHERS))
    dealer = Dealer(home.folder, ensemble.dealing, whole, b"key")
    for task in enumerate(table().parts):
        dealer(task)
    data = jax.tree.map(jnp.asarray, shards_of(home.folder, ensemble.dealing, whole, 0, WIDTH))
    held, found = ensemble.untaught(max(TEACHERS), WIDTH), []
    for number in range(rounds):
        held, counts = ensemble.count(data, held, question(number))
        found.append(np.asarray(counts))
    home.remove()
    return np.asarray(found)


def test_ensembles_are_cut_by_size_alone():
    assert cut_into(subject(), WIDTH) == Cut(4, 6)
    assert cut_into(mechanism(teachers=(6, 2)), WIDTH) == Cut(1, 6)  # needs no cutting
    assert cut_into(mechanism(teachers=(6, 2)), SMALL) == Cut(6, 1)  # a single teacher is too large
    assert not sharded.in_stripes(mechanism(teachers=(6, 2)), WIDTH) and sharded.in_stripes(subject(), WIDTH)


def test_votes_are_the_same_for_any_number_of_workers():
    expected = votes(subject(), Several(1))
    assert expected.shape == (ROUNDS, 2, 7) and expected.dtype == np.int64 and len(np.unique(expected)) > 10
    for workers in (3, 9):
        np.testing.assert_array_equal(votes(subject(), Several(workers)), expected)
    assert np.abs(in_one(subject()) - expected).max() <= 1  # another program may round a score to the next level


@pytest.mark.parametrize("when", [0, 1, 2])
def test_who_has_forgotten_begins_again_where_teachers_were_sealed(when):
    def forget(number):
        if number == when:
            stripes.KEPT.clear()

    np.testing.assert_array_equal(votes(subject(), Several(2), forget), votes(subject(), Several(1)))


def test_joint_vectors_add_up():
    """Teachers that learn anew in every round: the sum over stripes is that of all."""
    common = {"teachers": TEACHERS, "capacity": 6, "judged": 5, "classes_per_unit": 1, "sigma": 1.0}
    joint = JointVotes(**common, norm=1.0, squared=(), learning_rate=0.5)
    rng = np.random.default_rng(1)
    panel = Panel(
        jnp.asarray(rng.normal(size=(2, 2, 8, WIDTH)), jnp.float32),
        jnp.asarray(rng.normal(size=(2, 5, WIDTH)), jnp.float32),
    )
    found = []
    for workers in (1, 3):
        keepers = Keepers(joint, WIDTH, b"", None, Several(workers))
        keepers.deal_out(table(), b"key")
        found.append(keepers.count(panel))
        keepers.close()
    np.testing.assert_array_equal(*found)
    assert np.abs(found[0]).sum() > 0


# -- dealing -------------------------------------------------------------------------------------------------------------


def test_every_row_is_dealt_once_and_units_stay_together(tmp_path):
    units = np.arange(90) // 3
    dealing, how = Dealing(TEACHERS, capacity=40), Cut(4, 6)
    for task in enumerate(table(units=units).parts):
        Dealer(tmp_path, dealing, how, b"key")(task)
    owners: dict[bytes, tuple[int, int]] = {}
    for number in range(how.stripes):
        shards = shards_of(tmp_path, dealing, how, number, WIDTH)
        for group, place, slot in zip(*np.nonzero(shards.mask), strict=True):
            assert number * how.size + place < TEACHERS[group]
            row = shards.rows[group, place, slot].tobytes()
            assert row not in owners
            owners[row] = (int(group), int(number * how.size + place))
    block = table(units=units).gathered()
    by_unit: dict[tuple[int, int], set[int]] = {}
    for row, group, unit in zip(block.rows, block.classes, block.units, strict=True):
        assert owners[row.tobytes()][0] == group
        by_unit.setdefault((int(unit), int(group)), set()).add(owners[row.tobytes()][1])
    assert all(len(teachers) == 1 for teachers in by_unit.values()) and len(owners) == 90
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


# -- mutants -------------------------------------------------------------------------------------------------------------


class EveryPlaceVotes(TeacherVotes):
    """Mutant: a stripe takes its places for those of the first, so places beyond a class's own teachers vote too."""

    def count(self, data, held, query, first=0):
        return super().count(data, held, query, 0)


def test_places_without_a_teacher_do_not_vote():
    right, wrong = (votes(subject(kind), Several(2)) for kind in (TeacherVotes, EveryPlaceVotes))
    assert (right[:, 1] != wrong[:, 1]).any() and right.max() <= 255 * max(TEACHERS)


def test_a_worker_that_begins_anew_without_the_seal_is_seen(monkeypatch):
    """Mutant: who has lost its teachers begins with untaught ones."""
    right, begun = votes(subject(), Several(2)), stripes.begun

    def untaught(turn, kept):
        found = begun(replace(turn, done=0), kept)
        found.done = turn.done
        return found

    monkeypatch.setattr(stripes, "begun", untaught)
    wrong = votes(subject(), Several(2), lambda number: stripes.KEPT.clear() if number == 2 else None)
    np.testing.assert_array_equal(wrong[:2], right[:2])
    assert (wrong[2] != right[2]).any()


@pytest.mark.parametrize(
    "reply",
    [np.zeros((2, 8), np.int64), np.zeros((2, 7)), np.full((2, 7), np.nan), None],
    ids=["shape", "floats", "nan", "nothing"],
)
def test_counts_that_cannot_be_are_refused(reply, monkeypatch):
    monkeypatch.setattr(sharded, "serve", lambda turn: Reply(lost=False, counts=reply))
    with pytest.raises(Refused):
        votes(subject(), Several(2))
