"""A comparison on disk: what it was begun with, the models that are finished, and its result.

A folder belongs to one comparison: models fitted under another split, or to another table, would make its total untrue. Run
again, it goes on where it was interrupted. The seal of its table was computed from the rows: it stands beside the folder, for the
owner alone, until the last model is finished.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path
from typing import Any

from understudy.accounting import Plan
from understudy.artifact import Model
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.files import PRIVATE, read_json, write_atomically, write_json
from understudy.private import same_table
from understudy.schema import Schema

RECORD, RESULT, CHOICE_LEDGER, CHARGED = "comparison.json", "result.json", "choice-ledger.jsonl", "account.json"
FINISHED = "finished.json"  # names of the models that were, so that none is fitted again for nothing


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One candidate of a comparison."""

    method: str  # and the options that are varied, as `Candidate.name` has them
    epsilon: float  # what its fit may spend
    folder: str
    kept: float | None  # of the gain over chance, expected from the benchmark at this epsilon; None: not known
    kept_alone: float | None  # the same, had it had the whole budget


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a comparison paid, and which model it chose."""

    epsilon: float  # all fits together, recomputed
    delta: float
    unit: str
    entries: tuple[Entry, ...]
    chosen: str | None  # by the paid choice
    choice_epsilon: float | None  # for the held-out people
    both_epsilon: float | None  # for somebody in both tables
    void_reason: str = ""  # why the choice has no guarantee: its noise was seeded

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """What was spent and what choosing costs, in words."""
        share = self.entries[0].epsilon
        said = [
            f"{len(self.entries)} models together cost epsilon {self.epsilon:.4g}, delta {self.delta:g}, and protect "
            f"{self.unit}: publish any or all of them",
            f"each fit had epsilon {share:.4g}; one method alone, chosen by public facts (the adviser), could have "
            "had all of it",
        ]
        if self.chosen is None:
            return [
                *said,
                "choosing one by its figures on real rows is a release of its own that nothing above pays for; "
                "real=FILE makes a paid choice on held-out rows of other people",
            ]
        void = [f"NOT A VALID GUARANTEE of the choice: {self.void_reason}"] if self.void_reason else []
        return [
            *said,
            *void,
            f"chosen on the held-out rows: {self.chosen}; that cost the held-out people epsilon {self.choice_epsilon:.4g}, "
            f"the people of the table nothing more, and somebody in both {self.both_epsilon:.4g} in all",
        ]


def made_before(folder: Path) -> Comparison | None:
    """The result of an earlier run that has made its choice."""
    path = folder / RESULT
    if not path.is_file():
        return None
    found = read_json(path)
    try:
        entries = tuple(Entry(**one) for one in found["entries"])
        return None if found["chosen"] is None else Comparison(**found | {"entries": entries})
    except (KeyError, TypeError):
        raise UsageError(f"out: {str(path)!r} is damaged; put it back as it was, or choose another name") from None


def check_same(folder: Path, named: Mapping[str, Estimator], schema: Schema) -> dict[str, Any]:
    """What a comparison is known by. A folder belongs to one: models fitted under another split would spend more than the total,
    and so would models that were there before."""
    wanted = {
        "methods": {name: estimator.epsilon for name, estimator in named.items()},
        "schema": schema.fingerprint(),
        "delta": next(iter(named.values())).delta,
    }
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"out: {str(folder)!r} is a file and a folder is needed; choose another name")
    path = folder / RECORD
    if path.exists():
        if read_json(path) != wanted:
            raise UsageError(
                f"out: {str(folder)!r} holds another comparison; use the same methods, budget and schema, or another name"
            )
    elif folder.exists() and any(folder.iterdir()):
        raise UsageError(f"out: {str(folder)!r} holds files that are of no comparison; choose another name")
    return wanted


def begin(folder: Path, record: dict[str, Any], data: object, schema: Schema) -> None:
    """From here on the folder is this comparison's, and its models are of this table."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / RECORD).exists():
        keep_secret(sealed(folder), same_table.seal(data, schema))
        write_json(folder / RECORD, record)


def sealed(folder: Path) -> Path:
    """Where a comparison keeps the seal of its table: beside the folder, never inside, because it was computed from the rows."""
    whole = Path(os.path.abspath(folder))
    return whole.with_name(f"{whole.name}.table.json")


def keep_secret(path: Path, found: Mapping[str, Any]) -> None:
    """A file for its owner alone. One of a comparison whose folder was deleted makes room, any other does not."""
    if path.exists() and not is_seal(path):
        raise UsageError(f"out: {str(path)!r} is in the way of a secret file; move it, or choose another name")
    text = json.dumps({"secret": "computed from the rows: never hand this file on", **found})
    write_atomically(path, text, mode=PRIVATE)


def is_seal(path: Path) -> bool:
    """Whether a comparison wrote this file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"secret", "facts", "key", "digest"} == found.keys()


def remember(folder: Path, name: str) -> None:
    """A model is finished: its fit is spent, also if somebody moves it away."""
    path = folder / FINISHED
    known = read_json(path) if path.exists() else []
    if name not in known:
        write_json(path, [*known, name])


def forget_table(folder: Path) -> None:
    """Nothing is fitted any more. With its key beside it the digest tells whoever finds it whether a guess at a row is right."""
    path = sealed(folder)
    path.unlink(missing_ok=True)
    for part in path.parent.glob(f".{escape(path.name[:80])}.*.part"):  # of a run that was killed while it wrote
        part.unlink()


def check_table(folder: Path, data: object, schema: Schema, names: Iterable[str]) -> None:
    """Models that are kept must be of the table that the others will be fitted to. Once all were finished nobody can know."""
    if not (folder / RECORD).exists():
        return
    path, known = sealed(folder), folder / FINISHED
    gone = [
        name for name in (read_json(known) if known.exists() else []) if not (folder / name / "model.json").is_file()
    ]
    if gone:
        raise UsageError(
            f"out: the model of {gone[0]} was finished and is missing from {str(folder)!r}; put it back, or choose another name, "
            "whose cost comes on top"
        )
    if path.is_file():
        if same_table.differs(data, schema, read_json(path)):
            raise UsageError(
                f"out: {str(folder)!r} holds models of another table; go on with the file it was begun with, or choose another "
                "name"
            )
        return
    lost = [name for name in names if not (folder / name / "model.json").is_file()]
    if lost:
        raise UsageError(
            f"out: the model of {lost[0]} is missing from {str(folder)!r}, and so is {str(path)!r}, which knows of which table "
            "the others are; put back what was moved, or choose another name"
        )


def finished(model: Model, plan: Plan, schema: Schema, target: Path) -> Model:
    """A model of an earlier run, which must be what the total was computed for."""
    other = model.plan.fingerprint() != plan.fingerprint() or model.schema.fingerprint() != schema.fingerprint()
    if other or model.void_reason:
        raise UsageError(
            f"out: {str(target)!r} is not the model that this comparison fits (another budget, schema or workload, or no "
            "guarantee): its total would be untrue; choose another name"
        )
    return model
