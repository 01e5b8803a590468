"""Neighbouring files of a few rows through `understudy fit --method clique-tree`: whatever leaves is bought.

The command runs on one file of a pair, and on the other with the first one's releases in the place of its own. Then all that
is left to differ is what nobody paid for: every question, every byte of the model folder, every word on the screen and the
exit code must be the same. Exact answers may lie apart by their price. Persons have up to three rows, columns have codes,
constraints and odd cells, and the class means of few rows are asked.
"""

import json
import re
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy import cli
from understudy.methods.clique_tree import method as own
from understudy.private import Curator
from understudy.private.checkpoint import Checkpoint
from understudy.questions import Counts, Sums, digest
from understudy.recipe import Opening

from ..questions.test_questions import moved

COLUMNS = {
    "x": {"kind": "continuous", "lower": -1, "upper": 1, "missing": True, "decimals": 2},
    "n": {"kind": "integer", "lower": 0, "upper": 50, "codes": ["N", 99], "missing": True},
    "m": {"kind": "integer", "lower": 0, "upper": 60},
    "c": {"kind": "categorical", "categories": ["a", "b", "c"], "other": True},
    "b": {"kind": "boolean", "missing": True},
    "y": {"kind": "categorical", "categories": ["no", "yes", "maybe"]},
}
CONSTRAINTS = [{"never": "c = a and b = true"}, {"if": "m < 10", "then": "c = b"}]
USUAL = {"x": ["-0.2", "0.33"], "n": ["N", "7", "99", ""], "m": ["4", "30"], "c": ["a", "b"], "b": ["true", ""],
         "y": ["no", "no", "yes"]}  # fmt: skip
ODD = {"x": ["1e400", "nan", "0x10", '"'], "n": ["99.0", "-5", "n"], "m": ["9" * 20, "", "-inf"], "c": ["NA", "other", "\x00"],
       "b": ["2", "T"], "y": ["maybe", "", "YES"]}  # fmt: skip
TYPED = {"x": pa.float32(), "m": pa.float64(), "b": pa.bool_()}  # in Parquet; other columns are text
READ = {
    "0.33": 0.33,
    "-0.2": -0.2,
    "1e400": np.inf,
    "4": 4.0,
    "30": 30.0,
    "9" * 20: 1e20,
    "-inf": -np.inf,
    "true": True,
    "T": True,
}
MOST = 3  # rows of a person


def rows_of(count, random, cells):
    return [{name: values[random.integers(len(values))] for name, values in cells.items()} for _ in range(count)]


def pair(by_person, odd, seed):
    """Rows of 60 persons, or 60 rows, and the same with somebody in their middle, who may be of several classes."""
    random = np.random.default_rng(seed)
    others, more = rows_of(60, random, USUAL), rows_of(MOST if by_person else 1, random, ODD if odd else USUAL)
    if by_person:
        others = [{"who": str(number // 2), **row} for number, row in enumerate(others)]
        more = [{"who": "somebody", **row} for row in more]
    return [*others[:31], *more, *others[31:]], others


def write(path, rows):
    names = list(rows[0])
    if path.suffix == ".csv":
        lines = [",".join(names), *(",".join(row.values()) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
        return
    columns = {
        name: pa.array(
            [READ.get(row[name]) if name in TYPED else row[name] for row in rows], TYPED.get(name, pa.string())
        )
        for name in names
    }
    pq.write_table(pa.table(columns), path, row_group_size=25)


class Heard:
    """What a fit asked, and all that left it."""

    def __init__(self, said=None):
        self.said, self.questions, self.exact, self.answers = said, [], [], []

    def listening(self):
        ask, write_down = Curator.ask, Checkpoint.write_down

        def asked(curator, purpose, question):
            self.exact.append(curator._exact(purpose, question))
            self.questions.append((purpose, question))
            return ask(curator, purpose, question)

        def written(store, answer):
            self.answers.append(answer)
            write_down(store, answer)

        replay = {} if self.said is None else {"answers": lambda *_: list(self.said)}
        return mock.patch.object(Curator, "ask", asked), mock.patch.multiple(Checkpoint, write_down=written, **replay)

    def fit(self, path, out, capfd):
        schema = {"understudy": "schema", "columns": COLUMNS, "constraints": CONSTRAINTS, "label": {"column": "y"}}
        if "person" in path.stem:
            schema["columns"] = {"who": {"kind": "identifier"}, **COLUMNS}
            schema["unit"] = {"column": "who", "max_rows": MOST}
        path.with_suffix(".json").write_text(json.dumps(schema))
        words = [
            "fit",
            path,
            "--schema",
            path.with_suffix(".json"),
            "--method",
            "clique-tree",
            "--epsilon",
            1,
            "--seed",
            5,
        ]
        words += ["--out", out, "--force", "--overwrite", "--set", "passes=3", "--set", "focus=n"]
        first, second = self.listening()
        with first, second:
            self.code = cli.run([str(word) for word in words])
        captured = capfd.readouterr()
        self.words = re.sub(r"in \d+ s", "in N s", captured.out + captured.err)
        self.files = {file.name: (file.stat().st_mode, file.read_bytes()) for file in out.iterdir()}
        return self


def compared(tmp_path, capfd, name, odd, seed):
    """Both files of a pair, the second with the first one's releases: what was asked, and how far answers lie apart."""
    path = tmp_path / name
    both = pair("person" in name, odd, seed)
    write(path, both[seed % 2])
    first = Heard().fit(path, tmp_path / "model", capfd)
    write(path, both[1 - seed % 2])
    second = Heard(first.answers).fit(path, tmp_path / "model", capfd)
    assert (first.code, second.code, second.answers) == (0, 0, [])
    assert second.words == first.words
    assert [digest(question) for _, question in second.questions] == [
        digest(question) for _, question in first.questions
    ]
    assert second.files == first.files
    return {
        purpose: (type(question), moved(question, one, other) * question.sigma)
        for (purpose, question), one, other in zip(first.questions, first.exact, second.exact, strict=True)
    }


@pytest.mark.parametrize("name", ["rows.csv", "persons.csv", "rows.parquet", "persons.parquet"])
def test_whatever_leaves_is_bought(tmp_path, capfd, name):
    for seed in range(2):
        found = compared(tmp_path, capfd, name, odd=bool(seed), seed=seed)
        kinds = [found[purpose][0] for purpose in (own.DISTANCES, own.LEVELS, own.COUNTS)]
        assert kinds == [Counts, Counts, Sums]  # the path of few rows
        assert max(apart for _, apart in found.values()) <= 1.0 + 1e-6


def exact_in_the_model(recipe, curator, codec, counts, plan):
    """Mutant: the rows that are there, not those that were released, stand in the model's class counts."""
    counts[:] = np.bincount(curator._blocks.gathered().classes, minlength=len(counts))
    return BEGIN(recipe, curator, codec, counts, plan)


def said_on_the_screen(recipe, curator, codec, counts, plan) -> Opening:
    """Mutant: a remark about somebody's row."""
    if len(curator._blocks.gathered().rows) > 60:
        print("more than 60 rows")
    return BEGIN(recipe, curator, codec, counts, plan)


BEGIN = own.CliqueTree.begin


@pytest.mark.parametrize("mutant", [exact_in_the_model, said_on_the_screen])
def test_what_is_not_bought_is_seen(tmp_path, capfd, mutant):
    with mock.patch.object(own.CliqueTree, "begin", mutant), pytest.raises(AssertionError):
        compared(tmp_path, capfd, "rows.csv", odd=False, seed=0)
