"""The pages of the whole way, without a browser; one slow test walks it with a real fit."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from understudy.cli import run
from understudy.cli.serve import check_host
from understudy.errors import UsageError
from understudy.serve import jobs

TABLE = {"table": "0/people.csv"}


def test_a_step_is_offered_when_it_can_be_taken(visitor):
    html = visitor.client.get("/describe", params=TABLE).text
    assert 'href="/plan?table=0/people.csv"' in html and 'href="/fit?table' not in html and "Hand over" in html
    for page in ("/look", "/hand-over", "/report/release", "/download/synthetic"):
        assert visitor.client.get(page, params=TABLE).status_code == 400


def test_a_plan_says_what_it_costs_and_is_saved_as_options_of_fit(visitor, folder):
    html = visitor.client.get("/plan", params=TABLE | {"epsilon": "0.7", "method": "independent", "rows": "400"}).text
    assert "What the best attacker gains" in html and "class histogram" in html
    assert (
        visitor.post("/plan/save", TABLE | {"epsilon": "0.7", "delta": "1e-6", "method": "independent"}).status_code
        == 303
    )
    saved = yaml.safe_load((folder / "people.fit.yaml").read_text())
    assert saved | {"data": "people.csv", "schema": "people.yaml", "out": "people.understudy"} == saved
    assert (saved["method"], saved["epsilon"], saved["delta"]) == ("independent", 0.7, 1e-06)
    html = visitor.client.get("/fit", params=TABLE).text
    assert "understudy fit --config people.fit.yaml" in html and "Start the fit" in html


@pytest.mark.parametrize(("epsilon", "asked"), [("0.7", False), ("0.0001", True)])
def test_a_fit_of_no_use_has_to_be_insisted_on(visitor, epsilon, asked):
    """What `fit` refuses without --force has a box on the page; who names a method is asked only where none can work."""
    wish = TABLE | {"epsilon": epsilon, "delta": "1e-6", "method": "independent", "rows": "400"}
    assert visitor.post("/plan/save", wish).status_code == 303
    assert ('name="force"' in visitor.client.get("/fit", params=TABLE).text) == asked


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"epsilon": "x"}, "epsilon must be a number"),
        ({"epsilon": "-1"}, "cannot be planned"),
        ({"epsilon": "nan"}, "finite"),
        ({"rows": "0.5"}, "whole number"),
        ({"method": "nothing"}, "unknown"),
        ({"delta": "0.01", "rows": "400", "method": "independent"}, "is not below 1 / 400"),
    ],
)
def test_what_is_wrong_with_a_wish_is_said_on_the_page(visitor, sent, said):
    answer = visitor.client.get("/plan", params=TABLE | sent)
    assert answer.status_code == 200 and said in answer.text
    if "delta" not in sent:
        assert visitor.post("/plan/save", TABLE | sent).status_code == 400


def test_methods_without_a_guarantee_are_not_offered(visitor):
    html = visitor.client.get("/plan", params=TABLE | {"method": "independent"}).text
    assert "<option>mst</option>" in html
    assert (
        "pate-gan-as-published" not in html.replace("g-pate", "")
        and "data-dependent" not in html
        and "<option>gan</option>" not in html
    )


def test_a_fit_runs_the_command_that_is_shown_and_only_when_asked(visitor, site, folder, monkeypatch):
    started = []
    monkeypatch.setattr(site.jobs, "start", lambda name, words: started.append((name, words)))
    visitor.post("/plan/save", TABLE | {"method": "independent"})
    visitor.client.get("/fit", params=TABLE)
    assert started == []
    visitor.post("/fit/start", TABLE)
    visitor.post("/fit/start", TABLE | {"resume": "1"})
    config = str(folder / "people.fit.yaml")
    assert started == [
        ("0/people.csv", ["fit", "--config", config]),
        ("0/people.csv", ["fit", "--config", config, "--resume"]),
    ]
    from understudy.account import Account

    Account.create(folder / "clinic.account", units=["row"], epsilon=3.0, delta=1e-5)
    assert "clinic.account (epsilon 0 of 3 is charged)" in visitor.client.get("/fit", params=TABLE).text
    visitor.post("/fit/start", TABLE | {"account": "0/clinic.account", "force": "1"})
    assert started.pop()[1] == ["fit", "--config", config, "--account", str(folder / "clinic.account"), "--force"]
    (folder / "people.understudy").mkdir()
    (folder / "people.understudy" / "model.json").write_text("{}")
    assert visitor.post("/fit/start", TABLE).status_code == 400, "a model is not replaced unasked"
    visitor.post("/fit/start", TABLE | {"again": "1"})
    assert started[2][1] == ["fit", "--config", config, "--overwrite"]


def test_what_a_stopped_fit_leaves_is_said(visitor, folder):
    visitor.post("/plan/save", TABLE | {"method": "independent"})
    (folder / "people.understudy.checkpoint").mkdir()
    assert visitor.client.get("/fit", params=TABLE).status_code == 200


def test_the_internal_report_stands_behind_a_banner(visitor, folder):
    (folder / "people.evaluation").mkdir()
    (folder / "people.evaluation" / "internal.html").write_text("<p>real figures</p>")
    first = visitor.client.get("/report/internal", params=TABLE)
    assert "Do not share" in first.text and "real figures" not in first.text
    shown = visitor.client.get("/report/internal", params=TABLE | {"seen": "yes"})
    assert "real figures" in shown.text and shown.headers["content-security-policy"].startswith(
        "sandbox; default-src 'none'"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"host": "0.0.0.0"}, "--other-host"),
        ({"host": "192.0.2.1"}, "--other-host"),
        ({"host": "192.0.2.1", "other_host": True}, "needs --tls-certificate"),
        ({"host": "0.0.0.0", "other_host": True}, "every address"),
        ({"host": "127.0.0.1", "certificate": Path("x.pem")}, "belong together"),
    ],
)
def test_another_host_takes_a_flag_and_tls(words, said):
    with pytest.raises(UsageError, match=said):
        check_host(**{"other_host": False, "certificate": None, "key": None} | words)
    assert check_host("127.0.0.1", False, None, None) is False


def test_serve_refuses_what_is_no_folder(tmp_path, capsys):
    assert run(["serve", str(tmp_path / "nothing"), "--no-browser"]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert run(["serve", "--no-browser"]) == 2
    assert run(["serve", str(tmp_path), "--host", "0.0.0.0"]) == 2


@pytest.mark.slow
def test_the_whole_way_with_a_real_fit(visitor, site, folder):
    def wait(kind):
        job = site.jobs.find("0/people.csv", kind)
        while job.code is None:
            time.sleep(0.1)
        assert job.state == "done", job.messages()

    visitor.post("/describe/rows", TABLE)
    assert "The table fits" in visitor.client.get("/describe", params=TABLE).text
    visitor.post("/plan/save", TABLE | {"method": "independent", "epsilon": "2"})
    visitor.post("/fit/start", TABLE | {"force": "1"})
    wait("fit")
    assert "There is a model" in visitor.client.get("/fit", params=TABLE).text
    visitor.post("/look/sample", TABLE | {"rows": "300"})
    wait("sample")
    assert (folder / "people.synthetic.csv").read_text().count("\n") == 301
    (folder / "other.csv").write_text((folder / "people.csv").read_text())
    visitor.post("/look/evaluate", TABLE | {"real": "0/other.csv"})
    wait("evaluate")
    look = visitor.client.get("/look", params=TABLE).text
    assert "The certificate holds" in look and "Release report" in look
    assert visitor.client.get("/report/release", params=TABLE).status_code == 200
    hand_over = visitor.client.get("/hand-over", params=TABLE).text
    assert "understudy fit people.csv --schema people.yaml --epsilon 2" in hand_over
    assert visitor.client.get("/download/synthetic", params=TABLE).text.startswith('"person","age","sex","ill"')
    visitor.post("/hand-over/evidence", TABLE)
    assert "FILL IN" in visitor.client.get("/hand-over", params=TABLE).text and any(
        (folder / "people.evidence").iterdir()
    )
    script = visitor.client.get("/download/script", params=TABLE).text
    assert "us.method('independent')(epsilon=2.0" in script
    for name in ("people.understudy", "people.synthetic.csv"):
        (folder / name).rename(folder / f"old-{name}")
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True, capture_output=True)
    assert (folder / "people.synthetic.csv").read_text().startswith('"person","age","sex","ill"')


@pytest.mark.parametrize("late", [True, False])
def test_a_fit_that_was_cancelled_too_late_is_done(visitor, site, folder, monkeypatch, late):
    """It said "Stopped." and "The fit is done." on one page."""
    visitor.post("/plan/save", TABLE | {"method": "independent"})
    (folder / "people.understudy").mkdir()
    (folder / "people.understudy" / "model.json").write_text("{}")
    real = subprocess.Popen
    monkeypatch.setattr(
        jobs.subprocess, "Popen", lambda words, **rest: real([sys.executable, "-c", "raise SystemExit(130)"], **rest)
    )
    job = site.jobs.start("0/people.csv", ["fit"])
    job.process.wait()
    job.began += -60 if late else 60
    html = visitor.client.get("/fit", params=TABLE).text
    assert ("Stopped." in html, "There is a model" in html, "The fit is done." in html) == (not late, late, late)
    assert ("earlier fit" in html) is not late


def test_reports_of_other_rows_are_not_offered(visitor, folder, monkeypatch):
    monkeypatch.setattr("understudy.serve.site._verify", lambda work: [])
    (folder / "people.understudy").mkdir()
    for name in ("model.json", "certificate.txt", "certificate.json"):
        (folder / "people.understudy" / name).write_text("{}")
    (folder / "people.evaluation").mkdir()
    (folder / "people.evaluation" / "release.html").write_text("old")
    (folder / "people.synthetic.csv").write_text("new")
    os.utime(folder / "people.evaluation" / "release.html", (1, 1))
    html = visitor.client.get("/look", params=TABLE).text
    assert "/report/release" not in html and "Draw the release report" in html
    os.utime(folder / "people.evaluation" / "release.html")
    os.utime(folder / "people.synthetic.csv", (1, 1))
    assert "/report/release" in visitor.client.get("/look", params=TABLE).text


def test_held_out_rows_are_files_with_the_same_columns(folder):
    from understudy.serve.describe import held_out

    table = folder / "people.csv"
    header = table.read_text().splitlines()[0]
    for name, text, fits in (("a.csv", header, True), ("b.csv", "x,y", False), ("people.synthetic.csv", header, False),
                             ("c.csv", "", False)):  # fmt: skip
        (folder / name).write_text(text + "\n")
        assert held_out(folder / name, table) is fits, name
    assert not held_out(table, table)


def test_a_stopped_fit_can_be_resumed_and_nothing_else(visitor, folder, monkeypatch):
    """Beside "Resume" stood a button that was always refused."""
    visitor.post("/plan/save", TABLE | {"method": "independent"})
    monkeypatch.setattr("understudy.serve.site._left", lambda work, delta: (True, 0.5))
    html = visitor.client.get("/fit", params=TABLE).text
    assert "Resume" in html and "Start the fit" not in html and "move that folder away" in html
