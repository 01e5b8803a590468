"""The certificate in plain words: one page for people who do not compute, and the lists the JSON holds.

The order follows the layers of NIST SP 800-226 from the top (epsilon and unit) down to what lies outside the
mathematics (correctness, trust model, security, data collection); each layer is answered or named as not covered.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import dp_accounting as dpa

from understudy.accounting.events import flatten
from understudy.accounting.plan import Plan, spoken

_WIDTH = 96

NOT_COVERED: tuple[str, ...] = (
    "What is true of people in general: if the data show that smokers fall ill, the stand-in may show it too.",
    "Groups: for a family of g units epsilon counts g times.",
    "Who may see the original table, the machine it is on, its memory, checkpoints and running times (access control, "
    "side channels).",
    "Other releases from the same people: their epsilons add up.",
    "Whether the data were collected lawfully, and whether they are right or fair. The stand-in can be wrong, "
    "above all for rare groups.",
    "Trying several settings on the private table and keeping the best one, unless each try was charged.",
)


def protects(unit: str) -> str:
    """Who is protected, and against what, in one sentence."""
    who = "every single row" if unit == "one row" else unit
    return f"{who}; whether it was in the table or not, the result is almost equally likely"


def assumptions(plan: Plan) -> list[str]:
    """What the arithmetic takes for granted."""
    lines = [
        "Neighbouring tables differ by one unit, added or removed; the number of rows is private unless public.",
        "Everything that depends on rows passed through the releases listed here; all else is computed from them "
        "(post-processing).",
        "Bounds, categories, row count and whatever else the schema declares public were not copied from the private "
        "table.",
        "Noise and the assignment to teachers come from the operating system's secure generator and are not seeded.",
        "The curator who runs the fit is trusted with the rows (central model).",
    ]
    kinds = flatten(plan.events)
    if any(isinstance(event, dpa.PoissonSampledDpEvent) for event in kinds):
        lines.append(
            "Clipped gradients are added up exactly, on integers, with noise rounded to integers, so low digits of sums do not "
            "leave; that noise is drawn in floating point, whose distance from a true Gaussian is not accounted for."
        )
    else:
        lines.append("Noise is drawn exactly, on integers, so floating-point attacks do not apply.")
    return lines


def unprotected(schema: Mapping[str, Any]) -> list[str]:
    """What anybody may learn, because the holder declared it public."""
    lines = ["the names, order, kinds and types of the columns, and the bounds and categories declared public"]
    lines.append("the method, its settings, the budget, and the noise level of every release")
    if schema.get("rows") is not None:
        lines.append("the number of rows, declared public in the schema")
    if schema.get("unit") is not None:
        lines.append("the largest number of rows kept per unit")
    return lines


def page(certificate: Mapping[str, Any], *, bare: bool = False) -> str:
    """One page of text; `bare`: purposes as the plan has them, also where its details say them better."""
    claim = certificate["claim"]
    lines: list[str] = ["PRIVACY CERTIFICATE OF A STAND-IN TABLE", "=" * 39, ""]
    if not certificate["valid"]:
        lines += ["VOID. This model carries no privacy guarantee. Do not share it as if it did.", ""]
        lines += _bullets(certificate["void_reasons"])
        lines.append("")
    else:
        lines += _wrap(f"epsilon = {claim['epsilon']:g}, delta = {claim['delta']:g}  (method: {certificate['method']})")
        lines.append("")
    lines += ["Who is protected"]
    lines += _wrap(
        f"The unit of protection is {claim['unit']}. Tables are compared that differ by one unit, added or removed."
    )
    lines += ["", "Against what"]
    lines += _wrap(
        "Anybody who holds the model or rows drawn from it, whatever else they know and however long they compute, and "
        "who wants to find out whether one unit was in the table or what its values are."
    )
    lines += ["", "What an attacker can gain"]
    lines += _gain(certificate["attacker"], certificate["valid"])
    lines += ["", "What the budget was spent on"]
    lines += _spending(certificate, bare)
    lines += ["", "Other releases from the same people"]
    lines += _others(certificate.get("account"))
    lines += ["", "Not protected, because declared public"]
    lines += _bullets(certificate["unprotected"])
    if certificate["notes"]:
        lines += ["", "Remarks"]
        lines += _bullets(certificate["notes"])
    lines += ["", "Assumed"]
    lines += _bullets(certificate["assumptions"])
    lines += ["", "Not covered"]
    lines += _bullets(certificate["not_covered"])
    lines += ["", "Check it: understudy certificate verify FOLDER", f"Plan {certificate['plan_fingerprint'][:16]}", ""]
    return "\n".join(lines)


def _gain(attacker: Mapping[str, Any], valid: bool) -> list[str]:
    if not valid:
        return _wrap("There is no limit to state.")
    rates = [(key.split("_")[1], rate) for key, rate in attacker.items() if key.startswith("at_")]
    told = " and ".join(f"{_percent(rate)} at {alarms} false alarms" for alarms, rate in rates)
    return _wrap(
        f'The best possible test for "was this unit in the table?" finds at most {told} ({attacker["rule"]}). '
        "Guessing without the model finds as many as it raises false alarms."
    )


def _percent(rate: float) -> str:
    """Rounded up: a limit must not be understated."""
    return f"{math.ceil(rate * 1000) / 10:.1f} %" if rate < 1 else "100 %"


def _spending(certificate: Mapping[str, Any], bare: bool) -> list[str]:
    lines = []
    for charge in certificate["charges"]:
        alone = charge["epsilon_alone"]
        price = "no price" if alone is None else f"epsilon {alone:.3g} alone"
        purpose = charge["purpose"] if bare else spoken(charge["purpose"], charge["detail"])
        lines += _wrap(f"{charge['share']:6.1%}  {purpose} ({price}): {charge['noise']}", "  ", " " * 10)
    total = certificate["epsilon_spent"]
    lines += _wrap("Together " + ("without a price" if total is None else f"epsilon {total:.6g}") + ".")
    if certificate["valid"]:
        lines += _wrap(
            "Any number of rows, copies of the stand-in and answers with intervals cost nothing more: they come from this."
        )
    return lines


def _others(account: Mapping[str, Any] | None) -> list[str]:
    if account is None:
        return _wrap(
            "This fit was charged to no account. Whatever else was released from the same people adds up with it."
        )
    return _wrap(
        f"Entry {account['number']} of the holder's account {account['account']} for {' or '.join(account['units'])}: everything "
        f"charged to it up to and including this fit costs epsilon {account['total']:.6g} of {account['epsilon']:g} at delta "
        f"{account['delta']:g}, all events composed. Releases that were not charged to it add up with that."
    )


def _wrap(text: str, first: str = "  ", rest: str = "  ") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False)


def _bullets(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in _wrap(text, "  - ", "    ")]
