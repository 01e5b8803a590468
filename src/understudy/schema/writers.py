"""Tables out: CSV and Parquet, batch by batch, all or nothing.

Batches go to a hidden file beside the target, which takes the target's name only when everything is written. A full
disk, Ctrl-C or any other end removes the hidden file and leaves an older target as it was.
"""

import contextlib
import os
import secrets
from pathlib import Path
from types import TracebackType

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from understudy.errors import UsageError
from understudy.schema.codec import Codec
from understudy.schema.columns import Column
from understudy.schema.facts import file_format
from understudy.schema.types import value_type

NO_FRACTION = r"\.0+(Z?)$"  # of a time of whole seconds, which Arrow would write with six zeros


class TableWriter:
    """Writes batches in constant memory; use it as a context manager."""

    def __init__(self, path: str | os.PathLike[str], codec: Codec) -> None:
        self.path, self.codec = Path(path), codec
        self.format = "folder" if self.path.is_dir() else file_format(path)
        if self.path.name.lower().endswith((".gz", ".tsv")):
            raise UsageError(f"{str(path)!r}: tables are written as .csv or .parquet")
        if self.format == "folder":
            raise UsageError(f"{str(path)!r} is a folder; give the name of a file")
        if self.format == "npz" or (self.format == "csv" and any(c.kind == "image" for c in codec.schema.columns)):
            raise UsageError(f"{str(path)!r}: tables are written as .csv or .parquet, images as .parquet only")
        self._part = self.path.with_name(f".{self.path.name[:80]}.{secrets.token_hex(4)}.part")
        self._file: pa.NativeFile | None = None
        self._writer: pq.ParquetWriter | pa_csv.CSVWriter | None = None

    def __enter__(self) -> "TableWriter":
        try:
            os.close(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except OSError as error:
            raise UsageError(f"cannot write {str(self.path)!r}: {error.strerror}") from None
        try:
            self._file = pa.OSFile(str(self._part), "wb")
            if self.format == "parquet":
                repeated = [c.name for c in self.codec.schema.columns if _repeats(c)]
                self._writer = pq.ParquetWriter(
                    self._file, self.codec.arrow_schema, write_page_checksum=True, use_dictionary=repeated
                )
            else:
                options = pa_csv.WriteOptions(delimiter=";" if self.codec.schema.decimal == "," else ",")
                self._writer = pa_csv.CSVWriter(self._file, self._as_text().schema, write_options=options)
        except BaseException as error:
            self._discard()
            raise self._explain(error) from None
        return self

    def write(self, batch: pd.DataFrame | pa.Table) -> None:
        """Append rows: a frame from `Codec.decode` or, quicker, a table from `Codec.decode_arrow`."""
        table = self.codec.to_arrow(batch)
        if self._writer is None:
            raise RuntimeError("the writer is not open; use it in a `with` block")
        try:
            self._writer.write_table(table if self.format == "parquet" else self._as_text(table))
        except (OSError, pa.ArrowException) as error:
            raise self._explain(error) from None

    def _as_text(self, table: pa.Table | None = None) -> pa.Table:
        """Columns as CSV holds them: dates in the schema's own form, numbers with its decimal mark (and `;` between columns)."""
        table = self.codec.arrow_schema.empty_table() if table is None else table
        table = table.cast(_plain(table.schema))
        for place, column in enumerate(self.codec.schema.columns):
            cells = table.column(place)
            if column.format is not None:
                cells = pc.strftime(cells, column.format)
            elif pa.types.is_timestamp(cells.type):
                cells = pc.replace_substring_regex(cells.cast(pa.string()), NO_FRACTION, r"\1")
            elif column.decimal == "," and pa.types.is_floating(cells.type):
                cells = pc.replace_substring(cells.cast(pa.string()), ".", ",")
            table = table.set_column(place, column.name, cells)
        return table

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            if self._writer is not None and self._file is not None:
                self._writer.close()
                self._file.close()
            os.replace(self._part, self.path)
        except BaseException as failure:
            self._discard()
            raise self._explain(failure) from None

    def _discard(self) -> None:
        for resource in (self._writer, self._file):
            with contextlib.suppress(OSError, pa.ArrowException, ValueError):
                if resource is not None:
                    resource.close()  # buffered rows may not fit on a full disk; they are thrown away anyway
        self._part.unlink(missing_ok=True)

    def _explain(self, error: BaseException) -> BaseException:
        if not isinstance(error, OSError | pa.ArrowException):
            return error
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "the disk may be full"
        return UsageError(f"cannot write {str(self.path)!r}: {reason}; nothing was left behind")


def open_writer(path: str | os.PathLike[str], codec: Codec) -> TableWriter:
    """A streaming writer for `path` (.csv or .parquet): `with open_writer(path, codec) as w: w.write(batch)`."""
    return TableWriter(path, codec)


def _repeats(column: Column) -> bool:
    # A dictionary pays where values repeat; for continuous columns building it takes longer than writing them plainly.
    if column.kind == "integer":
        lower, upper = column.bounds
        return upper - lower < 1 << 12
    return column.kind in ("categorical", "ordinal")


def _plain(schema: pa.Schema) -> pa.Schema:
    # CSV has no dictionaries, and Arrow's CSV writer no half floats; both are only ways to store the same text.
    return pa.schema([(f.name, pa.float32() if f.type == pa.float16() else value_type(f.type)) for f in schema])
