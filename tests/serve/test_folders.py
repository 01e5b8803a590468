"""Paths: nothing outside the named folders can be opened, listed, written or learned of."""

import os

import pytest

from understudy.errors import UsageError
from understudy.serve.folders import Folders
from understudy.serve.work import Work

WAYS_OUT = [
    "0/../secret.csv", "0/../../etc/passwd", "0//etc/passwd", "/etc/passwd", "etc/passwd", "1/people.csv", "-1/people.csv",
    "0/sub/../../secret.csv", "0/..", "..", "", "0/link.csv", "0/down/secret.csv",
    "0/people.csv\0.csv", "0/..\\secret.csv", "²/people.csv",
    "0/loop/people.csv", "0/%2e%2e/secret.csv",
]  # fmt: skip
PAGES = [
    "/describe",
    "/plan",
    "/fit",
    "/look",
    "/hand-over",
    "/events",
    "/report/release",
    "/report/internal",
    "/download/synthetic",
]


@pytest.fixture
def with_links(folder):
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "down").symlink_to(folder.parent)
    (folder / "loop").symlink_to(folder / "loop")
    return folder


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_way_leads_out(with_links, way):
    folders = Folders.named([with_links])
    with pytest.raises(UsageError):
        Work.open(folders, way)


def test_pages_of_paths_outside_are_problems_without_a_trace(visitor, with_links):
    for page in PAGES:
        for way in ("0/../secret.csv", "0/link.csv", "0/down/secret.csv"):
            answer = visitor.client.get(page, params={"table": way})
            assert answer.status_code == 400 and "nobody" not in answer.text, (page, way)


def test_what_is_there_and_what_is_not_outside_look_the_same(visitor, with_links):
    answers = {
        visitor.client.get("/describe", params={"table": way}).text for way in ("0/../secret.csv", "0/../nothing.csv")
    }
    assert len(answers) == 1


def test_lists_show_no_link_that_leads_out_and_nothing_hidden(visitor, with_links):
    (with_links / ".hidden.csv").write_text("a\n1\n")
    (with_links / "people.understudy").mkdir()
    html = visitor.get("/").text
    assert "people.csv" in html
    assert not [name for name in ("link.csv", "down", "hidden", "secret", "people.understudy") if name in html]
    for way in ("0/..", "0/down", "5", "0/people.csv"):
        assert visitor.client.get("/", params={"at": way}).status_code == 400


def test_a_link_inside_is_fine(visitor, folder):
    (folder / "again.csv").symlink_to(folder / "people.csv")
    assert visitor.client.get("/describe", params={"table": "0/again.csv"}).status_code == 200


@pytest.mark.parametrize("ending", [".yaml", ".fit.yaml", ".understudy", ".evaluation"])
def test_neighbours_that_lead_out_are_neither_read_nor_written(visitor, folder, ending):
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "model.json").write_text("nobody")
    neighbour = folder / f"people{ending}"
    neighbour.unlink(missing_ok=True)
    neighbour.symlink_to(outside if ending in (".understudy", ".evaluation") else folder.parent / "secret.csv")
    for page in PAGES:
        answer = visitor.client.get(page, params={"table": "0/people.csv"})
        assert "nobody" not in answer.text
    visitor.post("/describe/text", {"table": "0/people.csv", "text": "columns:\n  age: {kind: boolean}\n"})
    visitor.post("/plan/save", {"table": "0/people.csv", "epsilon": "1", "method": "independent"})
    assert (folder.parent / "secret.csv").read_text() == "name\nnobody\n"
    assert sorted(os.listdir(outside)) == ["model.json"]


def test_a_dictionary_outside_is_not_imported(visitor, folder):
    (folder.parent / "dictionary.json").write_text('{"columns": {}}')
    fields = {"table": "0/people.csv", "replace": "1", "dictionary": "0/../dictionary.json"}
    assert visitor.post("/describe/import", fields).status_code == 400


def test_a_file_is_no_folder(tmp_path):
    with pytest.raises(UsageError, match="is not a folder"):
        Folders.named([tmp_path / "nothing"])
    with pytest.raises(UsageError, match="at least one folder"):
        Folders.named([])
