"""Borealis AI's PATE-GAN: `--source` is a checkout of BorealisAI/private-data-generation.

Ten teachers, noise of 10,000 votes, batches of 64, five steps of teachers and student a round, 100 moments: the
defaults of its main program. With `--label` it learns rows given their class, as it does for classification, and hands
out classes in the exact proportions of the table; without one it learns the last column with the others. Where a
teacher has fewer rows than a batch it fails; there the batch is a teacher's rows, as in the published audit, and the
noise of its generator has one dimension at least. Needs PyTorch.

It is written for a graphics card; `on_processor` lets the same calls run without one. With `--rounds` it is told after
so many rounds that the budget is gone, as the published audit did to save time; by itself it runs until its accountant
says so.
"""

import argparse
import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
from shell import arguments, serve

STEPS = 5  # of the student in a round, and of each teacher


def synthesize(frame: pd.DataFrame, wanted: argparse.Namespace) -> object:
    on_processor()
    sys.path.insert(0, str(wanted.source))
    from models import pate_gan as tool

    features = [name for name in frame.columns if name != (wanted.label or frame.columns[-1])]
    label = wanted.label or frame.columns[-1]
    size = len(features)
    noise = max(1, size // 4 + (size % 4 == 0))
    shares = frame[label].value_counts(normalize=True).sort_index().to_numpy() if wanted.label else None
    settings = SimpleNamespace(
        batch_size=min(64, max(1, len(frame) // wanted.teachers)),
        num_teacher_iters=STEPS,
        num_student_iters=STEPS,
        num_moments=100,
        lap_scale=wanted.inverse_scale,
        class_ratios=shares,
        lr=1e-4,
    )
    whole = vars(tool).setdefault("moments_of_the_tool", tool.moments_acc)
    tool.moments_acc = whole if wanted.rounds is None else ending(whole, wanted.rounds * STEPS)
    model = tool.PATE_GAN(size, noise, wanted.teachers, wanted.epsilon, wanted.delta, bool(wanted.label))
    model.train(frame[features].to_numpy(float), frame[label].to_numpy(float), settings)
    made = pd.DataFrame(model.generate(wanted.rows, shares), columns=[*features, label])
    return made[list(frame.columns)]


def ending(moments, calls: int):
    """The tool's accountant, for which the budget is gone after so many calls."""
    made = itertools.count(1)

    def count(*what):
        update = moments(*what)
        return update + float("inf") if next(made) >= calls else update

    return count


def on_processor() -> None:
    """`.cuda()` leaves things where they are, and tensors of a graphics card are plain ones."""
    import torch

    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *ignored: self
    torch.cuda.DoubleTensor = doubles
    kind = torch.Tensor.type
    torch.Tensor.type = lambda self, what=None: self.double() if what is doubles else kind(self, *filter(None, [what]))


def doubles(values):
    """What the tool calls `torch.cuda.DoubleTensor`."""
    import torch

    if isinstance(values, (list, tuple)) and len(values) and isinstance(values[0], torch.Tensor):
        return torch.stack([one.double() for one in values])
    return torch.as_tensor(np.asarray(values, dtype=float))


if __name__ == "__main__":
    parser = arguments(__doc__, teachers=10)
    parser.add_argument("--inverse-scale", type=float, default=1e-4, help="1 / scale of the noise on the votes")
    parser.add_argument("--rounds", type=int)
    serve(synthesize, parser.parse_args())
