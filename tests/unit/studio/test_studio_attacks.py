"""What a program sends that no browser would: numbers, texts and addresses that break things."""

from __future__ import annotations

import asyncio
import subprocess
from typing import Any

import httpx
import pytest

from tacit.studio.accounts import Role
from tacit.studio.models import STOPPED
from tacit.studio.site import HEADERS, MOST_FIELDS
from tests.support.drafts import draft_in
from tests.support.studio import Browser, Tried, reports, send

HUGE = str(10**30)


@pytest.fixture
def owner(studio: Tried) -> Browser:
    return studio.client(studio.account("owner", Role.OWNER))


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"/account/tokens/{HUGE}/revoke", "", 404),
        ("POST", f"/account/passkeys/{HUGE}/remove", "", 404),
        ("POST", "/api/drafts", r'{"text": "title: \ud800"}', 400),
        ("POST", "/api/drafts/{draft}/check", r'{"text": "title: \ud800"}', 400),
        ("PUT", "/api/drafts/{draft}", f'{{"text": "title: x", "version": {HUGE}}}', 400),
        ("PUT", "/api/drafts/{draft}", f'{{"text": "title: x", "version": {2**63 - 1}}}', 400),
    ],
)
def test_what_the_database_cannot_store_is_refused(
    method: str, path: str, body: str, status: int, studio: Tried, owner: Browser
) -> None:
    own = path.replace("{draft}", draft_in(studio, owner))
    assert owner.request(method, own, content=body.encode()).status_code == status


@pytest.mark.parametrize("base", ["https://x\n=cmd()", 'https://x","=cmd()', "https://x y", "x"])
def test_the_address_of_links_is_one_cell_of_a_table(base: str, studio: Tried) -> None:
    client = studio.client(studio.account("other", Role.OWNER, of="other"))
    answer = client.post(f"/surveys/{studio.other.slug}/invite", data={"n": "2", "base": base})
    assert answer.status_code == 400
    assert studio.store.state(studio.other.survey.fingerprint).issued == 0


@pytest.mark.parametrize("path", ["/surveys/x", "/drafts/x", "/api/surveys/x/results"])
def test_a_stranger_makes_the_studio_look_up_no_survey(
    path: str, studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (studio.studio.store, studio.studio.drafts):
        monkeypatch.setattr(part, "published" if part is studio.store else "get", lambda *_: 1 / 0)
    assert studio.client().get(path).headers["location"] == "/sign-in"


def test_a_form_with_very_many_fields_is_a_wrong_request(owner: Browser) -> None:
    for most, status in ((MOST_FIELDS, 303), (MOST_FIELDS + 1, 400)):
        form = "title=x" + "&a=b" * (most - 1)
        kind = {"content-type": "application/x-www-form-urlencoded"}
        assert owner.post("/drafts", content=form.encode(), headers=kind).status_code == status


def test_an_unexpected_error_has_the_headers_of_every_page(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(studio.studio.accounts, "link_works", broken)
    transport = httpx.ASGITransport(studio.client().app, raise_app_exceptions=False)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            return await client.get("/set-up/x")

    answer = asyncio.run(ask())
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert HEADERS.items() <= dict(answer.headers).items()


def test_a_process_that_is_killed_at_once_is_told_on_the_page_of_its_model(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(studio.store, studio.mine, reports(studio.mine, 200))
    studio.store.close_survey(studio.mine.survey.fingerprint)
    started = subprocess.Popen

    def killed(command: Any, **given: Any) -> Any:
        process = started(["true"], **given)
        process.wait()
        return process

    monkeypatch.setattr(subprocess, "Popen", killed)
    client = studio.client(studio.account("analyst", Role.ANALYST))
    form = {"kind": "naive_bayes", "target": "stole"}
    answer = client.post(f"/surveys/{studio.mine.slug}/models", data=form)
    assert answer.status_code == 303
    assert STOPPED in client.get(answer.headers["location"]).text
