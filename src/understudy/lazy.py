"""Names that a package exports and imports on first use, so that `import understudy` and `--help` stay quick."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, where: Mapping[str, str], name: str) -> Any:
    """What `package` exports as `name`, from the module that `where` says; remembered in the package."""
    if name not in where:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value = getattr(import_module(where[name]), name)
    setattr(sys.modules[package], name, value)
    return value


def resolve(path: str) -> Any:
    """What `module:name` names."""
    module, name = path.split(":")
    return getattr(import_module(module), name)
