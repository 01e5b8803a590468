"""Marked rows: what only one person has must not turn up in anything that leaves, letter by letter or bit by bit."""

import logging
import struct

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from understudy.schema import Column, Schema

from ..conformance.tables import GENERATORS, ROUNDS, mixed_schema, mixed_table
from .inside import opened

MARK, NUMBER = "SECRET-VALUE", 987654321.123

SCHEMA = Schema(
    columns=(
        Column(name="income", kind="continuous", lower=0, upper=100),
        Column(name="weight", kind="continuous", estimate="weight"),
        Column(name="city", kind="categorical", categories=("Ulm", "Paris"), other=True),
        Column(name="trade", kind="categorical", estimate="trade", other=True),
        Column(name="born", kind="datetime", estimate="born", missing=True),
        Column(name="who", kind="identifier", dtype="string"),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
    unit="who",
    max_rows_per_unit=2,
)


def marked(rows=60):
    """One person's row holds the marks, in every column that could take one."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": rng.uniform(0, 100, rows),
            "weight": rng.uniform(40, 120, rows),
            "city": rng.choice(["Ulm", "Paris"], rows),
            "trade": rng.choice(["baker", "nurse"], rows),
            "born": [f"19{year}-01-01" for year in rng.integers(40, 99, rows)],
            "who": [f"p{i}" for i in range(rows)],
            "sick": rng.choice(["no", "yes"], rows),
        }
    )
    frame.loc[7, ["income", "weight"]] = NUMBER
    frame.loc[7, ["city", "trade", "born", "who", "sick"]] = [MARK, MARK, f"{MARK} 1066", MARK, MARK]
    return frame


def marked_mixed():
    """The same in the table of the conformance tests, whose programs are compiled already; its bounds are given."""
    frame = mixed_table().astype({"income": object, "city": object, "who": object, "sick": object, "grade": object})
    frame.loc[7, ["income", "city", "who", "sick", "grade"]] = [NUMBER, MARK, MARK, MARK, MARK]
    return frame


# Rounds compile for seconds, and anew for every schema that noise has a part in: pate-gan stands for them there.
FORMS = [
    *((name, "mixed" if name in ROUNDS else "estimated") for name in GENERATORS if name != "pate-gan"),
    *(("pate-gan", "mixed"), ("pate-gan", "estimated, csv")),
]


def traces(content: bytes) -> list[str]:
    """Marks in a file or a text: the words, the number's digits, the number's bits."""
    found = [MARK] if any(MARK.encode(code) in content for code in ("utf-8", "utf-16-le", "utf-32-le")) else []
    digits = [text for text in (repr(NUMBER), "987654321", "9.87654", "987,654,321") if text.encode() in content]
    bits = [kind for kind in ("<d", ">d", "<f", ">f") if struct.pack(kind, NUMBER) in content]
    return found + digits + bits


@pytest.mark.parametrize(("method", "form"), FORMS)
def test_nothing_of_a_marked_row_leaves(method, form, tmp_path, capfd, caplog):
    """Model files, samples, logs, output, progress events, representations."""
    caplog.set_level(logging.DEBUG)
    data, schema = (marked_mixed(), mixed_schema()) if form == "mixed" else (marked(), SCHEMA)
    if "csv" in form:
        data.to_csv(tmp_path / "rows.csv", index=False)
        data = tmp_path / "rows.csv"
    events = []
    estimator = clone(GENERATORS[method])
    estimator.fit(data, schema, progress=events.append, checkpoint=tmp_path / "checkpoint")
    folder = estimator.save(tmp_path / "model")
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {"weights.safetensors", "model.json", "plan.json", "ledger.json", "certificate.txt"} <= set(files)
    certificate = estimator.certificate
    spoken = {
        "events": repr(events),
        "estimator": repr(estimator) + str(estimator),
        "model": repr(estimator.model_),
        "certificate": certificate.to_json() + certificate.text() + certificate.registry_yaml(),
        "sample": estimator.sample(41, seed=0).to_csv(),
        "log": caplog.text,
    }
    output = capfd.readouterr()
    assert output == ("", "")
    assert {name: traces(content) for name, content in files.items() if traces(content)} == {}
    assert {name: traces(text.encode()) for name, text in spoken.items() if traces(text.encode())} == {}
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"model"} | ({"rows.csv"} if "csv" in form else set())


def test_the_search_finds_what_it_looks_for():
    assert traces(b"..." + np.float64(NUMBER).tobytes()) == ["<d"]
    assert traces(b"..." + np.float32(NUMBER).tobytes()) == ["<f"]
    assert traces(marked().to_csv().encode())[:2] == [MARK, repr(NUMBER)]
    assert traces(b"Ulm 100.0") == []


def test_what_a_running_fit_holds_shows_nothing():
    """Tracebacks and debuggers print representations; the private side has none."""
    found = opened(clone(GENERATORS["pate-gan"]), marked(), SCHEMA)
    for thing in (found.conversation, found.ledger.to_dict(), found.opening, found.resolved):
        assert traces(f"{thing!r} {thing}".encode()) == []
