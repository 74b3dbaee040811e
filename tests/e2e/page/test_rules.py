"""Own devices: the rules that the page tells make exactly the channel that Python reconstructs by.

The odds that respondents read are computed by the page, and never look safer than they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tacit import Design
from tacit.core.channel import Coin
from tacit.core.channel.strategies import Replace
from tacit.core.schema import Attribute
from tacit.survey.problems import OUTCOMES
from tests.support.browser import Served, device
from tests.support.families import MAKERS, Case, attributes_of, fits, random_coin
from tests.support.page_surveys import DEGREES, DEVICES, PAIR, every_kind, own_device
from tests.support.respondent import Respondent
from tests.support.tables import brute_force


@pytest.fixture(scope="module")
def page(browser: Browser, served: Served) -> Iterator[Page]:
    context = device(browser)
    page = context.new_page()
    page.goto(served[every_kind()])
    yield page
    context.close()


# Rules ------------------------------------------------------------------------------------------


def rules_of(page: Page, design: Design, number: int, name: str) -> list[dict[str, Any]]:
    """What the page tells a respondent to do, one rule an outcome."""
    found: list[dict[str, Any]] = page.evaluate(
        """async ({ design, number, name }) => {
          const { readDesign } = await import("/page/disguise.js");
          const { rulesOf } = await import("/page/device.js");
          return rulesOf(readDesign(design).groups[number], name);
        }""",
        {"design": json.loads(design.to_json()), "number": number, "name": name},
    )
    return found


def obeyed(rule: dict[str, Any], truth: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """The answer that an honest respondent gives."""
    match rule["kind"]:
        case "truth":
            return tuple(truth)
        case "shift":
            moved = zip(truth, rule["by"], sizes, strict=True)
            return tuple((code + by) % size for code, by, size in moved)
        case "say":
            return tuple(rule["codes"])
        case "table":
            return tuple(rule["codes"][int(np.ravel_multi_index(tuple(truth), tuple(sizes)))])
        case kind:
            raise AssertionError(kind)


def channel_by(rules: list[dict[str, Any]], coin: Coin, attributes: tuple[Attribute, ...]) -> Any:
    """matrix[reported, true] that follows from the outcomes, all alike; exact."""
    sizes = [a.size for a in attributes]
    reported = tuple(a.size for a in coin.reported(attributes))
    truths = list(product(*map(range, sizes)))
    made = np.full((int(np.prod(reported)), len(truths)), Fraction(0), dtype=object)
    for rule in rules:
        for column, truth in enumerate(truths):
            for share, codes in answers(rule, truth, sizes, coin, attributes):
                made[np.ravel_multi_index(codes, reported), column] += share / len(rules)
    return made


def answers(
    rule: dict[str, Any],
    truth: Sequence[int],
    sizes: list[int],
    coin: Coin,
    attributes: tuple[Attribute, ...],
) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """What is answered under a rule; personal questions have their known shares."""
    if rule["kind"] != "other":
        yield Fraction(1), obeyed(rule, truth, sizes)
        return
    (_, _), (_, strategy) = coin.strategies(attributes)
    assert isinstance(strategy, Replace)
    for codes in product(*map(range, sizes)):
        chances = [
            table[code] for (_, table), code in zip(strategy.drawn.units, codes, strict=True)
        ]
        yield Fraction(np.prod(np.array(chances, dtype=object))), codes


def thrown(design: Design) -> list[int]:
    """Groups whose answers a device decides."""
    return [
        number
        for number, group in enumerate(design.groups)
        if group.coin.family not in ("truthful", "crosswise")
    ]


@pytest.mark.parametrize("name", DEVICES)
def test_the_rules_make_the_channel(page: Page, name: str) -> None:
    design = own_device(name).design
    assert len(thrown(design)) > 5
    for number in thrown(design):
        group = design.groups[number]
        attributes = design.attributes_of(group)
        rules = rules_of(page, design, number, name)
        assert len(rules) == OUTCOMES[name]
        made = channel_by(rules, group.coin, attributes)
        assert (made == brute_force(group.coin, attributes)).all(), group


def test_another_theta_makes_other_rules(page: Page) -> None:
    """Negative control: the comparison is exact."""
    design = own_device("die").design
    wrong = Design.from_json(design.to_json().replace('"5/6"', '"4/6"', 1))
    rules = rules_of(page, wrong, 0, "die")
    group = design.groups[0]
    attributes = design.attributes_of(group)
    assert (channel_by(rules, group.coin, attributes) != brute_force(group.coin, attributes)).any()


def test_what_a_device_cannot_make_is_refused(page: Page) -> None:
    with pytest.raises(Exception, match="6 outcomes cannot make 3/4"):
        rules_of(page, own_device("birth_month").design, 0, "die")


def test_the_page_tells_the_rules_of_a_die(browser: Browser, served: Served) -> None:
    context = device(browser)
    person = Respondent(context.new_page())
    person.opens(served[own_device("die")])
    person.goes_on()
    told = {}
    heading = person.goes_on() and person.heading
    person.chooses("Yes")
    person.goes_on()
    heading = person.goes_on()
    while not heading.startswith("How many"):
        told[heading] = rule_lines(person.page)
        for fieldset in person.page.locator("fieldset").all():
            person.chooses(fieldset.locator("label").first.inner_text(), fieldset)
        heading = person.goes_on()
    context.close()
    opposite = "Give the opposite answer."
    after = "places after your true one in the list; after the last comes the first."
    assert told["Question a?"] == ["1–5: Answer truthfully.", f"6: {opposite}"]
    assert told["Question b?"] == [
        "1–4: Answer truthfully.",
        "5–6: Answer this question instead, truthfully: Personal b?",
    ]
    assert told["Are your two answers the same?"] == []
    assert told["Question d?"] == [
        "1–3: Answer truthfully.",
        *(f"{i}: Answer {c}." for i, c in zip((4, 5, 6), "xyz", strict=True)),
    ]
    assert told["Question e?"] == [
        "1–4: Answer truthfully.",
        "5: Give the answer that comes right after your true one in the list; "
        "after the last comes the first.",
        f"6: Give the answer that comes 2 {after}",
    ]
    assert told["One throw for 2 questions"] == ["1–4: Answer truthfully.", f"5–6: {opposite}"]


def rule_lines(page: Page) -> list[str]:
    """The rules as they are read."""
    return [
        " ".join(row.locator(".outcome").all_inner_texts()) + ": " + row.locator("dd").inner_text()
        for row in page.locator(".rules > div").all()
    ]


def test_an_answer_that_gives_the_truth_away_says_so(browser: Browser, served: Served) -> None:
    """Tails forces Yes, so who gives No is truly No."""
    context = device(browser)
    person = Respondent(context.new_page())
    person.opens(served[own_device("coin")])
    person.goes_on()
    person.chooses("Yes")
    person.goes_on()
    assert person.goes_on() == "Question a?"
    told = person.page.locator(".warning").all_inner_texts()
    assert told == ["Anyone who sees No knows that the true answer is No."]
    context.close()


def test_a_category_is_read_by_the_labels_of_its_own_question(
    browser: Browser, served: Served
) -> None:
    context = device(browser)
    person = Respondent(context.new_page())
    person.opens(served[DEGREES])
    read = []
    for _ in range(2):
        person.goes_on()
        read.append(person.page.locator("fieldset label").all_inner_texts())
        person.page.get_by_role("radio").first.check()
    assert read == [["Never", "Two", "Always"], ["1", "Two", "3"]]
    context.close()


# Odds -------------------------------------------------------------------------------------------


def cases() -> list[Case]:
    found = []
    for family in MAKERS:
        for shape in ((2,), (4,), (3, 2)):
            if fits(family, shape):
                attributes = attributes_of(shape)
                rng = np.random.default_rng(len(family) * 100 + sum(shape))
                found.append(Case(family, random_coin(family, attributes, rng), attributes))
    return found


ODDS = """
async ({ design, position }) => {
  const { readDesign } = await import("/page/disguise.js");
  const odds = await import("/page/odds.js");
  const group = readDesign(design).groups[0];
  const { truths, reports } = odds.sizesOf(group, position);
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const told = ({ n, d }) => [`${n}/${d}`, odds.of100({ n, d }), odds.of100up({ n, d })];
  return [
    range(reports).map((r) => range(truths).map((t) => told(odds.chance(group, position, r, t)))),
    odds.givenAway(group, position).map(({ reported, truth }) => [reported, truth]),
    odds.inOwnCategories(group) ? told(odds.leastDisguised(group, position))[0] : null,
  ];
}
"""


@pytest.mark.parametrize("case", cases(), ids=str)
def test_odds_are_the_channels_rounded_outward(page: Page, case: Case) -> None:
    exact = brute_force(case.coin, case.attributes)
    joint = case.coin.family == "matrix" and len(case.attributes) > 1
    for position in range(1 if joint else len(case.attributes)):
        told, away, least = page.evaluate(
            ODDS, {"design": json.loads(case.design.to_json()), "position": position}
        )
        wanted = exact if joint else alone(exact, case, position)
        assert np.shape(told)[:2] == wanted.shape
        for row, expected in zip(told, wanted, strict=True):
            for (text, down, up), share in zip(row, expected, strict=True):
                assert Fraction(text) == share
                assert (down, up) == (math.floor(100 * share), math.ceil(100 * share))
        only = [np.flatnonzero(row) for row in wanted]
        assert away == [[r, int(t[0])] for r, t in enumerate(only) if len(t) == 1]
        # What a page says that at least so many change is true of every true answer.
        assert least is None or Fraction(least) == min(1 - share for share in wanted.diagonal())


def alone(exact: Any, case: Case, position: int) -> Any:
    """The channel of one attribute, from that of the group: others summed out at one truth."""
    sizes = [a.size for a in case.attributes]
    if len(sizes) == 1:
        return exact
    table = exact.reshape(*sizes, *sizes)
    others = [i for i in range(len(sizes)) if i != position]
    summed = table.sum(axis=tuple(others)) if others else table
    for _ in others:
        drop = 1 if position == 0 else 0
        axis = 1 + (1 if drop else 0)
        summed = summed.take(0, axis=axis)
    return summed


def test_each_question_of_a_throw_has_its_own_odds(browser: Browser, served: Served) -> None:
    """1/2 of 1/2 for a and c, 1/2 of 1/50 for b; said once for a and c."""
    context = device(browser)
    person = Respondent(context.new_page())
    person.opens(served[PAIR])
    person.goes_on()
    told = [
        (odds.locator(".about").all_inner_texts(), odds.locator("p:not(.about)").first.inner_text())
        for odds in person.page.locator(".odds").all()
    ]
    assert told == [
        (
            ["Question a? and Question c?:"],
            "Of 100 people, 25 send the opposite of their true answer.",
        ),
        (["Question b?:"], "Of 100 people whose true answer is No, 1 sends Yes anyway."),
    ]
    context.close()
