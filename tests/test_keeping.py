"""What plans say of constraints that a method does not know."""

import understudy as us
from understudy import keeping
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="sex", kind="categorical", categories=("F", "M")),
        Column(name="children", kind="integer", lower=0, upper=9, codes=("N",)),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    label="ill",
)
KEPT = Schema.from_dict(SCHEMA.to_dict() | {"constraints": [{"if": "sex = M", "then": "children = N"}]})


def test_methods_that_do_not_know_constraints_say_how_they_are_kept():
    for name in ("mst", "mean-embedding", "dpgan", "pate-gan"):
        (said,) = [note for note in us.method(name)(epsilon=1.0).plan(KEPT).notes if "CONSTRAINTS" in note]
        assert name in said and "leaving out or mending rows" in said and "clique-tree" in said and "\n" not in said
        assert not any("CONSTRAINTS" in note for note in us.method(name)(epsilon=1.0).plan(SCHEMA).notes)


def test_nothing_is_said_where_the_model_has_them():
    assert not any("CONSTRAINTS" in note for note in us.CliqueTree(epsilon=1.0).plan(KEPT).notes)
    assert keeping.notes("clique-tree", KEPT) == [] == keeping.notes("mst", SCHEMA)
