"""Metrics and logs: totals, start, stop and errors; never a submission, an address or a key."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from tacit.collect.http import PROBLEMS, HttpResponse

#: The outcomes of submissions that are not refused.
ACCEPTED = ("stored", "repeated")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_KIND = "text/plain; version=0.0.4; charset=utf-8"


class Metrics(Collector):
    """The metrics of one service, in its own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._outcomes = dict.fromkeys((*ACCEPTED, *(problem.name for problem in PROBLEMS)), 0)
        #: Submissions refused because of the limit per open survey.
        self.over_open_rate = 0
        self.registry.register(self)
        self.queue = Gauge(
            "tacit_queue_length", "Responses waiting to be stored.", registry=self.registry
        )
        self.commit_seconds = Histogram(
            "tacit_commit_seconds",
            "Time to make a batch of responses durable.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)

    def count(self, outcome: str) -> None:
        """Count a submission by its outcome; only called from the event loop."""
        self._outcomes[outcome] += 1

    def collect(self) -> Iterator[Metric]:
        """The submissions, for the registry; locked counters would cost ten times as much."""
        family = CounterMetricFamily(
            "tacit_submissions", "Submissions by outcome.", None, ["outcome"]
        )
        for outcome, count in self._outcomes.items():
            family.add_metric([outcome], count)
        yield family

    def totals(self) -> dict[str, int]:
        """Submissions since the start by outcome, without zeros."""
        return {outcome: count for outcome, count in self._outcomes.items() if count}

    def response(self) -> HttpResponse:
        """All metrics in Prometheus' text format."""
        return HttpResponse(200, _KIND, generate_latest(self.registry))


# Structured logs


#: Below this level uvicorn logs every malformed request.
_UVICORN_LEVEL = logging.ERROR
#: Seconds between two log lines of a frequent event.
_REPEAT = 60.0


def set_up(kind: str = "auto") -> None:
    """Log to standard error as `json` or `console`; `auto` is console on a terminal, else json."""
    for_people = kind == "console" or (kind == "auto" and sys.stderr.isatty())
    last: Any = (
        structlog.dev.ConsoleRenderer() if for_people else structlog.processors.JSONRenderer()
    )
    faults: list[Any] = [] if for_people else [structlog.processors.format_exc_info]
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, *faults, last],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    # Log uvicorn's errors in the same format, and switch its access log off.
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *faults, last],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    for name, handlers in (("uvicorn.error", [handler]), ("uvicorn.access", [])):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [*handlers], False
        logger.setLevel(_UVICORN_LEVEL)


def log() -> Any:
    """The service's logger."""
    return structlog.get_logger()


class OncePerMinute:
    """Limits a log event to one line per minute."""

    def __init__(self) -> None:
        self._next = 0.0

    def now(self) -> bool:
        """Whether a line may be logged now."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + _REPEAT
        return True


def fault(error: BaseException) -> None:
    """Log the type and place of an unexpected error; not its message, which may hold data."""
    calls = traceback.extract_tb(error.__traceback__)
    where = [f"{Path(call.filename).name}:{call.lineno}" for call in calls]
    log().error("fault", kind=type(error).__name__, where=where)


def loop_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """`fault` as the exception handler of an event loop."""
    fault(context.get("exception") or RuntimeError())
