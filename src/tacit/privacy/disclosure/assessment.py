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
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.bounds import Bound, DesignReports
from tacit.counting import PatternTable
from tacit.design import Design
from tacit.files import Progress
from tacit.privacy.disclosure.certificate import certificate
from tacit.privacy.disclosure.layout import CodedReports, UnitLayout
from tacit.privacy.disclosure.misfit import class_misfit, table_misfit
from tacit.privacy.disclosure.model_figures import ModelFigures, class_figures, table_figures
from tacit.privacy.disclosure.model_stack import (
    FIRST,
    MIXTURE,
    SECOND,
    TableStack,
    class_stack,
    table_stack,
)
from tacit.privacy.disclosure.moment_bound import QUANTILE, attribute_bound, record_bound
from tacit.privacy.risk import FIGURES, Figures
from tacit.schema import Schema

#: Joint tables of more cells than this are not built: latent classes and Monte Carlo instead.
MAX_TABLE = 2**17
#: Fewer reported records show nothing about dependence.
MIN_RECORDS = 100
#: A figure with a wider range is not known; a bound from here on is no limit.
WIDEST, NO_LIMIT = 0.20, 0.999
#: Added to every range.
_MARGIN = 0.01
#: The first rows of figures are how often guesses are right.
_GUESSES = 2
#: The bound where any dependence may give the truth away.
_CERTAIN = Bound(1.0, 1.0, 1.0)

Margins = dict[str, Array]
#: Estimate, low and high.
Range = tuple[float, float, float]


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
    """Every attribute, every group by its attributes, and the record.

    `knowing_others` is for one who also knows the other true answers; empty where no joint table
    was fitted.
    """

    attributes: dict[str, Assessed]
    groups: dict[tuple[str, ...], Assessed]
    record: Assessed
    knowing_others: dict[str, Assessed]
    n_records: int
    exact: bool

    def of(self, names: tuple[str, ...]) -> Assessed:
        """The scope of these attributes: one, those of a group, or all."""
        if len(names) == 1:
            return self.attributes[names[0]]
        return self.groups.get(names, self.record)


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
    layout = UnitLayout(design)
    reports = CodedReports.of(layout, patterns)
    low, high, middle = _margins(reports)
    bounds = _bounds(reports, low, high)
    tell(0.05)
    if layout.cells <= max_table:
        halves = reports.halves(rng)
        tables = table_stack(reports, halves, rng, tell)
        found, floors = table_figures(tables, tell), _floors(reports, halves, tables)
        unexplained = table_misfit(reports, tables)
    else:
        classes = class_stack(reports, reports.halves(rng), rng, tell)
        found, floors = class_figures(classes, rng, tell), {}
        unexplained = class_misfit(reports, classes.models[MIXTURE], rng)
    tell(1.0)
    said = KnownLimits(bounds, floors, middle, _spreads(layout, low, high), unexplained)
    return _assessed(found, said, reports)


def _nothing(design: Design, n_records: int) -> Assessment:
    """The assessment of too few records: anything is possible."""
    ends = [(1.0, 0.0, 1.0)] * len(FIGURES)
    unknown = Assessed(_figures(ends, 1.0), _CERTAIN)
    return Assessment(
        dict.fromkeys(design.schema.names, unknown),
        dict.fromkeys((group.attributes for group in design.groups), unknown),
        unknown,
        {},
        n_records,
        False,
    )


def _margins(reports: CodedReports) -> tuple[Margins, Margins, Margins]:
    """The marginal of each attribute: lower ends, upper ends and estimates."""
    layout = reports.layout
    low: Margins = {}
    high: Margins = {}
    middle: Margins = {}
    for unit, described in enumerate(layout.units):
        inverse = np.linalg.pinv(layout.matrix((unit,)))
        seen = reports.frequencies((unit,))
        for name in described.names:
            sums = np.eye(layout.design.schema[name].size)[layout.categories_of(name)]
            weights = sums.T @ inverse
            mean = weights @ seen
            variance = np.maximum(weights**2 @ seen - mean**2, 0)
            error = QUANTILE * np.sqrt(variance / reports.total)
            low[name], high[name] = np.clip(mean - error, 0, 1), np.clip(mean + error, 0, 1)
            middle[name] = np.clip(mean, 0, 1)
    return low, high, middle


def _bounds(reports: CodedReports, low: Margins, high: Margins) -> dict[str, Bound]:
    """Of every attribute, and of the record under the empty name."""
    found = {}
    seen = DesignReports(reports.layout.design)
    for name in reports.layout.design.schema.names:
        free = _free(seen, name, low[name], high[name])
        accuracy = min(free.accuracy, attribute_bound(reports, name))
        found[name] = Bound(accuracy, min(free.drawn, accuracy), free.worst_posterior)
    single = {name: bound.accuracy for name, bound in found.items()}
    accuracy = record_bound(reports, single)
    worst = min(bound.worst_posterior for bound in found.values())
    found[""] = Bound(accuracy, accuracy, worst)
    return found


def _free(seen: DesignReports, name: str, low: Array, high: Array) -> Bound:
    """The bound that needs no data but the marginal, for the worst marginal within its ends."""
    found = [seen.bound(name, _with(low, high, c).tolist()) for c in range(low.size)]
    return Bound(
        max(bound.accuracy for bound in found),
        max(bound.drawn for bound in found),
        max(bound.worst_posterior for bound in found),
    )


def _spreads(layout: UnitLayout, low: Margins, high: Margins) -> dict[str, float]:
    """By which share a guess from the own report is right more often at an end of the marginal."""
    found = dict.fromkeys(low, 0.0)
    for unit, described in enumerate(layout.units):
        if len(described.names) == 1:
            (name,) = described.names
            matrix, own = layout.matrix((unit,)), low[name].size
            middle = (low[name] + high[name]) / 2
            ends = [_with(low[name], high[name], c) for c in range(own)]
            right = [float((matrix * p).max(axis=1).sum()) for p in (middle / middle.sum(), *ends)]
            found[name] = max(right) / right[0] - 1
    return found


def _with(low: Array, high: Array, category: int) -> Array:
    """A marginal in which one category is as common as it may be."""
    middle = (low + high) / 2
    others = np.delete(middle, category)
    share = min(high[category], 1.0)
    scale = (1 - share) / others.sum() if others.sum() > 0 else 0.0
    made = middle * scale
    made[category] = 1 - scale * others.sum()
    return np.asarray(made)


def _floors(
    reports: CodedReports, halves: tuple[Array, Array], stack: TableStack
) -> dict[str, float]:
    """Lower ends of what guessers achieve, by attribute."""
    part = reports.layout.part(stack.tables[..., [FIRST, SECOND]])
    found = {}
    for name in reports.layout.design.schema.names:
        proved = certificate(reports, halves, part, name)
        found[name] = proved.accuracy - 2 * proved.stderr
    return found


@dataclass(frozen=True)
class KnownLimits:
    """What is known beside the models' figures."""

    bounds: dict[str, Bound]
    floors: dict[str, float]
    margins: Margins
    spreads: dict[str, float]
    unexplained: bool


@dataclass(frozen=True)
class _Scopes:
    """Scopes from the models' figures and what is known beside them."""

    found: ModelFigures
    said: KnownLimits
    schema: Schema

    def of(self, rows: Array, names: tuple[str, ...]) -> Assessed:
        """To someone who holds the whole reported record."""
        return Assessed(_figures(self._ranges(rows, names), self._prior(names)), self._bound(names))

    def knowing_others(self, name: str, rows: Array) -> Assessed:
        """To someone who also knows the other true answers."""
        ends = _ranges(rows, False, self.found, self.said.spreads[name])
        held = self._ranges(self.found.attributes[name], (name,))
        ends = [_not_below(end, least) for end, least in zip(ends, held, strict=True)]
        if self.said.unexplained:
            ends = _all_up_to(ends, _CERTAIN)
        return Assessed(_figures(ends, self._prior((name,))), _CERTAIN)

    def _ranges(self, rows: Array, names: tuple[str, ...]) -> list[Range]:
        several, said, bound = len(names) > 1, self.said, self._bound(names)
        ends = _ranges(rows, several, self.found, _spread(names, said.spreads))
        if not several:
            ends[1] = _lifted(ends[1], said.floors.get(names[0], 0.0))
        if said.unexplained and (several or not self.found.exact):
            ends = _all_up_to(ends, bound)
        if not self.found.exact:  # a sample does not see the largest posterior
            ends[2] = _up_to(ends[2], bound.worst_posterior)
        return ends

    def _prior(self, names: tuple[str, ...]) -> float:
        return min(float(self.said.margins[name].max()) for name in names)

    def _bound(self, names: tuple[str, ...]) -> Bound:
        bounds = self.said.bounds
        if 1 < len(names) == len(self.schema):
            return bounds[""]
        if len(names) == 1:
            return bounds[names[0]]
        accuracy = min(bounds[name].accuracy for name in names)
        return Bound(accuracy, accuracy, min(bounds[name].worst_posterior for name in names))


def _assessed(found: ModelFigures, said: KnownLimits, reports: CodedReports) -> Assessment:
    schema = reports.layout.design.schema
    scopes = _Scopes(found, said, schema)
    return Assessment(
        {name: scopes.of(found.attributes[name], (name,)) for name in schema.names},
        {names: scopes.of(rows, names) for names, rows in found.groups.items()},
        scopes.of(found.record, schema.names),
        {name: scopes.knowing_others(name, rows) for name, rows in found.knowing_others.items()},
        int(reports.total),
        found.exact,
    )


def _spread(names: tuple[str, ...], spreads: dict[str, float]) -> float:
    """By which share marginals may raise how often a guess of these answers is right."""
    return math.sqrt(sum(spreads[name] ** 2 for name in names))


def _ranges(rows: Array, several: bool, models: ModelFigures, spread: float) -> list[Range]:
    """Estimate, low and high of each row; the marginals raise guesses by `spread` at most."""
    found = []
    for place, row in enumerate(rows):
        stacked, leading = row[MIXTURE], row[list(models.leading)]
        chance = abs(row[FIRST] - row[SECOND]) / 2 + abs(stacked - (row[FIRST] + row[SECOND]) / 2)
        margin = 2 * chance + _MARGIN
        value = leading.max() if several else stacked
        largest = max(value, row[models.candidates].max())
        more = max(margin, spread * value) if place < _GUESSES else margin
        low, high = leading.min() - margin, largest + more
        value = value + margin / 2 if several else value
        value = min(value, high, 1.0) if place < _GUESSES + 1 else value
        found.append((float(value), float(max(low, 0.0)), float(high)))
    return found


def _lifted(end: Range, floor: float) -> Range:
    """A range not below what was proved."""
    value, low, high = end
    return max(value, floor), max(low, floor), max(high, floor + _MARGIN)


def _not_below(end: Range, least: Range) -> Range:
    """A range of one who knows at least as much."""
    return max(end[0], least[0]), max(end[1], least[1]), max(end[2], least[2])


def _up_to(end: Range, limit: float) -> Range:
    """A range that reaches to the bound."""
    return end[0], end[1], max(end[2], limit)


def _all_up_to(ends: list[Range], bound: Bound) -> list[Range]:
    """Every range up to its bound."""
    return [_up_to(end, limit) for end, limit in zip(ends, _limits(bound), strict=True)]


def _limits(bound: Bound) -> tuple[float, float, float, float]:
    """Bounds of the rows; information has none here."""
    return bound.accuracy, bound.accuracy, bound.worst_posterior, 0.0


def _figures(ends: list[Range], prior: float) -> Figures:
    """Privacy is one minus how often a guess is right; each figure at its pessimistic end."""
    drawn, best, worst, bits = ends
    spans = [_private(drawn), _private(best), (worst[1], min(worst[2], 1.0)), bits[1:]]
    return Figures(
        pse=spans[0][0],
        map_privacy=spans[1][0],
        worst_posterior=spans[2][1],
        information=spans[3][1],
        largest_prior=prior,
        central=(max(0.0, 1 - drawn[0]), max(0.0, 1 - best[0]), min(1.0, worst[0]), bits[0]),
        ends=tuple((float(low), float(high)) for low, high in spans),
    )


def _private(ends: Range) -> tuple[float, float]:
    return max(0.0, 1 - ends[2]), max(0.0, 1 - ends[1])
