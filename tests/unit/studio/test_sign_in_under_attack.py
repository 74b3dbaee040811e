"""Strangers who guess passwords: they lock nobody out, and get few guesses."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tacit.studio.accounts import Role
from tests.support.studio import PASSWORD, Browser, Tried

ADDRESSES = [f"192.0.2.{number}" for number in range(1, 41)]


@pytest.fixture
def ada(studio: Tried) -> str:
    return studio.account("Ada", Role.VIEWER).name


def sign_in(browser: Browser, name: str, password: str = "wrong") -> int:
    return browser.post("/sign-in", data={"name": name, "password": password}).status_code


def strangers(studio: Tried, addresses: Iterable[str]) -> list[Browser]:
    """A browser at each of these addresses, with which nobody has signed in."""
    browsers = []
    for address in addresses:
        browsers.append(studio.client())
        browsers[-1].address = address
    return browsers


def test_strangers_who_guess_do_not_lock_an_account(studio: Tried, ada: str) -> None:
    for stranger in strangers(studio, ADDRESSES):
        assert [sign_in(stranger, ada) for _ in range(5)] == [403, 403, 403, 429, 429]
    (new,) = strangers(studio, ["198.51.100.1"])
    assert sign_in(new, ada, PASSWORD) == 303


def test_a_device_that_signed_in_before_is_not_locked_by_its_neighbours(
    studio: Tried, ada: str
) -> None:
    known, neighbour = strangers(studio, ["192.0.2.1"] * 2)
    assert sign_in(known, ada, PASSWORD) == 303
    known.post("/sign-out")
    assert [sign_in(neighbour, ada) for _ in range(5)][-1] == 429
    assert sign_in(neighbour, ada, PASSWORD) == 429
    assert sign_in(known, ada, PASSWORD) == 303


def test_a_known_device_has_few_guesses_too(studio: Tried, ada: str) -> None:
    (known,) = strangers(studio, ["192.0.2.1"])
    assert sign_in(known, ada, PASSWORD) == 303
    assert [sign_in(known, ada) for _ in range(5)] == [403, 403, 403, 429, 429]
    assert sign_in(known, ada, PASSWORD) == 429


def test_the_device_of_one_account_is_a_stranger_for_another(studio: Tried, ada: str) -> None:
    studio.account("Eve", Role.VIEWER)
    (device,) = strangers(studio, ["192.0.2.1"])
    assert [sign_in(device, ada) for _ in range(4)][-1] == 429
    assert sign_in(device, "Eve", PASSWORD) == 303
    assert sign_in(device, ada, PASSWORD) == 429


def test_an_own_sign_in_does_not_reset_the_count_of_an_address(studio: Tried) -> None:
    studio.account("Eve", Role.VIEWER)
    guesses = []
    for number in range(60):
        (browser,) = strangers(studio, ["192.0.2.1"])
        guesses.append(sign_in(browser, f"Name {number}"))
        sign_in(browser, "Eve", PASSWORD)
    assert guesses == [403] * 30 + [429] * 30


@pytest.mark.parametrize(
    ("network", "most"),
    [("2001:db8:0:1::{}", 30), ("2001:db8:0:{}::1", 240), ("2001:db8:{}::1", 300)],
)
def test_addresses_of_one_ipv6_network_count_together(
    network: str, most: int, studio: Tried
) -> None:
    addresses = [network.format(f"{number:x}") for number in range(1, 301)]
    browsers = strangers(studio, addresses)
    guesses = [sign_in(browser, f"Name {n}") for n, browser in enumerate(browsers)]
    assert guesses == [403] * most + [429] * (300 - most)
