"""Fits in this folder compile quickly rather than well."""

from ..conformance.tables import quick_compilation

__all__ = ["quick_compilation"]
