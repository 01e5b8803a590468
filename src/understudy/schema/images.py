"""Images of one size as columns: lists of uint8 in frames and Parquet, NPZ files, folders of PNG files.

An image column holds height x width x channels whole numbers from 0 to 255, row by row, channels last. It is learned as that many
numeric places, so every method takes images. Files that bring images:

    NPZ        one array per column, named like it: images [n, ...] of any shape with the right number of values, labels [n]
    folder     DIR/CLASS/NAME.png, the folder's name being the label; images straight in DIR where the schema has no label

PNG files are read here (8 bits, grey or colour, with or without alpha, not interlaced; PNG specification, sections 9 and 11).
What a file holds never raises: an image that cannot be read, or of another size, counts as even grey, as a missing number counts
as the middle of its bounds.
"""

import math
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema import vectors
from understudy.schema.columns import Column

PNG = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type: grey, colour, grey with alpha, colour with alpha


def pixel_values(series: pd.Series, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """float32 [n, numbers] from 0 to 255, and which images could be read."""
    return vectors.pixels(list(series), math.prod(column.shape))


def from_unit(places: np.ndarray) -> pa.ListArray:
    """Images from places in [0, 1]; any float is accepted, NaN counts as 0."""
    inside = np.fmin(np.fmax(places, np.float32(0)), np.float32(1))
    values = np.rint(inside * np.float32(255)).astype(np.uint8)
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.reshape(-1)))


def as_lists(values: np.ndarray) -> list[np.ndarray]:
    """One flat uint8 array per image, as frames hold them."""
    return list(values.reshape(len(values), math.prod(values.shape[1:])))


def spread_schema(schema: Any) -> Any:
    """The schema with a column per pixel in the place of every image."""
    return replace(schema, columns=tuple(part for column in schema.columns for part in (column.pixels or (column,))))


def spread_frame(frame: pd.DataFrame, schema: Any) -> pd.DataFrame:
    """The same for a frame: whole numbers where all images can be read, else numbers with gaps."""
    parts = []
    for column in schema.columns:
        if column.kind != "image":
            parts += [frame[[column.name]]] if column.name in frame.columns else []
        elif column.name in frame.columns:
            values, known = pixel_values(frame[column.name], column)
            exact = np.rint(values).astype(np.uint8) if known.all() else np.where(known[:, None], values, np.nan)
            parts.append(pd.DataFrame(exact, columns=[pixel.name for pixel in column.pixels], index=frame.index))
    return pd.concat(parts, axis=1) if parts else frame


# -- files ---------------------------------------------------------------------------------------------------------------------


def read_npz(path: str | os.PathLike[str], schema: Any) -> pd.DataFrame:
    """The schema's columns from a NumPy archive; other arrays are ignored. Pickled objects are refused."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in schema.names if name in archive.files}
    except (OSError, EOFError, ValueError, BadZipFile, zlib.error):
        raise UsageError(f"{str(path)!r} is not a readable NPZ file of plain arrays") from None
    absent = [name for name in schema.names if name not in arrays]
    if absent:
        raise UsageError(f"{str(path)!r} has no array {absent[0]!r}; name the arrays like the schema's columns")
    counts = {len(array) if array.ndim else -1 for array in arrays.values()}
    if len(counts) != 1 or -1 in counts:
        raise UsageError(f"{str(path)!r}: the arrays must all have one entry per row")
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if schema.column(name).kind == "image":
            columns[name] = pd.Series(as_lists(array), dtype=object)
        elif array.ndim != 1:
            raise UsageError(f"{str(path)!r}: array {name!r} must have one value per row")
        else:
            columns[name] = pd.Series(array)
    return pd.DataFrame(columns)


def read_folder(path: str | os.PathLike[str], schema: Any) -> pd.DataFrame:
    """A folder of PNG files with a folder per class; the schema has one image column and at most the label besides."""
    images = [column for column in schema.columns if column.kind == "image"]
    others = [column.name for column in schema.columns if column.kind not in ("image", "identifier")]
    if len(images) != 1 or others not in ([], [schema.label]):
        raise UsageError(f"folder {str(path)!r} brings one image column and its label; the schema names other columns")
    root = Path(path)
    files = sorted(root.glob("*/*.png") if schema.label is not None else root.glob("*.png"))
    if not files:
        where = "CLASS/NAME.png" if schema.label is not None else "NAME.png"
        raise UsageError(f"folder {str(path)!r} holds no {where} files")
    columns: dict[str, Any] = {}
    for column in schema.columns:
        if column.kind == "image":
            columns[column.name] = pd.Series([_file(file, column) for file in files], dtype=object)
        elif column.kind == "identifier":
            columns[column.name] = [str(file.relative_to(root)) for file in files]
        else:
            columns[column.name] = [file.parent.name for file in files]
    return pd.DataFrame(columns)


def _file(path: Path, column: Column) -> np.ndarray | None:
    try:
        image = decode_png(path.read_bytes())
    except (OSError, ValueError, struct.error, zlib.error, IndexError):
        return None  # somebody's picture: a damaged one counts as grey and is not reported
    height, width, channels = column.shape
    if image.shape[:2] != (height, width):
        return None
    if image.shape[2] == 3 and channels == 1:
        image = np.rint(image @ np.asarray([0.299, 0.587, 0.114]))[:, :, None].astype(np.uint8)
    return np.broadcast_to(image, (height, width, channels)).reshape(-1)


def decode_png(data: bytes) -> np.ndarray:
    """uint8 [height, width, 1 or 3]; alpha is dropped. ValueError for anything else than 8 bits, not interlaced."""
    if data[:8] != PNG:
        raise ValueError("no PNG")
    place, packed, header = 8, b"", b""
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        header, packed = (body, packed) if kind == b"IHDR" else (header, packed + body if kind == b"IDAT" else packed)
        place += length + 12
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if depth != 8 or interlaced or colour not in _CHANNELS or not 0 < width * height <= 1 << 24:
        raise ValueError("unsupported PNG")
    channels = _CHANNELS[colour]
    line = width * channels
    raw = np.frombuffer(zlib.decompressobj().decompress(packed, height * (line + 1)), np.uint8)
    raw = raw.reshape(height, line + 1)
    image = np.zeros((height, line), np.uint8)
    above = np.zeros(line, np.uint8)
    for y in range(height):
        above = image[y] = _unfilter(int(raw[y, 0]), raw[y, 1:], above, channels)
    pixels = image.reshape(height, width, channels)
    return pixels[:, :, : channels - 1] if colour in (4, 6) else pixels


def _unfilter(kind: int, line: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """One line of pixels from its filtered form (PNG specification, section 9)."""
    if kind == 0:
        return line.copy()
    if kind == 2:
        return line + above
    if kind not in (1, 3, 4):
        raise ValueError("unknown filter")
    out = np.zeros(len(line), np.int64)
    for x in range(len(line)):
        left, up = (int(out[x - step]) if x >= step else 0), int(above[x])
        corner = int(above[x - step]) if x >= step else 0
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            estimate = left + up - corner
            guess = min((left, up, corner), key=lambda value: abs(estimate - value))
        out[x] = (int(line[x]) + guess) % 256
    return out.astype(np.uint8)
