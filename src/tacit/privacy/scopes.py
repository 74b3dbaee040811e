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
from typing import Any

import numpy as np

from tacit.channel.product import Factor
from tacit.design import Design, Group
from tacit.files import Progress
from tacit.privacy.exact_risk import (
    JointGroups,
    part_of,
    risk_of_all,
    risk_of_attribute,
    risk_of_group,
)
from tacit.privacy.prior import DRAWS, Prior, PriorTable
from tacit.privacy.risk import Figures, Risk, stacked, together
from tacit.privacy.sampled_risk import Sampled

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
class Scopes:
    """All scopes of a design."""

    attributes: dict[str, Scope]
    groups: tuple[Scope, ...]
    record: Scope


def measure(design: Design, prior: Prior, limits: Limits) -> Scopes:
    """Every scope of a design under a prior."""
    channel = design.channel(design.schema.names)
    parts = [_Risks.of(factors, prior, limits) for factors in parts_of(channel.factors, prior)]
    by_name = {name: part for part in parts for name in part.names}
    parts_alone = {part.names: part for part in parts}
    groups = [
        parts_alone.get(group.attributes)
        or _Risks.of(design.channel(group.attributes).factors, prior, limits)
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
    return Scopes(
        attributes,
        tuple(
            _group(design, g, groups[i], by_name, (attributes, limits))
            for i, g in enumerate(design.groups)
        ),
        Scope(design.schema.names, channel.epsilon, whole, whole, all(p.exact for p in parts)),
    )


def risk_in_record(design: Design, prior: Prior, name: str, limits: Limits) -> Risk:
    """The risk of one attribute, to someone who holds the whole reported record."""
    channel = design.channel(design.schema.names)
    parts = parts_of(channel.factors, prior)
    own = next(part for part in parts if any(name in factor.names for factor in part))
    return _Risks.of(own, prior, limits).attribute(name)


def _group(
    design: Design,
    group: Group,
    own: _Risks,
    by_name: dict[str, _Risks],
    known: tuple[dict[str, Scope], Limits],
) -> Scope:
    attributes, limits = known
    part = by_name[group.attributes[0]]
    return Scope(
        names=group.attributes,
        epsilon=design.channel(group.attributes).epsilon,
        alone=own.whole.figures(limits.level),
        from_record=part.group(group.attributes).figures(limits.level),
        exact=part.exact,
        weakest=min(attributes[name].alone.pse for name in group.attributes),
    )


def parts_of(factors: Sequence[Factor], prior: Prior) -> list[list[Factor]]:
    """Groups joined where a table of the prior holds attributes of both."""
    parts = [[factor] for factor in factors]
    for block in prior.blocks:
        touched = [p for p in parts if any(n in f.names for f in p for n in block.names)]
        parts = [p for p in parts if p not in touched] + [[f for p in touched for f in p]]
    return [part for part in parts if part]


@dataclass(frozen=True)
class _Risks:
    """One part: how to find the risk of its whole, of a group and of an attribute."""

    names: tuple[str, ...]
    exact: bool
    whole: Risk
    group: Callable[[tuple[str, ...]], Risk]
    attribute: Callable[[str], Risk]

    @classmethod
    def of(cls, factors: Sequence[Factor], prior: Prior, limits: Limits) -> _Risks:
        """Exactly if the joint table is small enough, else by Monte Carlo."""
        names = tuple(name for factor in factors for name in factor.names)
        cells = max(
            math.prod(math.prod(factor.channel.true_shape) for factor in factors),
            math.prod(math.prod(factor.channel.reported_shape) for factor in factors),
        )
        if cells <= limits.max_cells:
            return cls._exact(names, factors, prior, cells)
        drawn = Sampled(factors, prior, limits.drawn, limits.rng)
        whole = drawn.whole()
        group = drawn.group if len(factors) > 1 else lambda _: whole
        return cls(names, False, whole, group, drawn.attribute)

    @classmethod
    def _exact(
        cls, names: tuple[str, ...], factors: Sequence[Factor], prior: Prior, cells: int
    ) -> _Risks:
        def over(find: Callable[[JointGroups], Risk]) -> Risk:
            own = prior.marginal(names)
            return stacked([find(part_of(factors, chunk)) for chunk in _chunks(own, cells)])

        places = {factor.names: i for i, factor in enumerate(factors)}
        whole = over(risk_of_all)
        return cls(
            names,
            True,
            whole,
            lambda group: (
                whole if len(factors) == 1 else over(lambda p: risk_of_group(p, places[group]))
            ),
            lambda name: over(lambda p: risk_of_attribute(p, name)),
        )


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
