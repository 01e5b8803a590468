"""The book's total against the slow referee, person by person; and wrong ways of adding up, which it must catch."""

import dp_accounting as dpa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting import Budget, Charge, EpsilonDeltaDpEvent, Plan, price
from understudy.accounting.book import (
    ROW,
    Book,
    Entry,
    Posting,
    by_person,
    distinct,
    entry_from_json,
    entry_to_json,
    worst,
)
from understudy.accounting.events import flatten
from understudy.accounting.prior import KINDS
from understudy.errors import UsageError
from understudy.people import People, order

from ..accounting import referee

G, L = dpa.GaussianDpEvent, dpa.LaplaceDpEvent
few = settings(max_examples=25, deadline=None, derandomize=True)
IDS = ("1", "2", "9", "10", "11", "99", "100")
bounds = st.sampled_from((None, *IDS))


def people(pair):
    lower, upper = pair
    if pair == (None, None) or (lower and upper and not order(lower) < order(upper)):
        return None
    return People(lower, upper)


ranges = st.tuples(bounds, bounds).map(people)
events = st.one_of(st.sampled_from((2.0, 3.0)).map(G), st.sampled_from((1.5, 3.0)).map(L))
postings = st.lists(st.builds(Posting, st.just("x"), events, ranges), min_size=1, max_size=3)
BUDGET = Budget(3.0, 1e-5)


def entry(*parts, token="t"):
    return Entry(token, "fit", "2026-01-01T00:00:00Z", "plan", tuple(parts))


def exact_delta(own, epsilon):
    """The referee's, from tables of integer noise moved by one."""
    tables = []
    for event in own:
        if isinstance(event, G):
            tables.append((referee.discrete_gaussian(event.noise_multiplier, int(9 * event.noise_multiplier)), 1))
        else:
            tables.append((referee.discrete_laplace(event.noise_multiplier, int(24 * event.noise_multiplier)), 1))
    return referee.joint_delta(tables, epsilon)


def seen_by(found, who):
    """Which events saw somebody, straight from the meaning of a range."""
    return [p.event for p in found if p.people is None or p.people.holds(who)]


def shortfalls(total_of, found, delta=1e-4):
    """By how much the exact delta of anybody exceeds what a total claims."""
    total = total_of(found, delta)
    own = {tuple(seen_by(found, who)) for who in IDS} - {()}
    return [exact_delta(one, total) - delta for one in own]


@few
@given(postings)
def test_the_total_is_never_below_the_exact_composition_for_anybody(found):
    assert max(shortfalls(worst, found), default=-1.0) <= 1e-9


def sum_over_ranges_as_if_disjoint(found, delta):
    """WRONG: everything that has a range is taken as parallel, whether or not the ranges overlap."""
    everybody = [p.event for p in found if p.people is None]
    return max(price.epsilon([*everybody, p.event], delta) for p in found)


def largest_entry_only(found, delta):
    """WRONG: releases do not add up."""
    return max(price.epsilon(p.event, delta) for p in found)


def quadrature_of_epsilons(found, delta):
    """WRONG: epsilons are no standard deviations."""
    return sum(price.epsilon(p.event, delta) ** 2 for p in found) ** 0.5


@pytest.mark.parametrize("wrong", [sum_over_ranges_as_if_disjoint, largest_entry_only, quadrature_of_epsilons])
def test_wrong_totals_are_caught(wrong):
    overlapping = [Posting("x", G(2.0), People("1", "10")), Posting("x", G(2.0), People("9", "11"))]
    pure = [Posting("x", L(1.5)), Posting("x", L(1.5))]
    assert max(*shortfalls(wrong, overlapping), *shortfalls(wrong, pure)) > 1e-6
    assert max(*shortfalls(worst, overlapping), *shortfalls(worst, pure)) <= 1e-9


def test_disjoint_ranges_cost_the_dearest_and_overlapping_ones_add_up():
    one, alone = G(5.0), price.epsilon(G(5.0), 1e-5)
    both = price.epsilon([one, one], 1e-5)
    assert worst([Posting("x", one, People("1", "10")), Posting("x", one, People("10", "100"))], 1e-5) == alone
    assert worst([Posting("x", one, People("1", "11")), Posting("x", one, People("10", "100"))], 1e-5) == both
    assert worst([Posting("x", one), Posting("x", one, People("10", "100"))], 1e-5) == both
    assert worst([Posting("x", one, People(None, "10")), Posting("x", one, People("10", None))], 1e-5) == alone


@few
@given(postings, st.text(min_size=1, max_size=4))
def test_everybody_is_one_of_the_kinds_of_people(found, who):
    assert flatten(seen_by(found, who)) in [flatten(one) for one in by_person(found)]


def test_a_named_release_is_counted_once_and_for_everybody():
    vote, one = Posting(KINDS, G(20.0), None, "abc"), Posting("x", G(5.0))
    assert worst(distinct([vote, one, vote, one]), 1e-5) == price.epsilon([G(20.0), G(5.0), G(5.0)], 1e-5)
    elsewhere = Posting(KINDS, G(20.0), People("1", "2"), "abc")
    assert distinct([elsewhere]) == [vote], "it was made before anybody was left out"
    other = Posting(KINDS, G(20.0), None, "def")
    assert len(distinct([vote, other])) == 2
    assert len(distinct([Posting(KINDS, G(20.0)), Posting(KINDS, G(20.0))])) == 2, "without a name nothing is the same"
    assert len(distinct([vote, Posting(KINDS, G(19.0), None, "abc")])) == 2, "other noise is another release"


ONE = (("x", G(5.0)),)


def plan(unit="patient", charges=ONE, **more):
    return Plan(method="m", budget=BUDGET, unit=unit, charges=tuple(Charge(*c) for c in charges), **more)


def test_a_range_counts_only_for_the_books_own_ids():
    book, some = Book(BUDGET, ("patient", "pid", ROW)), People("1", "2")
    with_kinds = plan(charges=((KINDS, G(20.0)), ("x", G(5.0))))
    assert [p.people for p in book.postings_of(with_kinds, "patient", some, "abc")] == [None, some]
    assert [p.people for p in book.postings_of(with_kinds, "pid", some)] == [None, None]
    assert [p.people for p in book.postings_of(with_kinds, None, some)] == [None, None]
    with pytest.raises(UsageError, match="admit"):
        book.postings_of(plan(), "somebody else")
    with pytest.raises(UsageError, match="guarantee"):
        book.postings_of(plan(valid=False, void_reason="as published"), "patient")
    with pytest.raises(UsageError, match="guarantee"):
        book.postings_of(plan(charges=(("x", dpa.NonPrivateDpEvent()),)), "patient")


def test_what_is_left_and_how_many_more_are_exact():
    book = Book(BUDGET, ("patient",), (entry(Posting("x", G(4.0))), entry(Posting("x", G(6.0), People("1", "2")))))
    assert book.total == price.epsilon([G(4.0), G(6.0)], 1e-5)
    left = book.left()
    sigma = next(s / 100 for s in range(100, 2000) if price.epsilon(G(s / 100), 1e-5) <= left)
    assert book.covers([Posting("more", G(sigma + 0.01))])
    assert not book.covers([Posting("more", G(sigma * 0.98))])
    one = [Posting("more", G(10.0))]
    count = book.how_many(one)
    assert count > 2 and book.covers(one * count) and not book.covers(one * (count + 1))
    assert book.how_many([Posting("more", G(1.0))]) == 0
    assert Book(BUDGET, ("patient",), (entry(Posting("x", G(0.5))),)).left() == 0.0
    some = [Posting("more", G(10.0), People("2", "3"))]
    assert book.how_many(some) > count, "people who have spent less have room for more"


def test_a_release_that_takes_all_that_is_left_is_covered():
    one = Posting("x", G(5.0))
    budget = Budget(price.epsilon(one.event, 1e-5), 1e-5)
    assert Book(budget, ("patient",)).covers([one])
    assert not Book(Budget(budget.epsilon * 0.999, 1e-5), ("patient",)).covers([one])


@few
@given(postings, st.sampled_from(("", "abc")))
def test_entries_survive_json(found, release):
    whole = entry(*found, Posting("y", EpsilonDeltaDpEvent(0.1, 1e-9), None, release))
    assert entry_from_json(entry_to_json(whole)) == whole


def test_ids_are_ordered_by_length_and_then_by_characters():
    assert sorted(["10", "9", "100", "2"], key=order) == ["2", "9", "10", "100"]
    assert People("2025-0001", "2026-0001").holds("2025-9999")
    assert not People("2025-0001", "2026-0001").holds("2026-0001")
    assert People.parse("9:100").holds("10") and not People.parse("9:100").holds("100")
    assert People.parse(":5") == People(None, "5") and People.parse("5:") == People("5", None)
    for text in ("", ":", "5", "1:2:3", "10:9"):
        with pytest.raises(UsageError, match="valid_for"):
            People.parse(text)
