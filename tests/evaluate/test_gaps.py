"""Codes beside numbers and missing cells are counted apart: 999 ("not asked") is an answer, an empty cell is none."""

import numpy as np
import pandas as pd
import pytest

from understudy.evaluate.metrics import release, shapes
from understudy.evaluate.table import prepare
from understudy.report.node import Element
from understudy.report.release import _schema
from understudy.schema import Column, Schema

INCOME = Column(name="income", kind="continuous", lower=0.0, upper=100.0, codes=("N", 999), missing=True)
SCHEMA = Schema(columns=(INCOME, Column(name="sex", kind="categorical", categories=("f", "m"), missing=True)))
REAL = pd.DataFrame(
    {"income": ["1", "2", "N", "N", "999", None, "7", "8", "9", "5"], "sex": ["f", "m", None, *"fmfmfmf"]}
)
FAKE = pd.DataFrame({"income": ["1", "2", "3", "N", "4", "5", "6", "7", "8", "9"], "sex": list("fmfmfmfmfm")})


def test_a_code_is_not_missing():
    table = prepare(REAL, SCHEMA)
    assert shapes.missing_share(table, INCOME) == pytest.approx(0.1)  # 0.4 when codes counted as missing
    assert shapes.code_shares(table, INCOME) == pytest.approx({"N": 0.2, "999": 0.1})
    few = table.take(np.array([2, 4, 5, 0]))
    assert shapes.missing_share(few, INCOME) == pytest.approx(0.25)
    assert shapes.code_shares(few, INCOME) == pytest.approx({"N": 0.25, "999": 0.25})
    assert shapes.missing_share(table, SCHEMA.columns[1]) == pytest.approx(0.1)


def test_both_reports_get_them():
    real, fake = prepare(REAL, SCHEMA), prepare(FAKE, SCHEMA)
    shape = shapes.compare(real, [fake], SCHEMA)[0]
    assert shape.real_missing == pytest.approx(0.1) and shape.synthetic_missing.mean == 0.0
    assert [(one.code, one.real, one.synthetic) for one in shape.codes] == [("N", 0.2, 0.1), ("999", 0.1, 0.0)]
    shown = release.describe(fake, SCHEMA, SCHEMA).columns
    assert shown[0].codes == (("N", 0.1), ("999", 0.0)) and shown[0].missing == 0.0 and shown[1].codes == ()


def test_the_schema_of_a_release_report_names_codes():
    shown = _schema(Element({"columns": SCHEMA.to_dict()["columns"]})["columns"])
    assert "codes N, 999" in shown
