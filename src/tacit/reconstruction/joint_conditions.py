"""Probabilities of several events together, and the answers of those who were asked a question.

An event is a mean of weights of reports, whatever its number of attributes. Where conditions
between questions exclude combinations of its answers, it is a sum of cells of the `restricted`
table instead, which uses that knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from tacit.arrays import Array
from tacit.design import Design
from tacit.errors import SchemaError
from tacit.question_conditions import answers_of, impossible_cells
from tacit.reconstruction.conditional import conditional_shares
from tacit.reconstruction.conditions import Condition, condition_products, condition_weights
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.linear_estimate import linear_estimate
from tacit.reconstruction.report_weights import ReportWeights
from tacit.reconstruction.restricted import MAX_RESTRICTED, sums_of_cells
from tacit.sampling.weighted_patterns import sample_of
from tacit.schema import Attribute

#: The estimated joint table of some attributes.
TableOf = Callable[[Sequence[str]], Estimate]


def has_zeros(design: Design, names: Sequence[str]) -> bool:
    """Whether conditions exclude cells of a table of these attributes that can be restricted."""
    if not design.conditions or len(names) < 2:
        return False
    schema = design.schema.subset(names)
    small = math.prod(schema.sizes) <= MAX_RESTRICTED
    return small and impossible_cells(design.conditions, schema) is not None


def joint_probabilities(
    reports: ReportWeights,
    table: TableOf,
    conditions: list[Condition],
    axes: tuple[Attribute, ...],
    parts: bool = False,
) -> Estimate:
    """Probabilities of conditions; with `parts`, that of every second less the one before."""
    design, patterns = reports.design, reports.patterns
    steps = np.eye(max(2, len(conditions)), len(conditions))  # an attribute has two categories
    if parts:
        steps[range(1, len(steps), 2), range(0, len(steps), 2)] = -1
    names = list(dict.fromkeys(name for c in conditions for name in c.names))
    if has_zeros(design, names):
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


def asked_answers(design: Design, table: TableOf, name: str) -> Estimate:
    """The distribution of the answers among those to whom a conditional question applies.

    It uses the answers that the condition is about: people who gave others were not asked.
    """
    attribute = design.schema[name]
    condition = next((c for c in design.conditions if c.attribute == name), None)
    if condition is None:
        raise SchemaError(f"{name!r} is asked of everybody; use table([{name!r}])")
    names = [name, *condition.names]
    joint = table(names if has_zeros(design, names) else [name])
    answers = answers_of(attribute)
    rows = np.eye(attribute.size)[[attribute.code(label) for label in answers]]
    sums: Array = np.kron(rows, np.ones(joint.value.size // attribute.size)).astype(np.float64)
    found = sums_of_cells(joint, sums, (Attribute(name, answers),), "")
    return conditional_shares(found, 0, f"P({name} | asked)")
