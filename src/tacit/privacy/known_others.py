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
from tacit.privacy.prior import Prior
from tacit.privacy.risk import (
    Risk,
    in_turn,
    quotient,
    risk_of_cases,
    risk_of_drawn_cases,
    slack_of,
)
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
    mates = [n for n in design.group_of(name).attributes if n in involved and n != name]
    kernel, epsilon = _channel(design, name, mates)
    index = next(i for i, block in enumerate(prior.blocks) if name in block.names)
    tied = prior.blocks[index]
    apart = [n for n in mates if n not in tied.names]
    names = [name, *(n for n in tied.names if n != name), *apart]
    sizes = [prior.schema[n].size for n in names]
    if math.prod(sizes) <= draws.limits.max_cells:
        # All known answers written out: table[category, known answers, prior].
        table = prior.table(names)
        table = table.reshape(sizes[0], -1, table.shape[1])
        codes = np.indices(sizes[1:]).reshape(len(sizes) - 1, table.shape[1])
        known = codes[[names.index(mate) - 1 for mate in mates]]
        slack = slack_of(table.shape[0] * table.shape[1] * (2 + table.shape[0]))
        return risk_of_cases(kernel.outcomes(known), table, slack)
    risks = []
    for i, true in enumerate(draws.true):  # the target's own answers are not used
        block = prior.at(i)[index]
        table = np.moveaxis(block.tables, block.names.index(name), 0)
        margin = table.reshape(len(table), -1).sum(axis=1)
        given = quotient(table, table.sum(axis=0))
        cases: tuple[Any, ...] = tuple(true[n] for n in block.names if n != name)
        n_draws = true[name].size
        shares = given[(slice(None), *cases)].reshape(len(margin), -1)
        shares = np.broadcast_to(shares, (len(margin), n_draws))
        known = np.array([true[n] for n in mates], dtype=np.intp).reshape(-1, n_draws)
        largest = given.reshape(len(margin), -1).max(axis=1)
        worst_of = max(bound_on_posterior(float(p), epsilon) for p in largest)
        slack = slack_of(len(margin) ** 2 * (len(mates) + 2))
        outcomes = kernel.outcomes(known)
        risks.append(risk_of_drawn_cases(outcomes, shares, margin, worst_of, slack))
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


def _channel(design: Design, name: str, mates: Sequence[str]) -> tuple[Kernel, float]:
    """The channel of an attribute and those known that share its coin, and its epsilon."""
    group = design.group_of(name)
    attributes = design.attributes_of(group)
    places = tuple(group.attributes.index(n) for n in (name, *mates))
    if group.coin.separable:
        channel = group.coin.channel(attributes, places)
        return channel.kernel, channel.epsilon
    channel = group.coin.channel(attributes)
    cells = channel.kernel.entries.reshape(-1, *channel.true_shape)
    cells = np.moveaxis(cells, 1 + places[0], 1)
    return DenseKernel(cells.reshape(len(cells), -1), cells.shape[1:]), channel.epsilon
