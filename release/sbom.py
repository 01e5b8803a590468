"""A software bill of materials in CycloneDX 1.6 (JSON), from the pins: `python release/sbom.py OUT.json [EXTRA ...]`.

What `pip install understudy` brings is what `requirements/runtime.txt` pins; each EXTRA (evaluate, serve) adds its own
file. Nothing is looked up, so equal pins give equal bytes.
"""

import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def pins(extras: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Names and versions, by name."""
    found = []
    for part in ("runtime", *extras):
        lines = (ROOT / "requirements" / f"{part}.txt").read_text("utf-8").split()
        found += [(name, version) for name, _, version in (line.partition("==") for line in lines)]
    return sorted(found, key=lambda pin: pin[0].lower())


def purl(name: str, version: str) -> str:
    """A package address; PyPI's names are lower case with hyphens."""
    return f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"


def document(extras: Sequence[str] = ()) -> dict[str, Any]:
    """The bill."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    own = purl(project["name"], project["version"])
    parts = [
        {
            "type": "library",
            "bom-ref": purl(name, version),
            "name": name,
            "version": version,
            "purl": purl(name, version),
        }
        for name, version in pins(extras)
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "purl": own,
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(document(sys.argv[2:]), indent=2) + "\n", "utf-8")
