"""Families whose reports are numbers, or that ask about two answers at once, on the page.

That every (true, reported) pair is drawn as often as the channel says: test_coin.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tacit.survey.problems import OUTCOMES
from tests.e2e.page.test_answering import check_body, fits_the_screen
from tests.e2e.page.test_rules import channel_by, rule_lines, rules_of
from tests.support.browser import Served, device, serving, watched
from tests.support.page_surveys import OPEN, published, yes_no
from tests.support.respondent import Respondent
from tests.support.tables import brute_force

#: Parameters that each device can make.
MAKES: dict[str, list[dict[str, Any]]] = {
    "coin": [
        {"family": "mangat", "p": "1/2"},
        {"family": "kuk", "red_yes": "1/2", "red_no": 0, "cards": 3},
        {"family": "christofides", "distribution": ["1/2", "1/2", 0]},
    ],
    "die": [
        {"family": "mangat", "p": "2/3"},
        {"family": "mangat_singh", "truth": "1/2", "p": "2/3"},
        {"family": "kuk", "red_yes": "5/6", "red_no": "1/3", "cards": 2},
        {"family": "christofides", "distribution": ["1/2", "1/3", "1/6"]},
    ],
    "birth_month": [
        {"family": "mangat", "p": "3/4"},
        {"family": "mangat_singh", "truth": "1/3", "p": "7/8"},
        {"family": "kuk", "red_yes": "3/4", "red_no": "5/12", "cards": 1},
        {"family": "christofides", "distribution": ["1/2", "1/4", "1/4"]},
    ],
}


def survey_of(device: str, groups: list[dict[str, Any]]) -> Any:
    names = [f"q{i}" for i in range(len(groups))]
    return published(
        {
            "title": f"Named families by {device}",
            "device": device,
            "questions": [yes_no(name) for name in names],
            "groups": [{"questions": [n], **g} for n, g in zip(names, groups, strict=True)],
        }
    )


BY_DEVICE = {name: survey_of(name, groups) for name, groups in MAKES.items()}
INNOCENT = "Were you born in January, February or March?"
BY_PAGE = survey_of(
    "browser",
    [{"family": "triangular", "p": "1/4", "innocent": INNOCENT}, *MAKES["die"]],
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    surveys = [OPEN, BY_PAGE, *BY_DEVICE.values()]
    with serving(surveys, tmp_path_factory.mktemp("named")) as found:
        yield found


@pytest.fixture(scope="module")
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    context = device(browser)
    page = context.new_page()
    page.goto(served[OPEN])
    yield page
    context.close()


def counted(rules: list[dict[str, Any]], outcomes: int) -> Any:
    """matrix[reported, true] if each true answer's outcomes are counted over all throws."""
    columns = []
    for rule in rules:
        red, n = Fraction(len(rule["outcomes"]), outcomes), rule["times"]
        columns.append([comb(n, k) * red**k * (1 - red) ** (n - k) for k in range(n + 1)])
    return np.array(columns, dtype=object).T


@pytest.mark.parametrize("name", MAKES)
def test_the_rules_make_the_channel(reader: Page, name: str) -> None:
    design = BY_DEVICE[name].design
    for number, group in enumerate(design.groups):
        attributes = design.attributes_of(group)
        rules = rules_of(reader, design, number, name)
        exact = brute_force(group.coin, attributes)
        if group.coin.family == "kuk":
            assert (counted(rules, OUTCOMES[name]) == exact).all()
        else:
            assert (channel_by(rules, group.coin, attributes) == exact).all(), group


def test_other_decks_make_other_rules(reader: Page) -> None:
    """Negative control: the comparison of counts is exact."""
    kuk = BY_DEVICE["die"].design.groups[2]
    other = survey_of("die", [{"family": "kuk", "red_yes": "2/3", "red_no": "1/3", "cards": 2}])
    rules = rules_of(reader, other.design, 0, "die")
    attributes = other.design.attributes_of(other.design.groups[0])
    assert (counted(rules, 6) != brute_force(kuk.coin, attributes)).any()


def test_decks_that_a_device_cannot_make_are_refused(reader: Page) -> None:
    with pytest.raises(Exception, match="6 outcomes cannot make 5/12"):
        rules_of(reader, BY_DEVICE["birth_month"].design, 2, "die")


def test_the_page_tells_what_to_count_and_sends_the_number(page: Page, served: Served) -> None:
    survey = BY_DEVICE["die"]
    person = Respondent(page, fits_the_screen(page))
    seen = watched(page)
    person.opens(served[survey])
    assert person.goes_on() == "Question q0?"
    assert rule_lines(page) == ["1–4: Answer truthfully.", "5–6: Answer Yes."]
    person.chooses("Yes")
    assert person.goes_on() == "Question q1?"
    assert rule_lines(page) == ["1–5: Answer truthfully.", "6: Give the opposite answer."]
    person.chooses("No")
    assert person.goes_on() == "Question q2?"
    count = "count how often one of these comes up. Your answer is the number."
    assert "Do this 2 times, and count:" in page.locator(".panel").inner_text()
    assert rule_lines(page) == [
        f"1–2: If your true answer is No: {count}",
        f"1–5: If your true answer is Yes: {count}",
    ]
    assert page.locator("fieldset label").all_inner_texts() == ["0", "1", "2"]
    person.chooses("2")
    assert person.goes_on() == "Question q3?"
    assert page.locator("fieldset label").all_inner_texts() == ["1", "2", "3"]
    person.chooses("3")
    person.goes_on()
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record = check_body(seen.bodies[0], survey)
    assert record == {"q0": "yes", "q1": "no", "q2": "2", "q3": "3"}
    assert seen.complaints == []


@pytest.mark.parametrize(
    ("chosen", "sent"),
    [("Both answers are No", "no"), ("At least one answer is Yes: A, B or both", "yes")],
)
def test_triangular_asks_whether_any_answer_is_yes(
    page: Page, served: Served, chosen: str, sent: str
) -> None:
    person = Respondent(page, fits_the_screen(page))
    seen = watched(page)
    person.opens(served[BY_PAGE])
    assert person.goes_on() == "Is at least one of your two answers Yes?"
    told = page.locator("main").inner_text()
    assert INNOCENT in told
    assert "Question q0?" in told
    warnings = page.locator(".warning").all_inner_texts()
    assert warnings == ["Anyone who sees Both No knows that the true answer is No."]
    person.chooses(chosen)
    for number in range(1, 5):
        assert person.goes_on() == f"Question q{number}?"
        person.chooses("Yes")
    assert person.goes_on() == "This will be sent"
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record = check_body(seen.bodies[0], BY_PAGE)
    assert record["q0"] == sent
    assert record["q1"] == "yes", "a true yes is always sent as yes"
    assert seen.complaints == []
