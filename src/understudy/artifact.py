"""What may leave the house: generator weights, schema, plan, ledger, certificate. No rows, no teachers, no pickle.

A model is a folder:

    weights.safetensors   what `sample` needs          model.json   method, settings, resolved schema, class weights
    plan.json             announced before the fit     ledger.json  what was charged
    certificate.json, certificate.txt, registry.yaml   the claim, for machines, people and registries

Loading runs no code from the folder, and checks it first: whatever `certificate verify` would find (a file that is missing,
altered or unknown, a claim that its ledger does not bear) is refused, and so are weights that are not finite. `sample` needs
nothing but the folder, works in constant memory and is reproducible with a seed (drawing rows is post-processing; its
randomness is not privacy noise).
"""

import hashlib
import math
import os
import platform
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from understudy import estimates
from understudy.accounting import Certificate, Plan, build_certificate
from understudy.accounting.certificate import GUARANTEE, verify
from understudy.conversation import Generator
from understudy.errors import UsageError
from understudy.files import read_json, write_atomically, write_json
from understudy.lazy import resolve
from understudy.measure.marginals import Marginals
from understudy.methods.registry import METHODS, method
from understudy.methods.registry import generator as generator_of
from understudy.released import PREFIX, Released, from_artifact, to_arrays, to_json
from understudy.sampling.condition import Boxes, Where, on_label_only, parse_boxes, parse_where
from understudy.sampling.constrained import Keeper
from understudy.sampling.drawing import Source
from understudy.sampling.matching import Matching, changes_rows
from understudy.sampling.ruled_out import to_blame
from understudy.schema import Codec, Schema
from understudy.schema.codec import to_pandas
from understudy.schema.given import given_rows
from understudy.seeds import rng, sequence

FORMAT = 1
BATCH = 65_536
EVERY = slice(None)  # all batches of a sample
PACKAGES = ("understudy", "jax", "equinox", "opendp", "dp-accounting", "numpy")


@dataclass(frozen=True, repr=False)
class Model:
    """A fitted generator: sample-only, with its plan, ledger and certificate."""

    method: str
    generator: Generator
    weights: Mapping[str, np.ndarray]
    schema: Schema  # as the user gave it
    resolved: Schema  # with the estimates that were paid for
    class_counts: tuple[float, ...]  # released, not exact
    plan: Plan
    ledger: Mapping[str, Any]  # what was charged, as the ledger wrote it
    void_reason: str = ""
    conditional: bool = True
    marginals: Marginals | None = None
    released: tuple[Released, ...] = ()  # tables of counts with known noise: a product, and what copies are drawn from
    history: Mapping[str, list[float]] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)  # what was released about the run itself, with its words
    account: Mapping[str, Any] | None = None  # by which entry of the holder's account it was charged
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Five lines: what it is, what is guaranteed, what it holds, and what to do with it."""
        budget, schema = self.plan.budget, self.schema
        lost = estimates.lost(schema, self.resolved)
        found = f"NOT FOUND: {', '.join(lost[:5])}" if lost else "all found" if schema.estimates else "none"
        guarantee = f"epsilon {budget.epsilon:g}, delta {budget.delta:g}, protects {self.plan.unit}"
        return "\n".join(
            [
                f"Model of {len(schema.columns)} columns, made by {self.method}",
                f"  guarantee  {f'VOID: {self.void_reason}' if self.void_reason else guarantee}",
                f"  label      {schema.label or 'none'} ({schema.label_kind})",
                f"  estimates  {found}",
                f"  sample(rows={self.rows:,})  save(folder)  certificate",
            ]
        )

    @property
    def codec(self) -> Codec:
        """Between values and arrays, for the resolved schema."""
        return codec_of(self.resolved, self.conditional)

    @property
    def rows(self) -> int:
        """How many rows the stand-in has by default: the public count, or the noisy one that was paid for."""
        return self.schema.rows if self.schema.rows is not None else max(round(sum(self.class_counts)), 1)

    @property
    def people(self) -> bool:
        """Whether its rows stand for people: the rows of a person shared a weight of 1 in every answer."""
        return self.schema.unit is not None and bool(method(self.method).by_person)

    @property
    def certificate(self) -> Certificate:
        """What was promised, what was charged, and whether the guarantee holds."""
        return build_certificate(
            plan=self.plan,
            ledger=self.ledger,
            schema=self.resolved.to_dict(),
            schema_fingerprint=self.resolved.fingerprint(),
            hashes=self.hashes,
            versions=versions(),
            void_reason=self.void_reason,
            notes=self.remarks,
            account=self.account,
        )

    @property
    def remarks(self) -> list[str]:
        """What a fit says at its end, from released values: what was estimated, and what was released about the run itself."""
        said = [self.report["statement"]] if self.report else []
        return [*estimates.found(self.schema, self.resolved, self.released), *said]

    # -- sampling: post-processing, free ------------------------------------------------------------------------------
    def sample(self, rows: int | None = None, *, seed: int | None = None, where: Where = None) -> pd.DataFrame:
        """A stand-in as a frame with the original names, order and dtypes."""
        batches = list(self.sample_batches(self.rows if rows is None else rows, seed=seed, where=where))
        return pd.concat(batches, ignore_index=True) if len(batches) > 1 else batches[0]

    def sample_polars(self, rows: int | None = None, *, seed: int | None = None, where: Where = None) -> Any:
        """The same as a polars frame; polars must be installed."""
        import polars

        return polars.from_arrow(
            pa.concat_tables(self.sample_arrow(self.rows if rows is None else rows, seed=seed, where=where))
        )

    def sample_batches(
        self, rows: int, batch: int = BATCH, *, seed: int | None = None, where: Where = None
    ) -> Iterator[pd.DataFrame]:
        """`sample` in batches, so that any number of rows fits into memory."""
        for table in self.sample_arrow(rows, batch, seed=seed, where=where):
            yield to_pandas(table, self.codec.schema)

    def sample_arrow(
        self,
        rows: int,
        batch: int = BATCH,
        *,
        seed: int | None = None,
        where: Where = None,
        blocks: slice = EVERY,
    ) -> Iterator[pa.Table]:
        """The same as Arrow tables with the schema's exact types: the quick way into a file. `blocks`: some batches of all."""
        if rows < 0:
            raise UsageError(f"rows={rows} must not be negative")
        found = self.conditions(where)
        yield from self.keeper(found).batches(partial(self._drawn, found), rows, batch, seed, blocks)

    def keeper(self, found: Boxes = ((),)) -> Keeper:
        """What keeps the schema's constraints in drawn rows, under conditions."""
        schema = self.codec.schema
        return Keeper(schema.checks, found, [column.name for column in schema.columns if column.kind == "identifier"])

    def _drawn(
        self, found: Boxes, rows: int, batch: int, seed: int | None, blocks: slice = EVERY
    ) -> Iterator[pa.Table]:
        """Rows under conditions, as the model draws them."""
        if found != ((),) and changes_rows(
            self.generator
        ):  # also on the class: what is fitted is of all classes together
            yield from self.matching(found).batches(rows, batch, seed, blocks)
            return
        if self.needs_tree(found):
            yield from self.under(found).batches(rows, batch, seed, blocks)
            return
        yield from self.source.tables(self._class_weights(found), rows, batch, seed, blocks)

    @cached_property
    def source(self) -> Source:
        """What draws blocks of rows; what it prepares is kept as long as the model."""
        return Source(self.generator, self.weights, self.marginals, self.codec)

    def conditions(self, where: Where) -> Boxes:
        """Where `where` holds, as disjoint boxes. UsageError if this model cannot draw under it."""
        if not method(self.method).conditioned:
            parse_where(where, self.codec.schema)
        return parse_boxes(where, self.codec.schema)

    def needs_tree(self, found: Boxes) -> bool:
        """Whether conditions are on more than the class, which every generator is asked for."""
        return found != ((),) and on_label_only(found, self.codec.schema) is None

    def conditioned(self) -> Any:
        """What draws rows given anything about any columns, if the model is a tree of tables."""
        found = method(self.method).conditioned
        if not found:
            raise UsageError(
                f"given: method {self.method!r} trains a generator, which cannot be asked for rows with given values; fit "
                "clique-tree, mst, aim or independent"
            )
        return resolve(found)(self)

    def under(self, found: Boxes) -> Any:
        """What draws rows under conditions on any columns. UsageError that names what the model rules out."""
        source = self.conditioned()
        try:
            return source.where(found)
        except UsageError as error:
            raise to_blame(source, found) or error from None

    def matching(self, found: Boxes) -> Matching:
        """What keeps those of ordinary rows that fulfil conditions, or draws rows under them where they are rare."""
        schema, tree = self.codec.schema, self.under(found)
        return Matching(
            ordinary=lambda rows, seed: next(self.sample_arrow(rows, rows, seed=seed)),
            tree=tree,
            probability=math.fsum(math.exp(part.given.log_mass) for part in tree.parts),
            found=found,
            columns=schema.columns,
            label=None if schema.label is None else schema.column(schema.label),
        )

    def complete(self, partial: object, *, seed: int | None = None, skip_impossible: bool = False) -> pd.DataFrame:
        """Rows of which some columns are given (a frame or a file), with all others drawn given these.

        Rows whose values cannot occur together are refused, or with `skip_impossible` left out: the index of the frame says
        which rows are there, counted from 0.
        """
        skipped: list[int] = []
        tables = self.complete_arrow(partial, seed=seed, on_skipped=skipped.extend if skip_impossible else None)
        found = to_pandas(pa.concat_tables(tables), self.codec.schema)
        if skipped:
            found.index = pd.RangeIndex(len(found) + len(skipped)).delete([row - 1 for row in skipped])
        return found

    def complete_arrow(
        self, partial: object, *, seed: int | None = None, on_skipped: Callable[[list[int]], None] | None = None
    ) -> Iterator[pa.Table]:
        """The same block by block, as Arrow tables. `on_skipped`: rows that cannot be are left out, and their numbers, from 1 on,
        told to it at the end; without it they are refused at the end."""
        yield from self.conditioned().completed(given_rows(partial, self.codec.schema), self.keeper(), seed, on_skipped)

    def redrawn(self, count: int, *, seed: int | None = None, source: Any = None) -> "Iterator[Model]":
        """Models that could have been fitted, had the privacy noise fallen otherwise. Post-processing: costs nothing."""
        if count < 1:
            raise UsageError(f"copies={count} must be at least 1")
        own, random = source or self.redraw_source(), rng(seed)
        found: Iterator[Model] = own.copies(count, random)
        return found

    def redraw_source(self) -> Any:
        """What draws such models, if the method can: `copies(count, random)`; `chance(rows)`, how much of the sampling variance
        of so many rows shows between copies; and `resolution`: how finely it sees a column."""
        redraw = method(self.method).redrawn
        if (
            not self.codec.blocks and self.plan.valid
        ):  # a label alone: whatever the method, its histogram was asked with noise
            redraw = "understudy.methods.marginals.redraw:RedrawnClasses"
        if not redraw:
            raise UsageError(
                f"copies: method {self.method!r} cannot draw any: {method(self.method).not_redrawn}; fit clique-tree, mst, "
                "aim, independent or mean-embedding"
            )
        return resolve(redraw)(self)

    def copies(
        self, count: int = 20, *, rows: int | None = None, seed: int | None = None, source: Any = None
    ) -> list[pd.DataFrame]:
        """Stand-ins of models that could have been fitted: they differ by privacy noise, estimation and sampling.

        For `understudy.infer`, which turns answers on all of them into one answer with an interval. `source`: what
        `redraw_source` gave before.
        """
        models = self.redrawn(count, seed=seed, source=source)
        seeds = sequence(seed).generate_state(count)
        size = self.rows if rows is None else rows
        return [model.sample(size, seed=int(own)) for model, own in zip(models, seeds, strict=True)]

    def _class_weights(self, found: Boxes) -> np.ndarray:
        wanted = on_label_only(found, self.codec.schema)
        own = shares(self.class_counts)
        return own if wanted is None else own * wanted / float((own * wanted).sum())

    # -- files -----------------------------------------------------------------------------------------------------------
    def save(self, folder: str | Path) -> Path:
        """Write the folder whole or not at all."""
        target = Path(folder)
        check_replaceable(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch = target.with_name(f".{target.name[:80]}-{secrets.token_hex(4)}")
            scratch.mkdir()
        except OSError as error:
            raise UsageError(f"cannot write to {str(target.parent)!r}: {error.strerror}") from None
        try:
            self._write(scratch)
            if target.exists():
                for name in FILES:
                    (target / name).unlink(missing_ok=True)
                target.rmdir()
            os.replace(scratch, target)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        return target

    def _write(self, folder: Path) -> None:
        arrays = {name: np.ascontiguousarray(value) for name, value in self.weights.items()}
        if self.marginals is not None:
            arrays |= {f"marginals/{name}": np.asarray(value) for name, value in self.marginals._asdict().items()}
        arrays |= to_arrays(self.released)
        # By `write_atomically`, because `save_file` makes a file that only its owner can read, and a model is handed on.
        write_atomically(folder / "weights.safetensors", save(arrays, metadata={"understudy": "weights"}))
        model = {
            "understudy": "model",
            "format": FORMAT,
            "method": self.method,
            "generator": self.generator.to_dict(),
            "schema": self.schema.to_dict(),
            "resolved": self.resolved.to_dict(),
            "class_counts": list(self.class_counts),
            "conditional": self.conditional,
            "void_reason": self.void_reason,
            "history": dict(self.history),
            "report": dict(self.report),
            "released": to_json(self.released),
        }
        if self.account is not None:
            model["account"] = dict(self.account)
        write_json(folder / "model.json", model)
        write_json(folder / "plan.json", self.plan.to_dict())
        write_json(folder / "ledger.json", dict(self.ledger))
        hashes = {path.name: sha256(path) for path in sorted(folder.iterdir())}
        certificate = replace(self, hashes=hashes).certificate
        write_json(folder / "certificate.json", certificate.to_dict())
        (folder / "certificate.txt").write_text(certificate.text(), encoding="utf-8")
        (folder / "registry.yaml").write_text(certificate.registry_yaml(), encoding="utf-8")


def load(folder: str | Path) -> Model:
    """Read a model folder. Foreign, truncated or altered files give a clear error; nothing in them is executed."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"{str(path)!r} is not a model folder")
    failed = [finding for finding in verify(path) if not finding.ok and finding.check != GUARANTEE]
    if failed:
        raise UsageError(
            f"{str(path)!r} is not the model that was certified: {failed[0].check} {failed[0].detail}; take it from its source "
            "again ('understudy certificate verify' lists every check)"
        )
    document = read_json(path / "model.json")
    if not isinstance(document, dict) or document.get("understudy") != "model":
        raise UsageError(f"{str(path / 'model.json')!r} does not describe an understudy model")
    if document.get("format") != FORMAT:
        raise UsageError(f"{str(path)!r} has format {document.get('format')!r}; this version reads format {FORMAT}")
    if document.get("method") not in METHODS:
        raise UsageError(
            f"{str(path)!r} was made by method {document.get('method')!r}, which this version does not know"
        )
    try:
        arrays = load_file(path / "weights.safetensors")
    except (OSError, SafetensorError) as error:
        raise UsageError(f"{str(path / 'weights.safetensors')!r} cannot be read: {error}") from None
    try:
        return assemble(document, arrays, read_json(path / "plan.json"), read_json(path / "ledger.json"), path)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UsageError(f"{str(path)!r} is damaged: {type(error).__name__} while reading {error}") from None


def assemble(
    document: Any, arrays: Mapping[str, np.ndarray], plan: Mapping[str, Any], ledger: Mapping[str, Any], path: Path
) -> Model:
    """A model from the parts of its folder; UsageError where they do not fit together."""
    resolved = Schema.from_dict(document["resolved"])
    codec = codec_of(resolved, document["conditional"])
    generator = generator_of(document["method"]).from_dict(document["generator"], codec)
    weights = {name: value for name, value in arrays.items() if not name.startswith(("marginals/", PREFIX))}
    counts = document["class_counts"]
    problem = generator.mismatch(weights) or not_finite(arrays)
    if len(counts) != codec.class_count or not all(math.isfinite(count) for count in counts):
        problem = problem or f"class_counts must be {codec.class_count} numbers"
    if problem:
        raise UsageError(f"{str(path)!r} is damaged: {problem}")
    marginals = None
    if "marginals/edges" in arrays:
        marginals = Marginals(*(arrays[f"marginals/{field}"] for field in Marginals._fields))
    return Model(
        method=document["method"],
        generator=generator,
        weights=weights,
        schema=Schema.from_dict(document["schema"]),
        resolved=resolved,
        class_counts=tuple(counts),
        plan=Plan.from_dict(plan),
        ledger=ledger,
        void_reason=document["void_reason"],
        conditional=document["conditional"],
        marginals=marginals,
        released=from_artifact(document.get("released", {}), arrays),
        history=document["history"],
        report=document.get("report", {}),
        account=document.get("account"),
        hashes={file.name: sha256(file) for file in sorted(path.iterdir()) if file.name in HASHED},
    )


HASHED = ("ledger.json", "model.json", "plan.json", "weights.safetensors")


FILES = (*HASHED, "certificate.json", "certificate.txt", "registry.yaml")  # what `save` writes, and `save` may replace


def not_finite(arrays: Mapping[str, np.ndarray]) -> str:
    """The first array that holds something that is no number; empty if there is none."""
    odd = [n for n, value in sorted(arrays.items()) if value.dtype.kind == "f" and not np.isfinite(value).all()]
    return f"{odd[0]!r} holds values that are not finite" if odd else ""


def check_replaceable(folder: str | Path) -> None:
    """Refuse a place that holds anything but a model of ours: whatever else stands there is not ours to delete."""
    target = Path(folder)
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{str(target)!r} exists and is not a model; choose another folder")
    names = sorted(path.name for path in target.iterdir())
    others = [name for name in names if name not in FILES]
    if others or (names and not is_model(target)):
        what = f"holds {others[0]!r}, which we did not write" if others else "exists and is not a model"
        raise UsageError(f"{str(target)!r} {what}; move it away, or choose another folder")


def codec_of(schema: Schema, conditional: bool) -> Codec:
    """With `conditional` a class label is a condition, not a column; otherwise it is encoded like any other column."""
    return Codec(schema if conditional else replace(schema, label=None, positive=None))


def is_model(folder: Path) -> bool:
    """Whether a folder looks like a saved model."""
    return (folder / "model.json").is_file() and (folder / "weights.safetensors").is_file()


def shares(counts: tuple[float, ...]) -> np.ndarray:
    """Class shares from noisy counts; a class whose count came out negative keeps a sliver, so that it can still appear."""
    positive = np.maximum(np.asarray(counts, np.float64), 1e-9)
    return np.asarray(positive / positive.sum())


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result can depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


def sha256(path: Path) -> str:
    """Of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
