"""The figures of every attribute, every group and the whole record of a design.

Two adversaries are measured for each. One sees the scope's own report alone, as in Zhan & Matwin
and Huang & Du. The other holds the whole reported record, and uses what the prior says about
answers that go together. Groups that no table of the prior ties together are
independent, so a record falls into parts; each is computed exactly where its joint table has at
most `max_cells` cells, else by Monte Carlo.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from tacit.core.design import Design, Factor
from tacit.privacy.exact_risk import (
    JointGroups,
    part_of,
    risk_of_all,
    risk_of_attribute,
    risk_of_group,
)
from tacit.privacy.prior import DRAWS, Prior
from tacit.privacy.prior_table import PriorTable
from tacit.privacy.risk import Figures, Risk, stacked, together
from tacit.privacy.sampled_risk import Sampled
from tacit.records import Progress

Value = TypeVar("Value")
Other = TypeVar("Other")

#: Joint tables of at most this many cells are measured exactly.
MAX_CELLS = 2**18
#: Reports drawn by Monte Carlo.
DRAWN = 20_000
#: Cells times priors that are worked on at once.
_AT_ONCE = 2**21


@dataclass(frozen=True)
class Scope:
    """An attribute, a group or the record: its figures for two adversaries, and its epsilon.

    `from_record` takes answers in different tables of the prior as unrelated.

    `weakest` is, for a group, the smallest PSE of its attributes: Zhan & Matwin's group privacy.
    """

    names: tuple[str, ...]
    epsilon: float
    alone: Figures
    from_record: Figures
    exact: bool
    weakest: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = {
            "attributes": list(self.names),
            "epsilon": self.epsilon,
            "exact": self.exact,
            "alone": self.alone.to_dict(),
            "from_record": self.from_record.to_dict(),
        }
        return plain | ({} if self.weakest is None else {"smallest_pse": self.weakest})


@dataclass(frozen=True)
class Limits:
    """How far exact computation goes, and what follows beyond.

    max_cells: the largest joint table that is measured exactly. drawn: reports drawn by Monte
    Carlo beyond it. priors: draws of an estimated prior. level: of the intervals that they make.
    rng: of all draws; the default gives the same figures every time. progress: called with the
    share of the estimate from reported records that is done.
    """

    max_cells: int = MAX_CELLS
    drawn: int = DRAWN
    priors: int = DRAWS
    level: float = 0.95
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    progress: Progress = lambda _: None


@dataclass(frozen=True)
class Levels(Generic[Value]):
    """One value for every attribute, every group (in the order of the design) and the record."""

    attributes: dict[str, Value]
    groups: tuple[Value, ...]
    record: Value

    def map(self, find: Callable[[Value], Other]) -> Levels[Other]:
        """What `find` makes of every value."""
        attributes = {name: find(value) for name, value in self.attributes.items()}
        return Levels(attributes, tuple(map(find, self.groups)), find(self.record))


Scopes = Levels[Scope]


def measure(design: Design, prior: Prior, limits: Limits) -> Scopes:
    """Every scope of a design under a prior."""
    channel = design.channel(design.schema.names)
    parts = [_risks(factors, prior, limits) for factors in parts_of(channel.factors, prior)]
    by_name = {name: part for part in parts for name in part.names}
    parts_alone = {part.names: part for part in parts}
    groups = [
        parts_alone.get(group.attributes)
        or _risks(design.channel(group.attributes).factors, prior, limits)
        for group in design.groups
    ]
    own = {name: group for group in groups for name in group.names}
    attributes = {}
    for name in design.schema.names:
        if len(design.closure([name])) > 1:  # a matrix over several attributes: no own report
            single = own[name].attribute(name)
        else:
            single = risk_of_all(part_of(design.channel([name]).factors, prior))
        attributes[name] = Scope(
            names=(name,),
            epsilon=design.channel(design.closure([name])).epsilon,
            alone=single.figures(limits.level),
            from_record=by_name[name].attribute(name).figures(limits.level),
            exact=by_name[name].exact,
        )
    whole = together(part.whole for part in parts).figures(limits.level)
    record = Scope(design.schema.names, channel.epsilon, whole, whole, all(p.exact for p in parts))
    scopes = (
        Scope(
            names=group.attributes,
            epsilon=design.channel(group.attributes).epsilon,
            alone=alone.whole.figures(limits.level),
            from_record=by_name[group.attributes[0]].group(group.attributes).figures(limits.level),
            exact=by_name[group.attributes[0]].exact,
            weakest=min(attributes[name].alone.pse for name in group.attributes),
        )
        for group, alone in zip(design.groups, groups, strict=True)
    )
    return Scopes(attributes, tuple(scopes), record)


def risk_in_record(design: Design, prior: Prior, name: str, limits: Limits) -> Risk:
    """The risk of one attribute, to someone who holds the whole reported record."""
    channel = design.channel(design.schema.names)
    parts = parts_of(channel.factors, prior)
    own = next(part for part in parts if any(name in factor.names for factor in part))
    return _risks(own, prior, limits).attribute(name)


def parts_of(factors: Sequence[Factor], prior: Prior) -> list[list[Factor]]:
    """Groups joined where a table of the prior holds attributes of both."""
    parts = [[factor] for factor in factors]
    for block in prior.blocks:
        touched = [p for p in parts if any(n in f.names for f in p for n in block.names)]
        parts = [p for p in parts if p not in touched] + [[f for p in touched for f in p]]
    return [part for part in parts if part]


class _Exact:
    """The risks of a part whose joint table is small enough, for every prior of the stack."""

    exact = True

    def __init__(self, factors: Sequence[Factor], prior: Prior, cells: int) -> None:
        self.names = tuple(name for factor in factors for name in factor.names)
        self._factors, self._prior, self._cells = factors, prior.marginal(self.names), cells

    @cached_property
    def whole(self) -> Risk:
        """Of the whole part."""
        return self._over(risk_of_all)

    def group(self, names: tuple[str, ...]) -> Risk:
        """Of the joint answer of one group, to someone who sees all reports of the part."""
        if len(self._factors) == 1:
            return self.whole
        place = [factor.names for factor in self._factors].index(names)
        return self._over(lambda part: risk_of_group(part, place))

    def attribute(self, name: str) -> Risk:
        """Of one attribute, to someone who sees all reports of the part."""
        return self._over(lambda part: risk_of_attribute(part, name))

    def _over(self, find: Callable[[JointGroups], Risk]) -> Risk:
        chunks = _chunks(self._prior, self._cells)
        return stacked([find(part_of(self._factors, chunk)) for chunk in chunks])


def _risks(factors: Sequence[Factor], prior: Prior, limits: Limits) -> _Exact | Sampled:
    """The risks of a part: exactly if its joint table is small enough, else by Monte Carlo."""
    cells = max(
        math.prod(math.prod(factor.channel.true_shape) for factor in factors),
        math.prod(math.prod(factor.channel.reported_shape) for factor in factors),
    )
    if cells <= limits.max_cells:
        return _Exact(factors, prior, cells)
    return Sampled(factors, prior, limits.drawn, limits.rng)


def _chunks(prior: Prior, cells: int) -> Iterator[Prior]:
    """The stack of priors in parts that fit in memory."""
    step = max(1, _AT_ONCE // cells)
    for start in range(0, prior.stacked, step):
        blocks = [
            PriorTable(
                b.names, b.tables[..., start : start + step] if b.tables.shape[-1] > 1 else b.tables
            )
            for b in prior.blocks
        ]
        yield Prior(prior.schema, tuple(blocks), prior.source)
