"""What the pages show and do."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tacit import reconstruct
from tacit.collect.page import content
from tacit.studio.accounts import Role
from tacit.survey import example
from tests.support.studio import MARKUP, PASSWORD, Browser, Tried, reports, send, survey, tried

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
    link = studio.studio.accounts.first_link()
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


def test_no_browser_is_told_that_the_icon_is_missing(studio: Tried, owner: Browser) -> None:
    anonymous = studio.client()
    for client, path in ((owner, "/"), (anonymous, "/sign-in"), (anonymous, "/nowhere")):
        page = client.get(path)
        (link,) = re.findall(r'<link rel="icon" href="([^"]+)" type="image/svg\+xml">', page.text)
        assert "img-src 'self'" in page.headers["content-security-policy"]
        # Browsers ask for the second one where no page names an icon, such as for JSON.
        icons = [anonymous.get(link), anonymous.get("/favicon.ico")]
        for icon in icons:
            assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")
        assert icons[0].content == icons[1].content == content("icon.svg")


@pytest.mark.parametrize("name", [PASSWORD, f"Ada{PASSWORD}", "", "ada"])
def test_a_password_typed_as_a_name_is_not_kept(
    name: str, studio: Tried, owner: Browser, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    accounts = studio.studio.accounts
    assert owner.post("/sign-in", data={"name": name, "password": "x"}).status_code == 403
    assert owner.post("/sign-in", data={"name": "Ada", "password": "x"}).status_code == 403
    # Names of accounts are kept: guesses at them matter.
    lines = [(row.account, row.action, row.subject) for row in accounts.history(2)]
    assert lines == [("Ada", "sign-in failed", ""), ("", "sign-in failed", "unknown name")]
    accounts.engine.dispose()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    stored = b"".join(path.read_bytes() for path in files)
    assert b"unknown name" in stored  # the control
    assert PASSWORD.encode() not in stored
    assert PASSWORD not in "".join(capfd.readouterr())


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
    studio.store.close_survey(studio.mine.survey.fingerprint)
    base = f"/surveys/{studio.mine.slug}"
    whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
    share = whole.table(["stole"])
    low, high = share.interval()
    for page in (owner.get(base).text, owner.get(f"{base}/results").text):
        assert f"{100 * share.value[1]:.1f}\u202f%" in page
        assert f"{100 * low[1]:.1f} to {100 * high[1]:.1f}<" in page
    content = owner.get(f"{base}/estimates.json").json()
    assert content["records"] == 400
    np.testing.assert_allclose(content["questions"][0]["answers"][1]["share"], share.value[1])
    rows = list(csv.DictReader(io.StringIO(owner.get(f"{base}/estimates.csv").text)))
    np.testing.assert_allclose(float(rows[1]["low"]), low[1])


def test_the_exported_records_give_the_same_counts(studio: Tried, owner: Browser) -> None:
    studio.store.close_survey(studio.mine.survey.fingerprint)
    text = owner.get(f"/surveys/{studio.mine.slug}/records.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 400
    codes = studio.store.codes(studio.mine.survey.fingerprint)
    assert sum(row["stole"] == "yes" for row in rows) == int(codes[:, 0].sum())


def test_groups_are_compared_with_a_test(studio: Tried, owner: Browser) -> None:
    studio.store.close_survey(studio.mine.survey.fingerprint)
    page = owner.get(f"/surveys/{studio.mine.slug}/compare?row=stole&column=site").text
    whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
    table = whole.table(["stole"], given=["site"])
    for share in np.ravel(table.value):
        assert f"{100 * share:.1f}\u202f%" in page
    assert f"p-value {whole.independence(['stole', 'site']).shown_p}" in page


@pytest.mark.parametrize("query", ["row=stole&column=stole", "row=stole&column=nothing"])
def test_a_table_needs_two_questions(studio: Tried, owner: Browser, query: str) -> None:
    studio.store.close_survey(studio.mine.survey.fingerprint)
    answer = owner.get(f"/surveys/{studio.mine.slug}/compare?{query}")
    assert answer.status_code == 400
    assert "two different questions" in answer.text


def test_markup_in_a_survey_appears_as_text(studio: Tried, owner: Browser) -> None:
    for page in ("", "/results", "/questions", "/compare?row=often&column=site", "/people"):
        text = owner.get(f"/surveys/{studio.mine.slug}{page}").text
        assert MARKUP not in text
    assert "&lt;script&gt;" in owner.get(f"/surveys/{studio.mine.slug}/results").text


def test_groups_are_compared_before_closing_only_in_a_snapshot_that_the_owner_freezes_once(
    studio: Tried, owner: Browser
) -> None:
    base = f"/surveys/{studio.mine.slug}"
    query = "compare?row=stole&column=site"
    viewer = studio.client(studio.account("viewer", Role.VIEWER))
    for early in (viewer.get(f"{base}/compare"), viewer.get(f"{base}/{query}")):
        assert early.status_code == 200
        assert "once the survey is closed" in early.text
        assert "The owner can freeze a snapshot earlier." in early.text
        assert "%</td>" not in early.text
    assert viewer.get(f"/api{base}/table?row=stole&column=site").status_code == 400
    assert "grew by 0 or by at\nleast 20 people" in owner.get(f"{base}/settings").text
    assert owner.post(f"{base}/snapshot", data={}).status_code == 400
    assert viewer.post(f"{base}/snapshot", data={"confirm": "yes"}).status_code == 403
    assert owner.post(f"{base}/snapshot", data={"confirm": "yes"}).status_code == 303
    last = studio.studio.accounts.history()[0]
    assert (last.action, last.subject) == ("snapshot frozen", "Work: 368 records")
    assert "snapshot of 368 records" in owner.get(f"{base}/settings").text
    frozen = viewer.get(f"{base}/{query}")
    assert "the snapshot that was frozen" in frozen.text
    send(studio.store, studio.mine, reports(studio.mine, 400, seed=7))
    assert "Results of 768 records" in viewer.get(f"{base}/results").text
    assert viewer.get(f"{base}/{query}").text == frozen.text
    again = owner.post(f"/api{base}/snapshot", json={"confirm": "Work"})
    assert again.status_code == 400
    assert "snapshot already" in again.text
    studio.store.close_survey(studio.mine.survey.fingerprint)
    assert "Groups could be compared in a snapshot before" in viewer.get(f"{base}/{query}").text
    assert owner.post(f"{base}/snapshot", data={"confirm": "yes"}).status_code == 400


def test_who_gives_a_role_is_told_what_downloads_tell(studio: Tried, owner: Browser) -> None:
    page = owner.get(f"/surveys/{studio.mine.slug}/people").text
    assert "whoever compares\ntwo downloads sees which records came in between" in page


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
    assert "Paste a survey file" in client.get("/new").text
    pasted = {"from": "text", "text": "title: X\n"}
    wrong = client.post("/drafts", data=pasted).headers["location"]
    assert "Before it can be published" in client.get(wrong).text
    draft = client.post("/drafts", data=pasted | {"text": example()}).headers["location"]
    review = client.get(f"{draft}/publish").text
    assert "Publish for good" in review
    made = client.post(f"{draft}/publish", data={"confirm": "yes"})
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
    members = studio.studio.accounts.members(studio.mine.survey.fingerprint)
    (number,) = [member.id for member in members if member.name == "Bo"]
    owner.post(path, data={"member": str(number), "role": "none"})
    assert client.get(f"/surveys/{studio.mine.slug}").status_code == 404


def test_few_records_are_not_shown(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=50)
    client = studio.client(studio.account("Ada", Role.OWNER))
    told = "Results are shown from 132 records on, or from 100 once the survey is closed."
    assert told in client.get(f"/surveys/{studio.mine.slug}").text
    path = f"/surveys/{studio.mine.slug}/estimates.json"
    assert client.get(path).status_code == 400
    studio.store.close()


def test_two_surveys_with_the_same_questions_have_two_addresses() -> None:
    assert survey("A").slug != survey("B").slug
