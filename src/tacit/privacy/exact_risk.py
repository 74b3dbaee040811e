"""The exact risk of a part of a record whose joint table fits in memory.

The table of the prior is passed through the channel group by group (see `kernels`), with every
group's sum, squares or largest product as the target asks; the Kronecker product of the groups
is never built, and a prior that ties groups together is no obstacle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array, Mask
from tacit.core.design import Factor
from tacit.core.schema import Schema
from tacit.privacy.kernels import Kernel, Step, along_axis, kernel_of
from tacit.privacy.prior import Prior
from tacit.privacy.risk import Risk, add, joint_risk, risk_of_sums, slack_of, uncertainty


@dataclass(frozen=True)
class JointGroups:
    """Groups that the prior ties together, with its tables: one axis per group, then the priors."""

    factors: tuple[Factor, ...]
    kernels: tuple[Kernel, ...]
    schema: Schema
    prior: Array

    @property
    def slack(self) -> float:
        """A bound on the relative error of what is computed from this part."""
        length = sum(kernel.length for kernel in self.kernels)
        return slack_of(length + 2 * self.prior.size.bit_length())


def part_of(factors: Sequence[Factor], prior: Prior) -> JointGroups:
    """The groups of one part with the joint table of their attributes."""
    names = [name for factor in factors for name in factor.names]
    sizes = [math.prod(factor.channel.true_shape) for factor in factors]
    table = prior.table(names).reshape(*sizes, -1)
    kernels = tuple(kernel_of(factor.channel) for factor in factors)
    return JointGroups(tuple(factors), kernels, prior.schema, table)


def reports_of(part: JointGroups) -> Array:
    """The probability of every report: one axis per group, then the priors."""
    return _pass(part, part.prior, Step.TOTAL, range(len(part.factors)))


def risk_of_all(part: JointGroups) -> Risk:
    """The risk of the whole part, to someone who sees all its reports."""
    return _risk(part, part.prior, list(range(len(part.factors))), _flat(part.prior))


def risk_of_group(part: JointGroups, place: int, passed: Array | None = None) -> Risk:
    """The risk of the joint answer of one group, to someone who sees all reports of the part.

    `passed` is the table in which all other groups are reports, if it is known already.
    """
    others = _others(part, place)
    table = _pass(part, part.prior, Step.TOTAL, others) if passed is None else passed
    return _risk(part, table, [place], part.prior.sum(axis=tuple(others)))


def risk_of_attribute(part: JointGroups, name: str, passed: Array | None = None) -> Risk:
    """The risk of one attribute, to someone who sees all reports of the part."""
    place = next(i for i, factor in enumerate(part.factors) if name in factor.names)
    if part.factors[place].names == (name,):
        return risk_of_group(part, place, passed)
    joint = joint_of_attribute(part, name, passed)
    return joint_risk(joint.reshape(len(joint), -1, joint.shape[-1]), part.slack)


def joint_of_attribute(part: JointGroups, name: str, passed: Array | None = None) -> Array:
    """P(category of an attribute, report): an axis for its categories, then those of reports."""
    place = next(i for i, factor in enumerate(part.factors) if name in factor.names)
    others = _pass(part, part.prior, Step.TOTAL, _others(part, place)) if passed is None else passed
    masks = _masks(part, place, name)
    return np.stack([_pass(part, others * mask, Step.TOTAL, [place]) for mask in masks])


def passed_by_group(part: JointGroups) -> Iterator[tuple[int, Array]]:
    """For each group, the table in which all others are reports; halves share their passes."""
    waiting = [(list(range(len(part.factors))), part.prior)]
    while waiting:
        places, table = waiting.pop()
        if len(places) == 1:
            yield places[0], table
            continue
        middle = len(places) // 2
        for own, others in ((places[:middle], places[middle:]), (places[middle:], places[:middle])):
            waiting.append((own, _pass(part, table, Step.TOTAL, others)))


def _masks(part: JointGroups, place: int, name: str) -> list[Mask]:
    """For each category of an attribute, the cells of its group that have it."""
    own = part.factors[place].names
    codes = np.indices([part.schema[n].size for n in own])[own.index(name)].ravel()
    shape = [-1 if axis == place else 1 for axis in range(part.prior.ndim)]
    return [(codes == c).reshape(shape) for c in range(part.schema[name].size)]


def _others(part: JointGroups, place: int) -> list[int]:
    return [i for i in range(len(part.factors)) if i != place]


def _flat(table: Array) -> Array:
    """All cells along one axis, priors along the other."""
    return table.reshape(-1, table.shape[-1])


def _pass(part: JointGroups, table: Array, step: Step, places: Sequence[int]) -> Array:
    """One step for each of these groups, along its own axis."""
    for place in places:
        table = along_axis(part.kernels[place], step, table, place)
    return table


def _risk(part: JointGroups, table: Array, places: list[int], prior: Array) -> Risk:
    """The risk of the true answers of the groups at `places`; the others are reports already."""
    total = _flat(_pass(part, table, Step.TOTAL, places))
    squares = _flat(_pass(part, table**2, Step.SQUARES, places))
    peak = _flat(_pass(part, table, Step.PEAK, places))
    own = _flat(prior)
    given = add(uncertainty(_flat(table))) - add(uncertainty(own))
    for place in places:
        margin = np.moveaxis(table, place, 0)
        margin = margin.reshape(margin.shape[0], -1, table.shape[-1]).sum(axis=1)
        given = given + part.kernels[place].entropies @ margin
    return risk_of_sums(total, squares, peak, given, own, part.slack)
