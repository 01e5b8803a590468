"""The methods by name: one row each, and the only place that lists them.

A row says where a method's estimator is (what users configure) and where the generator of its artifact is (what `sample` needs,
without the private side). Nothing is imported before it is asked for; conformance, leak, odd-content and audit tests, the
command line and the loader of artifacts all read this table.
"""

import inspect
import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

from understudy.errors import UsageError
from understudy.lazy import resolve
from understudy.options import hint


class Row(NamedTuple):
    """Where the two halves of a method are, as `module:name`, and how many columns it takes: whoever advises has no JAX."""

    estimator: str
    generator: str
    most_columns: float = math.inf
    wider: str = ""  # the method that takes wider tables, and pictures, from it; none: it refuses them


def row(folder: str, estimator: str, generator: str, most_columns: float = math.inf, wider: str = "") -> Row:
    """A row of a method that lives in `understudy.methods.<folder>`."""
    home = f"understudy.methods.{folder}"
    return Row(f"{home}.{estimator}", f"{home}.{generator}", most_columns, wider)


METHODS = {
    "mean-embedding": row("mean_embedding", "method:MeanEmbedding", "generator:MeanEmbeddingGenerator"),
    "pate-gan": row("pate_gan", "method:PateGan", "generator:PateGanGenerator"),
    "pate-gan-joint": row("pate_gan", "joint:PateGanJoint", "generator_joint:JointGenerator"),
    "pate-gan-priced": row("pate_gan", "priced:PateGanPriced", "generator_published:PublishedGenerator"),
    "pate-gan-as-published": row("pate_gan", "published:PateGanAsPublished", "generator_published:PublishedGenerator"),
    "pate-gan-noise-free": row("pate_gan", "reference:PateGanNoiseFree", "generator:PateGanGenerator"),
    "g-pate": row("g_pate", "method:GPate", "generator:GPateGenerator"),
    "g-pate-as-published": row("g_pate", "presets:GPateAsPublished", "generator:GPateGenerator"),
    "g-pate-pictures-as-published": row("g_pate", "presets:GPatePicturesAsPublished", "generator:GPateGenerator"),
    "g-pate-data-dependent": row("g_pate", "data_dependent:GPateDataDependent", "generator:GPateGenerator"),
    "g-pate-noise-free": row("g_pate", "reference:GPateNoiseFree", "generator:GPateGenerator"),
    "dpgan": row("gradients", "presets:DpGan", "generator:GanGenerator"),
    "rdp-cgan": row("gradients", "presets:RdpCgan", "generator:GanGenerator"),
    "dpgan-as-published": row("gradients", "presets:DpGanAsPublished", "generator:GanGenerator"),
    "rdp-cgan-as-published": row("gradients", "presets:RdpCganAsPublished", "generator:GanGenerator"),
    "gan": row("gradients", "presets:Gan", "generator:GanGenerator"),
    "medgan": row("gradients", "presets:MedGan", "generator:GanGenerator"),
    "tablegan": row("gradients", "presets:TableGan", "generator:GanGenerator"),
    "corgan": row("gradients", "presets:CorGan", "generator:GanGenerator"),
    "independent": row("marginals", "independent:Independent", "generator:MarginalGenerator"),
    "mst": row("marginals", "mst:Mst", "generator:MarginalGenerator", 128),
    "clique-tree": row("clique_tree", "method:CliqueTree", "generator:CliqueTreeGenerator", 128, "mean-embedding"),
    "aim": row("marginals", "aim:Aim", "generator:MarginalGenerator", 64),
}


def method(name: str) -> Any:
    """The estimator class called `name`."""
    if name not in METHODS:
        near = get_close_matches(name, METHODS, n=1)
        which = f"did you mean {near[0]!r}? All there are:" if near else "choose one of"
        raise UsageError(f"method: {name!r} is unknown; {which} {', '.join(METHODS)}")
    return resolve(METHODS[name].estimator)


def method_options(name: str) -> list[str]:
    """The options of the method called `name`, besides those that every method has."""
    return [one for one in inspect.signature(method(name)).parameters if one not in ("epsilon", "delta", "seed")]


WEIGHED = ("clique-tree",)  # methods that have a workload
WEIGHTS = ("focus", "workload")  # the options that say it


def check_names(name: str, known: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse options that the method called `name` does not have: with the new name, the nearest one, or all there are."""
    known = list(known)
    for option in wanted:
        if option in known:
            continue
        if option in WEIGHTS:
            raise UsageError(
                f"{option}: method {name!r} has no workload, all columns count the same there; choose {' or '.join(WEIGHED)}, or "
                "leave it out"
            )
        raise UsageError(f"method {name!r} has no option {option!r}; {hint(option, known)}")


def generator(name: str) -> Any:
    """The class of the generator in artifacts of the method called `name`."""
    return resolve(METHODS[name].generator)
