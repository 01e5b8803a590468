"""What goes with a release: the bill of materials names every pin, the citation this version, the container no root."""

import re
import runpy
import sys
import tomllib
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


def test_the_source_archive_has_every_folder_that_the_tests_import():
    """`tools` was left out: the second program did not reach those who only have the archive, and its tests failed there."""
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["sdist"][
        "include"
    ]
    tracked = {one.name for one in ROOT.iterdir() if one.is_dir() and any(one.glob("*.py"))}
    assert tracked <= set(packed) | {"docs", "build", "dist"}, tracked
    assert "tools" in packed


def test_the_trial_of_a_package_does_not_see_a_clone(tmp_path, monkeypatch):
    """With PYTHONPATH it tried the sources of the clone instead of what was installed."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = runpy.run_path(str(ROOT / "release" / "check.py"))["_run"]
    assert str(tmp_path) not in run([sys.executable, "-c", "import sys; print(sys.path[1:])"], tmp_path)
