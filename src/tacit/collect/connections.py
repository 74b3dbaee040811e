"""Limits on open connections, in total and per network.

If a limit is reached, a connection that waits for its client (idle, in the middle of a request, or
not reading) is dropped for a new one; one whose request is being processed never is. A few
connections above the limit are kept for health checks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Protocol

from tacit.collect.addresses import Prefix, TrustedProxies, prefixes
from tacit.collect.problem_details import BUSY, TOO_MANY, ProblemType

#: Connections above the limit, on which only health checks are answered.
SPARE = 64
#: If the limit is reached, one in so many is dropped at once, because a search looks at all.
_SHARE = 16
#: Seconds in which a new connection is dropped last: its request may be on its way.
_YOUNG = 1.0


class Waiting(IntEnum):
    """What a connection waits for its client to do, in the order in which they are dropped."""

    TO_ASK = 0
    TO_FINISH = 1
    TO_READ = 2


class Connection(Protocol):
    """A connection, as far as it is needed here."""

    #: When its newest request began to arrive, or when it was opened.
    since: float

    @property
    def waiting(self) -> Waiting | None:
        """What it waits for; None while the server works on its request."""
        ...

    def drop(self) -> None:
        """Abort it."""
        ...


class Connections:
    """The open connections by their networks."""

    def __init__(self, most: int, most_of_one: int, proxies: TrustedProxies | None = None) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._proxies = proxies or TrustedProxies()
        self._networks: dict[Connection, tuple[bytes, ...]] = {}
        self._members: dict[bytes, set[Connection]] = {}

    def __len__(self) -> int:
        return len(self._networks)

    def admit(self, new: Connection, address: str) -> ProblemType | None:
        """Add a connection, dropping others if necessary; why it may not submit, or None.

        It is not added if even the extra connections are taken.
        """
        found = () if self._proxies.trusts(address) else prefixes(address)
        problem = self._crowded(found, new.since)
        if problem is None or len(self) < self._most + SPARE:
            self._networks[new] = tuple(network for network, _ in found)
            for network in self._networks[new]:
                self._members.setdefault(network, set()).add(new)
        return problem

    def _crowded(self, found: tuple[Prefix, ...], now: float) -> ProblemType | None:
        """Make room for one more; why that failed, or None."""
        for network, share in found:
            members, most = self._members.get(network, set()), share * self._most_of_one
            if len(members) >= most and not self._drop_some(members, most, now):
                return TOO_MANY
        full = len(self) >= self._most and not self._drop_some(self._networks, self._most, now)
        return BUSY if full else None

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._networks

    def leave(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        for network in self._networks.pop(connection, ()):
            members = self._members[network]
            members.discard(connection)
            if not members:
                del self._members[network]

    def _drop_some(self, among: Iterable[Connection], most: int, now: float) -> bool:
        """Drop connections that wait for their client; whether there were any."""
        ranked = [
            (self._rank(waiting, each, now), number, each)
            for number, each in enumerate(among)
            if (waiting := each.waiting) is not None
        ]
        dropped = heapq.nsmallest(max(1, most // _SHARE), ranked)
        for *_, each in dropped:
            self.leave(each)
            each.drop()
        return bool(dropped)

    def _rank(self, waiting: Waiting, each: Connection, now: float) -> tuple[Any, ...]:
        """The lowest is dropped first: not new, idle, of the largest network, waiting longest."""
        young = now - each.since < _YOUNG
        of_one = max((len(self._members[net]) for net in self._networks[each]), default=0)
        return young, waiting, -of_one, each.since
