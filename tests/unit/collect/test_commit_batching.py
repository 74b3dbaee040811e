"""When a commit begins, by a loop whose clock is moved by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.collect.writer import LONGEST, MOMENT, SEVERAL, CommitBatching


class Loop:
    """What is used of an event loop: a clock, and what is to be called when."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, Callable[..., None], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, call: Callable[..., None]) -> None:
        self.call_later(0, call)

    def call_later(self, delay: float, call: Callable[..., None], *given: Any) -> None:
        self._due.append((self.now + delay, call, given))

    def pass_time(self, seconds: float = 0.0) -> None:
        self.now += seconds
        due = [one for one in self._due if one[0] <= self.now]
        self._due = [one for one in self._due if one[0] > self.now]
        for _, call, given in due:
            call(*given)


class Commits:
    """Responses that come and are committed, and how many each commit held."""

    def __init__(self) -> None:
        self.loop, self.waiting = Loop(), 0
        self.sizes: list[int] = []
        self.batching = CommitBatching(self._begin, lambda: self.waiting)

    def _begin(self) -> None:
        if self.waiting:
            self.sizes.append(self.waiting)
            self.waiting = 0

    def come(self, n: int) -> None:
        for _ in range(n):
            self.waiting += 1
            self.batching.arrived(self.loop)  # type: ignore[arg-type]

    def under_load(self, n: int) -> Commits:
        self.batching.answered(n)
        return self


def test_at_rest_a_commit_begins_at_the_end_of_the_turn() -> None:
    commits = Commits()
    commits.come(3)
    assert commits.sizes == []
    commits.loop.pass_time()
    assert commits.sizes == [3]
    commits.come(1)
    commits.loop.pass_time()
    assert commits.sizes == [3, 1]


def test_under_load_it_begins_when_no_more_come() -> None:
    commits = Commits().under_load(100)
    commits.come(1)
    for _ in range(4):
        commits.come(SEVERAL)
        commits.loop.pass_time(MOMENT)
    assert commits.sizes == []
    commits.come(SEVERAL - 1)
    commits.loop.pass_time(MOMENT)
    assert commits.sizes == [5 * SEVERAL]


def test_it_begins_at_once_when_all_who_were_answered_came_again() -> None:
    commits = Commits().under_load(100)
    commits.come(99)
    assert commits.sizes == []
    commits.come(1)
    assert commits.sizes == [100]


def test_who_waits_while_others_are_answered_is_expected_beside_them() -> None:
    commits = Commits().under_load(100)
    commits.come(60)
    commits.batching.answered(40)
    commits.come(39)
    assert commits.sizes == []
    commits.come(1)
    assert commits.sizes == [100]


def test_nobody_waits_longer_than_the_longest() -> None:
    commits = Commits().under_load(1_000_000)
    commits.come(1)
    while not commits.sizes:
        commits.come(SEVERAL)
        commits.loop.pass_time(MOMENT)
    assert LONGEST <= commits.loop.now <= LONGEST + 2 * MOMENT


def test_clients_just_answered_get_a_moment_to_send_again() -> None:
    commits = Commits().under_load(100)
    commits.come(1)
    commits.batching.answered(50)
    commits.loop.pass_time(MOMENT)
    assert commits.sizes == []
    commits.loop.pass_time(MOMENT)
    assert commits.sizes == [1]
