"""Signing in with a key of one's own: everything but the right answer is refused."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from sqlalchemy import insert
from webauthn.helpers import bytes_to_base64url

from tacit.errors import DataError
from tacit.studio.accounts import Role
from tacit.studio.accounts import passkeys as table
from tacit.studio.passkeys import Passkeys, SiteOrigin
from tests.support.studio import Tried

pytestmark = pytest.mark.slow

SITE = SiteOrigin("https://studio.example.org")
KNOWN, OTHER = b"known credential", b"other credential"
PRESENT, VERIFIED, ATTESTED = 1, 4, 64


@pytest.fixture
def keys(studio: Tried) -> dict[bytes, Any]:
    """Two accounts, each with a passkey that has been used five times."""
    made = {}
    for name, credential in (("Ada", KNOWN), ("Eve", OTHER)):
        made[credential] = key = ec.generate_private_key(ec.SECP256R1())
        point = key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}
        row = dict(account=studio.account(name, Role.VIEWER).id, label="key", sign_count=5)
        with studio.studio.accounts.engine.begin() as connection:
            stored = dict(credential=credential, public_key=cbor2.dumps(public), origin=SITE.origin)
            connection.execute(insert(table).values(**row, **stored))
    return made


def authenticator_data(rp: str, flags: int, count: int) -> bytes:
    return hashlib.sha256(rp.encode()).digest() + bytes([flags]) + struct.pack(">I", count)


def signed(
    key: Any,
    challenge: bytes,
    origin: str = SITE.origin,
    rp: str = SITE.name,
    flags: int = PRESENT | VERIFIED,
    count: int = 6,
    kind: str = "webauthn.get",
) -> dict[str, Any]:
    """The answer of a device, for the credential of Ada."""
    client = {"type": kind, "challenge": bytes_to_base64url(challenge), "origin": origin}
    data, own = json.dumps(client).encode(), authenticator_data(rp, flags, count)
    signature = key.sign(own + hashlib.sha256(data).digest(), ec.ECDSA(SHA256()))
    parts = {"clientDataJSON": data, "authenticatorData": own, "signature": signature}
    name = bytes_to_base64url(KNOWN)
    response = {part: bytes_to_base64url(value) for part, value in parts.items()}
    return {"id": name, "rawId": name, "type": "public-key", "response": response}


def test_the_right_answer_signs_in_once(studio: Tried, keys: dict[bytes, Any]) -> None:
    passkeys = studio.studio.passkeys
    answer = signed(keys[KNOWN], passkeys.challenges.make())
    assert passkeys.account_of(answer, SITE) == 2  # Ada; the first account invited her
    assert passkeys.account_of(answer, SITE) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"count": 5},
        {"count": 0},
        {"origin": "https://elsewhere.example"},
        {"origin": "http://studio.example.org"},
        {"rp": "elsewhere.example"},
        {"kind": "webauthn.create"},
    ],
)
def test_a_wrong_part_signs_nobody_in(
    wrong: dict[str, Any], studio: Tried, keys: dict[bytes, Any]
) -> None:
    passkeys: Passkeys = studio.studio.passkeys
    answer = signed(keys[KNOWN], passkeys.challenges.make(), **wrong)
    assert passkeys.account_of(answer, SITE) is None


@pytest.mark.parametrize(
    "other",
    [
        "https://studio.example.org:8443",
        "http://studio.example.org",
        "https://example.org",
        "https://my.studio.example.org",
    ],
)
@pytest.mark.parametrize("configured", [True, False])
def test_a_passkey_works_at_no_other_port_host_or_scheme(
    other: str, configured: bool, studio: Tried, keys: dict[bytes, Any]
) -> None:
    """Whoever has a page there may pass on what the browser signed, with any Host header."""
    passkeys = studio.studio.passkeys
    elsewhere = SiteOrigin(other)
    for rp in (SITE.name, elsewhere.name):
        for site in (SITE, SiteOrigin(other, configured)):
            answer = signed(keys[KNOWN], passkeys.challenges.make(), origin=other, rp=rp)
            assert passkeys.account_of(answer, site) is None
    # If the studio has moved, the old address signs nobody in.
    answer = signed(keys[KNOWN], passkeys.challenges.make())
    account = studio.studio.accounts.number_of("Ada")
    found = passkeys.account_of(answer, SiteOrigin(other, configured))
    assert found == (None if configured else account)


def test_failures_of_a_network_do_not_keep_a_passkey_out(
    studio: Tried, keys: dict[bytes, Any]
) -> None:
    client = studio.client()
    client.base_url, client.headers["accept"] = SITE.origin, "application/json"
    path = "/sign-in/passkey"
    assert [client.post(path, json={}).status_code for _ in range(31)][-1] == 429
    answer = {"credential": signed(keys[KNOWN], studio.studio.passkeys.challenges.make())}
    assert client.post(path, json=answer).status_code == 200


def test_the_key_of_another_account_signs_nobody_in(studio: Tried, keys: dict[bytes, Any]) -> None:
    passkeys = studio.studio.passkeys
    assert passkeys.account_of(signed(keys[OTHER], passkeys.challenges.make()), SITE) is None
    for part in ("id", "rawId"):
        answer = signed(keys[KNOWN], passkeys.challenges.make())
        answer[part] = bytes_to_base64url(OTHER)
        assert passkeys.account_of(answer, SITE) is None
    of_adding = passkeys.challenges.make(1)
    assert passkeys.account_of(signed(keys[KNOWN], of_adding), SITE) is None


@pytest.mark.parametrize("part", ["authenticatorData", "signature", "userHandle"])
@pytest.mark.parametrize("value", [5, [], "é", "AA"])
def test_a_damaged_answer_is_refused_without_an_error(
    part: str, value: Any, studio: Tried, keys: dict[bytes, Any]
) -> None:
    passkeys = studio.studio.passkeys
    answer = signed(keys[KNOWN], passkeys.challenges.make())
    answer["response"][part] = value
    found = passkeys.account_of(answer, SITE)
    assert found is None or part == "userHandle"  # which nothing depends on


@pytest.mark.parametrize("key", [{}, 5, {1: 2, 3: -7}, {1: 2, 3: -7, -1: 1, -2: b"", -3: b""}])
def test_a_damaged_public_key_is_not_added(key: Any, studio: Tried) -> None:
    passkeys = studio.studio.passkeys
    account = studio.account("Ada", Role.VIEWER).id
    challenge = bytes_to_base64url(passkeys.challenges.make(account))
    client = {"type": "webauthn.create", "challenge": challenge, "origin": SITE.origin}
    data = authenticator_data(SITE.name, PRESENT | VERIFIED | ATTESTED, 0)
    data += bytes(16) + struct.pack(">H", len(KNOWN)) + KNOWN + cbor2.dumps(key)
    attested = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
    name = bytes_to_base64url(KNOWN)
    response = {
        "clientDataJSON": bytes_to_base64url(json.dumps(client).encode()),
        "attestationObject": bytes_to_base64url(attested),
    }
    sent = {"id": name, "rawId": name, "type": "public-key", "response": response}
    with pytest.raises(DataError, match="not accepted"):
        passkeys.add(account, "laptop", sent, SITE)
    assert passkeys.of_account(account) == []
