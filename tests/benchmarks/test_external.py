"""Wrappers of other people's PATE-GANs: what they are told and what they hand back, with stand-ins for the tools."""

import os
import subprocess
import sys
from argparse import Namespace
from importlib import util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "external"


@pytest.fixture
def wrapper(monkeypatch):
    """A wrapper as a module, beside the file that all share."""

    def load(name):
        monkeypatch.syspath_prepend(str(FOLDER))
        spec = util.spec_from_file_location(f"wrapper_{name}", FOLDER / f"{name}.py")
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("shell", None)


def test_what_a_tool_hands_back_keeps_columns_bounds_and_whole_numbers(wrapper):
    frame = pd.DataFrame({"a": [0, 1], "b": [0.0, 0.5]})
    made = wrapper("shell").finish([[0.6, 1.5], [-3.0, np.nan]], frame, Namespace(lower=0.0, upper=1.0))
    assert made.to_dict("list") == {"a": [1, 0], "b": [1.0, 0.0]}


def test_a_checkout_without_the_file_is_named(wrapper, tmp_path):
    with pytest.raises(SystemExit, match=r"no pate_gan\.py where it should be"):
        wrapper("shell").module_of(tmp_path / "pate_gan.py", "tool_nowhere")


@pytest.mark.parametrize("name", ["original", "updated", "synthcity", "turing", "borealis"])
def test_every_wrapper_wants_a_source_and_a_seed(name, tmp_path):
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), "in.csv", "out.csv"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2 and "--rows, --seed, --source" in done.stderr


def test_a_wrapper_learns_once_for_every_table_and_keeps_what_the_tool_says_out_of_the_way(tmp_path):
    """The first public PATE-GAN: its delta is a power of ten, its batch a teacher's rows where the table is small."""
    tool = tmp_path / "source" / "code" / "pate_gans" / "original" / "original_api.py"
    tool.parent.mkdir(parents=True)
    tool.write_text(TOOL)
    (tmp_path / "tensorflow.py").write_text(TENSORFLOW)
    (tmp_path / "out").mkdir()
    pd.DataFrame({"a": [0] * 4, "b": [1] * 4}).to_csv(tmp_path / "in.csv", index=False)
    words = ["in.csv", "out", "--rows", "3", "--seed", "1", "--source", "source", "--count", "2", "--teachers", "2"]
    done = subprocess.run(
        [sys.executable, str(FOLDER / "original.py"), *words],
        capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert "(4, 2) 1.0 5 2 10000 2" in done.stderr
    for number in range(2):
        assert pd.read_csv(tmp_path / "out" / f"{number}.csv").to_dict("list") == {"a": [1] * 3, "b": [0] * 3}


TENSORFLOW = """
from types import SimpleNamespace
threads = SimpleNamespace(set_intra_op_parallelism_threads=int, set_inter_op_parallelism_threads=int)
config = SimpleNamespace(threading=threads)
compat = SimpleNamespace(v1=SimpleNamespace(disable_v2_behavior=lambda: None))
"""
TOOL = """
from types import SimpleNamespace

class PG_ORIGINAL:
    mb_size, sess = 128, SimpleNamespace(close=lambda: None)

    def __init__(self, shape, epsilon, delta, num_teachers, niter):
        self.told = shape, epsilon, delta, num_teachers, niter

    def fit(self, frame):
        print(*self.told, self.mb_size)

    def generate(self, rows):
        return [[0.9, 0.2]] * rows
"""


def test_the_votes_of_updated_are_numbers_and_end_when_told_to(wrapper):
    vote = wrapper("updated").as_numbers(lambda *ignored: (np.array([1]), np.array([2]), 1), 2)
    assert vote(None, None, 1.0) == (1.0, 2.0, 1)
    zeros, ones, label = vote(None, None, 1.0)
    assert np.isnan(zeros) and np.isnan(ones) and label == 1


def test_more_rows_come_from_the_generator_that_updated_ended_with(wrapper):
    class Session:
        def run(self, fetches, feed_dict=None):
            return [noise * 0 + fetches for noise in feed_dict.values()]

        def close(self):
            pass

    kind = wrapper("updated").remembering(Session)
    kind().run(7.0, feed_dict={"noise": np.ones((4, 2))})
    assert (wrapper("updated").more(kind.last, 5) == np.full((5, 2), 7.0)).all()


def test_the_accountant_of_borealis_says_that_all_is_spent_after_so_many_calls(wrapper):
    spent = wrapper("borealis").ending(lambda *ignored: np.ones(3), 2)
    assert np.isfinite(spent()).all() and np.isinf(spent()).all()


def test_turing_is_told_bounds_or_categories(wrapper):
    column = wrapper("turing").column
    assert column("a", Namespace(categories=None, lower=0.0, upper=1.0)) == {
        "name": "a",
        "type": "Float",
        "min": 0.0,
        "max": 1.0,
    }
    assert column("a", Namespace(categories="0,1"))["i2s"] == ["0", "1"]


def test_turings_method_is_read_without_the_packages_around_it(wrapper, tmp_path, monkeypatch):
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "__init__.py").write_text("raise ImportError('everything else')")
    (tmp_path / "methods" / "one.py").write_text("value = 5")
    wrapper("turing").bare_packages(tmp_path, "toolbox_under_test", ("methods",))
    from toolbox_under_test.methods import one

    assert one.value == 5
    for name in [name for name in sys.modules if name.startswith("toolbox_under_test")]:
        monkeypatch.delitem(sys.modules, name)


def test_only_packages_that_pate_gan_does_not_use_are_stood_in_for(wrapper):
    finder = wrapper("synthcity").StandIns()
    assert finder.find_spec("tsai.models.TCN") and finder.find_spec("synthcity.metrics.eval")
    assert not finder.find_spec("synthcity.plugins") and not finder.find_spec("tsaib")
    module = finder.create_module(finder.find_spec("tsai"))
    assert isinstance(type("Own", (module.TCN,), {})(), module.TCN)
