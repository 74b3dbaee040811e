"""Which of two questions the page asks: the sensitive one with probability theta."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.support.browser import Served, serving
from tests.support.page_surveys import published, yes_no
from tests.support.respondent import Respondent

pytestmark = pytest.mark.slow

#: The page asks the question of `asked` for all but one of a million people.
NEARLY_ALWAYS, HARDLY_EVER = "999999/1000000", "1/1000000"
SURE = {
    asked: published(
        {
            "title": asked,
            "questions": [yes_no("a")],
            "groups": [
                {"questions": ["a"], "family": "unrelated", "theta": theta,
                 "personal": {"a": {"text": "Past noon?", "distribution": ["1/2", "1/2"]}}},
            ],
        }
    )
    for asked, theta in (("Question a?", NEARLY_ALWAYS), ("Past noon?", HARDLY_EVER))
}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving([*SURE.values()], tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.mark.parametrize("asked", [*SURE])
def test_the_sensitive_question_is_asked_with_probability_theta(
    asked: str, page: Page, served: Served
) -> None:
    person = Respondent(page)
    person.opens(served[SURE[asked]])
    assert person.goes_on() == asked
