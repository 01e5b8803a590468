"""What is public about a table, and how its rows become numbers and rows again.

Nothing here sees the wall (`understudy.private`) or JAX. `Schema` and `Column` are declarations by the data holder,
`open_table` reads any source in blocks of rows, cell by cell, `Codec` is a pure function of schema and row, `open_writer`
writes tables; `read_table` and `as_frame` give whole frames to those who want to look at one.
"""

from understudy.schema.check import check
from understudy.schema.codec import Block, Codec, Encoded, cell, codec_of
from understudy.schema.columns import Column
from understudy.schema.dictionaries import import_dictionary
from understudy.schema.draft import FoundKinds, draft
from understudy.schema.estimates import Bounds
from understudy.schema.kinds import cell_kind, estimate_gaps, estimate_kinds
from understudy.schema.paid import PaidKinds
from understudy.schema.reading import Rows, Table, open_table
from understudy.schema.schema import Schema
from understudy.schema.tables import as_frame, read_table
from understudy.schema.types import Kind
from understudy.schema.writers import TableWriter, open_writer

__all__ = [
    "Block",
    "Bounds",
    "Codec",
    "Column",
    "Encoded",
    "FoundKinds",
    "Kind",
    "PaidKinds",
    "Rows",
    "Schema",
    "Table",
    "TableWriter",
    "as_frame",
    "cell",
    "cell_kind",
    "check",
    "codec_of",
    "draft",
    "estimate_gaps",
    "estimate_kinds",
    "import_dictionary",
    "open_table",
    "open_writer",
    "read_table",
]
