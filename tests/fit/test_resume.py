"""Cancel, crash, resume: the same result, charged once; and everything that must not be resumed is refused."""

import contextlib
import json
import shutil
import stat
import time
from dataclasses import replace

import jax
import numpy as np
import pytest
from sklearn.base import clone

import understudy.private.checkpoint as checkpoints
import understudy.private.rounds as rounds
from understudy import begin
from understudy.accounting import Ledger, LedgerError, epsilon
from understudy.accounting.ledger import charges_in, entries_from_dict
from understudy.artifact import load
from understudy.begin import left_behind, resumable
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.private import Curator, SecureNoise, SeededNoise, stripes
from understudy.private.checkpoint import Checkpoint
from understudy.private.digest import digest

from ..conformance.tables import GENERATORS, mixed_schema, mixed_table
from .inside import opened

SCHEMA = mixed_schema("sick")


class TwoStreams(SeededNoise):
    """Noise and keys from streams of their own: a resumed fit draws keys that it throws away, and goes on with the noise."""

    def __init__(self, seed):
        super().__init__(seed)
        self._keys = np.random.default_rng(seed + 1)

    def secret(self, size):
        return self._keys.bytes(size)


def estimator(**options):
    return clone(GENERATORS["pate-gan"]).set_params(**options)


def stop_at(stage, number=0):
    def callback(event):
        if event["stage"] == stage and event["round"] >= number:
            raise KeyboardInterrupt

    return callback


def interrupted(folder, noise, callback):
    with pytest.raises(KeyboardInterrupt):
        fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder, progress=callback, noise=noise)


def resumed(folder, noise, model=None):
    return fit(model or estimator(), mixed_table(), SCHEMA, checkpoint=folder, resume=True, noise=noise)


@pytest.fixture(scope="module")
def uninterrupted():
    return fit(estimator(), mixed_table(), SCHEMA, noise=TwoStreams(3))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A fit stopped after two of three rounds, to be copied and then resumed, damaged, ..."""
    folder = tmp_path_factory.mktemp("stopped") / "checkpoint"
    interrupted(folder, TwoStreams(3), stop_at("rounds", 2))
    return folder


@pytest.fixture
def checkpoint(stopped, tmp_path):
    return as_if_begun_here(shutil.copytree(stopped, tmp_path / "checkpoint"))


def as_if_begun_here(folder):
    """A copy that takes itself for the first: what tests need and nobody else may have."""
    record = json.loads((folder / "record.json").read_text())
    (folder / "record.json").write_text(json.dumps(record | {"folder": Checkpoint(folder).identity()}))
    return folder


def same(model, other):
    assert set(model.weights) == set(other.weights)
    for name, value in model.weights.items():
        np.testing.assert_array_equal(value, other.weights[name])
    assert model.history == other.history
    assert model.class_counts == other.class_counts
    tokens = [
        [(entry["purpose"], entry["event"]) for entry in ledger["entries"]] for ledger in (model.ledger, other.ledger)
    ]
    assert tokens[0] == tokens[1]


# -- the same result, charged once -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stage,number", [("rounds", 1), ("finish", 0)])
def test_a_cancelled_fit_goes_on_where_it_was(uninterrupted, tmp_path, stage, number):
    folder, noise = tmp_path / "checkpoint", TwoStreams(3)
    interrupted(folder, noise, stop_at(stage, number))
    same(resumed(folder, noise), uninterrupted)
    assert list(tmp_path.iterdir()) == []


def test_a_fit_can_be_cancelled_twice(uninterrupted, tmp_path):
    folder, noise = tmp_path / "checkpoint", TwoStreams(3)
    interrupted(folder, noise, stop_at("rounds", 1))
    with pytest.raises(KeyboardInterrupt):
        fit(
            estimator(),
            mixed_table(),
            SCHEMA,
            checkpoint=folder,
            resume=True,
            progress=stop_at("rounds", 2),
            noise=noise,
        )
    same(resumed(folder, noise), uninterrupted)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_around_a_charge_costs_nothing_more(uninterrupted, tmp_path, monkeypatch, when):
    """The checkpoint is on disk; then the process dies just before, or just after, the second chunk is charged."""
    folder, noise, charge = tmp_path / "checkpoint", TwoStreams(3), Ledger.charge

    def dies(self, purpose, event, token, digest=""):
        if token == "rounds from 1":
            if when == "after":
                charge(self, purpose, event, token, digest)
            raise KeyboardInterrupt
        charge(self, purpose, event, token, digest)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "charge", dies)
        interrupted(folder, noise, None)
    charged = (folder / "ledger.jsonl").read_text().count("rounds from")
    assert charged == (2 if when == "after" else 1)
    same(resumed(folder, noise), uninterrupted)


def test_a_crash_inside_a_chunk_repeats_it_with_the_same_noise(uninterrupted, tmp_path, monkeypatch):
    folder, noise, seen, run = tmp_path / "checkpoint", TwoStreams(3), [], rounds.run_chunk

    def dies(*arguments):
        seen.append(np.asarray(arguments[5]))
        if len(seen) == 2:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(rounds, "run_chunk", dies)
    interrupted(folder, noise, None)
    same(resumed(folder, noise), uninterrupted)
    np.testing.assert_array_equal(seen[1], seen[2])
    assert not np.array_equal(seen[0], seen[1])


def test_the_ledger_of_a_resumed_fit_is_its_plan(checkpoint):
    model = resumed(checkpoint, SecureNoise())
    charges = entries_from_dict(model.ledger)[1]
    votes = [charge for charge in charges if charge.purpose == "teacher votes"]
    assert [charge.detail for charge in votes] == ["rounds from 0", "rounds from 1", "rounds from 2"]
    assert len(charges) == len(model.plan.charges) - 1 + 3


def test_seeded_noise_stays_void_when_the_rest_is_secure(checkpoint):
    assert resumed(checkpoint, SecureNoise()).certificate.void_reasons == ("noise was seeded: void",)


@pytest.mark.parametrize("stage,number", [("rounds", 1), ("finish", 0)])
def test_a_fit_whose_teachers_are_in_stripes_goes_on_where_it_was(tmp_path, monkeypatch, stage, number):
    """Rows and teachers are in private files beside the checkpoint, and gone with it."""
    monkeypatch.setattr(stripes, "STRIPE", 1 << 18)
    expected = fit(estimator(), mixed_table(), SCHEMA, noise=TwoStreams(3))
    folder, noise = tmp_path / "checkpoint", TwoStreams(3)
    interrupted(folder, noise, stop_at(stage, number))
    files = list((folder / "teachers").iterdir())
    assert {file.name.split("-")[0] for file in files} == {"rows", "teachers"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((folder / "teachers").stat().st_mode) == 0o700
    same(resumed(folder, noise), expected)
    assert list(tmp_path.iterdir()) == []


# -- the folder is secret ----------------------------------------------------------------------------------------------


def test_the_checkpoint_is_for_its_owner_alone_and_says_so(stopped):
    assert stat.S_IMODE(stopped.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in stopped.iterdir()}
    assert modes == dict.fromkeys(
        ("SECRET.txt", "data.safetensors", "ledger.jsonl", "opening.jsonl", "record.json", "state.safetensors"), 0o600
    )
    assert (stopped / "SECRET.txt").read_text().startswith("SECRET")


def test_a_fit_leaves_no_checkpoint_behind(tmp_path):
    model = fit(
        estimator(),
        mixed_table(),
        SCHEMA,
        checkpoint=tmp_path / "checkpoint",
        out=tmp_path / "model",
        noise=TwoStreams(3),
    )
    assert not (tmp_path / "checkpoint").exists()
    assert load(tmp_path / "model").method == model.method


def test_a_model_that_cannot_be_saved_leaves_its_checkpoint(checkpoint, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="did not write"):
        fit(
            estimator(),
            mixed_table(),
            SCHEMA,
            checkpoint=checkpoint,
            resume=True,
            out=tmp_path / "taken",
            noise=TwoStreams(3),
        )
    assert (checkpoint / "state.safetensors").is_file()


def test_other_peoples_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="no checkpoint"):
        fit(estimator(), mixed_table(), SCHEMA, checkpoint=tmp_path, noise=TwoStreams(3))
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_fit_that_has_spent_budget_is_not_thrown_away(checkpoint):
    with pytest.raises(UsageError, match=r"epsilon 0.*; go on with resume=True, or move the folder away"):
        fit(estimator(), "missing.csv", SCHEMA, checkpoint=checkpoint)
    assert (checkpoint / "state.safetensors").is_file()


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other,schema,named",
    [
        (estimator(rounds=4), SCHEMA, "plan"),
        (estimator(epsilon=2.0), SCHEMA, "plan"),
        (estimator(delta=1e-6), SCHEMA, "plan"),
        (estimator(hidden=5), SCHEMA, "plan"),
        (clone(GENERATORS["pate-gan-as-published"]), SCHEMA, "plan"),
        (estimator(), mixed_schema("grade"), "(plan, )?schema"),
        (estimator(), mixed_schema("sick", rows=60), "(plan, )?schema"),
    ],
    ids=["rounds", "epsilon", "delta", "network", "method", "label", "rows"],
)
def test_another_fit_does_not_resume(checkpoint, other, schema, named):
    with pytest.raises(UsageError, match=f"under another {named}.*resume=True goes on only with"):
        fit(other, mixed_table(), schema, checkpoint=checkpoint, resume=True)
    assert (checkpoint / "state.safetensors").is_file()


MADE_WITH = ("version of understudy", "version of JAX", "version of jaxlib", "device")


def accepted_from_elsewhere(checkpoint, plan):
    """Which parts of the machinery may change between a fit and its resumption."""
    written, found = (checkpoint / "record.json").read_text(), []
    for name in MADE_WITH:
        record = json.loads(written)
        (checkpoint / "record.json").write_text(json.dumps(record | {name: f"not {record.get(name)}"}))
        try:
            resumable(Checkpoint(checkpoint), plan, SCHEMA, True)
            found.append(name)
        except UsageError as refused:
            assert f"another {name};" in str(refused)
    (checkpoint / "record.json").write_text(written)
    return found


def test_a_fit_resumes_only_with_what_it_was_begun_with(checkpoint, monkeypatch):
    """Another version or device may round votes otherwise: the same noise on other votes would be a second answer."""
    plan = estimator().plan(SCHEMA)
    assert resumable(Checkpoint(checkpoint), plan, SCHEMA, True) is not None
    assert accepted_from_elsewhere(checkpoint, plan) == []

    def of_jax_alone(plan, schema):
        """Mutant: the fingerprint that lacked our own version, jaxlib and the device."""
        return {"plan": plan.to_dict(), "schema": schema.fingerprint(), "version of JAX": jax.__version__}

    monkeypatch.setattr(begin, "fingerprint", of_jax_alone)
    assert accepted_from_elsewhere(checkpoint, plan) == [name for name in MADE_WITH if name != "version of JAX"]


def test_resume_needs_a_checkpoint(tmp_path):
    with pytest.raises(UsageError, match="needs the checkpoint folder"):
        fit(estimator(), mixed_table(), SCHEMA, resume=True)
    with pytest.raises(UsageError, match="no checkpoint"):
        fit(estimator(), mixed_table(), SCHEMA, checkpoint=tmp_path / "none", resume=True)
    assert list(tmp_path.iterdir()) == []


# -- a fit that dies in its opening --------------------------------------------------------------------------------------


def silently_spent(folder):
    """Charges that a dead fit left in `folder` and of which a new fit there says nothing."""
    dead = charges_in(folder / "ledger.jsonl")
    assert dead
    try:
        fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder, noise=TwoStreams(3))
    except UsageError as refused:
        spent = epsilon([charge.event for charge in dead], 1e-5)
        assert f"charged epsilon {spent:.4g} at delta 1e-05" in str(refused)
        return [charge for charge in dead if charge not in charges_in(folder / "ledger.jsonl")]
    return dead


@pytest.mark.parametrize("stage", ["estimate", "begin"])
def test_a_fit_that_died_in_its_opening_goes_on_and_is_charged_once(tmp_path, stage):
    """What was answered is repeated, what was not is asked; every question is in the ledger once."""
    folder = tmp_path / "checkpoint"
    interrupted(folder, TwoStreams(9), stop_at(stage))
    before = charges_in(folder / "ledger.jsonl")
    assert left_behind(folder, 1e-5)[0] is bool(before)
    if before:
        with pytest.raises(UsageError, match=r"spent budget, .*; go on with resume=True"):
            fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder)
    model = fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder, resume=bool(before), noise=TwoStreams(3))
    charges = entries_from_dict(model.ledger)[1]
    assert charges[: len(before)] == before
    assert len(charges) == len(model.plan.charges) - 1 + 3 and len({charge.detail for charge in charges}) == len(
        charges
    )
    assert list(tmp_path.iterdir()) == []


class Unreadable(Exception):
    """A partition is gone."""


def lost_at(folder, number, monkeypatch, noise):
    """A fit whose rows cannot be read for the question of this number, after it was charged."""
    exact, asked = Curator._exact, []

    def gone(self, purpose, question):
        asked.append(purpose)
        if len(asked) == number + 1:
            raise Unreadable
        return exact(self, purpose, question)

    with monkeypatch.context() as patch, pytest.raises(Unreadable):
        patch.setattr(Curator, "_exact", gone)
        fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder, noise=noise)


def test_a_question_whose_rows_were_gone_is_asked_when_they_are_back(uninterrupted, tmp_path, monkeypatch):
    """It stays charged, once; answers that were given are repeated and not asked for again."""
    folder, noise = tmp_path / "checkpoint", TwoStreams(3)
    lost_at(folder, 2, monkeypatch, noise)
    given, charged = Checkpoint(folder).answers(), charges_in(folder / "ledger.jsonl")
    assert len(given) == 2 and len(charged) == 3
    same(resumed(folder, noise), uninterrupted)


def test_answers_that_were_given_are_not_asked_for_again(tmp_path, monkeypatch):
    folder, exact, asked = tmp_path / "checkpoint", Curator._exact, []
    lost_at(folder, 2, monkeypatch, TwoStreams(3))

    def noted(self, purpose, question):
        asked.append(purpose)
        return exact(self, purpose, question)

    monkeypatch.setattr(Curator, "_exact", noted)
    charges = entries_from_dict(resumed(folder, TwoStreams(5)).ledger)[1]
    assert asked == [charge.purpose for charge in charges if charge.detail.startswith("question")][2:]


def test_an_answer_that_is_given_before_it_is_written_down_is_caught(tmp_path, monkeypatch):
    """Mutant: answers are not written down, so a resumed fit would give second ones for one charge."""
    folder = tmp_path / "checkpoint"
    monkeypatch.setattr(Checkpoint, "write_down", lambda self, answer: None)
    lost_at(folder, 2, monkeypatch, TwoStreams(3))
    with pytest.raises(UsageError, match="is damaged"):
        resumed(folder, TwoStreams(5))


def second_answer(folder, monkeypatch, number):
    """The first question's two answers, if a fit goes on after all answers but `number` were lost; they cost one charge."""
    lost_at(folder, 2, monkeypatch, TwoStreams(3))
    opening = folder / "opening.jsonl"
    given = opening.read_bytes().splitlines(keepends=True)
    opening.write_bytes(b"".join(given[:number]))
    with contextlib.suppress(LedgerError):  # what comes later may depend on it
        resumed(folder, TwoStreams(5))
    again = opening.read_bytes().splitlines(keepends=True)
    return [lines[0] for lines in (given, again) if lines]


@pytest.mark.parametrize("number", [0, 1])
def test_answers_that_were_lost_are_not_given_again(tmp_path, monkeypatch, number):
    """The file of answers was truncated, or put back as it was earlier. What was asked next was asked with them in hand."""
    with pytest.raises(UsageError, match="is damaged; move the folder away") as refused:
        second_answer(tmp_path / "checkpoint", monkeypatch, number)
    assert "\n" not in str(refused.value)


def test_answers_that_nobody_misses_are_caught(tmp_path, monkeypatch):
    """Mutant: answers are not held against the ledger. A question that depends on no earlier one gets a second noise for free."""
    every = Checkpoint.answers
    monkeypatch.setattr(Checkpoint, "answers", lambda self, charged=(): every(self))
    first, second = second_answer(tmp_path / "checkpoint", monkeypatch, 0)
    assert first != second


def test_a_copy_of_a_checkpoint_is_refused(stopped, tmp_path, monkeypatch):
    """Noise that was not drawn yet would differ between two copies: two releases for one charge."""
    copy = shutil.copytree(stopped, tmp_path / "copy")
    with pytest.raises(UsageError, match="is a copy of a checkpoint") as caught:
        resumed(copy, TwoStreams(3))
    assert "\n" not in str(caught.value)
    moved = tmp_path / "moved"
    interrupted(tmp_path / "first", TwoStreams(3), stop_at("rounds", 2))
    (tmp_path / "first").rename(moved)  # the same folder under another name
    assert resumed(moved, TwoStreams(3)) is not None


def put_back(stopped, folder):
    """A copy to which the file system has given the number of the first, as ext4 does when that was removed."""
    shutil.copytree(stopped, folder)
    record = json.loads((folder / "record.json").read_text())
    place = [folder.stat().st_ino, *record["folder"][1:]]
    (folder / "record.json").write_text(json.dumps(record | {"folder": place}))
    return folder


def test_a_copy_that_is_put_back_where_the_first_was_is_refused(stopped, tmp_path):
    with pytest.raises(UsageError, match="is a copy of a checkpoint"):
        resumed(put_back(stopped, tmp_path / "copy"), TwoStreams(3))


def test_folders_known_by_their_number_alone_are_caught(stopped, tmp_path, monkeypatch):
    """Mutant: the number of the folder and nothing else. The copy goes on, for nothing."""
    monkeypatch.setattr(Checkpoint, "identity", lambda self: [self.folder.stat().st_ino])
    folder = put_back(stopped, tmp_path / "copy")
    record = json.loads((folder / "record.json").read_text())
    (folder / "record.json").write_text(json.dumps(record | {"folder": record["folder"][:1]}))
    assert resumed(folder, TwoStreams(3)) is not None


@pytest.mark.parametrize("marked", [True, False])
def test_no_two_folders_have_one_identity(tmp_path, monkeypatch, marked):
    """Removed and made again, with the file system's mark and without: then times tell, as exactly as its clock ticks."""
    if not marked:
        monkeypatch.setattr(checkpoints, "generation", lambda folder: 0)
    found = []
    for _ in range(5):
        time.sleep(0.02)
        store = Checkpoint(tmp_path / "checkpoint")
        store.create(1e-5)
        found.append(tuple(store.identity()))
        (tmp_path / "checkpoint").rename(tmp_path / "moved")
        assert tuple(Checkpoint(tmp_path / "moved").identity()) == found[-1]  # moved is no copy
        shutil.rmtree(tmp_path / "moved")
    assert len(set(found)) == 5


def test_an_answer_cut_off_in_the_middle_of_its_line_was_no_answer(tmp_path):
    store = Checkpoint(tmp_path / "checkpoint")
    store.create(1e-5)
    for answer in ([1, 2], [3.5]):
        store.write_down(answer)
    with (store.folder / "opening.jsonl").open("ab") as file:
        file.write(b'{"answer": [4')
    assert store.answers() == [[1, 2], [3.5]]
    store.write_down("next")
    assert store.answers() == [[1, 2], [3.5], "next"]


def test_what_a_fit_that_cannot_go_on_charged_stays_spent(uninterrupted, tmp_path):
    folder = tmp_path / "checkpoint"
    interrupted(folder, TwoStreams(9), stop_at("begin"))
    Checkpoint(folder).give_up()
    with pytest.raises(UsageError, match="cannot be resumed"):
        resumed(folder, TwoStreams(3))
    assert silently_spent(folder) == []
    with pytest.raises(UsageError, match="had charged epsilon"):
        Checkpoint(folder).create(1e-5)
    assert left_behind(folder, 1e-5)[0] is False and 0 < left_behind(folder, 1e-5)[1] < 1
    folder.rename(tmp_path / "given up")  # the way out
    same(fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder, noise=TwoStreams(3)), uninterrupted)
    assert charges_in(tmp_path / "given up" / "ledger.jsonl")


def test_a_ledger_thrown_away_is_caught(tmp_path, monkeypatch):
    """Mutant: the next fit removes the dead one's ledger and starts again."""
    folder = tmp_path / "checkpoint"
    interrupted(folder, TwoStreams(9), stop_at("begin"))
    Checkpoint(folder).give_up()
    monkeypatch.setattr(Checkpoint, "refuse_spent", lambda self, delta: None)
    assert silently_spent(folder)


def test_a_fit_that_charged_nothing_leaves_nothing_to_count(uninterrupted, tmp_path):
    folder = tmp_path / "checkpoint"
    interrupted(folder, TwoStreams(9), stop_at("estimate"))
    assert charges_in(folder / "ledger.jsonl") == [] and left_behind(folder, 1e-5) == (False, 0.0)
    same(fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder, noise=TwoStreams(3)), uninterrupted)


def test_a_damaged_ledger_of_a_dead_fit_is_not_thrown_away(tmp_path):
    folder = tmp_path / "checkpoint"
    interrupted(folder, TwoStreams(9), stop_at("begin"))
    Checkpoint(folder).give_up()
    file = folder / "ledger.jsonl"
    whole = file.read_text()
    file.write_text(whole.replace("class histogram", "class histograms"))
    with pytest.raises(LedgerError, match="counts as spent"):
        fit(estimator(), mixed_table(), SCHEMA, checkpoint=folder)
    file.write_text(whole.rstrip("\n"))  # complete but for the line end: it counts
    assert len(charges_in(file)) == whole.count("class histogram")
    file.write_text(whole[:-9])  # cut off within the line: `charge` had not returned
    assert charges_in(file) == []


# -- a ledger that does not belong ---------------------------------------------------------------------------------------


def test_a_ledger_that_lost_charges_is_refused(checkpoint):
    """Both chunks were shown, so the line of neither may be missing."""
    ledger = checkpoint / "ledger.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    assert sum("rounds from" in line for line in lines) == 2
    for lost in (1, 2):
        ledger.write_text("".join(lines[:-lost]))
        with pytest.raises(LedgerError, match="altered or damaged"):
            resumed(checkpoint, TwoStreams(3))
    ledger.write_text("".join(lines))
    assert len(entries_from_dict(resumed(checkpoint, TwoStreams(3)).ledger)[1]) == len(lines) - 1 + 1


def test_a_ledger_of_another_run_is_refused(checkpoint, tmp_path):
    """Same plan, other tape: the ledger of a second run does not hold the line that the checkpoint noted."""
    interrupted(tmp_path / "second", TwoStreams(4), stop_at("rounds", 2))
    shutil.copy(tmp_path / "second" / "ledger.jsonl", checkpoint / "ledger.jsonl")
    with pytest.raises(LedgerError, match="altered or damaged"):
        resumed(checkpoint, TwoStreams(3))


@pytest.mark.parametrize("name", ["state.safetensors", "data.safetensors", "record.json", "ledger.jsonl"])
@pytest.mark.parametrize("damage", ["gone", "cut", "foreign"])
def test_a_damaged_checkpoint_is_refused_in_one_line(checkpoint, name, damage):
    file = checkpoint / name
    if damage == "gone":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    else:
        file.write_text(json.dumps(["something", "else"]))
    with pytest.raises(UsageError) as caught:
        resumed(checkpoint, TwoStreams(3))
    assert "\n" not in str(caught.value)


def test_the_same_rounds_with_other_noise_are_refused():
    """A second tape for rounds that were answered is a second answer: the ledger stops it before it is computed."""
    found = opened(estimator(), mixed_table(), SCHEMA, TwoStreams(3))
    conversation, generator = found.conversation, found.opening.generator
    before = conversation._secret_state()
    conversation.prepare(1)
    first = conversation._secret_state()["tape"]
    charge_only(conversation, generator)
    conversation._restore(before | {"tape": first})
    charge_only(conversation, generator)  # the identical tape: a repetition
    conversation._restore(before | {"tape": None})
    conversation.prepare(1)
    assert not np.array_equal(conversation._secret_state()["tape"], first)
    with pytest.raises(LedgerError, match="other noise"):
        charge_only(conversation, generator)


def free_questions(conversation, generator):
    """Which questions about the same rounds, with the same noise and price, the ledger takes for repetitions."""
    before, mechanism = conversation._secret_state(), conversation._mechanism
    key, found = jax.random.key(0), []
    asked = {
        "the same": (mechanism, generator, None, key),
        "mechanism": (replace(mechanism, learning_rate=2 * mechanism.learning_rate), generator, None, key),
        "generator": (mechanism, replace(generator, student_steps=generator.student_steps + 1), None, key),
        "state": (mechanism, generator, {"w": np.ones(2)}, key),
        "key": (mechanism, generator, None, jax.random.key(1)),
    }
    for name, (conversation._mechanism, asking, state, public) in asked.items():
        conversation._restore(before)
        try:
            charge_only(conversation, asking, state, public)
            found.append(name)
        except LedgerError as refused:
            assert "another question" in str(refused)
    conversation._mechanism = mechanism
    conversation._restore(before)
    return found


def test_another_question_with_the_same_noise_is_refused(monkeypatch):
    """The difference of two answers with one noise has no noise. The mutant's digest covers the tape alone."""
    found = opened(estimator(), mixed_table(), SCHEMA, TwoStreams(3))
    found.conversation.prepare(1)
    assert free_questions(found.conversation, found.opening.generator) == ["the same"]
    found = opened(estimator(), mixed_table(), SCHEMA, TwoStreams(3))
    found.conversation.prepare(1)
    monkeypatch.setattr(rounds, "digest", lambda tape, *question: digest(tape))
    assert len(free_questions(found.conversation, found.opening.generator)) == 5


def charge_only(conversation, generator, state=None, key=None):
    """`advance` up to the compiled program: the charge comes before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "run_chunk", lambda *arguments: (arguments[3], None, {}))
        conversation.advance(generator, state, jax.random.key(0) if key is None else key)


# -- the same table, or none -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["gone.csv", "fewer rows", "other columns"])
def test_another_or_a_missing_table_is_refused_and_nothing_is_lost(checkpoint, uninterrupted, other):
    """The checkpoint holds the rows it was begun with: a certificate for another file would be about rows never read."""
    table = mixed_table()
    wrong = {
        "gone.csv": "gone.csv",
        "fewer rows": table.iloc[1:],
        "other columns": table.assign(age=table["age"] * 1.5),
    }
    with pytest.raises(UsageError, match="does not exist" if other == "gone.csv" else "another table"):
        fit(estimator(), wrong[other], SCHEMA, checkpoint=checkpoint, resume=True, noise=TwoStreams(3))
    assert Checkpoint(checkpoint).exists()


def test_a_fit_in_a_worker_is_refused(monkeypatch):
    monkeypatch.setenv("UNDERSTUDY_WORKER", "1")
    with pytest.raises(UsageError, match="worker process"):
        fit(estimator(), mixed_table(), SCHEMA)


def test_a_second_fit_into_the_same_folder_is_refused_before_it_spends(tmp_path):
    from understudy.files import alone

    with alone(tmp_path / "model"), pytest.raises(UsageError, match="another fit"):
        fit(estimator(), mixed_table(), SCHEMA, out=tmp_path / "model", checkpoint=tmp_path / "model.checkpoint")
    assert list(tmp_path.iterdir()) == []
