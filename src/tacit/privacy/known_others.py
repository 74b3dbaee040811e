"""An adversary who also knows a person's other true answers: a colleague, a spouse.

Given the other true answers of the group, only few outcomes of a report differ in what they say
about the target. With x the target's true category and c the known others:

    keep or replace    the others are reported as they are (k outcomes, one per reported category
                       y: theta [x = y] + (1 - theta) P(y, c drawn)), or not: then a draw was
                       reported, which says nothing
    keep or differ     the others tell what the coin decided: y = x (theta), or y is another
                       category ((1 - theta) / (k - 1) each)
    matrix             M[y, (x, c)] for every joint report y

Reports of other groups add nothing, because their true answers are known. The prior of the target
given the others is that of the joint table that holds it; answers in different tables are taken
as unrelated. Where the true dependence is not known, it may let the others reveal the target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Index
from tacit.core.channel.kernels import DenseKernel, Kernel
from tacit.core.design import Design
from tacit.errors import DataError
from tacit.privacy.prior import Prior, PriorTable
from tacit.privacy.risk import Risk, in_turn, quotient, risk_of_cases, sampled_cases, slack_of
from tacit.privacy.scopes import PRIORS, Limits, bound_on_posterior, draw_true


def risks_knowing(design: Design, prior: Prior, limits: Limits) -> dict[str, Risk]:
    """The risk of every attribute to someone who knows the true answers to all others."""
    draws = _Draws(prior, limits)
    names = design.schema.names
    return {name: _risk(design, prior, name, names, draws) for name in names}


def risk_knowing(
    design: Design, prior: Prior, name: str, limits: Limits, known: Sequence[str] | None = None
) -> Risk:
    """The risk of one attribute to someone who knows the true answers to `known`.

    All other attributes if None. The adversary sees the reports of the attribute and of those
    known.
    """
    names = design.schema.names if known is None else (name, *known)
    if known is not None:
        if name in known:
            raise DataError(f"{name!r} is the target; name other attributes as known")
        for left in design.jointly_reported(names):
            if left not in names:
                raise DataError(
                    f"{left!r} is reported together with {name!r}; name it as known too"
                )
        prior = prior.marginal(names)
    return _risk(design, prior, name, names, _Draws(prior, limits))


def _risk(design: Design, prior: Prior, name: str, involved: Sequence[str], draws: _Draws) -> Risk:
    """The risk of one attribute; all others `involved` are known."""
    target = _Target.of(design, name, involved)
    index = next(i for i, block in enumerate(prior.blocks) if name in block.names)
    tied = prior.blocks[index]
    apart = [n for n in target.mates if n not in tied.names]
    names = [name, *(n for n in tied.names if n != name), *apart]
    if math.prod(design.schema[n].size for n in names) <= draws.limits.max_cells:
        return _exact(target, prior, names)
    risks = [_sample(target, prior.at(i)[index], true) for i, true in enumerate(draws.true)]
    return in_turn(risks, prior.stacked)


@dataclass(frozen=True)
class _Draws:
    """True records drawn from each of the first priors, when they are needed."""

    prior: Prior
    limits: Limits

    @cached_property
    def true(self) -> list[dict[str, Index]]:
        """By prior: the codes of every attribute; the same random numbers for every prior."""
        seed = int(self.limits.rng.integers(2**63))
        return [
            draw_true(self.prior.at(i), self.limits.drawn, np.random.default_rng(seed))
            for i in range(min(self.prior.stacked, PRIORS))
        ]


@dataclass(frozen=True)
class _Target:
    """An attribute, those known that share its coin, and their channel, the attribute first."""

    name: str
    mates: tuple[str, ...]
    kernel: Kernel
    epsilon: float

    @classmethod
    def of(cls, design: Design, name: str, others: Sequence[str]) -> _Target:
        group = design.group_of(name)
        mates = tuple(n for n in group.attributes if n in others and n != name)
        attributes = design.attributes_of(group)
        places = tuple(group.attributes.index(n) for n in (name, *mates))
        if group.coin.separable:
            channel = group.coin.channel(attributes, places)
            return cls(name, mates, channel.kernel, channel.epsilon)
        channel = group.coin.channel(attributes)
        cells = channel.kernel.entries.reshape(-1, *channel.true_shape)
        cells = np.moveaxis(cells, 1 + places[0], 1)
        kernel = DenseKernel(cells.reshape(len(cells), -1), cells.shape[1:])
        return cls(name, mates, kernel, channel.epsilon)


def _exact(target: _Target, prior: Prior, names: Sequence[str]) -> Risk:
    """All known answers written out: table[category, known answers, prior]."""
    sizes = [prior.schema[n].size for n in names]
    stack = prior.marginal(names).stacked
    table = prior.table(names).reshape(sizes[0], -1, stack)
    codes = np.indices(sizes[1:]).reshape(len(sizes) - 1, table.shape[1])
    known = codes[[names.index(mate) - 1 for mate in target.mates]]
    slack = slack_of(table.shape[0] * table.shape[1] * (2 + table.shape[0]))
    return risk_of_cases(target.kernel, known, table, slack)


def _sample(target: _Target, tied: PriorTable, true: dict[str, Index]) -> Risk:
    """The risk under one prior from drawn answers; the target's own are not used."""
    table = np.moveaxis(tied.tables, tied.names.index(target.name), 0)
    margin = table.reshape(table.shape[0], -1).sum(axis=1)
    given = quotient(table, table.sum(axis=0))
    cases: tuple[Any, ...] = tuple(true[n] for n in tied.names if n != target.name)
    shares = given[(slice(None), *cases)]
    draws = next(iter(true.values())).size
    shares = np.broadcast_to(shares.reshape(len(margin), -1), (len(margin), draws))
    known = np.array([true[n] for n in target.mates], dtype=np.intp).reshape(-1, draws)
    largest = given.reshape(len(margin), -1).max(axis=1)
    worst = max(bound_on_posterior(float(p), target.epsilon) for p in largest)
    slack = slack_of(len(margin) ** 2 * (len(target.mates) + 2))
    return sampled_cases(target.kernel, known, shares, margin, worst, slack)
