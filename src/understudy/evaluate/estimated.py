"""What to know where the schema leaves categories open: the stand-in has those that its fit found, the real rows have all."""

from understudy.schema import Column, Schema

NAMED = 5  # columns


def note(schema: Schema) -> list[str]:
    """One line, of public facts alone; none where all categories are declared."""
    open_ones = [one for one in schema.columns if one.kind == "categorical" and one.estimate is not None]
    if not open_ones:
        return []
    names = ", ".join(repr(one.name) for one in open_ones[:NAMED]) + (", ..." if len(open_ones) > NAMED else "")
    became = " or ".join(dict.fromkeys(_rare(one) for one in open_ones))
    return [
        f"the schema leaves the categories of {names} open: the fit finds those that many people share, and rarer values come "
        f"back as {became}, while real rows keep their own names; figures of these columns and their pairs count that as a "
        "difference. Declare the lists that are public, which is free, to compare like with like"
    ]


def _rare(column: Column) -> str:
    """What a value that was not found becomes (`docs/schema.md`)."""
    return "`other`" if column.other else "missing" if column.missing else "the first category that was found"
