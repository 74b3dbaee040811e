"""A studio with two surveys, records and accounts in every role, called without a network."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from argon2 import PasswordHasher

from tacit import disguise
from tacit.collect.store import Response, Store, packed
from tacit.core.arrays import Codes
from tacit.studio.accounts import Account, Accounts, Role
from tacit.studio.guess_limits import GuessLimits
from tacit.studio.server import studio_app, studio_of
from tacit.studio.site import Studio
from tacit.survey import Published, survey_from_dict

PASSWORD = "a long pass phrase"
#: Who invites the accounts of a test.
FIRST = "First administrator"
#: Hashes in a moment; the real one takes 64 MiB and a tenth of a second.
WEAK_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
MARKUP = "<script>alert(1)</script>"
#: What a browser sends with a form of the same site.
SAME_SITE = {"sec-fetch-site": "same-origin", "accept": "text/html"}


def survey(title: str = "Work", **terms: Any) -> Published:
    """Two disguised questions and one that is not."""
    return Published(
        survey_from_dict(
            {
                "title": title,
                "questions": [
                    {"name": "stole", "kind": "yes_no", "text": "Did you take something home?"},
                    {
                        "name": "often",
                        "kind": "choice",
                        "text": f"How often are you late? {MARKUP}",
                        "categories": ["never", "sometimes", "daily"],
                        "labels": {"never": f"Never {MARKUP}"},
                    },
                    {
                        "name": "site",
                        "kind": "choice",
                        "sensitive": False,
                        "text": "Where do you work?",
                        "categories": ["north", "south"],
                    },
                ],
                "groups": [
                    {"questions": ["stole"], "family": "related", "theta": "4/5"},
                    {"questions": ["often"], "family": "uniform_perturbation", "q": "1/4"},
                ],
                **terms,
            },
            "survey",
        )
    )


def reports(published: Published, n: int, seed: int = 1) -> Codes:
    """Reported records of n people."""
    rng = np.random.default_rng(seed)
    site = rng.integers(2, size=n)
    often = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    stole = (rng.random(n) < np.where(site == 0, 0.1, 0.3)).astype(int)
    true = np.stack([stole, often, site], axis=1).astype(np.uint8)
    return disguise(true, published.design, rng)


def send(store: Store, published: Published, codes: Codes, day: date = date(2027, 1, 1)) -> None:
    """Store reported records."""
    rows = [
        Response(
            published.survey.fingerprint,
            secrets.token_bytes(16),
            packed(list(map(int, row)), published.design.reported),
            None,
        )
        for row in codes
    ]
    store.write(rows, day)


class Browser:
    """Calls an application in this process; keeps cookies and does not follow redirects."""

    def __init__(self, app: Any) -> None:
        self.app, self.cookies, self.headers = app, httpx.Cookies(), dict[str, str]()
        self.address, self.base_url = "127.0.0.1", "http://testserver"

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Send one request."""
        headers = self.headers | given.pop("headers", {})

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=(self.address, 4711))
            async with httpx.AsyncClient(
                transport=transport, base_url=self.base_url, cookies=self.cookies
            ) as client:
                found = await client.request(method, path, headers=headers, **given)
                self.cookies = client.cookies
                return found

        return asyncio.run(ask())

    def get(self, path: str, **given: Any) -> httpx.Response:
        """Read a page."""
        return self.request("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        """Send a form."""
        return self.request("POST", path, **given)


@dataclass
class Tried:
    """A studio under test."""

    store: Store
    studio: Studio
    mine: Published
    other: Published

    def client(self, account: Account | None = None) -> Browser:
        """A browser, signed in if there is an account."""
        made = Browser(studio_app(self.studio))
        made.headers.update(SAME_SITE)
        if account is not None:
            made.cookies.set("tacit-studio", self.studio.accounts.begin_session(account))
        return made

    def account(
        self, name: str, role: Role | None = None, administrator: bool = False, of: str = "mine"
    ) -> Account:
        """A new account with a role for one of the surveys, invited by a first administrator."""
        return new_account(
            self.studio.accounts, name, role, getattr(self, of).survey.fingerprint, administrator
        )


def new_account(
    accounts: Accounts,
    name: str,
    role: Role | None = None,
    survey: str = "a",
    administrator: bool = False,
) -> Account:
    """A new account; the first administrator invites it, who is made before if there is none."""
    if not accounts.any():
        assert accounts.create(accounts.first_link(), FIRST, PASSWORD) is not None
    first = accounts.check_password(FIRST, PASSWORD)
    assert first is not None
    _, secret = accounts.invite(first, survey, role or Role.VIEWER)
    made = accounts.create(secret, name, PASSWORD)
    assert made is not None
    if role is None:
        accounts.give(made.id, survey, None)
    if administrator:
        accounts.make_administrator(made.id)
    found = accounts.of_number(made.id)
    assert found is not None
    return found


def tried(folder: Path, records: int = 400, closed: bool = False) -> Tried:
    """A studio on a new database; `closed` says whether its survey with records is closed."""
    store = Store(folder / "survey.db")
    mine, other = survey(), survey("Other", access="invited")
    store.register(mine)
    store.register(other)
    if records:
        send(store, mine, reports(mine, records))
    if closed:
        store.close_survey(mine.survey.fingerprint)
    studio = studio_of(store, folder / "studio", WEAK_HASHER)
    studio.guesses = GuessLimits(lambda: 0.0)  # no wait ends during a test
    return Tried(store, studio, mine, other)
