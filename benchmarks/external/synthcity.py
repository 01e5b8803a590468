"""synthcity's PATE-GAN: `--source` is a checkout of vanderschaarlab/synthcity.

Ten teachers (gradient-boosted trees), inverse noise 0.001, at most 200 rounds of ten epochs: its plugin's defaults. It
forgets the delta that it is told and takes 1 / (N sqrt N). Bounds and mixtures of every column are read off the table.
Rows are taken as its model makes them, as in the published audit: its plugin would throw away, slowly, those that lie
outside of what the table had. Needs PyTorch, xgboost, pydantic, loguru, optuna, cloudpickle and tqdm; what it imports
for its other plugins is stood in for.
"""

import argparse
import functools
import importlib.abc
import importlib.machinery
import logging
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pandas as pd
from shell import arguments, serve

NOT_NEEDED = (
    "arfpy", "be_great", "decaf", "dgl", "fflows", "geomloss", "igraph", "lifelines", "monai", "nflows", "opacus",
    "pgmpy", "pycox", "pykeops", "redis", "shap", "synthcity.metrics", "torch_geometric", "torch_scatter",
    "torch_sparse", "torchtuples", "torchvision", "transformers", "tsai", "xgbse",
)  # fmt: skip


def synthesize(frame: pd.DataFrame, wanted: argparse.Namespace) -> object:
    if not any(isinstance(one, StandIns) for one in sys.meta_path):
        sys.meta_path.insert(0, StandIns())
    sys.path.insert(0, str(wanted.source / "src"))
    from synthcity.plugins.core.dataloader import GenericDataLoader
    from synthcity.plugins.privacy.plugin_pategan import PATEGANPlugin

    logging.disable(logging.CRITICAL)
    options = {} if wanted.rounds is None else {"n_iter": wanted.rounds}
    with tempfile.TemporaryDirectory() as folder:
        model = PATEGANPlugin(
            epsilon=wanted.epsilon,
            delta=wanted.delta,
            n_teachers=wanted.teachers,
            random_state=wanted.seed,
            workspace=Path(folder),
            **options,
        )
        model.fit(GenericDataLoader(frame, target_column=wanted.label or frame.columns[-1]))
        return model.model.sample(wanted.rows)[list(frame.columns)]


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules for packages that PATE-GAN does not use, and for the scores of synthcity."""

    def find_spec(self, name, path=None, target=None):
        if any(f"{name}.".startswith(f"{one}.") for one in NOT_NEEDED):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: stand_in(spec.name, name)
        return module

    def exec_module(self, module) -> None:
        pass


@functools.cache
def stand_in(module: str, name: str) -> type:
    """A class to be named, derived from and never made."""
    if name.startswith("__"):
        raise AttributeError(f"{module}.{name}")
    return type(name, (), {})


if __name__ == "__main__":
    parser = arguments(__doc__, teachers=10)
    parser.add_argument("--rounds", type=int, help="at most; 200 by itself")
    serve(synthesize, parser.parse_args())
