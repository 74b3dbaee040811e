"""Models of people who do not follow the instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from tacit import Attribute, Design, Group, Schema, crosswise, forced, related, truthful
from tacit.compliance import Careless, Cheaters, LyingCarriers
from tacit.compliance.mixture import ReportMixture
from tacit.errors import TacitError
from tacit.survey import survey_from_dict
from tests.support.compliance import YES_NO, design_of, log_likelihood_at, records_of, sample

Counts = tuple[int, int]
ANCHOR = Attribute("anchor", ["no", "yes"])


def forced_yes(p: str) -> Any:
    """Yes if the die says so, with probability p; else the truth."""
    return forced(f"{1 - float(p):.12g}", [0, 1])


def two_samples(first: Counts, second: Counts, p1: str, p2: str) -> Any:
    return [sample(first, forced_yes(p1)), sample(second, forced_yes(p2))]


def with_anchor(coin: Any, anchor_coin: Any) -> Design:
    return Design(Schema([YES_NO, ANCHOR]), [Group(["drug"], coin), Group(["anchor"], anchor_coin)])


def expanded(counts: Any) -> Any:
    """Codes of two yes/no attributes with these counts."""
    cells = np.array([(i, j) for i in range(2) for j in range(2)])
    return np.repeat(cells, np.asarray(counts).ravel(), axis=0)


def test_cheaters_equal_the_closed_form_of_clark_and_desharnais() -> None:
    """l_j = pi + beta p_j: solved for pi (honest yes), beta (honest no), gamma (cheaters)."""
    l1, l2, p1, p2, n = 0.35, 0.60, 0.2, 0.6, 1000
    found = Cheaters("no").fit(two_samples((650, 350), (400, 600), "0.2", "0.6"))
    pi, beta = (p2 * l1 - p1 * l2) / (p2 - p1), (l2 - l1) / (p2 - p1)
    v1, v2 = l1 * (1 - l1) / n, l2 * (1 - l2) / n
    assert found.at_least is not None
    assert found.at_most is not None
    np.testing.assert_allclose(found.at_least.value, [beta, pi], atol=1e-8)
    np.testing.assert_allclose(found.at_most.value, [1 - pi, 1 - beta], atol=1e-8)
    np.testing.assert_allclose(found.value, [beta / (beta + pi), pi / (beta + pi)], atol=1e-8)
    np.testing.assert_allclose(float(found.share), 1 - pi - beta, atol=1e-8)
    gamma_error = (((1 - p2) ** 2 * v1 + (1 - p1) ** 2 * v2) / (p2 - p1) ** 2) ** 0.5
    np.testing.assert_allclose(found.share.stderr, gamma_error, rtol=1e-6)
    pi_error = ((p2**2 * v1 + p1**2 * v2) / (p2 - p1) ** 2) ** 0.5
    np.testing.assert_allclose(found.at_least.stderr[1], pi_error, rtol=1e-6)


def test_lying_carriers_equal_the_closed_form_of_the_stochastic_lie_detector() -> None:
    """l_j = pi t + (1 - pi) (1 - p_j), where 1 - p_j is the chance that a non-carrier says yes."""
    l1, l2, p1, p2, n = 0.35, 0.60, 0.8, 0.4, 1000
    found = LyingCarriers("no").fit(two_samples((650, 350), (400, 600), "0.2", "0.6"))
    pi = (l2 - l1 + p2 - p1) / (p2 - p1)
    t = (l2 * (1 - p1) - l1 * (1 - p2)) / (l2 - l1 + p2 - p1)
    v1, v2 = l1 * (1 - l1) / n, l2 * (1 - l2) / n
    np.testing.assert_allclose(found.value, [1 - pi, pi], atol=1e-8)
    np.testing.assert_allclose(float(found.share), 1 - t, atol=1e-8)
    np.testing.assert_allclose(found.stderr[1], (v1 + v2) ** 0.5 / abs(p2 - p1), rtol=1e-6)
    slopes = np.array([p2 + l2 - 1, p1 + l1 - 1]) * (p1 - p2) / (p1 - p2 + l1 - l2) ** 2
    t_error = (slopes**2 @ [v1, v2]) ** 0.5
    np.testing.assert_allclose(found.share.stderr, t_error, rtol=1e-6)


def test_careless_answers_of_apart_samples_equal_the_bias_corrected_estimator() -> None:
    """Atsusaka & Stevenson (2023): attentive share from the anchor, then crosswise."""
    samples = [
        sample([600, 1400], crosswise("0.15")),
        (records_of([450, 1550]), design_of(crosswise("0.15"), ANCHOR)),
    ]
    found = Careless("anchor", [1, 0]).fit(samples, "drug")
    p, seen, anchor = 0.15, 0.7, 0.775
    attentive = (anchor - 0.5) / (0.5 - p)
    pi = ((seen - 0.5) / attentive + 0.5 - (1 - p)) / (2 * p - 1)
    np.testing.assert_allclose(float(found.share), 1 - attentive, atol=1e-8)
    np.testing.assert_allclose(found.value[1], pi, atol=1e-8)


def test_an_anchor_that_contradicts_its_known_answer_shows_as_misfit() -> None:
    anchor = records_of([450, 1550]), design_of(crosswise("0.15"), ANCHOR)
    found = Careless("anchor", [0, 1]).fit([sample([600, 1400], crosswise("0.15")), anchor], "drug")
    assert float(found.share) > 0.999
    assert found.fit.pvalue < 1e-6


def test_pairs_of_reports_identify_careless_answers() -> None:
    design = with_anchor(crosswise("0.15"), crosswise("0.2"))
    honest = design.channel(["drug", "anchor"]).disguised(np.array([[0.7, 0.0], [0.3, 0.0]]))
    counts = np.rint(100_000 * (0.8 * honest + 0.2 / 4)).astype(int)
    found = Careless("anchor", [1, 0]).fit([(expanded(counts), design)])
    np.testing.assert_allclose(found.value, [0.7, 0.3], atol=1e-4)
    np.testing.assert_allclose(float(found.share), 0.2, atol=1e-4)
    assert found.fit.df == 1
    assert found.fit.pvalue > 0.9
    assert found.test.pvalue < 1e-6


def test_the_likelihood_of_pairs_equals_a_sum_over_the_classes_of_each_record() -> None:
    design = with_anchor(crosswise("0.15"), crosswise("0.2"))
    model = Careless("anchor", ["3/4", "1/4"])
    (read,), target = model.read([(expanded([[5, 9], [7, 3]]), design)], "drug")
    mixture = ReportMixture((read.counts,), (np.column_stack(model.matrices(read, target)),))
    p, b = (0.6, 0.4), 0.1
    total = 0.0
    for y in range(2):
        for z in range(2):
            careful = sum(
                p[c] * (0.75, 0.25)[d] * (0.15 if y == c else 0.85) * (0.2 if z == d else 0.8)
                for c in range(2)
                for d in range(2)
            )
            n = ((5, 9), (7, 3))[y][z]
            total += n * np.log((1 - b) * careful + b / 4)
    shares = np.array([0.9 * 0.6, 0.9 * 0.4, 0.1])
    assert abs(log_likelihood_at(mixture, shares) - total) < 1e-8


def test_the_control_question_of_a_survey_is_the_anchor() -> None:
    question = {"name": "drug", "kind": "yes_no", "text": "Drugs?"}
    control = {"name": "anchor", "kind": "yes_no", "text": "Born early?", "sensitive": False}
    survey = {
        "title": "A survey",
        "questions": [question, control],
        "groups": [{"questions": ["drug"], "family": "related", "theta": "2/3"}],
    }
    with pytest.raises(TacitError, match="no control question"):
        Careless.of_survey(survey_from_dict(survey))
    known = {"control": {"question": "anchor", "distribution": ["3/4", "1/4"]}}
    made = survey_from_dict(survey | known)
    assert Careless.of_survey(made) == Careless("anchor", ["3/4", "1/4"])


def test_three_categories_have_cheaters() -> None:
    attribute = Attribute("kind", ["never", "once", "often"])
    shares, cheaters = np.array([0.5, 0.3, 0.1]), 0.1
    samples = []
    for theta in ("0.8", "0.5"):
        design = design_of(related(theta), attribute)
        reported = design.channel(["kind"]).matrix @ shares + cheaters * np.eye(3)[0]
        samples.append((records_of(np.rint(20_000 * reported).astype(int)), design))
    found = Cheaters("never").fit(samples)
    np.testing.assert_allclose(found.value, shares / 0.9, atol=1e-3)
    np.testing.assert_allclose(float(found.share), cheaters, atol=1e-3)
    assert found.fit.df == 1


def test_everybody_complies_where_the_estimate_says_so() -> None:
    """Reports with more yes than honest people give: share 0, p-value 1, and the limits hold it."""
    found = Cheaters("no").fit(two_samples((640, 360), (280, 720), "0.2", "0.6"))
    assert float(found.share) == 0
    assert found.test.statistic == 0
    assert found.test.pvalue == 1
    lower, upper = found.share.interval()
    assert lower == 0
    assert 0 < upper < 0.2


def test_the_test_of_compliance_halves_the_p_value() -> None:
    found = Cheaters("no").fit(two_samples((650, 350), (400, 600), "0.2", "0.6"))
    np.testing.assert_allclose(found.test.pvalue, chi2.sf(found.test.statistic, 1) / 2)
    assert {"distribution", "share", "test", "fit", "at_least"} <= set(found.to_dict())
    assert "share of cheaters" in str(found)
    assert "<table>" in found._repr_html_()


def test_intervals_stay_inside_0_and_1_where_nothing_is_known() -> None:
    found = LyingCarriers().fit(two_samples((9, 1), (5, 5), "0.1", "0.5"))
    for estimate in (found.distribution, found.share):
        lower, upper = estimate.interval()
        assert np.all((lower >= 0) & (upper <= 1) & (lower <= upper))
        assert np.all(np.isfinite(estimate.stderr))


THREE = Attribute("drug", ["no", "once", "often"])


@pytest.mark.parametrize(
    ("model", "samples", "message"),
    [
        (Cheaters(), [sample([60, 40], related("0.7"))], "use two samples whose coins differ"),
        (
            Cheaters(),
            [sample([60, 40], related("0.7")), sample([55, 45], related("0.7"))],
            "cannot identify the share of cheaters.*sensitivity",
        ),
        (LyingCarriers(), [sample([60, 40], related("0.7"))], "cannot identify"),
        (LyingCarriers(), [sample([60, 40, 9], related("0.7"), THREE)], "yes/no answer"),
        (Careless(), [sample([60, 40], crosswise("0.2"))], "ask an anchor question"),
        (Careless("anchor", [1, 0]), [sample([60, 40], crosswise("0.2"))], "'anchor'"),
        (Cheaters("nein"), [sample([60, 40], related("0.7"))], "unknown answer 'nein'"),
        (Cheaters(), sample([60, 40], truthful()), "list of pairs"),
    ],
)
def test_what_cannot_be_estimated_is_refused(model: Any, samples: Any, message: str) -> None:
    with pytest.raises(TacitError, match=message):
        model.fit(samples)


def test_known_shares_of_another_number_are_refused() -> None:
    design = with_anchor(crosswise("0.15"), truthful())
    with pytest.raises(TacitError, match="known needs 2 shares"):
        Careless("anchor", ["1/2", "1/4", "1/4"]).fit([(expanded([[5, 5], [5, 5]]), design)])
