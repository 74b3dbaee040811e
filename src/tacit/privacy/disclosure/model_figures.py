"""Figures of every model of a stack: of each attribute, each group and the record.

All for one who holds the whole reported record and knows the joint distribution. Exact from joint
tables; by Monte Carlo from latent classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.files import Progress
from tacit.privacy.disclosure.model_stack import MIXTURE, NETWORK, ClassStack, TableStack
from tacit.privacy.disclosure.sampled_classes import GuessRates, Sample
from tacit.privacy.exact_risk import passed_by_group, risk_of_all, risk_of_attribute, risk_of_group
from tacit.privacy.known_others import risks_knowing
from tacit.privacy.prior import Prior, PriorTable
from tacit.privacy.risk import Risk
from tacit.privacy.scopes import Limits

#: A range covers the full table only if it has this weight in the mixture. With few records it
#: makes chance look like dependence; where it predicts reports, there is dependence that no other
#: candidate has.
PLAUSIBLE = 0.05
#: The network leads beside the mixture only if it has this weight in it.
LEADING = 0.1


@dataclass(frozen=True, eq=False)
class ModelFigures:
    """Rows: a drawn guess is right, the best guess is right, worst posterior, bits.

    A column per model of the stack; scopes by their attributes, groups also where they are one.
    `candidates` are the columns that a range covers, `leading` those of which the estimate for
    several answers at once is the largest. `knowing_others` is for one who also knows the other
    true answers; empty without joint tables.
    """

    attributes: dict[str, Array]
    groups: dict[tuple[str, ...], Array]
    record: Array
    knowing_others: dict[str, Array]
    candidates: slice
    leading: tuple[int, ...]
    exact: bool


def table_figures(stack: TableStack, tell: Progress) -> ModelFigures:
    """Exact figures."""
    part = stack.layout.part(stack.tables)
    attributes: dict[str, Array] = {}
    groups: dict[tuple[str, ...], Array] = {}
    for done, (place, passed) in enumerate(passed_by_group(part)):
        names = part.factors[place].names
        groups[names] = _rows(risk_of_group(part, place, passed))
        attributes |= (
            {names[0]: groups[names]}
            if len(names) == 1
            else {name: _rows(risk_of_attribute(part, name, passed)) for name in names}
        )
        tell(3 / 4 + (done + 1) / len(part.factors) / 5)
    candidates = slice(NETWORK, None if stack.weights[-1] >= PLAUSIBLE else -1)
    leading = (MIXTURE, NETWORK) if stack.weights[0] >= LEADING else (MIXTURE,)
    record, others = _rows(risk_of_all(part)), _knowing_others(stack)
    return ModelFigures(attributes, groups, record, others, candidates, leading, True)


def _knowing_others(stack: TableStack) -> dict[str, Array]:
    """By attribute, for one who also knows all other true answers."""
    design = stack.layout.design
    names = tuple(name for unit in stack.layout.units for name in unit.names)
    tables = stack.tables.reshape(*(design.schema[name].size for name in names), -1)
    prior = Prior(design.schema, (PriorTable(names, tables),), "estimated")
    return {name: _rows(risk) for name, risk in risks_knowing(design, prior, Limits()).items()}


def _rows(risk: Risk) -> Array:
    return np.stack([risk.drawn, risk.best, risk.worst, risk.information])


def class_figures(stack: ClassStack, rng: np.random.Generator, tell: Progress) -> ModelFigures:
    """Sampled figures."""
    layout = stack.layout
    names = layout.design.schema.names
    attributes: dict[str, list[GuessRates]] = {name: [] for name in names}
    groups: dict[tuple[str, ...], list[GuessRates]] = {g.factor.names: [] for g in layout.groups}
    record: list[GuessRates] = []
    for done, model in enumerate(stack.models):
        sample = Sample(model, rng)
        for name in names:
            attributes[name].append(sample.attribute(name))
        for group in layout.groups:
            alone = len(group.factor.names) == 1
            found = attributes[group.factor.names[0]][-1] if alone else sample.units(group.units)
            groups[group.factor.names].append(found)
        record.append(sample.units(range(len(layout.units))))
        tell(3 / 4 + (done + 1) / len(stack.models) / 5)
    return ModelFigures(
        {name: _columns(found) for name, found in attributes.items()},
        {key: _columns(found) for key, found in groups.items()},
        _columns(record),
        {},
        slice(NETWORK, None),
        (MIXTURE,),
        False,
    )


def _columns(seen: list[GuessRates]) -> Array:
    return np.array([[s.drawn, s.best, s.worst, s.information] for s in seen]).T
