"""The API: what the pages do as JSON, with tokens; its description lists every route."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest

from tacit import reconstruct
from tacit.studio.accounts import Account, Role
from tacit.studio.api import ROUTES, api_description
from tacit.studio.server import PAGES
from tacit.survey import example, survey_from_text
from tests.support.studio import Browser, Tried, tried

TEXT = example()
DESCRIPTION = api_description(PAGES)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Tried]:
    made = tried(tmp_path)
    yield made
    made.store.close()


def program(studio: Tried, account: Account, scope: Role, survey: str | None = None) -> Browser:
    """A program with a token."""
    made = studio.client()
    made.headers.clear()
    secret = studio.studio.accounts.issue_token(account.id, "test", scope, survey)
    made.headers["authorization"] = f"Bearer {secret}"
    return made


def called(client: Browser, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    """The answer of the API, which must be as described."""
    answer = client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    plain = path.partition("?")[0]
    (described,) = [
        found[method.lower()]
        for own, found in DESCRIPTION["paths"].items()
        if method.lower() in found and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", own), plain)
    ]
    wanted = described["responses"].get(str(status)) or described["responses"]["4XX"]
    if "content" not in wanted:
        assert not answer.content
        return None
    ((kind, content),) = wanted["content"].items()
    assert answer.headers["content-type"].startswith(kind)
    schema = content["schema"] | {"components": DESCRIPTION["components"]}
    jsonschema_rs.validate(schema, answer.json())
    return answer.json()


def test_every_route_is_in_the_description() -> None:
    listed = {
        (method.upper(), path) for path, found in DESCRIPTION["paths"].items() for method in found
    }
    own = {(page.method, re.sub(r"\{(\w+):\w+\}", r"{\1}", page.path)) for page in PAGES}
    assert listed == own


def test_the_description_is_a_correct_openapi_document(studio: Tried) -> None:
    found = studio.client().get("/openapi.json").json()
    assert found == DESCRIPTION
    assert found["openapi"] == "3.1.0"
    operations = [one for path in found["paths"].values() for one in path.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    for path, methods in found["paths"].items():
        for one in methods.values():
            assert one["summary"], path
            named = {own["name"] for own in one["parameters"] if own["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path))
    references = re.findall(r"#/components/schemas/(\w+)", str(found))
    assert set(references) == set(found["components"]["schemas"])


def test_every_route_of_the_api_is_below_api_and_others_name_no_schema() -> None:
    assert {page for page in PAGES if page.path.startswith("/api/")} == set(ROUTES)
    assert not any(page.answer or page.body for page in {*PAGES} - {*ROUTES})


@pytest.mark.slow
def test_a_program_writes_publishes_and_closes_a_survey(studio: Tried) -> None:
    client = program(studio, studio.account("Root", administrator=True), Role.OWNER)
    invited = TEXT.replace("access: open", "access: invited")
    made = called(client, "POST", "/api/drafts", {"text": "title: X\n"}, 201)
    own = f"/api/drafts/{made['id']}"
    assert made["problems"] == ["survey:1: the key 'questions' is missing"]
    called(client, "POST", f"{own}/publish", status=422)
    assert called(client, "POST", f"{own}/check", {"text": invited}) == {"problems": []}
    saved = called(client, "PUT", own, {"text": invited, "version": 1})
    assert saved["version"] == 2
    conflict = called(client, "PUT", own, {"text": "mine", "version": 1}, 409)
    assert conflict["type"] == "changed"
    assert (conflict["version"], conflict["text"]) == (2, invited)
    assert called(client, "GET", own)["text"] == invited
    address = called(client, "POST", f"{own}/preview", status=201)["address"]
    assert studio.client().get(address.removeprefix("http://testserver")).status_code == 200
    slug = called(client, "POST", f"{own}/publish", status=201)["slug"]
    base = f"/api/surveys/{slug}"
    assert called(client, "GET", "/api/drafts")["drafts"][0]["published"] == slug
    assert slug in {one["slug"] for one in called(client, "GET", "/api/surveys")["surveys"]}
    links = called(client, "POST", f"{base}/links", {"n": 3, "base": "https://a.example"}, 201)
    assert [link.split("#")[0] for link in links["links"]] == [f"https://a.example/s/{slug}/"] * 3
    called(client, "POST", f"{base}/links", {"n": True, "base": "https://a.example"}, 400)
    called(client, "POST", f"{base}/links", {"n": 3}, 400)
    state = called(client, "GET", base)
    assert (state["open"], state["links"], state["unused_links"]) == (True, 3, 3)
    called(client, "POST", f"{base}/close", {"confirm": "wrong"}, 400)
    title = state["title"]
    called(client, "DELETE", base, {"confirm": title}, 400)
    assert not called(client, "POST", f"{base}/close", {"confirm": title})["open"]
    copy = called(client, "POST", f"{base}/draft", status=201)
    assert survey_from_text(copy["text"]).access == "invited"
    called(client, "DELETE", base, {"confirm": title}, 204)
    called(client, "GET", base, status=404)
    called(client, "DELETE", own, status=204)
    called(client, "GET", own, status=404)


@pytest.mark.slow
def test_results_and_tables_are_those_of_the_library(studio: Tried) -> None:
    client = program(studio, studio.account("Ada", Role.VIEWER), Role.VIEWER)
    base = f"/api/surveys/{studio.mine.slug}"
    early = called(client, "GET", base)
    assert (early["records"], early["released_records"], early["compared_records"]) == (400, 368, 0)
    assert early["next_release_at"] == 368 + 46 + 32
    called(client, "GET", f"{base}/table?row=stole&column=site", status=400)
    studio.store.close_survey(studio.mine.survey.fingerprint)
    whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
    results = called(client, "GET", f"{base}/results")
    share = whole.table(["stole"]).value[1]
    np.testing.assert_allclose(results["questions"][0]["answers"][1]["share"], share)
    found = called(client, "GET", f"{base}/table?row=stole&column=site")
    shares = [cell["share"] for cell in found["cells"]]
    wanted = np.ravel(whole.table(["stole"], given=["site"]).value)
    np.testing.assert_allclose(sorted(shares), sorted(wanted))
    np.testing.assert_allclose(found["test"]["p"], whole.independence(["stole", "site"]).pvalue)
    called(client, "GET", f"{base}/table?row=stole&column=stole", status=400)
    status = called(client, "GET", base)
    keys = ("records", "released_records", "compared_records", "next_release_at")
    assert [status[key] for key in keys] == [400] * 4


@pytest.mark.slow
def test_groups_with_few_people_have_no_numbers(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.studio.disclosure.SMALLEST_GROUP", 100_000)
    studio.store.close_survey(studio.mine.survey.fingerprint)
    client = program(studio, studio.account("Ada", Role.VIEWER), Role.VIEWER)
    path = f"/api/surveys/{studio.mine.slug}/table?row=stole&column=site"
    cells = called(client, "GET", path)["cells"]
    assert cells
    for cell in cells:
        assert cell["suppressed"]
        assert (cell["share"], cell["low"], cell["high"]) == (None, None, None)


@pytest.mark.slow
def test_a_token_does_no_more_than_its_scope(studio: Tried) -> None:
    root = studio.account("Root", administrator=True)
    weak = program(studio, root, Role.ANALYST)
    narrow = program(studio, root, Role.OWNER, studio.mine.survey.fingerprint)
    strong = program(studio, root, Role.OWNER)
    own = called(strong, "POST", "/api/drafts", {"text": TEXT}, 201)["id"]
    for client in (weak, narrow):
        called(client, "POST", "/api/drafts", {"text": TEXT}, 403)
        called(client, "POST", f"/api/drafts/{own}/publish", status=403)
    called(narrow, "GET", f"/api/drafts/{own}", status=404)
    called(weak, "PUT", f"/api/drafts/{own}", {"text": "x", "version": 1}, 403)
    called(weak, "POST", f"/api/drafts/{own}/check", {})
    assert called(narrow, "GET", "/api/drafts") == {"drafts": []}


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"text": 1}', b'{"text": "a", "text": "b"}', b"\xff", b"[" * 5000]
)
def test_a_wrong_body_is_a_problem_and_no_fault(studio: Tried, body: bytes) -> None:
    client = program(studio, studio.account("Root", administrator=True), Role.OWNER)
    answer = client.post("/api/drafts", content=body)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == {"type", "title", "status"}
