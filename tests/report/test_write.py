"""`understudy.report.write` and `understudy report`: files, and one clear line for what is wrong."""

import json

import pytest

from understudy import report
from understudy.cli import run
from understudy.errors import UsageError


def test_both_kinds_are_written(results, tmp_path):
    paths = report.write(results("adult"), tmp_path / "new" / "folder")
    assert [p.name for p in paths] == ["internal.html", "release.html"]
    assert sorted(p.name for p in (tmp_path / "new" / "folder").iterdir()) == ["internal.html", "release.html"]


@pytest.mark.parametrize("kind", ["internal", "release"])
def test_one_kind_is_written(results, tmp_path, kind):
    assert [report.kind_of(p) for p in report.write(results("adult"), tmp_path / "o", kind)] == [kind]
    assert len(list((tmp_path / "o").iterdir())) == 1


def wrong_files(tmp_path):
    good = {"format": 1, "header": {}, "release": {}}
    contents = {
        "empty": "",
        "text": "hello",
        "list": "[1]",
        "other": '{"a": 1}',
        "format": json.dumps(good | {"format": 99}),
        "hollow": json.dumps(good),
        "deep": "[" * 100_000,
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    return [*contents, "binary", "folder", "absent"]


def test_a_wrong_file_is_one_clear_line_and_leaves_nothing(tmp_path, capsys):
    for name in wrong_files(tmp_path):
        code = run(["report", str(tmp_path / name), "--out", str(tmp_path / "out")])
        streams = capsys.readouterr()
        assert code == 2, name
        assert streams.err.startswith("error: ") and streams.err.count("\n") == 1, name
        assert streams.out == "" and not (tmp_path / "out").exists()


def test_out_must_be_a_folder(results, tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="is a file"):
        report.write(results("bare"), tmp_path / "file")


def test_unknown_kind_is_named(results, tmp_path):
    with pytest.raises(UsageError, match="'secret' is not known"):
        report.write(results("bare"), tmp_path, "secret")


def test_command_prints_paths(results, tmp_path, capsys):
    assert run(["report", str(results("adult")), "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"{tmp_path}/internal.html  (not private: do not share)",
        f"{tmp_path}/release.html  (certificate, schema, synthetic rows only)",
    ]


def test_command_speaks_json(results, tmp_path, capsys):
    assert run(["report", str(results("adult")), "--out", str(tmp_path), "--kind", "release", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "pages": [{"kind": "release", "path": str(tmp_path / "release.html"), "compares_with_real_rows": False}]
    }


def test_a_missing_entry_is_named_by_its_address(results, tmp_path):
    data = json.loads(results("adult").read_text(encoding="utf-8"))
    del data["fidelity"]["whole"]
    (tmp_path / "result.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match="no entry /fidelity/whole"):
        report.write(tmp_path / "result.json", tmp_path)
