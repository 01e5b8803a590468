"""What the page does, as words: the commands it runs, the commands that do the same again, and a script.

The page runs exactly the words of the first part, with the files' full paths. What it shows to be copied are the same words with
short names, to be typed in the table's folder.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.serve.work import Work


def check(work: Work) -> list[str]:
    """Does the table fit the schema? Reads rows; the answer is for the holder."""
    return ["schema", "check", str(work.table), "--schema", str(work.schema)]


def fit(
    work: Work, *, account: Path | None = None, resume: bool = False, overwrite: bool = False, force: bool = False
) -> list[str]:
    """The one command that spends."""
    charged = [] if account is None else ["--account", str(account)]
    flags = {"--resume": resume, "--overwrite": overwrite, "--force": force}
    return ["fit", "--config", str(work.options), *charged, *(flag for flag, given in flags.items() if given)]


def sample(work: Work, rows: int | None) -> list[str]:
    """Synthetic rows from the model alone."""
    count = [] if rows is None else ["--rows", str(rows)]
    return ["sample", str(work.model), *count, "--out", str(work.synthetic), "--overwrite"]


def evaluate(work: Work, real: Path | None) -> list[str]:
    """Compare with held-out rows and draw both reports; without them the release report alone."""
    held = [] if real is None else ["--real", str(real)]
    words = ["evaluate", *held, "--synthetic", str(work.synthetic), "--schema", str(work.schema)]
    return [*words, "--model-dir", str(work.model), "--out", str(work.evaluation), "--overwrite"]


def evidence(work: Work) -> list[str]:
    """What outsiders ask for, from a model whose certificate verifies."""
    rows = ["--sample", str(work.synthetic)] if work.synthetic.is_file() else []
    return ["evidence", str(work.model), *rows, "--out", str(work.evidence), "--overwrite"]


def typed(words: list[str], folder: Path) -> str:
    """A command as one would type it in `folder`."""
    inside = f"{folder}/"
    return "understudy " + shlex.join(word.removeprefix(inside) for word in words)


def again(work: Work, options: Mapping[str, Any]) -> list[str]:
    """Every step as commands, with flags in place of the options file."""
    folder = work.table.parent
    budget = [
        "--epsilon",
        f"{options['epsilon']:g}",
        "--delta",
        f"{options['delta']:g}",
        "--method",
        str(options["method"]),
    ]
    table, schema, model = str(work.table), str(work.schema), str(work.model)
    steps = [
        ["plan", schema, *budget],
        ["fit", table, "--schema", schema, *budget, "--out", model],
        [*sample(work, None)[:-1]],
        ["certificate", "verify", model],
        evaluate(work, None)[:-1],
        evidence(work)[:-1],
    ]
    return [typed(step, folder) for step in steps]


def script(work: Work, options: Mapping[str, Any]) -> str:
    """The same in Python."""
    return f"""\
import understudy as us
from understudy.sampling.to_files import write_rows

schema = us.Schema.load({work.schema.name!r})
method = us.method({options["method"]!r})(epsilon={options["epsilon"]!r}, delta={options["delta"]!r})
print(method.plan(schema).epsilon)  # before a row is read

model = method.fit({work.table.name!r}, schema)
model.save({work.model.name!r})
write_rows(model.fitted, {work.synthetic.name!r}, model.fitted.rows)  # decimal mark and dates as in the table
print(model.certificate.text())
"""
