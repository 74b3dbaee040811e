"""Surveys with known coefficients, to measure the coverage of regressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    disguise,
    forced,
    matrix,
    related,
    truthful,
    uniform_perturbation,
)
from tacit.regression import linear, logit

YES = Attribute("yes", ["no", "yes"])
DRINKS = Attribute("drinks", ["no", "yes"])
FOUR = Attribute("four", ["a", "b", "c", "d"])
#: More reports than true answers.
UNSURE = [["7/10", "1/10"], ["1/10", "7/10"], ["1/5", "1/5"]]


@dataclass(frozen=True)
class RegressionSurvey:
    """A design, the true records of a survey of n people, a regression and its coefficients."""

    design: Design
    draw: Callable[[int, np.random.Generator], pd.DataFrame]
    fit: Callable[[Any, Design], Any]
    coefficients: tuple[float, ...]

    def reported(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """The reports of n people, with their undisguised columns."""
        true = self.draw(n, rng)
        names = list(self.design.schema.names)
        return disguise(true[names], self.design, rng).assign(**true.drop(columns=names))

    def covered(self, n: int, rng: np.random.Generator, design: Design | None = None) -> Any:
        """Whether each 95 % interval has its coefficient; None if the fit has a warning.

        `design` is what the analyst takes the design to be, if not the true one.
        """
        fit = self.fit(self.reported(n, rng), design or self.design)
        if hasattr(fit, "conf_int"):
            if fit.warnings:
                return None
            lower, upper = fit.conf_int().T
        else:
            lower, upper = (np.atleast_1d(end) for end in fit.interval())
        truth = np.array(self.coefficients)
        return (lower <= truth) & (truth <= upper)


def _base(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"x": rng.integers(-2, 3, n) / 2, "z": rng.choice(["p", "q"], n)}


def _labels(attribute: Attribute, codes: Any) -> Any:
    return np.array(attribute.categories, object)[codes]


def _two(n: int, rng: np.random.Generator) -> pd.DataFrame:
    base = _base(n, rng)
    eta = -0.5 + 0.8 * base["x"] + 0.5 * (base["z"] == "q")
    yes = rng.random(n) < 1 / (1 + np.exp(-eta))
    return pd.DataFrame({"yes": _labels(YES, yes.astype(int)), **base})


def _four(n: int, rng: np.random.Generator) -> pd.DataFrame:
    base = _base(n, rng)
    eta = np.outer(base["x"], [0, 0.5, 0, -0.7]) + np.array([0, 0.3, 0, -0.2])
    chances = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > np.cumsum(chances, axis=1)).sum(axis=1)
    return pd.DataFrame({"four": _labels(FOUR, codes), **base})


def _ordered(n: int, rng: np.random.Generator) -> pd.DataFrame:
    base = _base(n, rng)
    latent = 0.8 * base["x"] + 0.5 * (base["z"] == "q") + rng.logistic(size=n)
    return pd.DataFrame({"four": _labels(FOUR, np.digitize(latent, [-1, 0.3, 1.5])), **base})


def _pair(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Drinking depends on x, and the other answer on both."""
    base = _base(n, rng)
    drinks = rng.random(n) < 1 / (1 + np.exp(0.4 - 0.6 * base["x"]))
    eta = -0.7 + 0.6 * base["x"] + 0.9 * drinks
    yes = rng.random(n) < 1 / (1 + np.exp(-eta))
    answers = {"yes": _labels(YES, yes.astype(int)), "drinks": _labels(DRINKS, drinks.astype(int))}
    wage = 1 + 0.5 * base["x"] + 0.8 * drinks + rng.normal(size=n)
    return pd.DataFrame({**answers, **base, "wage": wage})


ONE_YES = Schema([YES])
BOTH = Schema([YES, DRINKS])
SURVEYS = {
    "two categories, forced response": RegressionSurvey(
        Design(ONE_YES, [Group(["yes"], forced("2/3", ["1/2", "1/2"]))]),
        _two,
        lambda data, design: logit("yes ~ x + z", data, design),
        (-0.5, 0.8, 0.5),
    ),
    "two categories, Warner, sandwich": RegressionSurvey(
        Design(ONE_YES, [Group(["yes"], related("0.8"))]),
        _two,
        lambda data, design: logit("yes ~ x + z", data, design, robust=True),
        (-0.5, 0.8, 0.5),
    ),
    "four categories": RegressionSurvey(
        Design(Schema([FOUR]), [Group(["four"], uniform_perturbation("0.7"))]),
        _four,
        lambda data, design: logit("four ~ x", data, design),
        (0.3, 0.5, 0.0, 0.0, -0.2, -0.7),
    ),
    "four ordered categories": RegressionSurvey(
        Design(Schema([FOUR]), [Group(["four"], uniform_perturbation("0.7"))]),
        _ordered,
        lambda data, design: logit("four ~ x + z", data, design, ordered=True),
        (-1.0, 0.3, 1.5, 0.8, 0.5),
    ),
    "two groups, disguised predictor": RegressionSurvey(
        Design(BOTH, [Group(["yes"], related("0.85")), Group(["drinks"], related("0.85"))]),
        _pair,
        lambda data, design: logit("yes ~ x + drinks", data, design),
        (-0.7, 0.6, 0.9),
    ),
    "one group, disguised predictor": RegressionSurvey(
        Design(BOTH, [Group(["yes", "drinks"], related("0.8"))]),
        _pair,
        lambda data, design: logit("yes ~ x + drinks", data, design),
        (-0.7, 0.6, 0.9),
    ),
    "mixed: matrix and truthful": RegressionSurvey(
        Design(BOTH, [Group(["yes"], matrix(UNSURE)), Group(["drinks"], truthful())]),
        _pair,
        lambda data, design: logit("yes ~ x + drinks", data, design),
        (-0.7, 0.6, 0.9),
    ),
    "linear, disguised predictor": RegressionSurvey(
        Design(BOTH, [Group(["yes", "drinks"], related("0.8"))]),
        _pair,
        lambda data, design: linear("wage ~ x + drinks", data, design),
        (1.0, 0.5, 0.8),
    ),
}
