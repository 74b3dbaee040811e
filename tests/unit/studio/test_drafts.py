"""Drafts: the text, the forms, two authors, previews, publishing, copies, deleting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.studio import drafts as drafts_module
from tacit.studio.accounts import Role
from tacit.studio.drafts import Draft
from tacit.survey import Published, survey_from_text
from tests.support.asking import submission
from tests.support.drafts import TEXT, draft_in, stored
from tests.support.studio import MARKUP, Browser, Tried, tried

pytestmark = pytest.mark.slow


#: A form whose box is ticked.
CONFIRMED = {"confirm": "yes"}

# The text ----------------------------------------------------------------------------------------


def test_a_draft_is_written_checked_saved_and_published(studio: Tried, root: Browser) -> None:
    made = root.post("/drafts", data={"title": "Sleep", "from": "empty"})
    own = made.headers["location"].rpartition("/")[2]
    page = root.get(f"/drafts/{own}").text
    assert "It needs a question." in page
    assert root.post(f"/drafts/{own}/publish", data=CONFIRMED).status_code == 400
    wrong = root.post(
        f"/drafts/{own}/text", data={"version": "1", "text": "title: X\n", "action": "check"}
    )
    assert wrong.status_code == 400
    assert "Line 1: the key &#39;questions&#39; is missing" in wrong.text
    assert stored(studio, own).version == 1, "a check saves nothing"
    form = {"version": "1", "text": TEXT.replace("\n", "\r\n"), "action": "save"}
    assert root.post(f"/drafts/{own}/text", data=form).status_code == 303
    assert stored(studio, own).text == TEXT
    assert "The survey is correct" in root.get(f"/drafts/{own}").text
    assert root.post(f"/drafts/{own}/publish").status_code == 400, "the box is not ticked"
    done = root.post(f"/drafts/{own}/publish", data=CONFIRMED)
    assert done.status_code == 303
    slug = done.headers["location"].rpartition("/")[2]
    survey = Published(survey_from_text(TEXT))
    assert slug == survey.slug
    assert survey in studio.store.published()
    assert stored(studio, own).published == slug
    again = root.post(f"/drafts/{own}/publish", data=CONFIRMED)
    assert again.status_code == 400
    assert "published already" in again.text


def test_the_second_of_two_authors_is_told_and_keeps_the_text(studio: Tried) -> None:
    one = studio.client(studio.account("Ada", administrator=True))
    two = studio.client(studio.account("Bo", administrator=True))
    own = draft_in(studio, one)
    first = {"version": "2", "text": TEXT.replace("quota: 5000", "quota: 1")}
    assert one.post(f"/drafts/{own}/text", data=first).status_code == 303
    second = {"version": "2", "text": "title: mine # of Bo\n"}
    answer = two.post(f"/drafts/{own}/text", data=second)
    assert answer.status_code == 409
    assert "Ada saved this draft" in answer.text
    assert "title: mine # of Bo" in answer.text, "the own text is still there"
    assert "quota: 1" in answer.text, "and the saved one, to compare"
    assert stored(studio, own).text == first["text"]
    assert two.post(f"/drafts/{own}/text", data=second | {"version": "3"}).status_code == 303
    assert stored(studio, own).text == second["text"]


def test_a_draft_of_others_does_not_exist(studio: Tried) -> None:
    one = studio.client(studio.account("Ada", Role.OWNER))
    two = studio.client(studio.account("Bo", Role.OWNER))
    own = draft_in(studio, one)
    assert two.get(f"/drafts/{own}").status_code == 404
    assert own not in two.get("/").text
    assert own in one.get("/").text
    page = one.get(f"/drafts/{own}/publish").text
    assert "An administrator can publish it" in page
    assert one.post(f"/drafts/{own}/publish").status_code == 403


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: [", "not YAML"),
        ("- a list", "must have keys"),
        ("", "must have keys"),
        ("a: &x 1\nb: *x\n", "not allowed"),
        ("title: \x07", "not allowed"),
    ],
)
def test_a_text_that_cannot_be_parsed_can_be_saved_and_repaired(
    studio: Tried, root: Browser, text: str, said: str
) -> None:
    own = draft_in(studio, root, text)
    page = root.get(f"/drafts/{own}")
    assert page.status_code == 200
    assert said in page.text
    assert "Survey file" in page.text
    assert root.get(f"/drafts/{own}/settings").status_code == 400
    assert root.get(f"/drafts/{own}/text").status_code == 200
    assert root.post(f"/drafts/{own}/preview").status_code == 400


def test_markup_in_a_draft_appears_as_text(studio: Tried, root: Browser) -> None:
    text = TEXT.replace("Health at work", f'"{MARKUP}"').replace("painkillers", f'"{MARKUP}"')
    own = draft_in(studio, root, text)
    for path in ("", "/text", "/settings", "/questions/1", "/groups/1"):
        page = root.get(f"/drafts/{own}{path}")
        assert page.status_code == 200, path
        assert MARKUP not in page.text
        assert "&lt;script&gt;" in page.text
    assert MARKUP not in root.get("/").text


def test_a_text_that_is_too_long_is_refused(
    studio: Tried, root: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = draft_in(studio, root)
    monkeypatch.setattr(drafts_module, "MOST_TEXT", 100)
    answer = root.post(f"/drafts/{own}/text", data={"version": "2", "text": "x" * 101})
    assert answer.status_code == 400
    assert "at most 100 characters" in answer.text
    huge = root.post(f"/drafts/{own}/text", data={"version": "2", "text": "x" * (5 << 20)})
    assert huge.status_code == 413


# Preview -----------------------------------------------------------------------------------------


def test_a_preview_needs_no_account_only_its_secret_and_stores_nothing(
    studio: Tried, root: Browser
) -> None:
    text = TEXT.replace("# opens: 2027-03-01", "opens: 2999-03-01")
    own = draft_in(studio, root, text)
    path = root.post(f"/drafts/{own}/preview").headers["location"]
    other = studio.client()
    page = other.get(path)
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert 'role="note"' in page.text
    survey = Published.from_json(other.get(f"{path}survey.json").text)
    assert survey.survey.opens is None
    sent = other.post(f"{path}responses", json=submission(survey))
    assert (sent.status_code, sent.json()) == (201, {"stored": True})
    assert other.post(f"{path}responses", json={"record": {}}).status_code == 400
    assert survey.survey.fingerprint not in {
        one.survey.fingerprint for one in studio.store.published()
    }
    for name in ("page.js", "style.css", "words/en.json"):
        assert other.get(f"/page/{name}").status_code == 200
    for name in ("index.html", "../site.py", "words/", "nothing.js"):
        assert other.get(f"/page/{name}").status_code == 404
    studio.studio.previews.now = lambda: 1e12
    assert other.get(path).status_code == 404


def test_only_the_newest_previews_are_kept(studio: Tried, root: Browser) -> None:
    survey = Published(survey_from_text(TEXT))
    made = [studio.studio.previews.add(survey) for _ in range(60)]
    assert [studio.studio.previews.get(one) is not None for one in made] == [False] * 10 + [
        True
    ] * 50


# Copies and the end ------------------------------------------------------------------------------


def test_an_author_of_a_second_wave_is_not_left_to_forget_the_first(studio: Tried) -> None:
    """The copy asks whether people answer again; once that is said, all waves are counted."""
    owner = studio.client(studio.account("Ada", administrator=True))
    own = draft_in(studio, owner)
    review = f"/drafts/{own}/publish"
    assert "Will the same people answer more than once?" in owner.get(review).text
    form = {"version": "2", "text": f"{TEXT}waves: 2\n"}
    assert owner.post(f"/drafts/{own}/text", data=form).status_code == 303
    page = owner.get(review).text
    assert "The same people answer 2 times, and chance decides anew each time." in page
    assert "more than once?" not in page
    assert 'name="waves"' in owner.get(f"/drafts/{own}/settings").text


def test_a_published_survey_and_a_draft_are_duplicated(studio: Tried) -> None:
    owner = studio.client(studio.account("Ada", Role.OWNER))
    copy = owner.post(f"/surveys/{studio.mine.slug}/duplicate").headers["location"]
    own = copy.rpartition("/")[2]
    assert survey_from_text(stored(studio, own).text) == studio.mine.survey
    second = owner.post(f"{copy}/duplicate").headers["location"]
    assert second != copy
    assert stored(studio, second.rpartition("/")[2]).text == stored(studio, own).text


def test_a_draft_is_deleted_only_if_that_is_confirmed(studio: Tried, root: Browser) -> None:
    own = draft_in(studio, root)
    assert root.post(f"/drafts/{own}/delete").status_code == 400
    assert root.post(f"/drafts/{own}/delete", data={"confirm": "yes"}).status_code == 303
    assert root.get(f"/drafts/{own}").status_code == 404
    late = root.post(f"/drafts/{own}/text", data={"version": "2", "text": "x"})
    assert late.status_code == 404
    actions = [row.action for row in studio.studio.accounts.history()]
    assert actions[:3] == ["draft deleted", "draft saved", "draft made"]


def test_a_survey_is_deleted_only_when_closed_and_if_its_title_is_typed(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=150)
    owner = studio.client(studio.account("Ada", Role.OWNER))
    base = f"/surveys/{studio.mine.slug}"
    assert owner.get(base).status_code == 200
    counts = list((tmp_path / "studio").glob("*.counts"))
    assert len(counts) == 1  # those that are shown
    assert owner.post(f"{base}/delete", data={"confirm": "Work"}).status_code == 400
    owner.post(f"{base}/close", data={"confirm": "Work"})
    assert "Delete the survey and its records" in owner.get(f"{base}/settings").text
    assert owner.post(f"{base}/delete", data={"confirm": "Wrong"}).status_code == 400
    assert studio.store.state(studio.mine.survey.fingerprint).records == 150
    assert owner.post(f"{base}/delete", data={"confirm": "Work"}).status_code == 303
    assert owner.get(base).status_code == 404
    assert not any(one.exists() for one in counts)
    assert studio.store.published() == (studio.other,)
    assert studio.studio.accounts.members(studio.mine.survey.fingerprint) == []
    studio.store.close()


def test_a_save_that_fails_in_the_middle_leaves_the_old_text(
    studio: Tried, root: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = draft_in(studio, root)

    def fail(row: Any) -> Draft:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(drafts_module.sa, "select", fail)  # within the transaction, after the update
        with pytest.raises(KeyboardInterrupt):
            studio.studio.drafts.save(own, 2, "title: half", "Root")
    assert stored(studio, own).text == TEXT
