"""A model as a folder of files: written whole or not at all, and checked before it is read. No pickle.

    weights.safetensors   what `sample` needs          model.json   method, settings, resolved schema, class weights
    plan.json             announced before the fit     ledger.json  what was charged
    certificate.json, certificate.txt, registry.yaml   the claim, for machines, people and registries

Reading runs no code from the folder, and checks it first: whatever `certificate verify` would find (a file that is missing,
altered or unknown, a claim that its ledger does not bear) is refused, and so are weights that are not finite.
"""

import hashlib
import math
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from understudy.accounting import Plan
from understudy.accounting.verification import GUARANTEE, verify
from understudy.certified import Certified
from understudy.errors import UsageError
from understudy.files import read_json, write_atomically, write_json
from understudy.measure.marginals import Marginals
from understudy.methods.registry import METHODS
from understudy.methods.registry import generator as generator_of
from understudy.released import PREFIX, from_artifact, to_arrays, to_json
from understudy.schema import Schema, codec_of

FORMAT = 1
HASHED = ("ledger.json", "model.json", "plan.json", "weights.safetensors")
FILES = (*HASHED, "certificate.json", "certificate.txt", "registry.yaml")  # what `write` writes, and may replace


# -- writing --------------------------------------------------------------------------------------------------------------
def write(model: Certified, folder: str | Path) -> Path:
    """All files of a model, or none."""
    target = Path(folder)
    check_replaceable(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = target.with_name(f".{target.name[:80]}-{secrets.token_hex(4)}")
        scratch.mkdir()
    except OSError as error:
        raise UsageError(f"cannot write to {str(target.parent)!r}: {error.strerror}") from None
    try:
        fill(scratch, model)
        if target.exists():
            for name in FILES:
                (target / name).unlink(missing_ok=True)
            target.rmdir()
        os.replace(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target


def fill(folder: Path, model: Certified) -> None:
    """The files, the certificate last: it holds the hashes of the others."""
    # By `write_atomically`, because `save_file` makes a file that only its owner can read, and a model is handed on.
    write_atomically(folder / "weights.safetensors", save(arrays_of(model), metadata={"understudy": "weights"}))
    write_json(folder / "model.json", document_of(model))
    write_json(folder / "plan.json", model.plan.to_dict())
    write_json(folder / "ledger.json", dict(model.ledger))
    hashes = {path.name: sha256(path) for path in sorted(folder.iterdir())}
    certificate = replace(model, hashes=hashes).certificate
    write_json(folder / "certificate.json", certificate.to_dict())
    (folder / "certificate.txt").write_text(certificate.text(), encoding="utf-8")
    (folder / "registry.yaml").write_text(certificate.registry_yaml(), encoding="utf-8")


def arrays_of(model: Certified) -> dict[str, np.ndarray]:
    """What `weights.safetensors` holds."""
    arrays = {name: np.ascontiguousarray(value) for name, value in model.weights.items()}
    if model.marginals is not None:
        arrays |= {f"marginals/{name}": np.asarray(value) for name, value in model.marginals._asdict().items()}
    return arrays | to_arrays(model.released)


def document_of(model: Certified) -> dict[str, Any]:
    """What `model.json` says; `assemble` is the way back."""
    document = {
        "understudy": "model",
        "format": FORMAT,
        "method": model.method,
        "generator": model.generator.to_dict(),
        "schema": model.schema.to_dict(),
        "resolved": model.resolved.to_dict(),
        "class_counts": list(model.class_counts),
        "conditional": model.conditional,
        "void_reason": model.void_reason,
        "history": dict(model.history),
        "report": dict(model.report),
        "released": to_json(model.released),
    }
    if model.account is not None:
        document["account"] = dict(model.account)
    return document


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


def is_model(folder: Path) -> bool:
    """Whether a folder looks like a saved model."""
    return (folder / "model.json").is_file() and (folder / "weights.safetensors").is_file()


# -- reading --------------------------------------------------------------------------------------------------------------
def read(folder: str | Path) -> Certified:
    """The parts of a model, from its folder. UsageError where files are foreign, truncated or altered."""
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
) -> Certified:
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
    return Certified(
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


def not_finite(arrays: Mapping[str, np.ndarray]) -> str:
    """The first array that holds something that is no number; empty if there is none."""
    odd = [n for n, value in sorted(arrays.items()) if value.dtype.kind == "f" and not np.isfinite(value).all()]
    return f"{odd[0]!r} holds values that are not finite" if odd else ""


def sha256(path: Path) -> str:
    """Of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
