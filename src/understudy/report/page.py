"""Pages from templates: one self-contained HTML file each.

A module of this package decides what is shown (which columns, in which order, the drawings); the template of the same
name holds the words and the markup. Nothing is fetched: no script, no font, no outside picture. The content-security
policy in the head forbids it as well, so even a hostile column name that slipped through the escaping could not call out.

Guarantees
- every value that a template prints is cleaned (`svg.clean`) and escaped, except the markup of templates and drawings;
- names stand inside `<bdi>`, so that right-to-left letters do not reorder their neighbours;
- a name that a template uses and was not given is an error, never an empty place; equal input gives equal bytes.
"""

import functools
from collections.abc import Iterable

from jinja2 import Environment
from markupsafe import Markup

from understudy.report.node import Element, addressed, date, figure, summary
from understudy.report.strict import environment
from understudy.report.svg import clean, number

LIMIT_BYTES = 3_000_000
NAME_LETTERS = 160


def name(text: object) -> Markup:
    """A name from outside: escaped, isolated, and cut where it would fill the page."""
    whole = clean(text)
    return Markup("<bdi>{}</bdi>").format(whole if len(whole) <= NAME_LETTERS else whole[: NAME_LETTERS - 1] + "…")


def cell(node: Element) -> Markup:
    """What stands in the file, be it a figure or words."""
    return name(node) if node.number is None else figure(node)


def typed(node: Element) -> Markup:
    """A number as people type it: `1`, not `1.000`."""
    return addressed(node, f"{node.value:g}")


def fill(template: str, macro: str, **values: object) -> Markup:
    """One piece of a page: a macro of `templates/<template>.html` with its values."""
    return Markup(getattr(_environment().get_template(f"{template}.html").module, macro)(**values)).strip()


def page(
    *,
    title: str,
    banner: str,
    red: bool,
    sheet: str,
    lead: Markup,
    sections: Iterable[tuple[str, str, Markup]],
    foot: str,
) -> str:
    """The whole file; sections (anchor, heading, body) without a body are left out, and out of the list of contents.

    `red` is for what must not be shared. Browsers that know page margins repeat `sheet` on every printed one.
    """
    shown = [section for section in sections if section[2]]
    whole = _environment().get_template("page.html")
    return whole.render(title=title, banner=banner, red=red, sheet=sheet, lead=lead, sections=shown, foot=foot)


@functools.cache
def _environment() -> Environment:
    made = environment("understudy.report", keep_trailing_newline=True, extensions=["jinja2.ext.do"])
    made.filters |= {f.__name__: f for f in (cell, date, figure, name, number, summary, typed)}
    return made
