"""Designs that plans are checked on by simulation, and what really comes out of such surveys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tacit import Attribute, Design, Group, Schema
from tacit.core.arrays import Array
from tacit.core.channel import (
    Coin,
    crosswise,
    forced,
    frapp,
    matrix,
    related,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.plan import SurveyPlan, plan
from tacit.reconstruction.comparisons import GroupShares
from tests.statistical.inference_study import stacked, surveys

LEVEL = 0.95
SEX = Attribute("sex", ["man", "woman"])


@dataclass(frozen=True)
class PlannedCase:
    """A design with a yes/no or k-ary question "q", groups by "sex", and what is planned."""

    design: Design
    prevalence: Any
    width: float
    null: float
    difference: float

    def wishes(self, **given: Any) -> SurveyPlan:
        """The plan of "q" with these wishes."""
        return plan(self.design, prevalence=self.shares, attribute="q", **given)

    @property
    def shares(self) -> dict[str, Any]:
        return {"q": self.prevalence}

    @property
    def own(self) -> Array:
        """The distribution of "q"; its last category is the one planned for."""
        size = self.design.schema["q"].size
        rest = (1 - self.prevalence) / (size - 1)
        return np.array([*[rest] * (size - 1), self.prevalence])

    def table(self, difference: float = 0.0) -> Array:
        """The joint distribution of all attributes: "q" depends on "sex", the others on nothing."""
        share = self.own[-1] + difference
        women = np.append(self.own[:-1] / self.own[:-1].sum() * (1 - share), share)
        both = 0.5 * np.array([self.own, women]).T
        others = [
            np.append(np.full(a.size - 1, 0.8 / (a.size - 1)), 0.2)
            for a in self.design.schema.attributes[2:]
        ]
        return np.asarray(reduce(np.multiply.outer, others, both))


def _case(coin: Coin, size: int, prevalence: float, *numbers: float) -> PlannedCase:
    labels = [f"c{i}" for i in range(size)]
    schema = Schema([Attribute("q", labels), SEX])
    design = Design(schema, [Group(["q"], coin), Group(["sex"], truthful())])
    return PlannedCase(design, prevalence, *numbers)


def _grouped(coin: Coin, *numbers: float) -> PlannedCase:
    """Three questions and the sex under one coin."""
    labels = ["no", "yes"]
    names = ["q", "sex", "r", "s"]
    schema = Schema([Attribute("q", labels), SEX, *(Attribute(n, labels) for n in names[2:])])
    return PlannedCase(Design(schema, [Group(names, coin)]), *numbers)


CASES = {
    "related(.7)": _case(related("0.7"), 2, 0.2, 0.05, 0.1, 0.15),
    "unrelated(.6)": _case(unrelated("0.6", ["3/4", "1/4"]), 2, 0.1, 0.03, 0.05, 0.1),
    "forced(2/3)": _case(forced("2/3", ["1/2", "1/2"]), 2, 0.2, 0.05, 0.1, 0.1),
    "crosswise(1/4)": _case(crosswise("1/4"), 2, 0.05, 0.04, 0.0, 0.1),
    "uniform_perturbation(.5), k = 5": _case(uniform_perturbation("0.5"), 5, 0.3, 0.04, 0.2, -0.1),
    "frapp(6), k = 4": _case(frapp(6), 4, 0.1, 0.03, 0.05, 0.1),
    "matrix, 4 reports of 3": _case(
        matrix(
            [
                ["0.6", "0.1", "0.1"],
                ["0.1", "0.6", "0.1"],
                ["0.1", "0.1", "0.6"],
                ["0.2", "0.2", "0.2"],
            ]
        ),
        3,
        0.2,
        0.04,
        0.1,
        0.1,
    ),
    "unrelated(.6), four questions": _grouped(
        unrelated("0.6", ["1/2", "1/2"]), 0.2, 0.05, 0.1, 0.2
    ),
    "related(.8), four questions": _grouped(related("0.8"), 0.2, 0.05, 0.1, 0.15),
}


def simulated_width(case: PlannedCase, n: int, runs: int, rng: Any) -> float:
    """The mean half width of the printed intervals."""
    lower, upper = _limits(case, n, runs, rng)
    return float(np.mean(upper - lower) / 2)


def simulated_null_power(case: PlannedCase, n: int, runs: int, rng: Any) -> float:
    """How often the printed interval excludes the null."""
    lower, upper = _limits(case, n, runs, rng)
    return float(np.mean((case.null < lower) | (upper < case.null)))


def _limits(case: PlannedCase, n: int, runs: int, rng: Any) -> tuple[Array, Array]:
    """The intervals of the planned category in many surveys."""
    found = [rec.table(["q"]) for rec in surveys(case.design, case.table(), n, runs, rng)]
    lower, upper = stacked(found)
    return lower[:, -1], upper[:, -1]


def simulated_group_power(case: PlannedCase, n: int, runs: int, rng: Any) -> float:
    """How often the printed interval of the difference excludes 0."""
    table = case.table(case.difference)
    found = [rec._compared(*question(case)) for rec in surveys(case.design, table, n, runs, rng)]
    lower, upper = difference_limits(found)
    return float(np.mean((lower > 0) | (upper < 0)))


def question(case: PlannedCase) -> tuple[Any, Any]:
    """The planned category, and the two groups."""
    event = {"q": case.design.schema["q"].categories[-1]}
    return event, ({"sex": "woman"}, {"sex": "man"})


def difference_limits(found: list[GroupShares]) -> tuple[Array, Array]:
    """The intervals of many differences at once, as `GroupShares.difference` has them one each."""
    lower, upper = stacked([each.shares for each in found])
    share = np.clip([each.shares.value for each in found], 0, 1)
    covariance = np.array([each.shares.covariance for each in found])
    scale = np.sqrt(covariance[:, 0, 0] * covariance[:, 1, 1])
    correlation = covariance[:, 0, 1] / np.where(scale > 0, scale, 1)
    below, above = share - lower, upper - share

    def reach(a: Array, b: Array) -> Array:
        return np.asarray(np.sqrt(np.maximum(a**2 - 2 * correlation * a * b + b**2, 0)))

    middle = share[:, 0] - share[:, 1]
    return middle - reach(below[:, 0], above[:, 1]), middle + reach(above[:, 0], below[:, 1])
