"""Fits in this folder compile quickly rather than well."""

from .tables import quick_compilation

__all__ = ["quick_compilation"]
