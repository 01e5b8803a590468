"""The conditional switch: with `by_class=False` the label is one more column and one ensemble sees all rows."""

import pytest
from sklearn.base import clone

from understudy.methods.teachers import as_conditioned, classes_per_unit

from ..conformance.tables import GENERATORS, mixed_schema, mixed_table


@pytest.mark.parametrize("method", ["pate-gan", "pate-gan-joint"])
def test_the_label_becomes_a_column(method):
    schema = mixed_schema("grade")
    made = clone(GENERATORS[method]).set_params(by_class=False, epsilon=5.0).fit(mixed_table(), schema)
    assert not made.model_.conditional and made.model_.generator.classes == 1
    assert set(made.sample(60, seed=0)["grade"]) <= {"low", "mid", "high"}
    plan = clone(GENERATORS[method]).set_params(by_class=False).plan(schema)
    assert plan.fingerprint() != clone(GENERATORS[method]).plan(schema).fingerprint()


def test_a_person_touches_one_ensemble_where_there_is_one():
    schema = mixed_schema("grade", unit="who", max_rows_per_unit=3)
    assert classes_per_unit(schema) == 3 and classes_per_unit(as_conditioned(schema, False)) == 1
