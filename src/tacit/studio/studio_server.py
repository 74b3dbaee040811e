"""`tacit studio`: the site on its own port, beside a server that collects responses."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from socket import socket

import uvicorn
from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response

from tacit.errors import ServiceError
from tacit.service.http_server import base_address, listening, passed_socket, quiet_config
from tacit.service.store import Store
from tacit.studio import account_pages, export_pages, group_pages, plan_pages, survey_pages
from tacit.studio.access import NOT_FOUND, Right
from tacit.studio.account_tables import open_engine
from tacit.studio.accounts import Accounts, Role
from tacit.studio.api_description import api_description
from tacit.studio.api_pages import API_PAGES
from tacit.studio.draft_forms import FORM_PAGES
from tacit.studio.draft_pages import DRAFT_PAGES
from tacit.studio.logo_pages import LOGO_PAGES
from tacit.studio.model_folder import ModelFolder
from tacit.studio.model_pages import MODEL_PAGES
from tacit.studio.passkey_pages import PASSKEY_PAGES
from tacit.studio.preview_pages import PREVIEW_PAGES
from tacit.studio.release import Releases
from tacit.studio.release_history import ReleaseHistory
from tacit.studio.site import PageRoute, PageVisit, Studio, application, refused

ACCOUNTS_FILE = "accounts.db"
#: Pages work without them, but for passkeys.
SCRIPTS = ("check.js", "passkeys.js")
#: Seconds for requests to end when the studio stops.
_LAST_SECONDS = 10
MODELS = "models"


def _style(visit: PageVisit) -> Response:
    """The style sheet of all pages."""
    return Response(_file("studio.css"), media_type="text/css")


def _script(visit: PageVisit) -> Response:
    """A script of the few pages that have one."""
    name = visit.request.path_params["name"]
    if name not in SCRIPTS:
        return refused(visit.studio, visit.request, NOT_FOUND)
    return Response(_file(name), media_type="text/javascript")


def _file(name: str) -> bytes:
    return files("tacit.studio").joinpath(name).read_bytes()


def _description(visit: PageVisit) -> Response:
    """The API description."""
    return JSONResponse(api_description(PAGES))


#: Every page with the right that it needs.
PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/studio.css", Right.EVERYONE, _style),
    PageRoute("GET", "/scripts/{name}", Right.EVERYONE, _script),
    PageRoute("GET", "/openapi.json", Right.EVERYONE, _description),
    PageRoute("GET", "/set-up/{token}", Right.EVERYONE, account_pages.show_set_up),
    PageRoute("POST", "/set-up/{token}", Right.EVERYONE, account_pages.set_up),
    PageRoute("GET", "/sign-in", Right.EVERYONE, account_pages.show_sign_in),
    PageRoute("POST", "/sign-in", Right.EVERYONE, account_pages.sign_in),
    PageRoute("POST", "/sign-out", Right.PERSON, account_pages.sign_out),
    PageRoute("GET", "/account", Right.PERSON, account_pages.show_account),
    PageRoute("POST", "/account/password", Right.PERSON, account_pages.change_password),
    PageRoute("POST", "/account/tokens", Right.PERSON, account_pages.issue_token),
    PageRoute(
        "POST", "/account/tokens/{number:int}/revoke", Right.PERSON, account_pages.revoke_token
    ),
    PageRoute("GET", "/audit", Right.ADMINISTRATOR, account_pages.show_audit),
    PageRoute("GET", "/surveys/{survey}/members", Role.OWNER, account_pages.show_members),
    PageRoute("POST", "/surveys/{survey}/members", Role.OWNER, account_pages.change_members),
    PageRoute("GET", "/", Right.PERSON, survey_pages.show_surveys),
    PageRoute("GET", "/new", Right.ADMINISTRATOR, survey_pages.show_new),
    PageRoute("POST", "/new", Right.ADMINISTRATOR, survey_pages.new),
    PageRoute("GET", "/surveys/{survey}", Role.VIEWER, survey_pages.show_results),
    *group_pages.ROUTES,
    *plan_pages.ROUTES,
    PageRoute("POST", "/surveys/{survey}/close", Role.OWNER, survey_pages.close),
    PageRoute("POST", "/surveys/{survey}/invite", Role.OWNER, survey_pages.invite),
    PageRoute("GET", "/surveys.json", Right.SIGNED_IN, export_pages.surveys_json),
    *(
        PageRoute("GET", f"/surveys/{{survey}}/{name}", needs, handler)
        for name, (needs, handler) in export_pages.FILES.items()
    ),
    *PASSKEY_PAGES,
    *DRAFT_PAGES,
    *FORM_PAGES,
    *LOGO_PAGES,
    *PREVIEW_PAGES,
    *API_PAGES,
    *MODEL_PAGES,
)


def studio_of(store: Store, folder: Path, hasher: PasswordHasher | None = None) -> Studio:
    """The studio of a database, with accounts and released counts in a folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ServiceError(f"{folder}: {error.strerror}; name a folder for --data") from None
    engine = open_engine(folder / ACCOUNTS_FILE)
    history, models = ReleaseHistory(folder), ModelFolder(folder / MODELS)
    accounts = Accounts(engine, hasher=hasher)
    return Studio(store, accounts, Releases(store, folder, history.add), models, history)


def studio_app(studio: Studio) -> Starlette:
    """The application with all pages."""
    return application(studio, PAGES)


def serve_studio(
    database: str, folder: Path, host: str, port: int, tell: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C. `tell` receives the address, or the set-up link at the first start."""
    with _listening_studio(database, folder, host, port, tell) as (_, server, listener):
        server.run(sockets=[listener])


@contextmanager
def studio_beside(
    database: str, folder: Path, host: str, port: int, tell: Callable[[str], None]
) -> Iterator[Studio]:
    """Serve in a thread of its own while the block runs, as `serve_studio` does."""
    if passed_socket():
        raise ServiceError(
            "one socket was passed to this process, two are needed with --collect; run "
            "tacit serve and tacit studio as two services"
        )
    with _listening_studio(database, folder, host, port, tell) as (studio, server, listener):
        sockets = {"sockets": [listener]}
        thread = threading.Thread(target=server.run, kwargs=sockets, name="tacit-studio")
        thread.start()
        try:
            yield studio
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def _listening_studio(
    database: str, folder: Path, host: str, port: int, tell: Callable[[str], None]
) -> Iterator[tuple[Studio, uvicorn.Server, socket]]:
    with closing(Store(database)) as store, listening(host, port) as listener:
        studio = studio_of(store, folder)
        base = base_address(listener)
        listener.listen()
        tell(f"studio {base}")
        if not studio.accounts.any():
            token = studio.accounts.invite(administrator=True)
            tell(f"make the first account at {base}set-up/{token} (works once, for 7 days)")
        proxy = os.environ.get("TACIT_STUDIO_PROXY", "127.0.0.1")
        config = quiet_config(studio_app(studio), _LAST_SECONDS, forwarded_allow_ips=proxy)
        yield studio, uvicorn.Server(config), listener
