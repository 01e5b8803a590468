"""The face of a genuine certificate, as the accounting writes it: what it claims stands on the page."""

import dp_accounting as dpa
import pytest
from markupsafe import escape

from understudy.accounting import Budget, Charge, Ledger, Plan, build_certificate
from understudy.report import certificate
from understudy.report.node import Element


@pytest.fixture(scope="module")
def genuine():
    event = dpa.GaussianDpEvent(6.0)
    plan = Plan("pate-gan", Budget(1.0, 1e-5), "one row", (Charge("teacher <votes>", event),), notes=("a note",))
    ledger = Ledger(plan)
    ledger.charge("teacher <votes>", event, "chunk 0", "digest")
    facts = {"schema": {"columns": {}}, "schema_fingerprint": "f", "hashes": {}, "versions": {}}
    return lambda **more: Element(
        build_certificate(plan=plan, ledger=ledger.to_dict(), **facts, **more).to_dict(), "/c"
    )


def test_a_valid_one_states_its_claim(genuine):
    node = genuine()
    face = certificate.face(node)
    assert certificate.holds(node) and not certificate.is_void(node)
    assert '<span data-path="/c/claim/epsilon" data-value="1.0">1.000</span>' in face
    assert "one row" in face and "add or remove one unit" in face and "pate-gan" in face
    assert "teacher &lt;votes&gt;" in face and "a note" in face and "VOID" not in face
    for entry in node.value["assumptions"] + node.value["unprotected"] + node.value["not_covered"]:
        assert escape(entry) in face


def test_attacker_rates_are_never_understated(genuine):
    node = genuine()
    rate = node.value["attacker"]["at_10%_false_alarms"]
    shown = float(certificate.face(node).split("false alarms and ")[1].split(" %")[0])
    assert rate * 100 <= shown < rate * 100 + 0.1


def test_a_void_one_states_no_epsilon(genuine):
    node = genuine(flags=("noise was seeded: void",))
    face = certificate.face(node)
    assert certificate.is_void(node) and certificate.short(node) == "VOID"
    assert "VOID: no privacy guarantee" in face and "noise was seeded" in face
    assert "/c/claim/epsilon" not in face and "attacker can gain" not in face


def test_none_is_said_to_be_none():
    assert certificate.short(Element(None)) == "none" and not certificate.is_void(Element(None))
    assert "not private by being synthetic" in certificate.face(Element(None))
