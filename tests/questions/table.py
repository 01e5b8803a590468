"""One line per question and per step of a row map: whoever adds one adds a line here, and every test below picks it up."""

import numpy as np

from understudy.questions import (
    ColumnBounds,
    ColumnCategories,
    ColumnKinds,
    Counts,
    Distances,
    MarginalChoice,
    MeanDistances,
    ModelChoice,
    Products,
    Sums,
    class_counts,
)
from understudy.questions.distances import Blocks
from understudy.questions.mean_distances import Expected
from understudy.questions.row_maps import (
    Binned,
    Constant,
    Cosines,
    Cuts,
    Entry,
    Equals,
    Forest,
    Joined,
    Label,
    Leaves,
    LengthCells,
    Linear,
    LookUp,
    Magnitude,
    Minus,
    Nearest,
    OneHot,
    Outcomes,
    Over,
    Places,
    Plus,
    Present,
    Same,
    Scores,
    Times,
    Tree,
)
from understudy.schema import Column, Schema

WIDTH, CLASSES = 12, 2  # of the encoded rows that maps are tried on: 12 = a picture of 3 x 4
ROWS_PER_UNIT = 3
RNG = np.random.default_rng(0)
EDGES = tuple(np.sort(RNG.random(4)) for _ in range(3))
CELLS = Cuts(np.arange(3), EDGES, np.asarray([-1, 5, -1]), codes=(0, 1, 0))
OUTCOMES = Outcomes(np.asarray([6, 9]), np.asarray([3, 1]))
TREE = Tree(
    np.asarray([0, -1, 1, -1, -1]),
    np.asarray([0.3, 0, 0.6, 0, 0]),
    np.asarray([1, 0, 3, 0, 0]),
    np.asarray([2, 0, 4, 0, 0]),
    RNG.random((5, CLASSES)),
)
CENTRES = np.rint(RNG.random((4, 3)) * 64) / 64

STEPS = {
    Places: Places(np.asarray([2, 0, 7])),
    Label: Label(),
    Constant: Constant(np.asarray([1.0, -2.0])),
    Plus: Places() + 0.5,
    Minus: Places() - RNG.random(WIDTH),
    Times: Places() * Places(),
    Over: Places(np.arange(3)) / Entry(Label(), np.asarray([[0.3], [7.0]])),
    Magnitude: abs(Places() - 0.4),
    Joined: Joined((Places(np.arange(2)), abs(Places()))),
    Cuts: CELLS,
    Outcomes: OUTCOMES,
    LookUp: LookUp(CELLS, tuple(RNG.normal(size=5) for _ in range(3)), absent=-9.0),
    Entry: Entry(Label(), RNG.random((CLASSES, 4))),
    Equals: Equals(CELLS, 2),
    Present: Present(CELLS),
    OneHot: OneHot(Joined((OUTCOMES, CELLS)), np.asarray([3, 1, 5, 4, 1])),
    Scores: Scores(
        np.arange(3),
        np.tile(np.linspace(0, 1, 5, dtype=np.float32), (3, 1)),
        np.tile(np.asarray([0, 0.1, 0.5, 0.9, 1], np.float32), (3, 1)),
        np.full(WIDTH, 0.5, np.float32),
        np.full(WIDTH, 0.3, np.float32),
        2.5,
    ),
    Cosines: Cosines((3, 4, 1), 5),
    Nearest: Nearest(Cosines((3, 4, 1), 3), CENTRES, np.asarray([0, 0, 1, 1])),
    LengthCells: LengthCells(Places(), np.linspace(0, 1, 6), 4.0),
    Forest: Forest((TREE, TREE)),
    Leaves: Leaves((TREE, TREE)),
    Linear: Linear(Places() * 3.0, RNG.normal(size=(2, WIDTH)), np.asarray([0.5, -1.0])),
    Binned: Binned(Places(np.arange(3)) - 0.2, EDGES),
    Same: Same(Label(), Forest((TREE,))),
}

MAP = Joined((Label(), CELLS, OUTCOMES))
SIZES = (CLASSES, 5, 5, 5, 3, 2)
CLIQUES = [(1,), (0, 2), (3, 4), (0, 1, 5)]
BLOCKS = Blocks.of(np.arange(15) // 4, RNG.random(15))
KNOWN = (*(np.full([SIZES[node] for node in clique], number) for number, clique in enumerate(CLIQUES)), BLOCKS)
MEANS = tuple(
    tuple(
        Expected.of(clique, RNG.random(np.prod([SIZES[node] for node in clique])) * 4, 3.3 * often)
        for clique in CLIQUES
    )
    for often in range(3)
)
FAR = Places() * 3.0 - 1.0  # often longer than 1, so that clipping works
SEEN = Joined((STEPS[OneHot] - 0.3, abs(STEPS[LookUp] - 0.5), Constant(np.asarray([0.1])))) / 3.0  # a function of cells

# Questions about encoded rows.
QUESTIONS = {
    "class counts": class_counts(CLASSES, 2.0, ROWS_PER_UNIT),
    "shared class counts": class_counts(CLASSES, 2.0, ROWS_PER_UNIT, share=True),
    "counts": Counts.of_cliques(MAP, SIZES, CLIQUES, 2.0, ROWS_PER_UNIT),
    "pooled counts": Counts(MAP, SIZES, (((1,), (2,), (3,)), ((4,),)), 0.7, ROWS_PER_UNIT),
    "shared counts": Counts(MAP, SIZES, (((1,), (2,), (3,)), ((0, 5),)), 3.0, ROWS_PER_UNIT, share=True),
    "counts of unequal budgets": Counts.of_cliques(
        MAP, SIZES, CLIQUES, 2.0, ROWS_PER_UNIT, budgets=(1.0, 0.2, 3.0, 0.7)
    ),
    "distances": Distances(MAP, SIZES, (*CLIQUES, (3, 4)), KNOWN, 2.0, ROWS_PER_UNIT),
    "shared distances": Distances(MAP, SIZES, (*CLIQUES, (3, 4)), KNOWN, 2.0, ROWS_PER_UNIT, share=True),
    "distances from blocks": Distances(MAP, SIZES, ((3, 4),), (BLOCKS,), 1.0, ROWS_PER_UNIT),
    "mean distances": MeanDistances(MAP, SIZES, MEANS, 2.0, ROWS_PER_UNIT),
    "shared mean distances": MeanDistances(MAP, SIZES, MEANS, 2.0, ROWS_PER_UNIT, share=True),
    "sums": Sums.by_class(FAR, CLASSES, 1.5),
    "averages": Sums.by_class(FAR, CLASSES, 1.5, average=True),
    "pooled sums": Sums(FAR, 1, 0.5),
    "sums by group": Sums(
        Places(np.arange(4)) - 0.5, 4, 1.0, Nearest(Cosines((3, 4, 1), 3), CENTRES, np.arange(4) % 2)
    ),
    "sums of looked-up vectors": Sums.by_class(SEEN, CLASSES, 1.5),
    "products": Products(FAR, CLASSES, 2.0),
    "products of looked-up vectors": Products(SEEN / Entry(Label(), np.asarray([[0.7], [3.0]])), CLASSES, 2.0),
    "pooled products": Products(FAR / 4.0, 1, 2.0),
    "products with squares": Products(FAR, CLASSES, 1.0, diagonal=True),
    "choice of a marginal": MarginalChoice(
        MAP, SIZES, ((1, 2), (0, 3)), (np.full((5, 5), 2), np.full((2, 5), 3)), (0, 4), (3, 1), 1.0, ROWS_PER_UNIT
    ),
    "shared choice of a marginal": MarginalChoice(
        MAP,
        SIZES,
        ((1, 2), (0, 3)),
        (np.full((5, 5), 2), np.full((2, 5), 3)),
        (0, 4),
        (3, 1),
        1.0,
        ROWS_PER_UNIT,
        share=True,
    ),
    "choice of a model": ModelChoice(
        (Same(Forest((TREE,)), Label()) * 1e9, Places(np.asarray([1])) * 300.0 - 20.0), 1.0, ROWS_PER_UNIT
    ),
}

# Questions about cells as they were read.
SCHEMA = Schema(
    columns=(
        Column(name="x", kind="continuous", estimate="x"),
        Column(name="when", kind="datetime", estimate="when"),
        Column(name="a", kind="categorical", estimate="list"),
        Column(name="b", kind="categorical", estimate="list"),
        Column(name="who", kind="identifier", dtype="string"),
    ),
    unit="who",
    max_rows_per_unit=ROWS_PER_UNIT,
)
RAW_QUESTIONS = {
    "bounds": ColumnBounds(("x",), 2.0, ROWS_PER_UNIT),
    "bounds of whole numbers": ColumnBounds(("x",), 2.0, ROWS_PER_UNIT, whole=True),
    "bounds of dates": ColumnBounds(("when",), 2.0, ROWS_PER_UNIT, datetimes=True),
    "categories": ColumnCategories(("a", "b"), 2.0, 1e-6, ROWS_PER_UNIT),
    "kinds": ColumnKinds(("a", "b"), 2.0, ROWS_PER_UNIT),
}
