"""Adversaries from weak to strong: what is not known is said, and what a model adds is counted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, related, truthful, unrelated
from tacit.core.bounds import DesignReports
from tacit.privacy import Report, Rule, compare_schemes, report
from tacit.privacy.report import NOT_KNOWN
from tacit.privacy.report_text import wording_of
from tacit.survey import example, survey_from_text

TEN = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(10)])
APART = Design(TEN, [Group([name], related("4/5")) for name in TEN.names])
DRUGS = Schema([Attribute("used", ["no", "yes"]), Attribute("age", ["o", "y"])])
SHARES = {"used": [0.7, 0.3], "age": [0.7, 0.3]}
#: What a published tree may say: age follows from drug use.
AGE_BY_USE = [
    Rule({"used": "yes"}, "age", "y", 0.99),
    Rule({"used": "no"}, "age", "o", 0.99),
]


def drugs(used: Any, age: Any, rules: Any = AGE_BY_USE) -> Report:
    design = Design(DRUGS, [Group(["used"], related(used)), Group(["age"], related(age))])
    return report(design, SHARES, rules=rules)


@pytest.mark.parametrize("prior", [None, {name: [0.7, 0.3] for name in TEN.names}])
def test_without_known_dependence_the_whole_record_is_never_read_as_unrelated(prior: Any) -> None:
    found = report(APART, prior)
    assert found.warnings[0] == NOT_KNOWN
    for table in found.tables()[:2]:
        held = table.heads.index("whole record")
        assert {row[held] for row in table.rows} == {"not known"}
    assert found.map_privacy.record is None
    assert set(found.worst_posterior.attributes.values()) == {None}
    read = json.loads(found.to_json())
    assert read["dependence_known"] is False
    assert read["record"]["from_record"] is None
    assert {one["from_record"] for one in read["attributes"].values()} == {None}
    frame = found.to_frame(backend="pyarrow").to_pydict()
    assert set(frame["map_privacy_from_record"]) == {None}
    assert "not known" in found.sentences[10]


@pytest.mark.parametrize("way", [str, Report.to_html, Report._repr_html_, Report.to_json])
def test_that_dependence_is_not_known_is_said_at_the_top(way: Any) -> None:
    text = way(report(APART))
    assert NOT_KNOWN in text
    assert text.index(NOT_KNOWN) < text.index("q0: of 100 people")


def test_several_reports_of_one_person_are_not_read_as_unrelated_either() -> None:
    found = report(APART, repeats=2)
    assert {row[-1] for row in found.tables()[-1].rows} == {"not known"}
    read = json.loads(found.to_json())["repeated"]
    assert read["from_record"] is read["groups"] is read["record"] is None


def test_where_dependence_is_known_the_whole_record_is_measured() -> None:
    same: Any = np.zeros((2,) * 10)
    same[(0,) * 10] = same[(1,) * 10] = 0.5
    found = report(APART, same)
    assert found.disclosure.warning is None
    assert "not known" not in str(found)
    held = found.disclosure.attributes["q0"]
    assert held.accuracy == found.attributes["q0"].from_record.accuracy
    assert held.bound is not None
    assert held.accuracy <= held.bound <= held.accuracy + 1e-9  # ten copies are the worst case


def test_the_record_is_bounded_by_its_best_protected_answer() -> None:
    found = report(APART, {name: [0.9, 0.1] for name in TEN.names} | {"q0": [0.5, 0.5]})
    bounds = [held.bound or 0 for held in found.disclosure.attributes.values()]
    assert found.disclosure.record.bound == bounds[0] == DesignReports(APART).bound("q0").accuracy
    assert bounds[0] < min(bounds[1:])


def test_knowing_the_other_answers_has_a_column_a_sentence_and_a_mark() -> None:
    eight = TEN.subset(TEN.names[:8])
    found = report(Design(eight, [Group(eight.names, unrelated("1/2", ["1/2", "1/2"]))]))
    table = found.tables()[1]
    assert table.rows[0][table.heads.index("own report")] == "0.750"
    assert table.rows[0][table.heads.index("others known")] == "0.997"  # rounded up from .9961
    said = found.sentences[-1]
    assert "also knows a person's other true answers (a colleague, a spouse)" in said
    assert (
        "q7: guessed right in up to 75 of 100 cases, and up to 99.7 % sure (from its own report "
        "75 and 75.0 %)" in said
    )
    assert "if answers to different questions were unrelated" in said
    (axes,) = found.plot().axes
    marks = [collection.get_label() for collection in axes.collections]
    assert "the other true answers known" in marks


def test_one_related_coin_warns_that_any_known_answer_reveals_all_others() -> None:
    pair = TEN.subset(["q0", "q1"])
    found = report(Design(pair, [Group(pair.names, related("3/4"))]))
    assert (
        "whoever also knows one of the true answers (a colleague, a spouse) knows all "
        in (found.warnings[1])
    )
    assert found.knowing_others["q0"].worst_posterior == 1


def test_answers_under_coins_of_their_own_are_not_betrayed_by_others_if_unrelated() -> None:
    assert report(APART).sentences[-1] == (
        "Someone who also knows a person's other true answers (a colleague, a spouse) learns "
        "nothing more about an answer than its own report tells, if answers to different "
        "questions were unrelated. If answers go together, the others may give an answer away."
    )


def test_a_published_model_tells_about_the_attributes_in_its_conditions() -> None:
    # Both related(.7), 30 % used: the guess of `used` was never reported, only that of `age`.
    found = drugs("7/10", "7/10").after_mining["used"]
    assert found.accuracy_before == pytest.approx(0.700, abs=5e-4)
    assert found.accuracy_with_model == pytest.approx(0.782, abs=5e-4)
    # .49 * .696 + .49 * .304 + 2 * .21 * .696, where .696 = .7 * .99 + .3 * .01.
    assert found.accuracy_with_model == pytest.approx(0.78232, abs=1e-9)
    assert found.rec_known == found.rec_unknown == 0


def test_the_worst_posterior_rises_when_a_model_is_published() -> None:
    found = drugs("8/10", "5/6").after_mining["used"]
    assert found.worst_before == pytest.approx(0.903, abs=5e-4)
    assert found.worst_with_model == pytest.approx(0.978, abs=5e-4)
    # Odds .7/.3 * .8/.2 * .8266/.1733, where .8266 = 5/6 * .99 + 1/6 * .01.
    odds = 7 / 3 * 4 * (0.99 * 5 + 0.01) / (0.99 + 0.01 * 5)
    assert found.worst_with_model == pytest.approx(odds / (1 + odds), abs=1e-9)


def test_what_a_model_adds_is_shown_in_a_sentence_and_a_column() -> None:
    found = drugs("8/10", "5/6")
    said = next(one for one in found.sentences if one.startswith("used: once the model"))
    assert "in up to 88 of 100 cases (from its own report 80) and can be 97.9 % sure" in said
    table = found.tables()[1]
    assert table.rows[0][table.heads.index("with model")] == "0.979"
    assert "with model" not in str(drugs("8/10", "5/6", rules=[]))


def test_what_a_model_adds_is_not_read_as_unrelated_without_saying_so() -> None:
    found = drugs("8/10", "5/6")
    said = next(one for one in found.sentences if one.startswith("used: once the model"))
    assert said.endswith(", if answers that its rules do not tie together were unrelated.")
    assert "do not tie together are taken as unrelated here" in str(found)
    known = np.outer(SHARES["used"], SHARES["age"])
    tied = report(found.design, known, rules=AGE_BY_USE)
    assert "unrelated" not in str(tied)
    for before in ("accuracy_before", "worst_before"):
        assert found.to_dict()["after_mining"][0][before] is None
        assert tied.to_dict()["after_mining"][0][before] is not None


def test_several_conclusions_of_a_model_count_together() -> None:
    both = [*AGE_BY_USE, Rule({"age": "y"}, "used", "yes", 0.99)]
    one, two = drugs("7/10", "7/10"), drugs("7/10", "7/10", rules=both)
    first, second = (found.after_mining["used"].accuracy_with_model for found in (one, two))
    assert first is not None
    assert second is not None
    assert second >= first


def test_the_epsilon_of_a_record_with_undisguised_answers_is_shown_twice() -> None:
    design = Design(TEN, [*APART.groups[:9], Group(["q9"], truthful())])
    found = report(design)
    assert found.epsilon_disguised == pytest.approx(9 * np.log(4), abs=1e-9)
    assert any(
        "Epsilon of the disguised answers together: 12.48; including the undisguised" in said
        for said in found.warnings
    )
    rows = {row[0]: row[1] for row in found.tables()[2].rows}
    assert (rows["disguised"], rows["record"]) == ("12.48", "infinite")
    assert json.loads(found.to_json())["record"]["epsilon_disguised"] == found.epsilon_disguised
    assert report(APART).epsilon_disguised is None


def test_a_published_survey_is_shown_in_its_own_words() -> None:
    survey = survey_from_text(example())
    found = report(survey.design, wording=wording_of(survey))
    page = found.to_html()
    assert str(found).startswith("Health at work\n")
    assert "Health at work" in page
    names = [
        name for name in survey.design.schema.names if f"{name}: " in " ".join(found.sentences)
    ]
    assert names == []


def test_respondents_read_neither_pse_nor_map() -> None:
    found = drugs("7/10", "7/10")
    told = " ".join((*found.sentences, *found.warnings))
    assert "PSE" not in told
    assert "MAP" not in told
    page = found.to_html()
    assert "PSE" not in page[: page.index("For analysts")]
    assert "lying" not in page


def test_a_comparison_says_that_its_records_are_read_as_unrelated() -> None:
    apart = compare_schemes(DRUGS, SHARES, thetas=["3/4"])
    assert "hold only if answers to different questions are unrelated" in apart.lead()[0]
    assert json.loads(apart.to_json())["assumes_unrelated"] is True
    tied = compare_schemes(DRUGS, np.full((2, 2), 0.25), thetas=["3/4"])
    assert "unrelated" not in " ".join(tied.lead())


def test_undisguised_answers_leave_a_limit_for_the_disguised_ones() -> None:
    three = TEN.subset(TEN.names[:3])
    groups = [Group(["q0"], related("3/4")), Group(["q1"], related("3/4"))]
    found = report(Design(three, [*groups, Group(["q2"], truthful())]))
    table = found.tables()[0]
    assert {row[table.heads.index("at most")] for row in table.rows} == {"no limit"}
    # Two copies of a yes/no answer, each reported truly with chance 3/4: right in 75 of 100 cases.
    assert "any one of them is guessed right in at most 75 of 100 cases" in found.sentences[3]
    assert report(APART).bound_disguised is None
