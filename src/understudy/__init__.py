"""Understudy: stand-ins for sensitive tables, with a differential-privacy guarantee that survives an audit.

    import understudy as us

    schema = us.Schema.load("patients.yaml")
    model = us.PateGan(epsilon=1.0, delta=1e-5).fit("patients.csv", schema)
    fake = model.sample(10_000)

The public surface is the table below. Each name is imported on first use, so that `import understudy` and
`understudy --help` stay quick: neither pulls in JAX, pandas or scikit-learn.
"""

from functools import partial

from understudy.lazy import lazily

__version__ = "0.1.0.dev0"

_SURFACE = {
    "UsageError": "understudy.errors",
    "Column": "understudy.schema",
    "Schema": "understudy.schema",
    "Codec": "understudy.schema",
    "Budget": "understudy.accounting",
    "Plan": "understudy.accounting",
    "Certificate": "understudy.accounting",
    "Account": "understudy.account",
    "METHODS": "understudy.methods.registry",
    "advise": "understudy.adviser.advice",
    "draft": "understudy.schema",
    "fit": "understudy.easy",
    "MeanEmbedding": "understudy.methods.mean_embedding",
    "PateGan": "understudy.methods.pate_gan",
    "GPate": "understudy.methods.g_pate",
    "DpGan": "understudy.methods.gradients",
    "RdpCgan": "understudy.methods.gradients",
    "Independent": "understudy.methods.marginals",
    "Mst": "understudy.methods.marginals",
    "Aim": "understudy.methods.marginals",
    "CliqueTree": "understudy.methods.clique_tree",
    "method": "understudy.methods.registry",
    "Model": "understudy.artifact",
    "load": "understudy.artifact",
    "evaluate": "understudy.evaluate",
    "Evaluation": "understudy.evaluate",
    "publish": "understudy.published",
    "Published": "understudy.published",
}

__all__ = ["__version__", *_SURFACE]
__getattr__ = partial(lazily, __name__, _SURFACE)


def __dir__() -> list[str]:
    return sorted(__all__)
