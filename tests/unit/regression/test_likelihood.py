"""Likelihood, score and information against brute force and against differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tacit.core.arrays import Array
from tacit.regression import LogitResult, logit
from tests.support.regressions import DESIGNS, SCHEMA, people, reported

#: Outcome, formula, ordered.
MODELS = [
    ("smokes", "smokes ~ age", False),
    ("income", "income ~ age", False),
    ("income", "income ~ age", True),
    ("smokes", "smokes ~ age + income", False),
    ("income", "income ~ age + smokes", True),
]


def brute_force(fit: LogitResult, theta: Array, data: Any, design: Any) -> float:
    """The log-likelihood by loops over records, true answers and formulas."""
    problem = fit.problem
    outcome, predictors = problem.name, [a.name for a in problem.terms.disguised]
    names = [outcome, *predictors]
    asked = design.channel(names)
    entries = asked.matrix
    matrices = problem.terms.matrices
    cells = list(itertools.product(*(range(SCHEMA[n].size) for n in predictors)))
    k = SCHEMA[outcome].size
    effects, others = np.split(theta, [len(fit.names)])
    ages = np.asarray(data["age"])
    total = 0.0
    for i in range(len(data)):
        report = 0
        for attribute in asked.reported:
            report = report * attribute.size + attribute.code(data[attribute.name].iloc[i])
        logits = [0.0]
        for c in range(1, len(cells)):
            a, b = others[2 * (c - 1) : 2 * c]
            logits.append(a + b * ages[i])
        norm = sum(math.exp(v) for v in logits)
        likelihood = 0.0
        for c in range(len(cells)):
            x = matrices[c][i]
            if fit.title.startswith("Ordered"):
                below = [1 / (1 + math.exp(-(a - x @ effects[k - 1 :]))) for a in effects[: k - 1]]
                p = np.diff([0.0, *below, 1.0])
            else:
                odds = [1.0, *(math.exp(x @ row) for row in effects.reshape(k - 1, -1))]
                p = np.array(odds) / sum(odds)
            for y in range(k):
                likelihood += (
                    entries[report, y * len(cells) + c] * p[y] * math.exp(logits[c]) / norm
                )
        total += math.log(likelihood)
    return total


def points(fit: LogitResult, ordered: bool) -> list[Array]:
    """Parameters near 0; cut points increase."""
    rng = np.random.default_rng(8)
    found = [rng.normal(size=fit.theta.size) for _ in range(3)]
    for theta in found:
        if ordered:
            theta[:2] = np.sort(theta[:2])
    return found


@pytest.mark.parametrize(
    ("design", "outcome", "formula", "ordered"),
    [
        (design, *model)
        for design in ("one group", "two groups", "mixed")
        for model in MODELS
        if (design, model[0]) != ("mixed", "income")  # not disguised there
    ],
)
def test_the_likelihood_equals_brute_force(
    design: str, outcome: str, formula: str, ordered: bool
) -> None:
    chosen = DESIGNS[design]
    data = reported(people(60), chosen)
    fit = logit(formula, data, chosen, ordered=ordered)
    if design == "mixed" and "income" in formula:
        assert not fit.problem.terms.disguised
    for theta in points(fit, ordered):
        expected = brute_force(fit, theta, data, chosen)
        assert fit.likelihood.value(theta) == pytest.approx(expected, abs=1e-8)
        assert fit.likelihood.evaluate(theta).value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("outcome", "formula", "ordered"), MODELS)
def test_score_and_information_are_the_derivatives(
    outcome: str, formula: str, ordered: bool
) -> None:
    design = DESIGNS["one group"]
    fit = logit(formula, reported(people(300), design), design, ordered=ordered)
    theta, step = 0.95 * fit.theta, 1e-5
    found = fit.likelihood.evaluate(theta)
    unit = step * np.eye(theta.size)
    value = fit.likelihood.value
    slopes = [(value(theta + e) - value(theta - e)) / (2 * step) for e in unit]
    np.testing.assert_allclose(found.gradient, slopes, atol=1e-5)
    gradient = lambda at: fit.likelihood.evaluate(at).gradient  # noqa: E731
    curvature = [(gradient(theta - e) - gradient(theta + e)) / (2 * step) for e in unit]
    np.testing.assert_allclose(found.information, curvature, atol=1e-5)
    assert np.abs(fit.likelihood.evaluate(fit.theta).gradient).max() < 1e-5


def test_equal_records_are_handled_once_and_give_the_same_fit() -> None:
    design = DESIGNS["one group"]
    data = reported(people(400), design)
    whole = data.assign(age=data["age"].round(0))
    fit = logit("smokes ~ age + income", whole, design)
    assert len(fit.likelihood.counts) < 150
    assert fit.likelihood.counts.sum() == 400
    spread = whole.assign(tiny=np.arange(400.0))
    other = logit("smokes ~ age + income + tiny", spread, design)
    assert len(other.likelihood.counts) == 400
    assert other.likelihood.value(_without_tiny(other, fit)) == pytest.approx(fit.llf, abs=1e-8)


def _without_tiny(wide: LogitResult, narrow: LogitResult) -> Array:
    """The parameters of the narrow model in the wide one."""
    effects = dict(narrow.params)
    theta = [effects.get(name, 0.0) for name in wide.names]
    others = narrow.theta[len(narrow.names) :].reshape(2, 2)
    return np.concatenate([theta, np.column_stack([others, np.zeros(2)]).ravel()])
