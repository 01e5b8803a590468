"""A range of people by their id: whom a release is about when it is not about everybody.

    [from, to)  in the order: shorter ids first, ids of one length by their characters

That order is the numbers' for plain numbers (9 before 10) and the alphabet's for ids of one length (2025-0001 before 2026-0001).
Whether somebody lies in a range is a function of that person's id alone. Nothing else would do: the id is all that is the same
for one person in every table and at every time, whereas a date of entry stands in rows, and rows differ between tables.
"""

from dataclasses import dataclass

from understudy.errors import UsageError


@dataclass(frozen=True)
class People:
    """Everybody whose id lies in [lower, upper); None: no limit on that side."""

    lower: str | None
    upper: str | None

    def __post_init__(self) -> None:
        if self.lower is None and self.upper is None:
            raise UsageError("valid_for names no id; write FROM:TO, FROM: or :TO")
        if self.lower is not None and self.upper is not None and not order(self.lower) < order(self.upper):
            raise UsageError(f"valid_for: no id lies from {self.lower!r} up to {self.upper!r} (shorter ids come first)")

    @classmethod
    def parse(cls, text: str) -> "People":
        """`2025-0001:2026-0001`; either side may be left open. `to` itself is not in the range."""
        lower, separator, upper = text.partition(":")
        if not separator or ":" in upper:
            raise UsageError(f"valid_for={text!r} must be FROM:TO, two ids with one colon; TO itself is left out")
        return cls(lower or None, upper or None)

    def holds(self, who: str) -> bool:
        """Whether this id lies in the range: a function of the id alone."""
        after = self.lower is None or order(self.lower) <= order(who)
        return after and (self.upper is None or order(who) < order(self.upper))

    def __str__(self) -> str:
        bounds = (f"from {self.lower!r} on" if self.lower else "", f"before {self.upper!r}" if self.upper else "")
        return "ids " + " and ".join(bound for bound in bounds if bound)


def order(who: str) -> tuple[int, str]:
    """Sort key of ids."""
    return len(who), who
