"""A row map sees one row: its value does not depend on the rows beside it, and one that mixes rows cannot be written."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.private import cellwise, mapping
from understudy.private.answers import sums
from understudy.private.blocks import Blocks
from understudy.private.mapping import Block, apply, row_lengths
from understudy.questions import Sums, row_maps
from understudy.questions.row_maps import (
    Cuts,
    Entry,
    Forest,
    Label,
    Leaves,
    LookUp,
    OneHot,
    Places,
    Step,
    Tree,
    describe,
    digest,
)

from .table import CELLS, CLASSES, SEEN, STEPS, WIDTH

ODD = st.floats(0, 1, width=32) | st.sampled_from([0.0, 1.0, 0.5, np.nan, np.inf, -np.inf, 1e30, -3.0])


def blocks():
    return st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.float32, (n, WIDTH), elements=ODD),
            hnp.arrays(np.int32, n, elements=st.integers(0, CLASSES - 1)),
        )
    )


def same_bits(one, other):
    one, other = np.ascontiguousarray(one), np.ascontiguousarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def test_the_table_names_every_step_that_the_wall_knows():
    steps = {kind for kind in vars(row_maps).values() if isinstance(kind, type) and issubclass(kind, Step)} - {Step}
    assert set(STEPS) == steps == set(mapping.STEPS)


@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.__name__)
@settings(max_examples=30, deadline=None)
@given(blocks(), st.randoms())
def test_a_row_is_mapped_alone(kind, block, random):
    """The value of every row alone, in another order, and among copies of an odd row, is its value in the block."""
    rows, classes = block
    step = STEPS[kind]
    whole = apply(step, Block(rows, classes))
    order = list(range(len(rows)))
    random.shuffle(order)
    assert same_bits(apply(step, Block(rows[order], classes[order])), whole[order])
    for i in range(len(rows)):
        assert same_bits(apply(step, Block(rows[i : i + 1], classes[i : i + 1])), whole[i : i + 1])
    more = np.concatenate([np.full((300, WIDTH), np.nan, np.float32), rows])
    assert same_bits(apply(step, Block(more, np.concatenate([np.zeros(300, np.int32), classes])))[300:], whole)


@settings(max_examples=60, deadline=None)
@given(blocks(), st.integers(1, 9), st.booleans())
def test_looking_vectors_up_is_applying_the_map(block, size, by_class):
    """Bit for bit, however the block is cut; and a sum of them is what adding up row by row gives."""
    step = SEEN - Entry(Label(), np.asarray([[0.2], [0.4]])) if by_class else SEEN
    block = Block(*block)
    assert cellwise.terms(step) is not None
    found = [vectors for _, _, vectors in cellwise.pieces(step, block, size)]
    assert same_bits(np.concatenate(found), apply(step, block))
    question = Sums.by_class(step, CLASSES, 1.0)
    quick, slow = (sums.start(question, WIDTH) for _ in range(2))
    sums.add(question, quick, block)
    steps = sums.on_grid(apply(step, block))
    sums.add_groups(slow, block.classes, steps * sums.weights(sums.lengths(steps))[:, None])
    assert (quick == slow).all()


@pytest.mark.parametrize("step", [Places() - 0.5, LookUp(CELLS, STEPS[LookUp].tables) - Label()], ids=["rows", "label"])
def test_a_map_that_is_no_function_of_cells_is_applied(step):
    assert cellwise.terms(step) is None


@pytest.mark.parametrize("width", [1, 7, 4096, 8193, 10_001])
def test_a_length_is_that_of_the_row_alone(width):
    """NumPy adds up rows of more than 8,192 numbers in pieces that end where its buffer does, somewhere in the row."""
    rows = np.random.default_rng(0).normal(size=(40, width))
    whole = row_lengths(rows)
    assert same_bits(whole, np.concatenate([row_lengths(rows[i : i + 1]) for i in range(40)]))
    if width > 8192:
        at_once = np.einsum("ij,ij->i", rows, rows)  # mutant: as it was
        assert any(np.einsum("ij,ij->i", rows[i : i + 1], rows[i : i + 1])[0] != at_once[i] for i in range(40))


def test_the_nearest_centre_is_that_of_the_row_alone():
    """Centres between which rows lie evenly: products that are rounded by position would let neighbours decide."""
    random = np.random.default_rng(0)
    rows = random.random((400, WIDTH)).astype(np.float32)
    for _ in range(20):
        centres = random.random((6, WIDTH)) * 1e-16 + 0.1
        step, classes = row_maps.Nearest(Places(), centres, np.zeros(6, int)), np.zeros(400, np.int32)
        whole = apply(step, Block(rows, classes))
        for i in range(0, 400, 40):
            assert same_bits(apply(step, Block(rows[i : i + 1], classes[:1])), whole[i : i + 1])


def test_rows_seen_through_a_map_that_overflows_say_nothing():
    """A number too large for 32 bits is somebody's; a warning (an error in this suite) would tell."""
    rows = Blocks.of(np.full((3, WIDTH), [[1.0]] * 2 + [[1e30]], np.float32), np.zeros(3, np.int32))
    assert np.isinf(rows.seen(Places() * 1e30).gathered().rows).tolist() == [[False] * WIDTH] * 2 + [[True] * WIDTH]


@dataclass(frozen=True, eq=False)
class DividedByTheLargest(Step):
    """Mutant: a step of one's own, which would look at the whole block."""

    def __call__(self, rows):
        return rows / rows.max()


@dataclass(frozen=True, eq=False)
class Sneaky(Places):
    """Mutant: passes for a step that the wall knows."""


@pytest.mark.parametrize("step", [DividedByTheLargest(), Sneaky(), lambda rows: rows / rows.max(), np.max])
def test_a_map_that_mixes_rows_is_refused_before_it_sees_one(step):
    block = Block(np.ones((3, WIDTH), np.float32), np.zeros(3, np.int32))
    with pytest.raises(RuntimeError, match="no step"):
        apply(step, block)
    if isinstance(step, Step):
        with pytest.raises(RuntimeError, match="no step"):
            apply(step + 1.0, block)


def test_a_mutant_that_mixes_rows_is_caught(monkeypatch):
    """Were the wall to carry out a step over the block, the check above would see it."""
    monkeypatch.setitem(mapping.STEPS, DividedByTheLargest, lambda step, block, of: block.rows / np.nanmax(block.rows))
    rows = np.random.default_rng(0).random((5, WIDTH)).astype(np.float32)
    classes = np.zeros(5, np.int32)
    whole = apply(DividedByTheLargest(), Block(rows, classes))
    assert not same_bits(apply(DividedByTheLargest(), Block(rows[:1], classes[:1])), whole[:1])


BOTH = Cuts(np.asarray([0, 1]), (np.asarray([0.5]),) * 2, np.asarray([-1, -1]))
FAR, BACK, LEAF = np.asarray([0, 99, -1]), np.asarray([1, 0, 0]), np.asarray([2, 2, 0])


def test_a_row_goes_left_at_or_below_the_threshold_and_brings_the_values_of_its_leaves():
    left, right = np.asarray([1, 0, 3, 0, 0]), np.asarray([2, 0, 4, 0, 0])
    value = np.asarray([[9.0, 9.0], [1.0, 0.0], [9.0, 9.0], [0.0, 2.0], [3.0, 0.0]])
    tree = Tree(np.asarray([0, -1, 1, -1, -1]), np.asarray([0.5, 0.0, 0.25, 0.0, 0.0]), left, right, value)
    block = Block(np.asarray([[0.5, 9.0], [0.6, 0.25], [0.6, 0.3]], np.float32), np.zeros(3, np.int32))
    assert apply(Leaves((tree, tree)), block).tolist() == [[2.0, 0.0], [0.0, 4.0], [6.0, 0.0]]
    assert apply(Forest((tree, tree)), block).tolist() == [[0], [1], [0]]


@pytest.mark.parametrize(
    "step",
    [
        LookUp(BOTH, (np.zeros(2),)),
        LookUp(BOTH, (np.asarray(["1", "odd"]), np.zeros(2))),
        Forest((Tree(FAR, np.full(3, 0.5), LEAF, np.asarray([1, 2, 0]), np.zeros((3, 2))),)),
        Forest((Tree(np.asarray([0, 0, -1]), np.full(3, 0.5), LEAF, BACK, np.zeros((3, 2))),)),
        Forest((Tree(np.asarray([0, -1]), np.full(2, 0.5), np.asarray([1, 0]), np.asarray([7, 0]), np.zeros((2, 2))),)),
    ],
    ids=[
        "too few tables",
        "a table of texts",
        "a place beyond the row",
        "a tree without end",
        "a node that is not there",
    ],
)
def test_a_map_that_only_some_rows_would_fail_on_is_refused_for_all(step):
    """Row 0.1 would pass each of them, row 0.9 not (or it never ended): the error itself would say which one is in the table."""
    for value in (0.1, 0.9):
        with pytest.raises(RuntimeError, match=r"needs a table|must look at places"):
            apply(step, Block(np.full((2, WIDTH), value, np.float32), np.zeros(2, np.int32)))


def test_what_a_map_says_nothing_about_is_never_what_stood_in_memory():
    """A look-up in an empty table once gave what its memory had held before: numbers of other rows."""
    block = Block(np.full((64, WIDTH), 0.9, np.float32), np.zeros(64, np.int32))
    for _ in range(20):
        remains = [np.full((64, 2), 7.0, order="F") for _ in range(20)]
        del remains
        assert (apply(LookUp(BOTH, (np.zeros(0), np.zeros(0)), absent=3.0), block) == 3.0).all()
    assert apply(OneHot(BOTH, np.asarray([0, 2])), block).tolist() == [[0.0, 1.0]] * 64
    assert apply(OneHot(BOTH, np.asarray([2, 0])), block).tolist() == [[0.0, 1.0]] * 64


def test_maps_are_compared_by_what_they_say():
    for kind, step in STEPS.items():
        assert digest(step) == digest(step)
        assert kind.__name__ in describe(step) or kind is row_maps.Constant
    assert len({digest(step) for step in STEPS.values()}) == len(STEPS)
    assert digest(Places(np.arange(3))) != digest(Places(np.arange(4)))
    assert digest((Tree(*[np.zeros(1)] * 5),)) != digest((Tree(*[np.ones(1)] * 5),))
