"""Understudy: stand-ins for sensitive tables, with a differential-privacy guarantee that survives an audit.

    import understudy as us

    schema = us.Schema.load("patients.yaml")
    model = us.PateGan(epsilon=1.0, delta=1e-5).fit("patients.csv", schema)
    fake = model.sample(10_000)

The public surface is the table below. Each name is imported on first use, so that `import understudy` and
`understudy --help` stay quick: neither pulls in JAX, pandas or scikit-learn.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_SURFACE = {
    "UsageError": "understudy.errors",
    "Column": "understudy.schema",
    "Schema": "understudy.schema",
    "Codec": "understudy.schema",
    "Budget": "understudy.accounting",
    "Plan": "understudy.accounting",
    "Certificate": "understudy.accounting",
    "METHODS": "understudy.estimators",
    "advise": "understudy.adviser",
    "MeanEmbedding": "understudy.estimators",
    "PateGan": "understudy.estimators",
    "GPate": "understudy.estimators",
    "DpGan": "understudy.estimators",
    "RdpCgan": "understudy.estimators",
    "Independent": "understudy.estimators",
    "Mst": "understudy.estimators",
    "Aim": "understudy.estimators",
    "method": "understudy.estimators",
    "Model": "understudy.artifact",
    "load": "understudy.artifact",
    "evaluate": "understudy.evaluate",
    "Evaluation": "understudy.evaluate",
}

__all__ = ["__version__", *_SURFACE]


def __getattr__(name: str) -> Any:
    if name not in _SURFACE:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    value = getattr(import_module(_SURFACE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
