"""Which networks an address counts for, and whom a proxy names."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from tacit.collect.limits import WIDE_SHARE, TrustedProxies, prefixes


def narrow(address: str) -> bytes:
    (found,) = [network for network, share in prefixes(address) if share == 1]
    return found


def wide(address: str) -> list[bytes]:
    return [network for network, share in prefixes(address) if share == WIDE_SHARE]


def test_an_ipv6_customer_cannot_pass_for_many_by_changing_the_address() -> None:
    assert narrow("2001:db8::1") == narrow("2001:db8::ffff:2")
    assert narrow("2001:db8::1") != narrow("2001:db8:0:1::1")
    assert wide("2001:db8::1") == wide("2001:db8:0:ffff::1") != []
    assert wide("2001:db8::1") != wide("2001:db8:1::1")


@pytest.mark.parametrize(
    "carrying",
    [
        "::ffff:192.0.2.1",
        "2002:c000:0201::1",
        "2002:c000:0201:ffff:1:2:3:4",
        "2001:0:4136:e378:8000:63bf:3fff:fdfe",
    ],
    ids=["mapped", "6to4", "6to4 of another network", "Teredo"],
)
def test_an_ipv6_address_that_carries_ipv4_counts_as_that(carrying: str) -> None:
    assert prefixes(carrying) == prefixes("192.0.2.1")
    assert prefixes(carrying) != prefixes("192.0.2.2")


def test_ipv4_addresses_count_one_by_one() -> None:
    assert narrow("192.0.2.1") != narrow("192.0.2.2")
    assert wide("192.0.2.1") == []


@pytest.mark.parametrize("odd", ["", "unix:", "::1%eth0", "x" * 500, "\ud800"])
def test_what_is_no_address_counts_as_itself(odd: str) -> None:
    assert prefixes(odd) == prefixes(odd) != prefixes("192.0.2.1")


def test_a_tunnelled_address_does_not_pass_for_the_trusted_proxy_that_it_carries() -> None:
    """The operator of a relay can choose what a 6to4 or Teredo address carries."""
    proxies = TrustedProxies([ip_network("192.0.2.1")])
    assert proxies.trusts("192.0.2.1")
    assert proxies.trusts("::ffff:192.0.2.1")
    assert not proxies.trusts("2002:c000:0201::1")
    assert not proxies.trusts("2001:0:4136:e378:8000:63bf:3fff:fdfe")
