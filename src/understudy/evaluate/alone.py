"""Synthetic rows alone: what can be said of them without a real row, which is all that a release report shows.

Nothing here is compared with anything. The rows must be a file that the model in the folder made (its manifest says so), and the
model's certificate must verify; whether they are copies of real rows cannot be seen without those, it follows from the guarantee.
"""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

from understudy import manifest
from understudy.evaluate import images, settings, table
from understudy.evaluate.metrics import release
from understudy.evaluate.result import Evaluation, Header
from understudy.evaluate.run import frame_of, origin_of, versions_used, with_found
from understudy.infer.columns import column_intervals
from understudy.schema import Schema
from understudy.schema.images import spread_frame, spread_schema

BANNER = "No real row was read: this describes synthetic rows only."


def describe(synthetic: str | Path, schema: Schema, model: str | Path) -> Evaluation:
    """The result of an evaluation with its release part alone, for a file that the model in the folder `model` made."""
    start = time.perf_counter()
    certificate, origin = manifest.verified(model).to_dict(), origin_of(synthetic, model)
    pictures = [column for column in schema.columns if column.kind == "image"]
    source = spread_frame(frame_of(synthetic, schema), schema) if pictures else synthetic
    public = spread_schema(schema) if pictures else schema
    known = with_found(public, [source])
    rows, target = table.prepare(source, known), settings.Target.of(known)
    shape = pictures[0].shape if len(pictures) == 1 and target is not None else None
    grid = None if shape is None else images.synthetic_grid(rows, known, shape)
    columns = table.evaluated(known)
    header = Header(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        test_rows=0,
        train_rows=None,
        synthetic_rows=(rows.rows,),
        columns=len(columns),
        kinds={c.name: c.kind for c in columns},
        label=known.label,
        label_kind=known.label_kind,
        positive=None,
        classes=() if target is None else target.classes,
        max_rows=None,
        seed=0,
        metrics=(),
        models=(),
        versions=versions_used(),
        certificate=json.loads(json.dumps(certificate)),
        seconds=round(time.perf_counter() - start, 3),
        banner=BANNER,
        files={"synthetic": origin["name"]},
    )
    return Evaluation(
        header=header, release=release.describe(rows, known, public, grid, origin, column_intervals(model))
    )
