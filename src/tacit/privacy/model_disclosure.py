"""What a published model lets others infer about one person, with and without a report of hers.

A model that is learnt from disguised reports costs no privacy beyond that of the reports: it is
computed from them (post-processing, Dwork & Roth 2014, proposition 2.1). But it tells how answers
go together, and so it also tells about people who are like others, whether they took part or not.
Each figure is for someone who knows how common the answers are, and besides

    NOTHING   nothing
    REPORT    the whole disguised record of the person
    MODEL     her disguised record and the model
    OTHERS    her true answers to all other questions, and the model
    ALL       her disguised record, her true answers to all other questions, and the model

A model enters as a prior that ties answers together: `told_priors` of rules, `class_prior` of naive
Bayes, `mixture_prior` of latent classes. Figures are None where it ties more categories together
than can be measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.privacy.known_others import risk_knowing
from tacit.privacy.prior import Prior
from tacit.privacy.prior_table import PriorTable
from tacit.privacy.scopes import Limits, risk_in_record

NOTHING, REPORT, MODEL, OTHERS, ALL = "nothing", "report", "model", "others", "all"


@dataclass(frozen=True)
class Inference:
    """How often the best guess of an answer is right, and the largest posterior."""

    attribute: str
    known: str
    accuracy: float
    worst_posterior: float


def inferences(
    design: Design, prior: Prior, told: Prior | None, names: Sequence[str], limits: Limits
) -> list[Inference]:
    """What can be inferred of these attributes; `told` is the prior of someone with the model."""
    found = []
    for name in names:
        single = prior.table([name])[:, 0]
        found.append(Inference(name, NOTHING, float(single.max()), float(single.max())))
        risks = {REPORT: risk_in_record(design, prior, name, limits)}
        if told is not None:
            risks[MODEL] = risk_in_record(design, told, name, limits)
            found_knowing = risk_knowing(design, told, name, limits)
        for known, risk in risks.items():
            figures = risk.figures(limits.level)
            found.append(Inference(name, known, figures.accuracy, figures.worst_posterior))
        if told is not None:
            found.append(_like_others(told, name))
            figures = found_knowing.figures(limits.level)
            found.append(Inference(name, ALL, figures.accuracy, figures.worst_posterior))
    return found


def _like_others(told: Prior, name: str) -> Inference:
    """Without any report: by the prior of the attribute given the others."""
    block = next(block for block in told.blocks if name in block.names)
    table = np.moveaxis(block.tables[..., 0], block.names.index(name), 0)
    table = table.reshape(len(table), -1)
    total, best = table.sum(axis=0), table.max(axis=0)
    worst = np.divide(best, total, out=np.zeros_like(best), where=total > 0).max()
    return Inference(name, OTHERS, float(best.sum()), float(worst))


def class_prior(
    prior: Prior, target: str, shares: Array, tables: dict[str, Array], max_cells: int
) -> Prior | None:
    """P(class) times P(answer | class) of each attribute, as naive Bayes has it."""
    joint = _products(shares, list(tables.values()), max_cells)
    return None if joint is None else _tied(prior, (target, *tables), joint)


def mixture_prior(
    prior: Prior, shares: Array, tables: dict[str, Array], max_cells: int
) -> Prior | None:
    """The sum of this product over classes that no answer names, as latent classes have it."""
    joint = _products(shares, list(tables.values()), max_cells * len(shares))
    return None if joint is None else _tied(prior, tuple(tables), joint.sum(axis=0))


def _products(shares: Array, tables: list[Array], max_cells: int) -> Array | None:
    """shares[c] times the product of tables[c, x], classes x categories; None if too large."""
    sizes = [table.shape[1] for table in tables]
    if len(shares) * math.prod(sizes) > max_cells:
        return None
    joint: Array = shares[:, None]
    for table in tables:
        joint = (joint[:, :, None] * table[:, None, :]).reshape(len(shares), -1)
    return joint.reshape(len(shares), *sizes)


def _tied(prior: Prior, names: tuple[str, ...], joint: Array) -> Prior:
    """The prior with one table over these attributes; the others as before.

    Where a table of the prior has some of these attributes and others, as conditions between
    questions make it, the others keep their distribution given those.
    """
    apart = []
    for block in prior.blocks:
        known = [name for name in names if name in block.names]
        added = [name for name in block.names if name not in names]
        if not known:
            apart.append(block)
        elif added:
            order = [block.names.index(name) for name in (*known, *added)]
            table = block.tables[..., 0].transpose(order)
            total = table.sum(axis=tuple(range(len(known), table.ndim)), keepdims=True)
            given = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
            shape = [joint.shape[i] if name in known else 1 for i, name in enumerate(names)]
            given = given.reshape(*shape, *table.shape[len(known) :])
            joint = joint.reshape(*joint.shape, *(1 for _ in added)) * given
            names = (*names, *added)
    own = PriorTable(names, (joint / joint.sum())[..., None])
    return Prior(prior.schema, (*apart, own), prior.source)
