"""Nobody gets in without a right: every page, for everybody who might try."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.studio.accounts import Role
from tacit.studio.studio_server import PAGES
from tests.support.studio import Browser, Tried, tried

#: For each page: the status for each visitor. An address without a line fails the test.
VISITORS = (
    *("anonymous", "other analyst", "viewer", "analyst", "owner"),
    *("administrator", "revoked token", "viewer token", "owner token"),
)
EXPECTED = {
    "GET /studio.css": "200 200 200 200 200 200 200 200 200",
    "GET /set-up/{token}": "404 404 404 404 404 404 404 404 404",
    "POST /set-up/{token}": "400 400 400 400 400 400 400 400 400",
    "GET /sign-in": "200 200 200 200 200 200 200 200 200",
    "POST /sign-in": "403 403 403 403 403 403 403 403 403",
    "POST /sign-out": "401 303 303 303 303 303 401 403 403",
    "GET /account": "303 200 200 200 200 200 401 403 403",
    "POST /account/password": "401 400 400 400 400 400 401 403 403",
    "POST /account/tokens": "401 400 400 400 400 400 401 403 403",
    "POST /account/tokens/{number:int}/revoke": "401 303 303 303 303 303 401 403 403",
    "GET /audit": "303 403 403 403 403 200 401 403 403",
    "GET /surveys/{survey}/members": "303 404 403 403 200 200 401 403 200",
    "POST /surveys/{survey}/members": "401 404 403 403 200 200 401 403 200",
    "GET /": "303 200 200 200 200 200 401 403 403",
    "GET /new": "303 403 403 403 403 200 401 403 403",
    "POST /new": "401 403 403 403 403 400 401 403 403",
    "GET /surveys/{survey}": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/table": "303 404 200 200 200 200 401 200 200",
    "POST /surveys/{survey}/close": "401 404 403 403 400 400 401 403 400",
    "POST /surveys/{survey}/invite": "401 404 403 403 400 400 401 403 400",
    "GET /surveys.json": "303 200 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/report.html": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/estimates.csv": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/estimates.json": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/estimates.tex": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/codebook.md": "303 404 200 200 200 200 401 200 200",
    "GET /surveys/{survey}/records.R": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.csv": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.parquet": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.sav": "303 404 403 200 200 200 401 403 200",
    "GET /surveys/{survey}/records.dta": "303 404 403 200 200 200 401 403 200",
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
    filled = path.replace("{survey}", studio.mine.slug).replace("{number:int}", "99")
    return filled.replace("{token}", "no-such-token")


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
        studio.studio.delay.succeeded("name ", "address 127.0.0.1")
        if path == "/sign-out" and before:  # sign in again for the next page
            name = "other" if visitor == "other analyst" else visitor
            account = studio.studio.accounts.check_password(name, "a long pass phrase")
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
@pytest.mark.parametrize("page", [page for page in PAGES if page.method == "POST"])
def test_a_form_of_another_site_is_refused(
    page: object, headers: dict[str, str], studio: Tried, clients: dict[str, Browser]
) -> None:
    client = clients["administrator"]
    path = address(getattr(page, "path", ""), studio)
    cookies = {"cookie": f"tacit-studio={client.cookies['tacit-studio']}"}
    plain = Browser(client.app)
    assert plain.post(path, headers={**headers, **cookies}).status_code == 403


def test_a_form_of_the_own_origin_is_accepted_from_older_browsers(
    studio: Tried, clients: dict[str, Browser]
) -> None:
    plain = Browser(clients["administrator"].app)
    cookies = {"cookie": f"tacit-studio={clients['owner'].cookies['tacit-studio']}"}
    answer = plain.post("/account/tokens", headers={"origin": "http://testserver", **cookies})
    assert answer.status_code == 400  # not 403: only the label is missing


def test_a_session_that_expired_is_no_session(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    account = studio.account("owner", Role.OWNER)
    client = studio.client(account)
    assert client.get("/").status_code == 200
    studio.studio.accounts.now = lambda: 1e12
    assert client.get("/").status_code == 303
    studio.store.close()


def test_every_answer_forbids_scripts_frames_and_caches(clients: dict[str, Browser]) -> None:
    for path in ("/sign-in", "/nowhere", "/studio.css"):
        headers = clients["anonymous"].get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "script-src" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
