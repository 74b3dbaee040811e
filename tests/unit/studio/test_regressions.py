"""Regressions of the studio: the library's numbers, in words, without small groups."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.core.label_codes import decode
from tacit.errors import DataError
from tacit.records import PatternTable, count_codes
from tacit.regression import LogitResult, logit
from tacit.studio import regressions
from tacit.studio.accounts import Role
from tacit.studio.disclosure import SMALLEST_GROUP, sampled_release
from tacit.studio.recoding import recoded
from tacit.studio.regression_code import python_code
from tacit.studio.regression_request import request_of_form
from tacit.studio.regressions import Regression, coarse, regression
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict
from tests.support.studio import reports, survey, tried

SURVEY = survey()
RELEASE = Release(SURVEY, count_codes(reports(SURVEY, 4000), SURVEY.design.reported))


def fitted(chosen: list[str], **fields: str) -> Regression:
    request = request_of_form(SURVEY, {"outcome": "stole", **fields}, chosen)
    return regression(RELEASE, request)


def library_fit(fit: Regression) -> LogitResult:
    """The same model with the library, by a formula, from the records that the studio used."""
    request = fit.request
    sample = sampled_release(RELEASE, request.names)
    references = zip(request.predictors, request.references, strict=True)
    terms = [f"C(`{p.name}`, contr.treatment(base='{reference}'))" for p, reference in references]
    if request.interaction:
        terms.append("*".join(t for t, p in zip(terms, request.predictors, strict=True) if p))
    formula = f"`{request.outcome.name}` ~ {' + '.join(terms)}"
    counts, design = recoded(sample.counts, SURVEY.design, request.names, {})
    return logit(formula, counts, design, ordered=request.ordered)


@pytest.mark.parametrize(
    ("chosen", "fields"),
    [
        (["site", "often"], {"ref.site": "south"}),
        (["site"], {"outcome": "often"}),
        (["site", "stole"], {"outcome": "often", "kind": "ordered", "ref.stole": "yes"}),
        (["site", "often"], {"first": "site", "second": "often", "ref.often": "daily"}),
        (["often", "stole"], {"outcome": "site"}),
    ],
)
def test_odds_ratios_and_effects_are_those_of_the_library(
    chosen: list[str], fields: dict[str, str]
) -> None:
    fit = fitted(chosen, **fields)
    expected = library_fit(fit)
    assert fit.n_records == expected.nobs == RELEASE.counts.n_records - fit.n_left_out
    rows = [k for k, name in enumerate(expected.names) if "[T." in name]
    assert len(fit.terms) == len(rows)
    names = [re.sub(r"C\(`?(.*?)`?,.*?\)\)", r"\1", expected.names[row]) for row in rows]
    order = [rows[names.index(term.coefficient)] for term in fit.terms]
    numbers = np.column_stack([expected.values, expected.conf_int()])[order]
    stderrs = np.sqrt(np.diag(expected.covariance))[order]
    np.testing.assert_allclose([term.stderr for term in fit.terms], stderrs, rtol=0.05)
    shown = [np.log([term.odds_ratio, term.low, term.high]) for term in fit.terms]
    np.testing.assert_allclose(shown, np.clip(rounded(numbers, stderrs), -700, 700), atol=1e-9)
    assert [term.estimate for term in fit.terms] == pytest.approx([row[0] for row in shown])
    effects = expected.marginal_effects()
    rows_of = {name: row for row, name in enumerate(effects.names)}
    for effect in fit.effects:
        prefix = f"{effect.answer}: " if len(fit.request.outcome.groups) > 2 else ""
        weights = np.zeros(len(rows_of))  # the library's are against the first group
        for label, sign in ((effect.label, 1), (effect.against, -1)):
            if (row := rows_of.get(f"{prefix}{effect.name}[T.{label}]")) is not None:
                weights[row] = sign
        stderr = np.sqrt(weights @ effects.covariance @ weights)
        value, half = weights @ effects.values, 1.959963984540054 * stderr
        found = [[effect.difference, effect.low, effect.high]]
        limits = [[value, value - half, value + half]]
        np.testing.assert_allclose(found, rounded(limits, [stderr]), atol=1e-9)


def rounded(numbers: Any, stderrs: Any) -> list[list[float]]:
    """The library's numbers, rounded as the studio rounds them."""
    return [[coarse(n, s) for n in row] for row, s in zip(numbers, stderrs, strict=True)]


def test_models_of_the_same_records_leave_out_the_same() -> None:
    """Otherwise the mean of many models that somebody merges in many ways tells of all records."""
    first = fitted(["site"])
    assert SMALLEST_GROUP <= first.n_left_out < SMALLEST_GROUP + 10
    assert {fitted(["site", "often"]).n_left_out, fitted(["often"]).n_left_out} == {
        first.n_left_out
    }
    samples = [
        sampled_release(RELEASE, names).counts for names in (["stole", "site"], ["site", "often"])
    ]
    tables = [sample.marginal(["site"]) for sample in samples]
    assert (tables[0] == tables[1]).all()
    fewer = sampled_release(RELEASE, ["stole", "site"], {"site": [1]}).counts
    assert fewer.marginal(["site"])[1] == 0
    whole = RELEASE.counts.marginal(["stole", "site"])[:, 0]
    left = whole - fewer.marginal(["stole", "site"])[:, 0]
    assert SMALLEST_GROUP <= left.sum() < SMALLEST_GROUP + 10
    assert (left != whole - samples[0].marginal(["stole", "site"])[:, 0]).any()


#: Three people have both second answers to plain questions that many people gave.
TWO_PLAIN = Published(
    survey_from_dict(
        {
            "title": "Company",
            "questions": [
                {"name": "stole", "kind": "yes_no", "text": "Did you steal?"},
                *(
                    {
                        "name": name,
                        "kind": "choice",
                        "sensitive": False,
                        "text": "?",
                        "categories": ["a", "b"],
                    }
                    for name in ("site", "job")
                ),
            ],
            "groups": [{"questions": ["stole"], "family": "related", "theta": "4/5"}],
        },
        "survey",
    )
)


#: The reported table of the sample, `stole` x `site` x `job`.
TABLE = np.array([330.0, 102, 177, 2, 160, 90, 115, 1])
CELLS = np.array([*np.ndindex(2, 2, 2)], np.uint8)


def all_digits(table: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """The numbers of a model without rounding, each with the least step of its rounding."""
    counts = PatternTable(TWO_PLAIN.design.reported, CELLS, table)
    monkeypatch.setattr(regressions, "sampled_release", lambda release, *_: release)
    for name in ("coarse", "_two_digits", "round"):
        monkeypatch.setattr(
            regressions, name, lambda number, stderr=0.0: number, raising=name != "round"
        )
    request = request_of_form(TWO_PLAIN, {"outcome": "stole"}, ["site", "job"])
    fit = regression(Release(TWO_PLAIN, counts), request)
    numbers = [(float(fit.llf), 1.0)]
    for term in fit.terms:
        numbers += [(np.log(n), term.stderr / 12.5) for n in (term.odds_ratio, term.low, term.high)]
        numbers += [(term.stderr, term.stderr / 100), (term.pvalue, term.pvalue / 100)]
    for effect in fit.effects:
        step = (effect.high - effect.low) / (2 * 1.96 * 12.5)
        numbers += [(n, step) for n in (effect.difference, effect.low, effect.high)]
    return numbers


@pytest.mark.parametrize(("digits", "least", "most"), [(1.0, 0.7, 1.2), (1e-4, 0.0, 0.1)])
def test_numbers_of_a_model_do_not_tell_the_answers_of_a_few_people(
    digits: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack, linear: all tables of two questions are known, but for 25 records left out.

    It is 0 to 3 of three people who reported yes: a standard deviation of 1.1. The control: with
    four more digits, the model tells how many.
    """
    at = np.array(all_digits(TABLE, monkeypatch))
    slopes = []
    for unit in 0.01 * np.eye(8):
        ends = [np.array(all_digits(TABLE + sign * unit, monkeypatch))[:, 0] for sign in (1, -1)]
        slopes.append((ends[0] - ends[1]) / 0.02)
    slope = np.array(slopes).T
    shares = TABLE / TABLE.sum()
    contrast = 1 - 2.0 * (CELLS.sum(axis=1) % 2)
    moved = 1.25 * np.outer(contrast, contrast)
    unknown = 25 * (np.diag(shares) - np.outer(shares, shares)) + moved
    rounding = np.diag((digits * at[:, 1]) ** 2 / 12)
    gain = unknown @ slope.T @ np.linalg.inv(slope @ unknown @ slope.T + rounding)
    left = unknown - gain @ slope @ unknown
    assert least < np.sqrt(left[-1, -1]) < most


def test_findings_say_what_is_clear_and_what_is_not() -> None:
    fit = fitted(["site", "often"])
    clear = {term.name for term in fit.terms if term.clear}
    assert clear == {"site"}  # 10 % of those in the north steal, 30 % in the south
    (head, text), (unclear, _) = fit.findings
    assert head == "site: south against north."
    assert "times as high" in text
    assert "points more" in text
    assert unclear == "often."


def test_an_interaction_has_no_effect_in_points() -> None:
    fit = fitted(["site", "often"], first="site", second="often")
    together = [term for term in fit.terms if term.name == "site and often"]
    assert [term.label for term in together] == ["south and sometimes", "south and daily"]
    assert {effect.name for effect in fit.effects} == {"site", "often"}
    with pytest.raises(DataError, match="two different predictors"):
        fitted(["site"], first="site", second="often")


@pytest.mark.parametrize(
    ("chosen", "fields", "message"),
    [
        ([], {}, "choose an outcome"),
        (["nothing"], {}, "other questions of the survey"),
        (["stole"], {}, "choose an outcome"),
        (["site"], {"kind": "probit"}, "unknown kind"),
        (["site"], {"outcome": "often", "often.1": "1", "often.2": "1"}, "is disguised"),
        (["often"], {"often.1": "1", "often.2": "1"}, "is disguised"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_the_reason(
    chosen: list[str], fields: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        fitted(chosen, **fields)


def test_a_small_group_is_refused_until_it_is_merged() -> None:
    codes = reports(SURVEY, 1000)
    codes[:, 2] = 0
    codes[:15, 2] = 1
    release = Release(SURVEY, count_codes(codes, SURVEY.design.reported))
    request = request_of_form(SURVEY, {"outcome": "stole"}, ["site"])
    with pytest.raises(DataError, match="fewer than 20 people"):
        regression(release, request)


def test_findings_of_several_answers_say_which_odds_they_are() -> None:
    ordered = fitted(["site"], outcome="often", kind="ordered")
    assert ordered.title == "Odds ratios for often: a higher answer, towards “daily”"
    assert ordered.event(ordered.terms[0]) == "a higher answer (towards “daily”)"
    unordered = fitted(["site"], outcome="often")
    assert [unordered.event(term) for term in unordered.terms] == [
        "“sometimes” rather than “never”",
        "“daily” rather than “never”",
    ]
    assert [effect.answer for effect in unordered.effects] == ["never", "sometimes", "daily"]
    np.testing.assert_allclose(sum(e.difference for e in unordered.effects), 0, atol=1e-12)


@pytest.mark.parametrize("fields", [{}, {"outcome": "often", "kind": "ordered"}])
def test_the_python_code_to_copy_runs_and_gives_the_library_fit(fields: dict[str, str]) -> None:
    request = fitted(["site"], **fields).request
    codes = reports(SURVEY, 4000)
    frame = decode(codes, SURVEY.design.reported, "pandas")

    class Studio:
        design, records = (staticmethod(lambda _, value=v: value) for v in (SURVEY.design, frame))

    code = python_code(request, SURVEY).replace("import tacit\n", "")
    names: dict[str, Any] = {"tacit": SimpleNamespace(connect=lambda *_: Studio())}
    exec(code, names)
    formula = f"{request.outcome.name} ~ site"
    expected = logit(formula, frame, SURVEY.design, ordered=request.ordered)
    np.testing.assert_allclose(names["fit"].values, expected.values)


def test_the_page_and_the_api_show_the_same_numbers(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=2000, closed=True)
    viewer = studio.client(studio.account("viewer", Role.VIEWER))
    query = "outcome=stole&with=site"
    path = f"/surveys/{studio.mine.slug}/regression"
    content = viewer.get(f"/api{path}?{query}").json()
    page = viewer.get(f"{path}?{query}").text
    (term,) = content["terms"]
    assert f"{term['odds_ratio']:.2f}</td>" in page
    assert f"{term['low']:.2f} to {term['high']:.2f}</td>" in page
    (effect,) = content["effects"]
    assert f"{100 * effect['difference']:+.1f}</td>" in page
    refused = viewer.get(f"{path}?outcome=stole&with=site&site.0=out")
    assert refused.status_code == 400
    assert "at least two groups" in refused.text
    studio.store.close()
