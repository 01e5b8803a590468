"""Accounting: what a run may cost, will cost and did cost. Mathematics only; this package never sees data.

budget.py     Budget(epsilon, delta)
events.py     privacy events and their JSON form
price.py      epsilon(events, delta), delta(events, epsilon): upper bounds
gaussian.py, lattice.py, pure.py       the closed forms behind the prices
calibrate.py  noise_scale: how much noise a budget asks for
plan.py       Plan, Charge: what a run announces
prior.py      what the schema has cost before any fit
ledger.py     Ledger: what a run charges, before each release
attacker.py, certificate.py, registry.py     what the guarantee means, in files
verification.py   whether a folder of files bears it
pate2018.py   the published analysis of GNMax, for research runs
filter.py     questions whose price depends on earlier answers
smooth.py     publishing a data-dependent price: smooth sensitivity
"""

from understudy.accounting.budget import Budget
from understudy.accounting.calibrate import noise_scale
from understudy.accounting.certificate import Certificate, build_certificate
from understudy.accounting.events import EpsilonDeltaDpEvent
from understudy.accounting.ledger import Ledger, LedgerError
from understudy.accounting.plan import Charge, Plan, Share
from understudy.accounting.price import delta, epsilon
from understudy.accounting.verification import Finding, holds, verify

__all__ = [
    "Budget",
    "Certificate",
    "Charge",
    "EpsilonDeltaDpEvent",
    "Finding",
    "Ledger",
    "LedgerError",
    "Plan",
    "Share",
    "build_certificate",
    "delta",
    "epsilon",
    "holds",
    "noise_scale",
    "verify",
]
