"""Jinja as every page of ours uses it, in reports and on the local page: whatever is shown is escaped, what is not there is an
error, and characters that no browser shows are taken out.
"""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from understudy.report.svg import clean


def environment(package: str, **more: Any) -> Environment:
    """For the templates of a package."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
        trim_blocks=True,
        lstrip_blocks=True,
        **more,
    )
