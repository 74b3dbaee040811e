"""Invitations end with the rights of whoever made them; accounts can be disabled."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from sqlalchemy import insert, update

from tacit.studio.accounts import (
    MOST_INVITATIONS,
    Account,
    Accounts,
    Role,
    open_engine,
    passkeys,
    roles,
)
from tacit.studio.guess_limits import GuessLimits
from tests.support.studio import PASSWORD, WEAK_HASHER, Browser, Tried


def invited(client: Browser, studio: Tried, role: str = "viewer") -> str:
    """The path of an invitation that somebody makes on the page of members."""
    page = client.post(f"/surveys/{studio.mine.slug}/members", data={"role": role})
    (path,) = re.findall(r"<code>http://testserver(/set-up/[^<]+)</code>", page.text)
    return str(path)


def accept(studio: Tried, path: str, name: str = "Eve") -> int:
    """The status of making an account with an invitation: 303 if it works, else 404."""
    form = {"name": name, "password": PASSWORD, "again": PASSWORD}
    return studio.client().post(path, data=form).status_code


def with_token(studio: Tried, account: Account, scope: Role = Role.OWNER) -> Browser:
    """A program with a new token of an account."""
    client = studio.client()
    secret = studio.studio.accounts.issue_token(account.id, "script", scope)
    client.headers = {"authorization": f"Bearer {secret}", "accept": "text/html"}
    return client


def removed(studio: Tried, root: Browser, maker: Account) -> None:
    form = {"member": str(maker.id), "role": "none"}
    assert root.post(f"/surveys/{studio.mine.slug}/members", data=form).status_code == 303


def demoted(studio: Tried, root: Browser, maker: Account) -> None:
    form = {"member": str(maker.id), "role": "analyst"}
    assert root.post(f"/surveys/{studio.mine.slug}/members", data=form).status_code == 303


def disabled(studio: Tried, root: Browser, maker: Account) -> None:
    changed = root.post(f"/accounts/{maker.id}", data={"action": "disable"})
    assert changed.status_code == 303


@pytest.mark.parametrize("end", [removed, demoted, disabled])
@pytest.mark.parametrize("by_token", [False, True])
def test_nobody_comes_back_with_an_invitation_made_before_the_right_ended(
    end: Callable[[Tried, Browser, Account], None], by_token: bool, studio: Tried, root: Browser
) -> None:
    maker = studio.account("Mallory", Role.OWNER)
    client = with_token(studio, maker) if by_token else studio.client(maker)
    first, second, third = (invited(client, studio, "owner") for _ in range(3))
    assert accept(studio, first, "before") == 303  # the control
    end(studio, root, maker)
    assert studio.client().get(second).status_code == 404
    assert accept(studio, second) == 404
    # Dropped for good: they do not come back with the right.
    studio.studio.accounts.give(maker.id, studio.mine.survey.fingerprint, Role.OWNER)
    root.post(f"/accounts/{maker.id}", data={"action": "enable"})
    assert accept(studio, third) == 404


def test_an_invitation_is_checked_against_its_maker_when_it_is_used(studio: Tried) -> None:
    maker = studio.account("Mallory", Role.OWNER)
    link = invited(studio.client(maker), studio)

    def change_role_by_hand(role: str) -> None:  # without dropping what it allowed
        with studio.studio.accounts.engine.begin() as connection:
            mine = update(roles).where(roles.c.account == maker.id)
            connection.execute(mine.values(role=role))

    change_role_by_hand("analyst")
    assert studio.client().get(link).status_code == 404
    assert studio.studio.accounts.invitations() == []
    change_role_by_hand("owner")
    assert accept(studio, link) == 303  # the control


def test_a_revoked_token_leaves_no_invitations(studio: Tried) -> None:
    maker = studio.account("Ada", Role.OWNER)
    of_token, of_person = (
        invited(client, studio) for client in (with_token(studio, maker), studio.client(maker))
    )
    (token,) = studio.studio.accounts.tokens(maker.id)
    studio.client(maker).post(f"/account/tokens/{token.id}/revoke")
    assert accept(studio, of_token) == 404
    assert accept(studio, of_person) == 303


def test_who_is_no_longer_administrator_leaves_no_invitations(studio: Tried, root: Browser) -> None:
    other = studio.account("Bo", administrator=True)
    link = invited(studio.client(other), studio)
    root.post(f"/accounts/{other.id}", data={"action": "demote"})
    assert studio.client(other).get("/accounts").status_code == 403
    assert accept(studio, link) == 404


def test_an_invitation_is_listed_with_its_maker_and_can_be_revoked(
    studio: Tried, root: Browser
) -> None:
    maker = studio.account("Ada", Role.OWNER)
    link = invited(studio.client(maker), studio, "analyst")
    members = f"/surveys/{studio.mine.slug}/people"
    for client, path in ((studio.client(maker), members), (root, members), (root, "/accounts")):
        page = client.get(path).text
        (row,) = re.findall(r'<tr><td data-label="Role">analyst</td>.*?</tr>', page, re.DOTALL)
        assert "Ada" in row
        assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d", row)
    (revoke,) = re.findall(r'action="(/surveys/\w+/invitations/\d+/revoke)"', page)
    other = studio.account("other", Role.OWNER, of="other")
    elsewhere = revoke.replace(studio.mine.slug, studio.other.slug)
    assert studio.client(other).post(elsewhere).status_code == 404
    assert studio.client().get(link).status_code == 200
    assert studio.client(maker).post(revoke).status_code == 303
    assert accept(studio, link) == 404
    assert "analyst</td>" not in root.get("/accounts").text
    actions = [(row.account, row.action) for row in studio.studio.accounts.history()]
    assert actions[:2] == [("Ada", "invitation revoked"), ("Ada", "member invited")]


def test_programs_list_make_and_revoke_invitations(studio: Tried) -> None:
    client = with_token(studio, studio.account("Ada", Role.OWNER))
    path = f"/api/surveys/{studio.mine.slug}/invitations"
    for role in ("chief", None):
        assert client.post(path, json={"role": role}).status_code == 400
    made = client.post(path, json={"role": "viewer"})
    assert made.status_code == 201
    link = made.json().pop("link").removeprefix("http://testserver")
    (listed,) = client.get(path).json()["invitations"]
    assert {**listed, "link": made.json()["link"]} == made.json()
    assert (listed["role"], listed["by"]) == ("viewer", "Ada")
    assert studio.client().get(link).status_code == 200
    assert client.request("DELETE", f"{path}/{listed['id']}").status_code == 204
    assert client.request("DELETE", f"{path}/{listed['id']}").status_code == 404
    assert client.get(path).json() == {"invitations": []}
    assert accept(studio, link) == 404


@pytest.mark.slow
def test_a_program_cannot_fill_the_list_of_invitations(studio: Tried) -> None:
    """Each one is checked when somebody's rights change."""
    accounts, maker = studio.studio.accounts, studio.account("Ada", Role.OWNER)
    survey = studio.mine.survey.fingerprint
    for _ in range(MOST_INVITATIONS):
        invitation, _ = accounts.invite(maker, survey, Role.VIEWER)
    client = with_token(studio, maker)
    path = f"/api/surveys/{studio.mine.slug}/invitations"
    assert client.post(path, json={"role": "viewer"}).status_code == 400
    accounts.revoke_invitation(invitation.id, survey)
    assert client.post(path, json={"role": "viewer"}).status_code == 201


def test_a_disabled_account_gets_in_by_no_way(studio: Tried, root: Browser) -> None:
    person, accounts = studio.account("Ada", Role.OWNER), studio.studio.accounts
    with accounts.engine.begin() as connection:
        key = dict(credential=b"c", public_key=b"k", sign_count=0, label="laptop")
        key |= dict(origin="https://studio.example.org")
        connection.execute(insert(passkeys).values(account=person.id, **key))
    open_session, program = studio.client(person), with_token(studio, person)
    link = invited(open_session, studio)
    survey = f"/surveys/{studio.mine.slug}"
    assert [client.get(survey).status_code for client in (open_session, program)] == [200, 200]

    def sign_in() -> httpx.Response:
        return studio.client().post("/sign-in", data={"name": "Ada", "password": PASSWORD})

    disabled(studio, root, person)
    assert [client.get(survey).status_code for client in (open_session, program)] == [303, 401]
    assert sign_in().status_code == 403
    assert accounts.of_number(person.id) is None  # whom a passkey signs in
    assert accept(studio, link) == 404
    assert "disabled" in root.get(f"{survey}/people").text
    assert accounts.history()[1].action == "account disabled"
    assert accounts.history()[1].subject == "Ada"
    # Enabled again, it has its password and roles, and nothing else of what it had.
    studio.studio.guesses = GuessLimits()
    assert root.post(f"/accounts/{person.id}", data={"action": "enable"}).status_code == 303
    assert sign_in().status_code == 303
    assert [client.get(survey).status_code for client in (open_session, program)] == [303, 401]
    assert (accounts.tokens(person.id), studio.studio.passkeys.of_account(person.id)) == ([], [])
    assert studio.client(person).get(survey).status_code == 200


@pytest.mark.parametrize("action", ["disable", "demote"])
def test_the_last_administrator_stays(action: str, studio: Tried, root: Browser) -> None:
    accounts = studio.studio.accounts
    numbers = [row.id for row in accounts.all() if row.administrator]
    statuses = [
        root.post(f"/accounts/{number}", data={"action": action}).status_code for number in numbers
    ]
    assert statuses == [303] * (len(numbers) - 1) + [400]
    assert [row.id for row in accounts.all() if row.administrator and not row.disabled] == [
        numbers[-1]
    ]


@pytest.mark.parametrize("form", [{}, {"action": "delete"}])
def test_only_known_changes_of_known_accounts_are_made(
    form: dict[str, str], studio: Tried, root: Browser
) -> None:
    assert root.post(f"/accounts/{studio.account('Ada').id}", data=form).status_code == 400
    assert root.post("/accounts/99", data={"action": "disable"}).status_code == 404


def test_the_page_of_members_says_who_invited_whom(studio: Tried) -> None:
    maker = studio.account("Ada", Role.OWNER)
    client = studio.client(maker)
    assert accept(studio, invited(client, studio), "Bo") == 303
    page = client.get(f"/surveys/{studio.mine.slug}/people").text
    assert re.search(r">Bo</th>\s*<td[^>]*>Ada</td>", page)
    made = studio.studio.accounts.history()[0]
    assert (made.account, made.action, made.subject) == ("Bo", "account made", "invited by Ada")


def test_the_first_link_makes_no_second_administrator(tmp_path: Path) -> None:
    accounts = Accounts(open_engine(tmp_path / "accounts.db"), hasher=WEAK_HASHER)
    printed = [accounts.first_link() for _ in range(2)]  # by a start and by a second one
    first = accounts.create(printed[1], "Ada", PASSWORD)
    assert first is not None
    assert first.administrator
    assert accounts.create(printed[0], "Eve", PASSWORD) is None
