"""The Alan Turing Institute's PATE-GAN: `--source` is a checkout of alan-turing-institute/reprosyn.

Ten teachers in name (there is one discriminator), 100 rounds, batches of 128 rows: its defaults. It fails on tables of
fewer rows than a batch; there the batch is what the published audit took, the rows of one teacher. It is told the
public bounds (`--lower`, `--upper`), or with `--categories 0,1` that every column has these categories, which is how
its own pipeline calls it. Needs TensorFlow 2.

Only the file with the method is read; the packages around it would import every other method of the toolbox.
"""

import argparse
import sys
from types import ModuleType

import pandas as pd
from shell import arguments, module_of, old_tensorflow, serve


def synthesize(frame: pd.DataFrame, wanted: argparse.Namespace) -> object:
    tf = old_tensorflow()
    tf.reset_default_graph()
    bare_packages(wanted.source / "src" / "reprosyn", "reprosyn", ("methods", "methods.data_synthesiser"))
    tool = module_of(wanted.source / "src" / "reprosyn" / "methods" / "gans" / "pate_gan.py", "tool_turing")
    batch = 128 if len(frame) >= 128 else max(1, len(frame) // wanted.teachers)
    model = tool.PateGan(
        {"columns": [column(name, wanted) for name in frame.columns]},
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        num_teachers=wanted.teachers,
        n_iters=wanted.rounds,
        batch_size=batch,
    )
    model.fit(frame)
    made = model.generate_samples(wanted.rows)
    model.sess.close()
    return made


def column(name: str, wanted: argparse.Namespace) -> dict:
    """What the tool is told about a column."""
    if wanted.categories:
        return {"name": name, "type": "Categorical", "i2s": wanted.categories.split(",")}
    return {"name": name, "type": "Float", "min": wanted.lower, "max": wanted.upper}


def bare_packages(folder, name: str, below: tuple[str, ...]) -> None:
    """Packages whose files can be imported without running what their own beginning imports."""
    for part in ("", *below):
        package = ModuleType(".".join(filter(None, (name, part))))
        package.__path__ = [str(folder.joinpath(*part.split(".")))]
        sys.modules.setdefault(package.__name__, package)


if __name__ == "__main__":
    parser = arguments(__doc__, teachers=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--categories", help="values of every column, instead of bounds")
    serve(synthesize, parser.parse_args())
