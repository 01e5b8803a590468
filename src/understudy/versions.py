"""Versions of Python and of the packages that a result can depend on."""

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("understudy", "jax", "equinox", "opendp", "dp-accounting", "numpy")


def versions() -> dict[str, str]:
    """By name."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
