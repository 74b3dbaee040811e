"""The site: every page with the right it needs, behind one check."""

from __future__ import annotations

import asyncio
import enum
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit
from weakref import WeakValueDictionary

import anyio
from jinja2 import Environment
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.collect.http import PROBLEM, ClientDisconnected, ProblemType, Refused, read_body
from tacit.collect.limits import Prefix, TrustedProxies, prefixes
from tacit.collect.store import Store
from tacit.errors import DataError, StoreError, SurveyError, TacitError, Unavailable
from tacit.output.json_documents import unique_keys
from tacit.studio.accounts import Account, Accounts, Role
from tacit.studio.analyses import ReportContents
from tacit.studio.design_text import survey_meta
from tacit.studio.disclosure import require_comparable
from tacit.studio.drafts import Draft, Drafts, Previews
from tacit.studio.guess_limits import GuessLimits
from tacit.studio.models import ModelFolder
from tacit.studio.page_templates import page_templates
from tacit.studio.passkeys import Passkeys
from tacit.studio.release import FEWEST_SHOWN, Release, Releases, next_release_at
from tacit.studio.results import ReleaseHistory, waiting_text
from tacit.survey import Published

#: Names of cookies: of a session, and of a device on which somebody has signed in.
SESSION_COOKIE, DEVICE_COOKIE = "tacit-studio", "tacit-device"
SAFE_METHODS = ("GET", "HEAD")
T = TypeVar("T")


# Who may open which page --------------------------------------------------------------------------


class Right(enum.Enum):
    """What a page needs besides, or instead of, a role for a survey."""

    EVERYONE = "everyone"
    SIGNED_IN = "signed in"
    PERSON = "signed in, not with a token"
    AUTHOR = "signed in; a token needs the role owner for all surveys"
    PUBLISHER = "administrator; a token needs the role owner for all surveys"
    ADMINISTRATOR = "administrator, not with a token"


@dataclass(frozen=True)
class Refusal(ProblemType):
    """Why a request is refused; programs get the details as well."""

    details: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> dict[str, Any]:
        """Problem details for programs (RFC 9457), with more members if there are some."""
        return self.content() | self.details


class RefusalError(TacitError):
    """Raised if a visit is refused."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.title)
        self.why = why


SIGN_IN = Refusal("sign-in", 401, "Sign in first.")
NOT_FOUND = Refusal("not-found", 404, "There is no such page, or you may not see it.")
NOT_ALLOWED = Refusal("not-allowed", 403, "Your role does not allow this.")
OTHER_SITE = Refusal("other-site", 403, "The request came from another site.")


def account_of(request: Request, accounts: Accounts) -> Account | None:
    """The account of a token or of a session; None if there is neither."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind:
        return accounts.of_token(secret.strip()) if kind.lower() == "bearer" else None
    session = request.cookies.get(cookie_name(request, SESSION_COOKIE))
    return None if session is None else accounts.of_session(session)


def cookie_name(request: Request, name: str) -> str:
    """The name of a cookie for the scheme of a request.

    Browsers accept the prefix only from a secure origin, for the whole host, and send the cookie
    nowhere else; http://localhost is no secure origin.
    """
    return f"__Host-{name}" if request.url.scheme == "https" else name


def check_right(request: Request, needs: Right | Role, account: Account | None, key: str) -> None:
    """Refuse a request that an account may not make.

    `key` is the fingerprint of the survey in the address, or the key of the draft; empty if there
    is none. A survey that the account has no role for does not exist for it.
    """
    by_token = account is not None and account.token is not None
    if request.method not in SAFE_METHODS and not by_token and from_other_site(request):
        raise RefusalError(OTHER_SITE)
    if needs is Right.EVERYONE:
        return
    if account is None:
        raise RefusalError(SIGN_IN)
    if isinstance(needs, Role):
        role = account.role(key) if key else None
        if role is None:
            raise RefusalError(NOT_FOUND)
        allowed = role >= needs
    else:
        allowed = has_right(account, needs)
    if not allowed:
        raise RefusalError(NOT_ALLOWED)


def has_right(account: Account, needs: Right) -> bool:
    """Whether somebody who is signed in has a right that is not a role."""
    whole = account.most is Role.OWNER and account.only is None
    rights = {
        Right.PERSON: account.token is None,
        Right.AUTHOR: whole,
        Right.PUBLISHER: whole and account.administrator,
        Right.ADMINISTRATOR: account.administrator and account.token is None,
    }
    return rights.get(needs, True)


def from_other_site(request: Request) -> bool:
    """Whether a form may have been sent by a page of another site.

    Current browsers say where a request comes from (Sec-Fetch-Site), older ones at least the
    origin, with its scheme and port. A request with neither is refused: browsers send one of them
    with every form.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    return request.headers.get("origin") != origin_of(request)


def origin_of(request: Request) -> str:
    """The origin of the studio for a request, as browsers write it: scheme, host and port."""
    return origin(f"{request.scope['scheme']}://{request.headers.get('host', '')}")


def origin(address: str) -> str:
    """The origin of an address, without the port that its scheme implies. Raises ValueError.

    >>> origin("https://Studio.example.org:443/account")
    'https://studio.example.org'
    """
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    implied = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in (None, implied) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


class Turns:
    """At most `most` functions at once, and `most_of_one` requests of one visitor; others wait.

    Without a limit, one visitor with many requests would take all threads, and the interpreter
    would have no time for the others and, in the same process, for respondents.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most_of_one = most_of_one
        self._all = asyncio.Semaphore(most)
        #: Forgotten when nobody has or awaits a turn.
        self._visitors: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, visitor: Hashable) -> asyncio.Semaphore:
        """Entered for a turn of a visitor, which may include reading a large request."""
        return self._visitors.setdefault(visitor, asyncio.Semaphore(self._most_of_one))

    async def run(self, work: Callable[[], T], receive: Receive) -> T | None:
        """The result of a function in a thread; None if the client leaves before it begins.

        `receive` tells when the client leaves; everything that it sent must have been read.
        """
        result = None
        try:
            async with anyio.create_task_group() as group:

                async def cancel_if_left() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(cancel_if_left)
                async with self._all:
                    result = await run_in_threadpool(work)
                group.cancel_scope.cancel()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return result


#: Bytes of a form, and of one that contains the text of a survey.
LONGEST_FORM, LONGEST_TEXT_FORM = 1 << 16, 4 << 20
#: Fields of a form.
MOST_FIELDS = 10_000
#: The largest number in an address or of a version; databases store no larger ones.
LARGEST_NUMBER = (1 << 31) - 1
#: Requests that are worked on at once: of people with accounts, of one of them, of everybody else,
#: and of one of their networks.
MOST_AT_ONCE, MOST_OF_ONE, MOST_STRANGERS, MOST_OF_NETWORK = 8, 4, 4, 2
TOO_LARGE = Refusal("too-large", 413, "The form is too large.")
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
#: The policy of the few pages with a script: an own file, which talks to this site only.
SCRIPT_POLICY = HEADERS["content-security-policy"] + (
    "; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)


#: Media types by suffix.
MEDIA_TYPES = {
    **dict.fromkeys(("R", "py", "do"), "text/plain; charset=utf-8"),
    "css": "text/css",
    "csv": "text/csv; charset=utf-8",
    "dta": "application/x-stata-dta",
    "html": "text/html; charset=utf-8",
    "ico": "image/svg+xml",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
    "sav": "application/x-spss-sav",
    "svg": "image/svg+xml",
    "tex": "application/x-tex",
    "yaml": "application/yaml; charset=utf-8",
}


@dataclass
class Studio:
    """What the pages work with."""

    store: Store
    accounts: Accounts
    releases: Releases
    models: ModelFolder
    history: ReleaseHistory
    contents: ReportContents
    guesses: GuessLimits = field(default_factory=GuessLimits)
    drafts: Drafts = field(init=False)
    passkeys: Passkeys = field(init=False)
    previews: Previews = field(default_factory=Previews)
    templates: Environment = field(default_factory=page_templates)
    #: The proxies that say where a request comes from.
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    #: The origin at which people open the studio; None: what the Host header of a request says.
    address: str | None = None
    #: Where respondents find the surveys, with a slash at its end; None if it is not known.
    respondents: str | None = None

    def __post_init__(self) -> None:
        self.drafts = Drafts(self.accounts.engine, self.accounts.now)
        self.passkeys = Passkeys(self.accounts.engine)

    def surveys(self, account: Account) -> list[Published]:
        """The surveys that an account has a role for."""
        published = self.store.published()
        return [s for s in published if account.role(s.survey.fingerprint) is not None]

    def survey(self, slug: str) -> Published | None:
        """The survey with this name in addresses."""
        return next((survey for survey in self.store.published() if survey.slug == slug), None)

    def own_drafts(self, account: Account) -> list[Draft]:
        """The drafts that an account has a role for."""
        return [draft for draft in self.drafts.all() if account.role(draft.key) is not None]


@dataclass(frozen=True)
class PageVisit:
    """A request that was allowed, with its account and what was sent.

    There is a survey or a draft only if the address of the page names one. Roles are given for
    `key`: the fingerprint of the survey, or the key of the draft.
    """

    studio: Studio
    request: Request
    account: Account | None
    survey: Published
    draft: Draft
    key: str = ""
    #: The name of the visitor's device, if somebody has signed in on it.
    device: bytes | None = None
    body: bytes = b""

    @cached_property
    def form(self) -> dict[str, str]:
        """The fields of a form."""
        text = self.body.decode("utf-8", "replace")
        try:
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError:
            raise DataError(f"a form has at most {MOST_FIELDS:,} fields") from None

    @cached_property
    def json(self) -> dict[str, Any]:
        """The JSON object that was sent; an error if it is something else."""
        try:
            content = json.loads(self.body.decode() or "{}", object_pairs_hook=unique_keys)
            json.dumps(content, ensure_ascii=False).encode()  # half a surrogate is no text
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise DataError("the body must be a JSON object in UTF-8 with distinct keys")
        return content

    @property
    def by_program(self) -> bool:
        """Whether the address is one of the API."""
        return self.request.url.path.startswith("/api/")

    def text(self, name: str) -> str:
        """A text that was sent: a field of a form, or a member of the JSON object of a program."""
        if not self.by_program:
            return self.form.get(name, "")
        text = self.json.get(name)
        if not isinstance(text, str):
            raise DataError(f"the key {name} must be a text")
        return text

    @property
    def networks(self) -> tuple[Prefix, ...]:
        """The networks of a visitor: an IPv4 address, or a /48 and a /64 of IPv6."""
        return prefixes(self.request.client.host if self.request.client else "")

    @property
    def number(self) -> Any:
        """The number in the address; None if there is none."""
        return self.request.path_params.get("number")

    @property
    def person(self) -> Account:
        """The account; the page is not for everyone."""
        assert self.account is not None
        return self.account

    @property
    def role(self) -> Role | None:
        """The role of the account for the survey or the draft."""
        return self.person.role(self.key)

    def page(
        self, template: str, status: int = 200, script: str | None = None, **values: Any
    ) -> Response:
        """A page from a template, with one of the studio's scripts if it needs one."""
        shared: dict[str, Any] = {"account": self.account, "roles": Role}
        shared["respondents"] = self.studio.respondents
        if self.key:
            shared |= {"survey": self.survey, "draft": self.draft, "role": self.role}
        whole = {**shared, **values, "script": script}
        text = self.studio.templates.get_template(template).render(whole)
        policy = {} if script is None else {"content-security-policy": SCRIPT_POLICY}
        return HTMLResponse(text, status, policy)

    def survey_values(self) -> dict[str, Any]:
        """What every page of a survey shows: its release, its state, and what waits."""
        release = self.studio.releases.newest(self.survey)
        state = self.studio.store.state(self.key)
        return {
            "meta": survey_meta(self.survey),
            "state": state,
            "release": release,
            "shown": 0 if release is None else release.counts.n_records,
            "note_text": waiting_text(release, state.records),
            "fewest": FEWEST_SHOWN,
            "first": next_release_at(0),
        }

    def file(self, content: str | bytes, name: str) -> Response:
        """A file to save; a file of a survey is named after it too."""
        slug = self.request.path_params.get("survey")
        whole = name if slug is None else f"{slug}-{name}"
        headers = {"content-disposition": f'attachment; filename="{whole}"'}
        return Response(content, media_type=MEDIA_TYPES[name.rpartition(".")[2]], headers=headers)

    def comparable_release(self) -> Release:
        """The release for tables of several questions; an error if they may not be shown yet."""
        return require_comparable(self.studio.releases.comparable(self.survey))

    def require_title(self, message: str) -> None:
        """Refuse an action that cannot be undone unless the title of the survey was sent."""
        if self.text("confirm").strip() != self.survey.title.strip():
            raise DataError(message)

    def require_tick(self, message: str) -> None:
        """Refuse an action that cannot be undone unless the box was ticked; programs have none."""
        if not self.by_program and self.form.get("confirm") != "yes":
            raise DataError(message)

    def register(self, survey: Published, published: str) -> None:
        """Publish a survey; servers that collect serve it from now on. The account owns it.

        `published` is the error if the same survey is published already.
        """
        fingerprint = survey.survey.fingerprint
        if any(fingerprint == other.survey.fingerprint for other in self.studio.store.published()):
            raise DataError(published)
        self.studio.store.register(survey)
        self.studio.accounts.give(self.person.id, fingerprint, Role.OWNER)

    def record(self, action: str, subject: str = "") -> None:
        """Add what was done to the audit log."""
        name = "" if self.account is None else self.account.name
        self.studio.accounts.record(name, action, subject)


#: What a page answers: a response, a JSON object or a value with one for programs, or nothing.
Answer = Response | dict[str, Any] | None
Handler = Callable[[PageVisit], Any]


@dataclass(frozen=True)
class PageRoute:
    """A method and an address, the right it needs, and what answers.

    Forms that lead to another page have its address in `then`; `made` in it is what the handler
    returns. `again` shows the page of the form with what is wrong. The API description says the
    rest: the names of the schemas of the answer and of what is sent, the status of the answer, and
    the parameters after the question mark.
    """

    method: str
    path: str
    needs: Right | Role
    handler: Handler
    answer: str | None = None
    status: int = 200
    body: str | None = None
    query: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    longest: int = LONGEST_FORM
    then: str = ""
    again: Callable[..., Response] | None = None

    def answered(self, visit: PageVisit) -> Response:
        """The response to a visit."""
        try:
            made = self.handler(visit)
        except (DataError, RefusalError) as error:
            if self.again is None:
                raise
            return self.again(visit, problem=str(error), status=_refusal_of(error).status)
        if isinstance(made, Response):
            return made
        if self.then:
            address = self.then.format(**visit.request.path_params, made=made)
            return RedirectResponse(address, 303)
        if made is None:
            return Response(status_code=204)
        return JSONResponse(made if isinstance(made, dict) else made.to_dict(), self.status)


def application(studio: Studio, pages: Sequence[PageRoute]) -> Starlette:
    """The application; each page is answered in a thread, since databases block."""
    people = Turns(MOST_AT_ONCE, MOST_OF_ONE)
    readers, senders = (Turns(MOST_STRANGERS, MOST_OF_NETWORK) for _ in range(2))

    def turns_of(visit: PageVisit) -> tuple[Turns, Hashable]:
        """Strangers have turns of their own, so that they take none from people with accounts.

        Their forms, such as guesses at passwords, take none from those who open a page.
        """
        visitor = visit.device if visit.account is None else visit.account.id
        if visitor is not None:
            return people, visitor
        strangers = readers if visit.request.method in SAFE_METHODS else senders
        return strangers, visit.networks[-1][0]

    async def answer(request: Request, page: PageRoute) -> Response:
        """Check the right, and only then read and work: others cost no more than the check."""
        try:
            visit = await run_in_threadpool(_visit, studio, page, request)
        except TacitError as error:
            response = refused(studio, request, error)
            unasked = "expect" not in request.headers  # else the body has not been sent yet
            return response if unasked and await _body(request, 0) is not None else _last(response)
        turns, visitor = turns_of(visit)
        small = page.longest <= LONGEST_FORM  # whoever sends it slowly takes no turn
        body = await _body(request, page.longest) if small else b""
        async with turns.of(visitor):
            body = body if small else await _body(request, page.longest)
            if body is None:
                return _last(refused(studio, request, RefusalError(TOO_LARGE)))
            work = partial(page.answered, replace(visit, body=body))
            return await turns.run(work, request.receive) or Response()

    routes = [
        Route(page.path, partial(answer, page=page), methods=[page.method], name=page.path)
        for page in pages
    ]

    async def refuse(request: Request, error: Exception) -> Response:
        return refused(studio, request, error)

    async def no_response(request: Request, error: Exception) -> Response:
        return Response()  # which nobody reads

    handlers: dict[Any, Any] = {TacitError: refuse, 404: refuse, 405: refuse, Exception: _fault}
    handlers[ClientDisconnected] = no_response
    seen = Middleware(_AsTheBrowserSent, studio=studio)
    return Starlette(routes=routes, exception_handlers=handlers, middleware=[seen])


class _AsTheBrowserSent:
    """Requests with the client and scheme that trusted proxies name, or at the configured address.

    The Host header can be anything. If the address of the studio is configured, nothing reads it.
    Responses get the protective headers, unless they have others.
    """

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self._app, self._studio = app, studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        scope = {**scope, **self._seen(scope)}
        app: ASGIApp = self._app
        try:
            origin_of(Request(scope))
        except ValueError:
            wrong = DataError("The Host header is no host.")
            app = _last(refused(self._studio, Request(scope), wrong))
        await app(scope, receive, protected)

    def _seen(self, scope: Scope) -> dict[str, Any]:
        proxies, address = self._studio.proxies, self._studio.address
        client = (proxies.client(scope), 0)
        if address is None:
            return dict(scheme=proxies.scheme(scope), client=client)
        scheme, _, host = address.partition("://")
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        return dict(scheme=scheme, client=client, headers=[(b"host", host.encode()), *others])


def _visit(studio: Studio, page: PageRoute, request: Request) -> PageVisit:
    """A visit without what was sent, if it is allowed."""
    account = account_of(request, studio.accounts)
    named = {} if account is None else request.path_params  # strangers make us look up nothing
    survey = studio.survey(named["survey"]) if "survey" in named else None
    draft = studio.drafts.get(named["draft"]) if "draft" in named else None
    key = draft.key if draft else survey.survey.fingerprint if survey else ""
    check_right(request, page.needs, account, key)
    missing = "draft" in named and draft is None
    if missing or request.path_params.get("number", 0) > LARGEST_NUMBER:
        raise RefusalError(NOT_FOUND)
    secret = None if account else request.cookies.get(cookie_name(request, DEVICE_COOKIE))
    device = None if secret is None else studio.accounts.device(secret)
    named_survey, named_draft = cast("Published", survey), cast("Draft", draft)
    return PageVisit(studio, request, account, named_survey, named_draft, key, device)


def _refusal_of(error: Exception) -> Refusal:
    """What an error means for the one who asked."""
    match error:
        case RefusalError():
            return error.why
        case HTTPException():
            return Refusal("not-found", error.status_code, "There is no such page.")
        case Unavailable():
            return Refusal("unavailable", 503, f"The database does not answer: {error}")
        case SurveyError():
            problems = {"problems": list(error.problems)}
            return Refusal("survey-problems", 422, "The survey has problems.", details=problems)
        case DataError() | StoreError():
            return Refusal("wrong-request", 400, str(error))
    return Refusal("fault", 500, str(error))


async def _body(request: Request, longest: int) -> bytes | None:
    """What was sent; None if it is too large: then it may not have been read to its end."""
    announced = request.headers.get("content-length", "")
    try:
        return await read_body(request.receive, int(announced) if announced else None, longest)
    except Refused:
        return None


def _last(response: Response) -> Response:
    """A response after which the connection is closed: the rest of the request is not read."""
    response.headers["connection"] = "close"
    return response


def refused(studio: Studio, request: Request, error: Exception) -> Response:
    """A page, or problem details (RFC 9457) for programs; the first page asks to sign in."""
    why = _refusal_of(error)
    program = "authorization" in request.headers
    if program or "text/html" not in request.headers.get("accept", ""):
        return JSONResponse(why.problem, why.status, media_type=PROBLEM)
    if why is SIGN_IN and request.method == "GET":
        return RedirectResponse("/sign-in", 303)
    template = studio.templates.get_template("refused.html")
    slug = request.path_params.get("survey")
    survey = None if slug is None or why.status in (401, 404) else slug
    text = template.render(
        account=None, script=None, why=why, survey=survey, sent=request.method != "GET"
    )
    return HTMLResponse(text, why.status)


async def _fault(request: Request, error: Exception) -> Response:
    why = Refusal("fault", 500, "An error occurred in the studio.")
    return JSONResponse(why.problem, why.status, HEADERS, media_type=PROBLEM)
