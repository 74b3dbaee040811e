"""`tacit survey status`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.collect.store import Store
from tacit.survey import publish
from tests.support.studio import reports, send, survey

OPEN, INVITED = survey("Work [bold]"), survey("Other", access="invited")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    store = Store("survey.db")
    store.register(OPEN)
    store.register(INVITED)
    send(store, OPEN, reports(OPEN, 7))
    store.invite(INVITED.survey.fingerprint, 5)
    store.close_survey(INVITED.survey.fingerprint)
    store.close()
    publish(OPEN.survey, "open.json")
    publish(survey("Third").survey, "third.json")
    return tmp_path


def test_every_survey_has_a_row(tacit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    status, text, _ = tacit("survey", "status", "--database", "survey.db")
    assert status == 0
    first, second = (line for line in text.splitlines() if "/s/" in line)
    assert first.split() == ["Work", "[bold]", f"/s/{OPEN.slug}/", "open", "7"]
    assert second.split() == ["Other", f"/s/{INVITED.slug}/", "closed", "0", "5", "5"]


def test_json_has_the_same(tacit: Any) -> None:
    found = json.loads(tacit("survey", "status", "--database", "survey.db", "--json")[1])
    keys = ("title", "open", "records", "links_issued", "links_unused")
    assert [[one[key] for key in keys] for one in found["surveys"]] == [
        ["Work [bold]", True, 7, 0, 0],
        ["Other", False, 0, 5, 5],
    ]


def test_one_survey_is_shown_alone(tacit: Any) -> None:
    given = ("survey", "status", "open.json", "--database", "survey.db", "--json")
    (only,) = json.loads(tacit(*given)[1])["surveys"]
    assert only["survey_fingerprint"] == OPEN.survey.fingerprint


def test_a_survey_that_is_not_there_is_an_error(tacit: Any) -> None:
    status, _, error = tacit("survey", "status", "third.json", "--database", "survey.db")
    assert status == 2
    assert "has no survey with the fingerprint" in error
