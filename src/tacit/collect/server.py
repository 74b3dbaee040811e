"""`tacit serve` and `tacit survey preview`: the store, its writer, the application, the server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from starlette.types import ASGIApp

from tacit.collect import http_server, monitoring
from tacit.collect.app import application
from tacit.collect.limits import AddressRateLimit, TrustedProxies, parse_limit
from tacit.collect.monitoring import Metrics
from tacit.collect.pages import CachedState
from tacit.collect.settings import ServiceSettings
from tacit.collect.store import Outcome, Response, Store, SurveyState
from tacit.collect.submission import AppConfig, body_limit
from tacit.collect.writer import Writer
from tacit.errors import ServiceError, StoreError, TacitError
from tacit.survey import Published, read_published

#: Objects that are allocated before the garbage collector looks for cycles.
_GC_THRESHOLD = 20_000

#: The log events if something fails, and if it works again.
_EVENTS = {
    "stored": ("database-gone", "database-back"),
    "erased": ("order-not-erased", "order-erased"),
}

Read = TypeVar("Read")
#: Receives the addresses of the surveys once they are served.
Tell = Callable[[Sequence[tuple[str, Published]]], None]
#: Receives each warning, a sentence.
Warn = Callable[[str], None]


class DiscardingSink:
    """Accepts everything and stores nothing: for previews."""

    async def submit(self, response: Response) -> Outcome:
        """Pretend to store it."""
        return Outcome.STORED


@dataclass
class RunningService:
    """An open store with its writer, and their state for pages, health checks and logs."""

    store: Store
    surveys: tuple[Published, ...]
    settings: ServiceSettings
    metrics: Metrics
    writer: Writer
    server: http_server.Server | None = None
    works: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(_EVENTS, True))
    once_per_minute: monitoring.OncePerMinute = field(default_factory=monitoring.OncePerMinute)
    outages: int = 0  # how many are logged
    over_open_rate: int = 0  # how many refusals are logged

    def log_changes(self) -> None:
        """Log once when something fails, and once when it works again."""
        if self.writer.outages > self.outages:  # the failure may be over already
            self.outages = self.writer.outages
            self._log_events(self.works | {"stored": False})
        self._log_events({"stored": self.writer.ready, "erased": self.store.order_erased})
        refused = self.metrics.over_open_rate - self.over_open_rate
        if refused and self.once_per_minute.now():  # the number, not the time of each
            self.over_open_rate += refused
            monitoring.log().warning("open-rate-reached", refused=refused)

    def _log_events(self, works: dict[str, bool]) -> None:
        for what, (failed, recovered) in _EVENTS.items():
            if works[what] and not self.works[what]:
                monitoring.log().info(recovered)
            elif self.works[what] and not works[what]:
                reason = {"reason": self.writer.failure} if what == "stored" else {}
                monitoring.log().error(failed, **reason)
        self.works = works

    def ready(self) -> str | None:
        """Why nothing can be stored at present; None if responses are stored."""
        if self.server is not None and self.server.draining:
            return "draining"
        if not self.writer.ready:
            return "database"
        return "queue" if self.writer.waiting >= self.settings.queue_length else None

    async def state(self, survey: str) -> SurveyState | None:
        """The state of a survey; None if the database does not answer."""
        return await self._read(self.store.state, survey)

    async def _read(self, read: Callable[..., Read], *arguments: Any) -> Read | None:
        """What the store reads in another thread; None if the database does not answer."""
        if not self.writer.ready:
            return None
        reading = asyncio.to_thread(read, *arguments)
        try:
            return await asyncio.wait_for(reading, self.settings.write_seconds)
        except (StoreError, TimeoutError):
            return None

    async def newer(self, known: Collection[str]) -> Sequence[Published]:
        """The surveys that were published since; none if the database does not answer."""
        try:
            surveys = await self._read(self.store.published, known) or ()
        except TacitError as error:  # such as one that a newer tacit has published
            if self.once_per_minute.now():
                monitoring.log().warning("new-survey-not-read", why=str(error))
            return ()
        if surveys and self.server is not None:
            self.server.accept_bodies(max(map(body_limit, surveys)))
        for survey in surveys:
            monitoring.log().info("new-survey", survey=survey.slug)
        self.surveys += tuple(surveys)
        return surveys

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """After the last request, store what waits."""
        asyncio.get_running_loop().set_exception_handler(monitoring.loop_fault)
        yield
        await asyncio.to_thread(self.writer.close)

    def application(self) -> ASGIApp:
        """The application that stores what it accepts."""
        limit = parse_limit(self.settings.rate)
        proxies = TrustedProxies(self.settings.trusted_proxy)
        return application(
            AppConfig(
                surveys=self.surveys,
                sink=self.writer,
                metrics=self.metrics,
                rate=None if limit is None else AddressRateLimit(limit, proxies),
                link_rate=None if limit is None else AddressRateLimit(limit, proxies),
                open_limit=parse_limit(self.settings.open_rate),
                link_usable=partial(self._read, self.store.link_usable),
                state=CachedState(self.state),
                ready=self.ready,
                newer=self.newer,
                show_metrics=self.settings.metrics,
                lifespan=self.lifespan,
            )
        )


def serve(
    settings: ServiceSettings, tell: Tell, warn: Warn, begun: Callable[[str], None] | None = None
) -> None:
    """Serve until SIGTERM or Ctrl-C; everything accepted is stored before this returns.

    Warnings are logged, and passed to `warn` after the addresses. With `begun`, which receives the
    address of the server, a database without surveys is served too: some may be published later.
    """
    monitoring.set_up(settings.log)
    given = [read_published(path) for path in settings.surveys]
    with (
        http_server.listening(settings.host, settings.port, settings.reuse_port) as listener,
        _running(settings, given, begun is not None) as service,
    ):
        app = service.application()
        largest_body = max(map(body_limit, service.surveys), default=0)
        server = http_server.http_server(app, settings, largest_body, service.log_changes)
        service.server = server
        addresses = [(address(listener, survey), survey) for survey in service.surveys]
        listener.listen(http_server.BACKLOG)  # before the addresses are shown
        few_files = http_server.raise_file_limit(settings.connections)
        warnings = [("database-settings", why) for why in service.store.database.warnings()]
        warnings += [] if few_files is None else [("few-files", few_files)]
        tell(addresses)
        if begun is not None:
            begun(http_server.base_address(listener))
        for event, why in warnings:
            monitoring.log().warning(event, why=why)
            warn(why)
        _tune_process()
        monitoring.log().info("started", surveys=[at for at, _ in addresses])
        server.run(sockets=[listener])
        monitoring.log().info("stopped", submissions=service.metrics.totals())


def preview(published: Published, host: str, port: int, tell: Tell) -> None:
    """Serve the page of a survey until Ctrl-C, on any day; nothing is stored."""
    monitoring.set_up("console")
    settings = ServiceSettings.model_construct(host=host, port=port)  # without the environment
    terms = {"opens": None, "closes": None, "quota": None}
    survey = Published(published.survey.model_copy(update=terms))
    app = application(AppConfig([survey], DiscardingSink(), preview=True))
    with http_server.listening(host, port) as listener:
        server = http_server.http_server(app, settings, body_limit(survey))
        listener.listen(http_server.BACKLOG)
        tell([(address(listener, survey), survey)])
        _tune_process()
        server.run(sockets=[listener])


@contextlib.contextmanager
def _running(
    settings: ServiceSettings, given: Sequence[Published], may_be_empty: bool
) -> Iterator[RunningService]:
    """Open the store for writing and register the given surveys."""
    must_exist = not given and not may_be_empty
    with contextlib.closing(Store(settings.database, must_exist, settings.write_seconds)) as store:
        for survey in given:
            store.register(survey)
        surveys = store.published()
        if not surveys and not may_be_empty:
            remedy = "name a published survey, such as one that tacit survey publish wrote"
            raise ServiceError(f"there is nothing to serve: {remedy}")
        metrics = Metrics()
        writer = Writer(store, settings.queue_length, settings.batch, watch=metrics.committed)
        metrics.watch_queue(lambda: writer.waiting)
        try:
            yield RunningService(store, surveys, settings, metrics, writer)
        finally:
            writer.close()


def address(listener: socket.socket, published: Published) -> str:
    """The address of a survey's page."""
    return f"{http_server.base_address(listener)}s/{published.slug}/"


def _tune_process() -> None:
    """Ignore SIGPIPE, and spare the garbage collector what was imported and most requests.

    Nothing is collected before: the exception of a signal would be lost in a finalizer.
    """
    if hasattr(signal, "SIGPIPE") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)
