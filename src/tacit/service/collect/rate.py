"""How often one address may submit. Addresses are neither kept nor written anywhere.

An address is counted under a hash with a secret that is drawn when the server starts and dies
with it; the counts are in memory for the length of one window.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from limits import RateLimitItem, parse
from limits.storage import Storage
from limits.strategies import FixedWindowRateLimiter
from starlette.types import Scope

from tacit.service.collect.answers import header

Network = IPv4Network | IPv6Network

#: Addresses counted at a time; beyond, counting starts anew rather than fill the memory.
MOST_ADDRESSES = 200_000
#: An IPv6 customer has at least all addresses that share these bits.
_IPV6_PREFIX = 64


class Counts(Storage):
    """Counts that expire, in a dictionary.

    The storage of `limits` starts a thread every 10 ms that looks at every key; this one drops
    what has expired once in a while.
    """

    STORAGE_SCHEME = None
    _PAUSE = 10.0

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, tuple[int, float]] = {}
        self._cleaning = 0.0

    @property
    def base_exceptions(self) -> type[Exception]:
        return ArithmeticError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count, and return how many there are in this window."""
        now = time.time()
        count, end = self._counts.get(key, (0, 0.0))
        if end <= now:
            self._clean(now)
            count, end = 0, now + expiry
        self._counts[key] = (count + amount, end)
        return count + amount

    def get(self, key: str) -> int:
        """How many there are in this window."""
        count, end = self._counts.get(key, (0, 0.0))
        return count if end > time.time() else 0

    def get_expiry(self, key: str) -> float:
        """When the window ends."""
        return self._counts.get(key, (0, time.time()))[1]

    def check(self) -> bool:
        """Memory is always there."""
        return True

    def reset(self) -> int | None:
        """Forget everything."""
        forgotten = len(self._counts)
        self._counts.clear()
        return forgotten

    def clear(self, key: str) -> None:
        """Forget one key."""
        self._counts.pop(key, None)

    def _clean(self, now: float) -> None:
        if now >= self._cleaning:
            self._counts = {key: kept for key, kept in self._counts.items() if kept[1] > now}
            self._cleaning = now + self._PAUSE
        if len(self._counts) >= MOST_ADDRESSES:
            self._counts.clear()


class Rate:
    """A limit such as 600/minute for each address."""

    def __init__(self, limit: RateLimitItem, proxies: Sequence[Network] = ()) -> None:
        self._limit = limit
        self._limiter = FixedWindowRateLimiter(Counts())
        self._proxies = tuple(proxies)
        self._secret = secrets.token_bytes(32)

    def wait(self, scope: Scope) -> int | None:
        """Count a request; seconds to wait if there were too many from its address."""
        key = self._key(self._address(scope))
        if self._limiter.hit(self._limit, key):
            return None
        left = self._limiter.get_window_stats(self._limit, key).reset_time - time.time()
        return max(1, math.ceil(left))

    def _key(self, address: str) -> str:
        whole = address.encode("utf-8", "replace")
        return hashlib.blake2b(whole, digest_size=16, key=self._secret).hexdigest()

    def _address(self, scope: Scope) -> str:
        """Who sent it: the peer, or whom a trusted proxy names."""
        peer = (scope.get("client") or ("", 0))[0]
        if self._proxies and self._trusts(peer):
            named = (header(scope, b"x-forwarded-for") or b"").decode("latin-1").split(",")
            for address in reversed([_without_port(part.strip()) for part in named]):
                peer = address or peer
                if not self._trusts(peer):
                    break
        return _shortened(peer)

    def _trusts(self, address: str) -> bool:
        known = _known(address)
        return known is not None and any(known in network for network in self._proxies)


def rate_of(text: str) -> RateLimitItem | None:
    """The limit that a text such as 600/minute stands for; None for off. ValueError else."""
    return None if text == "off" else parse(text)


def _without_port(named: str) -> str:
    """An address as some proxies name it, 192.0.2.1:4321 or [2001:db8::1]:4321."""
    if named.startswith("["):
        return named[1:].partition("]")[0]
    return named.partition(":")[0] if named.count(":") == 1 else named


def _shortened(address: str) -> str:
    """IPv6 by its network, all else as it is."""
    if ":" not in address:
        return address
    known = _known(address)
    if isinstance(known, IPv6Address):
        return str(IPv6Network((known, _IPV6_PREFIX), strict=False))
    return address if known is None else str(known)


def _known(address: str) -> IPv4Address | IPv6Address | None:
    """An address; IPv4 written as IPv6, as a socket for both sees it, is IPv4."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
