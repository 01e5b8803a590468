"""A chunk is repeated for free only with the same noise and the same question; a digest that sees the tape alone is caught."""

import dataclasses
import hashlib
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from understudy.private.digest import digest

TAPE = np.arange(6).reshape(2, 3)


@dataclass(frozen=True)
class Inner:
    width: int


@dataclass(frozen=True)
class Question:
    clip: float
    weights: Any
    inner: Inner
    losses: tuple[Any, ...]


def loss(weights, row):
    return row @ weights


def other_loss(weights, row):
    return row @ weights


def scaled(by):
    return lambda row: by * row


QUESTION = Question(0.5, np.arange(3.0), Inner(4), (loss, partial(loss, 1), scaled(2)))
OTHERS = {
    "number": dataclasses.replace(QUESTION, clip=0.25),
    "kind of number": dataclasses.replace(QUESTION, inner=Inner(4.0)),
    "array": dataclasses.replace(QUESTION, weights=np.arange(3.0) * (1 + 1e-12)),
    "shape": dataclasses.replace(QUESTION, weights=np.arange(3.0)[:, None]),
    "dtype": dataclasses.replace(QUESTION, weights=np.arange(3)),
    "function": dataclasses.replace(QUESTION, losses=(other_loss, *QUESTION.losses[1:])),
    "argument": dataclasses.replace(QUESTION, losses=(loss, partial(loss, 2), scaled(2))),
    "closure": dataclasses.replace(QUESTION, losses=(loss, partial(loss, 1), scaled(3))),
    "order": dataclasses.replace(QUESTION, losses=QUESTION.losses[::-1]),
    "class": dataclasses.make_dataclass("Question", [f.name for f in dataclasses.fields(QUESTION)], frozen=True)(
        **{f.name: getattr(QUESTION, f.name) for f in dataclasses.fields(QUESTION)}
    ),
}


def confused(digest):
    """Which other question has the digest of this one, with the same tape."""
    return [name for name, other in OTHERS.items() if digest(TAPE, other) == digest(TAPE, QUESTION)]


def tape_alone(tape, *question):
    """Mutant: the digest that let a resumed chunk ask another question with the same noise."""
    return hashlib.sha256(np.ascontiguousarray(tape).tobytes()).hexdigest()


def by_address(tape, *question):
    """Mutant: `repr` cuts arrays short and shows functions by address."""
    return hashlib.sha256(repr((tape, *question)).encode()).hexdigest()


def test_every_setting_of_a_question_shows():
    assert confused(digest) == []
    assert confused(tape_alone) == list(OTHERS)
    assert "array" in confused(by_address)


def test_the_same_question_has_the_same_digest():
    again = Question(0.5, np.arange(3.0), Inner(4), (loss, partial(loss, 1), scaled(2)))
    assert digest(TAPE.copy(), again) == digest(TAPE, QUESTION)
    assert by_address(TAPE, again) != by_address(TAPE, QUESTION)
    assert digest(TAPE, jnp.arange(3)) == digest(TAPE, np.arange(3, dtype=np.int32)) != digest(TAPE, np.arange(3))


def test_digests_tell_tapes_apart():
    assert digest(TAPE) == digest(TAPE.copy())
    assert len({digest(TAPE), digest(TAPE + 1), digest(TAPE.reshape(3, 2)), digest(TAPE, 1)}) == 4


def test_digests_are_the_same_in_another_process():
    """No addresses, no order of hashing."""
    program = (
        "from understudy.private.digest import digest; from understudy.nn.mlp import Mlp; "
        "print(digest([1, 2], Mlp((3, 1)), {'b': 1, 'a': (2, None)}, frozenset('xyz'), Mlp.init))"
    )
    runs = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1 and len(runs.pop().strip()) == 64


def test_what_cannot_be_described_is_refused():
    with pytest.raises(TypeError, match="no lasting description"):
        digest(TAPE, object())
