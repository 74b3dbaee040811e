"""Two waves: the page says what both reveal, and the service's records show who has changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from playwright.sync_api import Page

from tacit import reconstruct
from tacit.collect.store import Store
from tacit.survey import Published
from tests.support.browser import Served, serving
from tests.support.page_surveys import OPEN, published, yes_no
from tests.support.respondent import Respondent

_PANEL = {
    "questions": [yes_no("a")],
    "groups": [{"questions": ["a"], "family": "related", "theta": "3/4"}],
    "waves": 2,
}
FIRST, SECOND = (published(_PANEL | {"title": f"Wave {n}"}) for n in (1, 2))
#: People, and how many of them say yes in each wave; those who change are the difference.
PEOPLE, YES = 1500, (450, 900)
#: Standard errors that an estimate misses by chance once in a million.
FAR = 4.9
#: Sends one record per true answer, disguised and padded by the page's own modules.
_ANSWERED = """async (truths) => {
  const { readDesign, recordOf, reportOf } = await import("../../page/disguise.js");
  const { bodyOf, newKey } = await import("../../page/send.js");
  const published = await (await fetch("survey.json")).json();
  const design = readDesign(published.design);
  const answer = async (truth) => {
    const record = recordOf(design, (group) => reportOf(group, () => truth));
    const body = bodyOf({ published, design }, { key: newKey(), record });
    const headers = { "Content-Type": "application/json" };
    return (await fetch("responses", { method: "POST", headers, body })).status;
  };
  const statuses = new Set();
  while (truths.length) {
    (await Promise.all(truths.splice(0, 50).map(answer))).forEach((each) => statuses.add(each));
  }
  return [...statuses];
}"""


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving([FIRST, SECOND, OPEN], tmp_path_factory.mktemp("panel")) as found:
        yield found


def test_a_respondent_is_not_left_to_think_that_she_is_asked_once(
    page: Page, panel: Served
) -> None:
    told = (
        "These questions are asked 2 times in all, and chance decides anew each time. What you "
        "send over all 2 times reveals more than what you send once. What is said here about all "
        "your answers together counts all 2 times."
    )
    assert Respondent(page).opens(panel[SECOND]) == "Wave 2"
    assert told in page.locator("form").inner_text()
    assert Respondent(page).opens(panel[OPEN]) == "Open"
    assert "2 times" not in page.locator("form").inner_text()


def test_a_change_between_two_waves_is_not_hidden_by_what_a_device_keeps(
    page: Page, panel: Served
) -> None:
    """All answer on one device; 450 of 1,500 change from no to yes.

    Negative control: devices that send the first wave's record again, as they once did.
    """
    for wave, yes in zip((FIRST, SECOND), YES, strict=True):
        page.goto(panel[wave])
        assert page.evaluate(_ANSWERED, [1] * yes + [0] * (PEOPLE - yes)) == [201]
    first, second = (stored_codes(panel, wave) for wave in (FIRST, SECOND))
    assert len(first) == len(second) == PEOPLE
    change = (YES[1] - YES[0]) / PEOPLE
    assert abs(misses_by(first, second, change)) < FAR
    assert abs(misses_by(first, first, change)) > FAR


def stored_codes(panel: Served, wave: Published) -> np.ndarray:
    with closing(Store(str(panel.database))) as store:
        return store.codes(wave.survey.fingerprint)


def misses_by(first: np.ndarray, second: np.ndarray, change: float) -> float:
    """How many standard errors the estimated change is from the true one."""
    before, after = (
        reconstruct(codes, FIRST.design).probability({"a": "yes"}) for codes in (first, second)
    )
    error = math.hypot(float(before.stderr), float(after.stderr))
    return (float(after.value) - float(before.value) - change) / error
