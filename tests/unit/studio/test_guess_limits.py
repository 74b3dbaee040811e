"""How many guesses an attacker has per day, and whom they cannot keep out."""

from __future__ import annotations

import pytest

from tacit.collect.limits import prefixes
from tacit.studio import guess_limits
from tacit.studio.guess_limits import ACCOUNT_GUESSES, FREE_FAILURES, Guess, GuessLimits

DAY = 86_400
ADA = 1
DEVICE = b"a laptop"


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limits(clock: Clock) -> GuessLimits:
    return GuessLimits(clock)


def stranger(number: int, account: int | str = ADA) -> Guess:
    """A guess from a network of its own."""
    return Guess(account, prefixes(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"))


def guesses_in_a_day(limits: GuessLimits, clock: Clock, networks: int, step: int) -> int:
    """How many guesses at one account are allowed if all networks try every `step` seconds."""
    allowed = 0
    for _ in range(0, DAY, step):
        clock.seconds += step
        allowed += sum(limits.begin(stranger(number)) == 0 for number in range(networks))
    return allowed


def test_each_failure_doubles_the_wait_up_to_15_minutes(limits: GuessLimits, clock: Clock) -> None:
    waits = []
    for _ in range(16):
        assert limits.begin(Guess(ADA, device=DEVICE)) == 0
        waits.append(limits.begin(Guess(ADA, device=DEVICE)))
        clock.seconds += waits[-1]
    assert waits[:6] == [0, 1, 2, 4, 8, 16]
    assert waits[-1] == 900


def test_one_network_has_107_guesses_per_day_at_an_account(
    limits: GuessLimits, clock: Clock
) -> None:
    assert guesses_in_a_day(limits, clock, networks=1, step=1) == 107


def test_hundreds_of_networks_have_2000_guesses_on_the_first_day_then_1000_per_day(
    limits: GuessLimits, clock: Clock
) -> None:
    days = [guesses_in_a_day(limits, clock, networks=300, step=900) for _ in range(3)]
    assert days[0] <= 2 * ACCOUNT_GUESSES
    assert sum(days) <= 4 * ACCOUNT_GUESSES
    assert sum(days) > 3 * ACCOUNT_GUESSES  # the limit, not the waits, binds


def test_one_network_has_30_guesses_at_once_and_one_per_minute_at_all_accounts(
    limits: GuessLimits, clock: Clock
) -> None:
    at_once = [limits.begin(stranger(1, f"name {number}")) for number in range(40)]
    assert at_once.count(0) == 30
    clock.seconds += 60
    assert [limits.begin(stranger(1, f"other {number}")) == 0 for number in range(2)] == [1, 0]


def test_a_known_device_is_never_kept_out_by_others(limits: GuessLimits, clock: Clock) -> None:
    guesses_in_a_day(limits, clock, networks=2000, step=7200)
    assert limits.begin(stranger(3000)) > 0
    assert limits.begin(Guess(ADA, prefixes("10.0.0.1"), DEVICE)) == 0


@pytest.mark.parametrize("kind", ["10.{}.{}.1", "2001:db8:{:x}{:02x}::1"])
def test_a_new_device_is_kept_out_only_by_more_than_160_networks(
    kind: str, limits: GuessLimits, clock: Clock
) -> None:
    def network(number: int) -> Guess:
        return Guess(ADA, prefixes(kind.format(number // 256 + 1, number % 256)))

    def guess_as_often_as_allowed(number: int) -> None:
        while limits.begin(network(number)) == 0:
            pass

    for _ in range(100):  # forty networks that do not stop use what is not reserved
        clock.seconds += 900
        for number in range(40):
            limits.begin(network(number))
    assert limits.begin(network(0)) > 0
    for number in range(1000, 1160):
        guess_as_often_as_allowed(number)
    assert limits.begin(network(3000)) == 0
    limits.succeeded(network(3000))
    for number in range(1160, 1200):
        guess_as_often_as_allowed(number)
    assert limits.begin(network(3000)) > 0


def test_a_right_password_costs_no_guess_and_forgives_no_other(limits: GuessLimits) -> None:
    for _ in range(100):
        assert limits.begin(stranger(1)) == 0
        limits.succeeded(stranger(1))
    for _ in range(FREE_FAILURES):
        assert limits.begin(stranger(1)) == 0
    assert limits.begin(stranger(1)) == 1
    limits.succeeded(stranger(2))
    assert limits.begin(stranger(1)) == 1


def test_failures_are_forgotten_after_a_day_without_any(limits: GuessLimits, clock: Clock) -> None:
    for _ in range(FREE_FAILURES):
        limits.begin(stranger(1))
    clock.seconds += DAY + 1
    assert [limits.begin(stranger(1)) for _ in range(4)] == [0, 0, 0, 1]


def test_guesses_at_many_names_fill_no_memory_and_give_back_no_guess_at_an_account(
    limits: GuessLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guess_limits, "MOST_KEYS", 100)
    limits = GuessLimits(lambda: 0.0)
    allowed = 0
    for number in range(3000):
        allowed += limits.begin(stranger(number)) == 0
        limits.begin(stranger(number, f"name {number}"))
    assert allowed == ACCOUNT_GUESSES
    sizes = [len(limits._failures), len(limits._networks._used), len(limits._names._used)]
    assert sizes == [100, 100, 100]
