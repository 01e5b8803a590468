"""People and stand-ins that the tests of published figures share."""

import numpy as np
import pandas as pd

from understudy.published import intervals
from understudy.published.measures import Reference, ask
from understudy.published.run import carry
from understudy.schema import Column, Schema, codec_of

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99),
        Column(name="dose", kind="continuous", lower=0.0, upper=10.0, missing=True),
        Column(name="town", kind="categorical", categories=tuple("abcd")),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
    positive="yes",
)


def table(rows=2000, seed=0, shuffled=False):
    """Columns that follow each other; shuffled: the same columns without dependence."""
    random = np.random.default_rng(seed)
    town = random.choice(list("abcd"), rows, p=[0.4, 0.3, 0.2, 0.1])
    sick = random.random(rows) < np.where(town == "a", 0.15, 0.45)
    age = np.clip(random.normal(40 + 20 * sick, 12, rows).round(), 0, 99).astype(int)
    dose = np.where(random.random(rows) < 0.1, np.nan, np.clip(random.normal(3 + 2 * sick, 1, rows), 0, 10))
    found = pd.DataFrame({"age": age, "dose": dose, "town": town, "sick": np.where(sick, "yes", "no")})
    return found.apply(lambda column: random.permutation(column.to_numpy())) if shuffled else found


def exact_measures(stand_in, people, about, schema=SCHEMA):
    """The figures without noise, computed here from public maps on both tables."""
    codec = codec_of(schema, True)
    made, real = codec.encode(stand_in), codec.encode(people)
    asked = ask(codec, made.rows, made.classes, carry)
    reference = Reference.of(asked, carry(asked.step, *made), about)
    codes = carry(asked.step, *real)
    return {measure: reference.value(measure, codes) for measure in asked.measures}


def exact_area(judges, people):
    """Mean AUROC of binned scores without noise."""
    codec = codec_of(SCHEMA, True)
    real = codec.encode(people)
    found = []
    for judge in judges.every:
        cells = carry(judge.cells, *real)[:, 1]
        tables = np.stack([np.bincount(cells[real.classes == k], minlength=judge.bins) for k in (0, 1)])
        found.append(intervals.area(tables[1], tables[0]))
    return float(np.mean(found))
