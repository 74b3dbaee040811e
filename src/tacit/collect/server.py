"""`tacit serve` and `tacit survey preview`: the store, its writer, the application, the server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tacit.collect import http_server, monitoring
from tacit.collect.app import Application, Service
from tacit.collect.limits import AddressRateLimit, TrustedProxies, parse_limit
from tacit.collect.monitoring import Metrics
from tacit.collect.settings import ServiceSettings
from tacit.collect.store import Outcome, Response, Store, SurveyState
from tacit.collect.submission import body_limit
from tacit.collect.writer import Writer
from tacit.errors import ServiceError, StoreError, TacitError
from tacit.survey import Published, read_published

#: Objects that are allocated before the garbage collector looks for cycles.
_GC_THRESHOLD = 20_000

#: Seconds for which the state of a survey is cached.
_CACHE_SECONDS = 2.0
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


@dataclass(kw_only=True)
class RunningService(Service):
    """An open store with its writer, and their state for pages, health checks and logs."""

    store: Store
    writer: Writer
    settings: ServiceSettings
    server: http_server.Server | None = None
    works: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(_EVENTS, True))
    once_per_minute: monitoring.OncePerMinute = field(default_factory=monitoring.OncePerMinute)
    states: dict[str, tuple[float, SurveyState | None]] = field(default_factory=dict)
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

    async def submit(self, response: Response) -> Outcome:
        return await self.writer.submit(response)

    async def state(self, survey: str) -> SurveyState | None:
        """As in `Service`; asks the database at most every two seconds."""
        until, state = self.states.get(survey, (0.0, None))
        if until <= time.monotonic():
            state = await self._read(self.store.state, survey)
            self.states[survey] = (time.monotonic() + _CACHE_SECONDS, state)
        return state

    async def link_usable(self, survey: str, token: str) -> bool | None:
        return await self._read(self.store.link_usable, survey, token)

    async def newer(self) -> Sequence[Published]:
        try:
            known = [survey.survey.fingerprint for survey in self.surveys]
            surveys = await self._read(self.store.published, known) or ()
        except TacitError as error:  # such as one that a newer tacit has published
            if self.once_per_minute.now():
                monitoring.log().warning("new-survey-not-read", why=str(error))
            return ()
        if surveys and self.server is not None:
            self.server.accept_bodies(max(map(body_limit, surveys)))
        for survey in surveys:
            monitoring.log().info("new-survey", survey=survey.slug)
        self.surveys = [*self.surveys, *surveys]
        return surveys

    def ready(self) -> str | None:
        if self.server is not None and self.server.draining:
            return "draining"
        if not self.writer.ready:
            return "database"
        return "queue" if self.writer.waiting >= self.settings.queue_length else None

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """After the last request, store what waits."""
        asyncio.get_running_loop().set_exception_handler(monitoring.loop_fault)
        yield
        await asyncio.to_thread(self.writer.close)

    async def _read(self, read: Callable[..., Read], *arguments: Any) -> Read | None:
        """What the store reads in another thread; None if the database does not answer."""
        if not self.writer.ready:
            return None
        reading = asyncio.to_thread(read, *arguments)
        try:
            return await asyncio.wait_for(reading, self.settings.write_seconds)
        except (StoreError, TimeoutError):
            return None


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
        app = Application(service)
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
    app = Application(Service([survey], preview=True))
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
        seconds = metrics.commit_seconds
        writer = Writer(store, settings.queue_length, settings.batch, watch=seconds.observe)
        metrics.queue.set_function(lambda: writer.waiting)
        try:
            yield RunningService(
                surveys=surveys,
                metrics=metrics,
                rate=_address_limit(settings),
                link_rate=_address_limit(settings),
                open_limit=parse_limit(settings.open_rate),
                show_metrics=settings.metrics,
                store=store,
                writer=writer,
                settings=settings,
            )
        finally:
            writer.close()


def _address_limit(settings: ServiceSettings) -> AddressRateLimit | None:
    limit, proxies = parse_limit(settings.rate), TrustedProxies(settings.trusted_proxy)
    return None if limit is None else AddressRateLimit(limit, proxies)


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
