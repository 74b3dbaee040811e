"""Two people on one device: nobody sees, sends or replaces what somebody else answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route

from tacit.survey import Published
from tests.support.browser import Served, device, watched
from tests.support.page_surveys import TEAM, TEAM_OPEN, TEAM_OPEN_WAVE, TEAM_WAVE, THROWN
from tests.support.respondent import Respondent

DONE, REVIEW = "Stored. Thank you!", "This will be sent"
USED = "This device has been used to answer this survey"
SAME = "Are you still the same person?"
NO_LINK, BAD_LINK = "You need your personal link", "This link cannot be used"
NOT_YET, MINE = "I have not answered yet", "I am the one who answered"
#: What Ann answers; nobody else answers so.
SECRET = "south"


def begins(page: Page, address: str, team: str) -> Respondent:
    """Opens a survey that starts at once, and gives the first two answers."""
    person = Respondent(page)
    person.opens(address)
    return goes_through(person, team)


def comes_to(person: Respondent, address: str, heading: str) -> None:
    """Opens a survey; in a tab that shows it already, another link loads the page again."""
    person.page.goto(address)
    person.reaches(heading)


def goes_through(person: Respondent, team: str) -> Respondent:
    """From the introduction to the third question."""
    assert person.goes_on() == "Which team?"
    person.chooses(team)
    assert person.goes_on() == "Question a?"
    person.chooses("Yes")
    assert person.goes_on() == "Question b?"
    return person


def reviews(person: Respondent) -> str | None:
    """The last answer; the very bytes that the page says it will send."""
    person.chooses("No")
    assert person.goes_on() == REVIEW
    return person.page.locator("pre").text_content()


def sends(person: Respondent) -> None:
    reviews(person)
    person.presses("Send")
    person.reaches(DONE)


def shows_nothing_of_ann(page: Page) -> None:
    """Neither on the page, folded or not, nor filled in."""
    assert SECRET not in (page.locator("main").text_content() or "")
    assert page.locator("pre, dl.sent, input:checked").count() == 0


def buttons(page: Page) -> list[tuple[str, str]]:
    """The buttons of a step, in their order, and whether they are primary."""
    return [
        (each.inner_text(), each.get_attribute("class") or "")
        for each in page.locator("form button").all()
    ]


@pytest.mark.parametrize("same_tab", [True, False])
def test_another_personal_link_shows_nothing_and_stores_its_own_answers(
    context: BrowserContext, served: Served, same_tab: bool
) -> None:
    before = served.stored(TEAM)
    tab = context.new_page()
    sends(begins(tab, served.link(TEAM), SECRET))
    other = tab if same_tab else context.new_page()
    seen = watched(other)
    bens_link = served.link(TEAM)
    ben = Respondent(other)
    comes_to(ben, bens_link, "Team")
    shows_nothing_of_ann(other)
    sends(goes_through(ben, "north"))
    assert served.stored(TEAM) == before + 2
    (body,) = map(json.loads, seen.bodies)
    assert body["token"] == bens_link.partition("#")[2]
    assert body["record"]["team"] == "north"


def test_an_unfinished_link_in_the_same_tab_is_not_taken_over(page: Page, served: Served) -> None:
    """Ann stops in the middle; Ben opens his link in her tab; then Ann comes back with hers."""
    anns_link, bens_link = served.link(TEAM), served.link(TEAM)
    begins(page, anns_link, SECRET)
    ben = Respondent(page)
    comes_to(ben, bens_link, "Team")
    shows_nothing_of_ann(page)
    seen = watched(page)
    sends(goes_through(ben, "north"))
    assert json.loads(seen.bodies[0])["token"] == bens_link.partition("#")[2]
    ann = Respondent(page)
    comes_to(ann, anns_link, SAME)
    ann.presses("Yes, go on")
    ann.reaches("Question b?")
    ann.chooses("No")
    assert ann.goes_on() == "Which team?", "what is sent as it is is asked again"
    ann.chooses(SECRET)
    assert ann.goes_on() == REVIEW
    ann.presses("Send")
    ann.reaches(DONE)
    assert json.loads(seen.bodies[1])["token"] == anns_link.partition("#")[2]


def test_without_links_nobody_is_shown_answers_before_she_says_they_are_hers(
    context: BrowserContext, served: Served
) -> None:
    before = served.stored(TEAM_OPEN)
    first = context.new_page()
    seen = watched(first)
    sends(begins(first, served[TEAM_OPEN], SECRET))
    tab = context.new_page()
    second = watched(tab)
    ben = Respondent(tab)
    comes_to(ben, served[TEAM_OPEN], USED)
    shows_nothing_of_ann(tab)
    assert buttons(tab) == [(NOT_YET, "primary"), (MINE, "secondary")]
    ben.presses(NOT_YET)
    ben.reaches("Team, open")
    sends(goes_through(ben, "north"))
    assert served.stored(TEAM_OPEN) == before + 2
    assert json.loads(seen.bodies[0])["key"] != json.loads(second.bodies[0])["key"]


def test_a_device_keeps_nothing_of_answers_that_are_stored(page: Page, served: Served) -> None:
    """Neither the record nor its key, by which a database could be searched, nor the link."""
    link = served.link(TEAM)
    for address in (served[TEAM_OPEN], link):
        sends(begins(page, address, SECRET))
    kept = page.evaluate("() => [{...localStorage}, {...sessionStorage}]")
    assert kept[1] == {}
    assert [json.loads(memo) for memo in kept[0].values()] == [
        {"answered": True, "waiting": []}
    ] * 2
    assert link.partition("#")[2] not in json.dumps(kept)


def test_whoever_answered_cannot_answer_twice_by_mistake(page: Page, served: Served) -> None:
    before = served.stored(TEAM_OPEN)
    link = served.link(TEAM)
    ann = begins(page, link, SECRET)
    sends(ann)
    comes_to(ann, link, "Your answers are stored")
    sends(begins(page, served[TEAM_OPEN], SECRET))
    comes_to(ann, served[TEAM_OPEN], USED)
    ann.presses(MINE)
    ann.reaches("Your answers are stored")
    shows_nothing_of_ann(page)
    assert served.stored(TEAM_OPEN) == before + 1
    ann.presses(NOT_YET)  # it was somebody else after all
    ann.reaches("Team, open")


def test_answers_that_were_not_sent_are_neither_lost_nor_shown_to_others(
    context: BrowserContext, served: Served
) -> None:
    """Ann disguises and hesitates, Ben answers, Ann comes back: her bytes are the same."""
    tab = context.new_page()
    ann = begins(tab, served[TEAM_OPEN], SECRET)
    bytes_shown = reviews(ann)
    ann.presses("Do not send")
    ann.reaches("Nothing was sent")
    tab.close()
    tab = context.new_page()
    ben = Respondent(tab)
    comes_to(ben, served[TEAM_OPEN], USED)
    shows_nothing_of_ann(tab)
    ben.presses(NOT_YET)
    ben.reaches("Team, open")
    sends(goes_through(ben, "north"))
    seen = watched(tab)
    ann = Respondent(tab)
    comes_to(ann, served[TEAM_OPEN], USED)
    ann.presses(MINE)
    ann.reaches("Which answers are yours?")
    shows_nothing_of_ann(tab)
    assert buttons(tab) == [("Mine are stored", "primary"), ("Answers 1", "secondary")]
    ann.presses("Answers 1")
    ann.reaches(REVIEW)
    assert tab.locator("pre").text_content() == bytes_shown
    ann.presses("Send")
    ann.reaches(DONE)
    assert seen.bodies == [bytes_shown]


def test_answers_that_somebody_does_not_want_to_send_can_be_deleted(
    page: Page, served: Served
) -> None:
    ann = begins(page, served[TEAM_OPEN], SECRET)
    reviews(ann)
    ann.presses("Do not send")
    ann.reaches("Nothing was sent")
    ann.presses("Delete them from this device")
    page.get_by_text("Your answers were discarded.").wait_for()
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_a_second_tab_does_not_show_the_record_of_the_first(
    context: BrowserContext, served: Served
) -> None:
    """Both were open before either had answered."""
    before = served.stored(TEAM_OPEN)
    ann = begins(context.new_page(), served[TEAM_OPEN], SECRET)
    ben = begins(context.new_page(), served[TEAM_OPEN], "north")
    reviews(ann)
    ben.chooses("No")
    assert ben.goes_on() == USED
    shows_nothing_of_ann(ben.page)
    ben.presses(NOT_YET)
    ben.reaches(REVIEW)
    assert json.loads(ben.page.locator("pre").text_content() or "")["record"]["team"] == "north"
    for person in (ann, ben):
        person.presses("Send")
        person.reaches(DONE)
    assert served.stored(TEAM_OPEN) == before + 2


def test_a_second_tab_with_the_same_link_does_not_draw_again(
    context: BrowserContext, served: Served
) -> None:
    link = served.link(TEAM)
    first, second = (begins(context.new_page(), link, SECRET) for _ in range(2))
    sends(first)
    second.chooses("No")
    assert second.goes_on() == "Your answers are stored"
    second.page.goto(f"{served.origin}/health/live")
    kept = second.page.evaluate("Object.keys(sessionStorage)")
    assert not [name for name in kept if "place" in name]


def test_a_second_tab_with_an_own_device_does_not_show_the_record_of_the_first(
    context: BrowserContext, served: Served
) -> None:
    before = served.stored(THROWN)
    people = []
    for _ in range(2):
        person = Respondent(context.new_page())
        person.opens(served[THROWN])
        person.goes_on()
        person.chooses("Yes")
        assert person.goes_on() == REVIEW
        people.append(person)
    ann, ben = people
    ann.presses("Send")
    ann.reaches(DONE)
    ben.presses("Send")
    ben.reaches(USED)
    shows_nothing_of_ann(ben.page)
    ben.presses(NOT_YET)
    ben.reaches(DONE)
    assert served.stored(THROWN) == before + 2


@pytest.mark.parametrize("survey", [TEAM, TEAM_OPEN])
def test_the_back_button_does_not_put_somebody_in_anothers_place(
    page: Page, served: Served, survey: Published
) -> None:
    """Ann leaves in the middle; Ben presses Back."""
    invited = survey is TEAM
    begins(page, served.link(survey) if invited else served[survey], SECRET)
    page.goto(f"{served.origin}/openapi.json")
    page.go_back()
    ben = Respondent(page)
    ben.reaches(SAME)
    shows_nothing_of_ann(page)
    ben.presses("Someone else is answering")
    ben.reaches(NO_LINK if invited else "Team, open")
    shows_nothing_of_ann(page)
    assert page.evaluate("sessionStorage.length") == 0
    if not invited:
        seen = watched(page)
        sends(goes_through(ben, "north"))
        assert json.loads(seen.bodies[0])["record"]["team"] == "north"


@pytest.mark.parametrize("survey", [TEAM, TEAM_OPEN])
def test_the_back_button_after_sending_shows_nothing(
    page: Page, served: Served, survey: Published
) -> None:
    invited = survey is TEAM
    sends(begins(page, served.link(survey) if invited else served[survey], SECRET))
    page.goto(f"{served.origin}/openapi.json")
    page.go_back()
    Respondent(page).reaches(NO_LINK if invited else USED)
    shows_nothing_of_ann(page)


def test_a_link_that_was_only_opened_is_not_used_by_whoever_comes_next(
    page: Page, served: Served
) -> None:
    """Nothing was answered yet, but the tab still holds the link."""
    person = Respondent(page)
    comes_to(person, served.link(TEAM), "Team")
    page.goto(f"{served.origin}/openapi.json")
    page.go_back()
    person.reaches(SAME)
    person.presses("Someone else is answering")
    person.reaches(NO_LINK)
    assert page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("at", ["question", "review"])
@pytest.mark.parametrize("survey", [TEAM, TEAM_OPEN])
def test_a_killed_tab_shows_nothing_when_it_is_opened_again(
    context: BrowserContext, served: Served, survey: Published, at: str
) -> None:
    """The process ends without notice; Ben opens the tab again, and then Ann does."""
    invited = survey is TEAM
    tab = context.new_page()
    link = served.link(survey) if invited else served[survey]
    ann = begins(tab, link, SECRET)
    bytes_shown = reviews(ann) if at == "review" else None
    tab = opened_again(context, killed(tab))
    ben = Respondent(tab)
    begun = USED if at == "review" else "Team, open"
    comes_to(ben, served[survey], (SAME if invited else begun))
    shows_nothing_of_ann(tab)
    if invited:
        ben.presses("Someone else is answering")
        ben.reaches(NO_LINK)
        comes_to(ben, served.link(survey), "Team")
        shows_nothing_of_ann(tab)
    if at == "review":
        assert ann_returns(context, link, SAME if invited else USED) == bytes_shown


def killed(tab: Page) -> dict[str, str]:
    """End the process of a tab; what a browser keeps of it on disk."""
    kept: dict[str, str] = tab.evaluate("() => ({...sessionStorage})")
    with tab.expect_event("crash"), pytest.raises(Error):
        tab.goto("chrome://crash")
    tab.close()
    return kept


def opened_again(context: BrowserContext, kept: dict[str, str]) -> Page:
    """A tab with the storage of one that was killed, as browsers restore it."""
    tab = context.new_page()
    restore = f"if (!window.name) {{ Object.assign(sessionStorage, {json.dumps(kept)}); "
    tab.add_init_script(restore + "window.name = 'restored'; }")
    return tab


def ann_returns(context: BrowserContext, link: str, asked: str) -> str | None:
    """What she is shown after she has said that it is hers."""
    tab = context.new_page()
    ann = Respondent(tab)
    comes_to(ann, link, asked)
    shows_nothing_of_ann(tab)
    ann.presses("Yes, go on" if asked == SAME else MINE)
    ann.reaches(REVIEW)
    return tab.locator("pre").text_content()


def test_private_windows_share_nothing(browser: Browser, served: Served) -> None:
    """Ann uses a private window; Ben the same device after her, in another one."""
    private = device(browser)
    sends(begins(private.new_page(), served[TEAM_OPEN], SECRET))
    unsent = begins(private.new_page(), served.link(TEAM), SECRET)
    reviews(unsent)
    private.close()
    other = device(browser)
    tab = other.new_page()
    ben = Respondent(tab)
    comes_to(ben, served[TEAM_OPEN], "Team, open")
    shows_nothing_of_ann(tab)
    comes_to(ben, served.link(TEAM), "Team")
    shows_nothing_of_ann(tab)
    assert tab.evaluate("localStorage.length") == 0
    other.close()


@pytest.mark.parametrize("waves", [(TEAM, TEAM_WAVE), (TEAM_OPEN, TEAM_OPEN_WAVE)])
def test_a_second_wave_asks_again_and_stores_the_changed_answer(
    page: Page, served: Served, waves: tuple[Published, Published]
) -> None:
    """Question a is sent as its opposite, always: what is stored says what was answered."""
    before = [served.stored(wave) for wave in waves]
    seen = watched(page)
    for wave, answer in zip(waves, ("Yes", "No"), strict=True):
        invited = wave.survey.access == "invited"
        ann = Respondent(page)
        comes_to(ann, served.link(wave) if invited else served[wave], wave.title)
        ann.goes_on()
        ann.chooses(SECRET)
        ann.goes_on()
        ann.chooses(answer)
        ann.goes_on()
        sends(ann)
    first, second = map(json.loads, seen.bodies)
    assert (first["record"]["a"], second["record"]["a"]) == ("no", "yes")
    assert first["key"] != second["key"]
    assert [served.stored(wave) for wave in waves] == [n + 1 for n in before]


def test_a_link_that_cannot_be_used_is_not_told_after_the_questions(
    page: Page, browser: Browser, served: Served
) -> None:
    """Used on another device, or never issued: told at once, and in the same words."""
    link = served.link(TEAM)
    elsewhere = device(browser)
    sends(begins(elsewhere.new_page(), link, SECRET))
    elsewhere.close()
    said = []
    for address in (link, f"{served[TEAM]}#0123456789abcdefghijkl"):
        seen = watched(page)
        page.goto("about:blank")
        comes_to(Respondent(page), address, BAD_LINK)
        said.append(page.locator("main").inner_text())
        assert not [url for url in seen.addresses if address.partition("#")[2] in url]
    assert said[0] == said[1]


def test_a_survey_that_takes_no_more_answers_is_not_told_after_the_questions(
    page: Page, served: Served
) -> None:
    """The page was loaded before, as by a cache; the check of the link knows better."""
    told = {"closed": "The survey is closed", "full": "The survey is complete"}
    for problem, heading in told.items():
        page.route("**/link", partial(answers_with, refused(403, problem)))
        page.goto("about:blank")
        comes_to(Respondent(page), served.link(TEAM), heading)
        page.unroute("**/link")


def test_a_link_that_cannot_be_checked_does_not_keep_anybody_out(
    page: Page, served: Served
) -> None:
    for answer in (refused(503, "unavailable"), refused(404, "not-found"), Route.abort):
        page.route("**/link", partial(answers_with, answer))
        comes_to(Respondent(page), served.link(TEAM), "Team")
        page.unroute("**/link")
    page.route("**/link", lambda route: route.fulfill(body="?"))
    sends(begins(page, served.link(TEAM), SECRET))


def answers_with(answer: Callable[[Route], None], route: Route) -> None:
    answer(route)


def refused(status: int, problem: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status, json={"type": problem})
