"""Where requests come from (networks, trusted proxies), and rate limits on submissions.

A limit per address is useless for IPv6, where a customer has at least a /64 and often a /48.
Addresses that carry an IPv4 address (mapped, 6to4, Teredo) count as that address.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.types import Scope

from tacit.collect.http import header

Network = IPv4Network | IPv6Network
#: The first bytes of a network, and how many times the limit of one address it has.
Prefix = tuple[bytes, int]

#: A /48 may be one site or 256 households, so it gets the limit of eight addresses.
WIDE_SHARE = 8
_WIDE_BYTES, _NARROW_BYTES = 6, 8


def prefixes(address: str) -> tuple[Prefix, ...]:
    """The networks of an address: itself for IPv4, its /48 and /64 for IPv6."""
    parsed = _parsed(address)
    if isinstance(parsed, IPv6Address):  # or the IPv4 address that it carries
        parsed = parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else parsed)
    if parsed is None:
        return ((address.encode("utf-8", "replace"), 1),)
    if isinstance(parsed, IPv4Address):
        return ((parsed.packed, 1),)
    return ((parsed.packed[:_WIDE_BYTES], WIDE_SHARE), (parsed.packed[:_NARROW_BYTES], 1))


class TrustedProxies:
    """The proxies whose X-Forwarded-For is trusted."""

    def __init__(self, networks: Sequence[Network] = ()) -> None:
        self._networks = tuple(networks)

    def trusts(self, address: str) -> bool:
        """Whether an address belongs to a trusted proxy."""
        parsed = _parsed(address) if self._networks else None
        return parsed is not None and any(parsed in network for network in self._networks)

    def client(self, scope: Scope) -> str:
        """The address of the client: the peer, or the one that a trusted proxy names."""
        peer: str = (scope.get("client") or ("", 0))[0]
        if self.trusts(peer):
            named = (header(scope, b"x-forwarded-for") or b"").decode("latin-1").split(",")
            for address in reversed([_without_port(part.strip()) for part in named]):
                peer = address or peer
                if not self.trusts(peer):
                    break
        return peer

    def scheme(self, scope: Scope) -> str:
        """http or https: what a trusted proxy says (X-Forwarded-Proto), else that of the peer."""
        named = (header(scope, b"x-forwarded-proto") or b"").decode("latin-1").lower()
        trusted = named in ("http", "https") and self.trusts((scope.get("client") or ("", 0))[0])
        return named if trusted else scope["scheme"]


def _without_port(named: str) -> str:
    """Remove the port that some proxies add: 192.0.2.1:4321 or [2001:db8::1]:4321."""
    if named.startswith("["):
        return named[1:].partition("]")[0]
    return named.partition(":")[0] if named.count(":") == 1 else named


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """An address; a mapped one becomes its IPv4 address, because the system itself maps it."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    return parsed if isinstance(parsed, IPv4Address) else parsed.ipv4_mapped or parsed


#: Keys in memory; above this number the oldest window is dropped.
MOST_KEYS = 200_000
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_LIMIT = re.compile(
    rf"\s*(?P<number>[0-9]{{1,9}})\s*(?:/|\bper\b)\s*(?P<times>[0-9]{{1,4}})?\s*"
    rf"(?P<unit>{'|'.join(_SECONDS)})s?\s*"
)


@dataclass(frozen=True)
class RateLimit:
    """A number of submissions in a number of seconds."""

    number: int
    seconds: int


def parse_limit(text: str) -> RateLimit | None:
    """Parse a limit such as 600/minute; None for off. Raises ValueError."""
    if text == "off":
        return None
    match = _LIMIT.fullmatch(text)
    times = int(match["times"] or 1) if match else 0
    if not match or not times:
        raise ValueError("must be such as 600/minute or 20/second, or off")
    return RateLimit(int(match["number"]), times * _SECONDS[match["unit"]])


class FixedWindow:
    """Counts per key in a fixed window, which begins with the first count of the key."""

    def __init__(self, limit: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        # In the order in which the windows end, because all have the same length.
        self._counts: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def wait(self, key: bytes, share: int = 1) -> int | None:
        """Seconds until one more is allowed; None if it is now. `share` multiplies the limit."""
        count, end = self._counts.get(key, (0, 0.0))
        left = end - self._clock()
        if left <= 0 or count < share * self._limit.number:
            return None
        return max(1, math.ceil(left))

    def count(self, key: bytes) -> None:
        """Count one."""
        now, counts = self._clock(), self._counts
        count, end = counts.get(key, (0, 0.0))
        if end <= now:
            counts.pop(key, None)
            # Drop the windows that have ended, and the oldest if there are too many.
            while counts and (len(counts) >= MOST_KEYS or next(iter(counts.values()))[1] <= now):
                counts.popitem(last=False)
            count, end = 0, now + self._limit.seconds
        counts[key] = (count + 1, end)


class AddressRateLimit:
    """A limit per address, and eight times that limit per IPv6 /48.

    Addresses are counted under a keyed hash whose key is drawn at start and never stored; counts
    stay in memory for one window. The clock is monotonic, so changing the system time has no
    effect.
    """

    def __init__(self, limit: RateLimit, proxies: TrustedProxies | None = None) -> None:
        self._window = FixedWindow(limit)
        self._proxies = proxies or TrustedProxies()
        self._secret = secrets.token_bytes(32)

    def wait(self, scope: Scope) -> int | None:
        """Count a request; seconds to wait if its address has sent too many."""
        counted = []
        for network, share in prefixes(self._proxies.client(scope)):
            key = hashlib.blake2b(network, digest_size=16, key=self._secret).digest()
            seconds = self._window.wait(key, share)
            if seconds is not None:
                return seconds  # a refused request is not counted: it would block its neighbours
            counted.append(key)
        for key in counted:
            self._window.count(key)
        return None
