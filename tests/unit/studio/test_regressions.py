"""Regressions of the studio: the library's numbers, in words, without small groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.errors import DataError
from tacit.records import count_codes
from tacit.regression import logit
from tacit.studio.accounts import Role
from tacit.studio.disclosure import SMALLEST_GROUP, sampled_release
from tacit.studio.recoding import recoded
from tacit.studio.regressions import Regression, python_code, regression, request_of_form
from tacit.studio.release import Release
from tests.support.studio import reports, survey, tried

SURVEY = survey()
RELEASE = Release(SURVEY, count_codes(reports(SURVEY, 4000), SURVEY.design.reported))


def fitted(chosen: list[str], **fields: str) -> Regression:
    request = request_of_form(SURVEY, {"outcome": "stole", **fields}, chosen)
    return regression(RELEASE, request)


def test_odds_ratios_and_effects_are_those_of_the_library() -> None:
    fit = fitted(["site", "often"], **{"ref.site": "south"})
    sample = sampled_release(RELEASE, ["stole", "site", "often"], repr(fit.request))
    expected = logit(fit.formula, *recoded(sample, ["stole", "site", "often"], {}))
    assert fit.n_records == expected.nobs == sample.counts.n_records
    assert [term.coefficient for term in fit.terms] == list(expected.names[1:])
    for term, (low, high) in zip(fit.terms, expected.conf_int()[1:], strict=True):
        np.testing.assert_allclose(term.estimate, expected.params[term.coefficient])
        limits = np.clip([low, high], -700, 700)  # no limit of a disguised answer is larger
        np.testing.assert_allclose(np.log([term.low, term.high]), limits)
    (north,) = (term for term in fit.terms if term.name == "site")
    assert (north.label, north.against) == ("north", "south")
    effects = expected.marginal_effects()
    np.testing.assert_allclose(north.points, -effects.params["site[T.south]"])  # the other way
    low, high = effects.conf_int()[effects.names.index("site[T.south]")]
    np.testing.assert_allclose((north.points_low, north.points_high), (-high, -low))


def test_each_model_leaves_out_records_of_its_own_and_always_the_same() -> None:
    first, second = fitted(["site"]), fitted(["site", "often"])
    assert SMALLEST_GROUP <= first.n_left_out < SMALLEST_GROUP + 10
    assert first == fitted(["site"])
    keys = [repr(fit.request) for fit in (first, second)]
    samples = [sampled_release(RELEASE, ["stole", "site"], key).counts for key in keys]
    tables = [sample.marginal(["stole", "often", "site"]) for sample in samples]
    assert (tables[0] != tables[1]).any()


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
    assert all(term.points is None for term in together)
    with pytest.raises(DataError, match="two different predictors"):
        fitted(["site"], first="site", second="often")


@pytest.mark.parametrize(
    ("chosen", "fields", "message"),
    [
        ([], {}, "choose an outcome"),
        (["nothing"], {}, "other questions of the survey"),
        (["stole"], {}, "choose an outcome"),
        (["site"], {"outcome": "often"}, "two answers"),
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


def test_the_code_to_copy_names_the_survey_and_the_same_formula() -> None:
    fit = fitted(["site"])
    code = python_code(fit, SURVEY)
    compile(code, "code", "exec")
    assert SURVEY.slug in code
    assert fit.formula in code


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
    assert f"{100 * term['points']:+.1f}</td>" in page
    refused = viewer.get(f"{path}?outcome=often&with=site")
    assert refused.status_code == 400
    assert "two answers" in refused.text
    studio.store.close()
