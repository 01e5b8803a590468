"""The methods by name."""

from importlib import import_module
from typing import Any

from understudy.errors import UsageError

METHODS = {
    "mean-embedding": "understudy.recipes.mean_embedding:MeanEmbedding",
    "pate-gan": "understudy.recipes.pate_gan:PateGan",
    "pate-gan-as-published": "understudy.recipes.pate_gan_published:PateGanAsPublished",
    "g-pate": "understudy.recipes.g_pate:GPate",
    "g-pate-as-published": "understudy.recipes.g_pate:GPateAsPublished",
    "g-pate-data-dependent": "understudy.recipes.g_pate_data_dependent:GPateDataDependent",
    "dpgan": "understudy.recipes.dpgan:DpGan",
    "rdp-cgan": "understudy.recipes.rdp_cgan:RdpCgan",
    "gan": "understudy.recipes.references:Gan",
    "medgan": "understudy.recipes.references:MedGan",
    "tablegan": "understudy.recipes.references:TableGan",
    "corgan": "understudy.recipes.references:CorGan",
    "independent": "understudy.recipes.independent:Independent",
    "mst": "understudy.recipes.mst:Mst",
    "aim": "understudy.recipes.aim:Aim",
}


def method(name: str) -> Any:
    """The estimator class called `name`."""
    if name not in METHODS:
        raise UsageError(f"method: {name!r} is unknown; choose one of {', '.join(METHODS)}")
    module, attribute = METHODS[name].split(":")
    return getattr(import_module(module), attribute)


def __getattr__(name: str) -> Any:
    for path in METHODS.values():
        module, attribute = path.split(":")
        if attribute == name:
            return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'understudy.estimators' has no attribute {name!r}")
