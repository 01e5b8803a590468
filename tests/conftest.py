"""Settings that every test shares.

Nothing here imports understudy at the top: jaxtyping's import hook must be in place first, or shapes go unchecked.
"""

import os

from hypothesis import settings

# Before JAX is first imported. `make test` sets the same, so that a bare `pytest` behaves no differently.
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from pathlib import Path

import pytest

# Continuous integration repeats the same examples, so that red means the change; local runs explore new ones.
settings.register_profile("steady", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("steady")


ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def source() -> Path:
    """The folder of the package's sources."""
    return ROOT / "src" / "understudy"
