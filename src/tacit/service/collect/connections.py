"""Which connections may be open: so many in all, so many from one network, idle ones give way.

A connection that waits for its client (idle, in the middle of a request, or not reading) is dropped
when another one needs its place; one whose request is being worked on never is. A few places beyond
the limit are kept for health checks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Protocol

from tacit.service.collect.addresses import Prefix, TrustedProxies, prefixes
from tacit.service.collect.problem_details import BUSY, TOO_MANY, ProblemType

#: Index beyond the limit, in which health checks are answered and all else is refused.
SPARE = 64
#: When places are needed, this share of them is emptied at once: a search costs a look at each.
_SHARE = 16
#: Seconds in which a new connection gives way last: its request may be on its way.
_YOUNG = 1.0


class Waiting(IntEnum):
    """What a connection waits for its client to do, in the order in which they give way."""

    TO_ASK = 0
    TO_FINISH = 1
    TO_READ = 2


class Connection(Protocol):
    """What is known of a connection here."""

    #: When its newest request began to arrive, or it was opened.
    since: float

    @property
    def waiting(self) -> Waiting | None:
        """What it waits for; None while the server works on its request."""
        ...

    def drop(self) -> None:
        """End it at once."""
        ...


class Connections:
    """The connections that are open, by the networks they come from."""

    def __init__(self, most: int, most_of_one: int, proxies: TrustedProxies | None = None) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._proxies = proxies or TrustedProxies()
        self._networks: dict[Connection, tuple[bytes, ...]] = {}
        self._members: dict[bytes, set[Connection]] = {}

    def __len__(self) -> int:
        return len(self._networks)

    def admit(self, new: Connection, address: str) -> ProblemType | None:
        """Enter a connection, if there is a place; why it may not submit, if so.

        Others may be dropped for it. If it has no place at all, it is not entered.
        """
        found = () if self._proxies.trusts(address) else prefixes(address)
        problem = self._crowded(found, new.since)
        if problem is None or len(self) < self._most + SPARE:
            self._enter(new, tuple(network for network, _ in found))
        return problem

    def _crowded(self, found: tuple[Prefix, ...], now: float) -> ProblemType | None:
        """Make room for one more; why there is none."""
        for network, share in found:
            members, most = self._members.get(network, set()), share * self._most_of_one
            if len(members) >= most and not self._drop_some(members, most, now):
                return TOO_MANY
        full = len(self) >= self._most and not self._drop_some(self._networks, self._most, now)
        return BUSY if full else None

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._networks

    def leave(self, connection: Connection) -> None:
        """A connection has ended."""
        for network in self._networks.pop(connection, ()):
            members = self._members[network]
            members.discard(connection)
            if not members:
                del self._members[network]

    def _enter(self, new: Connection, networks: tuple[bytes, ...]) -> None:
        self._networks[new] = networks
        for network in networks:
            self._members.setdefault(network, set()).add(new)

    def _drop_some(self, among: Iterable[Connection], most: int, now: float) -> bool:
        """Drop connections that wait for their client; False if there is none."""
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
        """The lowest gives way first: not new, idle, of the network with most, waiting longest."""
        young = now - each.since < _YOUNG
        of_one = max((len(self._members[net]) for net in self._networks[each]), default=0)
        return young, waiting, -of_one, each.since
