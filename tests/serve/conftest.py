"""A small folder of tables and the page on it, without a browser and without a network."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from understudy.serve.app import create
from understudy.serve.folders import Folders
from understudy.serve.guard import Guard
from understudy.serve.site import Site

PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"
TABLE = "person,age,sex,ill\n" + "".join(f"{i},{20 + i % 60},{'mf'[i % 2]},{i % 3 == 0}\n" for i in range(400))
SCHEMA = """\
understudy: schema
label: {column: ill}
columns:
  person: {kind: identifier}
  age: {kind: integer, lower: 0, upper: 120}
  sex: {kind: categorical, categories: [m, f]}
  ill: {kind: boolean}
"""


class Visitor:
    """A browser's manners: cookies, Origin, Sec-Fetch-Site, and the token of the page's forms."""

    def __init__(self, guard: Guard) -> None:
        self.guard, self.said = guard, []
        guard.tell = self.said.append
        self.client = TestClient(guard, base_url=ORIGIN, follow_redirects=False)
        self.csrf = ""

    def enter(self) -> "Visitor":
        """Open the first address, as the terminal shows it."""
        answer = self.client.get(self.guard.address)
        assert answer.status_code == 303 and answer.headers["location"] == "/"
        self.csrf = next(iter(self.guard.sessions.values()))
        return self

    def get(self, path: str, **headers: str):
        return self.client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, fields: dict[str, str] | None = None, **headers: str):
        """A form of the page; a header set to "" is left out."""
        sent = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in sent.items() if value}
        return self.client.post(path, data={"csrf": self.csrf} | (fields or {}), headers=kept)

    def form(self, html: str) -> dict[str, str]:
        """The fields of the schema's form as a browser would send them back unchanged."""
        part = html[html.index('class="describe"') : html.index('class="actions"')]
        found = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', part))
        ticked = re.findall(r'<input type="checkbox" name="([^"]+)" value="1"( checked)?', part)
        found = {name: value for name, value in found.items() if (name, "") not in ticked}
        for name, body in re.findall(r'<select[^>]*name="([^"]+)".*?>(.*?)</select>', part, re.S):
            chosen = re.findall(r'<option value="([^"]*)" selected', body)
            found[name] = chosen[0] if chosen else re.findall(r'<option value="([^"]*)"', body)[0]
        found |= dict(re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n(.*?)</textarea>', part, re.S))
        return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table and its schema, and a secret beside it that nobody may reach."""
    (tmp_path / "secret.csv").write_text("name\nnobody\n", encoding="utf-8")
    inside = tmp_path / "tables"
    inside.mkdir()
    (inside / "people.csv").write_text(TABLE, encoding="utf-8")
    (inside / "people.yaml").write_text(SCHEMA, encoding="utf-8")
    return inside


@pytest.fixture
def guard(folder: Path) -> Iterator[Guard]:
    hosts = frozenset(f"{name}:{PORT}" for name in ("127.0.0.1", "localhost", "[::1]"))  # as `understudy serve` says
    made = create(Folders.named([folder]), origin=f"http://127.0.0.1:{PORT}", hosts=hosts)
    yield made
    site_of(made).jobs.close()


def site_of(guard: Guard) -> Site:
    """What stands behind the guard."""
    return next(route.endpoint.__self__ for route in guard.app.routes if route.path == "/fit")


@pytest.fixture
def site(visitor: Visitor) -> Site:
    return site_of(visitor.guard)


@pytest.fixture
def stranger(guard: Guard) -> Visitor:
    """Somebody without a cookie."""
    return Visitor(guard)


@pytest.fixture
def visitor(guard: Guard) -> Visitor:
    """The holder of the table, who opened the address."""
    return Visitor(guard).enter()
