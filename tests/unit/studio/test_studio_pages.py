"""What the pages show and do."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tacit import reconstruct
from tacit.studio.accounts import Role
from tacit.survey import example
from tests.support.studio import MARKUP, PASSWORD, Browser, Tried, survey, tried

pytestmark = pytest.mark.slow


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Tried]:
    made = tried(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def owner(studio: Tried) -> Browser:
    return studio.client(studio.account("Ada", Role.OWNER))


def test_the_first_link_leads_to_the_surveys(studio: Tried) -> None:
    client = studio.client()
    link = studio.studio.accounts.invite(administrator=True)
    form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
    assert "two passwords differ" in client.post(f"/set-up/{link}", data=form | {"again": "x"}).text
    made = client.post(f"/set-up/{link}", data=form)
    assert made.status_code == 303
    cookie = made.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "Work" in client.get("/").text
    client.post("/sign-out")
    assert client.get("/").status_code == 303
    assert client.post("/sign-in", data={"name": "Ada", "password": "no"}).status_code == 403
    assert client.post("/sign-in", data={"name": "Ada", "password": PASSWORD}).status_code == 303
    assert [row.action for row in studio.studio.accounts.history()][:2] == [
        "signed in",
        "sign-in failed",
    ]


def test_guessing_passwords_has_to_wait(studio: Tried) -> None:
    client = studio.client()
    found = [
        client.post("/sign-in", data={"name": "Ada", "password": "no"}).status_code
        for _ in range(5)
    ]
    assert found == [403, 403, 403, 429, 429]


def test_numbers_on_the_page_and_in_files_are_those_of_the_library(
    studio: Tried, owner: Browser
) -> None:
    base = f"/surveys/{studio.mine.slug}"
    whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
    share = whole.table(["stole"])
    low, high = share.interval()
    page = owner.get(base).text
    assert f"{100 * share.value[1]:.1f} %" in page
    assert f"{100 * low[1]:.1f} to {100 * high[1]:.1f} %" in page
    content = owner.get(f"{base}/estimates.json").json()
    assert content["records"] == 400
    np.testing.assert_allclose(content["questions"][0]["answers"][1]["share"], share.value[1])
    rows = list(csv.DictReader(io.StringIO(owner.get(f"{base}/estimates.csv").text)))
    np.testing.assert_allclose(float(rows[1]["low"]), low[1])


def test_the_exported_records_give_the_same_counts(studio: Tried, owner: Browser) -> None:
    text = owner.get(f"/surveys/{studio.mine.slug}/records.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 400
    codes = studio.store.codes(studio.mine.survey.fingerprint)
    assert sum(row["stole"] == "yes" for row in rows) == int(codes[:, 0].sum())


def test_groups_are_compared_with_a_test(studio: Tried, owner: Browser) -> None:
    page = owner.get(f"/surveys/{studio.mine.slug}/table?row=stole&column=site").text
    whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
    table = whole.table(["stole"], given=["site"])
    for share in np.ravel(table.value):
        assert f"{100 * share:.1f} %" in page
    assert f"p-value {whole.independence(['stole', 'site']).shown_p}" in page


@pytest.mark.parametrize("query", ["row=stole&column=stole", "row=stole&column=nothing"])
def test_a_table_needs_two_questions(studio: Tried, owner: Browser, query: str) -> None:
    answer = owner.get(f"/surveys/{studio.mine.slug}/table?{query}")
    assert answer.status_code == 400
    assert "two different questions" in answer.text


def test_markup_in_a_survey_appears_as_text(studio: Tried, owner: Browser) -> None:
    for page in ("", "/table?row=often&column=site", "/members"):
        text = owner.get(f"/surveys/{studio.mine.slug}{page}").text
        assert MARKUP not in text
    assert "&lt;script&gt;" in owner.get(f"/surveys/{studio.mine.slug}").text


def test_a_survey_closes_only_if_its_title_is_typed(studio: Tried, owner: Browser) -> None:
    path = f"/surveys/{studio.mine.slug}/close"
    fingerprint = studio.mine.survey.fingerprint
    assert owner.post(path, data={"confirm": "Wrong"}).status_code == 400
    assert studio.store.state(fingerprint).open
    assert owner.post(path, data={"confirm": "Work"}).status_code == 303
    assert not studio.store.state(fingerprint).open


def test_links_are_made_for_invited_surveys_only(studio: Tried) -> None:
    client = studio.client(studio.account("root", administrator=True))
    form = {"n": "3", "base": "https://survey.example.org/"}
    assert client.post(f"/surveys/{studio.mine.slug}/invite", data=form).status_code == 400
    answer = client.post(f"/surveys/{studio.other.slug}/invite", data=form)
    lines = answer.text.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith(f"https://survey.example.org/s/{studio.other.slug}/#")
    for wrong in ("0", "-1", "x", "1000000", "³"):
        bad = client.post(f"/surveys/{studio.other.slug}/invite", data=form | {"n": wrong})
        assert bad.status_code == 400


def test_a_survey_is_checked_and_published(studio: Tried) -> None:
    client = studio.client(studio.account("root", administrator=True))
    wrong = client.post("/new", data={"text": "title: X\n", "action": "check"})
    assert wrong.status_code == 400
    assert "problems" in wrong.text
    text = example()
    assert "The file is correct" in client.post("/new", data={"text": text}).text
    made = client.post("/new", data={"text": text, "action": "publish"})
    assert made.status_code == 303
    assert client.get(made.headers["location"]).status_code == 200


def test_a_member_is_invited_and_loses_the_role(studio: Tried, owner: Browser) -> None:
    path = f"/surveys/{studio.mine.slug}/members"
    page = owner.post(path, data={"role": "viewer"}).text
    link = page.split("/set-up/")[1].split("<")[0]
    client = studio.client()
    form = {"name": "Bo", "password": PASSWORD, "again": PASSWORD}
    client.post(f"/set-up/{link}", data=form)
    assert client.get(f"/surveys/{studio.mine.slug}").status_code == 200
    ((number, _, _),) = [
        one
        for one in studio.studio.accounts.members(studio.mine.survey.fingerprint)
        if one[1] == "Bo"
    ]
    owner.post(path, data={"member": str(number), "role": "none"})
    assert client.get(f"/surveys/{studio.mine.slug}").status_code == 404


def test_few_records_are_not_shown(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=50)
    client = studio.client(studio.account("Ada", Role.OWNER))
    assert (
        "Results are shown from 100 records on" in client.get(f"/surveys/{studio.mine.slug}").text
    )
    path = f"/surveys/{studio.mine.slug}/estimates.json"
    assert client.get(path).status_code == 400
    studio.store.close()


def test_two_surveys_with_the_same_questions_have_two_addresses() -> None:
    assert survey("A").slug != survey("B").slug
