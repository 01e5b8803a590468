"""The door of the page: who may ask at all.

A browser lets every web page send requests to this machine, so a local page needs more than a local address:

- *Host* must be the page's own, or a hostile name that resolves to 127.0.0.1 (DNS rebinding) would share its origin;
- *Origin* and *Sec-Fetch-Site* must say same-origin (`none`, an address typed by hand, may open pages and nothing else);
- a *cookie* (HttpOnly, SameSite=Strict) proves that this browser was given the first address, which carries a random token.
  A token is good for one exchange, because addresses stay in histories and process lists; the next one is then printed;
- every POST has to bring the page's own *form token*, which no other origin can read;
- bodies are forms: nothing can be uploaded, and nothing is longer than `LARGEST_FORM`;
- no answer carries a CORS header, and the content-security policy lets pages use nothing from elsewhere.

What is refused gets one line that depends on the kind of refusal alone. Everything passes here, static files too: who may not ask
cannot even learn that the page exists, except by the refusal itself.
"""

import secrets
from collections.abc import Callable
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_FORM = 4 << 20  # bytes; a schema of some ten thousand columns
MOST_FIELDS = 200_000
MOST_SESSIONS = 16
OPEN = "/open"
FORM = "understudy.form"  # where handlers find the fields of a POST
CSRF = "understudy.csrf"  # where pages find the token that their forms must bring
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # stricter, and browsers would send `Origin: null` with our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


# Outside the application, so without its style sheet; still to be read on a phone and in the dark.
REFUSAL = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Refused · Understudy</title></head>
<body><h1>Refused</h1><p>{reason}.</p></body></html>
"""


class Refused(Exception):
    """A request that goes no further: status and reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Guard:
    """ASGI middleware around the page. `origin` is its only address, `hosts` what browsers may call that host."""

    def __init__(
        self, app: ASGIApp, *, origin: str, hosts: frozenset[str], tell: Callable[[str], None] = lambda address: None
    ) -> None:
        self.app, self.origin, self.hosts, self.tell = app, origin, hosts, tell
        self.secure = origin.startswith("https:")
        self.cookie = f"understudy-{origin.rpartition(':')[2]}"  # browsers share cookies between ports
        self.sessions: dict[str, str] = {}  # cookie -> form token
        self.token = secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """The first address; good for one browser."""
        return f"{self.origin}{OPEN}?token={self.token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer = await self._admit(scope, receive)
        except Refused as refused:
            answer = HTMLResponse(REFUSAL.format(reason=escape(refused.reason)), status_code=refused.status)
        await (answer or self.app)(scope, receive, guarded)

    async def _admit(self, scope: Scope, receive: Receive) -> Response | None:
        """None to let the request through; an answer, or `Refused`, otherwise."""
        headers, method = Headers(scope=scope), str(scope["method"])
        if method not in ("GET", "HEAD", "POST"):
            raise Refused(405, "pages are read and forms are sent, nothing else")
        self._same_origin(headers, method)
        if scope["path"] == OPEN and method == "GET":
            return self._open(scope)
        session = self._session(headers)
        scope[CSRF] = self.sessions[session]
        if method == "POST":
            fields = await _fields(headers, receive)
            if not secrets.compare_digest(fields.pop("csrf", "").encode(), scope[CSRF].encode()):
                raise Refused(
                    403, "the form is not from this page, or from before it was started again; go back and reload"
                )
            scope[FORM] = fields
        return None

    def _same_origin(self, headers: Headers, method: str) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise Refused(403, "the request was sent to another host's name")
        own = {f"{self.origin.partition('://')[0]}://{hosts[0].lower()}"}
        if method == "POST" and not origins:
            raise Refused(403, "the request does not say which page it comes from")
        if any(origin.lower() not in own for origin in origins):
            raise Refused(403, "the request comes from another page")
        sites = headers.getlist("sec-fetch-site")
        typed = method != "POST" and headers.get("sec-fetch-mode") == "navigate"
        if any(site != "same-origin" and not (site == "none" and typed) for site in sites):
            raise Refused(403, "the request comes from another page")

    def _open(self, scope: Scope) -> Response:
        """The token of the first address becomes a cookie; the next address has another token."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            raise Refused(403, "this address was used or never given; the terminal shows the one that works")
        session = secrets.token_urlsafe(32)
        while len(self.sessions) >= MOST_SESSIONS:
            self.sessions.pop(next(iter(self.sessions)))
        self.sessions[session], self.token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self.cookie, session, httponly=True, samesite="strict", secure=self.secure)
        self.tell(self.address)
        return answer

    def _session(self, headers: Headers) -> str:
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load("; ".join(headers.getlist("cookie")))
        except CookieError:
            jar = SimpleCookie()
        given = jar[self.cookie].value.encode() if self.cookie in jar else b""
        found = [one for one in self.sessions if secrets.compare_digest(one.encode(), given)]
        if not found:
            raise Refused(403, "open the address that `understudy serve` shows in its terminal")
        return found[0]


async def _fields(headers: Headers, receive: Receive) -> dict[str, str]:
    """The fields of a form; anything that is no plain form is refused before it is read to its end."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(415, "only plain forms are taken; files cannot be uploaded")
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if message["type"] == "http.disconnect":
            raise Refused(400, "the form did not arrive whole")
        if len(body) > LARGEST_FORM:
            raise Refused(413, "the form is too large")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Refused(400, "the form cannot be read") from None
    return dict(pairs)
