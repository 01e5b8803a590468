"""Who may ask: every way in that a hostile page, name or form could try is refused, and the page's own way is not."""

import pytest

from tests.serve.conftest import ORIGIN, PORT
from understudy.serve import guard as guards

HOME, SAVE = "/", "/describe/text"
FORM = {"table": "0/people.csv", "text": "columns:\n  age: {kind: integer, lower: 0, upper: 1}\n"}


def test_the_first_address_becomes_a_cookie_and_a_redirect(stranger):
    answer = stranger.get(stranger.guard.address)
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
    assert "token" not in answer.headers["location"]
    assert stranger.get(HOME).status_code == 200


def test_a_token_is_good_for_one_browser_and_the_next_one_is_told(stranger):
    first = stranger.guard.address
    assert stranger.get(first).status_code == 303
    stranger.client.cookies.clear()
    assert stranger.get(first).status_code == 403
    assert stranger.said == [stranger.guard.address] and stranger.said[0] != first
    assert stranger.get(stranger.said[0]).status_code == 303


@pytest.mark.parametrize(
    "path", ["/", "/describe?table=0/people.csv", "/static/page.js", "/events?table=0/people.csv", "/x"]
)
def test_without_the_cookie_nothing_is_shown_not_even_that_it_exists(stranger, path):
    answers = [stranger.get(path), stranger.get(path, cookie=f"understudy-{PORT}=guess")]
    assert [one.status_code for one in answers] == [403, 403]
    assert all("people" not in one.text for one in answers)


@pytest.mark.parametrize("token", ["", "x", "%00", "é"])
def test_a_wrong_token_opens_nothing(stranger, token):
    answer = stranger.get(f"/open?token={token}")
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.nip.io:{PORT}",
        "",
        "localhost",
    ],
)
def test_another_name_for_this_machine_is_refused(visitor, host):
    assert visitor.get(HOME, host=host).status_code == 403
    assert visitor.post(SAVE, FORM, host=host, origin=f"http://{host}").status_code == 403


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_this_machine_has_three_names(visitor, host):
    cookie = f"{visitor.guard.cookie}={next(iter(visitor.guard.sessions))}"
    assert visitor.get(HOME, host=host, cookie=cookie).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", f"http://evil.example:{PORT}", f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT + 1}",
     f"http://127.0.0.1:{PORT}.evil.example", f"http://localhost:{PORT}", "file://", "chrome-extension://x"],
)  # fmt: skip
def test_another_origin_can_neither_write_nor_read(visitor, folder, origin):
    before = (folder / "people.yaml").read_text()
    assert visitor.post(SAVE, FORM, origin=origin).status_code == 403
    assert visitor.get(HOME, origin=origin).status_code == 403
    assert (folder / "people.yaml").read_text() == before


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "", "odd"])
def test_another_site_can_neither_write_nor_read(visitor, folder, site):
    before = (folder / "people.yaml").read_text()
    headers = [("origin", ORIGIN), ("sec-fetch-site", site), ("content-type", "application/x-www-form-urlencoded")]
    answer = visitor.client.post(SAVE, content=f"csrf={visitor.csrf}", headers=headers)
    assert answer.status_code == 403
    assert visitor.client.get(HOME, headers=[("sec-fetch-site", site)]).status_code == 403
    assert (folder / "people.yaml").read_text() == before


def test_a_typed_address_opens_a_page_but_loads_nothing_else(visitor):
    assert visitor.get(HOME, sec_fetch_site="none", sec_fetch_mode="navigate").status_code == 200
    assert visitor.get(HOME, sec_fetch_site="none", sec_fetch_mode="no-cors").status_code == 403
    assert visitor.get(HOME, sec_fetch_site="cross-site", sec_fetch_mode="navigate").status_code == 403


def test_a_post_has_to_say_where_it_comes_from(visitor):
    assert visitor.post(SAVE, FORM, origin="", sec_fetch_site="").status_code == 403
    assert visitor.post(SAVE, FORM, sec_fetch_site="").status_code == 303


@pytest.mark.parametrize("csrf", ["", "x", "é", "A" * 43])
def test_a_form_without_the_pages_token_does_nothing(visitor, folder, csrf):
    before = (folder / "people.yaml").read_text()
    assert visitor.post(SAVE, FORM | {"csrf": csrf}).status_code == 403
    assert (folder / "people.yaml").read_text() == before


def test_the_token_of_another_session_is_not_ours(visitor, guard):
    from tests.serve.conftest import Visitor

    other = Visitor(guard).enter()
    theirs = list(guard.sessions.values())[-1]
    assert visitor.post(SAVE, FORM | {"csrf": theirs}).status_code == 403
    assert theirs != visitor.csrf and other.get(HOME).status_code == 200


def test_every_route_that_takes_a_post_asks_for_the_token(visitor, guard):
    posts = [route.path for route in guard.app.routes if "POST" in (getattr(route, "methods", None) or ())]
    assert len(posts) >= 8
    assert {visitor.post(path, FORM | {"csrf": "x"}).status_code for path in posts} == {403}
    assert {visitor.get(path).status_code for path in posts} == {405}, "a link must not act"


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "text/plain", "application/json", ""])
def test_nothing_can_be_uploaded(visitor, kind):
    headers = {"origin": ORIGIN, "content-type": kind}
    assert visitor.client.post(SAVE, content=f"csrf={visitor.csrf}", headers=headers).status_code == 415


def test_a_form_has_an_end(visitor, monkeypatch):
    monkeypatch.setattr(guards, "LARGEST_FORM", 1000)
    assert visitor.post(SAVE, FORM | {"text": "x" * 2000}).status_code == 413
    monkeypatch.setattr(guards, "MOST_FIELDS", 2)
    assert visitor.post(SAVE, FORM).status_code == 400


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_refused_and_no_preflight_is_answered(visitor, method):
    preflight = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = visitor.client.request(method, HOME, headers=preflight)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "path", ["/", "/describe?table=0/people.csv", "/static/page.css", "/nowhere", "/describe?table=9/x.csv"]
)
def test_every_answer_forbids_the_rest(visitor, path):
    headers = visitor.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert (
        "unsafe" not in headers["content-security-policy"]
        and "frame-ancestors 'none'" in headers["content-security-policy"]
    )
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin" and headers["x-frame-options"] == "DENY"
    assert not [name for name in headers if name.startswith("access-control")]


def test_refusals_carry_the_same_headers(stranger):
    answer = stranger.get("/")
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert answer.status_code == 403 and "width=device-width" in answer.text and "in its terminal" in answer.text


def test_a_socket_is_closed(visitor):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), visitor.client.websocket_connect("/"):
        pass


def test_two_host_headers_are_none(visitor):
    answer = visitor.client.get(HOME, headers=[("host", f"127.0.0.1:{PORT}"), ("host", "evil.example")])
    assert answer.status_code == 403


def test_pages_have_no_inline_script_or_style(visitor):
    for path in ("/", "/describe?table=0/people.csv", "/plan?table=0/people.csv&method=independent"):
        html = visitor.get(path).text
        assert "<script>" not in html and " style=" not in html and "<style" not in html and " onclick" not in html
        assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html
