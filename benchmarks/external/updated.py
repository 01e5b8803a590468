"""The PATE-GAN that the paper's authors link to (2021): `--source` is a checkout of vanderschaarlab/mlforhealthlabpub.

Ten teachers, noise of scale 1 (`--lamda`), batches of 64, one student step a round: the defaults of its main program.
With that noise its accountant stops after one round; the published audit took 0.001. Needs TensorFlow 2 (the code is
for 1.15) and scikit-learn, numpy before 2.4.

Three things are done around it, none of which changes what it learns. Votes are handed on as numbers, because today's
numpy refuses arrays of one in their place. It returns as many rows as it learned from, so more are drawn from the same
generator. With `--rounds` it is told after so many rounds that the budget is gone, as the published audit did to save
time; by itself it runs until its accountant says so.
"""

import argparse
import functools
import itertools
import sys

import numpy as np
import pandas as pd
from shell import arguments, module_of, old_tensorflow, serve


def synthesize(frame: pd.DataFrame, wanted: argparse.Namespace) -> object:
    tf = old_tensorflow()
    sys.modules["tensorflow"] = tf  # the name under which the tool asks for version 1
    tool = module_of(wanted.source / "alg" / "pategan" / "pate_gan.py", "tool_updated")
    batch = min(
        wanted.batch, max(1, len(frame) // wanted.teachers)
    )  # 64 but on tables of a few rows, as in the published audit
    whole = vars(tool).setdefault("votes_of_the_tool", tool.pate_lamda)
    tool.pate_lamda = as_numbers(whole, None if wanted.rounds is None else wanted.rounds * batch)
    sessions = remembering(vars(tool).setdefault("sessions_of_the_tool", tf.Session))
    tf.Session = sessions
    parameters = {"n_s": 1, "batch_size": batch, "k": wanted.teachers, "lamda": wanted.lamda}
    tool.pategan(frame.to_numpy(float), parameters | {"epsilon": wanted.epsilon, "delta": wanted.delta})
    return more(sessions.last, wanted.rows)


def as_numbers(votes, most: int | None):
    """The tool's vote with its two counts as numbers; none (which ends the tool's loop) after `most` votes."""
    made = itertools.count(1)

    def vote(row, teachers, lamda):
        zeros, ones, label = votes(row, teachers, lamda)
        over = most is not None and next(made) >= most
        return (float("nan"), float("nan"), label) if over else (float(np.sum(zeros)), float(np.sum(ones)), label)

    return vote


@functools.cache
def remembering(session: type) -> type:
    """Sessions that keep what was last asked of them, which is the generator's rows, given noise."""

    class Remembering(session):
        last = None

        def run(self, fetches, feed_dict=None):
            Remembering.last = (self, fetches, feed_dict)
            return super().run(fetches, feed_dict=feed_dict)

    return Remembering


def more(last: tuple, rows: int) -> np.ndarray:
    """Rows of the generator that the tool has ended with."""
    session, fetches, fed = last
    ((place, noise),) = fed.items()
    made = session.run(fetches, feed_dict={place: np.random.uniform(-1.0, 1.0, (rows, noise.shape[1]))})[0]
    session.close()
    return made


if __name__ == "__main__":
    parser = arguments(__doc__, teachers=10)
    parser.add_argument("--lamda", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int)
    serve(synthesize, parser.parse_args())
