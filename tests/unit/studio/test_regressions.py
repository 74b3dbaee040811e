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
from tacit.records import count_codes
from tacit.regression import LogitResult, logit
from tacit.studio.accounts import Role
from tacit.studio.disclosure import SMALLEST_GROUP, sampled_release
from tacit.studio.recoding import recoded
from tacit.studio.regression_code import python_code
from tacit.studio.regression_request import request_of_form
from tacit.studio.regressions import Regression, regression
from tacit.studio.release import Release
from tests.support.studio import reports, survey, tried

SURVEY = survey()
RELEASE = Release(SURVEY, count_codes(reports(SURVEY, 4000), SURVEY.design.reported))


def fitted(chosen: list[str], **fields: str) -> Regression:
    request = request_of_form(SURVEY, {"outcome": "stole", **fields}, chosen)
    return regression(RELEASE, request)


def library_fit(fit: Regression) -> LogitResult:
    """The same model with the library, by a formula, from the records that the studio used."""
    request = fit.request
    sample = sampled_release(RELEASE, request.names, request.key(SURVEY))
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
    np.testing.assert_allclose([t.estimate for t in fit.terms], expected.values[order], atol=1e-6)
    limits = np.clip(expected.conf_int()[order], -700, 700)
    shown = np.log([[term.low, term.high] for term in fit.terms])
    np.testing.assert_allclose(shown, limits, atol=1e-4)
    effects = expected.marginal_effects()
    rows_of = {name: row for row, name in enumerate(effects.names)}
    for effect in fit.effects:
        prefix = f"{effect.answer}: " if len(fit.request.outcome.groups) > 2 else ""
        weights = np.zeros(len(rows_of))  # the library's are against the first group
        for label, sign in ((effect.label, 1), (effect.against, -1)):
            if (row := rows_of.get(f"{prefix}{effect.name}[T.{label}]")) is not None:
                weights[row] = sign
        half = 1.959963984540054 * np.sqrt(weights @ effects.covariance @ weights)
        value = weights @ effects.values
        found = (effect.difference, effect.low, effect.high)
        np.testing.assert_allclose(found, (value, value - half, value + half), atol=1e-6)


def test_each_model_leaves_out_records_of_its_own_and_always_the_same() -> None:
    """Names of groups and references change no record: their mean would tell what was left out."""
    first, second = fitted(["site"]), fitted(["site", "often"])
    assert SMALLEST_GROUP <= first.n_left_out < SMALLEST_GROUP + 10
    assert first == fitted(["site"])
    keys = [fit.request.key(SURVEY) for fit in (first, second)]
    samples = [sampled_release(RELEASE, ["stole", "site"], key).counts for key in keys]
    tables = [sample.marginal(["stole", "site"]) for sample in samples]
    assert (tables[0] != tables[1]).any()
    others = fitted(["often", "site"], **{"ref.site": "south", "site.merged1": "other name"})
    assert others.llf == pytest.approx(second.llf)


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
