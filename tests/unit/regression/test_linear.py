"""linear and correlation: corrected moments equal what they should be on exact tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import Attribute, Design, Group, Schema, related, truthful
from tacit.errors import DataError
from tacit.regression import correlation, linear
from tests.support.regressions import DESIGNS, EXACT, people, reported

SCORES = Schema([Attribute("sick", ["no", "yes"]), Attribute("days", [0, 1, 2, 3])])


def expected_reports(design: Design, wide: int = 10_000) -> tuple[Any, Any]:
    """True records and reports whose shares are exactly the expected ones."""
    table = np.array([[0.3, 0.1, 0.1, 0.1], [0.05, 0.05, 0.1, 0.2]])
    names = list(SCORES.names)
    reports = design.channel(names).disguised(table)
    frames = []
    for shares in (table, reports):
        counts = np.round(shares.ravel() * wide).astype(int)
        assert counts.sum() == wide
        assert np.allclose(counts, shares.ravel() * wide)
        cells = [(s, d) for s in ("no", "yes") for d in range(4)]
        frames.append(
            pd.DataFrame(
                [c for c, n in zip(cells, counts, strict=True) for _ in range(n)], columns=names
            )
        )
    return frames[0], frames[1]


@pytest.mark.parametrize(
    "groups",
    [
        [Group(["sick", "days"], related("0.7"))],
        [Group(["sick"], related("0.8")), Group(["days"], related("0.7"))],
        [Group(["sick"], related("0.8")), Group(["days"], truthful())],
    ],
    ids=["one group", "two groups", "one disguised"],
)
def test_expected_reports_give_the_coefficients_of_the_true_records(groups: list[Group]) -> None:
    design = Design(SCORES, groups)
    exact = Design(SCORES, [Group(["sick", "days"], truthful())])
    true, reports = expected_reports(design, 30_000)
    expected = linear("days ~ sick", true, exact)
    found = linear("days ~ sick", reports, design)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
    assert found.rsquared == pytest.approx(expected.rsquared, abs=1e-9)
    assert found.scale == pytest.approx(expected.scale, rel=1e-4)
    assert (np.asarray(found.bse) > np.asarray(expected.bse)).all()
    pair = [correlation("days", "sick", *case) for case in ((true, exact), (reports, design))]
    assert float(pair[1]) == pytest.approx(float(pair[0]), abs=1e-9)
    assert float(pair[1].stderr) > float(pair[0].stderr)


def test_disguised_predictors_are_close_to_the_true_ones_within_their_errors() -> None:
    true = people(20_000)
    expected = linear("wage ~ age + income + C(region)", true, EXACT)
    for design in (DESIGNS["one group"], DESIGNS["two groups"]):
        found = linear("wage ~ age + income + C(region)", reported(true, design), design)
        far = np.abs(found.values - expected.values) / np.asarray(found.bse)
        assert far.max() < 4
        naive = linear("wage ~ age + income + C(region)", reported(true, design), EXACT)
        off = np.abs(naive.values - expected.values) / np.asarray(naive.bse)
        assert off.max() > 10  # the negative control


def test_predictions_and_tests_of_linear_results() -> None:
    fit = linear("wage ~ age + income", people(300), EXACT)
    assert fit.predict(people(300)[:5]) == pytest.approx(fit.predict()[:5])
    assert fit.wald_test("income").df == 2
    assert "R-squared" in str(fit)
    assert fit.to_dict()["rsquared"] == fit.rsquared


def test_too_few_records_for_the_noise_are_an_error() -> None:
    loud = Design(SCORES, [Group(["sick", "days"], related("0.51"))])
    records = pd.DataFrame({"sick": ["no", "yes"] * 4, "days": [0, 1, 2, 3] * 2, "y": range(8)})
    with pytest.raises(DataError, match="8 records are too few for disguised predictors"):
        linear("y ~ sick", records.assign(sick=["no"] * 7 + ["yes"]), loud)
    with pytest.raises(DataError, match="no variance that can be told from the noise"):
        correlation("y", "sick", records.assign(sick=["no"] * 7 + ["yes"]), loud)


def test_intervals_of_correlations_stay_between_the_bounds() -> None:
    found = correlation(
        "age", "smokes", reported(people(100), DESIGNS["one group"]), DESIGNS["one group"]
    )
    lower, upper = found.interval(0.999)
    assert -1 <= float(lower) < float(found) < float(upper) <= 1


def test_correlations_refuse_what_is_no_number() -> None:
    true = people(50)
    with pytest.raises(DataError, match="'income' has more than two categories"):
        correlation("age", "income", true, EXACT)
    with pytest.raises(DataError, match="unknown name 'agee'"):
        correlation("agee", "income", true, EXACT)
    with pytest.raises(DataError, match="two different names"):
        correlation("age", "age", true, EXACT)
    with pytest.raises(DataError, match="'region' has more than two"):
        correlation("age", "region", true, EXACT)
