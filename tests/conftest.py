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


# A small fit of these compiles for about a minute in every test that makes one; `make test-slow` runs them. `dpgan`
# has the same mechanism and loop and stays in the quick tests, and tests/gradients fits `rdp-cgan` with dense networks.
COMPILE_LONG = ("rdp-cgan", "gan", "medgan", "tablegan", "corgan", "g-pate-data-dependent", "g-pate-as-published")
EVERY_METHOD = ("conformance", "fit")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        named = {
            part
            for value in values
            for part in (value if isinstance(value, tuple) else (value,))
            if isinstance(part, str)
        }
        if item.path.parent.name in EVERY_METHOD and named.intersection(COMPILE_LONG):
            item.add_marker(pytest.mark.slow)
