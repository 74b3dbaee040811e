"""Disclosure: what a whole reported record gives away, from reported records alone.

The adversary holds the whole reported record and knows the joint distribution of the true answers.
That distribution is not known here, so three figures replace one:

    estimate    of the stack of models that predicts reports best; for several answers at once
                the network's if that is larger and has weight in the stack, and half of 2 e + .01
                more: chance hides dependence between many answers more often than it feigns it
    range       with e = |h1 - h2| / 2 + |f - (h1 + h2) / 2|, f the stack's figure and h1, h2 those
                of its halves: from min(stack, network) - 2 e - .01 to max(candidates) + 2 e + .01,
                up to what the ends of the marginals alone explain, if that is more
    bound       for any dependence between answers: the smaller of what channel and marginals allow,
                and of what pairs of records with equal reports allow (95 %)

A certificate from below lifts estimate and range where a guesser provably does better. Where the
reports contradict the models, ranges reach to the bound.

For one who also knows the person's other true answers, estimate and range come from the same
models. Some dependence would make that one certain, so there is no bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import chdtri, ndtri

from tacit.core.arrays import TINY, Array, Index
from tacit.core.bounds import Bound, DesignReports, bound_of_all
from tacit.core.channel.numbers import Distribution
from tacit.core.design import Design
from tacit.core.disguise import disguise
from tacit.models.latent_classes import LatentClasses, LatentModel
from tacit.models.units import CoinGroup, UnitLayout, UnitReports
from tacit.privacy import model_stack, scopes
from tacit.privacy.known_others import risks_knowing
from tacit.privacy.model_stack import FIRST, MIXTURE, NETWORK, SECOND, TableStack
from tacit.privacy.moment_bound import QUANTILE, attribute_bound, record_bound
from tacit.privacy.prior import Prior, PriorTable
from tacit.privacy.risk import (
    FIGURES,
    Figures,
    Risk,
    figures_of,
    risk_of_posteriors,
    sampled,
    stacked,
)
from tacit.records import PatternTable, Progress

#: Joint tables of more cells than this are not built: latent classes and Monte Carlo instead.
MAX_TABLE = 2**17
#: Fewer reported records show nothing about dependence.
MIN_RECORDS = 100
#: A figure with a wider range is not known.
WIDEST = 0.20
#: Added to every range.
_MARGIN = 0.01
#: Which rows of figures say how often guesses are right.
_GUESSES = (True, True, False, False)
#: The bound where any dependence may give the truth away.
_CERTAIN = Bound(1.0, 1.0, 1.0)

#: A range covers the full table only if it has this weight in the mixture. With few records it
#: makes chance look like dependence; where it predicts reports, there is dependence that no other
#: candidate has.
PLAUSIBLE = 0.05
#: The network leads beside the mixture only if it has this weight in it.
LEADING = 0.1
#: How often models that are right are rejected, at most: by all reports, by three units.
LEVEL, TRIPLE_LEVEL = 1e-2, 1e-3
#: Reports drawn per model.
DRAWN = 2500
#: Sets of three units that are compared at most.
_MOST = 400

#: By attribute: lower ends, estimates and upper ends of its marginal, a row each.
Margins = dict[str, Array]


@dataclass(frozen=True)
class Assessed:
    """What the whole reported record discloses of one scope.

    `figures` holds estimates as `central`, ranges as `ends`, and of each range the pessimistic end.
    """

    figures: Figures
    bound: Bound

    def known(self, figure: str) -> bool:
        """Whether the range of a figure is narrow enough to say something."""
        low, high = self.figures.interval("map_privacy" if figure == "information" else figure)
        return high - low <= WIDEST


@dataclass(frozen=True)
class Assessment:
    """Every attribute, every group and the record, by their attributes.

    `knowing_others` is for one who also knows the other true answers; empty where no joint table
    was fitted.
    """

    scopes: dict[tuple[str, ...], Assessed]
    knowing_others: dict[str, Assessed]
    n_records: int


def assess(
    design: Design,
    patterns: PatternTable,
    rng: np.random.Generator,
    tell: Progress = lambda _: None,
    max_table: int = MAX_TABLE,
) -> Assessment:
    """Estimate, range and bound for one who holds the whole reported record."""
    if patterns.n_records < MIN_RECORDS:
        return _nothing(design, patterns.n_records)
    reports = UnitReports(patterns, design)
    layout = reports.layout
    margins = _margins(reports)
    bounds = _bounds(reports, margins)
    tell(0.05)
    floors: dict[str, float] = {}
    halves = reports.halves(rng)
    if layout.cells <= max_table:
        tables = model_stack.table_stack(reports, halves, rng, tell)
        models = table_figures(tables, tell)
        part = model_stack.joint_groups(layout, tables.tables[..., [FIRST, SECOND]])
        for axis, passed in scopes.passed_by_group(part):
            for name in part.factors[axis].names:
                guesses = scopes.joint_of_attribute(part, name, passed).argmax(axis=0)
                floors[name] = certificate(reports, halves, guesses, name)
        unexplained = table_misfit(reports, tables)
    else:
        classes = model_stack.class_stack(reports, halves, rng, tell)
        models = class_figures(layout, classes, rng, tell)
        unexplained = class_misfit(reports, classes[MIXTURE], rng)
    tell(1.0)
    assessed = _Scopes(models, bounds, floors, margins, _spreads(layout, margins), unexplained)
    return Assessment(
        {names: assessed.of(names) for names in _scopes_of(design)},
        {name: assessed.knowing_others(name) for name in models.knowing_others},
        reports.n_records,
    )


def _scopes_of(design: Design) -> list[tuple[str, ...]]:
    """The attributes of every scope: one, those of a group, all."""
    names, groups = design.schema.names, (group.attributes for group in design.groups)
    return [*((name,) for name in names), *groups, names]


def _nothing(design: Design, n_records: int) -> Assessment:
    """The assessment of too few records: anything is possible."""
    ends = np.repeat([[1.0, 0.0, 1.0]], len(FIGURES), axis=0)
    unknown = Assessed(_figures(ends, 1.0), _CERTAIN)
    return Assessment(dict.fromkeys(_scopes_of(design), unknown), {}, n_records)


def _margins(reports: UnitReports) -> Margins:
    """The marginal of each attribute."""
    layout = reports.layout
    margins: Margins = {}
    for unit, described in enumerate(layout.units):
        inverse = np.linalg.pinv(layout.matrix((unit,)))
        seen = reports.frequencies((unit,))
        for name in described.names:
            sums = np.eye(layout.design.schema[name].size)[layout.categories_of(name)]
            weights = sums.T @ inverse
            mean = weights @ seen
            variance = np.maximum(weights**2 @ seen - mean**2, 0)
            error = QUANTILE * np.sqrt(variance / reports.n_records)
            margins[name] = np.clip([mean - error, mean, mean + error], 0, 1)
    return margins


def _bounds(reports: UnitReports, margins: Margins) -> dict[str, Bound]:
    """Of every attribute, and of the record under the empty name."""
    bounds = {}
    seen = DesignReports(reports.layout.design)
    for name, margin in margins.items():
        # The bound that needs no data but the marginal, for the worst marginal within its ends.
        free = [seen.bound(name, end.tolist()) for end in _extremes(margin)]
        accuracy = min(max(bound.accuracy for bound in free), attribute_bound(reports, name))
        drawn = min(max(bound.drawn for bound in free), accuracy)
        bounds[name] = Bound(accuracy, drawn, max(bound.worst_posterior for bound in free))
    accuracy = record_bound(reports, {name: bound.accuracy for name, bound in bounds.items()})
    bounds[""] = replace(bound_of_all(bounds.values()), accuracy=accuracy, drawn=accuracy)
    return bounds


def _spreads(layout: UnitLayout, margins: Margins) -> dict[str, float]:
    """By which share a guess from one's own report gains at an end of the marginal."""
    spreads = dict.fromkeys(margins, 0.0)
    for unit, described in enumerate(layout.units):
        if len(described.names) == 1:
            (name,) = described.names
            matrix, middle = layout.matrix((unit,)), margins[name][[0, 2]].mean(axis=0)
            ends = [middle / middle.sum(), *_extremes(margins[name])]
            right = [float((matrix * p).max(axis=1).sum()) for p in ends]
            spreads[name] = max(right) / right[0] - 1
    return spreads


def _extremes(margin: Array) -> list[Array]:
    """For each category, a marginal in which it is as common as it may be."""
    low, _, high = margin
    middle = (low + high) / 2
    marginals = []
    for category, share in enumerate(high):
        others = np.delete(middle, category).sum()
        scale = (1 - share) / others if others > 0 else 0.0
        marginal = middle * scale
        marginal[category] = 1 - scale * others
        marginals.append(marginal)
    return marginals


@dataclass(frozen=True)
class _Scopes:
    """Scopes from the models' figures and what is known beside them.

    Ranges have a row per figure: estimate, low and high.
    """

    models: ModelFigures
    bounds: dict[str, Bound]
    floors: dict[str, float]
    margins: Margins
    spreads: dict[str, float]
    unexplained: bool

    def of(self, names: tuple[str, ...]) -> Assessed:
        """To someone who holds the whole reported record."""
        return Assessed(_figures(self._ranges(names), self._prior(names)), self._bound(names))

    def knowing_others(self, name: str) -> Assessed:
        """To someone who also knows the other true answers, so at least as much."""
        ends = _ranges(self.models.knowing_others[name], False, self.models, self.spreads[name])
        ends = np.maximum(ends, self._ranges((name,)))
        if self.unexplained:
            _raise(ends, _CERTAIN)
        return Assessed(_figures(ends, self._prior((name,))), _CERTAIN)

    def _ranges(self, names: tuple[str, ...]) -> Array:
        several, bound = len(names) > 1, self._bound(names)
        spread = math.sqrt(sum(self.spreads[name] ** 2 for name in names))
        ends = _ranges(self.models.scopes[names], several, self.models, spread)
        if not several:  # not below what was proved
            floor = self.floors.get(names[0], 0.0)
            ends[1] = np.maximum(ends[1], [floor, floor, floor + _MARGIN])
        if self.unexplained and (several or not self.models.exact):
            _raise(ends, bound)
        if not self.models.exact:  # a sample does not see the largest posterior
            ends[2, 2] = max(ends[2, 2], bound.worst_posterior)
        return ends

    def _prior(self, names: tuple[str, ...]) -> float:
        return min(float(self.margins[name][1].max()) for name in names)

    def _bound(self, names: tuple[str, ...]) -> Bound:
        if len(names) == 1:
            return self.bounds[names[0]]
        if len(names) == len(self.margins):
            return self.bounds[""]
        return bound_of_all([self.bounds[name] for name in names])


def _ranges(rows: Array, several: bool, models: ModelFigures, spread: float) -> Array:
    """Estimate, low and high of each row; the marginals raise guesses by `spread` at most."""
    stacked, first, second = rows[:, MIXTURE], rows[:, FIRST], rows[:, SECOND]
    leading = rows[:, list(models.leading)]
    margin = abs(first - second) + 2 * abs(stacked - (first + second) / 2) + _MARGIN
    value = leading.max(axis=1) if several else stacked.copy()
    largest = np.maximum(value, rows[:, models.candidates].max(axis=1))
    more = np.where(_GUESSES, np.maximum(margin, spread * value), margin)
    low, high = np.maximum(leading.min(axis=1) - margin, 0), largest + more
    if several:
        value += margin / 2
    value[:3] = np.minimum(value, high)[:3].clip(max=1)
    return np.stack([value, low, high], axis=1)


def _raise(ends: Array, bound: Bound) -> None:
    """Let every range reach up to its bound; information has none here."""
    limits = [bound.accuracy, bound.accuracy, bound.worst_posterior, 0.0]
    ends[:, 2] = np.maximum(ends[:, 2], limits)


def _figures(ends: Array, prior: float) -> Figures:
    """Privacy is one minus how often a guess is right; each figure at its pessimistic end."""
    rows = ends.copy()
    rows[:2] = np.maximum(1 - rows[:2, [0, 2, 1]], 0)
    rows[2, [0, 2]] = rows[2, [0, 2]].clip(max=1)
    return figures_of(rows[:, 1:], prior, tuple(rows[:, 0].tolist()))


class Sample:
    """Reports drawn from latent classes, where a joint table would be too large.

    Given a class, groups are independent, so the posterior of an answer is a mixture over classes,

        P(x_u | y) = sum_c P(c | y) P(x_u | y_g, c)

    and exact for every drawn report. The best guess of several units at once is searched for: each
    class proposes its own best guess, the best of these is improved unit by unit.
    """

    def __init__(
        self,
        layout: UnitLayout,
        classes: LatentClasses,
        rng: np.random.Generator,
        draws: int = DRAWN,
    ) -> None:
        self.layout, self.model = layout, classes
        self.true = classes.draws(draws, rng)
        self.codes: Index = disguise(self.true, layout.unit_design, rng).astype(np.intp)
        model = LatentModel.of_units(layout, self.codes, np.ones(draws, np.int64))
        model = model.variant(len(classes.shares))
        #: P(class | report), records by classes.
        self.classes = model.classes(model.join(classes.shares, classes.tables))
        self._parts = {group: self._strategies(group) for group in layout.groups}

    def attribute(self, name: str) -> Risk:
        """Of one attribute."""
        unit = self.layout.unit_of(name)
        categories = self.layout.categories_of(name)
        size = self.layout.design.schema[name].size
        cells = np.einsum("nc,nck->nk", self.classes, self._given(unit), optimize=True)
        shares = cells @ np.eye(size)[categories]
        prior = self.model.shares @ self.model.tables[unit] @ np.eye(size)[categories]
        return risk_of_posteriors(shares, prior, float(shares.max()), 0.0)

    def _given(self, unit: int) -> Array:
        """P(x_u | y_g, c): records by classes by cells."""
        group = self.layout.group_of(unit)
        answers, reported = self.model.tables[unit], self.codes[:, unit]
        changed = np.repeat(answers[None], len(reported), axis=0)
        if group.drawn is None:
            changed = group.others[group.units.index(unit)][reported][:, None, :] * answers[None]
            changed = changed / np.maximum(changed.sum(axis=2, keepdims=True), TINY)
        if group.single:
            return changed
        truth, other = self._parts[group]
        joint = other[:, :, None] * changed
        joint[np.arange(len(reported)), :, reported] += truth
        return np.maximum(joint, 0) / np.maximum((truth + other)[:, :, None], TINY)

    def _strategies(self, group: CoinGroup) -> tuple[Array, Array]:
        """P(report of a group | class) as two summands: truth kept, truth not kept."""
        answers = [self.model.tables[u] for u in group.units]
        columns = [self.codes[:, u] for u in group.units]
        if group.drawn is None:
            changed = [a @ other.T for a, other in zip(answers, group.others, strict=True)]
            picked = [a[:, y].T for a, y in zip(changed, columns, strict=True)]
            other = group.rest * np.prod(picked, axis=0)
        else:
            background = group.background(self.codes[:, list(group.units)])
            other = np.repeat(background[:, None], len(self.model.shares), axis=1)
        if group.single:  # a matrix never keeps the truth as such
            return np.zeros_like(other), other
        truth = np.prod([a[:, y].T for a, y in zip(answers, columns, strict=True)], axis=0)
        return group.theta * truth, other

    def units(self, units: Sequence[int]) -> Risk:
        """Of several units at once: whole groups."""
        groups = [group for group in self.layout.groups if group.units[0] in units]
        guess = self._guess(groups)
        best = np.minimum(self._value(groups, guess), 1.0)
        truth = self._value(groups, self.true)
        units_of = [unit for group in groups for unit in group.units]
        prior = self._answered(units_of, self.true) @ self.model.shares
        bits = np.log2(np.maximum(truth, TINY) / np.maximum(prior, TINY))
        # The worst posterior is the largest that was drawn.
        return sampled((truth, best, bits), float(best.max()), 0.0, 0.0)

    def _answered(self, units: Sequence[int], true: Index) -> Array:
        """P(x | c) of given answers to these units: records by classes."""
        picked = [self.model.tables[u][:, true[:, u]].T for u in units]
        return np.asarray(np.prod(picked, axis=0))

    def _value(self, groups: list[CoinGroup], true: Index) -> Array:
        """P(x | y) of given answers of these groups."""
        terms = [self._term(group, true) for group in groups]
        return np.asarray((self.classes * np.prod(terms, axis=0)).sum(axis=1))

    def _term(self, group: CoinGroup, true: Index) -> Array:
        """P(x_g | y_g, c): records by classes."""
        sent = np.add(*self._parts[group])
        likely = _likely(group, self.codes, true)[:, None] * self._answered(group.units, true)
        return np.asarray(likely / np.maximum(sent, TINY))

    def _guess(self, groups: list[CoinGroup]) -> Index:
        """The best of the classes' own guesses, improved unit by unit."""
        proposals = []
        for member in range(len(self.model.shares)):
            proposed = self.true.copy()
            for group in groups:
                self._propose(group, member, proposed)
            proposals.append(proposed)
        best = np.argmax([self._value(groups, proposed) for proposed in proposals], axis=0)
        guess: Index = np.array(proposals)[best, np.arange(len(best))]
        terms = {group: self._term(group, guess) for group in groups}
        for group in groups:
            rest = self.classes * np.prod([t for g, t in terms.items() if g is not group], axis=0)
            for unit in group.units:
                scores = []
                for cell in range(self.layout.sizes[unit]):
                    guess[:, unit] = cell
                    scores.append((rest * self._term(group, guess)).sum(axis=1))
                guess[:, unit] = np.argmax(scores, axis=0)
            terms[group] = self._term(group, guess)
        return guess

    def _propose(self, group: CoinGroup, member: int, guess: Index) -> None:
        """The best guess of one group for a member of one class."""
        for number, unit in enumerate(group.units):
            answers = self.model.tables[unit][member]
            if group.drawn is None:
                scores = group.others[number][self.codes[:, unit]] * answers
                guess[:, unit] = scores.argmax(axis=1)
            else:
                guess[:, unit] = answers.argmax()
        if group.single:
            return
        replaced, truth = guess.copy(), guess.copy()
        truth[:, list(group.units)] = self.codes[:, list(group.units)]
        scores = [
            _likely(group, self.codes, x)
            * np.prod([self.model.tables[u][member][x[:, u]] for u in group.units], axis=0)
            for x in (truth, replaced)
        ]
        guess[:] = np.where((scores[0] > scores[1])[:, None], truth, replaced)


def _likely(group: CoinGroup, codes: Index, true: Index) -> Array:
    """M[y_g, x_g] for each record."""
    units = list(group.units)
    if group.drawn is not None:
        other = group.background(codes[:, units])
    else:
        entries = [b[codes[:, u], true[:, u]] for u, b in zip(units, group.others, strict=True)]
        other = group.rest * np.prod(entries, axis=0)
    same = (codes[:, units] == true[:, units]).all(axis=1)
    return np.asarray(other + group.theta * same)


def agreement(layout: UnitLayout, classes: LatentClasses) -> float:
    """How often two reports agree: the sum of the squared probabilities of all reports.

    It is sum_cc' P(c) P(c') prod_g A_g[c, c'], with A_g[c, c'] = sum_y P(y | c) P(y | c') over the
    reports of a group.
    """
    both = np.prod([_agreement(classes, group) for group in layout.groups], axis=0)
    return float(classes.shares @ both @ classes.shares)


def _agreement(classes: LatentClasses, group: CoinGroup) -> Array:
    """A_g of one group."""
    answers = [classes.tables[u] for u in group.units]
    if group.single:
        reported = answers[0] @ group.others[0].T
        return np.asarray(reported @ reported.T)
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
    for positions, law in drawn.units:
        chance = np.repeat(np.array(law, dtype=np.float64)[None], len(hit), axis=0)
        for table in (answers[position] for position in positions):
            chance = np.einsum("ck,ckr->cr", table, chance.reshape(*table.shape, -1))
        hit = hit * chance[:, 0]
    return hit


# Figures of every model of a stack, for one who holds the whole reported record and knows the joint
# distribution: exact from joint tables, by Monte Carlo from latent classes.


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
    part = model_stack.joint_groups(stack.layout, stack.tables)
    rows: dict[tuple[str, ...], Array] = {}
    for done, (axis, passed) in enumerate(scopes.passed_by_group(part)):
        names = part.factors[axis].names
        for scope in {names, *((name,) for name in names)}:
            rows[scope] = _rows(scopes.risk_of(part, scope, passed))
        tell(3 / 4 + (done + 1) / len(part.factors) / 5)
    rows[part.schema.names] = _rows(scopes.risk_of(part, part.schema.names))
    candidates = slice(NETWORK, None if stack.weights[-1] >= PLAUSIBLE else -1)
    leading = (MIXTURE, NETWORK) if stack.weights[0] >= LEADING else (MIXTURE,)
    # Those who also know all other true answers.
    design = stack.layout.design
    names = tuple(name for unit in stack.layout.units for name in unit.names)
    tables = stack.tables.reshape(*(design.schema[name].size for name in names), -1)
    prior = Prior(design.schema, (PriorTable(names, tables),), "estimated")
    risks = risks_knowing(design, prior, scopes.Limits())
    knowing_others = {name: _rows(risk) for name, risk in risks.items()}
    return ModelFigures(rows, knowing_others, candidates, leading, True)


def _rows(risk: Risk) -> Array:
    return np.stack([risk.drawn, risk.best, risk.worst, risk.information])


def class_figures(
    layout: UnitLayout, models: list[LatentClasses], rng: np.random.Generator, tell: Progress
) -> ModelFigures:
    """Sampled figures."""
    names = layout.design.schema.names
    several = [group for group in layout.groups if len(group.factor.names) > 1]
    risks: dict[tuple[str, ...], list[Risk]] = {}
    for done, model in enumerate(models):
        sample = Sample(layout, model, rng)
        risks.setdefault(names, []).append(sample.units(range(len(layout.units))))
        for group in several:
            risks.setdefault(group.factor.names, []).append(sample.units(group.units))
        for name in names:
            risks.setdefault((name,), []).append(sample.attribute(name))
        tell(3 / 4 + (done + 1) / len(models) / 5)
    rows = {scope: _rows(stacked(of_models)) for scope, of_models in risks.items()}
    return ModelFigures(rows, {}, slice(NETWORK, None), (MIXTURE,), False)


# Whether the models explain the reports at all; where they do not, a range says nothing. All
# reports are compared with what the mixture expects:
#
#     T = (sum_y n_y (n_y - 1)) / (n (n - 1)) - 2 sum_y n_y q(y) / n + sum_y q(y)^2
#
# estimates the squared distance between the reported distribution and q without bias for a given q,
# with variance near 2 sum q^2 / n^2 where they are equal. q is fitted to the same reports, which
# only lowers T. Latent classes are also compared three units at a time: the most likely table of
# their true answers against the mixture's.


def table_misfit(reports: UnitReports, stack: TableStack) -> bool:
    """Whether the reports contradict the mixture of a stack of tables."""
    sent = scopes.reports_of(
        model_stack.joint_groups(reports.layout, stack.tables[..., [MIXTURE]])
    )[..., 0]
    return _apart(reports, sent[model_stack.group_cells(reports)], float((sent**2).sum()))


def class_misfit(reports: UnitReports, model: LatentClasses, rng: np.random.Generator) -> bool:
    """Whether the reports, or those of any three units, contradict a mixture of classes."""
    expected = model_stack.report_likelihoods(model_stack.class_model(reports), model)
    if _apart(reports, expected, agreement(reports.layout, model)):
        return True
    units = range(len(reports.sizes))
    triples = list(combinations(units, min(3, len(units))))
    if len(triples) > _MOST:
        triples = [triples[i] for i in rng.choice(len(triples), _MOST, replace=False)]
    fitted = model_stack.likely_tables(reports, triples)
    return any(
        likely.likelihood
        - 2 * reports.n_records * reports.log_likelihood(family, model.joint(family))
        > chdtri(likely.table.size - 1, TRIPLE_LEVEL / len(fitted))
        for family, likely in fitted.items()
    )


def _apart(reports: UnitReports, expected: Array, squares: float) -> bool:
    """Whether T is larger than chance allows."""
    counts, n = reports.counts, reports.n_records
    pairs = float((counts * (counts - 1)).sum()) / (n * (n - 1))
    distance = pairs - 2 * float(counts @ expected) / n + squares
    return bool(distance > -ndtri(LEVEL) * math.sqrt(2 * squares) / n)


# A certificate from below: what a guesser achieves, estimated without bias from the reports. A
# guesser is fitted to one half of the reports and judged on the other. Its guess of an attribute
# from the whole report y = (y_g, z) is G(y_g, z). If x_g were known, it would be right with
# probability
#
#     H(x_g, z) = sum_y' M_g[y', x_g] [G(y', z) = x_a]
#
# and W_g^T H, at the own report, is unbiased for it: only the own group's channel is inverted, and
# no model is assumed. An adversary is at least as good as this guesser.


def certificate(
    reports: UnitReports, halves: tuple[Index, Index], guesses: Index, name: str
) -> float:
    """The mean accuracy of the guessers of both halves, less two standard errors.

    `guesses` are those of the tables fitted to the first half and to the second, for every report.
    `halves` are the counts of the patterns in the halves, each judged by the other's guesser.
    """
    layout = reports.layout
    total = squares = people = 0.0
    for counts, which in ((halves[1], 0), (halves[0], 1)):
        weights = _weights(layout, guesses[..., which], name)[model_stack.group_cells(reports)]
        total += float(counts @ weights)
        squares += float(counts @ weights**2)
        people += float(counts.sum())
    mean = total / people
    return mean - 2 * math.sqrt(max(squares / people - mean**2, 0.0) / people)


def _weights(layout: UnitLayout, guesses: Index, name: str) -> Array:
    """W_g^T H over all reports, one axis per group."""
    axis = next(i for i, g in enumerate(layout.groups) if name in g.factor.names)
    group = layout.groups[axis]
    factor = group.factor
    ahead = np.moveaxis(guesses, axis, 0)
    flat = ahead.reshape(ahead.shape[0], -1)
    shape = factor.channel.true_shape
    categories = np.indices(shape)[factor.names.index(name)].ravel()
    right: Array = np.zeros((math.prod(shape), flat.shape[1]))
    for category in range(int(categories.max()) + 1):
        chance = factor.channel.forward.T @ (flat == category).astype(np.float64)
        right[categories == category] = chance[categories == category]
    back = group.inverse.T @ right
    return np.moveaxis(back.reshape(ahead.shape), 0, axis)
