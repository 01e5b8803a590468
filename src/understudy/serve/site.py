"""What happens at the page's addresses.

GET shows and changes nothing; POST does one thing and leads back to a page (303), so reloading never repeats it. `table` in an
address names the file; everything else that a page shows is read from the files beside it (`work`), so there is no session to
lose. Whoever gets this far has passed the guard.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.manifest import path_of
from understudy.schema import Schema
from understudy.schema.facts import file_format
from understudy.serve import commands, describe, outlook
from understudy.serve.folders import ACCOUNTS, DICTIONARIES, TABLES, Folders
from understudy.serve.guard import FORM
from understudy.serve.jobs import Jobs
from understudy.serve.pages import page, templates
from understudy.serve.work import Work

EVENT_SECONDS = 0.5
REPORT_POLICY = (  # a report has a style of its own and needs nothing else; not even our own origin
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
)
REPORTS = {"release": "release.html", "internal": "internal.html"}


class Site:
    """The folders and the running jobs, and the handlers that share them."""

    def __init__(self, folders: Folders) -> None:
        self.folders, self.jobs = folders, Jobs()

    # -- what handlers share -------------------------------------------------------------------------------------------

    def work(self, request: Request) -> Work:
        """The table that the address or the form names."""
        sent = request.scope.get(FORM, request.query_params)
        return Work.open(self.folders, sent.get("table", ""))

    def show(self, request: Request, step: str, work: Work, **values: Any) -> Response:
        """A page of one table, with the steps that can be reached."""
        ready = work.schema.is_file() and describe.ready(work.schema, work.table)
        reach = [("describe", True), ("plan", ready), ("fit", ready and work.options.is_file())]
        reach += [("look", work.fitted), ("hand-over", work.fitted)]
        return page(request, step, work=work, reach=dict(reach), busy=self.jobs.running(work.name), **values)

    # -- choose --------------------------------------------------------------------------------------------------------

    def choose(self, request: Request) -> Response:
        """The named folders, or one folder inside them."""
        at = request.query_params.get("at")
        roots = list(self.folders.roots) if at is None else [self.folders.find(at)]
        if any(not root.is_dir() for root in roots):
            raise UsageError("there is no such folder in the folders of this page")
        shown = [
            (
                root,
                [(self.folders.name(one), one, one.stat().st_size) for one in self.folders.inside(root, TABLES)],
                [(self.folders.name(one), one.name) for one in self.folders.below(root)],
            )
            for root in roots
        ]
        return page(request, "choose", shown=shown, at=at)

    # -- describe ------------------------------------------------------------------------------------------------------

    def describe(self, request: Request) -> Response:
        """The schema as a form, its text beside it, and what is left to say."""
        work = self.work(request)
        values: dict[str, Any] = {"broken": "", "fields": [], "document": {}, "judgement": describe.Judgement()}
        try:
            document, stored = describe.load(work.schema, work.table)
            values |= {"document": document, "fields": describe.fields(document, work.table)}
            values |= {"judgement": describe.judge(document, work.table)}
            text = work.schema.read_text(encoding="utf-8-sig") if stored else describe.text_of(document, work.table)
        except UsageError as error:
            if not work.schema.is_file():
                raise
            values |= {"broken": str(error)}
            stored, text = True, work.schema.read_text(encoding="utf-8-sig", errors="replace")
        names = [field.name for field in values["fields"]]
        ours = {work.schema, work.options, path_of(work.synthetic)}
        dictionaries = [one for one in self.folders.inside(work.table.parent, DICTIONARIES) if one not in ours]
        return self.show(
            request,
            "describe",
            work,
            stored=stored,
            text=text,
            digest=describe.digest(names),
            dictionaries=[(self.folders.name(one), one.name) for one in dictionaries],
            check=self.jobs.find(work.name, "schema"),
            shown=describe.shown,
            constraints=describe.constraints(values["document"]),
            typed=file_format(work.table) == "parquet",
            **describe.roles(values["document"]),
            **values,
        )

    def describe_save(self, request: Request) -> Response:
        """Lay the form over the schema and write it, finished or not."""
        work, sent = self.work(request), request.scope[FORM]
        document = describe.merge(describe.load(work.schema, work.table)[0], sent, work.table)
        write_atomically(work.schema, describe.text_of(document, work.table))
        ready = describe.judge(document, work.table).ready
        return _to("plan" if ready and sent.get("then") == "plan" else "describe", work)

    def describe_text(self, request: Request) -> Response:
        """The schema as it was typed; what cannot be parsed is refused, so that nothing is lost."""
        work, text = self.work(request), request.scope[FORM].get("text", "").replace("\r\n", "\n")
        describe.document_of(text)
        write_atomically(work.schema, text if text.endswith("\n") else text + "\n")
        return _to("describe", work)

    def describe_check(self, request: Request) -> Response:
        """The live check: what the form as it stands would mean. Nothing is written."""
        work = self.work(request)
        document = describe.merge(describe.load(work.schema, work.table)[0], request.scope[FORM], work.table)
        judgement = describe.judge(document, work.table)
        html = templates().get_template("judgement.html").render(judgement=judgement, saved=False, work=work)
        return _json({"html": html, "problems": judgement.problems, "text": describe.text_of(document, work.table)})

    def describe_import(self, request: Request) -> Response:
        """A data dictionary of the same folder becomes the schema."""
        work, sent = self.work(request), request.scope[FORM]
        found = self.folders.find(sent.get("dictionary", ""))
        if work.schema.exists() and not sent.get("replace"):
            raise UsageError(f"{work.schema.name!r} exists already; tick the box to replace it")
        write_atomically(work.schema, describe.imported(found))
        return _to("describe", work)

    def describe_rows(self, request: Request) -> Response:
        """Hold the schema against the rows, by the command that does so; the answer is for the holder."""
        work = self.work(request)
        self.jobs.start(work.name, commands.check(work)).process.wait()
        return _to("describe", work, "#rows")

    # -- plan ----------------------------------------------------------------------------------------------------------

    def plan(self, request: Request) -> Response:
        """Budget in; cost, attacker's gain and expected quality out, before a row is read."""
        work, sent = self.work(request), dict(request.query_params)
        if "epsilon" not in sent and work.options.is_file():
            sent = {
                key: str(value)
                for key, value in outlook.saved(work.options).items()
                if key in ("epsilon", "delta", "method", "rows")
            } | sent
        schema = Schema.load(work.schema)
        seen, problem, wish = None, "", outlook.Wish()
        try:
            wish = outlook.Wish.read(sent)
            seen = outlook.outlook(schema, wish)
        except UsageError as error:
            problem = str(error)
        return self.show(
            request,
            "plan",
            work,
            schema=schema,
            wish=wish,
            sent=sent,
            seen=seen,
            problem=problem,
            methods=outlook.methods(),
            uses=outlook.USES,
        )

    def plan_save(self, request: Request) -> Response:
        """Write the options of the fit."""
        work = self.work(request)
        wish = outlook.Wish.read(request.scope[FORM])
        seen = outlook.outlook(Schema.load(work.schema), wish)
        outlook.save(
            work.options, table=work.table, schema=work.schema, model=work.model, method=seen.method, wish=wish
        )
        return _to("fit", work)

    # -- fit -----------------------------------------------------------------------------------------------------------

    def fit(self, request: Request) -> Response:
        """The button, or how far the fit is, or how it ended."""
        work = self.work(request)
        job = self.jobs.find(work.name, "fit")
        options = outlook.saved(work.options)
        running = job is not None and job.code is None
        return self.show(
            request,
            "fit",
            work,
            job=job,
            fresh=job is not None and work.fitted and work.inner(work.model, "model.json").stat().st_mtime >= job.began,
            progress=None if job is None else job.progress(),
            options=options,
            left=None if running else _left(work, float(options["delta"])),
            command=commands.typed(commands.fit(work), work.table.parent),
            accounts=[] if running else self._accounts(work),
            useful=running or outlook.useful(Schema.load(work.schema), options),
            reload=running,
        )

    def fit_start(self, request: Request) -> Response:
        """Start or resume; a model that is there is replaced only if the form says so."""
        work, sent = self.work(request), request.scope[FORM]
        if work.fitted and not sent.get("again"):
            raise UsageError("there is a model already; tick the box to spend epsilon again and replace it")
        account = self.folders.find(sent["account"]) if sent.get("account") else None
        flags = {name: bool(sent.get(name)) for name in ("resume", "force")}
        self.jobs.start(work.name, commands.fit(work, account=account, overwrite=work.fitted, **flags))
        return _to("fit", work)

    def _accounts(self, work: Work) -> list[tuple[str, str]]:
        """Accounts beside the table, with what is left in them."""
        from understudy.account import Account

        shown = []
        for file in self.folders.inside(work.table.parent, ACCOUNTS):
            try:
                book = Account(file).book
                left = f"epsilon {book.total:.3g} of {book.budget.epsilon:g} is charged"
            except UsageError:
                left = "cannot be read"
            shown.append((self.folders.name(file), f"{file.name} ({left})"))
        return shown

    def cancel(self, request: Request) -> Response:
        """Ctrl-C for whatever runs."""
        work = self.work(request)
        if (job := self.jobs.running(work.name)) is not None:
            job.cancel()
        return _to(_page_of(job.kind) if job else "fit", work)

    async def events(self, request: Request) -> Response:
        """Progress of what runs, as server-sent events, until it ends."""
        work = self.work(request)
        job = self.jobs.running(work.name)

        async def told() -> AsyncIterator[str]:
            last, state = "", "running"
            while state in ("running", "stopping") and not await request.is_disconnected():
                event = {"state": "done"} if job is None else job.progress()
                state, text = event["state"], json.dumps(event)
                if text != last:
                    yield f"data: {text}\n\n"
                last = text
                await asyncio.sleep(EVENT_SECONDS)

        return StreamingResponse(told(), media_type="text/event-stream")

    # -- look and hand over --------------------------------------------------------------------------------------------

    def look(self, request: Request) -> Response:
        """Certificate, synthetic rows, reports."""
        work = self.work(request)
        _require_model(work)
        jobs = {kind: self.jobs.find(work.name, kind) for kind in ("sample", "evaluate")}
        busy = self.jobs.running(work.name)
        others = [one for one in self.folders.inside(work.table.parent, TABLES) if describe.held_out(one, work.table)]
        return self.show(
            request,
            "look",
            work,
            certificate=work.inner(work.model, "certificate.txt").read_text(encoding="utf-8"),
            findings=_verify(work),
            reports={kind: _current(work, work.inner(work.evaluation, file)) for kind, file in REPORTS.items()},
            others=[(self.folders.name(one), one.name) for one in others],
            jobs=jobs,
            progress=None if busy is None else busy.progress(),
            reload=busy is not None,
        )

    def sample(self, request: Request) -> Response:
        """Draw rows from the model."""
        work, rows = self.work(request), request.scope[FORM].get("rows", "").strip()
        if rows and not (rows.isascii() and rows.isdigit() and len(rows) < 12):
            raise UsageError("rows must be a whole number")
        self.jobs.start(work.name, commands.sample(work, int(rows) if rows else None))
        return _to("look", work, "#rows")

    def evaluate(self, request: Request) -> Response:
        """Measure against held-out rows and draw both reports; where none are named, the release report alone."""
        work, named = self.work(request), request.scope[FORM].get("real", "")
        real = Work.open(self.folders, named).table if named else None
        self.jobs.start(work.name, commands.evaluate(work, real))
        return _to("look", work, "#reports")

    def report(self, request: Request) -> Response:
        """A report as it was written, in a sandbox."""
        work, kind = self.work(request), request.path_params["kind"]
        if kind == "internal" and request.query_params.get("seen") != "yes":
            return self.show(request, "internal", work)
        file = work.inner(work.evaluation, REPORTS.get(kind, "release.html"))
        if kind not in REPORTS or not file.is_file():
            raise UsageError("there is no such report yet")
        return FileResponse(file, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})

    def hand_over(self, request: Request) -> Response:
        """What may leave, and how to do it all again."""
        work = self.work(request)
        _require_model(work)
        options = outlook.saved(work.options) if work.options.is_file() else _from_plan(work)
        files = [(file.name, file, file.stat().st_size) for file in sorted(work.model.iterdir()) if file.is_file()]
        return self.show(
            request,
            "hand-over",
            work,
            files=files,
            findings=_verify(work),
            evidence=sorted(one.name for one in work.evidence.iterdir()) if work.evidence.is_dir() else [],
            written=self.jobs.find(work.name, "evidence"),
            release=_current(work, work.inner(work.evaluation, REPORTS["release"])),
            synthetic=work.synthetic.stat().st_size if work.synthetic.is_file() else None,
            commands=commands.again(work, options),
            script=commands.script(work, options),
        )

    def evidence(self, request: Request) -> Response:
        """Checklists, cards and metadata for reviewers, by the command that writes them."""
        work = self.work(request)
        self.jobs.start(work.name, commands.evidence(work)).process.wait()
        return _to("hand-over", work, "#evidence")

    def download(self, request: Request) -> Response:
        """Files that may be handed on: synthetic rows, certificate, script."""
        work, what = self.work(request), request.path_params["what"]
        if what == "script":
            text = commands.script(work, outlook.saved(work.options) if work.options.is_file() else _from_plan(work))
            return PlainTextResponse(text, headers={"content-disposition": 'attachment; filename="again.py"'})
        offered: dict[str, Callable[[], Path]] = {
            "synthetic": lambda: work.synthetic,
            "certificate": lambda: work.inner(work.model, "certificate.txt"),
            "certificate-json": lambda: work.inner(work.model, "certificate.json"),
        }
        if what not in offered or not (file := offered[what]()).is_file():
            raise UsageError("there is no such file to hand over yet")
        return FileResponse(file, filename=file.name)


# -- small things ----------------------------------------------------------------------------------------------------


def _to(step: str, work: Work, place: str = "") -> Response:
    return RedirectResponse(f"/{step}?table={quote(work.name)}{place}", status_code=303)


def _page_of(kind: str) -> str:
    return {"fit": "fit", "schema": "describe"}.get(kind, "look")


def _json(content: object) -> Response:
    return Response(json.dumps(content), media_type="application/json")


def _require_model(work: Work) -> None:
    if not work.fitted:
        raise UsageError("there is no model yet; fit one first")


def _verify(work: Work) -> list[Any]:
    from understudy.accounting.verification import verify

    return list(verify(work.model))


def _from_plan(work: Work) -> dict[str, Any]:
    """Method and budget of a model that was fitted by hand."""
    plan = json.loads(work.inner(work.model, "plan.json").read_text(encoding="utf-8"))
    return {"method": plan["method"], **plan["budget"]}


def _current(work: Work, report: Path) -> bool:
    """Whether a report is there and not older than the rows that it is about."""
    if not report.is_file() or not work.synthetic.is_file():
        return False
    return report.stat().st_mtime >= work.synthetic.stat().st_mtime


def _left(work: Work, delta: float) -> tuple[bool, float] | None:
    """Of a fit that was stopped: whether it can be resumed, and what it has spent."""
    if not work.folders.require(work.checkpoint).is_dir():
        return None
    from understudy.begin import left_behind

    return left_behind(work.checkpoint, delta)
