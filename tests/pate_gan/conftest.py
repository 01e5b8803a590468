"""Programs here run for moments: compile them quickly."""

from ..conformance.tables import quick_compilation

__all__ = ["quick_compilation"]
