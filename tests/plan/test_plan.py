"""Plans: from public values alone, adding up, saying no in one line that names the option."""

import math

import pytest
from sklearn.base import clone

import understudy.private.table
from understudy.accounting import Budget, Ledger, build_certificate, epsilon
from understudy.accounting.events import flatten
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.methods.pate_gan.method import PateGan
from understudy.methods.teachers import classes_per_unit
from understudy.plan import multipliers, preparation
from understudy.schema import Column, Schema

from ..conformance.tables import GENERATORS, mixed_schema

NUMBER = Column(name="x", kind="continuous", lower=0, upper=1)
PLAIN = Schema(columns=(NUMBER,))
VOTES = "teacher votes"


def noise(schema=PLAIN, **options):
    return PateGan(**{"votes_share": 0.1} | options).plan(schema).parameters["noise"]


def people(classes, max_rows):
    label = Column(name="y", kind="categorical", categories=tuple(f"c{i}" for i in range(classes)))
    columns = (NUMBER, label, Column(name="who", kind="identifier"))
    return Schema(columns=columns, label="y", unit="who", max_rows_per_unit=max_rows)


@pytest.mark.parametrize("method", GENERATORS)
@pytest.mark.parametrize("label", ["sick", "grade", "age", None])
def test_shares_add_up(method, label):
    plan = clone(GENERATORS[method]).plan(mixed_schema(label))
    assert math.fsum(share.share for share in plan.shares()) == pytest.approx(1.0)
    assert all(share.share > 0 for share in plan.shares() if plan.valid)
    if plan.valid:
        assert 0.99 * plan.budget.epsilon <= plan.epsilon <= plan.budget.epsilon


def test_shares_are_those_of_the_options():
    """All Gaussian: a release's share of the squared loss is its weight, whatever the number of answers."""
    options = {"marginals_share": 0.3, "moments_share": 0.2, "votes_share": 0.4, "rounds": 7}
    plan = PateGan(**options).plan(PLAIN)
    found = {share.purpose: share.share for share in plan.shares()}
    announced = PateGan(**options).announce(PLAIN) + preparation(PateGan(**options), PLAIN, plan.budget)
    total = sum(release.weight for release in announced)
    # 2 permille: the price of few answers on integers is a little above that of real-valued noise
    assert found == pytest.approx({release.purpose: release.weight / total for release in announced}, rel=2e-3)


@pytest.mark.parametrize("method", GENERATORS)
def test_planning_reads_no_row(method, monkeypatch):
    """Nothing is opened for a plan; a fit plans before it looks for the file."""

    def reads(*arguments):
        raise AssertionError("a table was read")

    monkeypatch.setattr(understudy.private.table, "open_table", reads)
    stages = []
    assert clone(GENERATORS[method]).plan(mixed_schema()).charges
    with pytest.raises(AssertionError, match="a table was read"):
        fit(clone(GENERATORS[method]), "no such file.csv", mixed_schema(), progress=lambda e: stages.append(e["stage"]))
    assert stages == ["plan", "read"]


@pytest.mark.parametrize("method", GENERATORS)
def test_a_missing_file_is_found_after_planning_and_leaves_nothing(method, tmp_path):
    stages = []
    with pytest.raises(UsageError, match="does not exist"):
        fit(
            clone(GENERATORS[method]),
            tmp_path / "missing.csv",
            mixed_schema(),
            progress=lambda event: stages.append(event["stage"]),
            checkpoint=tmp_path / "checkpoint",
        )
    assert stages[0] == "plan" and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", GENERATORS)
def test_options_are_refused_before_the_file_is_opened(method):
    with pytest.raises(UsageError, match="epsilon"):
        fit(clone(GENERATORS[method]).set_params(epsilon=-1.0), "missing.csv", mixed_schema())


ESTIMATED = Schema(columns=(Column(name="x", kind="continuous", estimate="x"), Column(name="b", kind="boolean")))


@pytest.mark.parametrize(
    "option,value,schema",
    [
        ("epsilon", 0.0, PLAIN),
        ("epsilon", -1.0, PLAIN),
        ("epsilon", math.nan, PLAIN),
        ("epsilon", 1e9, PLAIN),
        ("epsilon", 1e-7, PLAIN),
        ("delta", 0.0, PLAIN),
        ("delta", 1.0, PLAIN),
        ("delta", 1.5, PLAIN),
        ("delta", math.nan, PLAIN),
        ("votes_share", 0.0, PLAIN),
        ("votes_share", -0.1, PLAIN),
        ("votes_share", math.nan, PLAIN),
        ("marginals_share", 0.0, PLAIN),
        ("moments_share", -0.5, PLAIN),
        ("estimate_share", 0.0, ESTIMATED),
        ("estimate_share", -1.0, ESTIMATED),
        ("estimate_share", 0.8, ESTIMATED),
        ("estimate_share", math.nan, ESTIMATED),
        ("rounds", 0, PLAIN),
        ("judged", -3, PLAIN),
        ("teachers", 0, PLAIN),
        ("rows_per_teacher", 0.0, PLAIN),
        ("noise", "uniform", PLAIN),
        ("answers", "essay", PLAIN),
    ],
)
def test_options_out_of_range_are_named(option, value, schema):
    estimator = PateGan(votes_share=0.1).set_params(**{option: value})
    with pytest.raises(UsageError, match=option) as caught:
        estimator.plan(schema)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", ["votes_share", "marginals_share", "moments_share"])
def test_a_share_of_everything_is_refused(share):
    with pytest.raises(UsageError, match=r"shares must be positive numbers|share=inf must be a number"):
        PateGan().set_params(**{share: math.inf}).plan(PLAIN)


def test_a_small_budget_is_judged_by_the_noise_it_needs():
    """The same epsilon is enough for few answers and too small for many; what would help is said."""
    few, many = ({"rounds": r, "judged": 1, "epsilon": 1e-4} for r in (1, 30_000))
    assert noise(**few)[VOTES] < 1e6
    with pytest.raises(UsageError, match=r"epsilon=0\.0001 .* too small.*fewer rounds"):
        noise(**many)


def test_a_method_without_any_paid_release_can_be_planned():
    """As published, without a class label and with a public row count, only the unpriced votes are left."""
    plan = clone(GENERATORS["pate-gan-as-published"]).plan(Schema(columns=(NUMBER,), rows=100))
    assert [charge.purpose for charge in plan.charges] == ["teacher votes, as published"] and not plan.valid


# -- how the noise moves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_more_rounds_mean_more_noise_on_each_vote(kind):
    found = [noise(rounds=r, judged=8, noise=kind)[VOTES] for r in (1, 2, 5, 20, 80)]
    assert found == sorted(found) and len(set(found)) == len(found)


def test_votes_of_t_answers_get_root_t_times_the_noise():
    one, four = (noise(rounds=r, judged=8)[VOTES] for r in (5, 20))
    assert four / one == pytest.approx(2.0, rel=0.01)


def test_more_epsilon_or_delta_means_less_noise():
    by_epsilon = [noise(epsilon=e) for e in (0.1, 1.0, 10.0)]
    by_delta = [noise(delta=d) for d in (1e-9, 1e-6, 1e-3)]
    for plans in (by_epsilon, by_delta):
        for purpose in plans[0]:
            assert plans[0][purpose] > plans[1][purpose] > plans[2][purpose]


def test_a_larger_share_means_less_noise_on_that_release_and_more_on_the_others():
    small, large = noise(votes_share=0.1), noise(votes_share=0.3)
    assert large[VOTES] < small[VOTES]
    assert all(large[purpose] > small[purpose] for purpose in small if purpose != VOTES)


@pytest.mark.parametrize(
    "classes,max_rows,touched", [(2, 1, 1), (2, 2, 2), (2, 9, 2), (5, 3, 3), (5, 5, 5), (7, 50, 7)]
)
def test_a_unit_touches_as_many_classes_as_it_has_rows_for(classes, max_rows, touched):
    assert classes_per_unit(people(classes, max_rows)) == touched


def test_without_a_unit_column_the_classes_are_disjoint_data():
    assert classes_per_unit(mixed_schema("grade")) == 1
    assert classes_per_unit(mixed_schema(None)) == 1
    assert classes_per_unit(mixed_schema("age")) == 1


@pytest.mark.parametrize("kind,power", [("gaussian", 0.5), ("laplace", 1.0)])
def test_vote_noise_grows_with_the_classes_of_a_unit(kind, power):
    """Same price per answer, more noise in votes: by the root of the number of classes (Laplace: by the number)."""

    def stated(schema):
        notes = PateGan(noise=kind, votes_share=0.1).plan(schema).notes
        return float(notes[0].split("vote noise: ")[1].split(" votes")[0].replace(",", ""))

    alone, four = stated(people(4, 1)), stated(people(4, 4))
    assert four / alone == pytest.approx(4**power, rel=0.01)
    assert noise(people(4, 1), noise=kind)[VOTES] == pytest.approx(noise(people(4, 4), noise=kind)[VOTES], rel=1e-9)


# -- estimates are announced and paid --------------------------------------------------------------------------------


def estimates(*columns):
    return Schema(columns=tuple(Column(**column) for column in columns))


BOUNDS = {"kind": "continuous"}
LISTS = {"kind": "categorical"}


@pytest.mark.parametrize(
    "schema,purposes,details",
    [
        (estimates({"name": "a", "estimate": "a", **BOUNDS}), ["estimate a"], ["bounds of 1 column"]),
        (
            estimates({"name": "a", "estimate": "s", **BOUNDS}, {"name": "b", "estimate": "s", **BOUNDS}),
            ["estimate s"],
            ["bounds of 2 columns"],
        ),
        (estimates({"name": "a", "estimate": "a", **LISTS}), ["estimate a"], ["categories of 1 column"]),
        (
            estimates(
                {"name": "a", "estimate": "s", **LISTS},
                {"name": "b", "estimate": "s", **LISTS},
                {"name": "c", "estimate": "c", **BOUNDS},
            ),
            ["estimate s", "estimate c"],
            ["categories of 2 columns", "bounds of 1 column"],
        ),
    ],
)
def test_every_estimate_is_announced_once(schema, purposes, details):
    plan = PateGan().plan(schema)
    found = [(charge.purpose, charge.detail) for charge in plan.charges if charge.purpose.startswith("estimate")]
    assert found == list(zip(purposes, details, strict=True))
    assert epsilon(plan.events, plan.budget.delta) <= plan.budget.epsilon


def test_notes_say_from_how_many_values_on_an_estimate_sees_something():
    """Six cells pass at 4.5 deviations of their noise; with declared bounds there is nothing to say."""
    columns = (Column(name="a", kind="continuous", estimate="a"), Column(name="who", kind="identifier"))
    plan = PateGan().plan(Schema(columns=columns, unit="who", max_rows_per_unit=3))
    needed = 4.5 * math.sqrt(6) * 3 * plan.parameters["noise"]["estimate a"]
    assert f"need about {needed:,.0f} values" in plan.notes[-2]
    lists = PateGan().plan(estimates({"name": "a", "estimate": "a", **LISTS}))
    assert "estimated categories" in lists.notes[-3] and "MIXED UP" in lists.notes[-2]
    assert not [note for note in PateGan().plan(PLAIN).notes if "estimated" in note]


def test_all_estimates_together_cost_their_share():
    """178 columns with estimates of their own take no more than the share of one."""
    one = estimates({"name": "c0", "estimate": "c0", **BOUNDS})
    many = estimates(*({"name": f"c{i}", "estimate": f"c{i}", **BOUNDS} for i in range(178)))
    for schema in (one, many):
        shares = {share.purpose: share.share for share in PateGan(estimate_share=0.2).plan(schema).shares()}
        taken = math.fsum(share for purpose, share in shares.items() if purpose.startswith("estimate"))
        estimator = PateGan(estimate_share=0.2)
        announced = preparation(estimator, schema, estimator.budget) + estimator.announce(schema)
        total = math.fsum(release.weight for release in announced)
        assert taken == pytest.approx(0.2 / total, rel=2e-3)


def test_thresholds_take_a_tenth_of_delta_whatever_the_number_of_lists():
    for lists in (1, 3):
        plan = PateGan().plan(estimates(*({"name": f"c{i}", "estimate": f"c{i}", **LISTS} for i in range(lists))))
        deltas = [event.delta for charge in plan.charges for event in flatten(charge.event) if hasattr(event, "delta")]
        assert len(deltas) == lists and math.fsum(deltas) == pytest.approx(0.1 * plan.budget.delta)


@pytest.mark.parametrize(
    ("method", "share"), [("pate-gan", "votes_share"), ("dpgan", "gradients_share"), ("rdp-cgan", "gradients_share")]
)
def test_rounds_get_a_share_only_where_they_can_pay_for_themselves(method, share):
    """On top of paid moments none by default, so that no default is below its own start; all of it without a start."""

    def asked(**options):
        return [charge.purpose for charge in understudy.method(method)(**options).plan(mixed_schema()).charges]

    start = ["class histogram", "column cells 1", "column cells 2", "column marginals", "class moments"]
    assert asked() == start
    assert asked(**{share: 0.1})[:-1] == start and len(asked(**{share: 0.1})) == 6
    alone = understudy.method(method)(start="none").plan(mixed_schema())
    assert len(alone.charges) == 2 and alone.shares()[-1].share > 0.85
    notes = understudy.method(method)().plan(mixed_schema(), rows=10_000).notes
    assert "cannot pay for themselves" in notes[0] and share in notes[0]


def test_convolutions_get_their_share_in_wide_tables():
    """The rule looks at the number of columns, which is public: 187 readings of a heart, not 11 facts about a patient."""
    wide = Schema(columns=tuple(Column(name=f"x{i}", kind="continuous", lower=0, upper=1) for i in range(120)))
    asked = {name: understudy.method(name)().plan(wide).parameters["noise"] for name in ("dpgan", "rdp-cgan")}
    assert "gradients" in asked["rdp-cgan"] and "gradients" not in asked["dpgan"]


def test_multipliers_split_the_squared_loss_by_weight():
    estimator = PateGan(rounds=3, judged=5)
    announced = preparation(estimator, PLAIN, Budget(1.0, 1e-5)) + estimator.announce(PLAIN)
    losses = {release.purpose: release.answers / z**2 for release, z in multipliers(announced, 7.0)}
    assert math.fsum(losses.values()) == pytest.approx(1 / 49)


@pytest.mark.parametrize(
    ("delta", "rows", "loud"), [(0.5, None, True), (1e-5, None, False), (1e-3, 800, False), (0.002, 800, True)]
)
def test_a_large_delta_is_remarked_loudly(delta, rows, loud):
    plan = PateGan(delta=delta).plan(PLAIN, rows=rows)
    assert any(note.startswith("LARGE DELTA") for note in plan.notes) == loud
    made = build_certificate(
        plan=plan, ledger=Ledger(plan).to_dict(), schema={}, schema_fingerprint="", hashes={}, versions={}
    )
    assert ("LARGE DELTA" in made.text()) == loud
