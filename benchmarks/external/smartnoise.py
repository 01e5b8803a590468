"""smartnoise-synth as a command for `understudy audit --external`.

    understudy audit --external "python benchmarks/external/smartnoise.py {input} {output} --rows {rows} --seed {seed}
        --count {count} --epsilon 1" --epsilon 1 --delta 1e-5 --target worst-case --attack querybased --runs 1000 --out audit/

Install smartnoise-synth into an environment of its own and name that environment's Python. `--columns` says how the tool
learns what is public: `bounds` (all columns lie in `--lower`, `--upper`, told beforehand), `categorical` (the tool reads the
values from the table, as in its README and when it is told nothing), `estimate` (the tool finds bounds, for `--preprocessor`
of epsilon).

Its PATE-GAN uses one teacher per 1,000 rows and so none for a table of a few; `--teachers` overrides that number, as the
published audit did (Ganev et al. 2025 use two). Nothing else of the tool is changed. Whole-number columns are rounded on
the way out.
"""

import argparse
import warnings
from pathlib import Path

import pandas as pd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, help="tables to write into the folder OUTPUT, each from a fit of its own")
    parser.add_argument("--method", default="pategan", help="pategan, mst, mwem, aim, dpctgan, patectgan, ...")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--teachers", type=int, default=2)
    parser.add_argument("--columns", choices=["bounds", "categorical", "estimate"], default="bounds")
    parser.add_argument("--lower", type=float, default=0.0)
    parser.add_argument("--upper", type=float, default=1.0)
    parser.add_argument("--preprocessor", type=float, default=0.3, help="epsilon of the bounds with --columns estimate")
    wanted = parser.parse_args()

    warnings.filterwarnings("ignore")
    import numpy as np
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(wanted.seed)
    np.random.seed(wanted.seed % 2**32)
    frame = pd.read_csv(wanted.input)
    if wanted.count is None:
        synthesize(frame, wanted).to_csv(wanted.output, index=False)
        return
    for number in range(wanted.count):
        synthesize(frame, wanted).to_csv(wanted.output / f"{number}.csv", index=False)


def synthesize(frame: pd.DataFrame, wanted: argparse.Namespace) -> pd.DataFrame:
    """One fit and one sample."""
    names = list(frame.columns)
    model = make(wanted)
    if wanted.columns == "bounds":
        from snsynth.transform import MinMaxTransformer, TableTransformer

        bounded = [MinMaxTransformer(lower=wanted.lower, upper=wanted.upper) for _ in names]
        model.fit(frame, transformer=TableTransformer(bounded))
    elif wanted.columns == "categorical":
        model.fit(frame, categorical_columns=names)
    else:
        model.fit(frame, continuous_columns=names, preprocessor_eps=wanted.preprocessor)
    made = pd.DataFrame(model.sample(wanted.rows), columns=names)
    for name in names:
        if pd.api.types.is_integer_dtype(frame[name]):
            made[name] = made[name].astype(float).round().astype(int)
    return made


def make(wanted: argparse.Namespace) -> object:
    if wanted.method == "pategan":
        from snsynth.pytorch.nn import PATEGAN

        class Ensemble(PATEGAN):
            """The tool's PATE-GAN with a given number of teachers instead of one per 1,000 rows."""

            @property
            def num_teachers(self) -> int:
                return wanted.teachers

            @num_teachers.setter
            def num_teachers(self, ignored: int) -> None:
                pass

        return Ensemble(epsilon=wanted.epsilon, delta=wanted.delta)
    from snsynth import Synthesizer

    extra = {"delta": wanted.delta} if wanted.method in ("mst", "aim") else {}
    return Synthesizer.create(wanted.method, epsilon=wanted.epsilon, **extra)


if __name__ == "__main__":
    main()
