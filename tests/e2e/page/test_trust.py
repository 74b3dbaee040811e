"""The first page explains the disguise, and promises nothing that its own figures contradict.

An employee asks: Can my boss find out? What if I say yes? Why are the totals right? Can I trust the
page? How good are guesses? The first page answers in about a hundred words, whatever the design.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from playwright.sync_api import Page

from tacit import Group
from tacit.collect.page import content
from tacit.survey import Published
from tests.house.test_promises import PROMISE
from tests.support.browser import Served, serving
from tests.support.conditional_surveys import DISGUISED as CONDITIONAL
from tests.support.page_surveys import DEVICES, every_kind, own_device, published
from tests.support.tables import brute_force, cells_of
from tests.support.ten_questions import ten_questions

pytestmark = pytest.mark.slow

LANGUAGES = ("en", "de", "fr", "es")
WORDS = {name: json.loads(content(f"words/{name}.json")) for name in LANGUAGES}
#: Words of an explanation, picture and headings included, in any language.
MOST_WORDS = 120


def _text(text: str) -> dict[str, str]:
    return dict.fromkeys(LANGUAGES, text)


def _yes_no(name: str) -> dict[str, Any]:
    return {"name": name, "kind": "yes_no", "text": _text(f"Question {name}?")}


def _choice(name: str) -> dict[str, Any]:
    labels = {category: _text(category) for category in "xyz"}
    return _yes_no(name) | {"kind": "choice", "categories": [*labels], "labels": labels}


def _survey(device: str, *groups: dict[str, Any], choice: bool = False, n: int = 1) -> Published:
    """A survey in all languages: `n` questions for each group, of three answers if `choice`."""
    ask = _choice if choice else _yes_no
    names = [[f"q{g}{i}" for i in range(n)] for g in range(len(groups))]
    return published(
        {
            "title": _text("Survey"),
            "device": device,
            "languages": list(LANGUAGES),
            "questions": [ask(name) for own in names for name in own],
            "groups": [
                {"questions": own, **group} for own, group in zip(names, groups, strict=True)
            ],
        }
    )


_PERSONAL = {"q00": {"text": _text("Born in May?"), "distribution": ["11/12", "1/12"]}}
_INNOCENT = _text("Were you born in May?")
RELATED = {"family": "related", "theta": "5/6"}
KUK = {"family": "kuk", "red_yes": "5/6", "red_no": "1/3", "cards": 2}
CROSSWISE = {"family": "crosswise", "p": "1/4", "innocent": _INNOCENT}
TRIANGULAR = {"family": "triangular", "p": "1/4", "innocent": _INNOCENT}
MATRIX = {"family": "matrix", "matrix": [["5/6", "1/3"], ["1/6", "2/3"]]}
DRAWS = "For sensitive questions, this device "
CHANCE = "For sensitive questions, chance decides what is sent. "
DIE = "You roll a die, and only you see it."
#: Surveys, and what the first page says that happens: who throws, and what the outcomes lead to.
CASES: dict[str, tuple[Published, str]] = {
    "a die": (
        _survey("browser", RELATED),
        f"{DRAWS}rolls a die in secret. 1–5 Your answer is sent. 6 The opposite is sent.",
    ),
    "a number": (
        _survey("browser", {"family": "related", "theta": "3/4"}),
        f"{DRAWS}draws a secret number from 1 to 4. 1–3 Your answer is sent. "
        "4 The opposite is sent.",
    ),
    "a theta that no device makes": (
        _survey("browser", {"family": "related", "theta": "0.7310585786"}),
        f"{DRAWS}draws a secret number. at most 74 of 100 Your answer is sent. "
        "at least 26 of 100 The opposite is sent.",
    ),
    "three answers": (
        _survey("browser", {"family": "related", "theta": "2/3"}, choice=True),
        f"{DRAWS}draws a secret number from 1 to 3. 1–2 Your answer is sent. "
        "3 Another answer is sent.",
    ),
    "one throw for three questions": (
        _survey("browser", {"family": "related", "theta": "3/4", "throw": "once"}, n=3),
        f"{DRAWS}draws a secret number from 1 to 4. 1–3 Your answer is sent. "
        "4 The opposite is sent.",
    ),
    "unrelated": (
        _survey("browser", {"family": "unrelated", "theta": "2/3", "personal": _PERSONAL}),
        f"{DRAWS}draws a secret number from 1 to 3. 1–2 You are asked the question. "
        "3 You are asked a harmless question instead.",
    ),
    "forced, any answer": (
        _survey("browser", {"family": "forced", "theta": "1/2", "forced": ["1/4", "3/4"]}),
        f"{DRAWS}tosses a coin in secret. Heads Your answer is sent. "
        "Tails An answer picked by chance is sent.",
    ),
    "forced, one answer": (
        _survey("browser", {"family": "forced", "theta": "1/2", "forced": [0, 1]}),
        f"{DRAWS}tosses a coin in secret. Heads Your answer is sent. Tails A fixed answer is sent.",
    ),
    "uniform perturbation": (
        _survey("browser", {"family": "uniform_perturbation", "q": "1/5"}, choice=True),
        f"{DRAWS}draws a secret number from 1 to 5. 1 Your answer is sent. "
        "2–5 An answer picked by chance is sent.",
    ),
    "frapp": (
        _survey("browser", {"family": "frapp", "lambda": 6}),
        f"{DRAWS}draws a secret number from 1 to 7. 1–5 Your answer is sent. "
        "6–7 An answer picked by chance is sent.",
    ),
    "mangat": (
        _survey("browser", {"family": "mangat", "p": "2/3"}),
        f"{DRAWS}draws a secret number from 1 to 3. 1–2 Your answer is sent. "
        "3 A fixed answer is sent.",
    ),
    "mangat and singh": (
        _survey("browser", {"family": "mangat_singh", "truth": "1/2", "p": "2/3"}),
        f"{DRAWS}rolls a die in secret. 1–5 Your answer is sent. 6 The opposite is sent.",
    ),
    "kuk": (
        _survey("browser", KUK),
        CHANCE + "Your answer changes only the odds.",
    ),
    "christofides": (
        _survey("browser", {"family": "christofides", "distribution": ["1/2", "1/3", "1/6"]}),
        CHANCE + "Your answer changes only the odds.",
    ),
    "matrix": (
        _survey("browser", MATRIX),
        CHANCE + "Your answer changes only the odds.",
    ),
    "crosswise": (
        _survey("browser", CROSSWISE),
        "You only say whether two of your answers are the same. One of them is to a harmless "
        "question, and neither is sent.",
    ),
    "triangular": (
        _survey("die", TRIANGULAR),
        "You only say whether at least one of two answers is Yes. One of them is to a harmless "
        "question, and neither is sent.",
    ),
    "several families": (
        _survey("browser", CROSSWISE, {"family": "related", "theta": "3/4"}, RELATED),
        f"{CHANCE[:-2]}, for example by a number: 1–5 Your answer is sent. 6 The opposite is sent.",
    ),
    "three questions": (
        _survey("browser", RELATED, RELATED, RELATED),
        f"{DRAWS}rolls a die in secret. 1–5 Your answer is sent. 6 The opposite is sent.",
    ),
    "an own die": (
        _survey("die", RELATED),
        f"{DIE} 1–5 Answer truthfully. 6 Give the opposite answer.",
    ),
    "an own die, three answers": (
        _survey("die", {"family": "related", "theta": "2/3"}, choice=True),
        f"{DIE} 1–4 Answer truthfully. 5–6 Give another answer, as the rules say.",
    ),
    "an own coin": (
        _survey("coin", {"family": "forced", "theta": "1/2", "forced": [0, 1]}),
        "You toss a coin, and only you see it. Heads Answer truthfully. "
        "Tails Give the answer that the rules name.",
    ),
    "a birth month": (
        _survey("birth_month", {"family": "related", "theta": "3/4"}),
        "You think of someone’s month of birth, and only you know whose. "
        "Jan–Sep Answer truthfully. Oct–Dec Give the opposite answer.",
    ),
    "an own die, another question": (
        _survey("die", {"family": "unrelated", "theta": "2/3", "personal": _PERSONAL}),
        f"{DIE} 1–4 Answer truthfully. 5–6 Answer a harmless question instead.",
    ),
    "an own die that is counted": (
        _survey("die", KUK),
        f"{DIE} It decides which answer you give. Each page shows its rules.",
    ),
    "an own die with a table": (
        _survey("die", MATRIX),
        f"{DIE} It decides which answer you give. Each page shows its rules.",
    ),
}
#: Surveys of one language with everything that a survey may have.
OTHERS = [every_kind(), CONDITIONAL, ten_questions("browser"), *map(own_device, DEVICES)]


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    surveys = [*(survey for survey, _ in CASES.values()), *OTHERS]
    with serving(surveys, tmp_path_factory.mktemp("explained")) as found:
        yield found


def _explanation(page: Page) -> str:
    """What is told before the numbers, in one line."""
    return " ".join(page.locator("ol.path").inner_text().split())


def _disguised(survey: Published) -> list[Group]:
    return [group for group in survey.design.groups if group.disguised]


def _columns(survey: Published, group: Group, position: int) -> list[list[Fraction]]:
    """P(reported | true) of one attribute of a group, by true answer; of all in a joint matrix."""
    attributes = survey.design.attributes_of(group)
    matrix = brute_force(group.coin, attributes)
    if group.coin.family in {"matrix", "kuk", "christofides"} or len(attributes) == 1:
        return [list(column) for column in matrix.T]
    cells = cells_of(attributes)
    size = attributes[position].size
    columns = []
    for truth in range(size):
        true = next(i for i, cell in enumerate(cells) if cell[position] == truth)
        column = [Fraction(0)] * size
        for reported, cell in enumerate(cells):
            column[cell[position]] += matrix[reported, true]
        columns.append(column)
    return columns


def _channels(survey: Published) -> list[list[list[Fraction]]]:
    return [
        _columns(survey, group, position)
        for group in _disguised(survey)
        for position in range(len(group.attributes))
    ]


def _is_proof(survey: Published) -> bool:
    """Whether some report has only one true answer that it can come from."""
    return any(
        sum(chance > 0 for chance in row) == 1
        for columns in _channels(survey)
        for row in zip(*columns, strict=True)
    )


def _best_guess(survey: Published) -> int:
    """Of 100 guesses from one report, all true answers equally common, how many are right."""
    accuracy = max(
        sum(max(row) for row in zip(*columns, strict=True)) / len(columns)
        for columns in _channels(survey)
    )
    return math.ceil(100 * accuracy)


def _together(survey: Published) -> int:
    bounds = survey.disclosure_bound["attributes"].values()
    guesses = [bound["disguised"]["guess"] for bound in bounds if bound["disguised"]]
    return math.ceil(100 * max(guesses) - 1e-9)


def _guess_key(survey: Published) -> str:
    together = _together(survey)
    return "guessAll" if together == 100 else "guessMost" if together >= 90 else "guessSome"


def _check(page: Page, survey: Published, language: str) -> None:
    """The promise, the bounds and the design agree."""
    words, told = WORDS[language], _explanation(page)
    numbers = " ".join(page.locator(".guess").inner_text().split())
    assert not PROMISE.search(page.locator("form").inner_text())
    paired = all(group.coin.family in {"crosswise", "triangular"} for group in _disguised(survey))
    promise = words["noProofPair" if paired else "noProof"]
    assert (promise in told) == (not _is_proof(survey)), "no proof, and none where there is some"
    assert (words["someProof"] in told) == _is_proof(survey)
    keys = [key for key in ("guessAll", "guessMost", "guessSome") if words[key] in told]
    assert keys == [_guess_key(survey)]
    assert words["guessOne"].format(n=_best_guess(survey)) in numbers
    together = _together(survey)
    if together < 100 and sum(len(group.attributes) for group in _disguised(survey)) > 1:
        assert words["guessTogether"].format(n=together) in numbers
    assert (words["boundNone"] in numbers) == (together == 100)
    assert words["totalsPair" if paired else "totals"] in told
    assert words["see"] in told


@pytest.mark.parametrize("name", CASES)
def test_no_promise_contradicts_the_bound_beside_it_in_any_language(
    page: Page, explained: Served, name: str
) -> None:
    survey, picture = CASES[name]
    page.goto(explained[survey])
    counts = set()
    for language in LANGUAGES:
        page.locator(f".languages button[lang={language}]").click()
        page.locator(".guess summary").click()
        _check(page, survey, language)
        told = " ".join(page.locator("ol.path > li").first.inner_text().split())
        if language == "en":
            assert re.sub(r"■+ ?", "", told) == picture
        assert len(re.findall(r"\w+", _explanation(page))) <= MOST_WORDS
        squares = tuple(page.locator(".squares span").all_inner_texts())
        numbers = re.findall(r"\d+", told + page.locator(".guess").inner_text())
        counts.add((squares, *numbers))
    assert len(counts) == 1, "the same picture and the same numbers in every language"


@pytest.mark.parametrize("survey", OTHERS, ids=lambda survey: survey.title)
def test_no_promise_contradicts_the_bound_where_a_survey_has_everything(
    page: Page, explained: Served, survey: Published
) -> None:
    page.goto(explained[survey])
    page.locator(".guess summary").click()
    _check(page, survey, "en")


def test_the_cases_have_every_family_and_every_promise() -> None:
    """Else the tests above could not fail."""
    surveys = [survey for survey, _ in CASES.values()]
    families = {group.coin.family for survey in surveys for group in _disguised(survey)}
    assert len(families) == 12
    assert {_is_proof(survey) for survey in surveys} == {True, False}
    assert {_guess_key(survey) for survey in surveys} == {"guessSome", "guessMost", "guessAll"}
