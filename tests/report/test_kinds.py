"""Internal and release reports are never mixed up, and no real figure reaches a release report."""

import json
from typing import Any

import pytest

from understudy import report
from understudy.report import node, release


def spoil(value: Any) -> Any:
    """Every number, word, truth and length changed; the shape of the document stays."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 1.7 + 13.25
    if isinstance(value, str):
        return value[::-1] + "?"
    if isinstance(value, list):
        return [spoil(v) for v in value] + [None]
    if isinstance(value, dict):
        return {k: spoil(v) for k, v in value.items()}
    return 3.125


def spoiled(data: dict[str, Any]) -> dict[str, Any]:
    """All that is derived from real rows or describes them, spoiled: everything but three entries."""
    changed = {k: spoil(v) for k, v in data.items()}
    changed["format"], changed["release"] = data["format"], data["release"]
    changed["header"]["certificate"] = data["header"]["certificate"]
    return changed


@pytest.mark.parametrize("name", ["adult", "images", "codes", "wide", "bare"])
def test_release_report_is_blind_to_real_figures(results, name, tmp_path):
    path = results(name)
    data = json.loads(path.read_text(encoding="utf-8"))
    other = tmp_path / "result.json"
    other.write_text(json.dumps(spoiled(data)), encoding="utf-8")
    assert report.render(other, "release").encode() == (path.parent / "release.html").read_bytes()


def test_release_report_needs_nothing_else(results, tmp_path):
    """Stronger: with the real part removed altogether the page is still the same."""
    data = json.loads(results("adult").read_text(encoding="utf-8"))
    bare = {
        "format": data["format"],
        "release": data["release"],
        "header": {"certificate": data["header"]["certificate"]},
    }
    (tmp_path / "result.json").write_text(json.dumps(bare), encoding="utf-8")
    assert (
        report.render(tmp_path / "result.json", "release").encode()
        == (results("adult").parent / "release.html").read_bytes()
    )


@pytest.mark.parametrize("change", ["rows", "certificate", "shares"])
def test_release_report_does_depend_on_what_it_shows(results, change, tmp_path):
    data = json.loads(results("adult").read_text(encoding="utf-8"))
    if change == "rows":
        data["release"]["rows"] += 1
    elif change == "certificate":
        data["header"]["certificate"]["claim"]["epsilon"] = 2.5
    else:
        data["release"]["columns"][1]["shares"][3] += 0.01
    (tmp_path / "result.json").write_text(json.dumps(data), encoding="utf-8")
    assert (
        report.render(tmp_path / "result.json", "release").encode()
        != (results("adult").parent / "release.html").read_bytes()
    )


def test_internal_report_does_change_with_real_figures(results, tmp_path):
    data = json.loads(results("adult").read_text(encoding="utf-8"))
    data["fidelity"]["shapes"][0]["histogram"]["real"][0] += 0.01
    (tmp_path / "result.json").write_text(json.dumps(data), encoding="utf-8")
    assert (
        report.render(tmp_path / "result.json", "internal").encode()
        != (results("adult").parent / "internal.html").read_bytes()
    )


def test_addresses_of_a_release_report_lie_in_the_public_part(case, parse):
    page = parse((case.parent / "release.html").read_text(encoding="utf-8"))
    paths = [e.attributes["data-path"] for e in page.elements if "data-path" in e.attributes]
    assert paths and all(p.startswith(("/release/", "/header/certificate/")) for p in paths)


def test_a_release_view_holds_nothing_else(results):
    seen = release.view(node.read(results("adult"))).value
    assert set(seen) == {"release", "header", "published"} and set(seen["header"]) == {"certificate"}
    assert seen["published"] is None, "nothing was paid for"


def test_banners(results, parse):
    folder = results("adult").parent
    inside = (folder / "internal.html").read_text(encoding="utf-8")
    outside = (folder / "release.html").read_text(encoding="utf-8")
    assert '<div class="banner stop" role="note">Not private: do not share.' in inside
    assert ".banner.stop { background: #b3261e;" in inside
    assert "NOT PRIVATE: DO NOT SHARE" in inside.split("</style>")[0], "the printed sheets carry it too"
    assert '<div class="banner open"' in outside and "Not private" not in outside


@pytest.mark.parametrize(
    "certificate",
    [
        None,
        {},
        {"valid": False, "void_reasons": ["noise was seeded"], "claim": {"epsilon": None}},
        {"valid": True, "void_reasons": ["noise was seeded"], "claim": {"epsilon": 1.0}},
        {"void_reasons": ["noise was seeded"], "claim": {"epsilon": 1.0}},
    ],
)
def test_a_release_report_without_a_valid_certificate_turns_red(results, certificate, tmp_path):
    data = json.loads(results("adult").read_text(encoding="utf-8"))
    data["header"]["certificate"] = certificate
    (tmp_path / "result.json").write_text(json.dumps(data), encoding="utf-8")
    text = report.render(tmp_path / "result.json", "release")
    assert '<div class="banner stop" role="note">No valid certificate' in text
    assert ("VOID" in text) is bool(certificate)
    assert ("noise was seeded" in text) is bool(certificate)
