"""The certificate says what was planned and charged, in three forms, and `verify` finds every lie we could think of."""

import hashlib
import json
import math
from dataclasses import replace

import dp_accounting as dpa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting import (
    Budget,
    Certificate,
    Charge,
    EpsilonDeltaDpEvent,
    Ledger,
    Plan,
    build_certificate,
    epsilon,
    gaussian,
    holds,
    label,
    noise_scale,
    verify,
)
from understudy.accounting.attacker import best_true_positive_rate, best_true_positive_rate_gaussian
from understudy.accounting.certificate import NOT_PRIVATE, SEEDED
from understudy.accounting.events import to_json
from understudy.accounting.ledger import FORMAT
from understudy.errors import UsageError
from understudy.evidence.checklist import sp800_226

VERSIONS = {"understudy": "0.1", "opendp": "0.16"}
SCHEMA = {"columns": {"age": {"kind": "integer"}, 'a "quoted": name\n': {"kind": "boolean"}}, "rows": 20_190}


@pytest.fixture
def plan() -> Plan:
    budget = Budget(1.0, 1e-5)

    def charged(scale: float) -> tuple[dpa.DpEvent, dpa.DpEvent]:
        """A tenth of squared mu for the histogram, nine tenths for two hundred votes."""
        votes = dpa.GaussianDpEvent(scale * math.sqrt(200 / 0.9))
        return dpa.GaussianDpEvent(scale / math.sqrt(0.1)), dpa.SelfComposedDpEvent(votes, 200)

    histogram, votes = charged(noise_scale(budget, charged))
    charges = Charge("class histogram", histogram, "rows of every class"), Charge("teacher votes", votes)
    unit = "all rows that share a value of column 'person', at most 5 rows"
    return Plan("pate-gan", budget, unit, charges, {"teachers": 900}, ("votes are read as shares",))


def charged(plan: Plan) -> dict:
    ledger = Ledger(plan)
    for number, charge in enumerate(plan.charges):
        ledger.charge(charge.purpose, charge.event, f"token {number}")
    return ledger.to_dict()


def certify(plan: Plan, ledger: dict | None = None, **more) -> Certificate:
    given = {"schema": SCHEMA, "schema_fingerprint": "f" * 64, "hashes": {}, "versions": VERSIONS} | more
    return build_certificate(plan=plan, ledger=charged(plan) if ledger is None else ledger, **given)


def write(folder, plan: Plan, ledger: dict | None = None, **more) -> None:
    """A model folder as an artifact writes it."""
    ledger = charged(plan) if ledger is None else ledger
    folder.mkdir(exist_ok=True)
    (folder / "weights.safetensors").write_bytes(b"weights")
    files = {"model.json": {"understudy": "model"}, "plan.json": plan.to_dict(), "ledger.json": ledger}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    hashes = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}
    certificate = certify(plan, ledger, hashes=hashes, **more)
    (folder / "certificate.json").write_text(certificate.to_json())
    (folder / "certificate.txt").write_text(certificate.text())
    (folder / "registry.yaml").write_text(certificate.registry_yaml())


@pytest.fixture
def folder(tmp_path, plan):
    write(tmp_path / "model", plan)
    return tmp_path / "model"


def failed(folder) -> set[str]:
    return {finding.check for finding in verify(folder) if not finding.ok}


def edit(path, change) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def rehash(folder, *names: str) -> None:
    """A forger who knows the format mends the hashes too."""

    def mend(content: dict) -> None:
        for name in names:
            content["hashes"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()

    edit(folder / "certificate.json", mend)


# --- what it says ---


def test_an_honest_certificate(plan):
    made = certify(plan)
    assert made.valid and made.void_reasons == () and made.epsilon == 1.0 and made.delta == 1e-5
    content = made.to_dict()
    assert 0.99 <= content["epsilon_spent"] <= 1.0 and content["epsilon_announced"] == content["epsilon_spent"]
    assert [charge["share"] for charge in content["charges"]] == pytest.approx([0.1, 0.9], rel=1e-2)
    assert content["hashes"] == {} and content["versions"] == VERSIONS and content["schema"] == SCHEMA
    assert any("number of rows" in line for line in content["unprotected"])
    assert Certificate.from_dict(json.loads(made.to_json())).to_dict() == content


def test_attackers_of_gaussian_noise_get_the_exact_curve(plan):
    attacker = certify(plan).to_dict()["attacker"]
    assert attacker["at_1%_false_alarms"] == pytest.approx(best_true_positive_rate_gaussian(plan.mu, 0.01))
    assert attacker["at_10%_false_alarms"] < best_true_positive_rate(1.0, 1e-5, 0.1)
    assert "Gaussian" in attacker["rule"]


def test_attackers_of_other_noise_get_the_bound():
    mixed = Plan("x", Budget(1.0, 1e-5), "one row", (Charge("count", dpa.LaplaceDpEvent(1.0)),))
    attacker = certify(mixed).to_dict()["attacker"]
    assert attacker["at_1%_false_alarms"] == pytest.approx(math.e * 0.01 + 1e-5)
    assert "epsilon and delta" in attacker["rule"]


def test_the_page_is_one_page_and_says_the_essentials(plan):
    text = certify(plan).text()
    assert len(text.splitlines()) <= 70 and max(map(len, text.splitlines())) <= 100
    words = " ".join(text.split())
    for part in (
        "epsilon = 1, delta = 1e-05",
        "at most 5 rows",
        "at 1% false alarms",
        "at 10% false alarms",
        "Not covered",
        "copies of the stand-in and answers with intervals cost nothing more",
    ):
        assert part in words
    assert "VOID" not in words


def registry_problems(data: dict) -> list[str]:
    """The registry's rules, written out: which keys there are, of which kind, and which words are allowed."""
    problems = [f"top level: {sorted(set(data) ^ {'url_slug', 'status', 'tier', 'deployment'})}"]
    problems = [] if problems[0].endswith("[]") else problems
    deployment = data.get("deployment", {})
    required = {
        "basic": {"name": str, "description": str, "data_curators": list, "intended_use": str, "data_product_type": str,
                  "data_product_region": str, "data_product_sector": str, "publication_date": str},
        "dp_variant": {"variant_name": str, "data_domain": str, "unprotected_quantities": str},
        "privacy_loss": {"privacy_unit": str, "privacy_unit_details": str, "privacy_parameters": dict,
                         "privacy_parameters_details": str},
        "deployment_model": {"model_name": str, "actors": str, "release_type": str, "data_source_type": str,
                             "access_type": str},
        "accounting": {"post_processing": str, "composition": str},
        "implementation": {"preprocessing_and_hyperparameter_tuning": str, "mechanisms": str, "justification": str},
        "administrative": {"sources": str, "notes": str, "registry_authors": list},
    }  # fmt: skip
    if set(deployment) != set(required):
        return [*problems, f"deployment: {sorted(set(deployment) ^ set(required))}"]
    for part, keys in required.items():
        if set(deployment[part]) != set(keys):
            problems.append(f"{part}: {sorted(set(deployment[part]) ^ set(keys))}")
        problems += [f"{part}.{key}" for key, kind in keys.items() if not isinstance(deployment[part].get(key), kind)]
    words = {
        ("basic", "data_product_sector"): {"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"},
        ("dp_variant", "variant_name"): {"Pure DP", "Approximate DP", "zCDP", "Renyi DP", "Custom"},
        ("deployment_model", "model_name"): {"Central", "Local", "Distributed"},
        ("deployment_model", "release_type"): {"One release", "Many releases"},
        ("deployment_model", "data_source_type"): {"Static", "Dynamic"},
        ("deployment_model", "access_type"): {"Interactive", "Non-interactive"},
    }
    problems += [f"{p}.{k}: {deployment[p][k]}" for (p, k), allowed in words.items() if deployment[p][k] not in allowed]
    figures = deployment["privacy_loss"]["privacy_parameters"]
    problems += [] if set(figures) == {"epsilon", "delta"} else ["privacy_parameters"]
    problems += [] if data["status"] == "Draft" and data["tier"] in (1, 2, 3) else ["status or tier"]
    lists = (deployment["basic"]["data_curators"], deployment["administrative"]["registry_authors"])
    return problems + [f"empty list: {one}" for one in lists if not one]


def test_the_registry_entry_has_the_registry_form(plan):
    text = certify(plan).registry_yaml()
    data = yaml.safe_load(text)
    assert registry_problems(data) == []
    assert registry_problems({"tier": 2, "basic": {}}) != []
    figures = data["deployment"]["privacy_loss"]["privacy_parameters"]
    assert figures == {"epsilon": 1.0, "delta": 1e-5}
    assert "# FILL IN: who holds the original table" in text
    assert registry_problems(yaml.safe_load(certify(plan, flags=[SEEDED]).registry_yaml())) == []


@pytest.mark.parametrize(
    "reason", [{"flags": [SEEDED]}, {"flags": [NOT_PRIVATE]}, {"void_reason": "as published"}], ids=str
)
def test_void_reasons_void_everything(plan, reason):
    made = certify(plan, **reason)
    assert not made.valid and math.isinf(made.epsilon)
    assert made.to_dict()["claim"]["epsilon"] is None
    assert made.to_dict()["attacker"]["at_1%_false_alarms"] == 1.0
    assert "VOID" in made.text() and made.void_reasons[0] in made.text() and "epsilon = " not in made.text()
    assert "VOID" in made.registry_yaml()


def test_plans_without_a_price_are_void():
    charges = (Charge("votes", dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), 5)),)
    plan = Plan(
        "as-published", Budget(1.0, 1e-5), "one row", charges, valid=False, void_reason="stops by private votes"
    )
    made = certify(plan)
    assert made.void_reasons[0] == "stops by private votes"
    json.dumps(made.to_dict(), allow_nan=False)


def test_releases_outside_the_plan_void_the_certificate(plan):
    ledger = charged(plan)
    ledger["entries"].append(ledger["entries"][0] | {"token": "once more"})
    made = certify(plan, ledger)
    assert any("not announced" in reason for reason in made.void_reasons)


@pytest.mark.parametrize(("excess", "void"), [(5e-7, False), (1e-5, True)])
def test_only_rounding_is_forgiven_above_the_budget(tmp_path, excess, void):
    event = dpa.GaussianDpEvent(4.0)
    plan = Plan("x", Budget(epsilon(event, 1e-5) / (1 + excess), 1e-5), "one row", (Charge("votes", event),))
    entries = [{"purpose": "votes", "event": to_json(event), "token": "all"}]
    ledger = {"format": FORMAT, "plan": plan.fingerprint(), "entries": entries}
    write(tmp_path / "model", plan, ledger)
    assert certify(plan, ledger).void_reasons == (("more was released than the budget allows",) if void else ())

    def whitewash(content: dict) -> None:
        content.update(valid=True, void_reasons=[])
        content["claim"]["epsilon"] = plan.budget.epsilon

    edit(tmp_path / "model" / "certificate.json", whitewash)
    assert ("epsilon" in failed(tmp_path / "model")) == void


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.text(max_size=30), st.text(max_size=30))
def test_odd_names_do_not_break_the_files(purpose, unit):
    """Column names with quotes, newlines or other scripts come into the unit and the purposes."""
    plan = Plan("x", Budget(2.0, 1e-5), unit, (Charge(purpose, dpa.GaussianDpEvent(4.0)),))
    made = certify(plan)
    loss = yaml.safe_load(made.registry_yaml())["deployment"]["privacy_loss"]
    assert loss["privacy_unit_details"].startswith(unit)
    assert Certificate.from_dict(json.loads(made.to_json())).text() == made.text()


# --- verify ---


def test_an_honest_folder_passes(folder):
    findings = verify(folder)
    assert holds(findings) and len(findings) >= 9
    assert any(f.check == "epsilon" and "recomputed 0.99" in f.detail for f in findings)


@pytest.mark.parametrize("name", ["weights.safetensors", "model.json", "plan.json", "ledger.json"])
def test_an_altered_file_is_found(folder, name):
    path = folder / name
    if name.endswith("json"):
        edit(path, lambda content: content.update(altered=1))
    else:
        path.write_bytes(b"other weights")
    assert name in failed(folder)


@pytest.mark.parametrize("name", ["weights.safetensors", "model.json", "plan.json", "ledger.json"])
def test_a_missing_file_is_found(folder, name):
    (folder / name).unlink()
    assert name in failed(folder)


def test_an_added_file_is_found(folder):
    (folder / "rows.csv").write_text("age\n")
    assert "other files" in failed(folder)


def test_a_smaller_epsilon_claim_is_found(folder):
    edit(folder / "certificate.json", lambda content: content["claim"].update(epsilon=0.1))
    assert {"epsilon", "claim", "certificate.txt", "registry.yaml"} <= failed(folder)


def test_a_smaller_delta_or_another_unit_is_found(folder):
    edit(folder / "certificate.json", lambda content: content["claim"].update(delta=1e-9))
    assert "claim" in failed(folder)


def test_a_page_that_says_something_else_is_found(folder):
    page = folder / "certificate.txt"
    page.write_text(page.read_text().replace("epsilon = 1,", "epsilon = 0.01,"))
    assert failed(folder) == {"certificate.txt"}


def test_a_registry_entry_may_be_filled_in_but_not_changed(folder):
    entry = folder / "registry.yaml"
    entry.write_text(entry.read_text().replace('sector: "Technology"', 'sector: "Healthcare"'))
    assert failed(folder) == set()
    entry.write_text(entry.read_text().replace("epsilon: 1.0", "epsilon: 0.1"))
    assert failed(folder) == {"registry.yaml"}
    entry.write_text("[")
    assert failed(folder) == {"registry.yaml"}


def test_a_forged_ledger_is_found_even_with_mended_hashes(folder):
    """More was charged than announced; the forger hides it from the hashes but not from the arithmetic."""

    def more(content: dict) -> None:
        content["entries"].append(content["entries"][1] | {"token": "again"})

    edit(folder / "ledger.json", more)
    assert {"ledger.json", "releases", "epsilon"} <= failed(folder)
    rehash(folder, "ledger.json")
    found = failed(folder)
    assert "ledger.json" not in found and {"releases", "epsilon"} <= found


def test_events_that_the_plan_does_not_announce_are_found(folder):
    def other(content: dict) -> None:
        content["entries"][0]["event"]["noise_multiplier"] *= 2  # looks cheaper than it was

    edit(folder / "ledger.json", other)
    rehash(folder, "ledger.json")
    assert failed(folder) == {"releases"}


def test_another_models_plan_is_found(folder, tmp_path, plan):
    other = Plan("pate-gan", Budget(3.0, 1e-5), plan.unit, plan.charges)
    write(tmp_path / "other", other)
    (folder / "plan.json").write_bytes((tmp_path / "other" / "plan.json").read_bytes())
    rehash(folder, "plan.json")
    assert {"plan", "claim"} <= failed(folder)


def test_a_void_certificate_does_not_verify(tmp_path, plan):
    write(tmp_path / "void", plan, flags=[SEEDED])
    assert failed(tmp_path / "void") == {"guarantee"}
    edit(tmp_path / "void" / "certificate.json", lambda c: c.update(valid=True, void_reasons=[]))
    with pytest.raises(UsageError, match="damaged"):  # valid, but without a claim
        verify(tmp_path / "void")


def test_a_void_plan_cannot_be_whitewashed(tmp_path):
    charges = (Charge("votes", dpa.GaussianDpEvent(20.0)),)
    plan = Plan("x", Budget(1.0, 1e-5), "one row", charges, valid=False, void_reason="research")
    write(tmp_path / "void", plan)

    def whitewash(content: dict) -> None:
        content.update(valid=True, void_reasons=[])
        content["claim"]["epsilon"] = 1.0

    edit(tmp_path / "void" / "certificate.json", whitewash)
    assert "validity" in failed(tmp_path / "void")


def test_a_void_model_cannot_be_whitewashed(folder):
    edit(folder / "model.json", lambda content: content.update(void_reason=SEEDED))
    rehash(folder, "model.json")
    assert failed(folder) == {"validity"}


def test_a_hash_list_cannot_lead_out_of_the_folder(folder):
    edit(folder / "certificate.json", lambda content: content["hashes"].update({"../secret": "0"}))
    assert "../secret" in failed(folder)


@pytest.mark.parametrize("name", ["certificate.json", "plan.json", "ledger.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"null", b"\xff", b'{"format": 1}', b"[" * 100_000])
def test_damaged_json_is_one_clear_line(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(UsageError) as refused:
        verify(folder)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_every_missing_field_of_the_certificate_is_a_clear_line_or_a_finding(folder):
    whole = json.loads((folder / "certificate.json").read_text())
    for key in whole:
        for value in (None, 3, "x", []):
            (folder / "certificate.json").write_text(json.dumps(whole | {key: value}))
            try:
                verify(folder)  # no other exception may come out
            except UsageError as reason:
                assert "\n" not in str(reason)


def test_foreign_folders_are_refused(tmp_path):
    with pytest.raises(UsageError, match="not a model folder"):
        verify(tmp_path / "none")
    with pytest.raises(UsageError, match=r"holds no certificate\.json"):
        verify(tmp_path)


# --- attackers ---


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.floats(0.01, 10), st.floats(1e-10, 0.1), st.floats(0, 1))
def test_attacker_bounds_are_rates_and_the_gaussian_one_is_sharper(e, d, false_alarms):
    bound = best_true_positive_rate(e, d, false_alarms)
    assert false_alarms <= bound + 1e-12 and bound <= 1
    exact = best_true_positive_rate_gaussian(gaussian.mu(e, d), false_alarms)
    assert exact <= bound + 1e-9
    # the curve touches the bound at the epsilon whose delta it has
    assert best_true_positive_rate_gaussian(0.0, false_alarms) == pytest.approx(false_alarms)


def test_attackers_without_limit():
    assert best_true_positive_rate(math.inf, 0.1, 0.01) == 1.0
    assert best_true_positive_rate_gaussian(math.inf, 0.01) == 1.0
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(UsageError):
            best_true_positive_rate(1.0, 0.0, wrong)


def test_a_mixed_plan_can_be_certified(tmp_path):
    charges = (
        Charge("city", dpa.ComposedDpEvent([dpa.GaussianDpEvent(30.0), EpsilonDeltaDpEvent(0.0, 1e-7)])),
        Charge("votes", dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(60.0), 50)),
    )
    plan = Plan("x", Budget(1.0, 1e-5), "one row", charges)
    write(tmp_path / "model", plan)
    assert holds(verify(tmp_path / "model"))


def test_without_classes_every_page_says_number_of_rows_and_older_pages_still_verify(tmp_path, plan):
    histogram, votes = plan.charges
    counted = replace(plan, charges=(replace(histogram, detail="number of rows"), votes))
    write(tmp_path / "model", counted)
    made = certify(counted)
    for page in (made.text(), made.registry_yaml(), sp800_226(made.to_dict())):
        assert "number of rows" in page and "class histogram" not in page
    assert holds(verify(tmp_path / "model"))
    page = tmp_path / "model" / "certificate.txt"
    stored = json.loads((tmp_path / "model" / "certificate.json").read_text())
    page.write_text(label.page(stored, bare=True))
    assert "class histogram" in page.read_text() and holds(verify(tmp_path / "model"))
    assert "class histogram (" in certify(plan).text()
