"""How often one address may submit, and what is remembered of it."""

from __future__ import annotations

import time
from ipaddress import ip_network
from typing import Any

import pytest
from limits import parse

from tacit.service.collect import rate as module
from tacit.service.collect.rate import Counts, Rate, rate_of


def scope(peer: str, forwarded: str | None = None) -> dict[str, Any]:
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    return {"client": (peer, 1), "headers": headers}


def rate(proxies: tuple[str, ...] = ()) -> Rate:
    return Rate(parse("1/hour"), [ip_network(proxy) for proxy in proxies])


def shares(limit: Rate, first: dict[str, Any], second: dict[str, Any]) -> bool:
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
    limit = rate()
    limit.wait(scope("198.51.100.77"))
    storage = limit._limiter.storage
    assert isinstance(storage, Counts)
    (key,) = storage._counts
    assert "198.51.100.77" not in key
    assert rate()._key("198.51.100.77") not in key, "another process has another secret"


def test_counts_end_with_their_window(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, now = Counts(), [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    assert [counts.incr("a", 60), counts.incr("a", 60), counts.incr("b", 60)] == [1, 2, 1]
    assert (counts.get("a"), counts.get_expiry("a")) == (2, 1060.0)
    now[0] = 1060.0
    assert counts.get("a") == 0
    assert counts.incr("a", 60) == 1
    assert counts._counts.keys() == {"a"}, "what expired is dropped"


def test_memory_is_bounded_by_a_number_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ADDRESSES", 100)
    counts = Counts()
    for number in range(1000):
        counts.incr(str(number), 3600)
        assert len(counts._counts) <= 100


def test_off_is_no_limit_and_nonsense_is_an_error() -> None:
    assert rate_of("off") is None
    assert rate_of("20/second") == parse("20/second")
    with pytest.raises(ValueError):
        rate_of("often")
