"""Rate limits on submissions: per address, and per open survey.

Addresses are counted under a keyed hash whose key is drawn at start and never stored; counts stay
in memory for one window. The clock is monotonic, so changing the system time has no effect.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import Scope

from tacit.collect.addresses import TrustedProxies, prefixes

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
    found = _LIMIT.fullmatch(text)
    times = int(found["times"] or 1) if found else 0
    if not found or not times:
        raise ValueError("must be such as 600/minute or 20/second, or off")
    return RateLimit(int(found["number"]), times * _SECONDS[found["unit"]])


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
        now = self._clock()
        count, end = self._counts.get(key, (0, 0.0))
        if end <= now:
            self._counts.pop(key, None)
            self._drop_oldest(now)
            count, end = 0, now + self._limit.seconds
        self._counts[key] = (count + 1, end)

    def _drop_oldest(self, now: float) -> None:
        """Drop the windows that have ended, and the oldest if there are too many."""
        counts = self._counts
        while counts and (len(counts) >= MOST_KEYS or next(iter(counts.values()))[1] <= now):
            counts.popitem(last=False)

    def __len__(self) -> int:
        return len(self._counts)


class AddressRateLimit:
    """A limit per address, and eight times that limit per IPv6 /48."""

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
