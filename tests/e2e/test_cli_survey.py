"""`tacit survey`, as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.main import run
from tacit.output import rounding
from tacit.privacy import report
from tacit.privacy.report import NOT_KNOWN
from tacit.privacy.report_text import wording_of
from tacit.survey import example, read_published, read_survey


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("survey.yaml").write_text(example(), encoding="utf-8")
    return tmp_path


@pytest.fixture
def survey(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return (run(["survey", *arguments]), *capsys.readouterr())

    return call


CONDITIONAL = """
title: Smoking
questions:
  - {name: smokes, kind: yes_no, text: Do you smoke?}
  - {name: packs, kind: choice, text: Packs?, categories: [few, many], asked_if: {smokes: yes}}
  - {name: brand, kind: choice, text: Brand?, categories: [red, blue], asked_if: {CONDITION}}
groups:
  - {questions: [smokes, packs, brand], family: related, theta: 4/5, throw: each}
"""


@pytest.mark.parametrize(("condition", "known"), [("packs: many", True), ("smokes: yes", False)])
def test_a_check_warns_of_unknown_dependence_only_where_conditions_leave_it_open(
    survey: Any, condition: str, known: bool
) -> None:
    text = CONDITIONAL.replace("CONDITION", condition)
    Path("mine.yaml").write_text(text, encoding="utf-8")
    status, out, _ = survey("check", "mine.yaml")
    assert status == 0
    told = " ".join(out.split())
    assert (NOT_KNOWN not in told) == known
    assert ("guesses all 3 true answers right in up to" in told) == known


def test_a_new_survey_passes_its_check(survey: Any) -> None:
    assert survey("new", "mine.yaml")[0] == 0
    status, out, err = survey("check", "mine.yaml", "--respondents", "2000")
    assert (status, err) == (0, "")
    assert "mine.yaml: 7 questions, 8 attributes, en, de" in out
    read = read_survey("mine.yaml")
    told = report(read.design, wording=wording_of(read))
    assert out.startswith(f"warning: {NOT_KNOWN}\n")
    for said in (*told.sentences, *told.warnings):
        assert said in " ".join(out.split())
    assert "all disguised answers" in out
    assert "95 % intervals of a share from 2,000 respondents" in out


def test_a_new_survey_never_replaces_a_file(survey: Any) -> None:
    before = Path("survey.yaml").read_bytes()
    status, _, err = survey("new", "survey.yaml")
    assert (status, err) == (
        2,
        "error: survey.yaml: already exists; write to another file\n",
    )
    assert Path("survey.yaml").read_bytes() == before
    assert survey("new", "survey.json")[0] == 2


def test_a_new_survey_does_not_end_before_it_starts(survey: Any) -> None:
    status, _, err = survey("new", "x.yaml", "--start", "2027-03-31", "--end", "2027-03-01")
    assert (status, err) == (2, "error: --end: 2027-03-01 is before --start 2027-03-31\n")
    assert not Path("x.yaml").exists()


def test_every_problem_is_one_line_with_its_place(survey: Any) -> None:
    broken = example().replace("theta: 5/6", "theta: 0.7").replace("[3/4, 1/4]", "[3/4, 1/2]")
    Path("survey.yaml").write_text(broken, encoding="utf-8")
    status, out, err = survey("check", "survey.yaml")
    at = next(n for n, line in enumerate(broken.splitlines(), 1) if "theta: 0.7" in line)
    assert (status, out) == (2, "")
    first, second = err.splitlines()
    assert first == (
        f"error: survey.yaml:{at}: groups[0].theta: a die roll gives only sixths, not "
        "7/10; the nearest possible theta: 2/3 or 5/6"
    )
    assert second.startswith("error: survey.yaml:")
    assert "groups[1].personal" in second


def test_the_check_as_json(survey: Any) -> None:
    status, out, _ = survey("check", "survey.yaml", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["fingerprint"] == read_survey("survey.yaml").design.fingerprint
    assert found["respondents"] == 1000
    assert found["groups"][0]["coin"] == {"family": "related", "theta": "5/6"}
    assert found["record"]["epsilon"] is None
    assert set(found["attributes"][0]["stderr"]) == {"worst", "0.1", "0.5"}


PANEL = """
title: Panel
questions:
  - {name: smokes, kind: yes_no, text: Do you smoke?}
groups:
  - {questions: [smokes], family: related, theta: 3/4}
waves: 2
"""
#: log 3 is 1.0986.
BOTH_WAVES = "Epsilon of an answer is at most 2.20 (one wave: 1.10)."


def test_no_figure_of_a_panel_is_of_one_wave_only(
    survey: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the check, as text and as JSON, and in the report on the published survey."""
    Path("panel.yaml").write_text(PANEL, encoding="utf-8")
    status, out, _ = survey("check", "panel.yaml")
    assert status == 0
    assert "epsilon, 2 waves" in out
    assert "The same people answer 2 times, and chance decides anew each time." in out
    assert BOTH_WAVES in out
    content = json.loads(survey("check", "panel.yaml", "--json")[1])
    assert content["waves"] == 2
    assert BOTH_WAVES in content["sentences"][0]
    for part in (*content["attributes"], *content["groups"], content["record"]):
        assert rounding.epsilon(part["epsilon"]) == "2.20"
    assert survey("publish", "panel.yaml", "--out", "panel.json")[0] == 0
    assert run(["privacy", "panel.json"]) == 0
    told = capsys.readouterr().out
    assert BOTH_WAVES in told
    assert "2 reports" in told
    Path("once.yaml").write_text(PANEL.replace("waves: 2", ""), encoding="utf-8")
    assert "waves" not in survey("check", "once.yaml")[1]


def test_publishing_prints_fingerprint_and_address_and_never_overwrites(survey: Any) -> None:
    fingerprint = read_survey("survey.yaml").design.fingerprint
    status, out, _ = survey("publish", "survey.yaml", "--out", "p.json")
    published = read_published("p.json")
    told = f"p.json\nfingerprint {fingerprint}\naddress     /s/{published.slug}/\n"
    assert (status, out) == (0, f"wrote {told}")
    assert published.fingerprint == fingerprint
    again = survey("publish", "survey.yaml", "--out", "p.json")
    assert again[:2] == (0, f"unchanged {told}")
    before = Path("p.json").read_bytes()
    Path("survey.yaml").write_text(example().replace("5/6", "2/3"), encoding="utf-8")
    status, _, err = survey("publish", "survey.yaml", "--out", "p.json")
    assert status == 2
    assert "never overwritten" in err
    assert Path("p.json").read_bytes() == before
    assert survey("publish", "survey.yaml", "--out", "survey.yaml")[0] == 2


def test_the_schema_is_json(survey: Any) -> None:
    status, out, _ = survey("schema")
    assert status == 0
    assert json.loads(out)["title"] == "Survey"


def test_a_new_survey_is_open_to_all_at_once(survey: Any) -> None:
    assert survey("new", "mine.yaml")[0] == 0
    made = read_survey("mine.yaml")
    assert (made.access, made.opens, made.closes) == ("open", None, None)


def test_flags_say_who_may_answer_when_and_in_which_languages(survey: Any) -> None:
    days = ("--start", "2027-03-01", "--end", "2027-03-31")
    assert survey("new", "mine.yaml", "--invited", *days, "--languages", "fr, es")[0] == 0
    made = read_survey("mine.yaml")
    assert made.access == "invited"
    assert (made.opens, made.closes) == (date(2027, 3, 1), date(2027, 3, 31))
    assert made.languages == ("fr", "es")
    assert survey("check", "mine.yaml")[0] == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--languages", "en,it"], "unknown language of the example 'it'; known: 'en', 'de'"),
        (["--start", "tomorrow"], "--start: must be a day such as 2027-03-01, got 'tomorrow'"),
    ],
)
def test_a_flag_that_makes_no_survey_is_one_error(survey: Any, flags: list[str], said: str) -> None:
    status, _, err = survey("new", "mine.yaml", *flags)
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert not Path("mine.yaml").exists()
