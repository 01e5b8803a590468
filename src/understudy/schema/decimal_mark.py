"""Numbers with the other decimal mark: what is said where 3,14 stands for 3.14, or the other way round."""

from dataclasses import replace

from understudy.schema.columns import Column


def other_mark(column: Column) -> Column:
    """The column, had the schema stated the other decimal mark."""
    return replace(column, decimal="." if column.decimal == "," else ",", codes=())


def mark_hint(column: Column) -> str:
    """What follows a message about a number that can be read with the other mark."""
    if column.decimal == ",":
        return '; the schema says `decimal: ","`, so write 3,14 and not 3.14'
    return '; the schema states no `decimal: ","`, so write 3.14 and not 3,14'
