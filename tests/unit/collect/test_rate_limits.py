"""How often one address may submit, and what is remembered of it."""

from __future__ import annotations

import time
from ipaddress import ip_network
from typing import Any

import pytest

from tacit.collect import limits as module
from tacit.collect.limits import (
    WIDE_SHARE,
    AddressRateLimit,
    FixedWindow,
    RateLimit,
    TrustedProxies,
    parse_limit,
    prefixes,
)


def scope(peer: str, forwarded: str | None = None) -> dict[str, Any]:
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    return {"client": (peer, 1), "headers": headers}


def rate(proxies: tuple[str, ...] = ()) -> AddressRateLimit:
    return AddressRateLimit(
        RateLimit(1, 3600), TrustedProxies([ip_network(proxy) for proxy in proxies])
    )


def shares(limit: AddressRateLimit, first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two requests count as from one address."""
    assert limit.wait(first) is None
    return limit.wait(second) is not None


def test_each_address_has_its_own_count() -> None:
    assert shares(rate(), scope("192.0.2.1"), scope("192.0.2.1"))
    assert not shares(rate(), scope("192.0.2.1"), scope("192.0.2.2"))


def test_an_ipv6_network_counts_as_one_address() -> None:
    assert shares(rate(), scope("2001:db8::1"), scope("2001:db8::ffff:2"))
    assert not shares(rate(), scope("2001:db8::1"), scope("2001:db8:0:1::1"))


def test_ipv4_written_as_ipv6_is_the_same_address() -> None:
    assert shares(rate(), scope("192.0.2.1"), scope("::ffff:192.0.2.1"))
    assert not shares(rate(), scope("::ffff:192.0.2.1"), scope("::ffff:192.0.2.2"))
    ours = rate(("127.0.0.1/32",))
    mapped = "::ffff:127.0.0.1"
    assert not shares(ours, scope(mapped, "192.0.2.1"), scope(mapped, "192.0.2.2"))


def test_a_proxy_is_believed_only_if_it_is_trusted() -> None:
    ours = ("10.0.0.0/8",)
    both = (scope("10.0.0.1", "192.0.2.1"), scope("10.0.0.1", "192.0.2.2"))
    assert not shares(rate(ours), *both)
    assert shares(rate(), *both)


def test_what_a_client_claims_of_itself_does_not_count() -> None:
    ours = rate(("10.0.0.0/8",))
    assert shares(
        ours, scope("10.0.0.1", "7.7.7.7, 192.0.2.1"), scope("10.0.0.1", "8.8.8.8, 192.0.2.1")
    )


def test_proxies_behind_proxies_are_skipped() -> None:
    ours = rate(("10.0.0.0/8",))
    assert shares(ours, scope("10.0.0.1", "192.0.2.1, 10.0.0.9"), scope("10.0.0.2", "192.0.2.1"))


@pytest.mark.parametrize("address", ["192.0.2.1", "[2001:db8::1]"])
def test_a_port_that_a_proxy_names_does_not_count(address: str) -> None:
    ours = rate(("10.0.0.0/8",))
    first, second = (scope("10.0.0.1", f"{address}:{port}") for port in (4321, 4322))
    assert shares(ours, first, second)
    assert ours.wait(scope("10.0.0.1", address.strip("[]"))) is not None


@pytest.mark.parametrize("odd", ["", ",,", "unix:", "[::1", "x" * 500, "::1%eth0", "\u00ff"])
def test_odd_addresses_are_counted_too(odd: str) -> None:
    assert rate(("10.0.0.0/8",)).wait(scope("10.0.0.1", odd)) is None
    assert rate().wait(scope(odd)) is None
    assert rate().wait({"client": None, "headers": []}) is None


def test_no_address_is_kept() -> None:
    limits = rate(), rate()
    for limit in limits:
        limit.wait(scope("198.51.100.77"))
    (key,), (other,) = (limit._window._counts for limit in limits)
    assert prefixes("198.51.100.77")[0][0] not in key
    assert other != key, "another process has another secret"


def test_an_ipv6_site_has_the_share_of_eight_addresses() -> None:
    limit = AddressRateLimit(RateLimit(2, 3600))
    taken = [limit.wait(scope(f"2001:db8:0:{n:x}::1")) is None for n in range(20)]
    assert taken.count(True) == 2 * WIDE_SHARE
    assert limit.wait(scope("2001:db8:1::1")) is None


def test_a_flood_of_one_ipv6_network_does_not_shut_out_its_neighbours() -> None:
    limit = AddressRateLimit(RateLimit(2, 3600))
    for _ in range(100):
        limit.wait(scope("2001:db8::1"))
    assert limit.wait(scope("2001:db8:0:1::1")) is None


def test_refused_requests_fill_no_memory() -> None:
    limit = AddressRateLimit(RateLimit(2, 3600))
    for n in range(1000):
        limit.wait(scope(f"2001:db8:0:{n:x}::1"))
    assert len(limit._window._counts) <= 1 + 2 * WIDE_SHARE


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_counts_end_with_their_window() -> None:
    clock = Clock()
    window = FixedWindow(RateLimit(2, 60), clock)
    assert window.wait(b"a") is None
    for _ in range(2):
        window.count(b"a")
    window.count(b"b")
    assert (window.wait(b"a"), window.wait(b"a", share=2), window.wait(b"b")) == (60, None, None)
    clock.now += 59.5
    assert window.wait(b"a") == 1
    clock.now += 0.5
    assert window.wait(b"a") is None
    window.count(b"a")
    assert len(window._counts) == 1, "what expired is dropped"


def test_a_step_of_the_clock_on_the_wall_changes_no_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = AddressRateLimit(RateLimit(1, 3600))
    assert limit.wait(scope("192.0.2.1")) is None
    start = time.time()
    for step in (-2 * 86400, 2 * 86400):
        monkeypatch.setattr(time, "time", lambda step=step: start + step)
        assert limit.wait(scope("192.0.2.1")) in range(3590, 3601)


def test_memory_is_bounded_by_a_number_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEYS", 100)
    window = FixedWindow(RateLimit(1, 3600))
    for number in range(1000):
        window.count(str(number).encode())
        assert len(window._counts) <= 100
    assert window.wait(b"999") is not None, "the newest are kept"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("20/second", RateLimit(20, 1)),
        ("600/minute", RateLimit(600, 60)),
        ("5 per 2 hours", RateLimit(5, 7200)),
        ("1/day", RateLimit(1, 86400)),
        ("off", None),
    ],
)
def test_a_limit_is_written_as_a_number_in_a_time(text: str, limit: RateLimit | None) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize("text", ["often", "", "5", "5/0 minutes", "-5/minute", "5/fortnight"])
def test_any_other_text_is_no_limit(text: str) -> None:
    with pytest.raises(ValueError):
        parse_limit(text)
