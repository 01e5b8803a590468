"""Small tables whose schema leaves much open: what is promised, what is found, and what is said when it is not."""

import math

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy import estimates
from understudy.accounting import Certificate
from understudy.adviser.advice import advise
from understudy.methods.mean_embedding import MeanEmbedding
from understudy.questions.bounds import NUMBERS, WHOLE, YEARS, covering
from understudy.released import Released
from understudy.schema import Bounds, Column, Schema


def open_schema(numbers=10, lists=9, rows=None):
    columns = [Column(name=f"n{i}", kind="continuous", estimate=f"n{i}") for i in range(numbers)]
    columns += [Column(name=f"c{i}", kind="categorical", estimate=f"c{i}") for i in range(lists)]
    return Schema(columns=(*columns, Column(name="y", kind="categorical", estimate="y")), label="y", rows=rows)


def counts_of(values, edges):
    cells = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(cells, minlength=len(edges) - 1)


def test_a_column_that_spreads_over_many_cells_is_found_although_no_cell_stands_out():
    """800 lognormal values; at this noise their largest cell stays below four deviations. Seeded noise: no false failures."""
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(7.5, 0.85, 800))
    counts, deviation = counts_of(values, NUMBERS), 45.0
    assert counts.max() < 4 * deviation
    found = [
        covering(NUMBERS, np.rint(counts + deviation * rng.normal(size=len(counts))), deviation) for _ in range(50)
    ]
    assert np.mean([bounds == (0.0, 1.0) for bounds in found]) < 0.1
    clamped = [np.mean((values < lower) | (values > upper)) for lower, upper in found if (lower, upper) != (0.0, 1.0)]
    assert np.median(clamped) < 0.2


@pytest.mark.parametrize("edges", [NUMBERS, WHOLE, YEARS], ids=["numbers", "whole", "years"])
def test_noise_alone_is_rarely_taken_for_values(edges):
    """Below 1 % in fact; 1,000 seeded drawings."""
    rng = np.random.default_rng(1)
    empty = covering(edges, np.zeros(len(edges) - 1), 10.0)
    noise = np.rint(10.0 * rng.normal(size=(1000, len(edges) - 1)))
    assert np.mean([covering(edges, one, 10.0) != empty for one in noise]) < 0.02


def test_zero_and_negative_values_are_not_cut_off():
    rng = np.random.default_rng(2)
    both = counts_of(rng.normal(0, 100, 5000), NUMBERS) + np.rint(20 * rng.normal(size=len(NUMBERS) - 1))
    lower, upper = covering(NUMBERS, both, 20.0)
    assert lower < -100 and upper > 100
    zeros = counts_of(np.where(rng.random(5000) < 0.5, 0, rng.poisson(9, 5000)), WHOLE)
    lower, upper = covering(WHOLE, zeros + np.rint(20 * rng.normal(size=len(WHOLE) - 1)), 20.0)
    assert lower == 0.0 and upper > 12


def test_the_share_grows_with_the_number_of_estimates():
    noise = {}
    for count in (1, 4, 16):
        plan = MeanEmbedding().plan(open_schema(count, 0))
        noise[count] = plan.parameters["noise"]["estimate n0"]
    assert noise[16] < 2.5 * noise[1]  # with a fixed share it would be four times
    assert MeanEmbedding(estimate_share=0.3).plan(open_schema()).parameters["settings"]["estimate_share"] == 0.3


def test_the_plan_names_what_cannot_be_found_and_what_to_declare():
    said = "\n".join(MeanEmbedding().plan(open_schema(), rows=100).notes)
    assert "NOT FOUND in 100 rows" in said and "n0" in said and "declare" in said
    assert "NOT FOUND" not in "\n".join(MeanEmbedding().plan(open_schema(), rows=50_000).notes)
    assert "from about" in MeanEmbedding().plan(open_schema()).notes[-1]


def test_what_was_found_is_said_and_certified():
    schema = open_schema(2, 2)
    found = {"n0": Bounds(16.0, 90.5), "n1": Bounds(0.0, 1.0), "c0": ("a", "b"), "c1": (), "y": ("no", "yes")}
    resolved = schema.with_estimates(found)
    said = "\n".join(estimates.found(schema, resolved))
    assert "NOT FOUND: the bounds of n1" in said and "n1 0 to 1" in said
    assert "LOST: the categories of c1" in said and "c1 'other'" in said
    assert "n0 16 to 90.5" in said and "c0 2 (any other became 'a')" in said
    assert estimates.lost(schema, resolved) == ["n1", "c1"]


@pytest.mark.parametrize(
    ("options", "became"), [({}, "'Ulm'"), ({"other": True}, "'other'"), ({"missing": True}, "missing")]
)
def test_it_is_said_what_became_of_values_that_no_list_has(options, became):
    schema = Schema(columns=(Column(name="city", kind="categorical", estimate="city", **options),))
    assert (
        f"all other values became: city {became};"
        in estimates.found(schema, schema.with_estimates({"city": ("Ulm",)}))[0]
    )
    (said,) = estimates.found(schema, schema.with_estimates({"city": ("Ulm", "Bonn")}))
    assert said == f"estimated categories: city 2 (any other became {became})"
    long = schema.with_estimates({"city": ("x" * 900,)})
    assert len(estimates.found(schema, long)[0]) < 250


def test_a_plan_compares_units_with_units():
    """3,500 rows of people with eight rows each are 438 people: categories that 291 of them must hold are rarely found."""
    city = Column(name="city", kind="categorical", estimate="city")
    rows = Schema(columns=(city, Column(name="age", kind="integer", lower=0, upper=120)))
    people = Schema(columns=(*rows.columns, Column(name="who", kind="identifier")), unit="who", max_rows_per_unit=8)
    noise = {"estimate city": 18.0}
    said = " ".join(estimates.notes(people, 1e-6, noise, 3500))
    assert "units (65% of the 438 that 3,500 rows are with 8 each)" in said and "NOT FOUND in 3,500 rows" in said
    (prospect,) = estimates.prospects(people, 1e-6, noise)
    assert not prospect.found(3500) and prospect.kept(3500) == 0.0 and prospect.found(5000)
    assert " rows (3% of 3,500 rows) on" in " ".join(estimates.notes(rows, 1e-6, noise, 3500))


def test_a_fit_puts_what_was_estimated_into_its_certificate():
    """At epsilon 0.1 nothing passes: chance of a false find below 1e-2 a column, and the sentence is there either way."""
    frame = pd.DataFrame({"n0": np.arange(30.0), "y": ["no", "yes"] * 15})
    model = MeanEmbedding(epsilon=0.1).fit(frame, open_schema(1, 0)).model_
    stated = Certificate.from_dict(model.certificate.to_dict()).content["notes"]
    assert any("n0" in note for note in stated) and any("y" in note for note in stated)
    assert estimates.found(model.schema, model.resolved)[0] in stated


def declared():
    columns = [Column(name=f"n{i}", kind="continuous", lower=0, upper=1) for i in range(10)]
    columns += [Column(name=f"c{i}", kind="categorical", categories=("a", "b", "c")) for i in range(9)]
    return Schema(columns=(*columns, Column(name="y", kind="categorical", categories=("no", "yes"))), label="y")


def test_the_adviser_counts_what_estimates_cost():
    free, paid = (advise(one, epsilon=1.0, rows=800) for one in (declared(), open_schema()))
    assert paid.outlook[0].kept < free.outlook[0].kept
    assert "20 estimated columns" in paid.expect
    lost = advise(open_schema(), epsilon=1.0, rows=250)
    assert not lost.useful and "declare" in lost.expect
    assert advise(declared(), epsilon=1.0, rows=250).useful


def test_without_a_row_count_the_adviser_says_from_how_many_rows_on_it_works():
    advice = advise(open_schema(), epsilon=1.0)
    assert f"from about {advice.rows_needed:,} rows on" in advice.expect
    assert advise(open_schema(), epsilon=1.0, rows=advice.rows_needed).useful
    assert not advise(open_schema(), epsilon=1.0, rows=math.floor(advice.rows_needed / 3)).useful


def test_a_table_without_classes_is_asked_for_no_class_histogram():
    columns = declared().columns[:12]
    titles = [line.title for line in us.Mst().plan(Schema(columns=columns)).lines()]
    assert "number of rows" in titles and not any("class histogram" in title for title in titles)
    assert "class histogram (rows of every class)" in [line.title for line in us.Mst().plan(declared()).lines()]


@pytest.mark.parametrize(
    ("options", "value", "words"),
    [
        ({}, "Ulm", "any other became 'Ulm', which 60% of the rows have now; `other: true` keeps them apart"),
        ({"other": True}, "other", "any other became 'other', which 60% of the rows have now"),
        ({"missing": True}, None, "any other became missing, which 60% of the rows have now"),
    ],
)
def test_it_is_said_how_many_rows_have_what_others_became(options, value, words):
    """From released counts of the column, where there are some; those of other columns say nothing."""
    schema = Schema(columns=(Column(name="city", kind="categorical", estimate="city", **options),))
    resolved = schema.with_estimates({"city": ("Ulm", "Bonn")})
    cells = (tuple((one,) for one in dict.fromkeys([value, "Ulm", "Bonn"])),)
    counts = [60.0, *[40.0 / (len(cells[0]) - 1)] * (len(cells[0]) - 1)]
    table = Released.of((1,), ["", "city"], counts, 3.0, cells=cells)
    other = Released.of((1,), ["", "town"], counts, 3.0, cells=cells)
    assert estimates.found(schema, resolved, [other, table]) == [f"estimated categories: city 2 ({words})"]
    assert "have now" not in estimates.found(schema, resolved, [other])[0]


def test_the_plan_says_where_values_would_be_mixed_up():
    plain, *others = (
        Column(name=name, kind="categorical", estimate=name, **options)
        for name, options in (("city", {}), ("town", {"other": True}), ("street", {"missing": True}))
    )
    said = estimates.notes(
        Schema(columns=(plain, *others)), 1e-5, {f"estimate {n}": 9.0 for n in ("city", "town", "street")}, 9999
    )
    assert (
        [line for line in said if "MIXED UP" in line] == [line for line in said if "of city would count" in line] != []
    )
    alone = estimates.notes(Schema(columns=tuple(others)), 1e-5, {"estimate town": 9.0, "estimate street": 9.0}, 9999)
    assert not any("MIXED UP" in line for line in alone)
