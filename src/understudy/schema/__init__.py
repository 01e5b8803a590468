"""What is public about a table, and how its rows become numbers and rows again."""

from understudy.schema.codec import Block, Codec, Encoded, cell
from understudy.schema.columns import Column
from understudy.schema.schema import Bounds, Schema
from understudy.schema.types import Kind
from understudy.schema.values import numbers, texts

__all__ = ["Block", "Bounds", "Codec", "Column", "Encoded", "Kind", "Schema", "cell", "numbers", "texts"]
