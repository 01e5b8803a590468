"""Mean embedding of pictures: noisy sums of low frequencies per class and per group of alike pictures, then cut-off normals.

For tables of one image column and perhaps a class label. With z the low frequencies of a picture (`generators.frequencies`),

    picture mean       sum of z - z(grey)                         all classes together
    picture sizes      histogram of |z - mean|                    sets the clipping radius of what follows
    class means        sum of z - mean per class
    picture products   sum of e e^T, e = z - class mean           all classes together; where groups may lie
    group sums 1, 2    sum of (z - centre, constant) per group    groups by the nearest centre: two paid turns of Lloyd
    residual sizes     histogram of |z - centre| per class        sets the radius of the products
    class products     sum of e e^T per class, e = z - centre

Every sum is one Gaussian answer of norm at most 1 per unit. Groups start from a public codebook of the normal distribution that
the first four answers describe. How many there are, and how many frequencies vary within them, follows from rows, classes and
noise. Everything else is post-processing (`generators.pictures`).
"""

import math

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.measure.class_moments import clipped_means
from understudy.measure.shrinkage import spectral
from understudy.methods.pictures.generator import (
    Kind,
    Mixture,
    PictureGenerator,
    codebook,
    covariances,
    factor,
    flat_weights,
    wiener,
)
from understudy.methods.pictures.training import conv_weights
from understudy.questions import Counts, Products, Step, Sums
from understudy.questions.frequencies import Frequencies, Shape, on_grid
from understudy.questions.row_maps import Constant, Cosines, Entry, Label, LengthCells, Nearest, Places, joined
from understudy.recipe import Announced, Curator, Opening
from understudy.schema import Codec, Schema

MEAN, SIZES, CLASS_MEANS, PRODUCTS = "picture mean", "picture sizes", "class means", "picture products"
GROUPS, RESIDUALS, CLASS_PRODUCTS = ("group sums 1", "group sums 2"), "residual sizes", "class products"
# The number of frequencies and the weights of pictures were chosen on Fashion-MNIST at epsilon 1, judged on its test rows
# (docs/images.md). How each number was is not written anywhere: first values, as far as can be told.
NEAR = 48  # frequencies by which a picture finds its group
PRESENCE = 0.5  # size of the constant that counts a group's rows, over the clipping radius
WITHIN = 0.95  # share of the pictures that clipping should spare
CELLS = np.concatenate([[0.0], np.geomspace(0.02, 1.0, 33)])  # sizes over the largest possible
PER_GROUP = 80.0  # a group should hold so many times the noise of a count
MOST_GROUPS = 24  # per class
SHARPNESS = 6.0  # frequencies that vary within a group, over the root of a class's rows in units of noise
MOST_NUMBERS = 400_000  # noise is drawn for so many numbers at most, in each answer
MOST_PIXELS = 4_000_000  # in the means of all groups; bounds memory


def picture_shape(schema: Schema) -> Shape | None:
    """The shape of the pictures of a table that has nothing else but a class label; None for other tables."""
    pictures = [column for column in schema.columns if column.kind == "image"]
    if len(pictures) != 1 or len(schema.features) != math.prod(pictures[0].shape):
        return None
    return pictures[0].shape


def announce_pictures(schema: Schema, moments: float, pairs: float) -> list[Announced]:
    """`moments` is the weight of all sums, `pairs` sets that of all products."""
    weights = {
        MEAN: (0.02, "one mean for all classes"),
        SIZES: (0.01, "how far pictures lie from the mean"),
        CLASS_MEANS: (0.2 * moments, "low frequencies per class"),
        PRODUCTS: (0.1 * pairs, "products of low frequencies, all classes together"),
        GROUPS[0]: (0.2 * moments, "size and centre of groups of alike pictures"),
        GROUPS[1]: (0.6 * moments, "the same for the groups around the centres found"),
        RESIDUALS: (0.02, "how far pictures lie from the centre of their group"),
        CLASS_PRODUCTS: (1.5 * pairs, "products of low frequencies per class"),
    }
    if schema.label is None:
        del weights[CLASS_MEANS]  # the picture mean says it all
    return [Announced(name, weight, dpa.GaussianDpEvent, detail=detail) for name, (weight, detail) in weights.items()]


def begin_pictures(curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan, kind: Kind) -> Opening:
    """Ask about low frequencies and set up a generator that needs no rounds."""
    shape = picture_shape(codec.schema)
    assert shape is not None
    sums = PictureSums(curator, codec, shape, counts, plan.parameters["noise"])
    mixture = sums.ask()
    generator = PictureGenerator(shape, len(counts), len(mixture.owner), len(mixture.covariance[0]), kind)
    return Opening(generator, conv_weights(generator, mixture) if kind == "conv" else flat_weights(generator, mixture))


class PictureSums:
    """The questions about one table of pictures, in order."""

    def __init__(
        self, curator: Curator, codec: Codec, shape: Shape, counts: np.ndarray, noise: dict[str, float]
    ) -> None:
        self.curator, self.schema, self.counts, self.noise = curator, codec.schema, counts, noise
        self.frequencies = Frequencies.of(shape)
        self.largest = math.sqrt(math.prod(shape))
        self.near = min(NEAR, self.frequencies.count)
        # On the grid, so exact as 32-bit floats too.
        curator.see(Cosines(shape, self.frequencies.count))

    def low(self, count: int) -> Step:
        """The lowest frequencies of a row as the curator sees it from now on."""
        return Places(np.arange(count))

    def ask(self) -> Mixture:
        """All questions, one after the other."""
        mean = self.ask_mean()
        radius = self.ask_radius(mean)
        centre = mean + self.ask_class_means(mean, radius)
        spread = self.ask_spread(on_grid(centre), radius)
        owner, centre = self.first_groups(centre, spread)
        centre, share = self.ask_groups(GROUPS[0], owner, centre, radius, self.near)
        centre, share = self.ask_groups(GROUPS[1], owner, centre, radius, self.frequencies.count)
        covariance = self.ask_products(owner, on_grid(centre), radius)
        return Mixture(owner, share, centre, covariance)

    # -- all classes together ------------------------------------------------------------------------------------------------
    def ask_mean(self) -> np.ndarray:
        """The mean picture, as frequencies."""
        grey = self.frequencies.coefficients(np.full((1, math.prod(self.frequencies.shape)), 0.5))[0]
        everyone = np.asarray([self.counts.sum()])
        features = self.low(len(grey)) - grey
        radius = 0.5 * self.largest * 1.001  # the basis is orthonormal up to its rounding
        return np.asarray(
            grey + clipped_means(self.curator, self.schema, MEAN, self.noise[MEAN], features, radius, everyone)[0][0]
        )

    def ask_radius(self, mean: np.ndarray) -> float:
        """Nearly all pictures lie within it, around the mean."""
        centre = on_grid(mean)
        sizes = self.ask_sizes(SIZES, self.low(len(centre)) - centre, 1)[0]
        return reach(sizes, self.noise[SIZES], self.largest) or 0.4 * self.largest

    def ask_class_means(self, mean: np.ndarray, radius: float) -> np.ndarray:
        """Deviations of the classes from the mean [classes, frequencies]."""
        if CLASS_MEANS not in self.noise:
            return np.zeros((1, len(mean)))
        centre, sigma = on_grid(mean), self.noise[CLASS_MEANS]
        features = self.low(len(centre)) - centre
        means, error = clipped_means(self.curator, self.schema, CLASS_MEANS, sigma, features, radius, self.counts)
        return wiener(means, error[:, None])

    def ask_spread(self, centre: np.ndarray, radius: float) -> np.ndarray:
        """Covariance within classes, all together, of the nearest frequencies [near, near]."""
        features = (self.low(self.near) - Entry(Label(), centre[:, : self.near])) / radius
        question = Products(features, 1, self.noise[PRODUCTS], diagonal=True)
        sums = self.curator.ask(PRODUCTS, question).value[0]
        scale = radius**2 / self.counts.sum()
        return spectral(symmetric(sums, self.near) * scale, question.deviation * scale)

    # -- groups ------------------------------------------------------------------------------------------------------------
    def first_groups(self, centre: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Owner and first centre of every group: the class's mean, moved to where a normal with this spread would have them."""
        classes, frequencies = centre.shape
        most = min(MOST_NUMBERS // frequencies, MOST_PIXELS // math.prod(self.frequencies.shape)) // classes
        room = self.counts / (PER_GROUP * self.noise[GROUPS[1]])
        groups = np.clip(room, 1, max(min(most, MOST_GROUPS), 1)).astype(int)
        random = np.random.default_rng(0)  # public: a codebook only
        drawn = random.standard_normal((3000, self.near)) @ factor(spread)
        owner = np.repeat(np.arange(classes), groups)
        books = {
            size: codebook(drawn, size) if size > 1 else np.zeros((1, self.near))
            for size in sorted(set(groups.tolist()))
        }
        moved = centre[owner]
        moved[:, : self.near] += np.concatenate([books[size] for size in groups.tolist()])
        return owner, moved

    def group_of(self, owner: np.ndarray, centre: np.ndarray) -> Step:
        """Map of a row to its group: the nearest centre of its class."""
        return Nearest(self.low(self.near), centre[:, : self.near], owner)

    def ask_groups(
        self, purpose: str, owner: np.ndarray, centre: np.ndarray, radius: float, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Centres moved to the mean of their group's pictures, in `count` frequencies, and the groups' shares of their class."""
        sigma, constant = self.noise[purpose], PRESENCE * radius
        length, centre = math.hypot(radius, constant), on_grid(centre)
        group = self.group_of(owner, centre)
        away = self.low(count) - Entry(group, centre[:, :count])
        vector = joined(away, Constant(np.asarray([constant]))) / length
        sums = self.curator.ask(purpose, Sums(vector, len(owner), sigma, group, average=True)).value * length
        even = (self.counts / np.bincount(owner))[owner]
        rows = sums[:, -1] / constant
        if self.schema.unit is not None:  # clipping shortens units: only shares are known
            even = np.minimum(even, np.bincount(owner, np.maximum(rows, 0.0))[owner] / np.bincount(owner)[owner])
        held = np.maximum(rows, 0.2 * even + 1e-9)[:, None]
        moved = centre.copy()
        moved[:, :count] += wiener(sums[:, :-1] / held, sigma * length / held)
        share = np.maximum(rows, 0.05 * even + 1e-9)
        return moved, share / np.bincount(owner, share)[owner]

    # -- within groups -------------------------------------------------------------------------------------------------------
    def ask_products(self, owner: np.ndarray, centre: np.ndarray, radius: float) -> np.ndarray:
        """Covariance of the pictures of a class around their groups' centres [classes, kept, kept]."""
        classes, sigma = len(self.counts), self.noise[CLASS_PRODUCTS]
        typical = float(np.median(self.counts)) / sigma
        most = min(self.frequencies.count, int(math.sqrt(2 * MOST_NUMBERS / classes)))
        kept = int(np.clip(SHARPNESS * math.sqrt(typical), min(8, most), most))

        residual = self.low(kept) - Entry(self.group_of(owner, centre), centre[:, :kept])
        radii, sizes = self.ask_radii(residual, radius)
        question = Products(residual / Entry(Label(), radii[:, None]), classes, sigma, diagonal=True)
        sums = self.curator.ask(CLASS_PRODUCTS, question).value
        noisy, error = [], []
        for own, count, reached, size in zip(sums, self.counts, radii, sizes, strict=True):
            matrix, scale = symmetric(own, kept), reached**2 / count
            if self.schema.unit is not None:  # what clipping took from units of several rows is known from the sizes
                scale *= float(np.clip(size / max(np.trace(matrix) * scale, 1e-12), 1.0, self.schema.max_rows_per_unit))
            noisy.append(matrix * scale)
            error.append(question.deviation * scale)
        return covariances(np.stack(noisy), np.asarray(error), self.counts / self.counts.sum())

    def ask_sizes(self, purpose: str, away: Step, classes: int) -> np.ndarray:
        """Noisy histogram of lengths [classes, cells]."""
        cells, rows = joined(Label(), LengthCells(away, CELLS, self.largest)), self.schema.max_rows_per_unit
        sizes, clique = (max(classes, 1), len(CELLS) - 1), (0, 1) if classes > 1 else (1,)
        question = Counts.of_cliques(cells, sizes, [clique], self.noise[purpose], rows, share=True)
        return np.asarray(self.curator.ask(purpose, question).value[0], np.float64).reshape(classes, -1)

    def ask_radii(self, residual: Step, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Clipping radius and mean squared size of the residuals of every class."""
        sigma, classes = self.noise[RESIDUALS], len(self.counts)
        sums = self.ask_sizes(RESIDUALS, residual, classes)
        common = reach(sums.sum(axis=0), sigma * math.sqrt(classes), self.largest) or radius
        radii = np.asarray([reach(own, sigma, self.largest) or common for own in sums])
        middle = np.minimum(0.5 * (CELLS[1:] + CELLS[:-1]) * self.largest, radii[:, None])
        kept = np.maximum(sums, 0.0) + 1e-9
        return radii, (kept * middle**2).sum(axis=1) / kept.sum(axis=1)


def reach(counts: np.ndarray, sigma: float, largest: float) -> float:
    """Size within which WITHIN of the rows lie; 0 where noise hides them."""
    seen = np.where(counts > 2.0 * sigma, counts, 0.0)
    if seen.sum() < 10.0 * sigma:
        return 0.0
    return float(CELLS[1 + np.searchsorted(np.cumsum(seen) / seen.sum(), WITHIN)] * largest)


def symmetric(sums: np.ndarray, size: int) -> np.ndarray:
    """The matrix whose upper triangle and diagonal were released."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size, 1)] = sums[:-size]
    return matrix + matrix.T + np.diag(sums[-size:])
