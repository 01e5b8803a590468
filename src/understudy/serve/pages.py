"""Pages from templates. Whatever a template prints is cleaned and escaped; what it was not given is an error."""

import functools

from jinja2 import Environment
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from understudy.report.strict import environment
from understudy.report.svg import clean
from understudy.serve.guard import CSRF

STEPS = (
    ("describe", "Describe"),
    ("plan", "Plan"),
    ("fit", "Fit"),
    ("look", "Look"),
    ("hand-over", "Hand over"),
)


@functools.cache
def templates() -> Environment:
    """The pages, with what they call."""
    made = environment("understudy.serve")
    made.filters |= {"exact": exact, "lines": lines, "percent": percent, "size": size}
    made.globals |= {"STEPS": STEPS}
    return made


def page(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """One page; every form in it can carry the form token."""
    given = {"csrf": request.scope[CSRF], "step": template, "work": None, "reach": (), "reload": False} | values
    return HTMLResponse(templates().get_template(f"{template}.html").render(given), status_code=status)


def lines(text: str) -> Markup:
    """Text of several lines, escaped; each line cleaned."""
    return Markup("\n").join(escape(clean(line)) for line in str(text).split("\n"))


def exact(text: str) -> Markup:
    """A value that a form sends back: escaped and otherwise as it is."""
    return escape(text)


def percent(share: float) -> str:
    """A share with as many digits as it deserves."""
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def size(count: int) -> str:
    """Bytes, for people."""
    amount, units = float(count), ["bytes", "kB", "MB", "GB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "bytes" else f"{amount:.1f} {units[0]}"
