"""An accuracy round: the page predicts what Python predicts, and sends only if it was right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tacit import disguise, mine
from tacit.collect.page import FILES
from tacit.records import count_reported
from tacit.studio.accuracy_round import accuracy_round
from tacit.survey import Published, survey_from_dict
from tests.e2e.page.test_axe import check
from tests.support.browser import Served, device, serving, watched
from tests.support.device_models import round_survey
from tests.support.respondent import Respondent

RECORDS = 10_000
PREDICT = """
async (text) => {
  const { model, records } = JSON.parse(text);
  const { readModel } = await import("/page/model.js");
  const { predict } = readModel(model);
  return JSON.stringify(records.map(predict));
}
"""


@pytest.fixture(scope="module")
def rounds() -> list[Published]:
    """A tree and a table of scores, each with questions that stay on the device."""
    return [Published(round_survey(11, kind)) for kind in ("tree", "scores")]


@pytest.fixture(scope="module")
def running(rounds: list[Published], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(rounds, tmp_path_factory.mktemp("rounds")) as found:
        yield found


@pytest.fixture(scope="module")
def opened(browser: Browser, running: Served, rounds: list[Published]) -> Iterator[Page]:
    """A page whose modules tests call."""
    context = device(browser)
    page = context.new_page()
    page.goto(running[rounds[0]])
    yield page
    context.close()


def by_page(page: Page, model: dict[str, Any], codes: Any) -> list[int]:
    """As text: Playwright would pack each number of a record."""
    given = json.dumps({"model": model, "records": codes.tolist()})
    found: list[int] = json.loads(page.evaluate(PREDICT, given))
    return found


@pytest.mark.parametrize("kind", ["tree", "scores"])
@pytest.mark.parametrize("seed", range(4))
def test_the_page_predicts_what_python_predicts(opened: Page, kind: str, seed: int) -> None:
    made = round_survey(seed, kind)
    assert made.model is not None
    sizes = [len(question.categories) for question in made.model.questions]
    codes = np.random.default_rng(seed).integers(0, sizes, (RECORDS, len(sizes)))
    expected = made.model.predict(codes)
    plain = made.to_dict()["model"]
    assert by_page(opened, plain, codes) == expected.tolist()
    for node in plain.get("tree", []):  # negative control: other branches, other scores
        node.get("to", []).reverse()
    if kind == "scores":
        plain["scores"]["prior"][0] += 1000
    assert by_page(opened, plain, codes) != expected.tolist()


@cache
def study() -> tuple[Published, Any]:
    """A survey of several questions and reported records that go together."""
    sizes = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 3}
    content = {
        "title": "Study",
        "questions": [
            {
                "name": name,
                "kind": "choice",
                "text": name,
                "categories": [f"{name}{i}" for i in range(k)],
            }
            for name, k in sizes.items()
        ],
        "groups": [{"questions": [name], "family": "frapp", "lambda": 12} for name in sizes],
    }
    published = Published(survey_from_dict(content, "study"))
    rng = np.random.default_rng(4)
    true = rng.integers(0, list(sizes.values()), (8000, len(sizes)))
    alike = rng.random(true.shape) < 0.6
    true = np.where(alike, true[:, [4]] % list(sizes.values()), true).astype(np.uint8)
    return published, count_reported(disguise(true, published.design, rng), published.design)


@pytest.mark.parametrize(
    "make",
    [
        lambda design: mine.DecisionTree(design, "c", caution=0, max_depth=4),
        lambda design: mine.DecisionTree(design, "e", "gini", 0, 5),
        lambda design: mine.NaiveBayes(design, "c"),
        lambda design: mine.NaiveBayes(design, "a", method=mine.pairs),
    ],
    ids=[
        "tree with a branch per answer",
        "tree with two branches",
        "naive Bayes",
        "of two classes",
    ],
)
def test_the_page_predicts_what_a_learnt_model_predicts(opened: Page, make: Any) -> None:
    published, counts = study()
    model = make(published.design).fit(counts)
    made = accuracy_round(published, mine.model_to_json(model))
    assert made.model is not None
    features = model.features_
    codes = np.random.default_rng(8).integers(0, features.sizes, (RECORDS, len(features)))
    columns = [features.index(question.name) for question in made.model.questions]
    found = by_page(opened, made.to_dict()["model"], codes[:, columns])
    predicted = [made.model.target.categories[code] for code in found]
    assert predicted == model.predict(codes).tolist()
    assert len(set(predicted)) > 1


@pytest.mark.parametrize(
    "change",
    [
        {"tree": [{"category": "nowhere"}]},
        {"tree": [{"question": "q0", "to": [0] * 9}]},
        {"tree": [{"question": "unknown", "to": [1, 1]}, {"category": "yes"}]},
        {"scores": {"prior": [0], "tables": []}},
    ],
)
def test_the_page_refuses_a_model_that_it_does_not_understand(
    opened: Page, change: dict[str, Any]
) -> None:
    plain = round_survey(1, "tree").to_dict()["model"] | change
    with pytest.raises(Exception, match=r"model|leaf|tree"):
        by_page(opened, plain, np.zeros((1, len(plain["questions"])), int))


CHOOSE = """
(codes) => document.querySelectorAll("form fieldset").forEach(
  (each, i) => each.querySelectorAll("input")[codes[i]].click())
"""


def answer(page: Page, codes: list[int], target: int) -> None:
    """Choose these answers in the questions of the model's step."""
    page.evaluate(CHOOSE, [*codes, target])


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize("place", [0, 1], ids=["tree", "scores"])
def test_devices_apply_the_model_and_only_whether_it_was_right_is_stored(
    page: Page, running: Served, rounds: list[Published], place: int, right: bool
) -> None:
    published = rounds[place]
    model = published.survey.model
    assert model is not None
    before = running.stored(published)
    sizes = [len(question.categories) for question in model.questions]
    codes = np.random.default_rng(2 * place + right).integers(0, sizes)
    predicted = int(model.predict(codes[None])[0])
    target = predicted if right else (predicted + 1) % len(model.target.categories)
    seen, person = watched(page), Respondent(page)
    person.opens(running[published])
    assert person.goes_on() == "You and a model"
    person.goes_on()
    assert "Please choose" in page.locator("[role=alert]").inner_text()
    answer(page, codes.tolist(), target)
    person.goes_on()
    told = page.locator(".outcome-box").inner_text()
    check(page)  # axe, in light and dark
    assert ("It is right." in told) == right
    assert ("It is wrong." in told) != right
    person.goes_on()
    left = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.body.innerText])")
    for question in model.questions:
        if len(question.categories) > 2:
            assert not any(category in left for category in question.categories)
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    (body,) = seen.bodies
    sent = json.loads(body)
    assert list(sent) == ["fingerprint", "key", "record", "padding"]
    assert list(sent["record"]) == ["correct"]
    assert sent["record"]["correct"] in ("no", "yes")
    assert not seen.complaints
    assert running.stored(published) == before + 1


def test_the_page_with_the_model_is_part_of_what_can_be_verified() -> None:
    assert {"model.js", "model_step.js"} <= set(FILES)


def test_a_reload_asks_again_and_keeps_no_true_answer(
    page: Page, running: Served, rounds: list[Published]
) -> None:
    published = rounds[0]
    model = published.survey.model
    assert model is not None
    person = Respondent(page)
    person.opens(running[published])
    assert f"{len(model.questions) + 1} questions" in page.locator("form").inner_text()
    person.goes_on()
    answer(page, [0] * len(model.questions), 0)
    person.goes_on()
    person.reloads()
    page.get_by_role("heading", name="You and a model").wait_for()
    assert page.locator("input:checked").count() == 0
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    assert not any(c in kept for q in model.questions for c in q.categories if len(c) > 3)
