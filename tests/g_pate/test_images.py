"""Images through whole fits: every method takes them, samples go to Parquet and to a PNG grid, the evaluation sees pictures."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import understudy as us
from understudy import cli
from understudy.evaluate import evaluate
from understudy.measure.warm_start import public_start
from understudy.methods.g_pate.generator import GPateGenerator, Hints
from understudy.methods.g_pate.method import picture_marginals
from understudy.nn.heads import Block, Heads
from understudy.nn.images import ConvTeacher
from understudy.questions.frequencies import smooth_field
from understudy.questions.rounds import Directions
from understudy.schema import Column, Schema, check, read_table

from ..conformance.tables import DIRECTIONS, GRADIENTS, TINY

SIDE = 4
SCHEMA = Schema(
    columns=(
        Column(name="pixels", kind="image", height=SIDE, width=SIDE),
        Column(name="digit", kind="categorical", categories=(0, 1)),
    ),
    label="digit",
)


def test_published_sizes_for_pictures_are_a_preset():
    """Appendix A.6; the plan finds the rounds that the noise leaves, and tables without pictures are refused."""
    made = us.method("g-pate-pictures-as-published")()
    settings = made.plan(SCHEMA).parameters["settings"]
    assert (settings["teacher_kernels"], settings["teacher_hidden"], settings["hidden"]) == (32, 256, 1024)
    assert settings["rounds"] >= 1 and settings["answer_units"] == 18
    with pytest.raises(us.UsageError, match="network=conv needs a schema with one image column"):
        made.plan(Schema(columns=(Column(name="a", kind="boolean"),)))


def digits(rows=80, seed=0):
    """Class 0 is bright on the left, class 1 on the right."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, rows)
    images = rng.integers(0, 60, (rows, SIDE, SIDE))
    for number, digit in enumerate(classes):
        images[number, :, 2 * digit : 2 * digit + 2] += 180
    return pd.DataFrame({"pixels": list(images.astype(np.uint8).reshape(rows, -1)), "digit": classes})


LEARNING = DIRECTIONS | {"rounds": 10, "teachers": 40, "teacher_hidden": 0, "teacher_steps": 3}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    estimator = us.method("g-pate")(epsilon=50.0, **LEARNING, seed=0)
    return estimator.fit(digits(400), SCHEMA).save(tmp_path_factory.mktemp("fits") / "model")


@pytest.mark.parametrize(
    "name",
    [
        "pate-gan",
        "dpgan",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("g-pate-as-published", "mean-embedding", "mst")),
    ],
)
def test_other_methods_take_images(name):
    options = {"g-pate-as-published": DIRECTIONS, "pate-gan": TINY, "dpgan": GRADIENTS, "mst": {"steps": 5}}.get(
        name, {}
    )
    estimator = us.method(name)(epsilon=5.0, **{"seed": 0} | options)
    sample = estimator.fit(digits(), SCHEMA).sample(12, seed=1)
    assert check(sample, SCHEMA, strict=True) == [] and len(sample) == 12
    assert {cell.dtype for cell in sample["pixels"]} == {np.dtype(np.uint8)} and estimator.certificate.valid


def test_samples_look_like_their_class(model):
    """At epsilon 50 forty teachers say on which side a class is bright; nothing but the class ratio was paid for besides. In
    trials the sides differed by 120 to 170 levels with a deviation of about 15: a false failure would be seven deviations off.
    """
    for digit in (0, 1):
        sample = us.load(model).sample(100, seed=2, where={"digit": digit})
        sides = np.stack(sample["pixels"].to_list()).reshape(-1, SIDE, 2, 2).mean(axis=(0, 1, 3))
        assert np.argmax(sides) == digit and set(sample["digit"]) == {digit}


@pytest.mark.parametrize("share", [None, 0.5])
def test_pictures_need_no_column_marginals(share):
    """Teachers alone by default; class moments where they are asked for. Pixels are on a common scale without marginals."""
    plan = us.method("g-pate")(**DIRECTIONS, moments_share=share).plan(SCHEMA)
    asked = [charge.purpose for charge in plan.charges]
    assert asked == ["class histogram", *(["class moments"] if share else []), "teacher directions"]


def test_pictures_with_paid_moments_fit_and_sample():
    """Without them: the fixture."""
    moments = us.method("g-pate")(**DIRECTIONS, moments_share=0.5, directions_share=0.1, epsilon=50.0, seed=0)
    assert check(moments.fit(digits(), SCHEMA).sample(6, seed=1), SCHEMA, strict=True) == []


def test_pictures_move_by_the_mean_wish_and_less_and_less():
    """The class's location is the minimum of Eq. 2 over it: the mean of its rows' moves, shorter in every round."""
    heads = Heads(16, tuple(Block("numeric", i, 1) for i in range(16)))
    sizes = {"latent": 2, "hidden": 3, "rounds": 4, "judged": 5, "practice": 4, "projected": 2, "teacher_steps": 1}
    steps = {"generator_steps": 1, "generator_learning_rate": 1e-9, "step": 0.5, "hold": 0.0}
    subject = GPateGenerator(heads=heads, classes=2, by_class=True, image=(SIDE, SIDE, 1), **sizes, **steps)
    start = public_start(heads, picture_marginals(heads), 2)
    hints = Hints(*jax.tree.map(lambda a: np.asarray(a, np.float32), (start, np.asarray([0.5, 0.5]))))
    state = subject.init(jax.random.key(0), hints)
    query_of, update = jax.jit(subject.query), jax.jit(subject.update)
    for number in range(4):
        query = query_of(state, jax.random.key(number))
        answer = Directions(jnp.ones((2, 5, 2)), jnp.ones((2, 5, 2), bool))
        before = np.asarray(state.generator["location"])
        state, _ = update(state, query, answer, jax.random.key(9))
        wish = 0.5 * (1 - number / 4) * np.asarray(query.projection).sum(axis=-1).mean(axis=1)
        np.testing.assert_allclose(np.asarray(state.generator["location"]) - before, wish, atol=1e-4)


def test_noise_in_pictures_is_smooth_and_of_unit_variance():
    """Every pixel has variance 1; neighbours share exp(-1 / (2 l^2)) of it away from the edges, pixels far apart nothing."""
    field = smooth_field((28, 28, 1), 2.0)
    cover = field.T @ field
    np.testing.assert_allclose(np.diag(cover), 1.0, atol=1e-5)
    middle = 14 * 28 + 14
    assert cover[middle, middle + 1] == pytest.approx(np.exp(-1 / 8), abs=0.02)
    assert cover[middle, middle + 28] == pytest.approx(np.exp(-1 / 8), abs=0.02)
    assert abs(cover[middle, middle + 10]) < 0.02


def test_the_command_writes_parquet_and_png(model, tmp_path, capsys):
    def run(out, *more):
        return cli.run(["sample", str(model), "--out", str(tmp_path / out), *more])

    assert run("a.parquet", "--rows", "10", "--quiet") == 0
    assert len(read_table(tmp_path / "a.parquet", SCHEMA)) == 10 and check(tmp_path / "a.parquet", SCHEMA) == []
    capsys.readouterr()
    assert run("a.png", "--rows", "10", "--seed", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 10
    with Image.open(tmp_path / "a.png") as grid:
        assert grid.size == (5 * (SIDE + 1) + 1, 2 * (SIDE + 1) + 1)
    assert run("b.png", "--rows", "3", "--where", "digit=1") == 0
    with Image.open(tmp_path / "b.png") as grid:
        assert grid.size == (3 * (SIDE + 1) + 1, SIDE + 2)
    for out in ("c.csv", "c.npz"):
        assert run(out, "--rows", "3") == 2
        assert "images as .parquet only" in capsys.readouterr().err and not (tmp_path / out).exists()
    assert run("d.png", "--rows", "1") == 2 and "2 classes" in capsys.readouterr().err


def test_the_evaluation_sees_pictures():
    found = evaluate(digits(60, 1), digits(60, 2), SCHEMA, train=digits(60, 3), metrics=())
    assert found.images is not None and (found.images.height, found.images.width) == (SIDE, SIDE)
    assert found.images.accuracy_b.mean > 0.9


# -- the networks of appendix A.6 ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(5, 4, 1), (7, 7, 3)])
def test_windows_are_a_convolution(shape):
    """The teacher's product over windows against the library's convolution with zeros around the picture."""
    teacher = ConvTeacher(shape, 2, kernels=3, hidden=4)
    params = teacher.init(jax.random.key(0))
    image = jax.random.normal(jax.random.key(1), shape)
    seen = jnp.append(image.reshape(-1), 0.0)[teacher.windows()] @ params["kernel"]
    kernel = params["kernel"].reshape(5, 5, shape[2], 3)
    dimensions = ("NHWC", "HWIO", "NHWC")
    wanted = jax.lax.conv_general_dilated(image[None], kernel, (2, 2), [(2, 2), (2, 2)], dimension_numbers=dimensions)
    np.testing.assert_allclose(np.asarray(seen), np.asarray(wanted).reshape(-1, 3), atol=1e-4)
    assert teacher(params, jnp.ones(teacher.inputs)).shape == (1,)


def test_size_of_the_published_teacher():
    """The figure that docs/images.md gives: 1.6 million numbers for a 28 x 28 picture."""
    shapes = jax.eval_shape(ConvTeacher((28, 28, 1), 10).init, jax.random.key(0))
    assert sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(shapes)) == pytest.approx(1.61e6, rel=0.01)


def test_convolutional_networks_fit_save_and_sample(tmp_path):
    options = DIRECTIONS | {"rounds": 2, "teachers": 20, "chunk": 8, "network": "conv", "teacher_kernels": 2}
    estimator = us.method("g-pate")(epsilon=5.0, **options, seed=0).fit(digits(), SCHEMA)
    sample = estimator.sample(12, seed=1)
    assert check(sample, SCHEMA, strict=True) == [] and estimator.certificate.valid
    again = us.load(estimator.save(tmp_path / "model")).sample(12, seed=1)
    np.testing.assert_array_equal(np.stack(again["pixels"].to_list()), np.stack(sample["pixels"].to_list()))
    with pytest.raises(us.UsageError, match="one image column"):
        columns = (*SCHEMA.columns, Column(name="age", kind="boolean"))
        us.method("g-pate")(network="conv").plan(Schema(columns=columns, label="digit"))
