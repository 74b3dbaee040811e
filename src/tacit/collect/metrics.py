"""Metrics for Prometheus: totals only, nothing about individual submissions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from tacit.collect.http_responses import HttpResponse
from tacit.collect.problem_details import PROBLEMS

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
        self._queue = Gauge(
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
            "tacit_submissions", "Submissions by outcome.", labels=["outcome"]
        )
        for outcome, count in self._outcomes.items():
            family.add_metric([outcome], count)
        yield family

    def watch_queue(self, length: Callable[[], float]) -> None:
        """Read the length of the queue from here."""
        self._queue.set_function(length)

    def totals(self) -> dict[str, int]:
        """Submissions since the start by outcome, without zeros."""
        return {outcome: count for outcome, count in self._outcomes.items() if count}

    def response(self) -> HttpResponse:
        """All metrics in Prometheus' text format."""
        return HttpResponse(200, _KIND, generate_latest(self.registry))
