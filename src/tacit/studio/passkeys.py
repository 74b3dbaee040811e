"""Passkeys: signing in with the keys of a device instead of a password (WebAuthn).

A challenge is signed by this process and contains its time, its purpose and its account, so that
nothing is stored for those who only ask for one. It works once and for five minutes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
import webauthn
from sqlalchemy.exc import IntegrityError
from webauthn.helpers import base64url_to_bytes, structs
from webauthn.helpers.exceptions import WebAuthnException

from tacit.errors import DataError
from tacit.studio.accounts import StudioDatabase, passkeys

CHALLENGE_SECONDS = 300.0
MOST_PASSKEYS, LONGEST_LABEL = 20, 100
_NAME = "tacit studio"
#: What a challenge is for: an account that adds a passkey, or nobody yet.
_SIGN_IN = 0
_VERIFIED = structs.UserVerificationRequirement.REQUIRED
_PARTS = struct.Struct(">dq16s")
#: What the library raises for an answer that is wrong, or that has parts of the wrong type.
_WRONG = (WebAuthnException, ValueError, TypeError, KeyError, IndexError, AttributeError)


@dataclass(frozen=True)
class SiteOrigin:
    """Where the studio is, as the browser sees it: its origin and the name that passkeys have.

    If it is not `configured`, it is what a request says, which proves nothing.
    """

    origin: str
    configured: bool = False

    @property
    def name(self) -> str:
        """The host, without a port."""
        return urlsplit(self.origin).hostname or ""

    def expected(self, challenge: bytes) -> dict[str, Any]:
        """What the answer of a device must contain."""
        return {
            "expected_challenge": challenge,
            "expected_rp_id": self.name,
            "expected_origin": self.origin,
            "require_user_verification": True,
        }


class Challenges:
    """Makes challenges and recognizes its own. `now` is the time in seconds."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._key = secrets.token_bytes(32)
        self._used: dict[bytes, float] = {}
        self._lock = Lock()

    def make(self, account: int = _SIGN_IN) -> bytes:
        """A challenge for an account, or for whoever signs in."""
        parts = _PARTS.pack(self.now() + CHALLENGE_SECONDS, account, secrets.token_bytes(16))
        return parts + self._sign(parts)

    def use(self, challenge: bytes, account: int = _SIGN_IN) -> bool:
        """Whether it is one of ours, for this account, not too old and not used yet."""
        parts, signature = challenge[: _PARTS.size], challenge[_PARTS.size :]
        if len(parts) < _PARTS.size or not hmac.compare_digest(signature, self._sign(parts)):
            return False
        until, made_for, _ = _PARTS.unpack(parts)
        with self._lock:
            now = self.now()
            self._used = {used: end for used, end in self._used.items() if end > now}
            if made_for != account or until <= now or challenge in self._used:
                return False
            self._used[challenge] = until
        return True

    def _sign(self, parts: bytes) -> bytes:
        return hmac.digest(self._key, parts, hashlib.sha256)


class Passkeys(StudioDatabase):
    """The passkeys in the database of the accounts."""

    def __init__(self, engine: sa.Engine, challenges: Challenges | None = None) -> None:
        super().__init__(engine)
        self.challenges = challenges or Challenges()

    def of_account(self, account: int) -> Sequence[Any]:
        """The passkeys of an account: id, label."""
        return self.rows_of(passkeys, account)

    def remove(self, account: int, number: int) -> bool:
        """Remove a passkey of an account; whether there was one."""
        return self.delete_row(passkeys, account, number)

    def options_to_add(self, account: int, name: str, site: SiteOrigin) -> dict[str, Any]:
        """What a browser needs to make a passkey for an account."""
        existing = [
            structs.PublicKeyCredentialDescriptor(row.credential)
            for row in self.of_account(account)
        ]
        return _as_dict(
            webauthn.generate_registration_options(
                rp_id=site.name,
                rp_name=_NAME,
                user_name=name,
                user_id=hashlib.sha256(f"{_NAME} {account}".encode()).digest(),
                challenge=self.challenges.make(account),
                exclude_credentials=existing,
                authenticator_selection=structs.AuthenticatorSelectionCriteria(
                    resident_key=structs.ResidentKeyRequirement.REQUIRED,
                    user_verification=_VERIFIED,
                ),
            )
        )

    def add(self, account: int, label: str, sent: Any, site: SiteOrigin) -> None:
        """Add the passkey that a browser made; DataError if it is not right."""
        label = " ".join(label.split())
        if not 1 <= len(label) <= LONGEST_LABEL or not label.isprintable():
            raise DataError(f"a passkey needs a name with 1 to {LONGEST_LABEL} characters")
        if len(self.of_account(account)) >= MOST_PASSKEYS:
            raise DataError(f"an account has at most {MOST_PASSKEYS} passkeys; remove one first")
        challenge = self._challenge(sent, account)
        try:
            verified = webauthn.verify_registration_response(
                credential=sent, **site.expected(challenge)
            )
        except _WRONG as error:
            why = str(error) if isinstance(error, WebAuthnException) else "it is damaged"
            raise DataError(f"the passkey was not accepted: {why}") from None
        row: dict[str, Any] = dict(account=account, label=label, origin=site.origin)
        row |= dict(credential=verified.credential_id, public_key=verified.credential_public_key)
        row |= dict(sign_count=verified.sign_count)
        try:
            self.execute(sa.insert(passkeys).values(**row))
        except IntegrityError:
            raise DataError("this passkey is known already") from None

    def options_to_sign_in(self, site: SiteOrigin) -> dict[str, Any]:
        """What a browser needs to sign in with any passkey for this site."""
        challenge = self.challenges.make()
        return _as_dict(
            webauthn.generate_authentication_options(
                rp_id=site.name, challenge=challenge, user_verification=_VERIFIED
            )
        )

    def account_of(self, sent: Any, site: SiteOrigin) -> int | None:
        """The account whose passkey signed the challenge; None if none did.

        The browser must have signed at the origin at which the passkey was added, and at the
        configured one.
        """
        try:
            challenge = self._challenge(sent, _SIGN_IN)
            credential = base64url_to_bytes(sent["rawId"])
        except (DataError, ValueError, TypeError, KeyError):
            return None
        mine = passkeys.c.credential == credential
        rows = self.fetch(sa.select(passkeys).where(mine))
        if not rows or (site.configured and rows[0].origin != site.origin):
            return None
        try:
            verified = webauthn.verify_authentication_response(
                credential=sent,
                credential_public_key=rows[0].public_key,
                credential_current_sign_count=rows[0].sign_count,
                **SiteOrigin(rows[0].origin).expected(challenge),
            )
        except _WRONG:
            return None
        used = sa.update(passkeys).where(mine).values(sign_count=verified.new_sign_count)
        return int(rows[0].account) if self.execute(used) else None

    def _challenge(self, sent: Any, account: int) -> bytes:
        """The challenge that a browser signed, if it is ours; it is used up."""
        try:
            signed = json.loads(base64url_to_bytes(sent["response"]["clientDataJSON"]))
            challenge = base64url_to_bytes(signed["challenge"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise DataError("this is not the answer of a passkey") from None
        if not self.challenges.use(challenge, account):
            raise DataError("this took too long; try again")
        return challenge


def _as_dict(options: Any) -> dict[str, Any]:
    return dict(json.loads(webauthn.options_to_json(options)))
