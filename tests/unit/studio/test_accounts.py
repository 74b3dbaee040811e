"""Accounts, links, sessions, tokens and delays."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from tacit.errors import DataError, StoreError
from tacit.studio import accounts as accounts_module
from tacit.studio.accounts import SESSION_SECONDS, Accounts, Role, open_engine
from tests.support.studio import PASSWORD, WEAK_HASHER, new_account


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    return Accounts(open_engine(tmp_path / "accounts.db"), hasher=WEAK_HASHER)


def test_a_link_makes_one_account(accounts: Accounts) -> None:
    link = accounts.first_link()
    assert accounts.link_works(link)
    made = accounts.create(link, "Ada", PASSWORD)
    assert made is not None
    assert made.administrator
    assert accounts.create(link, "Eve", PASSWORD) is None
    assert not accounts.link_works(link)


def test_a_link_expires(accounts: Accounts) -> None:
    link = accounts.first_link()
    accounts.now = lambda: 1e12
    assert accounts.create(link, "Ada", PASSWORD) is None


def test_a_link_can_be_used_again_if_the_name_is_taken(accounts: Accounts) -> None:
    first = accounts.create(accounts.first_link(), "Ada", PASSWORD)
    assert first is not None
    _, link = accounts.invite(first, "a", Role.VIEWER)
    with pytest.raises(DataError, match="there is an account 'Ada' already"):
        accounts.create(link, "Ada", PASSWORD)
    assert accounts.create(link, "Ada 2", PASSWORD) is not None


@pytest.mark.parametrize("password", ["", "short", "x" * 1001])
def test_a_password_has_enough_characters(accounts: Accounts, password: str) -> None:
    with pytest.raises(DataError, match="12 to 1,000 characters"):
        accounts.create(accounts.first_link(), "Ada", password)


def test_only_the_right_password_signs_in(accounts: Accounts) -> None:
    accounts.create(accounts.first_link(), "Ada", PASSWORD)
    assert accounts.check_password("Ada", PASSWORD) is not None
    assert accounts.check_password("Ada", PASSWORD + " ") is None
    assert accounts.check_password("Eve", PASSWORD) is None


def test_a_hash_takes_64_mib(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "accounts.db")
    accounts = Accounts(engine)
    accounts.create(accounts.first_link(), "Ada", PASSWORD)
    with engine.connect() as connection:
        hashed = connection.scalar(select(accounts_module.accounts.c.password))
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")  # RFC 9106, second choice


def test_no_secret_is_in_the_file(accounts: Accounts, tmp_path: Path) -> None:
    link = accounts.first_link()
    made = accounts.create(link, "Ada", PASSWORD)
    assert made is not None
    _, another = accounts.invite(made, "a", Role.VIEWER)
    secrets = [link, another, PASSWORD, accounts.begin_session(made)]
    secrets.append(accounts.issue_token(made.id, "notebook", Role.VIEWER))
    accounts.engine.dispose()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("accounts.db*"))
    assert b"notebook" in stored  # the control
    assert not [secret for secret in secrets if secret.encode() in stored]


def test_a_session_ends_when_it_is_not_used_or_the_password_changes(accounts: Accounts) -> None:
    made = accounts.create(accounts.first_link(), "Ada", PASSWORD)
    assert made is not None
    time = [0.0]
    accounts.now = lambda: time[0]
    session = accounts.begin_session(made)
    for _ in range(3):  # each use extends it
        time[0] += SESSION_SECONDS * 0.9
        assert accounts.of_session(session) is not None
    time[0] += SESSION_SECONDS * 1.1
    assert accounts.of_session(session) is None
    session = accounts.begin_session(made)
    accounts.change_password(made.id, "another long pass phrase")
    assert accounts.of_session(session) is None


def test_a_token_has_at_most_its_scope_and_its_survey(accounts: Accounts) -> None:
    made = new_account(accounts, "Ada", Role.ANALYST)
    accounts.give(made.id, "b", Role.OWNER)
    scoped = accounts.of_token(accounts.issue_token(made.id, "all", Role.OWNER))
    narrow = accounts.of_token(accounts.issue_token(made.id, "one", Role.VIEWER, "b"))
    assert scoped is not None
    assert narrow is not None
    assert [scoped.role(survey) for survey in "abc"] == [Role.ANALYST, Role.OWNER, None]
    assert [narrow.role(survey) for survey in "abc"] == [None, Role.VIEWER, None]


def test_a_role_that_was_taken_away_is_gone_at_once(accounts: Accounts) -> None:
    made = new_account(accounts, "Ada", Role.OWNER)
    session = accounts.begin_session(made)
    accounts.give(made.id, "a", None)
    again = accounts.of_session(session)
    assert again is not None
    assert again.role("a") is None


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="accounts cannot be stored here"):
        open_engine(tmp_path)
