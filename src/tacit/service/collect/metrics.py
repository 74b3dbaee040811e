"""Counts for Prometheus: sums over everybody, nothing about anybody."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from tacit.service.collect.answers import NOT_KEPT, Answer
from tacit.service.collect.problems import PROBLEMS

#: How submissions end that are not refused.
ACCEPTED = ("stored", "repeated")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_KIND = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What the service counts, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        outcomes = Counter(
            "tacit_submissions",
            "Submissions by how they ended.",
            ["outcome"],
            registry=self.registry,
        )
        names = (*ACCEPTED, *(problem.name for problem in PROBLEMS))
        self._outcomes = {name: outcomes.labels(name) for name in names}
        self._queue = Gauge(
            "tacit_queue_length", "Responses that wait to be stored.", registry=self.registry
        )
        self.commit_seconds = Histogram(
            "tacit_commit_seconds",
            "Time to make a batch of responses durable.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)

    def count(self, outcome: str) -> None:
        """One more submission ended like this."""
        self._outcomes[outcome].inc()

    def watch_queue(self, length: Callable[[], float]) -> None:
        """Where the length of the queue is read when it is asked for."""
        self._queue.set_function(length)

    def totals(self) -> dict[str, int]:
        """Submissions since the start, by how they ended; only what happened."""
        found = {
            sample.labels["outcome"]: int(sample.value)
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == "tacit_submissions_total"
        }
        return {name: count for name, count in found.items() if count}

    def answer(self) -> Answer:
        """All of it in Prometheus' text format."""
        return Answer(200, _KIND, generate_latest(self.registry), (NOT_KEPT,))
