"""Limits of a real server: what they keep out, and whom they must not keep out."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from tests.support import stepped_clock
from tests.support.asking import place, submission
from tests.support.published import published
from tests.support.serving import SECONDS, Served, serving

SURVEY = published()
DAY = 86400.0


def post(served: Served) -> httpx.Response:
    target = served.origin + place(SURVEY, "responses")
    return httpx.post(target, json=submission(SURVEY), timeout=SECONDS)


def test_a_clock_that_is_set_back_refuses_nobody_for_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in stepped_clock.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    with serving(tmp_path, [SURVEY], "--rate", "1/2seconds") as served:
        assert post(served).status_code == 201
        stepped_clock.step(tmp_path, -2 * DAY)
        for _ in range(5):
            answer = post(served)
            if answer.status_code == 201:
                break
            wait = int(answer.headers["retry-after"])
            assert wait <= 2
            time.sleep(wait)
        assert answer.status_code == 201


def test_an_open_survey_takes_so_many_in_all(tmp_path: Path) -> None:
    with serving(tmp_path, [SURVEY], "--open-rate", "3/hour") as served:
        answers = [post(served) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 503, 503]
    assert int(answers[-1].headers["retry-after"]) in range(3500, 3601)
