"""What outsiders ask for, from a model whose certificate verifies: one folder of plain files.

    understudy evidence model/ --out evidence/ [--sample fake.parquet]

    sp800-226.md      the layers of NIST SP 800-226, each answered from the certificate, "not covered" included
    reviewers.md      answers for reviewers who are no experts: what is protected, from whom, what was assumed
    risks.md          the three risks of WP29 opinion 05/2014 with the bounds that follow from (epsilon, delta)
    model-card.md     data-card.md     what was made and how; what the rows are and what they are not
    croissant.json    Croissant 1.1 metadata of the sample, if one is named; its manifest must match the model
    registry.yaml     the entry for the deployments registry, as in the model folder

Everything is a function of the model folder and of synthetic rows' metadata: post-processing, free. What only the holder
knows says FILL IN. Nothing is written for a model whose certificate does not hold.
"""

import json
from pathlib import Path
from typing import Any

from understudy import manifest
from understudy.accounting import registry
from understudy.errors import UsageError
from understudy.evidence import cards, checklist, croissant, risks
from understudy.files import write_atomically

__all__ = ["write"]


def write(model: str | Path, out: str | Path, sample: str | Path | None = None) -> list[Path]:
    """Write the evidence of a model folder; returns the paths. UsageError unless everything verifies."""
    certificate = manifest.verified(model).to_dict()
    digest = manifest.model_digest(model)
    made = None if sample is None else manifest.check(sample, model)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"out={str(out)!r} is a file; name a folder")
    if Path(model).resolve() in (folder.resolve(), *folder.resolve().parents):
        raise UsageError(
            f"out={str(out)!r} lies in the model folder, which would no longer verify; choose another place"
        )
    texts = {
        "sp800-226.md": checklist.sp800_226(certificate),
        "reviewers.md": checklist.reviewers(certificate),
        "risks.md": risks.page(certificate),
        "model-card.md": cards.model_card(certificate, digest),
        "data-card.md": cards.data_card(certificate, made),
        "registry.yaml": registry.entry(certificate),
    }
    if made is not None and sample is not None:
        texts["croissant.json"] = as_json(croissant.metadata(certificate, made, Path(sample)))
    folder.mkdir(parents=True, exist_ok=True)
    return [write_atomically(folder / name, text) for name, text in texts.items()]


def as_json(content: dict[str, Any]) -> str:
    """JSON as people read it."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
