"""Every mutant is caught by the audit, with a 95 % lower bound above the claim of epsilon 1.

Seeds are fixed. The table in docs/audit.md has the measured bounds and how often each was caught:
python -m benchmarks.audit_mutants
"""

from dataclasses import replace

import pytest

from understudy.accounting import Budget, Ledger
from understudy.accounting.ledger import LedgerError
from understudy.audit.run import run_audit
from understudy.audit.targets import made_up
from understudy.methods.marginals.independent import Independent

from .mutants import MUTANTS, VOTES_ALONE, JointVotes, TeacherVotes, jointly, purely, with_votes

SLOW = (
    "partition: every teacher gets the last shard",
    "noise: none on the votes",
    "accountant: forgets all answers but one",
    "partition: every teacher sees every row",  # traces show wrong partitions in moments (test_trace.py)
    "no PATE: one discriminator, no noise",
    "joint votes: clip forgotten",  # quick in tests/private/test_joint_votes.py
    "joint votes: sensitivity C instead of 2 C",  # tests/audit/test_canary.py has the exact moves of these two in moments
    "joint votes: centred on all teachers",
    "pure: Laplace noise of one answer on each",  # forty seconds; tests/pate_gan/test_pure.py adds the losses up
    "noise: sensitivity of one marginal for all",  # tests/questions sees it in moments
    "noise: none on the distances of pairs",
    "sums: class means not clipped",  # exact in tests/clique_tree/test_few_rows_neighbours.py
    "sums: products of scores not cut",  # these two are exact in test_used.py, in moments
    "weights: rows of a person in full",
    "metadata: bounds read from the data",  # two minutes; the one of categories is quick
    "noise: sensitivity of one row for a person",  # a person's rows are summed against their limit in tests/questions, always
)

INVERTED = "noise: scale inverted"
FEWER = {INVERTED: 60}  # runs, where these show it beyond doubt: a bound of 17


def audited(name):
    mutant = MUTANTS[name]
    return run_audit(mutant.make(), epsilon=1.0, runs=FEWER.get(name, mutant.runs), seed=3, **mutant.settings())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in MUTANTS]
)
def test_mutants_are_caught(name):
    result = audited(name)
    best = max(bound.epsilon for outcome in result.outcomes for bound in outcome.bounds if bound.frequentist)
    assert result.violated and best > 1.0


def test_the_right_votes_pass_the_audit_that_catches_the_wrong_ones():
    """False failure: 1e-6."""
    right = with_votes(TeacherVotes)
    assert right.get_params()["rounds"] == VOTES_ALONE["rounds"]
    settings = MUTANTS[INVERTED].settings() | {"runs": FEWER[INVERTED], "confidence": 1.0 - 1e-6}
    assert not run_audit(right, epsilon=1.0, seed=3, **settings).violated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "target"),
    [
        (lambda: purely(TeacherVotes), "lonely"),
        (lambda: purely(TeacherVotes), "worst-case"),
        (lambda: jointly(JointVotes), "lonely"),
        (lambda: jointly(JointVotes), "worst-case"),
        (lambda: jointly(JointVotes, teachers=1), "opposite"),
    ],
    ids=["pure-lonely", "pure-worst-case", "joint-lonely", "joint-worst-case", "joint-opposite"],
)
def test_pure_and_joint_votes_without_a_start_pass_where_their_wrong_versions_do_not(right, target):
    """Every answer is seen (wall box), with a canary that asks about the target alone. False failure: 1e-6."""
    settings = MUTANTS["joint votes: clip forgotten"].settings() | {"target": target}
    assert not run_audit(right(), epsilon=1.0, runs=400, seed=3, confidence=1.0 - 1e-6, **settings).violated


def test_a_plan_calibrated_for_a_larger_delta_is_refused_before_anything_is_released():
    """delta: the ledger recomputes the price of the plan; no audit is needed."""
    schema = made_up("worst-case").schema
    lax = Independent(epsilon=1.0, delta=0.1).plan(schema)
    with pytest.raises(LedgerError, match="its budget is 1"):
        Ledger(replace(lax, budget=Budget(1.0, 1e-5)))
