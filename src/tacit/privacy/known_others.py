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
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.kernels import dense_outcomes
from tacit.core.channel.numbers import quotient
from tacit.core.design import Design
from tacit.privacy.prior import Prior
from tacit.privacy.risk import (
    Risk,
    in_turn,
    risk_of_cases,
    risk_of_drawn_cases,
    slack_of,
)
from tacit.privacy.scopes import PRIORS, Limits, bound_on_posterior, draw_true

#: The tables P(outcome | category, known answers), given the codes of the known answers.
Outcomes = Callable[[Index], Iterator[Array]]


def risks_knowing(
    design: Design, prior: Prior, limits: Limits, names: Sequence[str] | None = None
) -> dict[str, Risk]:
    """The risk of attributes, all by default, to someone who knows the true answers to all others.

    For someone who knows some of the others, give the design of these questions alone.
    """

    @cache
    def draws() -> list[dict[str, Index]]:
        """True records of each of the first priors, by the same random numbers."""
        seed = int(limits.rng.integers(2**63))
        return [
            draw_true(prior.at(i), limits.drawn, np.random.default_rng(seed))
            for i in range(min(prior.stacked, PRIORS))
        ]

    chosen = design.schema.names if names is None else names
    return {name: _risk(design, prior, name, limits.max_cells, draws) for name in chosen}


def _risk(
    design: Design,
    prior: Prior,
    name: str,
    max_cells: int,
    draws: Callable[[], list[dict[str, Index]]],
) -> Risk:
    mates = [n for n in design.group_of(name).attributes if n != name]
    outcomes, epsilon = _channel(design, name, mates)
    index = next(i for i, block in enumerate(prior.blocks) if name in block.names)
    tied = prior.blocks[index]
    apart = [n for n in mates if n not in tied.names]
    names = [name, *(n for n in tied.names if n != name), *apart]
    sizes = [prior.schema[n].size for n in names]
    if math.prod(sizes) <= max_cells:
        # All known answers written out: table[category, known answers, prior].
        table = prior.table(names)
        table = table.reshape(sizes[0], -1, table.shape[1])
        codes = np.indices(sizes[1:]).reshape(len(sizes) - 1, table.shape[1])
        known = codes[[names.index(mate) - 1 for mate in mates]]
        slack = slack_of(table.shape[0] * table.shape[1] * (2 + table.shape[0]))
        return risk_of_cases(outcomes(known), table, slack)
    risks = []
    for i, true in enumerate(draws()):  # the target's own answers are not used
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
        risks.append(risk_of_drawn_cases(outcomes(known), shares, margin, worst_of, slack))
    return in_turn(risks, prior.stacked)


def _channel(design: Design, name: str, mates: Sequence[str]) -> tuple[Outcomes, float]:
    """The outcomes of an attribute and those known that share its coin, and its epsilon."""
    group = design.group_of(name)
    attributes = design.attributes_of(group)
    places = tuple(group.attributes.index(n) for n in (name, *mates))
    if group.coin.separable:
        channel = group.coin.channel(attributes, places)
        return channel.outcomes, channel.epsilon
    channel = group.coin.channel(attributes)
    cells = channel.matrix.reshape(-1, *channel.true_shape)
    cells = np.moveaxis(cells, 1 + places[0], 1)
    matrix = cells.reshape(len(cells), -1)
    return partial(dense_outcomes, matrix, cells.shape[1:]), channel.epsilon
