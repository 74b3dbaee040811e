"""Where requests come from: the networks of one customer, and trusted proxies.

A limit per address is useless for IPv6, where a customer has at least a /64 and often a /48.
Addresses that carry an IPv4 address (mapped, 6to4, Teredo) count as that address.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.types import Scope

from tacit.collect.http_requests import header

Network = IPv4Network | IPv6Network
#: The first bytes of a network, and how many times the limit of one address it has.
Prefix = tuple[bytes, int]

#: A /48 may be one site or 256 households, so it gets the limit of eight addresses.
WIDE_SHARE = 8
_WIDE_BYTES, _NARROW_BYTES = 6, 8


def prefixes(address: str) -> tuple[Prefix, ...]:
    """The networks of an address: itself for IPv4, its /48 and /64 for IPv6."""
    known = _known(address)
    if known is None:
        return ((address.encode("utf-8", "replace"), 1),)
    if isinstance(known, IPv4Address):
        return ((known.packed, 1),)
    return ((known.packed[:_WIDE_BYTES], WIDE_SHARE), (known.packed[:_NARROW_BYTES], 1))


class TrustedProxies:
    """The proxies whose X-Forwarded-For is trusted."""

    def __init__(self, networks: Sequence[Network] = ()) -> None:
        self._networks = tuple(networks)

    def trusts(self, address: str) -> bool:
        """Whether an address belongs to a trusted proxy."""
        known = _parsed(address) if self._networks else None
        return known is not None and any(known in network for network in self._networks)

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


def _known(address: str) -> IPv4Address | IPv6Address | None:
    """An address, or the IPv4 address that it carries; None if it is not an address."""
    found = _parsed(address)
    if found is None or isinstance(found, IPv4Address):
        return found
    teredo = found.teredo
    return found.sixtofour or (teredo[1] if teredo else found)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """An address; a mapped one becomes its IPv4 address, because the system itself maps it."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Address) else found.ipv4_mapped or found
