"""Images of one size as columns: lists of uint8 in frames and Parquet, NPZ files, folders of PNG files.

An image column holds height x width x channels whole numbers from 0 to 255, row by row, channels last. It is learned as that many
numeric places, so every method takes images. Files that bring images:

    NPZ        one array per column, named like it: images [n, ...] of any shape with the right number of values, labels [n]
    folder     DIR/CLASS/NAME.png, the folder's name being the label; images straight in DIR where the schema has no label

PNG files are read by Pillow (extra `images`), by its PNG reader alone: a file of another kind is no picture, whatever its name.
What a file holds never raises or warns: an image that cannot be read, or of another size, counts as even grey, as a missing
number counts as the middle of its bounds. The size is compared before a pixel is unpacked, so a file that would unpack to
gigabytes costs no more than the schema's own size; Pillow limits what compressed texts beside the pixels may take.
"""

import io
import math
import os
import warnings
import zlib
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema import vectors
from understudy.schema.columns import Column

if TYPE_CHECKING:
    from understudy.schema.schema import Schema


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


def spread_schema(schema: "Schema") -> "Schema":
    """The schema with a column per pixel in the place of every image."""
    return replace(schema, columns=tuple(part for column in schema.columns for part in (column.pixels or (column,))))


def spread_frame(frame: pd.DataFrame, schema: "Schema") -> pd.DataFrame:
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


def read_npz(path: str | os.PathLike[str], schema: "Schema") -> pd.DataFrame:
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


def read_folder(path: str | os.PathLike[str], schema: "Schema") -> pd.DataFrame:
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
    _need_pillow(path)
    columns: dict[str, Any] = {}
    for column in schema.columns:
        if column.kind == "image":
            columns[column.name] = pd.Series([_file(file, column.shape) for file in files], dtype=object)
        elif column.kind == "identifier":
            columns[column.name] = [str(file.relative_to(root)) for file in files]
        else:
            columns[column.name] = [file.parent.name for file in files]
    return pd.DataFrame(columns)


def _need_pillow(path: str | os.PathLike[str]) -> None:
    if find_spec("PIL") is None:
        raise UsageError(
            f"folder {str(path)!r} holds PNG files, and the package 'pillow' that reads them is not installed; "
            "install the extra 'images', or bring the pictures as .npz or .parquet"
        )


def decode_png(data: bytes, shape: tuple[int, int, int]) -> np.ndarray | None:
    """uint8 [height x width x channels] of a PNG of that size, else None. Alpha and the lower half of 16 bits are dropped."""
    from PIL import Image

    height, width, channels = shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # somebody's picture: what is odd about it is not reported
        try:
            with Image.open(io.BytesIO(data), formats=("PNG",)) as file:
                if file.size != (width, height):
                    return None
                image: Image.Image = file
                if image.mode.startswith("I"):  # 16 bits of grey
                    image = Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
                elif image.mode == "P":  # colours first, or the palette's own numbers would count as grey
                    image = image.convert("RGB")
                return np.asarray(image.convert("L" if channels == 1 else "RGB"), np.uint8).reshape(-1)
        except Exception:  # whatever a file can make a reader do
            return None


def _file(path: Path, shape: tuple[int, int, int]) -> np.ndarray | None:
    try:
        return decode_png(path.read_bytes(), shape)
    except OSError:
        return None
