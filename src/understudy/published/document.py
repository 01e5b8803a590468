"""The file that a release report is drawn from: published figures, the certificate, statistics of the synthetic table.

It has the places of an evaluation's `result.json` that a release report looks at, and no others: nothing in it was computed
from real rows without being paid for.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from understudy import manifest
from understudy.evaluate.metrics import release
from understudy.evaluate.run import origin_of
from understudy.evaluate.table import prepare
from understudy.infer.columns import column_intervals
from understudy.published.result import Published
from understudy.report.node import FORMAT
from understudy.schema import Schema


def document(
    found: Published, synthetic: Sequence[str | Path], schema: Schema, resolved: Schema, model: str | Path | None
) -> dict[str, Any]:
    """Plain values. Statistics of the table are those of the first stand-in; `model` is the verified folder that made it."""
    certificate = None if model is None else manifest.verified(model).to_dict()
    origin = None if model is None else origin_of([synthetic[0]], model)
    intervals = None if model is None else column_intervals(model)
    described = release.describe(prepare(synthetic[0], resolved), resolved, schema, None, origin, intervals)
    whole = {
        "understudy": "published evaluation",
        "format": FORMAT,
        "header": {"certificate": certificate},
        "release": asdict(described),
        "published": found.to_dict(),
    }
    return dict(json.loads(json.dumps(whole, allow_nan=False)))
