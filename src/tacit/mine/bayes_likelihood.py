"""likelihood: the naive Bayes model under which the whole reports are most likely.

A report's answers tell together what was done to them, so this sees far more than tables of one
attribute and the class: under one related group at theta = .51 it classifies Adult as well as
undisguised data do, .82, where reconstructed tables reach .77 (`conditional` has the formula).

Where attributes depend on each other beyond the class and the noise is large, the likeliest
"class" may be another clustering of the records. So a group whose link with the class is within
noise is not heard, and the fit is held against the unbiased tables of the class and one attribute;
where they contradict it, `pairs` decides and the model says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import chdtri, ndtri

from tacit.arrays import Array
from tacit.channel.coin import Differ, Keep
from tacit.counting import PatternTable
from tacit.design import Design, Group
from tacit.mine.conditional import ConditionalModel
from tacit.mine.learned_model import BayesParameters, Tables, logit_blocks, shares
from tacit.mine.pairs import dependence, margin_of, pair_tables, pairs
from tacit.reconstruction import Estimate, Reconstruction
from tacit.reconstruction.likelihood import Convergence, squarem
from tacit.reconstruction.simplex import project

TOLERANCE = 1e-6
MAX_ITERATIONS = 500
#: Share of the uniform distribution in the start, so that no category starts impossible.
_START = 0.1
#: How often a true model is rejected, and a group without any link heard.
_FALSE_ALARM = 1e-3
#: A turned model this far behind in log-likelihood is no rival, however it climbs.
_HOPELESS = 1000.0


def likelihood(found: Reconstruction, target: str, alpha: float) -> BayesParameters:
    """Parameters of largest likelihood, `alpha` records added; `pairs` if the tables contradict."""
    unbiased = pair_tables(found, target)
    heard = _heard(found.design, target, unbiased)
    model = ConditionalModel(_patterns(found, heard), heard, target)
    known = [unbiased[found.design.schema.index(name)] for name in heard.schema.names]
    best, rival = _maxima(model, heard, target, _start(known, found.table([target]), model), alpha)
    prior, tables = model.split(best.place)
    if _contradicted(known, prior, tables, alpha):
        note = "the reports contradict a naive Bayes model, so it was learnt from pairs"
        return replace(pairs(found, target, alpha), note=note)
    by_name = dict(zip(heard.schema.names, tables, strict=True))
    return BayesParameters(
        prior,
        _all_tables(found, unbiased, by_name, alpha),
        found.n_records,
        "likelihood",
        best.convergence,
        partial(_covariance, found.design, target, model, best, rival),
        _silent_note(found.design, heard),
    )


@dataclass(frozen=True, eq=False)
class _Maximum:
    """A maximum of the likelihood, and how it was reached."""

    place: Array
    convergence: Convergence


def _maxima(
    model: ConditionalModel, design: Design, target: str, start: Array, alpha: float
) -> tuple[_Maximum, _Maximum | None]:
    """The maximum that the start leads to and its rival, the likelier first.

    Where the target's group is kept or turned as a whole, turning every answer of the model gives
    nearly the same reports: the two maxima differ only by theta against 1 - theta.
    """
    first = _climbed(model, start, alpha)
    turned = _turned(model, design, target, first.place)
    if turned is None:
        return first, None
    behind = first.convergence.log_likelihood - model.step(turned, alpha).log_likelihood
    if behind * model.n_records > _HOPELESS:
        return first, None
    second = _climbed(model, turned, alpha)
    if second.convergence.log_likelihood > first.convergence.log_likelihood:
        return second, first
    return first, second


def _climbed(model: ConditionalModel, start: Array, alpha: float) -> _Maximum:
    step = partial(model.step, alpha=alpha)
    return _Maximum(*squarem(step, start, model.repair, TOLERANCE, MAX_ITERATIONS))


def _turned(model: ConditionalModel, design: Design, target: str, place: Array) -> Array | None:
    """The model with every answer of the target's group turned; None where there is no such."""
    group = design.group_of(target)
    attributes = design.attributes_of(group)
    kinds = [type(strategy) for _, strategy in group.coin.strategies(attributes)]
    if kinds != [Keep, Differ] or any(a.size != 2 for a in attributes):
        return None
    prior, tables = model.split(place)
    for name in group.attributes:
        own = design.schema.index(name)
        tables[own] = tables[own][:, ::-1]
    return model.join(prior[::-1], [table[::-1] for table in tables])


def _heard(design: Design, target: str, unbiased: list[Estimate | None]) -> Design:
    """The target's group and those whose link with it stands out from noise.

    A class that is reported as it is cannot be taken for another clustering: all are heard.
    """
    if design.channel(design.closure([target])).magnification == 1:
        return design
    own = design.group_of(target)
    groups = [g for g in design.groups if g is own or _linked(design, g, unbiased)]
    names = {name for group in groups for name in group.attributes}
    return Design(design.schema.subset([n for n in design.schema.names if n in names]), groups)


def _linked(design: Design, group: Group, unbiased: list[Estimate | None]) -> bool:
    tables = (unbiased[design.schema.index(name)] for name in group.attributes)
    found = [dependence(table) for table in tables if table is not None]
    statistic, freedom = sum(d.statistic for d in found), sum(d.freedom for d in found)
    return bool(statistic > chdtri(freedom, _FALSE_ALARM))


def _patterns(found: Reconstruction, heard: Design) -> PatternTable:
    """The reports of what is heard; joining patterns again is spared where all is."""
    names = heard.reported.names
    return found.patterns if names == found.patterns.schema.names else found.patterns.subset(names)


def _silent_note(design: Design, heard: Design) -> str:
    silent = [name for name in design.schema.names if name not in heard.schema]
    return f"within noise and not used: {', '.join(silent)}" if silent else ""


def _start(known: list[Estimate | None], classes: Estimate, model: ConditionalModel) -> Array:
    """Reconstructed tables, moved into the simplex and towards the middle."""
    prior = project(classes.value)
    tables = [
        np.eye(model.n_classes) if t is None else project(t.value) + 1 / model.n_records
        for t in known
    ]
    mixed = [_START / t.shape[1] + (1 - _START) * t for t in shares(tables)]
    return model.join(_START / prior.size + (1 - _START) * prior, mixed)


def _contradicted(known: list[Estimate | None], prior: Array, tables: Tables, alpha: float) -> bool:
    """Whether any cell of an unbiased table is further from the fit than noise explains.

    Adding alpha records to each of k categories moves a cell by up to alpha * k / n.
    """
    gaps = [
        _beyond(table.value - prior[:, None] * fitted, alpha * fitted.shape[1], table)
        for table, fitted in zip(known, tables, strict=True)
        if table is not None
    ]
    cells = sum(gap.size for gap in gaps)
    return bool(gaps) and max(gap.max() for gap in gaps) > -float(ndtri(_FALSE_ALARM / 2 / cells))


def _beyond(gap: Array, added: float, table: Estimate) -> Array:
    """A gap in standard errors, less what the added records explain."""
    explained = added / table.n_records
    rest = np.maximum(np.abs(gap) - explained, 0)
    return np.asarray(rest / np.maximum(table.stderr, 1 / table.n_records))


def _all_tables(
    found: Reconstruction, unbiased: list[Estimate | None], heard: dict[str, Array], alpha: float
) -> Tables:
    """Fitted tables, and for attributes that are not heard the same row for every class."""
    result = []
    for name, table in zip(found.design.schema.names, unbiased, strict=True):
        if name in heard or table is None:
            result.append(heard[name])
        else:
            result.append(np.tile(margin_of(table, alpha), (table.value.shape[0], 1)))
    return result


def _covariance(
    design: Design, target: str, model: ConditionalModel, best: _Maximum, rival: _Maximum | None
) -> Array:
    """Covariance of the logits of prior and all tables; not a number where it is not known.

    That of the best maximum, and what is between it and its rival, weighted by their likelihoods:
    the information at one maximum does not know of the other. From fewer than some hundreds of
    records it is rough.
    """
    information = model.information(*model.split(best.place))
    fitted = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    if rival is not None:
        lead = best.convergence.log_likelihood - rival.convergence.log_likelihood
        weight = 1 / (1 + np.exp(min(model.n_records * lead, 700.0)))
        apart = np.log(np.maximum(best.place, 1e-12) / np.maximum(rival.place, 1e-12))
        fitted = fitted + weight * (1 - weight) * np.outer(apart, apart)
    blocks = logit_blocks(design, target)
    heard = model.names
    places = np.concatenate([block for name, block in blocks.items() if name in heard])
    full = np.full((1 + max(map(max, blocks.values())),) * 2, np.nan)
    full[np.ix_(places, places)] = fitted
    return full
