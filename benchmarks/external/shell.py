"""What wrappers of other people's PATE-GANs share: their arguments, the seed, and one table or several into files.

    python benchmarks/external/NAME.py INPUT OUTPUT --rows 1000 --seed 1 --source DIR

DIR is a checkout of the tool's public repository, which is read and not changed; nothing of it is kept here. With
`--count N` the tool learns N times and OUTPUT is a folder. Whole-number columns are rounded on the way out, and values
kept between `--lower` and `--upper`.
"""

import argparse
import contextlib
import importlib.util
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pandas as pd

Synthesize = Callable[[pd.DataFrame, argparse.Namespace], object]


def arguments(about: str, *, teachers: int) -> argparse.ArgumentParser:
    """Arguments that all have; a wrapper adds its own."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, help="tables to write into the folder OUTPUT, each from a fit of its own")
    parser.add_argument("--source", type=Path, required=True, help="checkout of the tool's repository")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--teachers", type=int, default=teachers)
    parser.add_argument("--label", help="the column that is the class, for tools that treat it apart")
    parser.add_argument("--lower", type=float, default=0.0, help="public bound of all columns")
    parser.add_argument("--upper", type=float, default=1.0)
    return parser


def serve(synthesize: Synthesize, wanted: argparse.Namespace) -> None:
    """Learn from INPUT as often as asked and write what comes out. The tool's own words go to standard error."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # whose products of empty matrices end the process
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    warnings.filterwarnings("ignore")
    wanted.source = wanted.source.resolve()
    sow(wanted.seed)
    frame = pd.read_csv(wanted.input)
    files = [wanted.output] if wanted.count is None else [wanted.output / f"{n}.csv" for n in range(wanted.count)]
    for file in files:
        with contextlib.redirect_stdout(sys.stderr):
            made = synthesize(frame, wanted)
        finish(made, frame, wanted).to_csv(file, index=False)


def sow(seed: int) -> None:
    """One seed for all that the tools draw from; TensorFlow's graphs are drawn anew each time, whatever the seed."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(seed)


def finish(made: object, frame: pd.DataFrame, wanted: argparse.Namespace) -> pd.DataFrame:
    """The tool's array as a table with the columns of the input, within the public bounds."""
    table = pd.DataFrame(made)
    table.columns = list(frame.columns)
    for name in frame.columns:
        numbers = table[name].astype(float).fillna(wanted.lower).clip(wanted.lower, wanted.upper)
        table[name] = numbers.round().astype(int) if pd.api.types.is_integer_dtype(frame[name]) else numbers
    return table


def module_of(file: Path, name: str) -> ModuleType:
    """One file of a checkout as a module, whatever stands around it. Loaded once."""
    if name not in sys.modules:
        if not file.is_file():
            raise SystemExit(f"--source: there is no {file.name} where it should be; is this the right repository?")
        spec = importlib.util.spec_from_file_location(name, file)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def old_tensorflow() -> ModuleType:
    """TensorFlow 1 as later versions keep it, on one thread."""
    import tensorflow

    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    tf = tensorflow.compat.v1
    tf.disable_v2_behavior()
    return tf
