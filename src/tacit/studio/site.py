"""The site: every page with the right it needs, behind one check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tacit.errors import DataError, StoreError, TacitError, Unavailable
from tacit.service.store import Store
from tacit.studio.access import SIGN_IN, Refusal, Right, account_of, refusal
from tacit.studio.accounts import Account, Accounts, Role
from tacit.studio.guess_delay import GuessDelay
from tacit.studio.page_templates import page_templates
from tacit.studio.release import Releases
from tacit.survey import Published

LONGEST_FORM = 1 << 16
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass
class Studio:
    """What the pages work with."""

    store: Store
    accounts: Accounts
    releases: Releases
    delay: GuessDelay = field(default_factory=GuessDelay)
    templates: Environment = field(default_factory=page_templates)
    #: Where respondents find the surveys, with a slash at its end; None if it is not known.
    respondents: str | None = None

    def surveys(self, account: Account) -> list[Published]:
        """The surveys that an account has a role for."""
        return [
            survey
            for survey in self.store.published()
            if account.role(survey.survey.fingerprint) is not None
        ]

    def survey(self, slug: str) -> Published | None:
        """The survey with this name in addresses."""
        found = [survey for survey in self.store.published() if survey.slug == slug]
        return found[0] if found else None


@dataclass(frozen=True)
class PageVisit:
    """A request that was allowed, with its account, its survey and its form."""

    studio: Studio
    request: Request
    account: Account | None
    published: Published | None
    form: dict[str, str]

    @property
    def person(self) -> Account:
        """The account; the page is not for everyone."""
        assert self.account is not None
        return self.account

    @property
    def survey(self) -> Published:
        """The survey; the address of the page names one."""
        assert self.published is not None
        return self.published

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page from a template."""
        shared = {"account": self.account, "roles": Role, "respondents": self.studio.respondents}
        text = self.studio.templates.get_template(template).render(**shared, **values)
        return HTMLResponse(text, status)

    def record(self, action: str, subject: str = "") -> None:
        """Add what was done to the audit log."""
        name = "" if self.account is None else self.account.name
        self.studio.accounts.record(name, action, subject)


Handler = Callable[[PageVisit], Response]


@dataclass(frozen=True)
class PageRoute:
    """A method and an address, the right it needs, and what answers."""

    method: str
    path: str
    needs: Right | Role
    handler: Handler


def application(studio: Studio, pages: Sequence[PageRoute]) -> Starlette:
    """The application; each page is answered in a thread, since databases block."""
    routes = [
        Route(page.path, _endpoint(studio, page), methods=[page.method], name=page.path)
        for page in pages
    ]
    return Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_found})


def _endpoint(studio: Studio, page: PageRoute) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        form = await _form(request) if page.method == "POST" else {}
        response = await run_in_threadpool(_answer, studio, page, request, form)
        response.headers.update(HEADERS)
        return response

    return answer


def _answer(
    studio: Studio, page: PageRoute, request: Request, form: dict[str, str] | None
) -> Response:
    try:
        account = account_of(request, studio.accounts)
        slug = request.path_params.get("survey")
        survey = None if slug is None else studio.survey(slug)
        fingerprint = None if survey is None else survey.survey.fingerprint
        why = refusal(request, page.needs, account, fingerprint)
        if why is not None:
            return refused(studio, request, why)
        if form is None:
            return refused(studio, request, Refusal(413, "The form is too large."))
        return page.handler(PageVisit(studio, request, account, survey, form))
    except Unavailable as error:
        return refused(studio, request, Refusal(503, f"The database does not answer: {error}"))
    except (DataError, StoreError) as error:
        return refused(studio, request, Refusal(400, str(error)))
    except TacitError as error:
        return refused(studio, request, Refusal(500, str(error)))


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of a form; None if it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_FORM:
            return None
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def refused(studio: Studio, request: Request, why: Refusal) -> Response:
    """A page, or problem details (RFC 9457) for programs; the first page asks to sign in."""
    if not _reads_pages(request):
        content = {"type": "about:blank", "title": why.reason, "status": why.status}
        return JSONResponse(content, why.status, media_type="application/problem+json")
    if why is SIGN_IN and request.method == "GET":
        return RedirectResponse("/sign-in", 303)
    template = studio.templates.get_template("refused.html")
    return HTMLResponse(template.render(account=None, why=why), why.status)


def _reads_pages(request: Request) -> bool:
    programs = "authorization" in request.headers
    return not programs and "text/html" in request.headers.get("accept", "")


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    content = {"type": "about:blank", "title": "Not found.", "status": status}
    return JSONResponse(content, status, HEADERS, media_type="application/problem+json")
