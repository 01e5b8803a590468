"""The application: which address leads to which handler, what becomes of errors, and the guard around all of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from understudy.errors import UsageError
from understudy.serve.folders import Folders
from understudy.serve.guard import Guard
from understudy.serve.pages import page
from understudy.serve.site import Site


def create(
    folders: Folders, *, origin: str, hosts: frozenset[str], tell: Callable[[str], None] = lambda address: None
) -> Guard:
    """The whole application behind its guard."""
    site = Site(folders)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(site.jobs.close)

    routes = [
        Route("/", site.choose),
        Route("/describe", site.describe),
        Route("/describe/save", site.describe_save, methods=["POST"]),
        Route("/describe/text", site.describe_text, methods=["POST"]),
        Route("/describe/check", site.describe_check, methods=["POST"]),
        Route("/describe/import", site.describe_import, methods=["POST"]),
        Route("/describe/rows", site.describe_rows, methods=["POST"]),
        Route("/plan", site.plan),
        Route("/plan/save", site.plan_save, methods=["POST"]),
        Route("/fit", site.fit),
        Route("/fit/start", site.fit_start, methods=["POST"]),
        Route("/cancel", site.cancel, methods=["POST"]),
        Route("/events", site.events),
        Route("/look", site.look),
        Route("/look/sample", site.sample, methods=["POST"]),
        Route("/look/evaluate", site.evaluate, methods=["POST"]),
        Route("/report/{kind}", site.report),
        Route("/hand-over", site.hand_over),
        Route("/hand-over/evidence", site.evidence, methods=["POST"]),
        Route("/download/{what}", site.download),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={UsageError: _usage, OSError: _os_error, 404: _absent, Exception: _defect},
    )
    return Guard(app, origin=origin, hosts=hosts, tell=tell)


def _problem(request: Request, text: str, status: int) -> Response:
    back = request.headers.get("referer", "")
    inside = back.partition("://")[2].partition("/")[2]
    return page(request, "problem", status=status, text=text, back="/" + inside.lstrip("/\\"))


def _usage(request: Request, error: Exception) -> Response:
    return _problem(request, str(error), 400)


def _os_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    return _problem(request, f"A file cannot be used: {error.strerror or type(error).__name__}.", 400)


def _absent(request: Request, error: Exception) -> Response:
    return _problem(request, "There is no such page.", 404)


def _defect(request: Request, error: Exception) -> Response:
    return PlainTextResponse("A defect of understudy; the terminal has the trace.\n", status_code=500)
