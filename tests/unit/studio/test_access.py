"""Nobody gets in without a right: every page, for everybody who might try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from tacit.collect.limits import TrustedProxies
from tacit.studio.accounts import Account, Role
from tacit.studio.guess_limits import GuessLimits
from tacit.studio.server import PAGES
from tacit.studio.site import PageRoute, Right, has_right
from tests.support.studio import PASSWORD, Browser, Tried, tried

DRAFT = """
title: A draft
questions:
  - {name: late, kind: yes_no, text: ""}
groups:
  - {questions: [late], family: related, theta: 5/6}
"""

#: For each page: the status for each visitor. An address without a line fails the test.
VISITORS = (
    *("anonymous", "other analyst", "viewer", "analyst", "owner"),
    *("administrator", "revoked token", "viewer token", "owner token"),
)
EXPECTED = {
    "GET /studio.css": "200 200 200 200 200 200 200 200 200",
    "GET /scripts/{name}": "200 200 200 200 200 200 200 200 200",
    "GET /favicon.ico": "200 200 200 200 200 200 200 200 200",
    "GET /openapi.json": "200 200 200 200 200 200 200 200 200",
    "GET /set-up/{token}": "404 404 404 404 404 404 404 404 404",
    "POST /set-up/{token}": "400 400 400 400 400 400 400 400 400",
    "GET /sign-in": "200 200 200 200 200 200 200 200 200",
    "POST /sign-in": "403 403 403 403 403 403 403 403 403",
    "POST /sign-out": "401 303 303 303 303 303 401 403 403",
    "GET /account": "303 200 200 200 200 200 401 403 403",
    "POST /account/password": "401 400 400 400 400 400 401 403 403",
    "POST /account/tokens": "401 400 400 400 400 400 401 403 403",
    "POST /account/tokens/{number:int}/revoke": "401 303 303 303 303 303 401 403 403",
    "GET /accounts": "303 403 403 403 403 200 401 403 403",
    "POST /accounts/{number:int}": "401 403 403 403 403 404 401 403 403",
    "GET /audit": "303 403 403 403 403 200 401 403 403",
    "GET /surveys/{survey}/people": "303 404 403 403 200 200 401 403 200",
    "POST /surveys/{survey}/members": "401 404 403 403 200 200 401 403 200",
    "POST /surveys/{survey}/invitations/{number:int}/revoke": "401 404 403 403 404 404 401 403 404",
    "POST /account/passkeys/options": "401 400 400 400 400 400 401 403 403",
    "POST /account/passkeys": "401 400 400 400 400 400 401 403 403",
    "POST /account/passkeys/{number:int}/remove": "401 303 303 303 303 303 401 403 403",
    "POST /sign-in/passkey/options": "200 200 200 200 200 200 200 200 200",
    "POST /sign-in/passkey": "400 400 400 400 400 400 400 400 400",
    "GET /": "303 200 200 200 200 200 401 403 403",
    "GET /new": "303 200 200 200 200 200 401 403 403",
    "GET /surveys/{survey}": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/questions": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/results": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/export": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/settings": "303 404 403 403 200 200 401 403 200",
    "POST /surveys/{survey}/close": "401 404 403 403 400 400 401 403 400",
    "POST /surveys/{survey}/snapshot": "401 404 403 403 400 400 401 403 400",
    "POST /surveys/{survey}/invite": "401 404 403 403 400 400 401 403 400",
    "GET /surveys.json": "303 200 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/estimates.csv": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/estimates.tex": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/codebook.md": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/report.html": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/report.pdf": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/estimates.json": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/design.json": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/charts/{question}.svg": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/texts.csv": "303 404 403 400 400 400 401 403 400",
    "GET /surveys/{survey}/records.R": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.py": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.do": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.csv": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.parquet": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.sav": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.dta": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/compare": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/regression": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/comparison.csv": "303 404 400 400 400 400 401 400 400",
    "GET /surveys/{survey}/regression.csv": "303 404 400 400 400 400 401 400 400",
    "POST /surveys/{survey}/report": "401 404 403 400 400 400 401 403 400",
    "POST /surveys/{survey}/report/{number:int}/remove": "401 404 403 400 400 400 401 403 400",
    "GET /plan": "303 200 200 200 200 200 401 200 200",
    "POST /drafts": "401 400 400 400 400 400 401 403 400",
    "GET /drafts/{draft}": "303 404 404 404 200 200 401 200 200",
    "GET /drafts/{draft}/text": "303 404 404 404 200 200 401 200 200",
    "POST /drafts/{draft}/text": "401 404 404 404 400 400 401 403 400",
    "GET /drafts/{draft}/survey.yaml": "303 404 404 404 200 200 401 200 200",
    "POST /drafts/{draft}/publish": "401 403 403 403 403 400 401 403 403",
    "POST /drafts/{draft}/duplicate": "401 404 404 404 303 303 401 403 303",
    "POST /drafts/{draft}/delete": "401 404 404 404 400 400 401 403 400",
    "POST /drafts/{draft}/preview": "401 404 404 404 400 400 401 400 400",
    "POST /surveys/{survey}/duplicate": "401 404 403 403 303 303 401 403 303",
    "POST /surveys/{survey}/delete": "401 404 403 403 400 400 401 403 400",
    "GET /drafts/{draft}/settings": "303 404 404 404 200 200 401 200 200",
    "POST /drafts/{draft}/settings": "401 404 404 404 400 400 401 403 400",
    "POST /drafts/{draft}/questions": "401 404 404 404 400 400 401 403 400",
    "GET /drafts/{draft}/questions/{number:int}": "303 404 404 404 200 200 401 200 200",
    "POST /drafts/{draft}/questions/{number:int}": "401 404 404 404 400 400 401 403 400",
    "POST /drafts/{draft}/groups": "401 404 404 404 400 400 401 403 400",
    "GET /drafts/{draft}/groups/{number:int}": "303 404 404 404 200 200 401 200 200",
    "POST /drafts/{draft}/groups/{number:int}": "401 404 404 404 400 400 401 403 400",
    "POST /drafts/{draft}/logo": "401 404 404 404 400 400 401 403 400",
    "GET /preview/{secret}/": "404 404 404 404 404 404 404 404 404",
    "GET /preview/{secret}/survey.json": "404 404 404 404 404 404 404 404 404",
    "POST /preview/{secret}/responses": "404 404 404 404 404 404 404 404 404",
    "GET /page/{name:path}": "200 200 200 200 200 200 200 200 200",
    "GET /drafts/{draft}/publish": "303 404 404 404 200 200 401 200 200",
    "GET /surveys/{survey}/models": "303 404 200 200 200 200 401 200 200",
    "POST /surveys/{survey}/models": "401 404 403 400 400 400 401 403 400",
    "GET /surveys/{survey}/models/{model}": "303 404 404 404 404 404 401 404 404",
    "GET /surveys/{survey}/models/{model}/model.json": "303 404 403 400 400 400 401 403 400",
    "POST /surveys/{survey}/models/{model}/delete": "401 404 403 403 400 400 401 403 400",
    "POST /surveys/{survey}/models/{model}/round": "401 404 403 403 400 400 401 403 400",
    "GET /api/surveys": "303 200 200 200 200 200 401 200 200",
    "GET /api/surveys/{survey}": "303 404 200 200 200 200 401 200 200",
    "DELETE /api/surveys/{survey}": "401 404 403 403 400 400 401 403 400",
    "GET /api/surveys/{survey}/results": "303 404 200 200 200 200 401 200 200",
    "GET /api/surveys/{survey}/table": "303 404 400 400 400 400 401 400 400",
    "GET /api/surveys/{survey}/regression": "303 404 400 400 400 400 401 400 400",
    "GET /api/surveys/{survey}/report": "303 404 200 200 200 200 401 200 200",
    "POST /api/surveys/{survey}/report": "401 404 403 400 400 400 401 403 400",
    "DELETE /api/surveys/{survey}/report/{number:int}": "401 404 403 400 400 400 401 403 400",
    "POST /api/surveys/{survey}/close": "401 404 403 403 400 400 401 403 400",
    "POST /api/surveys/{survey}/snapshot": "401 404 403 403 400 400 401 403 400",
    "POST /api/surveys/{survey}/links": "401 404 403 403 400 400 401 403 400",
    "GET /api/surveys/{survey}/invitations": "303 404 403 403 200 200 401 403 200",
    "POST /api/surveys/{survey}/invitations": "401 404 403 403 400 400 401 403 400",
    "DELETE /api/surveys/{survey}/invitations/{number:int}": "401 404 403 403 404 404 401 403 404",
    "POST /api/surveys/{survey}/draft": "401 404 403 403 201 201 401 403 201",
    "GET /api/plan": "303 400 400 400 400 400 401 400 400",
    "GET /api/drafts": "303 200 200 200 200 200 401 200 200",
    "POST /api/drafts": "401 400 400 400 400 400 401 403 400",
    "GET /api/drafts/{draft}": "303 404 404 404 200 200 401 200 200",
    "PUT /api/drafts/{draft}": "401 404 404 404 400 400 401 403 400",
    "DELETE /api/drafts/{draft}": "401 404 404 404 204 204 401 403 204",
    "POST /api/drafts/{draft}/check": "401 404 404 404 400 400 401 400 400",
    "POST /api/drafts/{draft}/publish": "401 403 403 403 403 422 401 403 403",
    "POST /api/drafts/{draft}/preview": "401 404 404 404 422 422 401 422 422",
    "GET /api/surveys/{survey}/models": "303 404 200 200 200 200 401 200 200",
    "POST /api/surveys/{survey}/models": "401 404 403 400 400 400 401 403 400",
    "GET /api/surveys/{survey}/models/{model}": "303 404 404 404 404 404 401 404 404",
    "DELETE /api/surveys/{survey}/models/{model}": "401 404 403 403 400 400 401 403 400",
    "POST /api/surveys/{survey}/models/{model}/round": "401 404 403 403 400 400 401 403 400",
}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    made = tried(tmp_path_factory.mktemp("studio"))
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def clients(studio: Tried) -> dict[str, Browser]:
    accounts = studio.studio.accounts
    owner = studio.account("owner", Role.OWNER)
    signed_in = {
        "other analyst": studio.account("other", Role.ANALYST, of="other"),
        "viewer": studio.account("viewer", Role.VIEWER),
        "analyst": studio.account("analyst", Role.ANALYST),
        "owner": owner,
        "administrator": studio.account("administrator", administrator=True),
    }
    tokens = {
        "revoked token": accounts.issue_token(owner.id, "revoked", Role.OWNER),
        "viewer token": accounts.issue_token(owner.id, "viewer", Role.VIEWER),
        "owner token": accounts.issue_token(owner.id, "owner", Role.OWNER),
    }
    accounts.revoke_token(owner.id, accounts.tokens(owner.id)[0].id)
    made = {"anonymous": studio.client()}
    made |= {name: studio.client(account) for name, account in signed_in.items()}
    for name, secret in tokens.items():
        made[name] = studio.client()
        made[name].headers["authorization"] = f"Bearer {secret}"
    return made


def address(path: str, studio: Tried) -> str:
    """The address of a page, with a new draft of the owner that has problems."""
    filled = path.replace("{survey}", studio.mine.slug)
    if "{draft}" in path:
        members = studio.studio.accounts.members(studio.mine.survey.fingerprint)
        ((owner, name),) = [(one.id, one.name) for one in members if one.name == "owner"]
        for earlier in studio.studio.drafts.all():  # an account may have only so many
            studio.studio.drafts.delete(earlier.id)
        made = studio.studio.drafts.create(DRAFT, owner, name)
        filled = filled.replace("{draft}", made.id).replace("{number:int}", "1")
    filled = filled.replace("{number:int}", "99").replace("{name:path}", "page.js")
    filled = filled.replace("{name}", "check.js")
    filled = filled.replace("{model}", "0" * 16).replace("{question}", "stole")
    return filled.replace("{token}", "no-such-token").replace("{secret}", "no-such-secret")


def test_every_page_has_its_expected_answers() -> None:
    assert [f"{page.method} {page.path}" for page in PAGES] == [*EXPECTED]


@pytest.mark.slow
@pytest.mark.parametrize("page", [*EXPECTED])
def test_a_page_is_open_only_to_those_with_the_right(
    page: str, studio: Tried, clients: dict[str, Browser]
) -> None:
    method, path = page.split()
    found = []
    for visitor in VISITORS:
        client = clients[visitor]
        before = dict(client.cookies)
        form = {} if method == "GET" else {"role": "viewer"}
        answer = client.request(method, address(path, studio), data=form or None)
        found.append(str(answer.status_code))
        studio.studio.guesses = GuessLimits()
        if path == "/sign-out" and before:  # sign in again for the next page
            name = "other" if visitor == "other analyst" else visitor
            account = studio.studio.accounts.check_password(name, PASSWORD)
            assert account is not None
            client.cookies.set("tacit-studio", studio.studio.accounts.begin_session(account))
    assert dict(zip(VISITORS, found, strict=True)) == dict(
        zip(VISITORS, EXPECTED[page].split(), strict=True)
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {},
    ],
)
@pytest.mark.parametrize("page", [page for page in PAGES if page.method != "GET"])
def test_a_form_of_another_site_is_refused(
    page: PageRoute, headers: dict[str, str], studio: Tried, clients: dict[str, Browser]
) -> None:
    client = clients["administrator"]
    path = address(page.path, studio)
    cookies = {"cookie": f"tacit-studio={client.cookies['tacit-studio']}"}
    plain = Browser(client.app)
    assert plain.request(page.method, path, headers={**headers, **cookies}).status_code == 403


def test_a_form_of_the_own_origin_is_accepted_from_older_browsers(
    studio: Tried, clients: dict[str, Browser]
) -> None:
    plain = Browser(clients["administrator"].app)
    cookies = {"cookie": f"tacit-studio={clients['owner'].cookies['tacit-studio']}"}
    answer = plain.post("/account/tokens", headers={"origin": "http://testserver", **cookies})
    assert answer.status_code == 400  # not 403: only the label is missing


@pytest.mark.parametrize(
    ("base", "headers", "origin", "status"),
    [
        ("https://testserver", {}, "https://testserver", 400),  # only the label is missing
        ("https://testserver:443", {}, "https://testserver", 400),
        ("https://testserver", {}, "http://testserver", 403),
        ("http://testserver", {}, "https://testserver", 403),
        ("http://testserver", {}, "http://testserver:8080", 403),
        ("http://testserver", {"x-forwarded-proto": "https"}, "https://testserver", 400),
        ("http://testserver", {"x-forwarded-proto": "https"}, "http://testserver", 403),
    ],
)
def test_a_form_of_another_scheme_or_port_is_refused(
    base: str, headers: dict[str, str], origin: str, status: int, tmp_path: Path
) -> None:
    studio = tried(tmp_path, records=0)
    studio.studio.proxies = TrustedProxies([ip_network("127.0.0.1")])
    owner = studio.client(studio.account("owner", Role.OWNER))
    session = owner.cookies["tacit-studio"]
    name = (
        "__Host-tacit-studio" if origin.startswith("https") == (status == 400) else "tacit-studio"
    )
    plain = Browser(owner.app)
    plain.base_url = base
    sent = {**headers, "origin": origin, "cookie": f"{name}={session}"}
    assert plain.post("/account/tokens", headers=sent).status_code == status
    if headers:  # only the proxy is trusted
        plain.address = "192.0.2.1"
        assert plain.post("/account/tokens", headers=sent).status_code != 400
    studio.store.close()


def test_with_an_address_nothing_depends_on_the_host_header(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    studio.studio.address = "https://studio.example.org"
    owner = studio.client(studio.account("owner", Role.OWNER))
    plain = Browser(owner.app)
    plain.base_url = "http://evil.example"
    cookies = {"cookie": f"__Host-tacit-studio={owner.cookies['tacit-studio']}"}
    path = f"/surveys/{studio.mine.slug}/members"
    for origin, status in (("http://evil.example", 403), (studio.studio.address, 200)):
        answer = plain.post(path, headers={"origin": origin, **cookies}, data={"role": "viewer"})
        assert answer.status_code == status
    assert "https://studio.example.org/set-up/" in answer.text
    assert "evil" not in answer.text
    studio.store.close()


@pytest.mark.parametrize("host", ["[", "x:99999", "[::1", "x:y"])
def test_a_host_header_that_is_no_host_is_a_wrong_request(
    host: str, clients: dict[str, Browser]
) -> None:
    assert clients["owner"].get("/", headers={"host": host}).status_code == 400


def test_a_session_that_expired_is_no_session(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    account = studio.account("owner", Role.OWNER)
    client = studio.client(account)
    assert client.get("/").status_code == 200
    studio.studio.accounts.now = lambda: 1e12
    assert client.get("/").status_code == 303
    studio.store.close()


def test_a_page_with_a_script_runs_only_files_of_the_studio(
    studio: Tried, clients: dict[str, Browser]
) -> None:
    client = clients["owner"]
    page = client.get(address("/drafts/{draft}/text", studio))
    parts = page.headers["content-security-policy"].split(";")
    policy = dict(part.strip().partition(" ")[::2] for part in parts)
    assert (policy["default-src"], policy["script-src"]) == ("'none'", "'self'")
    assert policy["require-trusted-types-for"] == "'script'"
    assert "<script type" in page.text
    assert "onclick" not in page.text
    for name in ("../site.py", "studio.css", "site.py"):
        assert client.get(f"/scripts/{name}").status_code == 404


def test_every_answer_forbids_scripts_frames_and_caches(clients: dict[str, Browser]) -> None:
    for path in ("/set-up/x", "/nowhere", "/studio.css"):
        headers = clients["anonymous"].get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "script-src" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("limits", [{"most": Role.ANALYST}, {"only": "a" * 64}])
def test_a_limited_token_of_an_administrator_neither_writes_drafts_nor_publishes(
    limits: dict[str, Any],
) -> None:
    whole = Account(1, "root", administrator=True, token=1)
    limited = replace(whole, **limits)
    for right in (Right.AUTHOR, Right.PUBLISHER):
        assert has_right(whole, right)
        assert not has_right(limited, right)
