"""What pairs of columns count: said by a file, a mapping or a flag, checked against the schema, kept with the plan."""

import json
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy import cli
from understudy.compare import compare
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.methods.clique_tree import method as own
from understudy.methods.clique_tree import workload
from understudy.methods.clique_tree.redraw_few import redrawn
from understudy.methods.clique_tree.workload import FAINT, Workload, document
from understudy.private import SeededNoise
from understudy.questions import Counts, Distances, Sums
from understudy.schema import Column, Schema

from .test_correlations import columns_of
from .test_few_rows_neighbours import BY_PERSON, BY_ROW, COLUMNS, conversation, moves, pair
from .test_few_rows_resume import Death, died_and_resumed, dying
from .test_hand_over import wide
from .test_products_neighbours import ONE, largest, products
from .test_products_neighbours import moves as moves_of_products

SAID = {"columns": {"x": 3, "n": 0}, "pairs": [{"columns": ["c", "x"], "weight": 5}], "default": 0.5}


def of(said, focus=None, schema=BY_ROW, factor=3.0):
    return Workload.of(document(said), focus, factor, schema)


# -- what it says --------------------------------------------------------------------------------------------------------------
def test_a_pair_counts_what_is_said_of_it_or_of_its_columns():
    found = of(SAID)
    assert found.of_pair("x", "c", "y") == found.of_pair("c", "x", "y") == 5.0
    assert found.of_pair("x", "f", "y") == 3.0 and found.of_pair("x", "n", "y") == 0.0
    assert found.of_pair("c", "f", "y") == 0.5
    assert found.of_pair("c", "y", "y") == 1.5 and found.of_pair("x", "y", "y") == 9.0  # the label, three times as much
    assert found.wanted(BY_ROW) == 10 - 4


def test_without_a_workload_only_the_label_or_the_focus_counts_more():
    label, focus, none = of(None), of(None, "c"), of(None, schema=Schema(columns=COLUMNS))
    assert label.of_pair("x", "y", "y") == 3.0 and label.of_pair("x", "c", "y") == 1.0
    assert focus.of_pair("x", "y", "y") == 1.0 and focus.of_pair("x", "c", "y") == focus.of_pair("y", "c", "y") == 3.0
    assert none.of_pair("x", "y", None) == 1.0 and none.wanted(Schema(columns=COLUMNS)) == 10


def test_the_label_is_a_column_like_others_where_its_weight_is_said():
    assert of({"columns": {"y": 0}}).of_pair("x", "y", "y") == 0.0
    assert of({"default": 0}).wanted(BY_ROW) == 0
    assert of({"default": 0}, "x").wanted(BY_ROW) == 4


def test_pairs_that_count_more_are_expected_to_depend():
    found = of({"columns": {"x": 3, "y": 0.5}, "pairs": [{"columns": ["c", "f"], "weight": 2}]})
    more = [("x", "c"), ("c", "f"), ("y", "c")]  # the last one has the label in it
    assert all(found.matters(*one, "y") for one in more) and not found.matters("n", "f", "y")
    assert not of({"columns": {"y": 0}}).matters("x", "y", "y")


def test_products_know_columns_only():
    method, columns = us.CliqueTree(), columns_of([1, 2], [1, 2, 1], [1, 1], gaps=[None, 0, None])
    schema = Schema(columns=tuple(Column(name=f"c{k}", kind="boolean") for k in range(3)))
    found = method.score_weights(columns, None, of({"columns": {"c0": 4, "c2": 0}}, schema=schema))
    assert found == {1: 2.0, 3: FAINT**0.5}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"columns": {"wh": 3}}, "'wh' is not a column of the schema; did you mean 'who'"),
        ({"pairs": [{"columns": ["x", "z"], "weight": 1}]}, "'z' is not a column"),
        ({"columns": {"who": 3}}, "'who' is an identifier"),
        ({"columns": {"x": -1}}, "column 'x' must count 0"),
        ({"columns": {"x": True}}, "column 'x' must count 0"),
        ({"columns": {"x": float("inf")}}, "column 'x' must count 0"),
        ({"default": 1e-9}, "default must count 0"),
        ({"columns": ["x"]}, "`name: weight`"),
        ({"pairs": {"x": 1}}, "should be a list"),
        ({"pairs": [{"columns": ["x"], "weight": 1}]}, "pair 1 needs `columns:`"),
        ({"pairs": [{"columns": ["x", "x"], "weight": 1}]}, "pair 1 needs `columns:`"),
        ({"pairs": [{"columns": ["x", "c"]}]}, "pair 1 needs a weight"),
        ({"pairs": [{"columns": ["x", "c"], "weight": 1}, {"columns": ["c", "x"], "weight": 2}]}, "there twice"),
        ({"colums": {}}, "unknown key 'colums'; did you mean 'columns'"),
        ([1], "should hold"),
        ("nowhere.yaml", "does not exist"),
    ],
)
def test_mistakes_are_named(said, words):
    with pytest.raises(UsageError, match=words):
        us.CliqueTree(workload=said).plan(BY_PERSON)


def test_a_column_is_weighed_in_one_place():
    with pytest.raises(UsageError, match="focus: the workload says"):
        us.CliqueTree(focus="x", workload=SAID).plan(BY_ROW)
    with pytest.raises(UsageError, match="focus: 'z' is not a column"):
        us.CliqueTree(focus="z").plan(BY_ROW)


def test_a_table_that_is_handed_over_has_no_workload():
    for option, value in (("focus", "x0"), ("workload", {"default": 2})):
        with pytest.raises(UsageError, match=f"{option}: mean-embedding takes this table"):
            us.CliqueTree(**{option: value}).plan(wide(200))


# -- what it does --------------------------------------------------------------------------------------------------------------
def test_the_plan_says_what_counts_and_keeps_it(tmp_path):
    (tmp_path / "w.yaml").write_text("columns: {x: 3, n: 0}\npairs: [{columns: [c, x], weight: 5}]\ndefault: 0.5\n")
    plan = us.CliqueTree(workload=tmp_path / "w.yaml").plan(BY_ROW)
    assert plan.parameters["settings"]["workload"] == document(SAID) == json.loads(json.dumps(document(SAID)))
    assert [one.detail for one in plan.charges if one.purpose == own.DISTANCES] == ["6 pairs of columns"]
    assert (
        "c and x 5, pairs with x 3, pairs with n not wanted, all others 0.5; of these, pairs with y 3" in plan.notes[0]
    )
    assert str(tmp_path) not in json.dumps(plan.to_dict())


def test_pairs_that_are_not_wanted_are_not_asked_about():
    estimator, rows = us.CliqueTree(workload=SAID, passes=2), pair(BY_ROW, 400, False, 0)[0]
    with mock.patch.object(own, "enough_rows", lambda *_: 0.0):
        asked = dict(conversation(estimator, rows, BY_ROW, 1).questions)
    pairs = [clique for clique in asked[own.DISTANCES].cliques if len(clique) == 2]
    assert len(pairs) == 6 and not any(2 in clique for clique in pairs)  # 2 is column n


def test_without_wanted_pairs_columns_have_the_budget_of_distances():
    plan = us.CliqueTree(workload={"default": 0}).plan(BY_ROW)
    assert own.DISTANCES not in [one.purpose for one in plan.charges]
    found = conversation(us.CliqueTree(workload={"default": 0}), pair(BY_ROW, 40, False, 0)[0], BY_ROW, 1)
    assert [kind for kind, _ in found.questions] == [one.purpose for one in plan.charges]


def test_class_means_are_for_those_who_want_the_label():
    rows = pair(BY_ROW, 40, False, 0)[0]
    for said, kind in ((None, Sums), ({"columns": {"y": 0}}, Counts)):
        with mock.patch.object(own, "products_pay", lambda *_: False):
            asked = dict(conversation(us.CliqueTree(workload=said, passes=2), rows, BY_ROW, 1).questions)
        assert type(asked[own.COUNTS]) is kind


def correlated(rows, seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 1)) + 0.7 * random.normal(size=(rows, 6))
    return pd.DataFrame(np.clip(np.rint(4 + 2 * x), 0, 9).astype(int), columns=[f"x{k}" for k in range(6)])


def test_what_counts_more_is_counted_with_less_noise():
    schema = Schema(columns=tuple(Column(name=f"x{k}", kind="integer", lower=0, upper=9) for k in range(6)))
    noise = []
    for said in (None, {"pairs": [{"columns": ["x0", "x1"], "weight": 50}]}, {"columns": {"x0": 0}}):
        how = us.CliqueTree(workload=said, passes=2, epsilon=4.0)
        with mock.patch.object(own, "products_pay", lambda *_: False):
            model = fit(how, correlated(4000, 0), schema, noise=SeededNoise(0))
        noise.append({one.columns: float(np.max(one.deviation)) for one in model.released if len(one.columns) == 2})
    usual, more, none = noise
    assert more["x0", "x1"] < 0.6 * usual["x0", "x1"]
    assert usual and not any("x0" in names for names in none)


# -- neighbours ----------------------------------------------------------------------------------------------------------------
SCHEMAS = {
    "row": BY_ROW,
    "person": BY_PERSON,
    "one class": Schema(columns=(*COLUMNS[:3], ONE), label="z"),
}
WORKLOADS = {
    "both": {"columns": {"x": 3, "n": 0}, "pairs": [{"columns": ["c", "x"], "weight": 5}]},
    "one pair": {"pairs": [{"columns": ["c", "x"], "weight": 5}], "default": 0},
    "none": {"default": 0},
}


@pytest.mark.parametrize("said", WORKLOADS)
@pytest.mark.parametrize("name", SCHEMAS)
def test_neighbours_are_asked_the_same_and_move_answers_by_what_is_paid(name, said):
    schema, how = SCHEMAS[name], us.CliqueTree(workload=WORKLOADS[said], passes=2)
    for seed in range(4):
        rows = [one.assign(z="a").reindex(columns=schema.names) for one in pair(schema, 10 * seed, seed % 2, seed)]
        with mock.patch.object(own, "enough_rows", lambda *_: 0.0):
            found = moves(how, schema, rows, seed)
        assert max(apart for _, apart in found.values()) <= 1.0 + 1e-6
        with products():
            found = moves_of_products(how, schema, rows, seed)
        assert largest(found) <= 1.0
        assert said == "none" or found[own.DISTANCES][0] is Distances


def test_pairs_of_the_label_alone_where_one_class_was_found():
    """Nothing that is wanted can be asked: what was announced is asked about the columns."""
    schema, how = SCHEMAS["one class"], us.CliqueTree(workload={"columns": {"z": 1}, "default": 0}, passes=2)
    rows = [one.assign(z="a").reindex(columns=schema.names) for one in pair(schema, 20, True, 1)]
    found = moves(how, schema, rows, 1)
    assert found[own.DISTANCES][0] is Counts and max(apart for _, apart in found.values()) <= 1.0 + 1e-6


# -- files and commands --------------------------------------------------------------------------------------------------------
def test_a_resumed_fit_has_the_workload_it_began_with(tmp_path):
    file = tmp_path / "w.yaml"
    file.write_text("columns: {x: 3, y: 0}\n")
    how = us.CliqueTree(workload=file, passes=2)
    with mock.patch("tests.clique_tree.test_few_rows_resume.FEW", how):
        *_, model = died_and_resumed(tmp_path, "after", 4)
    assert model.plan.parameters["settings"]["workload"]["columns"] == {"x": 3.0, "y": 0.0}
    settings = {"checkpoint": tmp_path / "d"}
    with dying("after", 4), pytest.raises(Death):
        fit(how, tmp_path / "t.csv", BY_PERSON, **settings)
    file.write_text("columns: {x: 4, y: 0}\n")
    with pytest.raises(UsageError, match="plan"):
        fit(how, tmp_path / "t.csv", BY_PERSON, resume=True, **settings)


def test_the_fit_has_the_workload_of_its_plan(tmp_path):
    """A file that changes after the plan was made does not change what is asked."""
    file, rows = tmp_path / "w.json", pair(BY_ROW, 40, False, 0)[0]
    file.write_text('{"columns": {"x": 3, "y": 0}}')
    how = us.CliqueTree(workload=file, passes=2)
    begin = us.CliqueTree.begin

    def after(self, *arguments):
        file.unlink()
        return begin(self, *arguments)

    with mock.patch.object(us.CliqueTree, "begin", after):
        assert fit(how, rows, BY_ROW, noise=SeededNoise(0)).sample(5, seed=0).shape == (5, 5)


def test_copies_of_products_have_the_weights_of_the_model():
    rows = pair(BY_ROW, 200, False, 0)[0]
    with products():
        model = fit(us.CliqueTree(workload={"columns": {"x": 4}}, passes=2), rows, BY_ROW, noise=SeededNoise(0))
    seen = []
    heard = mock.patch.object(own, "ask_products", side_effect=lambda *given: seen.append(given[-1]) or 1 / 0)
    with heard, pytest.raises(ZeroDivisionError):
        next(redrawn(model).copies(1, np.random.default_rng(0)))
    assert seen[0][1] == 2.0  # column x


@pytest.fixture
def files(tmp_path):
    correlated(300, 0).to_csv(tmp_path / "t.csv", index=False)
    columns = "".join(f"  x{k}: {{kind: integer, lower: 0, upper: 9}}\n" for k in range(6))
    (tmp_path / "t.yaml").write_text(f"understudy: schema\ncolumns:\n{columns}")
    (tmp_path / "w.yaml").write_text("columns: {x1: 3}\n")
    (tmp_path / "bad.yaml").write_text("columns: {y1: 3}\n")
    (tmp_path / "run.yaml").write_text("data: t.csv\nschema: t.yaml\nepsilon: 1\nworkload: w.yaml\n")
    return tmp_path


def run(*words):
    return cli.run([str(word) for word in words])


def test_a_column_that_is_not_there_ends_with_code_2_and_writes_nothing(files, capsys):
    there = sorted(files.iterdir())
    given = ["--schema", files / "t.yaml", "--epsilon", 1]
    for flags in (["--workload", files / "bad.yaml"], ["--focus", "y1"]):
        assert run("plan", files / "t.yaml", "--epsilon", 1, *flags) == 2
        assert run("fit", files / "t.csv", *given, "--out", files / "m", *flags) == 2
        both = ["--methods", "mst,clique-tree", "--out", files / "both"]
        assert run("compare", files / "t.csv", *given, *both, *flags) == 2
        said = capsys.readouterr().err.strip().splitlines()
        assert len([line for line in said if f"{flags[0]}: 'y1' is not a column of the schema" in line]) == 3
    assert sorted(files.iterdir()) == there


def test_a_method_without_a_workload_says_so(files, capsys):
    assert run("plan", files / "t.yaml", "--epsilon", 1, "--focus", "x1", "--method", "mst") == 2
    assert "--focus: method 'mst' has no workload" in capsys.readouterr().err
    with pytest.raises(UsageError, match="workload: method 'mst' has no workload"):
        compare(
            correlated(50, 0),
            us.Schema.load(files / "t.yaml"),
            methods=["mst", "aim"],
            epsilon=1.0,
            out=files / "m",
            workload={},
        )


def test_nobody_needs_to_name_the_method(files, capsys):
    given = ["--epsilon", 1, "--focus", "x2", "--rows", 300, "--for", "label"]
    assert run("plan", files / "t.yaml", *given, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["method"] == "clique-tree" and found["parameters"]["settings"]["focus"] == "x2"


def test_flags_are_in_the_command_that_plan_proposes(files, capsys):
    assert run("plan", "--config", files / "run.yaml") == 0
    assert "workload / columns / x1" in " ".join(capsys.readouterr().out.split())
    assert run("plan", files / "t.yaml", "--epsilon", 1, "--workload", files / "w.yaml") == 0
    assert f"--workload {files / 'w.yaml'}" in capsys.readouterr().out


def test_a_comparison_gives_the_workload_to_those_that_have_one(files):
    (files / "one.yaml").write_text("pairs: [{columns: [x0, x1], weight: 9}]\ndefault: 0\n")
    found = compare(
        correlated(300, 0),
        us.Schema.load(files / "t.yaml"),
        methods=["independent", "clique-tree"],
        epsilon=1.0,
        out=files / "m",
        workload=files / "one.yaml",
    )
    models = {one.method: us.load(one.folder) for one in found.entries}
    assert "workload" not in models["independent"].plan.parameters["settings"]
    assert models["clique-tree"].plan.parameters["settings"]["workload"]["default"] == 0.0


def test_words_of_the_option():
    assert "workload: what columns and pairs" in us.CliqueTree.__doc__
    assert workload.plain({}) == {"default": 1.0, "columns": {}, "pairs": []}


# -- which way was taken -------------------------------------------------------------------------------------------------------
def test_the_model_says_which_way_was_taken(files, capsys):
    rows = pair(BY_ROW, 200, False, 0)[0]
    with products():
        said = [fit(us.CliqueTree(passes=2), rows, BY_ROW, noise=SeededNoise(0)).report["statement"]]
    said.append(fit(us.CliqueTree(passes=2), rows[:40], BY_ROW, noise=SeededNoise(0)).report["statement"])
    assert "one number for each" in said[0] and "class means" in said[1]
    (files / "one.yaml").write_text("pairs: [{columns: [x0, x1], weight: 9}]\ndefault: 0\n")
    given = ["--schema", files / "t.yaml", "--epsilon", 20, "--workload", files / "one.yaml", "--out", files / "m"]
    with mock.patch.object(own, "products_pay", lambda *_: False):
        assert run("fit", files / "t.csv", *given) == 0
    line = "learned of pairs: 1 of 1 were counted"
    assert line in capsys.readouterr().out
    assert line in us.load(files / "m").certificate.text()
