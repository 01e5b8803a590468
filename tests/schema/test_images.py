"""Images: declared, encoded, decoded, read from three kinds of files, never raising on what somebody's picture holds."""

import io
import struct
import tracemalloc
import zlib
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageFile

from understudy.errors import UsageError
from understudy.evaluate.images import png
from understudy.schema import Codec, Column, Schema, as_frame, check, draft, open_writer, read_table
from understudy.schema.images import as_lists, decode_png, pixel_values

IMAGE = Column(name="face", kind="image", height=3, width=2, channels=3)
GREY = Column(name="scan", kind="image", height=4, width=5)
LABEL = Column(name="who", kind="categorical", categories=("cat", "dog"))


def schema(*columns, label="who"):
    return Schema(columns=columns or (GREY, LABEL), label=label)


def pictures(rows, column=GREY, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (rows, *column.shape)).astype(np.uint8)


def frame(rows=7, column=GREY, seed=0):
    names = np.random.default_rng(seed).choice(["cat", "dog"], rows)
    return pd.DataFrame({column.name: as_lists(pictures(rows, column, seed)), "who": pd.Series(names, dtype="str")})


def stacked(series):
    return np.stack([np.asarray(cell, np.uint8) for cell in series]) if len(series) else np.zeros((0, 1))


# -- the declaration --------------------------------------------------------------------------------------------------------
def test_schema_files_hold_the_size_and_come_back_equal(tmp_path):
    made = schema(IMAGE, Column(name="age", kind="integer", lower=0, upper=99), LABEL)
    made.save(tmp_path / "faces.yaml")
    assert Schema.load(tmp_path / "faces.yaml") == made
    assert "height: 3" in (tmp_path / "faces.yaml").read_text()
    assert Schema.from_dict(schema().to_dict()).fingerprint() == schema().fingerprint()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"height": None}, "needs height"),
        ({"width": 0}, "needs width"),
        ({"channels": 2}, "channels must be 1"),
        ({"missing": True}, "never missing"),
        ({"dtype": "int64"}, "does not suit"),
        ({"lower": 0, "upper": 255}, "takes no lower"),
        ({"estimate": "scan"}, "nothing to estimate"),
        ({"height": 4096, "width": 4096}, "at most"),
    ],
)
def test_odd_declarations_are_refused_by_name(more, words):
    with pytest.raises(UsageError, match=words):
        Column(**{"name": "scan", "kind": "image", "height": 4, "width": 5} | more)


def test_other_kinds_have_no_size_and_labels_are_no_images():
    with pytest.raises(UsageError, match="takes no height"):
        Column(name="age", kind="integer", lower=0, upper=9, height=3)
    with pytest.raises(UsageError, match="is an image"):
        Schema(columns=(GREY, LABEL), label="scan")
    with pytest.raises(UsageError, match="pixel"):
        Schema(columns=(GREY, Column(name="scan[0]", kind="boolean")))


def test_an_image_is_learned_as_its_pixels():
    found = schema(IMAGE, LABEL)
    assert [c.name for c in found.features[:2]] == ["face[0]", "face[1]"] and len(found.features) == 18
    assert found.column("face[3]").bounds == (0.0, 255.0)
    codec = Codec(found)
    assert codec.width == 18 and {block.head for block in codec.blocks} == {"numeric"} and codec.class_count == 2


# -- rows and arrays ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("column", [GREY, IMAGE], ids=["grey", "colour"])
@pytest.mark.parametrize("rows", [0, 1, 9])
def test_pictures_survive_the_codec(column, rows):
    around = (
        Column(name="age", kind="integer", lower=0, upper=99),
        column,
        Column(name="size", kind="continuous", lower=0, upper=1),
        Column(name="ward", kind="categorical", categories=("a", "b", "c")),
        LABEL,
    )
    table = frame(rows, column).assign(
        age=np.arange(rows), size=np.linspace(0, 1, rows), ward=pd.Series(["b"] * rows, dtype="str")
    )
    codec = Codec(schema(*around))
    encoded = codec.encode(table)
    assert encoded.rows.min(initial=0) >= 0 and encoded.rows.max(initial=1) <= 1
    back = codec.decode(*encoded)
    assert list(back.columns) == ["age", column.name, "size", "ward", "who"]
    assert back["age"].tolist() == list(range(rows)) and back["ward"].tolist() == ["b"] * rows
    np.testing.assert_allclose(back["size"], np.linspace(0, 1, rows), atol=1e-6)
    np.testing.assert_array_equal(stacked(back[column.name]), stacked(table[column.name]))
    assert check(back, codec.schema, strict=True) == []


def test_any_array_decodes_to_pictures():
    codec = Codec(schema())
    rows = np.array([[np.nan, np.inf, -np.inf, 2.0, 0.5] * 4], np.float32)
    assert stacked(codec.decode(rows, np.zeros(1, np.int32))["scan"])[0, :5].tolist() == [0, 255, 0, 255, 128]


def test_odd_cells_count_as_grey_and_never_raise():
    odd = [
        None,
        np.nan,
        "x",
        [1, 2],
        [[0] * 5] * 4,
        np.full(20, np.nan),
        np.full(20, 999.0),
        ["a"] * 20,
        np.zeros(20, bool),
    ]
    values, known = pixel_values(pd.Series(odd, dtype=object), GREY)
    assert known.tolist() == [False, False, False, False, True, True, True, False, True]
    assert (values[~known] == 127.5).all() and (values[5] == 127.5).all() and (values[6] == 255).all()
    table = pd.DataFrame({"scan": pd.Series(odd, dtype=object), "who": pd.Series(["cat"] * 9, dtype="str")})
    assert np.isfinite(Codec(schema()).encode(table).rows).all()
    assert any("another size" in line for line in check(table, schema()))


# -- files ----------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [pa.list_(pa.uint8()), pa.list_(pa.uint8(), 20), pa.large_list(pa.int32())], ids=str)
def test_parquet_lists_are_read_and_written(kind, tmp_path):
    table = frame(11)
    arrow = pa.table(
        {"scan": pa.array([list(map(int, cell)) for cell in table["scan"]], kind), "who": pa.array(table["who"])}
    )
    pq.write_table(arrow, tmp_path / "in.parquet")
    read = read_table(tmp_path / "in.parquet", schema())
    np.testing.assert_array_equal(stacked(read["scan"]), stacked(table["scan"]))
    codec = Codec(schema())
    with open_writer(tmp_path / "out.parquet", codec) as writer:
        writer.write(codec.decode(*codec.encode(read)))
        writer.write(codec.decode_arrow(*codec.encode(read)))
    again = read_table(tmp_path / "out.parquet", schema())
    assert len(again) == 22 and pq.read_schema(tmp_path / "out.parquet").field("scan").type == pa.list_(pa.uint8())
    np.testing.assert_array_equal(stacked(again["scan"])[:11], stacked(table["scan"]))
    assert as_frame(arrow, schema())["who"].tolist() == table["who"].tolist()


def test_other_types_are_refused_and_csv_has_no_images(tmp_path):
    with pytest.raises(UsageError, match="but the schema says image"):
        as_frame(pa.table({"scan": [1, 2], "who": ["cat", "dog"]}), schema())
    with pytest.raises(UsageError, match="not supported"):
        as_frame(pa.table({"scan": [[0.5], [0.1]], "who": ["cat", "dog"]}), schema())
    (tmp_path / "a.csv").write_text("scan,who\n1,cat\n")
    with pytest.raises(UsageError, match="cannot come from CSV"):
        read_table(tmp_path / "a.csv", schema())
    for name in ("out.csv", "out.npz"):
        with pytest.raises(UsageError, match=r"images as \.parquet only"):
            open_writer(tmp_path / name, Codec(schema()))


def test_npz(tmp_path):
    images = pictures(5)
    np.savez(tmp_path / "a.npz", scan=images, who=np.array(["cat", "dog", "cat", "cat", "dog"]), more=np.zeros(3))
    read = read_table(tmp_path / "a.npz", schema())
    np.testing.assert_array_equal(stacked(read["scan"]), images.reshape(5, -1))
    assert read["who"].tolist() == ["cat", "dog", "cat", "cat", "dog"] and check(tmp_path / "a.npz", schema()) == []
    np.savez(tmp_path / "b.npz", scan=images)
    with pytest.raises(UsageError, match="no array 'who'"):
        read_table(tmp_path / "b.npz", schema())
    np.savez(tmp_path / "c.npz", scan=images, who=np.array(["cat"]))
    with pytest.raises(UsageError, match="one entry per row"):
        read_table(tmp_path / "c.npz", schema())
    np.savez(tmp_path / "d.npz", scan=images, who=np.array([{}] * 5, object))
    with pytest.raises(UsageError, match="plain arrays"):
        read_table(tmp_path / "d.npz", schema())
    (tmp_path / "e.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(UsageError, match="not a readable NPZ"):
        read_table(tmp_path / "e.npz", schema())
    with pytest.raises(UsageError, match="does not exist"):
        read_table(tmp_path / "none.npz", schema())
    with pytest.raises(UsageError, match="by a schema"):
        read_table(tmp_path / "a.npz")


def folder(root, column=GREY, rows=4):
    images = pictures(rows, column)
    for number, image in enumerate(images):
        place = root / ("cat" if number % 2 else "dog")
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.png").write_bytes(png(image))
    return images


@pytest.mark.parametrize("column", [GREY, IMAGE], ids=["grey", "colour"])
def test_folders_of_png_files(column, tmp_path):
    images = folder(tmp_path / "all", column)
    read = read_table(tmp_path / "all", schema(column, LABEL))
    assert read["who"].tolist() == ["cat", "cat", "dog", "dog"]
    np.testing.assert_array_equal(stacked(read[column.name]), images[[1, 3, 0, 2]].reshape(4, -1))
    assert check(tmp_path / "all", schema(column, LABEL)) == []


def test_damaged_and_foreign_pictures_count_as_grey(tmp_path):
    folder(tmp_path / "all")
    (tmp_path / "all" / "cat" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    (tmp_path / "all" / "cat" / "large.png").write_bytes(png(np.zeros((9, 9, 1), np.uint8)))
    (tmp_path / "all" / "cat" / "empty.png").write_bytes(b"")
    read = read_table(tmp_path / "all", schema())
    assert len(read) == 7 and sum(cell is None for cell in read["scan"]) == 3
    assert np.isfinite(Codec(schema()).encode(read).rows).all()


def test_folders_that_do_not_fit_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds no CLASS/NAME\.png"):
        read_table(tmp_path / "empty", schema())
    with pytest.raises(UsageError, match="other columns"):
        read_table(tmp_path / "empty", schema(GREY, Column(name="age", kind="boolean"), LABEL))
    with pytest.raises(UsageError, match="not a file"):
        read_table(tmp_path / "empty", schema(LABEL, Column(name="x", kind="boolean")))


def picture(image, **more):
    file = io.BytesIO()
    image.save(file, "PNG", **more)
    return file.getvalue()


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def of_size(width, height, *extra):
    """A PNG file that says it is that large and holds nothing of it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(extra) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


RNG = np.random.default_rng(0)
TONES = RNG.integers(0, 256, (4, 5)).astype(np.uint8)
COLOURS = RNG.integers(0, 256, (4, 5, 3)).astype(np.uint8)
ALPHA = RNG.integers(0, 256, (4, 5, 1)).astype(np.uint8)
LUMA = np.rint(COLOURS @ np.asarray([0.299, 0.587, 0.114])).astype(np.uint8)


@pytest.mark.parametrize(
    ("image", "grey", "colour"),
    [
        (Image.fromarray(TONES), TONES, None),
        (Image.fromarray(COLOURS), LUMA, COLOURS),
        (Image.fromarray(np.dstack([TONES, ALPHA])), TONES, None),
        (Image.fromarray(np.dstack([COLOURS, ALPHA])), LUMA, COLOURS),
        (Image.fromarray(TONES > 127), np.where(TONES > 127, 255, 0), None),
        (Image.fromarray(TONES.astype(np.uint16) * 256 + 77), TONES, None),
        (Image.fromarray(COLOURS).quantize(20), LUMA, COLOURS),
    ],
    ids=["grey", "colour", "grey-alpha", "colour-alpha", "one-bit", "sixteen-bit", "palette"],
)
def test_depths_and_colour_types_are_read(image, grey, colour):
    found = decode_png(picture(image), (4, 5, 1))
    assert np.abs(found.reshape(4, 5).astype(int) - grey).max() <= 1  # halves are rounded either way
    wanted = np.dstack([grey] * 3) if colour is None else colour
    np.testing.assert_array_equal(decode_png(picture(image), (4, 5, 3)).reshape(4, 5, 3), wanted)


def test_a_palette_with_transparency_does_not_warn():
    image = Image.fromarray(COLOURS).quantize(20)
    assert decode_png(picture(image, transparency=bytes(range(20))), (4, 5, 3)) is not None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nothing",
        of_size(5, 4),  # no pixels
        of_size(5, 4, chunk(b"zTXt", b"note\0\0" + zlib.compress(bytes(1 << 27)))),  # unpacks to 128 MB
        of_size(60_000, 60_000),  # Pillow calls it a bomb
        of_size(10_000, 10_000),  # Pillow warns
        of_size(0, 0),
        picture(Image.fromarray(TONES))[:60],
        picture(Image.fromarray(TONES)).replace(b"IDAT", b"IDAX"),
    ],
    ids=["empty", "text", "pixels", "long-text", "bomb", "large", "zero", "cut", "unknown"],
)
def test_odd_files_are_no_picture_and_neither_raise_nor_warn(data):
    assert decode_png(data, (4, 5, 1)) is None


def test_a_file_of_another_kind_is_no_picture():
    file = io.BytesIO()
    Image.fromarray(TONES).save(file, "BMP")
    assert decode_png(file.getvalue(), (4, 5, 1)) is None


def test_pixels_of_another_size_are_never_unpacked():
    """A million times the schema's size in a small file: compared by its header alone."""
    header = struct.pack(">IIBBBBB", 8_000, 8_000, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(8_000 * 8_001))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    tracemalloc.start()
    assert decode_png(data, (4, 5, 1)) is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    with mock.patch.object(ImageFile.ImageFile, "load", side_effect=AssertionError("unpacked")) as load:
        assert decode_png(data, (4, 5, 1)) is None and not load.called
        decode_png(picture(Image.fromarray(TONES)), (4, 5, 1))
        assert load.called  # so the check above can fail


def test_without_pillow_a_folder_is_refused_in_one_line(tmp_path, monkeypatch):
    folder(tmp_path / "all")
    monkeypatch.setattr("understudy.schema.images.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"'pillow'.*extra 'images'.*\.npz or \.parquet"):
        read_table(tmp_path / "all", schema())


def test_a_draft_says_how_to_declare_a_list_column(tmp_path):
    arrow = pa.table({"scan": pa.array([[1, 2]], pa.list_(pa.uint8())), "age": [3]})
    pq.write_table(arrow, tmp_path / "a.parquet")
    assert "kind: image, height: H, width: W" in draft(tmp_path / "a.parquet")
