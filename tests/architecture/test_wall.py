"""What crosses the wall carries its price: every public callable of `understudy.private` returns a `Release`."""

import importlib
import inspect
import pkgutil
import re
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np
import pytest

import understudy.private
from understudy.private.release import Release

WALL = Path(understudy.private.__file__).parent
HOLDS_ROWS = re.compile(r"Array|ndarray|DataFrame|Series|Table\b")

EXEMPT = {
    "SeededNoise": "holds no rows: made from a seed alone",
    "Conversation.done": "rounds so far, counted from the public plan",
    "Conversation.streams": "whether rows are held or read again, which the size of memory decides; for the fit alone",
    "Conversation.exhausted": "stopping rule of the published algorithm, in runs whose certificate is void (see below)",
    "Curator.transcript": "values that were released and paid for, kept for resuming",
}


def modules() -> list[types.ModuleType]:
    """`understudy.private` and every module below it."""
    names = [info.name for info in pkgutil.walk_packages(understudy.private.__path__, "understudy.private.")]
    return [understudy.private, *(importlib.import_module(name) for name in names)]


def returns_release(function: Any) -> bool:
    """True for `-> Release[...]` and for `-> None`; false when the annotation is missing."""
    annotation = get_type_hints(function).get("return", "missing")
    return annotation in (Release, type(None)) or get_origin(annotation) is Release


def unpriced(module: Any) -> list[str]:
    """Names in a module's `__all__` through which something could leave without a price.

    A function must return a `Release`, or nothing; so must every public method of a class, and a class shows no public
    attributes. Records (dataclasses, tuples) of public settings may do more as long as no field could hold rows.
    Exempt are `Release` itself, exceptions, protocols (they hold nothing) and the names in `EXEMPT`.
    """
    found = []
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if thing is Release or name in EXEMPT:
            continue
        if inspect.isclass(thing):
            found += [f"{name}.{member}" for member in unpriced_members(thing)]
        elif callable(thing) and not returns_release(thing):
            found.append(name)
    return [name for name in found if name not in EXEMPT]


def unpriced_members(kind: type) -> list[str]:
    if issubclass(kind, BaseException) or getattr(kind, "_is_protocol", False):
        return []
    if hasattr(kind, "__dataclass_fields__") or issubclass(kind, tuple):
        return [name for name, hint in get_type_hints(kind).items() if HOLDS_ROWS.search(str(hint))]
    found = []
    for name, member in inspect.getmembers_static(kind):
        if name.startswith("_"):
            continue
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        constructor = isinstance(member, classmethod) and makes_itself(function, kind)
        if not constructor and not (inspect.isfunction(function) and returns_release(function)):
            found.append(name)
    return found


def makes_itself(function: Any, kind: type) -> bool:
    """A class method that reads rows in and returns the opaque handle lets nothing out."""
    annotation = inspect.signature(function).return_annotation
    return annotation is kind or str(annotation).strip("'\"") in (kind.__name__, "Self", "typing.Self")


def test_the_wall_has_a_public_surface():
    assert understudy.private.__all__


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_everything_public_returns_a_release(module):
    assert unpriced(module) == []


def test_stopping_rules_that_see_data_are_void():
    """A mechanism with a stopping rule of its own is used by methods without a guarantee only, and these exist."""
    ruled = {
        name
        for module in modules()
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and "exhausted" in vars(kind) and name != "Conversation"
    }
    users = {}
    for name in understudy.METHODS:
        recipe = inspect.getmodule(understudy.method(name))
        users[name] = any(hasattr(recipe, kind) for kind in ruled)
    assert users["pate-gan"] is False
    assert users["pate-gan-as-published"] is True
    for name, uses in users.items():
        reference = not understudy.method(name).private  # its gradients are released without noise, and it says so
        assert bool(understudy.method(name)().void_reason) is (uses or reference), name


def leak(rows: int) -> int:
    return rows


def unannotated(rows: int):
    return rows


def priced(rows: int) -> Release[int]:
    raise AssertionError("never called")


class LeakyCurator:
    __slots__ = ("_rows", "seen")

    def __init__(self) -> None:
        self._rows = self.seen = 3

    def adopt(self) -> None:
        self._rows += 1

    def count(self) -> int:
        return self._rows

    def noisy_count(self) -> Release[int]:
        raise AssertionError("never called")

    @property
    def rows(self) -> int:
        return self._rows


@dataclass(frozen=True)
class Settings:
    sigma: float

    def scaled(self) -> float:
        return 2 * self.sigma


@dataclass(frozen=True)
class Shard:
    rows: np.ndarray


@pytest.mark.parametrize(
    ("name", "thing", "expected"),
    [
        ("leak", leak, ["leak"]),
        ("unannotated", unannotated, ["unannotated"]),
        ("priced", priced, []),
        ("LeakyCurator", LeakyCurator, ["LeakyCurator.count", "LeakyCurator.rows", "LeakyCurator.seen"]),
        ("Settings", Settings, []),
        ("Shard", Shard, ["Shard.rows"]),
    ],
)
def test_the_check_can_fail(name, thing, expected):
    module = types.SimpleNamespace(__all__=[name], **{name: thing})
    assert unpriced(module) == expected


def unnamed(text: str) -> list[str]:
    """Questions that can be asked, and files of mechanisms, of which no row of a table says so."""
    from understudy.private.answers import ANSWERS

    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")]
    mechanisms = (WALL / "mechanisms").glob("[!_]*.py")
    asked = [
        question.__name__
        for question, answer in ANSWERS.items()
        if not any(
            f"`{question.__name__}`" in row[0]
            and f"`{question.__module__.split('.')[-1]}.py`" in row[1]
            and f"`{answer.__name__.split('.')[-1]}.py`" in row[2]
            for row in rows
        )
    ]
    return asked + [file.name for file in mechanisms if not any(f"`{file.name}`" in row[1] for row in rows)]


def test_the_wall_s_own_page_names_every_question_and_mechanism():
    text = (WALL / "README.md").read_text("utf-8")
    assert unnamed(text) == []
    assert unnamed(text.replace("`Distances`", "").replace("`silenced.py`", "")) == ["Distances", "silenced.py"]
