"""Guesses at passwords that come at the same time, or from somebody who is signed in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tacit.studio.accounts import MOST_HASHES, Role
from tacit.studio.guess_limits import FREE_FAILURES, GuessLimits
from tests.support.studio import PASSWORD, Tried, tried


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Tried]:
    made = tried(tmp_path, records=0)
    yield made
    made.store.close()


def test_guesses_at_the_same_time_wait_as_others_do(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.account("Ada", Role.VIEWER)
    found: list[int] = []

    left = [10]

    def guess() -> None:
        left[0] -= 1
        form = {"name": "Ada", "password": "wrong"}
        found.append(studio.client().post("/sign-in", data=form).status_code)

    def slow(name: str, password: str) -> None:
        """While a password is checked, the next guess arrives."""
        if left[0]:
            guess()

    monkeypatch.setattr(studio.studio.accounts, "check_password", slow)
    guess()
    assert sorted(found) == [*[403] * FREE_FAILURES, 429]


def test_few_passwords_are_hashed_at_the_same_time(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts, lock = studio.studio.accounts, threading.Lock()
    running, most = [0], [0]
    meet = threading.Barrier(MOST_HASHES + 1)

    class Hasher:
        def verify(self, known: str, password: str) -> Any:
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            with suppress(threading.BrokenBarrierError):
                meet.wait(0.3)  # one more than allowed would meet here
            with lock:
                running[0] -= 1
            return True

    monkeypatch.setattr(accounts, "_hasher", Hasher())
    check = accounts.check_password
    threads = [threading.Thread(target=check, args=("Eve", "wrong")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [MOST_HASHES]


def test_a_link_that_does_not_work_costs_no_hash(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studio.studio.accounts, "_hasher", None)
    form = {"name": "Eve", "password": PASSWORD, "again": PASSWORD}
    assert studio.client().post("/set-up/no-such-token", data=form).status_code == 404


def test_a_session_is_no_way_to_guess_the_password(studio: Tried) -> None:
    client = studio.client(studio.account("Ada", Role.VIEWER))
    form = {"old": "wrong", "new": PASSWORD + "!"}
    found = [client.post("/account/password", data=form).status_code for _ in range(5)]
    assert found == [400, 400, 400, 429, 429]
    right = form | {"old": PASSWORD}
    assert client.post("/account/password", data=right).status_code == 429  # must wait as well
    studio.studio.guesses = GuessLimits()
    assert client.post("/account/password", data=right).status_code == 303


def test_a_wrong_password_for_a_passkey_is_in_the_audit_log(studio: Tried) -> None:
    client = studio.client(studio.account("Ada", Role.VIEWER))
    client.post("/account/passkeys/options", json={"password": "wrong"})
    assert studio.studio.accounts.history()[0].action == "passkey refused"
