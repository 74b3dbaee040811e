"""`tacit studio`: the site on its own port, beside a server that collects responses."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from socket import socket
from typing import Any

from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tacit.collect import http_server, monitoring, page
from tacit.collect.limits import TrustedProxies
from tacit.collect.settings import ServiceSettings, networks, settings
from tacit.collect.store import Store
from tacit.errors import ServiceError
from tacit.studio import (
    account_pages,
    analysis_pages,
    api,
    draft_pages,
    model_pages,
    plan_pages,
    review_pages,
    survey_pages,
)
from tacit.studio.accounts import Accounts, open_engine
from tacit.studio.analyses import ReportContents
from tacit.studio.models import ModelFolder
from tacit.studio.release import Releases
from tacit.studio.results import ReleaseHistory
from tacit.studio.site import PageRoute, PageVisit, Right, Studio, application, origin

#: Pages work without them, but for passkeys.
SCRIPTS = ("check.js", "passkeys.js")
#: Seconds for requests to end when the studio stops.
_LAST_SECONDS = 10
_PROXY = "TACIT_STUDIO_PROXY"


def _style(visit: PageVisit) -> Response:
    """The style sheet of all pages."""
    return _file("studio.css", "text/css")


def _icon(visit: PageVisit) -> Response:
    """The respondent's icon, for browsers that ask without having read a page."""
    return Response(page.content("icon.svg"), media_type=page.FILES["icon.svg"])


def _script(visit: PageVisit) -> Response:
    """A script of the few pages that have one."""
    if visit.request.path_params["name"] not in SCRIPTS:
        raise HTTPException(404)
    return _file(visit.request.path_params["name"], "text/javascript")


def _file(name: str, kind: str) -> Response:
    return Response(files("tacit.studio").joinpath(name).read_bytes(), media_type=kind)


def _description(visit: PageVisit) -> dict[str, Any]:
    """The API description."""
    return api.api_description(PAGES)


#: Every page with the right that it needs.
PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/studio.css", Right.EVERYONE, _style),
    PageRoute("GET", "/scripts/{name}", Right.EVERYONE, _script),
    PageRoute("GET", "/favicon.ico", Right.EVERYONE, _icon),
    PageRoute("GET", "/openapi.json", Right.EVERYONE, _description),
    *account_pages.ROUTES,
    *survey_pages.ROUTES,
    *analysis_pages.ROUTES,
    *plan_pages.ROUTES,
    *draft_pages.ROUTES,
    *review_pages.ROUTES,
    *model_pages.ROUTES,
    *api.ROUTES,
)


def studio_of(store: Store, folder: Path, hasher: PasswordHasher | None = None) -> Studio:
    """The studio of a database, with accounts and released counts in a folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ServiceError(f"{folder}: {error.strerror}; name a folder for --data") from None
    accounts = Accounts(open_engine(folder / "accounts.db"), hasher=hasher)
    history, models = ReleaseHistory(folder), ModelFolder(folder / "models")
    releases, contents = Releases(store, folder, history.add), ReportContents(folder)
    return Studio(store, accounts, releases, models, history, contents)


def studio_app(studio: Studio) -> Starlette:
    """The application with all pages."""
    return application(studio, PAGES)


@dataclass(frozen=True)
class StudioPlace:
    """Where the studio listens, and the address at which people open it, if it is configured."""

    host: str
    port: int
    address: str | None = None


def serve_studio(database: str, folder: Path, at: StudioPlace, tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. `tell` receives the address, or the set-up link at the first start."""
    with _listening_studio(database, folder, at, tell) as (_, server, listener):
        server.run(sockets=[listener])


@contextmanager
def studio_beside(
    database: str, folder: Path, at: StudioPlace, tell: Callable[[str], None]
) -> Iterator[Studio]:
    """Serve in a thread of its own while the block runs, as `serve_studio` does."""
    if http_server.passed_socket():
        raise ServiceError(
            "one socket was passed to this process, two are needed with --collect; run "
            "tacit serve and tacit studio as two services"
        )
    with _listening_studio(database, folder, at, tell) as (studio, server, listener):
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
    database: str, folder: Path, at: StudioPlace, tell: Callable[[str], None]
) -> Iterator[tuple[Studio, http_server.Server, socket]]:
    limits = _limits()
    monitoring.set_up(limits.log)
    address = None if at.address is None else _checked_address(at.address)
    with closing(Store(database)) as store, http_server.listening(at.host, at.port) as listener:
        studio = studio_of(store, folder)
        studio.proxies, studio.address = TrustedProxies(limits.trusted_proxy), address
        base = http_server.base_address(listener)
        listener.listen()
        tell(f"studio {base}")
        if not studio.accounts.any():
            token = studio.accounts.first_link()
            opened = base if address is None else f"{address}/"
            tell(f"make the first account at {opened}set-up/{token} (works once, for 7 days)")
        # There may be a server that collects too.
        http_server.raise_file_limit(2 * limits.connections)
        largest = max(route.longest for route in PAGES)
        yield studio, http_server.http_server(studio_app(studio), limits, largest), listener


def _checked_address(address: str) -> str:
    """The origin of the address at which people open the studio."""
    try:
        checked = origin(address)
    except ValueError:
        checked = ""
    scheme, _, host = checked.partition("://")
    if scheme not in ("http", "https") or not host or address.rstrip("/").lower() != checked:
        raise ServiceError(
            f"--address {address}: must be scheme and host, and a port unless it is the usual one, "
            "such as https://studio.example.org"
        )
    return checked


def _limits() -> ServiceSettings:
    """The limits on connections and requests: those of the collecting side, with its settings."""
    try:
        proxies = networks(os.environ.get(_PROXY, "127.0.0.1"))
    except ValueError as error:
        raise ServiceError(f"{_PROXY}: {error}") from None
    changes = {"drain_seconds": _LAST_SECONDS, "trusted_proxy": proxies}
    return settings({}).model_copy(update=changes)
