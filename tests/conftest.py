"""Settings that every test shares.

Nothing here imports understudy at the top: jaxtyping's import hook must be in place first, or shapes go unchecked.
"""

import gc
import os
import re

from hypothesis import settings

# Before JAX is first imported. `make test` sets the same, so that a bare `pytest` behaves no differently.
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Compiling is what costs here, and most of it goes into optimising programs that run for milliseconds: optional passes take
# half, and the compiler's newer way of writing fused loops a third of what is left. Programs of long tests are worth both:
# `make test-slow` has them. A compiler that no longer knows the flag says so and stops; it can then go.
# Programs that took longer than a tenth of a second are kept and found again by later tests, by the other worker, by the
# commands that tests start, and by the next run: their key covers the program, its options and the versions of JAX and of the
# compiler. Half an entry, read while another process writes it, does not unpack; JAX then compiles (and warns, which
# pyproject.toml lets pass).
if os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true") == "true":
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR",
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".pytest_cache", "programs"),
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import shutil
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Continuous integration repeats the same examples, so that red means the change; local runs explore new ones.
settings.register_profile("steady", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("steady")


ROOT = Path(__file__).resolve().parents[1]


def shaped_modules() -> list[str]:
    """Modules that annotate shapes. The checks cost every call of what they are put on, so they are put on nothing else."""
    files = [*(ROOT / "src" / "understudy").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    shaped = [file for file in files if re.search(r"(?m)^(from|import) jaxtyping\b", file.read_text("utf-8"))]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts).removeprefix("src.") for file in shaped]


install_import_hook(shaped_modules(), "beartype.beartype")

LARGEST_CACHE = 400_000_000  # bytes of programs, many of them of sources that have changed since


def pytest_configure(config: pytest.Config) -> None:
    """Begin anew with compiled programs when there are too many; workers start after this."""
    kept = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    if hasattr(config, "workerinput") or not kept.is_dir():
        return
    if sum(file.stat().st_size for file in kept.iterdir()) > LARGEST_CACHE:
        shutil.rmtree(kept, ignore_errors=True)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage rarely: what was imported and collected stays, and tracing programs makes objects by the million."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="session")
def source() -> Path:
    """The folder of the package's sources."""
    return ROOT / "src" / "understudy"


# A small fit of these compiles for about a minute in every test that makes one; `make test-slow` runs them. `dpgan`
# has the same mechanism and loop and stays in the quick tests, and tests/gradients fits `rdp-cgan` with dense networks.
COMPILE_LONG = (
    *("rdp-cgan", "gan", "medgan", "tablegan", "corgan", "g-pate-data-dependent", "g-pate-as-published"),
    *("pate-gan-noise-free", "g-pate-noise-free"),  # fits of both are in tests/pate_gan
)
EVERY_METHOD = ("conformance", "fit")


# A file is run by one worker. These take longest, so they begin: what is left for the end is short, and the workers end together.
LONGEST = (
    "conformance/test_methods.py",
    "engine/test_conformance.py",
    "fit/test_odd_contents.py",
    "g_pate/test_images.py",
    "audit/test_mutants.py",
    "gradients/test_streamed.py",
    "schema/test_reading.py",
    "audit/test_run.py",
    "gradients/test_methods.py",
    "questions/test_questions.py",
    "fit/test_leaks.py",
    "fit/test_resume.py",
    "audit/test_shadow.py",
)


def longest_first(item: pytest.Item) -> int:
    """The place of a test's file among the long ones; all others come behind, in their own order."""
    name = f"{item.path.parent.name}/{item.path.name}"
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "browser" not in (
        config.option.markexpr or ""
    ):  # not every machine has a browser: `make test-browser` asks for it
        asked = [item for item in items if item.get_closest_marker("browser") is not None]
        config.hook.pytest_deselected(items=asked)
        items[:] = [item for item in items if item.get_closest_marker("browser") is None]
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
    items.sort(key=longest_first)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One Chromium for the tests of a file."""
    from tests.browser import Chromium, find

    one = Chromium(find(), tmp_path_factory.mktemp("profile"))
    yield one
    one.close()
