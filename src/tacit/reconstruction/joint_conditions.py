"""Probabilities of several events together, and the answers of those who were asked a question.

An event is a mean of weights of reports, whatever its number of attributes. Where conditions
between questions exclude combinations of its answers, it is a sum of cells of the `restricted`
table instead, which uses that knowledge.

Questions tied by conditions, a chain, are estimated together: any table of some of them is a margin
of the estimate of all, so that a share is the same wherever it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import reduce

import numpy as np

from tacit.core.arrays import Array
from tacit.core.conditions import answers_of, impossible_cells, linked_parts
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import SchemaError
from tacit.reconstruction.conditional import conditional_shares
from tacit.reconstruction.conditions import Condition, condition_products, condition_weights
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.linear_estimate import linear_estimate
from tacit.reconstruction.report_weights import ReportWeights
from tacit.reconstruction.restricted import estimable_together, is_small, sums_of_cells
from tacit.reconstruction.sampling.weighted_patterns import sample_of

#: The estimated joint table of some attributes.
TableOf = Callable[[Sequence[str]], Estimate]


def chained_parts(design: Design) -> list[tuple[str, ...]]:
    """All attributes in parts: those of a chain of conditions, or of a throw, stay together."""
    throws = [group.attributes for group in design.groups if group.coin.family != "truthful"]
    return linked_parts(design.conditions, design.schema, throws)


def chains(design: Design) -> list[tuple[str, ...]]:
    """The parts in which a question depends on another."""
    conditional = {condition.attribute for condition in design.conditions}
    return [part for part in chained_parts(design) if not conditional.isdisjoint(part)]


def with_chains(
    design: Design, names: tuple[str, ...], answered: Collection[str]
) -> tuple[str, ...]:
    """`names`, then the other attributes of their chains, which report on them too.

    Undisguised attributes need no others. `answered` are the reports that every record has: a chain
    with missing answers is not estimated together, nor one that is too large or too much disguised.
    """
    wider = names
    for part in chains(design) if design.conditions else []:
        if all(design.is_exact(name) for name in part if name in names):
            continue
        channel = design.channel(part)
        if estimable_together(channel) and set(channel.reported.names) <= set(answered):
            wider += tuple(name for name in part if name not in names)
    cells = math.prod(design.schema.subset(names).sizes)
    channel = design.channel(wider)
    small = is_small(cells, math.prod(channel.reported.sizes))
    return wider if small and channel.reconstructable else names


def has_zeros(design: Design, names: Sequence[str], answered: Collection[str]) -> bool:
    """Whether conditions exclude cells of the table that these attributes are estimated from."""
    cells = math.prod(design.schema.subset(names).sizes)
    if not design.conditions or not is_small(cells, cells):
        return False
    wider = with_chains(design, design.closure(names), answered)
    return impossible_cells(design.conditions, design.schema.subset(wider)) is not None


def joint_probabilities(
    reports: ReportWeights,
    table: TableOf,
    conditions: list[Condition],
    axes: tuple[Attribute, ...],
    parts: bool = False,
    zeros: bool = False,
) -> Estimate:
    """Probabilities of conditions; with `parts`, that of every second less the one before.

    With `zeros`, they are sums of cells of the table, which has cells that cannot occur.
    """
    design, patterns = reports.design, reports.patterns
    steps = np.eye(max(2, len(conditions)), len(conditions))  # an attribute has two categories
    if parts:
        steps[range(1, len(steps), 2), range(0, len(steps), 2)] = -1
    names = list(dict.fromkeys(name for c in conditions for name in c.names))
    if zeros:
        cells = np.stack([_cells(design, names, condition) for condition in conditions])
        return sums_of_cells(table(names), steps @ cells, axes, "")
    weights = condition_weights(reports, design, conditions) @ steps.T
    sample, products = sample_of(patterns), None
    if sample is not None and sample.fraction.any():
        products = condition_products(reports, design, conditions)
        products = np.asarray(steps @ products @ steps.T)
    return linear_estimate(
        [(weights, patterns.counts)], "", axes, sample=sample, true_products=products
    )


def _cells(design: Design, names: Sequence[str], condition: Condition) -> Array:
    """1 for each cell of the table of `names` that meets a condition, flattened."""
    sizes = [design.schema[name].size for name in names]
    allowed = [
        np.isin(np.arange(size), condition.codes.get(name, range(size)))
        for name, size in zip(names, sizes, strict=True)
    ]
    return np.asarray(reduce(np.multiply.outer, allowed), np.float64).ravel()


def asked_answers(design: Design, table: TableOf, name: str, answered: Collection[str]) -> Estimate:
    """The distribution of the answers among those to whom a conditional question applies.

    It uses the answers that the condition is about: people who gave others were not asked.
    """
    attribute = design.schema[name]
    condition = next((c for c in design.conditions if c.attribute == name), None)
    if condition is None:
        raise SchemaError(f"{name!r} is asked of everybody; use table([{name!r}])")
    names = [name, *condition.names]
    joint = table(names if has_zeros(design, names, answered) else [name])
    answers = answers_of(attribute)
    rows = np.eye(attribute.size)[[attribute.code(label) for label in answers]]
    sums: Array = np.kron(rows, np.ones(joint.value.size // attribute.size)).astype(np.float64)
    found = sums_of_cells(joint, sums, (Attribute(name, answers),), "")
    return conditional_shares(found, 0, f"P({name} | asked)")
