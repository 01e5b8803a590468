"""The first public PATE-GAN (2019), in the copy of the published audit: `--source` is a checkout of
spalabucr/pategan-audit.

Its first home was on another host. Five teachers in name (there is one discriminator), 10,000 rounds, batches of 128
rows, bounds read off the table: its defaults. It fails on tables of fewer rows than a batch; there the batch is what
the published audit took, the rows of one teacher. Delta is a power of ten, as its code wants it. Needs TensorFlow 2 and
tqdm.
"""

import argparse
import math

import pandas as pd
from shell import arguments, module_of, old_tensorflow, serve


def synthesize(frame: pd.DataFrame, wanted: argparse.Namespace) -> object:
    old_tensorflow()
    tool = module_of(wanted.source / "code" / "pate_gans" / "original" / "original_api.py", "tool_original")
    model = tool.PG_ORIGINAL(
        frame.shape,
        epsilon=wanted.epsilon,
        delta=round(-math.log10(wanted.delta)),
        num_teachers=wanted.teachers,
        niter=wanted.rounds,
    )
    if len(frame) < model.mb_size:
        model.mb_size = max(1, len(frame) // wanted.teachers)
    model.fit(frame)
    made = model.generate(wanted.rows)
    model.sess.close()
    return made


if __name__ == "__main__":
    parser = arguments(__doc__, teachers=5)
    parser.add_argument("--rounds", type=int, default=10_000)
    serve(synthesize, parser.parse_args())
