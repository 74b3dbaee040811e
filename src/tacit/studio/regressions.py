"""Regressions of a question on others, as the page shows them: odds ratios, points, sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from tacit.errors import DataError
from tacit.output.table import Table
from tacit.studio.charts import ratio_text
from tacit.studio.disclosure import (
    SMALLEST_GROUP,
    hidden_blocks,
    require_comparable,
    sampled_release,
    why_hidden,
)
from tacit.studio.recoding import recoded
from tacit.studio.regression_request import ORDERED, UNORDERED, RegressionRequest
from tacit.studio.release import Release
from tacit.survey import Published

if TYPE_CHECKING:
    from tacit.regression.logit import LogitResult

#: Predictors of a model, and groups of each.
MOST_PREDICTORS, MOST_GROUPS = 8, 12


@dataclass(frozen=True)
class RegressionTerm:
    """A group of a predictor against its reference: the odds ratio of an answer."""

    name: str
    label: str
    against: str
    answer: str
    odds_ratio: float
    low: float
    high: float
    pvalue: float
    coefficient: str
    estimate: float
    stderr: float

    @property
    def clear(self) -> bool:
        """Whether the interval of the odds ratio does not contain 1."""
        return not self.low <= 1 <= self.high


@dataclass(frozen=True)
class AverageEffect:
    """By how much the share of an answer differs between a group and the reference."""

    name: str
    label: str
    against: str
    answer: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Regression:
    """A fitted model of a released survey; interactions have no average effects."""

    request: RegressionRequest
    terms: tuple[RegressionTerm, ...]
    effects: tuple[AverageEffect, ...]
    n_records: int
    n_left_out: int
    llf: int
    aic: int
    warnings: tuple[str, ...]
    disguised: tuple[str, ...]

    @property
    def title(self) -> str:
        """Whose odds these are the ratios of."""
        answers, name = self.request.outcome.labels, self.request.outcome.name
        if len(answers) == 2:
            return f"Odds ratios for {name}: {answers[1]}"
        if self.request.ordered:
            return f"Odds ratios for {name}: a higher answer, towards “{answers[-1]}”"
        return f"Odds ratios for {name}: each answer against “{answers[0]}”"

    @property
    def findings(self) -> list[tuple[str, str]]:
        """A heading and a plain sentence per clear link, then one for those that are not clear."""
        found = [
            (
                f"{term.name}: {term.label} against {term.against}.",
                f"Other things equal, the odds of {self.event(term)} are "
                f"{ratio_text(term.odds_ratio)} times as high ({ratio_text(term.low)} to "
                f"{ratio_text(term.high)}).{self._points(term)}",
            )
            for term in sorted(self.terms, key=lambda t: t.pvalue)
            if term.clear
        ]
        clear = {t.name for t in self.terms if t.clear}
        unclear = dict.fromkeys(t.name for t in self.terms if t.name not in clear)
        if unclear:
            words = "No clear link: the intervals of the odds ratios contain 1."
            found.append((f"{', '.join(unclear)}.", words))
        return found

    def event(self, term: RegressionTerm) -> str:
        """What the odds of a term are of."""
        answers = self.request.outcome.labels
        if len(answers) == 2:
            return f"“{term.answer}”"
        if self.request.ordered:
            return f"a higher answer (towards “{term.answer}”)"
        return f"“{term.answer}” rather than “{answers[0]}”"

    def _points(self, term: RegressionTerm) -> str:
        same = (
            effect
            for effect in self.effects
            if (effect.name, effect.label, effect.answer) == (term.name, term.label, term.answer)
        )
        if (effect := next(same, None)) is None:
            return ""
        points = 100 * effect.difference
        more = f"{abs(points):.0f} points {'more' if points > 0 else 'less'} common"
        return f" On average “{effect.answer}” is {more}."

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "outcome": self.request.outcome.name,
            "kind": ORDERED if self.request.ordered else UNORDERED,
            "answers": list(self.request.outcome.labels),
            "records": self.n_records,
            "left_out": self.n_left_out,
            "log_likelihood": self.llf,
            "aic": self.aic,
            "terms": [vars(term) for term in self.terms],
            "effects": [vars(effect) for effect in self.effects],
            "warnings": list(self.warnings),
        }

    def to_table(self) -> Table:
        """Odds ratios, then average effects; a row per number with its limits."""
        heads = ("figure", "predictor", "group", "against", "answer", "value", "low", "high", "p")
        ratios = [("odds ratio", *astuple(term)[:8]) for term in self.terms]
        effects = [("average effect", *astuple(effect), None) for effect in self.effects]
        return Table(heads, [*ratios, *effects], self.title)


def regression(release: Release, request: RegressionRequest) -> Regression:
    """Fit a logit through the disguise to the released records.

    A model of some records less one of others would tell of the people between them. So every model
    leaves out 20 to 29 records that are drawn at random, always the same for the same records.
    Small groups are refused: every table of the outcome and a predictor must be shown in full. All
    digits of a model of several predictors would tell their whole table, with groups of a few
    people. So numbers are rounded to at most a fifth of their standard error.
    """
    require_comparable(release)
    _check(release, request)
    return release.once(("regression", request), lambda: _regression(release, request))


def _check(release: Release, request: RegressionRequest) -> None:
    schema, design, names = release.survey.design.schema, release.survey.design, request.names
    if not 2 <= len(names) <= MOST_PREDICTORS + 1:
        raise DataError(f"choose an outcome and 1 to {MOST_PREDICTORS} other questions")
    conditional = {c.attribute for c in design.conditions}
    for name in names:
        if (why := why_hidden(release, name)) is not None:
            raise DataError(f"{name}: {why}")
        if name in conditional:
            raise DataError(f"{name} is asked only of some people; a regression needs everybody")
    for name in request.changed(release.survey):
        if design.group_of(name).disguised:
            raise DataError(f"{name} is disguised: its answers cannot be merged here")
    by_name = {p.name: p for p in (request.outcome, *request.predictors)}
    for name, part in by_name.items():
        if len(part.groups) > MOST_GROUPS:
            raise DataError(f"{name}: merge its answers to at most {MOST_GROUPS} groups")
    parts = {name: part.codes(schema[name]) for name, part in by_name.items()}
    outcome = request.outcome.name
    for name in names[1:]:
        if hidden_blocks(release, [name, outcome], [parts[name], parts[outcome]]).any():
            raise DataError(
                f"{name}: a group has fewer than {SMALLEST_GROUP} people, or would tell "
                "of one that has; merge it with another group, or leave the question out"
            )
    if request.interaction is not None:
        pair = request.interaction
        if not {*pair} <= {*names[1:]} or len({*pair}) < 2:
            raise DataError("an interaction is of two different predictors of the model")
        three = [*pair, outcome]
        if hidden_blocks(release, three, [parts[name] for name in three]).any():
            raise DataError(
                f"the groups of {' and '.join(pair)} together are too small for an interaction; "
                "merge some"
            )


def _regression(release: Release, request: RegressionRequest) -> Regression:
    from tacit.regression import logit  # slow to import

    survey, names = release.survey, request.names
    records = sampled_release(release, names, request.left_out(survey))
    changed = request.changed(survey)
    counts, smaller = recoded(records.counts, survey.design, names, changed)
    outcome = request.column(names[0], survey)
    fit = logit(outcome, counts, smaller, request.factors(survey), ordered=request.ordered)
    return Regression(
        request,
        tuple(_terms(fit, request, survey)),
        tuple(_effects(fit, request, survey)),
        fit.nobs,
        release.counts.n_records - fit.nobs,
        round(fit.llf),
        2 * (fit.n_parameters - round(fit.llf)),
        tuple(fit.warnings),
        tuple(name for name in names if survey.design.group_of(name).disguised),
    )


#: Predictor, group, reference and answer of a number.
Labels = tuple[str, str, str, str]


def _terms(fit: LogitResult, request: RegressionRequest, survey: Published) -> list[RegressionTerm]:
    *_, last = answers = request.outcome.labels
    unordered = len(answers) > 2 and not request.ordered
    labels = _labels(request, survey, answers[1:] if unordered else [last], unordered)
    limits = dict(zip(fit.names, fit.conf_int(), strict=True))
    terms = []
    for name in fit.names:
        if name in labels:
            stderr = float(fit.bse[name])
            estimate, low, high = (
                coarse(float(number), stderr) for number in (fit.params[name], *limits[name])
            )
            ratios = _ratio(estimate), _ratio(low), _ratio(high)
            p_value, numbers = _two_digits(fit.pvalues[name]), (estimate, _two_digits(stderr))
            terms.append(RegressionTerm(*labels[name], *ratios, p_value, name, *numbers))
    return terms


def _effects(
    fit: LogitResult, request: RegressionRequest, survey: Published
) -> list[AverageEffect]:
    answers, effects = request.outcome.labels, fit.marginal_effects()
    several = len(answers) > 2
    labels = _labels(request, survey, answers if several else answers[1:], several)
    numbers = zip(effects.names, effects.values, effects.conf_int(), strict=True)
    return [
        AverageEffect(
            *labels[name], *(coarse(float(n), effects.bse[name]) for n in (value, *limits))
        )
        for name, value, limits in numbers
    ]


def _labels(
    request: RegressionRequest, survey: Published, answers: Sequence[str], prefixed: bool
) -> dict[str, Labels]:
    """What the numbers of the library are of, by their names, which may begin with an answer."""
    terms: dict[str, tuple[str, str, str]] = {}
    groups: dict[str, list[tuple[str, str]]] = {}
    for predictor, reference in zip(request.predictors, request.references, strict=True):
        name = predictor.name
        groups[name] = [
            (f"{request.column(name, survey)}[T.{request.category(name, label, survey)}]", label)
            for label in predictor.labels
            if label != reference
        ]
        terms |= {term: (name, label, reference) for term, label in groups[name]}
    if request.interaction is not None:
        first, second = request.interaction
        for (a, left), (b, right) in product(groups[first], groups[second]):
            both = f"{first} and {second}", f"{left} and {right}", "no interaction"
            terms[f"{a}:{b}"] = both
    outcome = request.outcome.name
    return {
        f"{request.category(outcome, answer, survey)}: {term}" if prefixed else term: (
            *labels,
            answer,
        )
        for answer in answers
        for term, labels in terms.items()
    }


def coarse(number: float, stderr: float) -> float:
    """A number rounded to the largest 1, 2 or 5 times a power of ten in a fifth of its error.

    >>> coarse(0.53941, 0.1724), coarse(-1.26, 0.51), coarse(12.3, math.inf)
    (0.54, -1.3, 12.0)
    """
    if not math.isfinite(number):
        return number
    if not 0 < stderr < math.inf:
        return _two_digits(number)
    fifth = stderr / 5
    power = math.floor(math.log10(fifth))
    step = max(part for part in (1, 2, 5) if part * 10.0**power <= fifth or part == 1)
    return round(round(number / (step * 10.0**power)) * step * 10.0**power, max(0, -power))


def _two_digits(number: float) -> float:
    return float(f"{number:.2g}")


def _ratio(log_odds: float) -> float:
    """An odds ratio; within what a number can hold, if the records set no limit."""
    return math.exp(min(max(log_odds, -700.0), 700.0))
