"""The README's table of results, written from the results files between two markers.

Only full runs count (quick ones have another file name), and only what is in the files: no number is typed by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import store
from benchmarks.suites import IMPLEMENTATIONS, SUITES
from benchmarks.tables import Table, build
from understudy.errors import UsageError

START, END = "<!-- results -->", "<!-- /results -->"
FRONT = ("methods", "g-pate-table-2", "rdp-cgan-table-6", "person-level")  # suites the README shows, in this order


def update(readme: Path, results: Path) -> str:
    """Replace what stands between the markers; returns the text put there."""
    try:
        text = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--readme {str(readme)!r}: {error.strerror}") from None
    before, found_start, rest = text.partition(START)
    _, found_end, after = rest.partition(END)
    if not found_start or not found_end:
        raise UsageError(f"--readme {str(readme)!r} lacks the markers {START} and {END}")
    section = section_of(results)
    store.write_text(readme, f"{before}{START}\n{section}\n{END}{after}")
    return section


def section_of(results: Path) -> str:
    """Markdown of all shown suites that have results."""
    parts = []
    for name in FRONT:
        records = list(store.latest(store.read(results / f"{name}.jsonl")).values())
        if records:
            parts.append(_section(build(SUITES[name], records)[0], records))  # its first metric; the files have all
    if not parts:
        return "No results yet: `python -m benchmarks run --suite methods --data DIR` makes them."
    return "\n\n".join([*parts, _footnote()])


def _section(table: Table, records: list[Mapping[str, Any]]) -> str:
    head, rows = condense(table)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    runs = seeds_of(records)
    return f"**{table.title}** ({runs})\n\n" + "\n".join(lines)


def seeds_of(records: list[Mapping[str, Any]]) -> str:
    """How many seeds stand behind a figure: the same for all, or from fewest to most."""
    seeds: dict[tuple[Any, ...], set[int]] = {}
    for record in records:
        if record["method"] != "real" and record["status"] == "ok":
            place = record["dataset"], record["method"], record["epsilon"]
            seeds.setdefault(place, set()).add(record["seed"])
    counts = sorted({len(found) for found in seeds.values()})
    if not counts:
        return "no fits yet"
    text = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return "one seed" if text == "1" else f"{text} seeds"


def condense(table: Table) -> tuple[list[str], list[list[str]]]:
    """The six audited implementations as one column, lowest to highest; the benchmark's own files print each."""
    places = [i for i, name in enumerate(table.head) if name in IMPLEMENTATIONS]
    if not places:
        return list(table.head), [list(row) for row in table.rows]
    head = [name for i, name in enumerate(table.head) if i not in places[1:]]
    head[places[0]] = "six public implementations (best of 25)"
    rows = []
    for row in table.rows:
        known = sorted(row[i] for i in places if row[i] != "-")
        cells = [cell for i, cell in enumerate(row) if i not in places[1:]]
        cells[places[0]] = f"{known[0]} to {known[-1]}" if known else "-"
        rows.append(cells)
    return head, rows


def _footnote() -> str:
    return (
        "Ours: mean (standard deviation) over seeds with a valid guarantee unless said otherwise, every "
        "run counted. Ours best: the best run per classifier, "
        "which is what the papers report and is optimistic. Real data: the same classifiers trained on "
        "the real rows. Written by `python -m benchmarks readme` "
        "from `benchmarks/results/`."
    )
