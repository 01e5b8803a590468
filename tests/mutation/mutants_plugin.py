"""What the test runs of `make mutants` do besides testing; loaded into pytest with `-p mutants_plugin`.

`MUTANTS_JOB` names a JSON file: `src` (the folder that must be imported from), `packages` (the imported names), and either
`reach`, where to write which item reached which line and how long it took, or `items`, the items to run and their order. Lines
are recorded with coverage, one context per item, from before the first import. Caches of the packages' functions are emptied
before every item: what one item computed would not be reached by the next.
"""

import functools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

JOB: dict[str, Any] = json.loads(Path(os.environ["MUTANTS_JOB"]).read_text())
SECONDS: dict[str, float] = {}
FAILED: set[str] = set()

recorder = coverage.Coverage(data_file=None, config_file=False, include=[f"{JOB['src']}/*"]) if "reach" in JOB else None
if recorder is not None:
    recorder.start()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "items" in JOB:
        place = {name: number for number, name in enumerate(JOB["items"])}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _empty_caches()
    if recorder is not None:
        recorder.switch_context(item.nodeid)
    result = yield
    if recorder is not None:
        recorder.switch_context("")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        FAILED.add(report.nodeid)


def pytest_sessionfinish() -> None:
    for package in JOB["packages"]:
        if package in sys.modules:
            found = str(sys.modules[package].__file__)
            if not found.startswith(JOB["src"]):
                pytest.exit(f"{package} was imported from {found}, not from {JOB['src']}", returncode=9)
    if recorder is not None:
        recorder.stop()
        data = recorder.get_data()
        lines = {
            str(Path(file).relative_to(JOB["src"])): {
                line: [item for item in items if item] for line, items in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        seconds = {item: taken for item, taken in SECONDS.items() if item not in FAILED}
        Path(JOB["reach"]).write_text(json.dumps({"seconds": seconds, "lines": lines}))


def _empty_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in JOB["packages"]:
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
