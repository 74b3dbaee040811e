"""Challenges of passkeys, and answers that are not right; real ones are tried in a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from webauthn.helpers import bytes_to_base64url

from tacit.errors import DataError
from tacit.studio.accounts import Role
from tacit.studio.passkeys import CHALLENGE_SECONDS, Challenges, Passkeys, SiteOrigin
from tests.support.studio import PASSWORD, Tried

SITE = SiteOrigin("http://localhost:8001")


def test_a_challenge_works_once_for_its_account_and_not_for_long() -> None:
    now = [1000.0]
    challenges = Challenges(lambda: now[0])
    made = challenges.make(7)
    assert not challenges.use(made, 8)
    assert not challenges.use(made)
    assert challenges.use(made, 7)
    assert not challenges.use(made, 7)
    late = challenges.make()
    now[0] += CHALLENGE_SECONDS
    assert not challenges.use(late)


@pytest.mark.parametrize("change", [lambda c: c[:-1], lambda c: b"\x00" + c[1:], lambda c: b""])
def test_a_challenge_that_was_changed_is_not_ours(change: Any) -> None:
    challenges = Challenges()
    assert not challenges.use(change(challenges.make()))


def test_a_challenge_of_another_process_is_not_ours() -> None:
    assert not Challenges().use(Challenges().make())


def answer(challenge: bytes, **more: Any) -> dict[str, Any]:
    """What a program might send that has no key."""
    client = {"type": "webauthn.get", "challenge": bytes_to_base64url(challenge)}
    client |= {"origin": SITE.origin}
    data = bytes_to_base64url(json.dumps(client).encode())
    return {
        "id": "AAAA",
        "rawId": "AAAA",
        "type": "public-key",
        "response": {
            "clientDataJSON": data,
            "authenticatorData": "AAAA",
            "signature": "AAAA",
            "attestationObject": "oA",
        },
        **more,
    }


@pytest.mark.parametrize(
    "sent",
    [None, {}, [], "x", {"response": 1}, {"response": {"clientDataJSON": "%%"}}, {"rawId": 1}],
)
def test_what_is_no_answer_of_a_passkey_signs_nobody_in(studio: Tried, sent: Any) -> None:
    passkeys = studio.studio.passkeys
    assert passkeys.account_of(sent, SITE) is None
    with pytest.raises(DataError):
        passkeys.add(1, "laptop", sent, SITE)


def test_a_right_challenge_without_a_right_key_is_not_enough(studio: Tried) -> None:
    passkeys: Passkeys = studio.studio.passkeys
    account = studio.account("Ada", Role.OWNER).id
    assert passkeys.account_of(answer(passkeys.challenges.make()), SITE) is None
    with pytest.raises(DataError, match="not accepted"):
        passkeys.add(account, "laptop", answer(passkeys.challenges.make(account)), SITE)
    with pytest.raises(DataError, match="too long"):
        passkeys.add(account, "laptop", answer(passkeys.challenges.make()), SITE)
    assert passkeys.of_account(account) == []


@pytest.mark.slow
def test_a_passkey_is_added_only_with_the_password(studio: Tried) -> None:
    client = studio.client(studio.account("Ada", Role.OWNER))
    path = "/account/passkeys/options"
    assert client.post(path, json={"password": "wrong"}).status_code == 400
    assert client.post(path, json={}).status_code == 400
    options = client.post(path, json={"password": PASSWORD}).json()
    assert options["rp"]["id"] == "testserver"
    assert options["authenticatorSelection"]["userVerification"] == "required"
    found = [client.post(path, json={"password": "wrong"}).status_code for _ in range(5)]
    assert found[-1] == 429


@pytest.mark.slow
def test_a_wrong_passkey_has_to_wait_too(studio: Tried) -> None:
    client = studio.client()
    client.headers["accept"] = "application/json"
    tries = [
        client.post("/sign-in/passkey", json={"credential": {}}).status_code for _ in range(40)
    ]
    assert tries == [403] * 30 + [429] * 10
    assert len(studio.studio.accounts.history()) == 30  # nobody fills the audit log
