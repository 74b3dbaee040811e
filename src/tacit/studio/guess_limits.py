"""GuessLimits: few guesses at a password for strangers, and no way for them to lock an account.

A device on which an account has signed in before has a counter of its own that nobody else can
raise ("device cookies"). Strangers are counted by account and network, by network, and by account.
Only the last count can keep out the owner of the account, on a new device, if guesses come from
hundreds of networks; half of it is reserved for networks that have hardly guessed.

OWASP, "Slow Down Online Guessing Attacks with Device Cookies".
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from threading import Lock

from tacit.collect.limits import Prefix

#: Failures of a device, or of a network for an account, that cost nothing; the first wait after
#: them and the longest, in seconds; each wait is twice as long as the one before.
FREE_FAILURES, FIRST_WAIT, LONGEST_WAIT = 3, 1.0, 900.0
#: Seconds without a failure after which they are forgotten.
FORGOTTEN = 86_400.0
#: Guesses of a network at all accounts, and of all strangers at one account; seconds in which one
#: of them comes back: 1,440 and 1,000 per day.
NETWORK_GUESSES, NETWORK_SECONDS = 30, 60.0
ACCOUNT_GUESSES, ACCOUNT_SECONDS = 1_000, 86.4
#: The part of the guesses at an account that is left to networks, also /48 ones, with fewer than
#: `FREE_FAILURES` failures at it.
RESERVED = ACCOUNT_GUESSES // 2
#: Networks, and names that no account has, in memory.
MOST_KEYS = 100_000


@dataclass(frozen=True)
class Guess:
    """A try at a password: the number of the account, or a name that no account has; from where.

    `device` names a device on which this account has signed in before.
    """

    account: int | str
    networks: Sequence[Prefix] = ()
    device: bytes | None = None


class GuessLimits:
    """Counts guesses. `now` is a monotonic clock."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock = now, Lock()
        self._failures: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()
        self._networks = _GuessBudget(NETWORK_GUESSES, NETWORK_SECONDS, MOST_KEYS)
        self._names = _GuessBudget(ACCOUNT_GUESSES, ACCOUNT_SECONDS, MOST_KEYS)
        #: Never dropped from memory: guesses at many names must not give back those at an account.
        self._accounts = _GuessBudget(ACCOUNT_GUESSES, ACCOUNT_SECONDS, None)

    def begin(self, guess: Guess) -> float:
        """Seconds until this guess is allowed; 0 if it begins now.

        It counts as failed until it succeeds, so that guesses at the same time wait too.
        """
        with self._lock:
            now = self._now()
            if guess.device is not None:
                key = (guess.account, guess.device)
                wait = self._wait(key, 1, now)
                if wait == 0:
                    self._fail(key, now)
                return wait
            wait = self._wait_of_stranger(guess, now)
            if wait == 0:
                self._budget(guess).take(guess.account, now)
                for network, share in guess.networks:
                    self._fail((guess.account, network), now)
                    self._networks.take(network, now, share)
            return wait

    def succeeded(self, guess: Guess) -> None:
        """It was right, and no failure. Earlier failures of strangers stay counted."""
        with self._lock:
            now = self._now()
            if guess.device is not None:
                self._failures.pop((guess.account, guess.device), None)
                return
            self._budget(guess).give_back(guess.account, now)
            for network, share in guess.networks:
                self._networks.give_back(network, now, share)
                count, last = self._failures.get((guess.account, network), (0, 0.0))
                self._failures[guess.account, network] = (max(0, count - 1), last)

    def failed_otherwise(self, networks: Sequence[Prefix]) -> float:
        """Count a failure that was no guess at a password; seconds to wait if there were many."""
        with self._lock:
            now = self._now()
            wait = max(
                (self._networks.wait(network, now, share) for network, share in networks), default=0
            )
            if wait == 0:
                for network, share in networks:
                    self._networks.take(network, now, share)
            return wait

    def _budget(self, guess: Guess) -> _GuessBudget:
        return self._accounts if isinstance(guess.account, int) else self._names

    def _wait_of_stranger(self, guess: Guess, now: float) -> float:
        pairs = [((guess.account, network), share) for network, share in guess.networks]
        free = all(self._count(key, now) < FREE_FAILURES for key, _ in pairs)
        reserved = 0 if free else RESERVED
        return max(
            self._budget(guess).wait(guess.account, now, reserved=reserved),
            *(self._wait(key, share, now) for key, share in pairs),
            *(self._networks.wait(network, now, share) for network, share in guess.networks),
        )

    def _count(self, key: Hashable, now: float) -> int:
        count, last = self._failures.get(key, (0, 0.0))
        return 0 if now - last > FORGOTTEN else count

    def _wait(self, key: Hashable, share: int, now: float) -> float:
        excess = self._count(key, now) - FREE_FAILURES * share
        if excess < 0:
            return 0.0
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(excess, 30))
        return max(0.0, self._failures[key][1] + wait - now)

    def _fail(self, key: Hashable, now: float) -> None:
        count = self._count(key, now) + 1
        self._failures.pop(key, None)
        self._failures[key] = (count, now)
        if len(self._failures) > MOST_KEYS:
            self._failures.popitem(last=False)


class _GuessBudget:
    """A number of guesses per key, of which one comes back in so many seconds."""

    def __init__(self, most: int, seconds: float, most_keys: int | None) -> None:
        self._most, self._seconds, self._most_keys = most, seconds, most_keys
        #: Guesses that are used up, and when that was computed.
        self._used: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait(self, key: Hashable, now: float, share: int = 1, reserved: int = 0) -> float:
        """Seconds until one more is left; `share` multiplies the number and the speed."""
        excess = self._used_now(key, now, share) + 1 - (self._most * share - reserved)
        return max(0.0, excess * self._seconds / share)

    def take(self, key: Hashable, now: float, share: int = 1) -> None:
        """Use one."""
        used = self._used_now(key, now, share) + 1
        self._used.pop(key, None)
        self._used[key] = (used, now)
        if self._most_keys is not None and len(self._used) > self._most_keys:
            self._used.popitem(last=False)

    def give_back(self, key: Hashable, now: float, share: int = 1) -> None:
        """One was not used after all."""
        self._used[key] = (max(0.0, self._used_now(key, now, share) - 1), now)

    def _used_now(self, key: Hashable, now: float, share: int) -> float:
        used, at = self._used.get(key, (0.0, now))
        return max(0.0, used - (now - at) * share / self._seconds)
