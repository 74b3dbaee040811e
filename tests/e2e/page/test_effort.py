"""What ten questions cost a respondent, in words to read and in things to do."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.support.browser import Served
from tests.support.ten_questions import effort_of, ten_questions

#: Words and interactions measured at version 0.1, before the texts were cut.
BEFORE = {"browser": (856, 28), "die": (1216, 28)}


@pytest.mark.parametrize("device", BEFORE)
def test_ten_questions_do_not_take_a_thousand_words(
    page: Page, served: Served, device: str
) -> None:
    """Half of what it was; and not one interaction more."""
    found = effort_of(page, served[ten_questions(device)])
    words, interactions = BEFORE[device]
    assert len(found.steps) == 14
    assert found.words <= words / 2
    assert found.interactions <= interactions
