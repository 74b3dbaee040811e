"""Regressions of the studio accept every answer and every name of a merged group as a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import disguise
from tacit.records import count_reported
from tacit.regression import Factors
from tacit.studio.regression_code import python_code
from tacit.studio.regression_request import request_of_form
from tacit.studio.regressions import regression
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict

LABELS = ("I don't know", 'say "no"', "a)", "(a", "~10", "a `b`", "back\\", "{1} %in% 2", "é: 5 %")


@pytest.fixture(scope="module")
def release() -> Release:
    """A disguised question, another one, and two that are not disguised, of 3,000 people."""
    choice = {"kind": "choice", "sensitive": False, "text": "?"}
    others = {
        "name": "others",
        "kind": "choice",
        "text": "?",
        "categories": ["don't", "do)", "may"],
    }
    published = Published(
        survey_from_dict(
            {
                "title": "Places",
                "questions": [
                    {"name": "stole", "kind": "yes_no", "text": "?"},
                    others,
                    {"name": "place", "categories": ["a", "b", "c"], **choice},
                    {"name": "shift", "categories": ["isn't: day", "night"], **choice},
                ],
                "groups": [
                    {"questions": ["stole"], "family": "related", "theta": "4/5"},
                    {"questions": ["others"], "family": "uniform_perturbation", "q": "4/5"},
                ],
            },
            "survey",
        )
    )
    rng = np.random.default_rng(4)
    columns = [rng.random(3000) < 0.3, *(rng.integers(n, size=3000) for n in (3, 3, 2))]
    true = np.stack(columns, axis=1).astype(np.uint8)
    reported = disguise(true, published.design, rng)
    return Release(published, count_reported(reported, published.design))


@pytest.mark.parametrize("label", LABELS)
def test_any_name_of_a_merged_group_can_be_the_reference(release: Release, label: str) -> None:
    fields = {"outcome": "stole", "place.0": "1", "place.1": "1", "place.merged1": label}
    request = request_of_form(release.survey, fields | {"ref.place": label}, ["place"])
    fit = regression(release, request)
    (term,), (effect,) = fit.terms, fit.effects
    assert (term.name, term.label, term.against) == ("place", "c", label)
    assert (effect.name, effect.label, effect.against) == ("place", "c", label)


def test_answers_with_quotes_and_brackets_are_references_and_groups(release: Release) -> None:
    fields = {"outcome": "stole", "ref.others": "don't", "first": "others", "second": "shift"}
    request = request_of_form(release.survey, fields, ["others", "shift"])
    fitted = regression(release, request)
    assert [(term.name, term.label, term.against) for term in fitted.terms] == [
        ("others", "do)", "don't"),
        ("others", "may", "don't"),
        ("shift", "night", "isn't: day"),
        ("others and shift", "do) and night", "no interaction"),
        ("others and shift", "may and night", "no interaction"),
    ]


def test_the_shown_call_has_the_factors_that_were_fitted(release: Release) -> None:
    fields = {"outcome": "stole", "ref.others": "do)", "first": "others", "second": "shift"}
    request = request_of_form(release.survey, fields, ["others", "shift"])
    calls: list[Any] = []
    code = python_code(request, release.survey).splitlines()[-3].removeprefix("fit = ")
    names = {"logit": lambda *given: calls.append(given), "Factors": Factors}
    eval(code, {**names, "records": 0, "design": 1})
    assert calls == [("stole", 0, 1, request.factors(release.survey))]
