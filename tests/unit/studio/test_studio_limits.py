"""Limits of programs, of drafts and of roles that others try to get around."""

from __future__ import annotations

import json

import pytest

from tacit import mine
from tacit.records import count_reported
from tacit.studio import drafts
from tacit.studio.accounts import Role
from tacit.studio.drafts import DraftDocument
from tacit.studio.models import StoredModel
from tests.support.drafts import TEXT, draft_in
from tests.support.studio import Browser, Tried, reports


def program(studio: Tried, account: int, survey: str | None) -> Browser:
    made = studio.client()
    secret = studio.studio.accounts.issue_token(account, "test", Role.OWNER, survey)
    made.headers = {"authorization": f"Bearer {secret}"}
    return made


@pytest.mark.parametrize("path", ["/api/surveys/{}/draft", "/surveys/{}/duplicate"])
def test_a_token_for_one_survey_makes_no_drafts_of_it(path: str, studio: Tried) -> None:
    owner = studio.account("owner", Role.OWNER).id
    limited = program(studio, owner, studio.mine.survey.fingerprint)
    assert limited.post(path.format(studio.mine.slug)).status_code == 403
    assert studio.studio.drafts.all() == []
    whole = program(studio, owner, None)
    assert whole.post(path.format(studio.mine.slug)).status_code in (201, 303)


@pytest.mark.parametrize("path", ["/", "/api/drafts"])
def test_the_list_of_drafts_reads_and_checks_no_text(
    path: str, studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = studio.client(studio.account("owner", Role.OWNER))
    draft_in(studio, client)
    monkeypatch.setattr(DraftDocument, "problems", property(lambda _: 1 / 0))
    assert [one.text for one in studio.studio.drafts.all()] == [""]
    assert client.get(path).status_code == 200


def test_a_text_that_is_too_long_is_not_checked(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = studio.client(studio.account("owner", Role.OWNER))
    own = draft_in(studio, client)
    monkeypatch.setattr(drafts, "MOST_TEXT", len(TEXT))
    for text, status in ((TEXT, 200), (TEXT + "#", 400)):
        answer = client.post(f"/api/drafts/{own}/check", json={"text": text})
        assert answer.status_code == status
        form = {"action": "check", "version": "1", "text": text}
        assert client.post(f"/drafts/{own}/text", data=form).status_code == status


def test_one_account_cannot_use_up_the_drafts_of_all(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MOST_OWN_DRAFTS", 2)
    viewer = studio.client(studio.account("viewer", Role.VIEWER))
    found = [viewer.post("/drafts", data={"title": "x"}).status_code for _ in range(3)]
    assert found == [303, 303, 400]
    other = studio.client(studio.account("other", Role.VIEWER))
    assert other.post("/drafts", data={"title": "x"}).status_code == 303


def test_a_preview_is_in_the_audit_log(studio: Tried) -> None:
    client = studio.client(studio.account("owner", Role.OWNER))
    own = draft_in(studio, client)
    assert client.post(f"/drafts/{own}/preview").status_code == 303
    last = studio.studio.accounts.history()[0]
    assert (last.account, last.action) == ("owner", "preview made")


def test_publishing_a_round_again_gives_no_role_for_it(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = studio.mine.design
    model = mine.NaiveBayes(design, "stole")
    model.fit(count_reported(reports(studio.mine, 400), design))
    summary: dict[str, bool] = {}
    content = {"model": mine.model_to_json(model), "summary": summary}
    content |= {"request": {"kind": "naive_bayes"}}
    monkeypatch.setattr(StoredModel, "is_of", lambda *_: True)
    monkeypatch.setattr(studio.studio.models, "find", lambda *_: StoredModel("0" * 16, content))
    first, second = (studio.account(name, Role.OWNER) for name in ("first", "second"))
    path = f"/surveys/{studio.mine.slug}/models/{'0' * 16}/round"
    theta = {"theta": "5/6"}
    whole = studio.client(first).post(path, data=theta)
    assert whole.status_code == 400
    assert "groups of fewer than 20 people" in whole.text
    summary["small_groups"] = False
    made = studio.client(first).post(path, data=theta)
    assert made.status_code == 303, made.text
    client = studio.client(second)
    assert client.post(path, data=theta).status_code == 400
    assert client.get(made.headers["location"]).status_code == 404
    listed = json.loads(client.get("/api/surveys").text)["surveys"]
    assert [one["slug"] for one in listed] == [studio.mine.slug]


def test_a_viewer_reads_no_model_of_a_version_that_kept_small_groups(
    studio: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("summary", "evaluation", "privacy", "n_learnt", "n_tested", "n_left_out", "made", "by")
    content = dict.fromkeys(names) | {"request": {"kind": "clusters"}, "summary": {}}
    content |= {"n_records": 100, "n_left_out": 0}
    monkeypatch.setattr(studio.studio.models, "find", lambda *_: StoredModel("0" * 16, content))
    path = f"/api/surveys/{studio.mine.slug}/models/{'0' * 16}"
    for role, status in ((Role.VIEWER, 404), (Role.ANALYST, 200)):
        answer = studio.client(studio.account(role.name, role)).get(path)
        assert answer.status_code == status
