"""Figures of every model of a stack: of each attribute, each group and the record.

All for one who holds the whole reported record and knows the joint distribution. Exact from joint
tables; by Monte Carlo from latent classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.privacy.disclosure.latent_classes import LatentClasses
from tacit.privacy.disclosure.model_stack import MIXTURE, NETWORK, TableStack
from tacit.privacy.disclosure.sampled_classes import GuessRates, Sample
from tacit.privacy.known_others import risks_knowing
from tacit.privacy.prior import Prior, PriorTable
from tacit.privacy.risk import Risk
from tacit.privacy.scopes import (
    Limits,
    passed_by_group,
    risk_of_all,
    risk_of_attribute,
    risk_of_group,
)
from tacit.records import Progress

#: A range covers the full table only if it has this weight in the mixture. With few records it
#: makes chance look like dependence; where it predicts reports, there is dependence that no other
#: candidate has.
PLAUSIBLE = 0.05
#: The network leads beside the mixture only if it has this weight in it.
LEADING = 0.1


@dataclass(frozen=True, eq=False)
class ModelFigures:
    """Rows: a drawn guess is right, the best guess is right, worst posterior, bits.

    A column per model of the stack; a scope by its attributes. `candidates` are the columns that a
    range covers, `leading` those of which the estimate for several answers at once is the largest.
    `knowing_others` is for one who also knows the other true answers; empty without joint tables.
    """

    scopes: dict[tuple[str, ...], Array]
    knowing_others: dict[str, Array]
    candidates: slice
    leading: tuple[int, ...]
    exact: bool


def table_figures(stack: TableStack, tell: Progress) -> ModelFigures:
    """Exact figures."""
    part = stack.layout.part(stack.tables)
    scopes: dict[tuple[str, ...], Array] = {}
    for done, (place, passed) in enumerate(passed_by_group(part)):
        names = part.factors[place].names
        scopes[names] = _rows(risk_of_group(part, place, passed))
        if len(names) > 1:
            scopes |= {(n,): _rows(risk_of_attribute(part, n, passed)) for n in names}
        tell(3 / 4 + (done + 1) / len(part.factors) / 5)
    scopes[part.schema.names] = _rows(risk_of_all(part))
    candidates = slice(NETWORK, None if stack.weights[-1] >= PLAUSIBLE else -1)
    leading = (MIXTURE, NETWORK) if stack.weights[0] >= LEADING else (MIXTURE,)
    return ModelFigures(scopes, _knowing_others(stack), candidates, leading, True)


def _knowing_others(stack: TableStack) -> dict[str, Array]:
    """By attribute, for one who also knows all other true answers."""
    design = stack.layout.design
    names = tuple(name for unit in stack.layout.units for name in unit.names)
    tables = stack.tables.reshape(*(design.schema[name].size for name in names), -1)
    prior = Prior(design.schema, (PriorTable(names, tables),), "estimated")
    return {name: _rows(risk) for name, risk in risks_knowing(design, prior, Limits()).items()}


def _rows(risk: Risk) -> Array:
    return np.stack([risk.drawn, risk.best, risk.worst, risk.information])


def class_figures(
    models: list[LatentClasses], rng: np.random.Generator, tell: Progress
) -> ModelFigures:
    """Sampled figures."""
    layout = models[0].layout
    names = layout.design.schema.names
    several = [group for group in layout.groups if len(group.factor.names) > 1]
    rates: dict[tuple[str, ...], list[GuessRates]] = {}
    for done, model in enumerate(models):
        sample = Sample(model, rng)
        found = {names: sample.units(range(len(layout.units)))}
        found |= {group.factor.names: sample.units(group.units) for group in several}
        found |= {(name,): sample.attribute(name) for name in names}
        for scope, rate in found.items():
            rates.setdefault(scope, []).append(rate)
        tell(3 / 4 + (done + 1) / len(models) / 5)
    scopes = {scope: np.array(found).T for scope, found in rates.items()}
    return ModelFigures(scopes, {}, slice(NETWORK, None), (MIXTURE,), False)
