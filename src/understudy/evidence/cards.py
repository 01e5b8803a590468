"""A card for the model and one for the data, in the words that catalogues ask for."""

from collections.abc import Mapping
from typing import Any

from understudy.evidence.checklist import FILL, cell
from understudy.manifest import Manifest


def model_card(certificate: Mapping[str, Any], digest: str) -> str:
    """What was made, how, and what for."""
    claim = certificate["claim"]
    return "\n".join(
        [
            "# Model card",
            "",
            f"- **Model**: a generator of table rows, method `{certificate['method']}`, understudy {_version(certificate)}",
            f"- **Digest**: `{digest}` (SHA-256 of certificate.json, which holds the hashes of all files)",
            f"- **Guarantee**: epsilon {claim['epsilon']:g}, delta {claim['delta']:g}; unit: {cell(claim['unit'])}",
            f"- **Training data**: a private table; {FILL}: whose, collected when and how",
            f"- **Intended use**: {FILL}",
            "- **Not for**: decisions about single persons, checking facts about real people, or replacing the original table "
            "where exact figures matter",
            "- **Limits**: noise hides rare groups and fine relations; columns below may have been clamped",
            *(f"  - {cell(note)}" for note in certificate["notes"]),
            f"- **Evaluation**: {FILL} ('understudy evaluate' on rows of other people; its figures are not private)",
            f"- **Contact**: {FILL}",
            "",
        ]
    )


def data_card(certificate: Mapping[str, Any], made: Manifest | None) -> str:
    """What the synthetic rows are."""
    schema = certificate["schema"]
    lines = ["# Data card", ""]
    if made is not None:
        lines += [
            f"- **File**: `{made.file}`, {made.rows:,} rows, SHA-256 `{made.sha256}`, made by model `{made.model}`"
        ]
        lines += [f"- **Drawn on**: {made.made}"] if made.made else []
        lines += [f"- **Drawn under the condition**: {cell(made.where)}"] if made.where else []
    lines += [
        "- **What**: synthetic rows drawn from a generator with a differential-privacy guarantee; no row is a person",
        f"- **Label**: {cell(str((schema.get('label') or {}).get('column', 'none')))}",
        f"- **Licence**: {FILL}",
        "",
        "| column | kind | range or categories |",
        "| --- | --- | --- |",
        *(f"| {cell(name)} | {entry['kind']} | {cell(_range(entry))} |" for name, entry in schema["columns"].items()),
        "",
    ]
    return "\n".join(lines)


def _range(entry: Mapping[str, Any]) -> str:
    if "lower" in entry:
        return " to ".join(_short(entry[side]) for side in ("lower", "upper"))
    listed = entry.get("categories")
    if isinstance(listed, list):
        return ", ".join(map(str, listed[:12])) + (f" and {len(listed) - 12} more" if len(listed) > 12 else "")
    return ""


def _short(bound: object) -> str:
    return f"{bound:.6g}" if isinstance(bound, float) else str(bound)


def _version(certificate: Mapping[str, Any]) -> str:
    return str(certificate["versions"].get("understudy", "unknown"))
