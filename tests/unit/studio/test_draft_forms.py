"""Forms that edit drafts: they change what was changed and keep the rest, comments included."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.studio.forms import kinds
from tacit.studio.page_templates import CHOICE_WORDS
from tacit.survey import survey_from_text
from tacit.survey.yaml_text import comments
from tests.support.drafts import TEXT, draft_in, form_of, stored
from tests.support.studio import Browser, Tried

pytestmark = pytest.mark.slow


EVERY_FORM = ("settings", *(f"questions/{n}" for n in range(1, 8)), "groups/1", "groups/2")


@pytest.mark.parametrize("place", EVERY_FORM)
def test_a_form_that_is_saved_unchanged_changes_nothing(
    studio: Tried, root: Browser, place: str
) -> None:
    own = draft_in(studio, root)
    sent = form_of(root.get(f"/drafts/{own}/{place}").text)
    assert len(sent) > 3
    assert root.post(f"/drafts/{own}/{place}", data=sent).status_code == 303
    assert stored(studio, own).text == TEXT


def test_every_kind_and_family_has_words() -> None:
    assert set(CHOICE_WORDS) == {*kinds("questions"), *kinds("groups")}


def test_a_form_changes_one_line_and_keeps_all_comments(studio: Tried, root: Browser) -> None:
    own = draft_in(studio, root)
    sent = form_of(root.get(f"/drafts/{own}/questions/1").text)
    sent["text/en"] = "Did you take painkillers: yes or no?"
    root.post(f"/drafts/{own}/questions/1", data=sent)
    text = stored(studio, own).text
    changed = set(text.splitlines()) - set(TEXT.splitlines())
    assert changed == {'      en: "Did you take painkillers: yes or no?"'}
    assert comments(text) == comments(TEXT)


def test_settings_are_added_and_taken_away(studio: Tried, root: Browser) -> None:
    own = draft_in(studio, root)
    sent = form_of(root.get(f"/drafts/{own}/settings").text)
    sent |= {"consent/en": "I agree.", "consent/de": "Ja.", "quota": "", "opens": "2027-03-01"}
    sent |= {"links/0/text/en": "Contact", "links/0/text/de": "Kontakt"}
    sent |= {"links/0/address": "mailto:a@example.org"}
    assert root.post(f"/drafts/{own}/settings", data=sent).status_code == 303
    survey = survey_from_text(stored(studio, own).text)
    assert dict(survey.consent) == {"en": "I agree.", "de": "Ja."}  # type: ignore[arg-type]
    assert survey.quota is None
    assert str(survey.opens) == "2027-03-01"
    assert survey.links is not None
    assert survey.links[0].address == "mailto:a@example.org"
    sent = form_of(root.get(f"/drafts/{own}/settings").text)
    sent |= dict.fromkeys([name for name in sent if name.startswith("links/0/")], "")
    root.post(f"/drafts/{own}/settings", data=sent)
    assert survey_from_text(stored(studio, own).text).links is None


def test_a_survey_is_made_with_forms_alone(studio: Tried, root: Browser) -> None:
    location = root.post("/drafts", data={"title": "Sleep"}).headers["location"]
    question = root.post(f"{location}/questions", data={"version": "1", "kind": "choice"})
    assert question.headers["location"] == f"{location}/questions/1"
    sent = form_of(root.get(f"{location}/questions/1").text)
    sent |= {"name": "naps", "text": "How often do you nap?", "categories": "never\r\noften"}
    assert root.post(f"{location}/questions/1", data=sent).status_code == 303
    sent = form_of(root.get(f"{location}/questions/1").text)
    sent |= {"labels/never": "Never", "labels/often": "Often"}
    root.post(f"{location}/questions/1", data=sent)
    root.post(f"{location}/groups", data={"version": "4", "kind": "related"})
    assert "is correct" in root.get(location).text
    sent = form_of(root.get(f"{location}/groups/1").text)
    assert sent["questions/naps"] == "on"
    sent["theta"] = "0.75"
    root.post(f"{location}/groups/1", data=sent)
    done = root.post(f"{location}/publish", data={"confirm": "yes"})
    assert done.status_code == 303
    made = studio.store.published()[-1]
    assert made.title == "Sleep"
    assert made.survey.label(made.survey.questions[0], "often", "en") == "Often"
    assert str(made.survey.groups[0].theta) == "3/4"


def test_questions_move_and_are_deleted(studio: Tried, root: Browser) -> None:
    text = TEXT.replace("  - name: harassed", "  # a note\n  - name: harassed")
    own = draft_in(studio, root, text)

    def names() -> list[str]:
        return [str(q["name"]) for q in stored(studio, own).document.items("questions")]

    before = names()
    root.post(f"/drafts/{own}/questions/2", data={"version": "2", "action": "up"})
    assert names() == [before[1], before[0], *before[2:]]
    root.post(f"/drafts/{own}/questions/1", data={"version": "3", "action": "down"})
    assert names() == before
    assert sorted(comments(stored(studio, own).text)) == sorted(comments(text))
    root.post(f"/drafts/{own}/questions/1", data={"version": "4", "action": "up"})
    assert names() == before
    root.post(f"/drafts/{own}/questions/2", data={"version": "5", "action": "delete"})
    assert names() == [before[0], *before[2:]]
    assert "harassed" in root.get(f"/drafts/{own}").text, "a group still has it"
    assert root.post(f"/drafts/{own}/questions/99", data={"version": "6"}).status_code == 404


def test_comments_of_a_part_that_is_deleted_are_not_lost_silently(
    studio: Tried, root: Browser
) -> None:
    text = TEXT.replace("  - name: harassed", "  # a <b>note</b>\n  - name: harassed")
    own = draft_in(studio, root, text)
    gone = root.post(f"/drafts/{own}/questions/2", data={"version": "2", "action": "delete"})
    page = root.get(gone.headers["location"]).text
    assert "comments were in a part that was replaced" in page
    assert "<li># a &lt;b&gt;note&lt;/b&gt;</li>" in page


def test_a_change_of_kind_leaves_out_what_only_the_old_kind_has(
    studio: Tried, root: Browser
) -> None:
    own = draft_in(studio, root)
    sent = form_of(root.get(f"/drafts/{own}/questions/4").text)
    assert sent["edges"] == "0, 7"
    root.post(f"/drafts/{own}/questions/4", data=sent | {"kind": "ordered"})
    question = stored(studio, own).document.items("questions")[3]
    assert question["kind"] == "ordered"
    assert "edges" not in question
    assert "categories" in question
    bad = root.post(f"/drafts/{own}/questions/4", data=sent | {"kind": "no such", "version": "3"})
    assert bad.status_code == 400


@pytest.mark.parametrize("part", ["questions", "groups"])
def test_a_part_that_is_no_list_is_not_replaced_by_a_new_item(
    studio: Tried, root: Browser, part: str
) -> None:
    own = draft_in(studio, root, f"title: X\n{part}: 5\n")
    answer = root.post(f"/drafts/{own}/{part}", data={"version": "2", "kind": "yes_no"})
    assert answer.status_code == 400
    assert "edit the text instead" in answer.text
    text = "title: X\nquestions: [1, {kind: yes_no}]\ngroups: [{questions: 3}]\n"
    odd = draft_in(studio, root, text)
    added = root.post(f"/drafts/{odd}/groups", data={"version": "2", "kind": "related"})
    assert added.status_code == 303
    assert len(stored(studio, odd).document.items("groups")) == 2
    assert root.get(f"/drafts/{odd}/questions/1").status_code == 400


def test_names_that_look_like_parts_of_the_form_are_not_mixed_up(
    studio: Tried, root: Browser
) -> None:
    text = """
title: {en: Work, de: Arbeit}
languages: [en, de]
questions:
  - name: a
    kind: choice
    sensitive: false
    text: {en: How?, de: Wie?}
    categories: [x, x/en, x/en/de]
"""
    own = draft_in(studio, root, text)
    sent = form_of(root.get(f"/drafts/{own}/questions/1").text)
    for category in ("x", "x/en", "x/en/de"):
        for language in ("en", "de"):
            own_name = category.replace("/", "%2F")
            sent[f"labels/{own_name}/{language}"] = f"{category} in {language}"
    root.post(f"/drafts/{own}/questions/1", data=sent)
    assert stored(studio, own).document.problems == []
    assert stored(studio, own).document.items("questions")[0]["labels"] == {
        category: {one: f"{category} in {one}" for one in ("en", "de")}
        for category in ("x", "x/en", "x/en/de")
    }


def test_a_conditional_and_optional_question_is_made_with_the_form(
    studio: Tried, root: Browser
) -> None:
    text = """
title: Work
questions:
  - {name: drinks, kind: choice, text: How often?, categories: [none, some, many]}
  - {name: alone, kind: yes_no, text: Alone?}
  - {name: site, kind: yes_no, text: North?, sensitive: false}
groups:
  - {questions: [drinks, alone], family: related, theta: 5/6, throw: each}
"""
    own = draft_in(studio, root, text)
    sent = form_of(root.get(f"/drafts/{own}/questions/2").text)
    wrong = root.post(f"/drafts/{own}/questions/2", data=sent | {"asked_if": "drinks"})
    assert wrong.status_code == 400
    assert "a colon and its answers" in wrong.text
    root.post(f"/drafts/{own}/questions/2", data=sent | {"asked_if": "drinks: some, many"})
    sent = form_of(root.get(f"/drafts/{own}/questions/3").text)
    root.post(f"/drafts/{own}/questions/3", data=sent | {"optional": "on"})
    questions = stored(studio, own).document.items("questions")
    assert questions[1]["asked_if"] == {"drinks": ["some", "many"]}
    assert questions[2]["optional"] is True
    assert stored(studio, own).document.problems == []
    shown = form_of(root.get(f"/drafts/{own}/questions/2").text)
    assert shown["asked_if"] == "drinks: some, many"
    root.post(f"/drafts/{own}/questions/2", data=shown | {"asked_if": ""})
    assert "asked_if" not in stored(studio, own).document.items("questions")[1]


def test_keys_that_the_form_does_not_know_stay(studio: Tried, root: Browser) -> None:
    text = TEXT.replace("quota: 5000", "quota: 5000\ncolour: red # a wish")
    text = text.replace("  - name: harassed", "  - shape: round\n    name: harassed")
    own = draft_in(studio, root, text)
    assert "unknown key" in root.get(f"/drafts/{own}").text
    assert "shape" in root.get(f"/drafts/{own}/questions/2").text
    for place, key, value in (
        ("settings", "quota", "7"),
        ("questions/2", "text/en", "Another text"),
    ):
        sent = form_of(root.get(f"/drafts/{own}/{place}").text)
        root.post(f"/drafts/{own}/{place}", data=sent | {key: value})
    saved = stored(studio, own).text
    assert "colour: red # a wish" in saved
    assert "shape: round" in saved
    assert "quota: 7" in saved


def test_a_box_with_yaml_is_read_or_refused_with_what_was_typed(
    studio: Tried, root: Browser
) -> None:
    own = draft_in(studio, root)
    sent = form_of(root.get(f"/drafts/{own}/groups/2").text)
    assert "distribution: [3/4, 1/4]" in sent["personal"]
    wrong = root.post(f"/drafts/{own}/groups/2", data=sent | {"personal": "harassed: ["})
    assert wrong.status_code == 400
    assert "not YAML" in wrong.text
    assert "harassed: [" in wrong.text
    right = sent | {"personal": sent["personal"].replace("3/4, 1/4", "2/3, 1/3")}
    assert root.post(f"/drafts/{own}/groups/2", data=right).status_code == 303
    assert survey_from_text(stored(studio, own).text).groups[1].personal["harassed"] is not None
    assert "[2/3, 1/3]" in stored(studio, own).text


def test_the_second_author_of_a_form_is_told_and_keeps_the_input(studio: Tried) -> None:
    one = studio.client(studio.account("Ada", administrator=True))
    two = studio.client(studio.account("Bo", administrator=True))
    own = draft_in(studio, one)
    mine, other = (form_of(b.get(f"/drafts/{own}/questions/1").text) for b in (one, two))
    one.post(f"/drafts/{own}/questions/1", data=mine | {"text/en": "Text of Ada"})
    answer = two.post(f"/drafts/{own}/questions/1", data=other | {"text/de": "Text von Bo"})
    assert answer.status_code == 409
    assert "Ada saved this draft" in answer.text
    kept = form_of(answer.text)
    assert kept["text/de"] == "Text von Bo"
    assert stored(studio, own).text.count("Text of Ada") == 1
    assert two.post(f"/drafts/{own}/questions/1", data=kept).status_code == 303
    added = two.post(f"/drafts/{own}/questions", data={"version": "2", "kind": "yes_no"})
    assert added.status_code == 409


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) + b"\r\n--x--\r\n\x00"


def test_a_logo_is_embedded_and_removed(studio: Tried, root: Browser) -> None:
    own = draft_in(studio, root)
    path = f"/drafts/{own}/logo"
    form = {"version": "2", "alt/en": "Our <b>sign</b>", "alt/de": "Zeichen"}
    made = root.post(path, data=form, files={"file": ("logo.png", PICTURE, "image/png")})
    assert made.status_code == 303
    survey = survey_from_text(stored(studio, own).text)
    assert survey.logo is not None
    assert survey.logo.data == "data:image/png;base64," + base64.b64encode(PICTURE).decode()
    assert dict(survey.logo.alt) == {"en": "Our <b>sign</b>", "de": "Zeichen"}  # type: ignore[arg-type]
    assert comments(stored(studio, own).text) == comments(TEXT)
    assert "Replace the logo" in root.get(f"/drafts/{own}").text
    late = root.post(path, data=form, files={"file": ("logo.png", PICTURE, "image/png")})
    assert late.status_code == 409
    gone = root.post(path, data=form | {"version": "3"}, files={"other": (None, "x")})
    assert gone.status_code == 303
    assert stored(studio, own).text == TEXT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<svg onload=alert(1)>", "must be a PNG"),
        (PICTURE + bytes(100_000), "must be a PNG"),
        (b"", "Choose a picture"),
    ],
)
def test_other_files_are_no_logo(studio: Tried, root: Browser, content: bytes, said: str) -> None:
    own = draft_in(studio, root)
    files = {"file": ("logo.png", content, "image/png")}
    answer = root.post(f"/drafts/{own}/logo", data={"version": "2"}, files=files)
    assert answer.status_code == 400
    assert said in answer.text
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x", "text/plain"):
        sent = root.post(
            f"/drafts/{own}/logo", content=b"--x\r\nodd", headers={"content-type": kind}
        )
        assert sent.status_code == 400
    assert stored(studio, own).text == TEXT


def test_of_many_saves_at_once_one_wins(studio: Tried, root: Browser) -> None:
    own = draft_in(studio, root)
    with ThreadPoolExecutor(8) as pool:
        saves = [
            pool.submit(studio.studio.drafts.save, own, 2, f"title: {n}", "R") for n in range(8)
        ]
        found = [one.result() for one in saves]
    assert sum(saved for _, saved in found) == 1
    assert stored(studio, own).version == 3
    ((winner, _),) = [one for one in found if one[1]]
    assert stored(studio, own).text == winner.text
