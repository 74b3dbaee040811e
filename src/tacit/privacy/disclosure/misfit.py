"""Whether the models explain the reports at all; where they do not, a range says nothing.

All reports are compared with what the mixture expects:

    T = (sum_y n_y (n_y - 1)) / (n (n - 1)) - 2 sum_y n_y q(y) / n + sum_y q(y)^2

estimates the squared distance between the reported distribution and q without bias for a given q,
with variance near 2 sum q^2 / n^2 where they are equal. q is fitted to the same reports, which only
lowers T. For latent classes sum q^2 = sum_cc' pi_c pi_c' prod_g A_g[c, c'], with
A_g[c, c'] = sum_y P(y | c) P(y | c') over the reports of a group. They are also compared three
units at a time: the most likely table of their true answers against the mixture's.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.special import chdtri, ndtri

from tacit.core.arrays import Array
from tacit.core.channel.numbers import Distribution
from tacit.privacy.disclosure.latent_classes import Evidence, LatentClasses
from tacit.privacy.disclosure.layout import CodedReports, CoinGroup
from tacit.privacy.disclosure.likely_tables import small_tables
from tacit.privacy.disclosure.model_stack import MIXTURE, TableStack
from tacit.privacy.scopes import reports_of

#: How often models that are right are rejected, at most: by all reports, by three units.
LEVEL, TRIPLE_LEVEL = 1e-2, 1e-3
#: Sets of three units that are compared at most.
_MOST = 400


def table_misfit(reports: CodedReports, stack: TableStack) -> bool:
    """Whether the reports contradict the mixture of a stack of tables."""
    sent = reports_of(reports.layout.part(stack.tables[..., [MIXTURE]]))[..., 0]
    return _apart(reports, sent[reports.places()], float((sent**2).sum()))


def class_misfit(reports: CodedReports, model: LatentClasses, rng: np.random.Generator) -> bool:
    """Whether the reports, or those of any three units, contradict a mixture of classes."""
    evidence = Evidence(reports.layout, reports.codes)
    if _apart(reports, evidence.likelihood(model), agreement(model)):
        return True
    units = range(len(reports.layout.units))
    triples = list(combinations(units, min(3, len(units))))
    if len(triples) > _MOST:
        triples = [triples[i] for i in rng.choice(len(triples), _MOST, replace=False)]
    fitted = small_tables(reports, triples)
    return any(
        table.likelihood - reports.likelihood(family, model.table(family))
        > chdtri(table.table.size - 1, TRIPLE_LEVEL / len(fitted))
        for family, table in fitted.items()
    )


def _apart(reports: CodedReports, expected: Array, squares: float) -> bool:
    """Whether T is larger than chance allows."""
    counts, n = reports.weights, reports.total
    pairs = float((counts * (counts - 1)).sum()) / (n * (n - 1))
    distance = pairs - 2 * float(counts @ expected) / n + squares
    return bool(distance > -ndtri(LEVEL) * math.sqrt(2 * squares) / n)


def agreement(model: LatentClasses) -> float:
    """sum_y q(y)^2: how often two reports agree."""
    both = np.prod([_agreement(model, group) for group in model.layout.groups], axis=0)
    return float(model.shares @ both @ model.shares)


def _agreement(model: LatentClasses, group: CoinGroup) -> Array:
    """A_g[c, c'] of one group."""
    answers = [model.answers[u] for u in group.units]
    if group.single:
        told = answers[0] @ group.others[0].T
        return np.asarray(told @ told.T)
    both = np.prod([a @ a.T for a in answers], axis=0)
    if group.drawn is None:
        changed = [a @ other.T for a, other in zip(answers, group.others, strict=True)]
        mixed = np.prod([a @ c.T for a, c in zip(answers, changed, strict=True)], axis=0)
        other = np.prod([c @ c.T for c in changed], axis=0)
    else:
        mixed = np.repeat(_hit(answers, group.drawn)[:, None], len(both), axis=1)
        cells = math.prod(float(k) for k in group.drawn.shape)
        other = np.full_like(both, group.drawn.concentration / cells)
    theta, rest = group.theta, group.rest
    return np.asarray(theta**2 * both + theta * rest * (mixed + mixed.T) + rest**2 * other)


def _hit(answers: list[Array], drawn: Distribution) -> Array:
    """How often a draw equals the truth, for each class."""
    hit: Array = np.ones(len(answers[0]))
    for positions, table in zip(*drawn.units, strict=True):
        found = np.repeat(np.array(table, dtype=np.float64)[None], len(hit), axis=0)
        for own in (answers[place] for place in positions):
            found = np.einsum("ck,ckr->cr", own, found.reshape(*own.shape, -1))
        hit = hit * found[:, 0]
    return hit
