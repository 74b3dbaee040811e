"""Who gives way when connections run out, and who never does."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from tacit.collect.http_server import SPARE, Connections, Waiting
from tacit.collect.limits import WIDE_SHARE, TrustedProxies


class Held:
    """A fake connection."""

    def __init__(self, since: float = 0.0, waiting: Waiting | None = Waiting.TO_ASK) -> None:
        self.since, self.waiting, self.dropped = since, waiting, False

    def drop(self) -> None:
        self.dropped = True


def filled(
    table: Connections, number: int, address: str = "192.0.2.{}", **more: float
) -> list[Held]:
    """So many connections, each from its own address if that has a gap."""
    made = [Held(**more) for _ in range(number)]
    for place, each in enumerate(made):
        assert table.admit(each, address.format(place)) is None
    return made


def later(waiting: Waiting | None = Waiting.TO_ASK) -> Held:
    """One that comes when all others are old."""
    return Held(1000.0, waiting)


def test_the_longest_idle_gives_way_when_all_places_are_taken() -> None:
    table = Connections(3, 3)
    made = [Held(since) for since in (2.0, 1.0, 3.0)]
    for number, each in enumerate(made):
        table.admit(each, f"192.0.2.{number}")
    assert table.admit(later(), "198.51.100.1") is None
    assert [each.dropped for each in made] == [False, True, False]
    assert len(table) == 3


def test_idle_ones_give_way_before_those_that_send_or_read() -> None:
    table = Connections(3, 3)
    made = [Held(1.0, how) for how in (Waiting.TO_READ, Waiting.TO_FINISH, Waiting.TO_ASK)]
    for number, each in enumerate(made):
        table.admit(each, f"192.0.2.{number}")
    for expected in ([0, 0, 1], [0, 1, 1], [1, 1, 1]):
        assert table.admit(later(None), "198.51.100.1") is None
        assert [each.dropped for each in made] == expected


def test_the_address_with_most_connections_gives_way_first() -> None:
    table = Connections(10, 10)
    single = Held(0.0)
    table.admit(single, "198.51.100.1")
    many = filled(table, 9, "192.0.2.1", since=500.0)
    for _ in range(5):
        assert table.admit(later(), "203.0.113.1") is None
    assert not single.dropped
    assert sum(each.dropped for each in many) == 5


def test_one_that_has_just_come_gives_way_last() -> None:
    table = Connections(2, 2)
    new, sending = later(), Held(0.0, Waiting.TO_FINISH)
    table.admit(new, "192.0.2.1")
    table.admit(sending, "192.0.2.2")
    table.admit(later(), "192.0.2.3")
    assert (new.dropped, sending.dropped) == (False, True)


def test_what_is_being_worked_on_is_never_dropped() -> None:
    table = Connections(3, 3)
    made = filled(table, 3, waiting=None)
    told = [table.admit(Held(9.0, None), f"198.51.100.{n}") for n in range(SPARE + 5)]
    assert {problem.name for problem in told if problem is not None} == {"busy"}
    assert not any(each.dropped for each in made)
    assert len(table) == 3 + SPARE, "a few are let in to be answered, no more"


@pytest.mark.parametrize(
    ("address", "most"),
    [("192.0.2.1", 4), ("2001:db8::{:x}", 4), ("2001:db8:0:{:x}::1", 4 * WIDE_SHARE)],
    ids=["IPv4", "one /64", "one /48"],
)
def test_one_network_has_so_many_places(address: str, most: int) -> None:
    table = Connections(1000, 4)
    made = filled(table, most, address, waiting=None)
    told = table.admit(later(), address.format(most))
    assert told is not None
    assert told.name == "too-many"
    assert table.admit(later(), "198.51.100.1") is None, "others are not concerned"
    made[0].waiting = Waiting.TO_ASK
    assert table.admit(later(), address.format(most)) is None
    assert made[0].dropped


def test_a_trusted_proxy_has_all_places() -> None:
    table = Connections(10, 2, TrustedProxies([ip_network("10.0.0.0/8")]))
    assert not any(each.dropped for each in filled(table, 10, "10.0.0.1"))


def test_what_ends_leaves_nothing_behind() -> None:
    table = Connections(100, 100)
    for each in filled(table, 50, "2001:db8:{:x}::1"):
        table.leave(each)
        table.leave(each)
    assert (len(table), table._members) == (0, {})
