"""Running the service: a listening socket, the store with its writer, uvicorn, a quiet end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tacit.errors import ServiceError, StoreError
from tacit.service.collect import logs
from tacit.service.collect.addresses import TrustedProxies
from tacit.service.collect.app import AppParts, application
from tacit.service.collect.connections import SPARE, Connections
from tacit.service.collect.metrics import Metrics
from tacit.service.collect.pages import CachedStatus
from tacit.service.collect.problem_details import CLOSED, FULL, ProblemType
from tacit.service.collect.protocol import BoundedProtocol, protocol
from tacit.service.collect.rate_limits import AddressRateLimit, parse_limit
from tacit.service.collect.submission_validator import body_limit
from tacit.service.drain import accept_rest, drain
from tacit.service.file_limit import FileWatch, allow_files
from tacit.service.settings import ServiceSettings
from tacit.service.store import Outcome, Response, Store
from tacit.service.writer import Writer
from tacit.survey import Published, read_published

#: Proxies keep idle connections for a minute; closing them first would fail their next request.
_KEEP_ALIVE = 75
_BACKLOG = 2048
#: Files that the program opens beside its connections.
_OTHER_FILES = 128

#: Objects that are made before the garbage collector looks for such that hold each other.
_YOUNG = 20_000

#: Whether responses are stored, and put in order, at present: what is logged if not, and if again.
_TOLD = {
    "stored": ("database-gone", "database-back"),
    "erased": ("order-not-erased", "order-erased"),
}

#: Told the addresses of the surveys once they can be asked for.
Tell = Callable[[Sequence[tuple[str, Published]]], None]
#: Told each warning, a sentence.
Warn = Callable[[str], None]


class Server(uvicorn.Server):
    """Uvicorn that drops what is slow, and ends without passing the signal on."""

    draining = False

    def __init__(
        self, config: uvicorn.Config, request_seconds: float, look: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._request_seconds, self._look = request_seconds, look
        self._files = FileWatch()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second, by uvicorn."""
        if counter % 5 == 0:
            self._look()
            self._files.look()
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedProtocol):
                    connection.enforce_timeouts(now, self._request_seconds)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what has arrived before uvicorn closes connections."""
        loop, seconds = (
            asyncio.get_running_loop(),
            float(self.config.timeout_graceful_shutdown or 0),
        )
        until = loop.time() + seconds
        self.draining = True
        self._look()  # the last half second may have brought something to log
        logs.log().info("stopping")
        await accept_rest(sockets or [], self.servers)
        kind: Any = self.config.http_protocol_class
        patience = min(self._request_seconds, seconds)
        connections = self.server_state.connections
        await drain(connections, kind, (patience, seconds), lambda: self.force_exit)
        self.config.timeout_graceful_shutdown = max(1, round(until - loop.time()))
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.draining = True
        self.force_exit = self.should_exit
        self.should_exit = True


class DiscardingSink:
    """Takes everything and keeps nothing: for previews."""

    async def submit(self, response: Response) -> Outcome:
        """As if it were stored."""
        return Outcome.STORED


@dataclass
class _RunningService:
    """A store that is open, and what asks for its state."""

    store: Store
    surveys: tuple[Published, ...]
    settings: ServiceSettings
    metrics: Metrics
    writer: Writer
    server: Server | None = None
    right: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(_TOLD, True))
    once_per_minute: logs.OncePerMinute = field(default_factory=logs.OncePerMinute)
    outages: int = 0  # as they were last logged
    over_open_rate: int = 0

    @cached_property
    def quotas(self) -> dict[str, int | None]:
        """How many records each survey wants; a fingerprint is not computed for every page."""
        return {each.survey.fingerprint: each.survey.quota for each in self.surveys}

    def look(self) -> None:
        """Log when something goes wrong and when it is right again, once each."""
        if self.writer.outages > self.outages:  # it may be over already
            self.outages = self.writer.outages
            self._tell(self.right | {"stored": False})
        self._tell({"stored": self.writer.ready, "erased": self.store.order_erased})
        self._look_at_open_rate()

    def _tell(self, now: dict[str, bool]) -> None:
        for what in [what for what in now if now[what] != self.right[what]]:
            wrong, right = _TOLD[what]
            if now[what]:
                logs.log().info(right)
            else:
                logs.log().error(
                    wrong, **({"reason": self.writer.failure} if what == "stored" else {})
                )
        self.right = now

    def _look_at_open_rate(self) -> None:
        """Log how many were refused, not when each of them came."""
        refused = self.metrics.over_open_rate - self.over_open_rate
        if refused and self.once_per_minute.now():
            self.over_open_rate += refused
            logs.log().warning("open-rate-reached", refused=refused)

    def ready(self) -> str | None:
        """Why nothing can be stored at present."""
        if self.server is not None and self.server.draining:
            return "draining"
        if not self.writer.ready:
            return "database"
        return "queue" if self.writer.waiting >= self.settings.queue_length else None

    async def status_problem(self, survey: str) -> ProblemType | None:
        """Whether a survey was closed or is full; a database that is gone says neither."""
        if not self.writer.ready:
            return None
        quota = self.quotas[survey]
        asked = asyncio.to_thread(self.store.state, survey)
        try:
            state = await asyncio.wait_for(asked, self.settings.write_seconds)
        except (StoreError, TimeoutError):
            return None
        if not state.open:
            return CLOSED
        return FULL if quota is not None and state.records >= quota else None

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """When the last request has ended, what waits is stored."""
        asyncio.get_running_loop().set_exception_handler(logs.loop_fault)
        yield
        await asyncio.to_thread(self.writer.close)


def serve(settings: ServiceSettings, tell: Tell, warn: Warn) -> None:
    """Serve until SIGTERM or Ctrl-C; what was taken by then is stored before this returns.

    Warnings are logged, and passed to `warn` after the addresses.
    """
    logs.set_up(settings.log)
    given = [read_published(path) for path in settings.surveys]
    with listening(settings.host, settings.port) as listener, _collecting(settings, given) as parts:
        collecting, app = parts
        server = _server(app, settings, collecting.surveys, collecting.look)
        collecting.server = server
        addresses = [(address(listener, survey), survey) for survey in collecting.surveys]
        listener.listen(_BACKLOG)  # whoever is told may ask at once
        warnings = _warnings(settings, collecting.store)
        tell(addresses)
        for event, why in warnings:
            logs.log().warning(event, why=why)
            warn(why)
        _settle_down()
        logs.log().info("started", surveys=[at for at, _ in addresses])
        server.run(sockets=[listener])
        logs.log().info("stopped", submissions=collecting.metrics.totals())


def _warnings(settings: ServiceSettings, store: Store) -> list[tuple[str, str]]:
    """What is logged at the start, an event and a sentence each."""
    few = allow_files(settings.connections + SPARE + _OTHER_FILES)
    found = [("database-settings", why) for why in store.database.warnings()]
    return [*found, *([] if few is None else [("few-files", few)])]


def preview(published: Published, host: str, port: int, tell: Tell) -> None:
    """Serve the page of a survey until Ctrl-C; nothing is stored."""
    logs.set_up("console")
    settings = ServiceSettings(host=host, port=port)
    parts = AppParts([_always_open(published)], DiscardingSink(), preview=True)
    with listening(host, port) as listener:
        server = _server(application(parts), settings, parts.surveys)
        listener.listen(_BACKLOG)
        tell([(address(listener, survey), survey) for survey in parts.surveys])
        _settle_down()
        server.run(sockets=[listener])


def _store(settings: ServiceSettings, there: bool) -> Store:
    return Store(settings.database, there, settings.write_seconds)


@contextlib.contextmanager
def _collecting(
    settings: ServiceSettings, given: Sequence[Published]
) -> Iterator[tuple[_RunningService, ASGIApp]]:
    """The store, opened for writing, and the application on top of it."""
    with contextlib.closing(_store(settings, there=not given)) as store:
        for survey in given:
            store.register(survey)
        surveys = store.published()
        if not surveys:
            raise ServiceError(
                "there is nothing to serve: name a published survey, such as one that "
                "tacit survey publish wrote"
            )
        metrics = Metrics()
        writer = Writer(
            store,
            settings.queue_length,
            settings.batch,
            watch=lambda _, seconds: metrics.commit_seconds.observe(seconds),
        )
        metrics.watch_queue(lambda: writer.waiting)
        collecting = _RunningService(store, surveys, settings, metrics, writer)
        try:
            yield collecting, application(_parts(collecting))
        finally:
            writer.close()


def _parts(collecting: _RunningService) -> AppParts:
    settings = collecting.settings
    limit = parse_limit(settings.rate)
    return AppParts(
        surveys=collecting.surveys,
        sink=collecting.writer,
        metrics=collecting.metrics,
        rate=None
        if limit is None
        else AddressRateLimit(limit, TrustedProxies(settings.trusted_proxy)),
        open_limit=parse_limit(settings.open_rate),
        status_problem=CachedStatus(collecting.status_problem),
        ready=collecting.ready,
        show_metrics=settings.metrics,
        lifespan=collecting.lifespan,
    )


def _server(
    app: ASGIApp,
    settings: ServiceSettings,
    surveys: Sequence[Published],
    look: Callable[[], None] = lambda: None,
) -> Server:
    largest = max(body_limit(survey) for survey in surveys)
    connections = Connections(
        settings.connections,
        settings.connections_per_address,
        TrustedProxies(settings.trusted_proxy),
    )
    return Server(
        uvicorn.Config(
            app,
            http=protocol(connections, largest),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=settings.drain_seconds,
        ),
        settings.request_seconds,
        look,
    )


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that is bound; an error that says what is wrong with the address."""
    try:
        family, kind, *_, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        raise ServiceError(
            f"--host {host}: {_reason(error)}; give an address to listen on"
        ) from None
    with made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(place)
        except OSError as error:
            raise ServiceError(
                f"cannot listen on {host} port {port}: {_reason(error)}; choose another by --port"
            ) from None
        yield made


def address(listener: socket.socket, published: Published) -> str:
    """Where the page of a survey is."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/s/{published.slug}/"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _always_open(published: Published) -> Published:
    """The same survey on any day, so that it can be tried before it opens."""
    terms = {"opens": None, "closes": None, "quota": None}
    return Published(published.survey.model_copy(update=terms))


def _settle_down() -> None:
    """Be a server: a client that left is no signal, and what was imported is no garbage.

    The collector need not look at it again, nor at every few requests.
    """
    if hasattr(signal, "SIGPIPE") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
