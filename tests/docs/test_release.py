"""What goes with a release: the bill of materials names every pin, the citation this version, the container no root."""

import re
import runpy
from pathlib import Path

import yaml

import understudy

ROOT = Path(__file__).resolve().parents[2]


def test_the_bill_of_materials_has_every_pin():
    made = runpy.run_path(str(ROOT / "release" / "sbom.py"))["document"](["evaluate", "serve"])
    assert made["bomFormat"] == "CycloneDX" and made["metadata"]["component"]["version"] == understudy.__version__
    listed = {(one["name"], one["version"]) for one in made["components"]}
    pinned = [
        tuple(line.split("=="))
        for part in ("runtime", "evaluate", "serve")
        for line in (ROOT / "requirements" / f"{part}.txt").read_text("utf-8").split()
    ]
    assert listed == set(pinned) and len(made["components"]) == len(pinned)
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9.-]+@[0-9][\w.]*", one["purl"]) for one in made["components"])
    assert made["dependencies"][0]["dependsOn"] == [one["bom-ref"] for one in made["components"]]


def test_the_citation_is_of_this_version():
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert said["version"] == understudy.__version__ and said["cff-version"] == "1.2.0"
    assert said["authors"] == [{"name": "The Understudy project"}] and said["license"] == "Apache-2.0"


def test_the_container_has_no_root():
    text = (ROOT / "release" / "Containerfile").read_text("utf-8")
    assert text.index("USER understudy") < text.index("ENTRYPOINT")
    assert all((ROOT / name).exists() for name in re.findall(r"requirements/\S+\.txt", text))
