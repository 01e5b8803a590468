"""The page around the figures: one self-contained HTML file.

Nothing is fetched: no script, no font, no outside picture. The content-security policy in the head forbids it as
well, so even a hostile column name that slipped through the escaping could not call out. All text from the result
goes through `svg.esc`; names stand inside `<bdi>`, so that right-to-left letters do not reorder their neighbours.
"""

from collections.abc import Iterable, Sequence
from importlib.resources import files

from understudy.report.svg import clean, esc

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LIMIT_BYTES = 3_000_000
NAME_LETTERS = 160


def name(text: object) -> str:
    """A name from outside: escaped, isolated, and cut where it would fill the page."""
    whole = clean(text)
    if len(whole) > NAME_LETTERS:
        whole = whole[: NAME_LETTERS - 1] + "…"
    return f"<bdi>{esc(whole)}</bdi>"


def paragraph(words: str, css: str = "") -> str:
    """`words` is HTML: whoever calls has escaped what came from outside."""
    return f'<p class="{css}">{words}</p>' if css else f"<p>{words}</p>"


def notes(words: Iterable[object]) -> str:
    return "".join(paragraph(esc(w), "note") for w in words)


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: Sequence[int] = (),
    marked: Sequence[int] = (),
) -> str:
    """A table whose first column names the row; cells are HTML. `words`: columns of text; `marked`: rows to tint."""

    css = [' class="words"' if i in words else "" for i in range(len(head))]
    top = "".join(f'<th scope="col"{css[i]}>{h}</th>' for i, h in enumerate(head))
    body = []
    for number, row in enumerate(rows):
        cells = f'<th scope="row">{row[0]}</th>' + "".join(f"<td{css[i]}>{c}</td>" for i, c in enumerate(row[1:], 1))
        body.append(f'<tr class="gone">{cells}</tr>' if number in marked else f"<tr>{cells}</tr>")
    # A region that scrolls must be reachable by keyboard, hence the tabindex.
    return (
        '<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{esc(_plain(caption))}"><table><caption>{caption}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _plain(markup: str) -> str:
    """Text of our own small captions for an attribute: drop tags, keep entities as they read."""
    out, inside = [], False
    for letter in markup:
        inside = True if letter == "<" else inside
        if not inside:
            out.append(letter)
        inside = False if letter == ">" else inside
    return (
        "".join(out)
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", '"')
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
    )


def details(title: str, body: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>{body}</details>"


def figure(title: str, drawing: str, caption: str, numbers: str = "") -> str:
    """Heading, drawing, a caption that says what to see, and the numbers behind it (HTML all of them)."""
    heading = f"<h3>{title}</h3>" if title else ""
    under = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{heading}{drawing}{under}{details('Numbers', numbers) if numbers else ''}</figure>"


def plots(figures: Iterable[str], *, wide: bool = False) -> str:
    return f'<div class="plots{" wide" if wide else ""}">{"".join(figures)}</div>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    return '<dl class="facts">' + "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in pairs) + "</dl>"


def section(anchor: str, title: str, body: str) -> tuple[str, str, str]:
    return anchor, title, body


def page(
    *,
    title: str,
    banner: str,
    banner_css: str,
    sheet: str,
    lead: str,
    sections: Iterable[tuple[str, str, str]],
    foot: str,
) -> str:
    """The whole file. Sections without a body are left out, and out of the list of contents."""
    shown = [s for s in sections if s[2]]
    contents = "".join(f'<li><a href="#{anchor}">{heading}</a></li>' for anchor, heading, _ in shown)
    body = "".join(
        f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{heading}</h2>{html}</section>'
        for anchor, heading, html in shown
    )
    style = files("understudy.report").joinpath("style.css").read_text(encoding="utf-8")
    # Browsers that know page margins repeat the banner on every printed sheet; letters only, so it needs no escaping.
    on_paper = f'@media print {{ @page {{ @top-center {{ content: "{sheet}"; font: bold 9pt sans-serif }} }} }}'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" '
        'content="no-referrer">'
        f'<meta name="robots" content="noindex"><title>{esc(title)}</title><style>{style}{on_paper}</style></head>\n'
        f'<body><div class="banner {banner_css}" role="note">{banner}</div>\n'
        f'<header><h1>{esc(title)}</h1>{lead}<nav aria-label="Contents"><ul>{contents}</ul></nav></header>\n'
        f"<main>{body}</main>\n<footer>{foot}</footer></body></html>\n"
    )
