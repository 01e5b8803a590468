"""The CNN learns made-up pictures, and the grid is a readable PNG."""

import base64
import struct
import zlib

import numpy as np
import pandas as pd
import pytest

from understudy.evaluate import images
from understudy.evaluate.run import evaluate
from understudy.schema import Column, Schema

SIDE = 8


def pictures(rows: int, seed: int, turned: int = 0) -> pd.DataFrame:
    """Three classes: a bright left half, right half, or middle band, under noise; `turned` swaps the meanings."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, rows)
    image = rng.integers(0, 120, (rows, SIDE, SIDE))
    shown = (label + turned) % 3
    for k, part in enumerate((np.s_[:, :4], np.s_[:, 4:], np.s_[3:5, :])):
        image[(shown == k), *part] += 100
    frame = pd.DataFrame(image.reshape(rows, -1), columns=[f"p{i}" for i in range(SIDE * SIDE)])
    return frame.assign(digit=label)


@pytest.fixture(scope="module")
def schema():
    pixels = tuple(Column(name=f"p{i}", kind="integer", lower=0, upper=255) for i in range(SIDE * SIDE))
    return Schema(columns=(*pixels, Column(name="digit", kind="categorical", categories=(0, 1, 2))), label="digit")


def test_accuracy_tells_good_from_misleading_pictures(schema):
    found = evaluate(
        [pictures(300, 3), pictures(300, 4, turned=1)], pictures(150, 2), schema, train=pictures(300, 1),
        image_shape=(SIDE, SIDE), metrics=[],
    ).images  # fmt: skip
    good, misleading = found.accuracy_b.runs
    assert found.accuracy_a > 0.9 and good > 0.9
    assert misleading < 0.1
    assert found.classes == ("0", "1", "2") and set(found.accuracy_per_class_b) == {"0", "1", "2"}


def test_network_has_32_and_64_kernels():
    import equinox as eqx
    import jax

    layers = images._network(1, SIDE, SIDE, 3, jax.random.key(0)).layers
    assert [layer.out_channels for layer in layers if isinstance(layer, eqx.nn.Conv2d)] == [32, 64]


def test_grid_is_a_png_that_decodes_to_the_pictures(schema):
    from understudy.evaluate.table import prepare

    table = prepare(pictures(40, 1), schema)
    data = base64.b64decode(images.synthetic_grid(table, schema, (SIDE, SIDE, 1)))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (10 * (SIDE + 1) + 1, 3 * (SIDE + 1) + 1)
    start = data.index(b"IDAT") + 4
    length = struct.unpack(">I", data[start - 8 : start - 4])[0]
    rows = np.frombuffer(zlib.decompress(data[start : start + length]), np.uint8).reshape(height, width + 1)
    first = int(np.flatnonzero(table.values["digit"] == 0)[0])
    expected = np.array([table.values[f"p{i}"][first] for i in range(SIDE * SIDE)]).reshape(SIDE, SIDE)
    np.testing.assert_array_equal(rows[1 : 1 + SIDE, 2 : 2 + SIDE], expected)
