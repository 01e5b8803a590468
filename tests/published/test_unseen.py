"""People whom a stand-in leaves out: what is counted, and how far one person moves it."""

import itertools

import numpy as np
import pandas as pd
import pytest

from understudy.private.noise import SeededNoise
from understudy.published import intervals, publish, unseen
from understudy.published.measures import ask
from understudy.published.run import carry
from understudy.schema import Column, Schema, codec_of

from .people import SCHEMA, table

TOWNS = Schema(
    columns=(
        Column(name="town", kind="categorical", categories=tuple("abcd")),
        Column(name="job", kind="categorical", categories=tuple("wxyz")),
        Column(name="pet", kind="categorical", categories=("cat", "dog")),
    )
)


def people(rows, seed, linked=True):
    random = np.random.default_rng(seed)
    town = random.integers(0, 4, rows)
    job = (town + random.integers(0, 2, rows)) % 4 if linked else random.integers(0, 4, rows)
    pet = random.integers(0, 2, rows)
    return pd.DataFrame({"town": np.asarray([*"abcd"])[town], "job": np.asarray([*"wxyz"])[job], "pet": pet}).assign(
        pet=lambda rows: np.where(rows.pet == 1, "dog", "cat")
    )


def by_hand(rows, stand_in):
    """Pair by pair, row by row, with sets."""
    names = list(rows.columns)
    known = {pair: set(map(tuple, stand_in[list(pair)].to_numpy())) for pair in itertools.combinations(names, 2)}
    return [any(tuple(row[list(pair)]) not in own for pair, own in known.items()) for _, row in rows.iterrows()]


def mapped(schema, rows, stand_in):
    codec = codec_of(schema, True)
    made, real = codec.encode(stand_in), codec.encode(rows)
    asked = ask(codec, made.rows, made.classes, carry)
    codes = carry(asked.step, *made)
    return carry(unseen.unseen(asked, codes), *real)[:, 0], unseen.floor(asked, codes)


def test_the_map_finds_people_whose_pair_no_row_has():
    rows, stand_in = people(300, 1, linked=False), people(60, 2)
    found, _ = mapped(TOWNS, rows, stand_in)
    assert found.tolist() == [int(one) for one in by_hand(rows, stand_in)] and 0.2 < found.mean() < 0.8
    assert not mapped(TOWNS, stand_in, stand_in)[0].any()


def test_the_floor_is_what_a_row_taken_away_would_be():
    stand_in = people(40, 2)
    each = [by_hand(stand_in[n : n + 1], stand_in.drop(index=n))[0] for n in range(len(stand_in))]
    assert mapped(TOWNS, stand_in, stand_in)[1] == pytest.approx(np.mean(each))


def test_one_person_moves_the_count_by_one_and_impossible_rows_by_any_share():
    """The mutant is the measure as `evaluate` has it: of rows of the stand-in, by whom there is. One person changes a lot."""
    stand_in, rows = people(200, 2, linked=False), people(100, 1)
    odd = pd.DataFrame({"town": ["a"], "job": ["y"], "pet": ["cat"]})
    with_one = pd.concat([rows, odd], ignore_index=True)
    before, after = (int(mapped(TOWNS, one, stand_in[stand_in.job != "y"])[0].sum()) for one in (rows, with_one))
    assert after - before in (0, 1)
    same = pd.concat([odd] * 50 + [rows], ignore_index=True)  # a stand-in, a third of which is a pair that nobody has
    wrong = [np.mean(by_hand(same, one)) for one in (rows, with_one)]
    assert wrong[0] - wrong[1] > 0.3


def test_published_share_and_score_with_their_intervals():
    found = publish(
        [people(2000, 2), people(2000, 3, linked=False)], people(3000, 1), TOWNS, epsilon=2.0, noise=SeededNoise(0)
    )
    right, everywhere = found.stand_ins
    assert right.unseen.low <= 0.0 <= right.unseen.high < 0.05 and everywhere.unseen.value < 0.05
    three = next(one for one in right.measures if one.name == "three-way")
    assert (
        right.k_marginal.value == pytest.approx(1000 * (1 - three.value))
        and right.k_marginal.low < right.k_marginal.high
    )
    turned = publish([people(2000, 3, linked=False)[:12]], people(3000, 1), TOWNS, epsilon=2.0, noise=SeededNoise(0))
    exact = mapped(TOWNS, people(3000, 1), people(2000, 3, linked=False)[:12])[0].mean()
    assert turned.stand_ins[0].unseen.low <= exact <= turned.stand_ins[0].unseen.high and exact > 0.1


def test_a_table_of_one_column_has_neither():
    alone = Schema(columns=TOWNS.columns[:1])
    found = publish([people(50, 1)[["town"]]], people(80, 2)[["town"]], alone, epsilon=1.0, noise=SeededNoise(0))
    assert found.stand_ins[0].unseen is None and found.stand_ins[0].k_marginal is None


def test_numbers_missing_values_and_classes_are_cells_like_others():
    found, floor = mapped(SCHEMA, table(400, 2), table(300, 1))
    assert 0 < found.mean() < 1 and 0 < floor < 1


def test_the_variance_of_an_area_is_that_of_its_noise():
    """Seeded draws: the mean of the stated variances is that of the areas, also where noise times noise counts."""
    random = np.random.default_rng(0)
    one = np.asarray([np.linspace(120, 8, 8), np.linspace(8, 120, 8)])
    areas, stated = [], []
    for _ in range(4000):
        noisy = one + 15.0 * random.standard_normal(one.shape)
        areas.append(float(intervals.area(noisy[1], noisy[0])))
        stated.append(intervals.area_variance(noisy[1], noisy[0], 15.0, 15.0))
    assert np.mean(stated) == pytest.approx(np.var(areas), rel=0.15)
