"""GuessDelay: after failed sign-ins, the next one has to wait, and each time twice as long."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

#: Failures that cost nothing, the first wait and the longest one in seconds, and names remembered.
FREE_FAILURES, FIRST_WAIT, LONGEST_WAIT, MOST_NAMES = 3, 1.0, 900.0, 10_000


class GuessDelay:
    """Counts failures by key, such as a name or an address. `now` is a monotonic clock."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._beginning = Lock()

    def begin(self, *keys: str) -> float:
        """Seconds until the next try is allowed for all of the keys; 0 if it begins now.

        It counts as failed until it succeeds, so that tries at the same time wait too.
        """
        with self._beginning:
            wait = self.wait(*keys)
            if wait == 0:
                self.failed(*keys)
            return wait

    def wait(self, *keys: str) -> float:
        """Seconds until the next try is allowed for all of the keys; 0 if it is."""
        return max(0.0, *(self._free_at(key) - self._now() for key in keys))

    def failed(self, *keys: str) -> None:
        """A try failed."""
        for key in keys:
            count = self._failures.pop(key, (0, 0.0))[0] + 1
            self._failures[key] = (count, self._now())
            if len(self._failures) > MOST_NAMES:
                self._failures.popitem(last=False)

    def succeeded(self, *keys: str) -> None:
        """A try succeeded: forget the failures."""
        for key in keys:
            self._failures.pop(key, None)

    def _free_at(self, key: str) -> float:
        count, last = self._failures.get(key, (0, 0.0))
        if count < FREE_FAILURES:
            return 0.0
        return last + min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(count - FREE_FAILURES, 30))
