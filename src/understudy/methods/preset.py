"""A preset is data: a name and other defaults for the options of a method.

It has the announcement, the mechanism and therefore the guarantee of its base (`void_reason`, `private`); what needs another
mechanism or another price is a class of its own, which presets may then be made of.
"""

from dataclasses import field, fields, make_dataclass
from typing import TypeVar

from understudy.estimator import Estimator

Base = TypeVar("Base", bound=Estimator)


def preset(base: type[Base], name: str, method: str, module: str, doc: str, /, **options: object) -> type[Base]:
    """The estimator class `name` of `module`: `base` with the defaults `options`, known to users as `method`."""
    types = {option.name: option.type for option in fields(base)}
    unknown = sorted(set(options) - set(types))
    if unknown:
        raise TypeError(f"preset {method!r}: {base.__name__} has no option {', '.join(unknown)}")
    made = make_dataclass(
        name,
        [(option, types[option], field(default=value)) for option, value in options.items()],
        bases=(base,),
        namespace={"method": method, "__doc__": doc, "__module__": module},
        kw_only=True,
        eq=False,
        repr=False,
    )
    made.__module__ = module  # make_dataclass has its own idea, and classes are found by their module
    return made
