"""Surveys with known coefficients, to measure the coverage of regressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from tacit.core.channel import Coin
from tacit.regression import linear, logit

YES = Attribute("yes", ["no", "yes"])
DRINKS = Attribute("drinks", ["no", "yes"])
FOUR = Attribute("four", ["a", "b", "c", "d"])
#: Undisguised: a number and a category.
X, Z = Attribute("x", [-1.0, -0.5, 0.0, 0.5, 1.0]), Attribute("z", ["p", "q"])
#: More reports than true answers.
UNSURE = [["7/10", "1/10"], ["1/10", "7/10"], ["1/5", "1/5"]]

Draw = Callable[[int, np.random.Generator], Any]


@dataclass(frozen=True)
class RegressionSurvey:
    """A design, the true codes of n people, a regression and its coefficients."""

    design: Design
    draw: Draw
    fit: Callable[[Any, Design], Any]
    coefficients: tuple[float, ...]
    profile: bool = False

    def covered(self, n: int, rng: np.random.Generator, design: Design | None = None) -> Any:
        """Whether each 95 % interval has its coefficient; None if the fit has a warning.

        `design` is what the analyst takes the design to be, if not the true one.
        """
        reported = disguise(self.draw(n, rng), self.design, rng)
        fit = self.fit(reported, design or self.design)
        lower, upper = (fit.profile_conf_int() if self.profile else fit.conf_int()).T
        truth = np.array(self.coefficients)
        return None if fit.warnings else (lower <= truth) & (truth <= upper)


def _x(codes: Any, place: int) -> Any:
    return np.array(X.categories)[codes[:, place]]


def _draws(chances: Any, rng: np.random.Generator) -> Any:
    """A category for each record with these probabilities, records x categories."""
    return (rng.random((len(chances), 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)


def _yes(eta: Any, rng: np.random.Generator) -> Any:
    return rng.random(len(eta)) < 1 / (1 + np.exp(-eta))


def _with_covariates(draw: Callable[[Any, Any, np.random.Generator], list[Any]]) -> Draw:
    """True codes: the answers that `draw` makes from x and z, then x and z."""

    def drawn(n: int, rng: np.random.Generator) -> Any:
        x, z = rng.integers(0, X.size, n), rng.integers(0, 2, n)
        answers = draw(np.array(X.categories)[x], z, rng)
        return np.column_stack([*answers, x, z]).astype(np.uint8)

    return drawn


@_with_covariates
def _two(x: Any, z: Any, rng: np.random.Generator) -> list[Any]:
    return [_yes(-0.5 + 0.8 * x + 0.5 * z, rng)]


@_with_covariates
def _four(x: Any, z: Any, rng: np.random.Generator) -> list[Any]:
    odds = np.exp(np.outer(x, [0, 0.5, 0, -0.7]) + np.array([0, 0.3, 0, -0.2]))
    return [_draws(odds / odds.sum(axis=1, keepdims=True), rng)]


@_with_covariates
def _ordered(x: Any, z: Any, rng: np.random.Generator) -> list[Any]:
    return [np.digitize(0.8 * x + 0.5 * z + rng.logistic(size=len(x)), [-1, 0.3, 1.5])]


@_with_covariates
def _pair(x: Any, z: Any, rng: np.random.Generator) -> list[Any]:
    """Drinking depends on x, and the other answer on both."""
    drinks = _yes(-0.4 + 0.6 * x, rng)
    return [_yes(-0.7 + 0.6 * x + 0.9 * drinks, rng), drinks]


#: A number of working hours, disguised as one of four.
HOURS = Attribute("hours", [0, 1, 2, 3])


@_with_covariates
def _hours(x: Any, z: Any, rng: np.random.Generator) -> list[Any]:
    """The mean of hours is 1 + 0.3 x + 0.6 drinks."""
    drinks = _yes(-0.4 + 0.6 * x, rng)
    mean = (1 + 0.3 * x + 0.6 * drinks) / 3
    return [rng.binomial(3, mean), drinks]


def _design(*groups: tuple[list[Attribute], Coin]) -> Design:
    open_answers = ([X, Z], truthful())
    listed = [*groups, open_answers]
    schema = Schema([attribute for attributes, _ in listed for attribute in attributes])
    return Design(
        schema, [Group([a.name for a in attributes], coin) for attributes, coin in listed]
    )


def _by_matrix(name: str, *columns: str, **options: Any) -> Callable[[Any, Design], Any]:
    """A logit by a matrix of covariates, which is faster than a formula."""

    def fit(codes: Any, design: Design) -> Any:
        known = {
            "constant": np.ones(len(codes)),
            "x": _x(codes, design.schema.index("x")),
            "z": codes[:, design.schema.index("z")].astype(float),
        }
        chosen = {column: known[column] for column in columns}
        return logit(name, codes, design, covariates=chosen, **options)

    return fit


SURVEYS = {
    "two categories, forced response": RegressionSurvey(
        _design(([YES], forced("2/3", ["1/2", "1/2"]))),
        _two,
        _by_matrix("yes", "constant", "x", "z"),
        (-0.5, 0.8, 0.5),
    ),
    "two categories, Warner, sandwich": RegressionSurvey(
        _design(([YES], related("0.8"))),
        _two,
        _by_matrix("yes", "constant", "x", "z", robust=True),
        (-0.5, 0.8, 0.5),
    ),
    "two categories, Warner": RegressionSurvey(
        _design(([YES], related("0.8"))),
        _two,
        _by_matrix("yes", "constant", "x", "z"),
        (-0.5, 0.8, 0.5),
    ),
    "two categories, Warner, profile": RegressionSurvey(
        _design(([YES], related("0.8"))),
        _two,
        _by_matrix("yes", "constant", "x", "z"),
        (-0.5, 0.8, 0.5),
        profile=True,
    ),
    "four categories": RegressionSurvey(
        _design(([FOUR], uniform_perturbation("0.7"))),
        _four,
        _by_matrix("four", "constant", "x"),
        (0.3, 0.5, 0.0, 0.0, -0.2, -0.7),
    ),
    "four ordered categories": RegressionSurvey(
        _design(([FOUR], uniform_perturbation("0.7"))),
        _ordered,
        _by_matrix("four", "x", "z", ordered=True),
        (-1.0, 0.3, 1.5, 0.8, 0.5),
    ),
    "two groups, disguised predictor": RegressionSurvey(
        _design(([YES], related("0.85")), ([DRINKS], related("0.85"))),
        _pair,
        lambda codes, design: logit("yes ~ x + drinks", codes, design),
        (-0.7, 0.6, 0.9),
    ),
    "one group, disguised predictor": RegressionSurvey(
        _design(([YES, DRINKS], related("0.8"))),
        _pair,
        lambda codes, design: logit("yes ~ x + drinks", codes, design),
        (-0.7, 0.6, 0.9),
    ),
    "mixed: matrix and truthful": RegressionSurvey(
        _design(([YES], matrix(UNSURE)), ([DRINKS], truthful())),
        _pair,
        lambda codes, design: logit("yes ~ x + drinks", codes, design),
        (-0.7, 0.6, 0.9),
    ),
    "linear, both disguised": RegressionSurvey(
        _design(([HOURS], uniform_perturbation("0.7")), ([DRINKS], related("0.85"))),
        _hours,
        lambda codes, design: linear("hours ~ x + drinks", codes, design),
        (1.0, 0.3, 0.6),
    ),
}
