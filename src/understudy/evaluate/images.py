"""Pictures: a small CNN trained on synthetic and tested on real, and a grid to look at.

G-PATE (Long et al. 2021, Appendix): two convolutional layers with 32 and 64 kernels, ReLU, dropout; accuracy over the
classes. Ours: 3 x 3 kernels, 2 x 2 max-pooling after each, dropout 0.25, one linear layer; Adam at 1e-3, batches of
128, 5 epochs over at most 20,000 pictures (both are arguments). JAX is imported only when this is called.

Pixels are the numeric columns of the schema in its order (row-major, channels last), scaled by the schema's bounds.
"""

import base64
import functools
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.evaluate.result import Images, Summary
from understudy.evaluate.settings import Target
from understudy.evaluate.table import Table, evaluated, is_discrete
from understudy.sampling.condition import Where, parse_where
from understudy.schema import Schema

if TYPE_CHECKING:
    import equinox as eqx
    from jax import Array

    from understudy.artifact import Model

EPOCHS, BATCH, RATE, DROPOUT = 5, 128, 1e-3, 0.25
GRID_COLUMNS = 10

Shape = tuple[int, int, int]  # height, width, channels


def pixels(table: Table, schema: Schema, shape: Shape) -> np.ndarray:
    """Float32 [n, height, width, channels] in [0, 1]; missing and infinite pixels become 0 or the nearer bound."""
    columns = [c for c in evaluated(schema) if c.name != schema.label and not is_discrete(c)]
    if len(columns) != int(np.prod(shape)):
        raise UsageError(
            f"image_shape={'x'.join(map(str, shape))} needs {int(np.prod(shape))} numeric columns beside the label, "
            f"the schema has {len(columns)}"
        )
    out = np.empty((table.rows, len(columns)), dtype=np.float32)
    for j, column in enumerate(columns):
        low, high = column.bounds if column.lower is not None else (0.0, 255.0)
        out[:, j] = np.clip(np.nan_to_num((table.values[column.name] - low) / (high - low), nan=0.0), 0.0, 1.0)
    return out.reshape(-1, *shape)


def compare(
    schema: Schema,
    shape: Shape,
    *,
    train: Table | None,
    test: Table,
    synthetic: Sequence[Table],
    max_rows: int | None,
    seed: int,
    epochs: int = EPOCHS,
) -> Images:
    """Accuracy of the same network trained on real and on each synthetic table, with both grids."""
    target = Target.of(schema)
    if target is None or target.task == "numeric":
        raise UsageError("image_shape: needs a class label in the schema: the CNN predicts it")
    usable = test.take(target.usable(test))
    held, truth = pixels(usable, schema, shape), target.values(usable)
    per_run = []
    notes: list[str] = []
    for table in synthetic:
        sample = table.take(target.usable(table)).sample(max_rows, seed)
        per_run.append(_accuracy(sample, schema, target, shape, held, truth, seed, epochs, notes))
    ceiling = None
    if train is not None:
        sample = train.take(target.usable(train)).sample(max_rows, seed)
        ceiling = _accuracy(sample, schema, target, shape, held, truth, seed, epochs, notes)[0]
    per_class = np.array([[np.nan if v is None else v for v in p] for _, p in per_run]).reshape(len(per_run), -1)
    return Images(
        height=shape[0],
        width=shape[1],
        channels=shape[2],
        classes=target.classes,
        real_grid_png=grid(held, truth, len(target.classes)),
        synthetic_grid_png=synthetic_grid(synthetic[0], schema, shape) if synthetic else "",
        columns_in_grid=GRID_COLUMNS,
        accuracy_a=ceiling,
        accuracy_b=Summary.of([a for a, _ in per_run]),
        accuracy_per_class_b={
            name: float(np.nanmean(per_class[:, k])) if per_run and not np.isnan(per_class[:, k]).all() else None
            for k, name in enumerate(target.classes)
        },
        notes=tuple(dict.fromkeys(notes)),
    )


def synthetic_grid(table: Table, schema: Schema, shape: Shape) -> str:
    """A grid of synthetic pictures, one class a row, as base64 PNG."""
    target = Target.of(schema)
    assert target is not None
    usable = table.take(target.usable(table))
    return grid(pixels(usable, schema, shape), target.values(usable), len(target.classes))


def grid(images: np.ndarray, classes: np.ndarray, count: int, columns: int = GRID_COLUMNS) -> str:
    """The first pictures of each class, one class a row, as base64 PNG; black where a class has too few."""
    height, width, channels = images.shape[1:]
    sheet = np.zeros((count * (height + 1) + 1, columns * (width + 1) + 1, channels), dtype=np.uint8)
    for k in range(count):
        for j, i in enumerate(np.flatnonzero(classes == k)[:columns]):
            top, left = k * (height + 1) + 1, j * (width + 1) + 1
            sheet[top : top + height, left : left + width] = np.round(images[i] * 255).astype(np.uint8)
    return base64.b64encode(png(sheet)).decode("ascii")


def sample_grid(model: "Model", rows: int, seed: int | None, where: Where) -> tuple[int, bytes]:
    """A PNG of images drawn from a fitted model, one class a row, as many columns as `rows` fills; and how many there are."""
    schema = model.resolved
    pictures = [column for column in schema.columns if column.kind == "image"]
    if len(pictures) != 1:
        raise UsageError("a .png grid needs a model with one image column; write .parquet or .csv")
    wanted, classes = parse_where(where, model.codec.schema), model.codec.class_values
    labels = classes if wanted is None else tuple(value for value, own in zip(classes, wanted, strict=True) if own)
    if rows < len(labels):
        raise UsageError(f"rows={rows} is less than one image for each of {len(labels)} classes")
    columns, tiles, drawn = rows // len(labels), [], []
    for number, value in enumerate(labels):
        condition = None if value is None or schema.label is None else {schema.label: value}
        frame = model.sample(columns, seed=None if seed is None else seed + number, where=condition)
        tiles.append(np.stack(frame[pictures[0].name].to_list()).reshape(-1, *pictures[0].shape) / 255.0)
        drawn += [number] * columns
    sheet = grid(np.concatenate(tiles), np.asarray(drawn), len(labels), columns)
    return len(drawn), base64.b64decode(sheet)


def png(image: np.ndarray) -> bytes:
    """Uint8 [height, width, 1 or 3] as a PNG file (PNG specification, sections 5 and 11; no filter)."""
    height, width, channels = image.shape
    if channels not in (1, 3):
        image, channels = image[:, :, :1], 1
    rows = b"".join(b"\x00" + image[y].tobytes() for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def _accuracy(
    table: Table,
    schema: Schema,
    target: Target,
    shape: Shape,
    held: np.ndarray,
    truth: np.ndarray,
    seed: int,
    epochs: int,
    notes: list[str],
) -> tuple[float | None, list[float | None]]:
    labels, count = target.values(table), len(target.classes)
    if len(truth) == 0:
        return None, [None] * count
    if len(np.unique(labels)) < 2:
        notes.append("training data have one class only: its share is the accuracy")
        predicted = np.full(len(truth), labels[0] if len(labels) else 0)
    else:
        predicted = train_and_predict(pixels(table, schema, shape), labels, held, count, seed=seed, epochs=epochs)
    hits = predicted == truth
    return float(hits.mean()), [float(hits[truth == k].mean()) if (truth == k).any() else None for k in range(count)]


def train_and_predict(
    images: np.ndarray,
    labels: np.ndarray,
    held: np.ndarray,
    classes: int,
    *,
    seed: int,
    epochs: int = EPOCHS,
    batch: int = BATCH,
) -> np.ndarray:
    """Train the CNN and return the predicted class of each held-out picture."""
    import equinox as eqx
    import jax

    batch = min(batch, len(images))
    step, predict, optimiser = _programs()
    key_model, key_order, key_drop = jax.random.split(jax.random.key(seed), 3)
    height, width, channels = images.shape[1:]
    model = _network(channels, height, width, classes, key_model)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))
    x, y = np.moveaxis(images, 3, 1), labels.astype(np.int32)
    for epoch in range(epochs):
        order = np.asarray(jax.random.permutation(jax.random.fold_in(key_order, epoch), len(images)))
        for number, start in enumerate(range(0, len(order) - batch + 1, batch)):
            key = jax.random.fold_in(jax.random.fold_in(key_drop, epoch), number)
            index = order[start : start + batch]
            model, state = step(model, state, x[index], y[index], key)
    final = eqx.nn.inference_mode(model)
    chunks = [np.asarray(predict(final, np.moveaxis(held[i : i + 1000], 3, 1))) for i in range(0, len(held), 1000)]
    return np.concatenate(chunks)


@functools.cache
def _programs() -> tuple[Any, Any, Any]:
    """The compiled training step and prediction, made once: several synthetic tables share one compilation."""
    import equinox as eqx
    import jax
    import optax
    from jaxtyping import Array, Float, PRNGKeyArray

    optimiser = optax.adam(RATE)

    def loss(net: eqx.nn.Sequential, inputs: Array, targets: Array, key: PRNGKeyArray) -> Float[Array, ""]:
        outputs = jax.vmap(net)(inputs, key=jax.random.split(key, len(inputs)))
        found: Array = optax.softmax_cross_entropy_with_integer_labels(outputs, targets).mean()
        return found

    @eqx.filter_jit
    def step(
        net: eqx.nn.Sequential, opt: optax.OptState, inputs: Array, targets: Array, key: PRNGKeyArray
    ) -> tuple[eqx.nn.Sequential, optax.OptState]:
        gradient = eqx.filter_grad(loss)(net, inputs, targets, key)
        updates, opt = optimiser.update(gradient, opt)
        return eqx.apply_updates(net, updates), opt

    @eqx.filter_jit
    def predict(net: eqx.nn.Sequential, inputs: Array) -> Array:
        found: Array = jax.vmap(net)(inputs).argmax(axis=1)
        return found

    return step, predict, optimiser


def _flat(values: "Array") -> "Array":
    return values.reshape(-1)


def _network(channels: int, height: int, width: int, classes: int, key: "Array") -> "eqx.nn.Sequential":
    import equinox as eqx
    import jax

    one, two, three = jax.random.split(key, 3)
    return eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(channels, 32, 3, padding=1, key=one),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Conv2d(32, 64, 3, padding=1, key=two),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Lambda(_flat),
            eqx.nn.Dropout(DROPOUT),
            eqx.nn.Linear(64 * (height // 4) * (width // 4), classes, key=three),
        ]
    )
