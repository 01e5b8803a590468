"""The page of an audit: true to its file, careful with its words, and drawn from JSON alone."""

import json
import math
import re

import pytest

from understudy.accounting.attacker import best_true_positive_rate
from understudy.audit.result import AuditResult, Bound, Outcome
from understudy.errors import UsageError
from understudy.report import audit_page
from understudy.report.audit_charts import Estimate, forest

HOSTILE = "\"><script>alert(1)</script>\n'ä"
# What an audit must not say about a generator, whatever it found.
BOASTS = re.compile(r"\b(private|safe|secure|proven|guaranteed|compliant|anonymous)\b", re.IGNORECASE)


def bound(kind="clopper-pearson", epsilon=0.25, upper=None, largest=4.7, frequentist=True):
    return Bound(
        kind=kind,
        epsilon=epsilon,
        upper=upper,
        confidence=0.95,
        largest=largest,
        frequentist=frequentist,
        detail="score above 0.41: 30 of 400 false, 350 of 400 true",
    )


def outcome(*bounds, claim=1.0, threat="black-box", target="worst-case", roc=((0.0, 0.0), (0.2, 0.25), (1.0, 1.0))):
    violated = any(b.frequentist and b.epsilon > claim for b in bounds)
    return Outcome(
        threat=threat,
        attack="querybased",
        target=target,
        runs=2000,
        test_runs=800,
        bounds=tuple(bounds),
        roc=tuple(roc),
        violated=violated,
    )


def audit(*outcomes, epsilon=1.0, method="pate-gan", notes=()):
    return AuditResult(
        method=method,
        options={"teachers": 2},
        epsilon=epsilon,
        delta=1e-5,
        claim="(1, 1e-5)-differential privacy per row",
        outcomes=outcomes,
        fits=2000 * len(outcomes),
        seconds=61.5,
        fits_per_second=32.5,
        versions={"understudy": "0.1"},
        notes=notes,
    )


def draw(result, folder, parse):
    result.save(folder / "audit.json")
    path = audit_page.write(folder / "audit.json", folder / "audit.html")
    text = path.read_text(encoding="utf-8")
    return text, parse(text)


def test_a_bound_below_the_claim_is_no_violation_found_and_nothing_more(tmp_path, parse):
    text, _ = draw(audit(outcome(bound(), bound("bayesian", 0.3, 1.9, 5.0, False))), tmp_path, parse)
    assert "No violation found by these attacks" in text
    assert "iolation found</div>" not in text
    assert not BOASTS.findall(visible(text))
    assert "credible interval, not a frequentist bound" in text
    assert "model-box" in text  # says what was not tried


def test_a_bound_above_the_claim_is_a_violation(tmp_path, parse):
    text, page = draw(audit(outcome(bound(epsilon=2.5))), tmp_path, parse)
    assert '<div class="banner stop" role="note">Violation found</div>' in text
    assert "No violation" not in text and "no violation found by" not in text
    assert not BOASTS.findall(visible(text))
    assert [e for e in page.all("tr") if e.attributes.get("class") == "gone"]


def test_a_credible_interval_above_the_claim_decides_nothing(tmp_path, parse):
    text, page = draw(audit(outcome(bound(), bound("bayesian", 2.5, 3.0, 5.0, False))), tmp_path, parse)
    assert "No violation found by these attacks" in text
    assert not [e for e in page.all("tr") if e.attributes.get("class") == "gone"]


def test_too_few_runs_are_said_to_be_too_few(tmp_path, parse):
    few, _ = draw(audit(outcome(bound(epsilon=0.0, largest=0.8))), tmp_path, parse)
    assert "with so few runs no violation could have been found" in few
    enough, _ = draw(audit(outcome(bound(epsilon=0.0))), tmp_path, parse)
    assert "with so few runs" not in enough


def test_without_a_claim_nothing_can_be_violated(tmp_path, parse):
    text, _ = draw(audit(outcome(bound(epsilon=3.0), claim=math.inf), epsilon=math.inf), tmp_path, parse)
    assert "Nothing is claimed" in text and "allowed by the claim" not in text
    assert "violation found" not in text.replace("Nothing is claimed", "")


def test_figures_are_those_of_the_file(tmp_path, parse, at):
    result = audit(outcome(bound(), bound("gaussian", 0.4, 1.1, 6.0)), outcome(bound(epsilon=1.5), threat="wall-box"))
    _, page = draw(result, tmp_path, parse)
    data = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    figures = [e for e in page.elements if "data-value" in e.attributes]
    assert len(figures) >= 20
    for element in figures:
        assert element.attributes["data-value"] == repr(at(data, element.attributes["data-path"]))
    marks = [e.attributes["data-path"] for e in figures if e.tag == "path"]
    assert marks == [f"/outcomes/{o}/bounds/{b}/epsilon" for o, b in ((0, 0), (0, 1), (1, 0))]  # the whole forest


def test_nothing_is_fetched_and_names_are_harmless(tmp_path, parse):
    result = audit(outcome(bound(), target=HOSTILE), method=HOSTILE, notes=(HOSTILE,))
    text, page = draw(result, tmp_path, parse)
    assert "<script" not in text
    assert not [e.tag for e in page.elements if e.tag in {"script", "link", "iframe", "img", "form"}]
    for element in page.elements:
        assert not [name for name in element.attributes if name.startswith("on")]


def test_an_audit_without_outcomes_or_curves_is_still_a_page(tmp_path, parse):
    assert "No attack was run" in draw(audit(), tmp_path, parse)[0]
    text, _ = draw(audit(outcome(bound(), roc=())), tmp_path, parse)
    assert "What the attacks achieve" not in text


def test_infinite_bounds_are_drawn_without_a_place(tmp_path, parse):
    text, _ = draw(audit(outcome(bound(epsilon=math.inf, largest=math.inf))), tmp_path, parse)
    assert "∞" in text and "no figure" in text and "Violation found" in text


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 1e-5), (4.0, 0.01), (0.1, 0.5)])
def test_the_allowed_region_is_that_of_the_claim(epsilon, delta):
    """Symmetric: exchanging the two tables turns a test around, so the lower edge is the upper one mirrored."""
    for rate, low, high in audit_page.allowed(epsilon, delta):
        assert high == best_true_positive_rate(epsilon, delta, rate)
        assert low <= rate + 1e-12 <= high + 2e-12
        assert low == pytest.approx(1 - best_true_positive_rate(epsilon, delta, 1 - rate))
        assert high <= math.exp(epsilon) * rate + delta + 1e-12


def test_the_forest_puts_marks_where_the_values_are():
    def place(value):
        one = Estimate(name="x", low=value, high=None, largest=8.0, frequentist=True, exceeds=False, path="/p")
        return float(re.search(r'd="M([\d.]+),[^"]*"[^>]*data-value', forest("t", [("g", [one])], 4.0)).group(1))

    zero, two, four = place(0.0), place(2.0), place(4.0)
    assert two - zero == pytest.approx(four - two, abs=0.05) and two > zero


def test_a_reach_far_beyond_the_bounds_does_not_squeeze_them():
    def drawn(largest):
        one = Estimate(name="x", low=1.0, high=2.0, largest=largest, frequentist=True, exceeds=False, path="/p")
        return forest("t", [("g", [one])], 4.0)

    assert drawn(400.0) == drawn(4000.0) != drawn(8.0)
    assert ">4</text>" in drawn(400.0)


@pytest.mark.parametrize("content", ["", "[]", '{"format": "other"}', '{"format": "understudy audit 1"}'])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "audit.json").write_text(content)
    with pytest.raises(UsageError):
        audit_page.write(tmp_path / "audit.json", tmp_path / "audit.html")
    assert not (tmp_path / "audit.html").exists() and not list(tmp_path.glob("*.part"))


def visible(text):
    body = text[text.index("<body") :]
    return re.sub(r"<[^>]+>", " ", body)
