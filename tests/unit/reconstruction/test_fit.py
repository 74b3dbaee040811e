"""The test of fit: reports that contradict the design are found, told and do not look precise."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from tacit import Attribute, Design, Group, Schema, matrix, reconstruct, related, truthful
from tacit.core.arrays import Array
from tacit.evaluate import accuracy
from tacit.reconstruction import inversion
from tacit.reconstruction.hypotheses import table_fit
from tacit.reconstruction.tables import TableProblem
from tests.support.families import attributes_of

WARNER = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], related("0.7"))])


def reports(yes: int, n: int = 1000) -> Array:
    return (np.arange(n) < yes).astype(np.uint8)[:, None]


def test_50_yes_of_1000_under_warner_contradict_the_design() -> None:
    """At least 300 are likely: G = 2 n (.05 log(.05/.3) + .95 log(.95/.7))."""
    found = reconstruct(reports(50), WARNER).table(["a"])
    expected = 2000 * (0.05 * math.log(0.05 / 0.3) + 0.95 * math.log(0.95 / 0.7))
    assert found.fit is not None
    assert found.fit.statistic == pytest.approx(expected, rel=1e-6)
    assert found.fit.df == 1
    assert found.fit.pvalue == pytest.approx(chi2.sf(expected, 1), rel=1e-4)
    first = str(found).splitlines()[0]
    assert first.startswith("MISFIT: these reports contradict the design (likelihood ratio 401.0")
    assert "MISFIT" in found._repr_html_()
    assert found.to_dict()["fit"]["df"] == 1
    lower, upper = found.interval()
    nearest = reconstruct(reports(300), WARNER).table(["a"]).interval()
    assert (upper - lower >= nearest.upper - nearest.lower - 1e-12).all()


def test_reports_that_agree_with_the_design_are_no_misfit() -> None:
    for yes in (300, 400, 700, 285):
        found = reconstruct(reports(yes), WARNER).probability({"a": "yes"})
        assert found.fit is not None
        assert found.fit.pvalue > 0.05
        assert "MISFIT" not in str(found)


def test_reports_that_are_all_alike_do_not_make_an_impossible_value_certain() -> None:
    found = reconstruct(reports(0), WARNER)
    for estimate in (found.table(["a"]), found.probability({"a": "yes"})):
        assert (estimate.stderr > 0.01).all()


def test_a_contradicted_matrix_of_three_categories_has_no_shorter_interval() -> None:
    M = [[0.6, 0.1, 0.3], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]]
    design = Design(Schema(attributes_of((3,))), [Group(["a0"], matrix(M))])
    channel = design.channel(["a0"])
    possible = TableProblem(channel.disguised(np.array([0.0, 0.3, 0.7])) * 1000, channel, 1, 1000)
    nearest = inversion(possible).interval()
    for counts in ([0, 200, 800], [0, 0, 1000], [20, 280, 700]):
        found = inversion(TableProblem(np.array(counts, float), channel, 1, 1000))
        assert found.value[0] < 0
        width = found.interval().upper[0] - found.interval().lower[0]
        assert width >= nearest.upper[0] - nearest.lower[0] - 1e-9


def test_the_statistic_is_that_of_brute_force_with_more_reported_than_true_categories() -> None:
    M = np.array([[0.7, 0.1, 0.1], [0.1, 0.7, 0.1], [0.1, 0.1, 0.6], [0.1, 0.1, 0.2]])
    design = Design(Schema(attributes_of((3,))), [Group(["a0"], matrix(M.tolist()))])
    counts = np.array([500.0, 30, 60, 110])
    problem = TableProblem(counts, design.channel(["a0"]), 1, 700)

    def loss(z: Array) -> float:
        p = np.exp(z - z.max())
        return -float(counts @ np.log(M @ (p / p.sum())))

    best = min(minimize(loss, z, tol=1e-14).fun for z in np.eye(3) * 3)
    saturated = float(counts @ np.log(counts / 700))
    found = table_fit(problem)
    assert found.statistic == pytest.approx(2 * (saturated + best), abs=1e-4)
    assert found.df in (1, 2, 3)


def test_a_wide_table_is_tested_attribute_by_attribute() -> None:
    names = [f"a{i}" for i in range(14)]
    design = Design(Schema(attributes_of((2,) * 14)), [Group([n], related(0.7)) for n in names])
    codes = np.zeros((200, 14), np.uint8)
    codes[:100, 1:] = 1
    found = reconstruct(codes, design).probability(dict.fromkeys(names, "c0"))
    assert found.fit is not None
    alone = reconstruct(codes, design).table(["a0"]).fit
    assert alone is not None
    assert found.fit.pvalue == pytest.approx(min(1, 14 * alone.pvalue))
    assert found.fit.pvalue < 1e-6


@pytest.mark.slow
def test_under_the_design_a_misfit_is_rare() -> None:
    """With nobody in two of four categories, p < .05 occurs in at most 5 % of surveys.

    A correct program fails this once in a million; the negative control misses the coin.
    """
    design = Design(Schema(attributes_of((2, 2))), [Group(["a0", "a1"], related(0.8))])
    channel = design.channel(["a0", "a1"])
    expected = channel.disguised(np.array([[0.7, 0.0], [0.0, 0.3]]))
    rng = np.random.default_rng(5)
    surveys = rng.multinomial(500, np.abs(expected).ravel(), 300).astype(float)
    tests = [table_fit(TableProblem(c.reshape(2, 2), channel, 2, 500)) for c in surveys]
    assert sum(t.pvalue < 0.05 for t in tests) <= 36  # binom.isf(1e-6, 300, .05) = 36
    wrong = Design(Schema(attributes_of((2, 2))), [Group(["a0", "a1"], related(0.55))])
    other = wrong.channel(["a0", "a1"])
    control = [table_fit(TableProblem(c.reshape(2, 2), other, 2, 500)) for c in surveys]
    assert sum(t.pvalue < 0.05 for t in control) > 36


def test_accuracy_has_a_fit_and_a_pickled_estimate_keeps_its_own() -> None:
    design = Design(
        Schema(attributes_of((2, 2))), [Group(["a0"], related("0.7")), Group(["a1"], truthful())]
    )

    class Constant:
        def predict(self, records: Array) -> Array:
            return np.zeros(len(records), np.intp)

    codes = np.zeros((1000, 2), np.uint8)
    found = accuracy(Constant(), codes, design, "a0")
    assert found.fit is not None
    assert found.fit.pvalue < 1e-6
    table = reconstruct(codes, design).table(["a0"])
    assert pickle.loads(pickle.dumps(table.fit_of))() == table.fit
