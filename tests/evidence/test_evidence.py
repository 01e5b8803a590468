"""What outsiders get: bounds that hold, files in the forms they know, signatures that cannot be moved."""

import json
import math
import os
import re
import shutil

import pytest
import yaml

from understudy import cli, signing
from understudy.errors import UsageError
from understudy.evidence import croissant, risks

from ..accounting.test_certificate import registry_problems
from ..cli.test_path import place  # noqa: F401  a fitted model and rows that it made


# -- the three risks ---------------------------------------------------------------------------------------------------
def test_inference_and_isolation_bounds_hold_for_randomised_response():
    """The mechanism for which epsilon is exact: a bit told truly with probability e^eps / (1 + e^eps)."""
    for epsilon in (0.1, 1.0, 3.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert truth <= risks.guess(epsilon, 0.0, 0.5) + 1e-12
        assert risks.guess(epsilon, 0.0, 0.5) < 1.0
    assert risks.guess(0.0, 0.0, 0.3) == pytest.approx(0.3)
    assert risks.isolation(0.0, 0.0, 1e-6, 100) == pytest.approx(1e-6)


# -- the folder --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def written(place):  # noqa: F811
    words = ["evidence", f"{place}/model", "--out", f"{place}/evidence", "--sample", f"{place}/fake.csv", "--json"]
    assert cli.run(words) == 0
    return place / "evidence"


def test_limits_are_rounded_up_everywhere(written):
    """The reviewers' page said 7.3 % where the limit was 7.39 %."""
    stated = json.loads((written.parent / "model" / "certificate.json").read_text())["attacker"]
    text = (written / "reviewers.md").read_text()
    said = [float(found) for found in re.findall(r"([\d.]+) % at [\d.]+%? false alarms", text)]
    limits = [rate for key, rate in stated.items() if key.startswith("at_")]
    assert len(said) == len(limits) and all(100 * limit <= shown for limit, shown in zip(limits, said, strict=True))


def test_a_bound_that_rests_on_delta_says_so():
    claim = {"epsilon": 1.0, "unit": "one row"}
    certificate = {"mu": None, "schema": {}, "not_covered": []}
    for delta, word in ((1e-5, True), (1e-9, False)):
        assert ("choose it well below" in risks.page(certificate | {"claim": claim | {"delta": delta}})) is word


def test_every_layer_is_answered(written):
    text = (written / "sp800-226.md").read_text()
    layers = ("The claim", "Algorithms", "Correctness", "Utility and bias", "Trust model", "Security", "Not covered")
    assert all(f"## {layer}" in text for layer in layers)
    assert "epsilon 2, delta 1e-05" in (written / "risks.md").read_text()
    assert "one row" in (written / "model-card.md").read_text()
    assert "| amount | continuous | 0 to 100 |" in (written / "data-card.md").read_text()
    assert "found at most" not in (written / "reviewers.md").read_text()
    assert re.search(r"\*\*Drawn on\*\*: 20\d\d-\d\d-\d\d\n", (written / "data-card.md").read_text())
    assert registry_problems(yaml.safe_load((written / "registry.yaml").read_text())) == []


def test_the_metadata_has_croissants_form(written, place):  # noqa: F811
    """The rules of Croissant 1.1 that its validator checks, written out."""
    data = json.loads((written / "croissant.json").read_text())
    assert data["@type"] == "sc:Dataset" and data["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert {"name", "description", "license", "url", "creator", "datePublished"} <= set(data)
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", data["name"])
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", data["datePublished"])
    (file,) = data["distribution"]
    assert file["@type"] == "cr:FileObject" and {"@id", "contentUrl", "encodingFormat", "sha256"} <= set(file)
    (table,) = data["recordSet"]
    assert table["@type"] == "cr:RecordSet"
    ids = [field["@id"] for field in table["field"]]
    assert len(set(ids)) == len(ids) == 4
    for field in table["field"]:
        assert field["source"]["fileObject"]["@id"] == file["@id"] and field["dataType"] in croissant.TYPES.values()
    header = (place / "fake.csv").read_text().splitlines()[0].replace('"', "").split(",")
    assert [field["source"]["extract"]["column"] for field in table["field"]] == header


def test_evidence_is_refused_for_what_does_not_verify(place, tmp_path, capsys):  # noqa: F811
    model = shutil.copytree(place / "model", tmp_path / "model")
    (model / "certificate.txt").write_text("all is well")
    assert cli.run(["evidence", str(model), "--out", str(tmp_path / "out")]) == 2
    assert cli.run(["evidence", f"{place}/model", "--out", str(tmp_path / "out"), "--sample", f"{place}/rows.csv"]) == 2
    assert cli.run(["evidence", f"{place}/model", "--out", f"{place}/model/evidence"]) == 2
    assert not (tmp_path / "out").exists() and not (place / "model" / "evidence").exists()


# -- signatures --------------------------------------------------------------------------------------------------------
def test_a_signature_is_for_one_folder_and_one_key(place, tmp_path, capsys):  # noqa: F811
    model, key = shutil.copytree(place / "model", tmp_path / "model"), tmp_path / "holder.pem"
    assert cli.run(["certificate", "sign", str(model), "--key", str(key), "--new-key"]) == 0
    assert os.stat(key).st_mode & 0o777 == 0o600
    verify = ["certificate", "verify", str(model), "--key", f"{key}.pub"]
    assert cli.run(verify) == 0
    assert "signature: was made with this key" in capsys.readouterr().out
    other = tmp_path / "other.pem"
    signing.make_keys(other)
    assert cli.run([*verify[:-1], f"{other}.pub"]) == 1
    (model / "registry.yaml").write_text((model / "registry.yaml").read_text() + "# filled in\n")
    assert cli.run(verify) == 1  # the certificate still holds, the signature does not
    moved = shutil.copytree(place / "model", tmp_path / "moved")
    assert cli.run(["certificate", "verify", str(moved), "--key", f"{key}.pub"]) == 1


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"statement": 1, "signature": 2}', None])
def test_a_damaged_signature_does_not_verify(place, tmp_path, damage):  # noqa: F811
    model, key = shutil.copytree(place / "model", tmp_path / "model"), tmp_path / "key.pem"
    signing.make_keys(key)
    mark = signing.sign(model, key)
    if damage is None:
        content = json.loads(mark.read_text())
        content["statement"] = content["statement"].replace("model.json", "model.jsom")
        damage = json.dumps(content).encode()
    mark.write_bytes(damage)
    assert not signing.check(model, f"{key}.pub")[0]


def test_keys_are_never_overwritten_and_never_open_to_others(place, tmp_path):  # noqa: F811
    key = tmp_path / "key.pem"
    signing.make_keys(key)
    with pytest.raises(UsageError, match="never overwritten"):
        signing.make_keys(key)
    os.chmod(key, 0o644)
    with pytest.raises(UsageError, match="0600"):
        signing.sign(place / "model", key)
    with pytest.raises(UsageError, match=r"not a key|not an Ed25519"):
        signing.check(place / "model", place / "rows.csv")
