"""The whole result: header, families, and its exact image `result.json`.

The report is drawn from this file alone, so everything a page shows is here, and nothing here is a row of the real
table (the one exception, said so where it stands: the picture grid of an image evaluation).

Two kinds of contents, never mixed:
- `Evaluation.release` describes the synthetic table and the schema only. Synthetic rows of a private generator are
  public, so are statistics of them; its histogram edges come from the synthetic rows, never from the real ones. This is
  all a release report may use, beside the certificate in the header.
- everything else compares with real rows and is NOT private: the header carries the banner.

Exactness: `Evaluation.from_json(e.to_json()) == e`. Python floats survive JSON to the last bit; a figure that is not
defined (one class, constant column, no rows) is null, never NaN.
"""

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.evaluate.result.fidelity import Fidelity
from understudy.evaluate.result.release import SyntheticTable
from understudy.evaluate.result.rows import Diagnostics, DimensionWise, Images, Mmd
from understudy.evaluate.result.utility import Groups, Utility
from understudy.files import write_atomically

FORMAT = 2
FAMILIES = ("utility", "fidelity", "mmd", "dimension", "groups", "diagnostics")
BANNER = "NOT PRIVATE: computed from real rows. Do not share."


@dataclass(frozen=True, kw_only=True)
class Header:
    """What was compared, with which settings, when and by which versions."""

    created: str  # ISO 8601, UTC
    test_rows: int  # held-out real rows
    train_rows: int | None  # real training rows; None when not given
    synthetic_rows: tuple[int, ...]  # one entry per synthetic sample
    columns: int  # evaluated columns (identifiers are not)
    kinds: dict[str, str]  # column -> kind of the schema
    label: str | None
    label_kind: str  # none | binary | multiclass | numeric
    positive: str | None
    classes: tuple[str, ...]  # label values of the schema in order; empty without a class label
    max_rows: int | None  # classifiers train on at most this many rows; None = no cap
    seed: int
    metrics: tuple[str, ...]  # families that were computed
    models: tuple[str, ...]
    versions: dict[str, str]
    certificate: dict[str, object] | None  # the face of the generator's certificate, as its artifact states it
    seconds: float
    private: bool = False  # always False
    banner: str = BANNER
    notes: tuple[str, ...] = ()
    files: dict[str, str] = field(
        default_factory=dict
    )  # names of the synthetic, test and train files; empty for frames


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation:
    """The whole result: `result.json` is its exact image, and reports read nothing else."""

    header: Header
    release: SyntheticTable
    fidelity: Fidelity | None = None
    utility: Utility | None = None
    mmd: Mmd | None = None
    dimension_wise: DimensionWise | None = None
    groups: tuple[Groups, ...] = ()
    diagnostics: Diagnostics | None = None
    images: Images | None = None
    warnings: tuple[str, ...] = ()
    format: int = FORMAT

    def __repr__(self) -> str:
        """Which rows were compared, so that a mistaken order is seen; the figures are too many for a screen."""
        head = self.header
        sides = [
            f"{sum(head.synthetic_rows):,} synthetic rows ({head.files.get('synthetic') or 'a frame'})",
            f"{head.test_rows:,} real ones ({head.files.get('test') or 'a frame'})",
        ]
        return f"Evaluation of {' against '.join(sides)}; save('result.json'), then: understudy report result.json --out DIR"

    def to_dict(self) -> dict[str, object]:
        """As JSON values."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    def to_json(self) -> str:
        """As the text of `result.json`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)

    def save(self, path: str | Path) -> None:
        """Write `result.json` whole or not at all."""
        write_atomically(path, self.to_json() + "\n")

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> "Evaluation":
        """From JSON values of the same format; another format is refused."""
        if data.get("format") != FORMAT:
            from understudy.errors import UsageError

            raise UsageError(f"result.json has format {data.get('format')!r}, this version reads format {FORMAT}")
        found: Evaluation = _build(cls, data)
        return found

    @classmethod
    def from_json(cls, text: str) -> "Evaluation":
        """From the text of `result.json`."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def load(cls, path: str | Path) -> "Evaluation":
        """From a saved `result.json`."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _plain(value: object) -> object:
    """Dataclass tree -> JSON values; tuples become lists, non-finite numbers null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _build(kind: Any, value: Any) -> Any:
    """JSON values -> the annotated type; the inverse of `_plain` on values this module can hold."""
    origin = typing.get_origin(kind)
    if value is None or kind is object:
        return value
    if origin in (typing.Union, types.UnionType):
        return _build(next(a for a in typing.get_args(kind) if a is not type(None)), value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(
            **{f.name: _build(hints[f.name], value[f.name]) for f in dataclasses.fields(kind) if f.name in value}
        )
    if origin is tuple:
        item = typing.get_args(kind)[0]
        return tuple(_build(item, v) for v in value)
    if origin is dict:
        return {k: _build(typing.get_args(kind)[1], v) for k, v in value.items()}
    return float(value) if kind is float else value
