"""Regressions of a question on others, as the page shows them: odds ratios, points, sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import DataError
from tacit.studio.charts import ratio_text
from tacit.studio.disclosure import (
    SMALLEST_GROUP,
    hidden_blocks,
    require_comparable,
    sampled_release,
    why_hidden,
)
from tacit.studio.recoding import Recoding, column_name, recoded, recodings_of_form
from tacit.studio.release import Release
from tacit.survey import Published

if TYPE_CHECKING:
    from tacit.regression.logit import LogitResult

#: Predictors of a model, and groups of each.
MOST_PREDICTORS, MOST_GROUPS = 8, 12
_Z = 1.959963984540054
#: An average effect with its limits; none for an interaction.
Points = tuple[float | None, float | None, float | None]


@dataclass(frozen=True)
class RegressionRequest:
    """What a form asks for: the outcome, predictors with their reference groups, an interaction."""

    outcome: str
    predictors: tuple[Recoding, ...]
    references: tuple[str, ...]
    interaction: tuple[str, str] | None = None

    @property
    def reference_of(self) -> dict[str, str]:
        """The reference group of each predictor."""
        return dict(zip((p.name for p in self.predictors), self.references, strict=True))


@dataclass(frozen=True)
class RegressionTerm:
    """A group of a predictor against its reference: odds ratio and average effect in points.

    An interaction has no effect in points.
    """

    name: str
    label: str
    against: str
    odds_ratio: float
    low: float
    high: float
    pvalue: float
    points: float | None
    points_low: float | None
    points_high: float | None
    coefficient: str
    estimate: float
    stderr: float

    @property
    def clear(self) -> bool:
        """Whether the interval of the odds ratio does not contain 1."""
        return not self.low <= 1 <= self.high

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return dict(vars(self))


@dataclass(frozen=True)
class Regression:
    """A fitted model of a released survey."""

    request: RegressionRequest
    answer: str
    terms: tuple[RegressionTerm, ...]
    n_records: int
    n_left_out: int
    formula: str
    llf: float
    aic: float
    warnings: tuple[str, ...]
    disguised: tuple[str, ...]

    @property
    def findings(self) -> list[tuple[str, str]]:
        """A heading and a plain sentence per clear link, then one for those that are not clear."""
        found = []
        for term in sorted(self.terms, key=lambda t: t.pvalue):
            if term.clear:
                points = ""
                if term.points is not None:
                    kind = "more" if term.points > 0 else "fewer"
                    points = f" On average that is {abs(100 * term.points):.0f} points {kind}."
                found.append(
                    (
                        f"{term.name}: {term.label} against {term.against}.",
                        f"Other things equal, the odds of “{self.answer}” are "
                        f"{ratio_text(term.odds_ratio)} times as high ({ratio_text(term.low)} to "
                        f"{ratio_text(term.high)}).{points}",
                    )
                )
        unclear = list(dict.fromkeys(t.name for t in self.terms if not t.clear))
        clear = {t.name for t in self.terms if t.clear}
        unclear = [name for name in unclear if name not in clear]
        if unclear:
            words = "No clear link: the intervals of the odds ratios contain 1."
            found.append((f"{', '.join(unclear)}.", words))
        return found

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "outcome": self.request.outcome,
            "answer": self.answer,
            "formula": self.formula,
            "records": self.n_records,
            "left_out": self.n_left_out,
            "log_likelihood": self.llf,
            "aic": self.aic,
            "terms": [term.to_dict() for term in self.terms],
            "warnings": list(self.warnings),
        }


def request_of_form(
    survey: Published, fields: Mapping[str, str], chosen: Sequence[str]
) -> RegressionRequest:
    """The model of a form: the fields `outcome`, `ref.NAME`, `first`, `second`, and merged answers.

    `chosen` are the predictors.
    """
    schema = survey.design.schema
    for name in (fields.get("outcome", ""), *chosen):
        if name not in schema:
            raise DataError("choose an outcome and other questions of the survey")
    predictors = tuple(recodings_of_form(schema, chosen, fields).values())
    references = tuple(
        wanted if (wanted := fields.get(f"ref.{p.name}", "")) in p.labels else p.labels[0]
        for p in predictors
    )
    pair = fields.get("first", ""), fields.get("second", "")
    return RegressionRequest(fields["outcome"], predictors, references, pair if all(pair) else None)


def python_code(regression: Regression, survey: Published) -> str:
    """The same model in Python; merged answers become columns."""
    request = regression.request
    lines = [
        "import tacit",
        "from tacit.regression import logit",
        "",
        'studio = tacit.connect("https://studio.example.org", "TOKEN")',
        f'design, records = studio.design("{survey.slug}"), studio.records("{survey.slug}")',
    ]
    for predictor in request.predictors:
        if predictor.changes(survey.design.schema[predictor.name]):
            groups = {str(c): label for label, categories in predictor.groups for c in categories}
            new = f'records["{column_name(predictor.name)}"]'
            lines.append(f'{new} = records["{predictor.name}"].map({groups})')
    return "\n".join(
        [*lines, f'fit = logit(r"""{regression.formula}""", records, design)', "print(fit)"]
    )


def regression(release: Release, request: RegressionRequest) -> Regression:
    """Fit a logit through the disguise to the released records.

    A model of some records less one of others would tell of the people between them. So every model
    leaves out 20 to 29 records that are drawn at random, always the same for the same model. Small
    groups are refused: every table of the outcome and a predictor must be shown in full.
    """
    require_comparable(release)
    _check(release, request)
    key = ("regression", request)
    return release.once(key, lambda: _regression(release, request))


def _check(release: Release, request: RegressionRequest) -> None:
    schema, design = release.survey.design.schema, release.survey.design
    names = [request.outcome, *(p.name for p in request.predictors)]
    if len(names) < 2 or len({*names}) < len(names) or len(names) > MOST_PREDICTORS + 1:
        raise DataError(f"choose an outcome and 1 to {MOST_PREDICTORS} other questions")
    conditional = {c.attribute for c in design.conditions}
    for name in names:
        if (why := why_hidden(release, name)) is not None:
            raise DataError(f"{name}: {why}")
        if name in conditional:
            raise DataError(f"{name} is asked only of some people; a regression needs everybody")
    if schema[request.outcome].size != 2:
        raise DataError("choose an outcome with two answers")
    outcome = [[0], [1]]
    for predictor in request.predictors:
        attribute = schema[predictor.name]
        if len(predictor.groups) > MOST_GROUPS:
            raise DataError(f"{predictor.name}: merge its answers to at most {MOST_GROUPS} groups")
        changed = predictor.changes(attribute)
        if changed and design.group_of(predictor.name).disguised:
            raise DataError(f"{predictor.name} is disguised: its answers cannot be merged here")
        parts = [predictor.codes(attribute), outcome]
        if hidden_blocks(release, [predictor.name, request.outcome], parts).any():
            raise DataError(
                f"{predictor.name}: a group has fewer than {SMALLEST_GROUP} people, or would tell "
                "of one that has; merge it with another group, or leave the question out"
            )
    if request.interaction is not None:
        by_name = {p.name: p for p in request.predictors}
        if not {*request.interaction} <= by_name.keys() or len({*request.interaction}) < 2:
            raise DataError("an interaction is of two different predictors of the model")
        pair = [*request.interaction, request.outcome]
        parts = [by_name[n].codes(schema[n]) for n in request.interaction]
        if hidden_blocks(release, pair, [*parts, outcome]).any():
            raise DataError(
                f"the groups of {' and '.join(request.interaction)} together are too small for an "
                "interaction; merge some"
            )


def _regression(release: Release, request: RegressionRequest) -> Regression:
    from tacit.regression import logit  # slow to import

    design = release.survey.design
    names = [request.outcome, *(p.name for p in request.predictors)]
    records = sampled_release(release, names, repr(request))
    changed = {p.name: p for p in request.predictors if p.changes(design.schema[p.name])}
    counts, smaller = recoded(records, names, changed)
    columns = {
        p.name: column_name(p.name) if p.name in changed else p.name for p in request.predictors
    }
    by_name = {name: _term(columns[name], r) for name, r in request.reference_of.items()}
    terms = list(by_name.values())
    if request.interaction is not None:
        terms.append(":".join(by_name[name] for name in request.interaction))
    formula = f"`{request.outcome}` ~ {' + '.join(terms)}"
    fit = logit(formula, counts, smaller)
    outcome = design.schema[request.outcome]
    return Regression(
        request,
        str(outcome.categories[1]),
        tuple(_terms(fit, request, columns)),
        fit.nobs,
        release.counts.n_records - fit.nobs,
        formula,
        float(fit.llf),
        float(fit.aic),
        tuple(fit.warnings),
        tuple(name for name in names if design.group_of(name).disguised),
    )


def _term(column: str, reference: str) -> str:
    """A predictor against its reference group, whose label people write.

    formulaic evaluates the term as Python, and takes a bracket for its end even within a text. So
    characters that do not belong to words are written as numbers.
    """
    quoted = re.sub(r"[^\w .,-]", lambda match: f"\\U{ord(match[0]):08x}", reference)
    return f"{_start(column)}base='{quoted}'))"


def _start(column: str) -> str:
    return f"C(`{column}`, contr.treatment("


def _terms(
    fit: LogitResult, request: RegressionRequest, columns: Mapping[str, str]
) -> list[RegressionTerm]:
    limits = dict(zip(fit.names, fit.conf_int(), strict=True))
    effects = fit.marginal_effects()
    places, against = {n: k for k, n in enumerate(effects.names)}, request.reference_of
    shown = []
    for name in fit.names[1:]:
        low, high = limits[name]
        predictor, label = _named(name, request, columns)
        points: Points = (None, None, None)
        if predictor in against:
            points = _points(effects, places, columns[predictor], label, against[predictor])
        shown.append(
            RegressionTerm(
                predictor,
                label,
                against.get(predictor, "no interaction"),
                _ratio(fit.params[name]),
                _ratio(low),
                _ratio(high),
                fit.pvalues[name],
                *points,
                name,
                fit.params[name],
                fit.bse[name],
            )
        )
    return shown


def _ratio(log_odds: float) -> float:
    """An odds ratio; within what a number can hold, if the records set no limit."""
    return math.exp(min(max(log_odds, -700.0), 700.0))


def _named(name: str, request: RegressionRequest, columns: Mapping[str, str]) -> tuple[str, str]:
    """The predictor and the group of a coefficient, or both of an interaction.

    The name is a term and its group, such as C(`age`, ...)[T.old], or two of them with a colon.
    """
    by_name = {p.name: p for p in request.predictors}
    starts = {predictor: _start(column) for predictor, column in columns.items()}
    if request.interaction is not None:
        first, second = request.interaction
        for labels in product(by_name[first].labels, by_name[second].labels):
            joint = f"[T.{labels[0]}]:{starts[second]}" in name
            if joint and name.startswith(starts[first]) and name.endswith(f"[T.{labels[1]}]"):
                return f"{first} and {second}", " and ".join(labels)
    return next(
        (predictor, label)
        for predictor, start in starts.items()
        for label in by_name[predictor].labels
        if name.startswith(start) and name.endswith(f"[T.{label}]")
    )


def _points(
    effects: Any, places: Mapping[str, int], column: str, label: str, reference: str
) -> Points:
    """The average effect of a group against the reference, with limits.

    Effects are against the first group of each predictor, so this one is a difference of two.
    """
    weights = np.zeros(len(places))
    for group, weight in ((label, 1.0), (reference, -1.0)):
        place = places.get(f"{column}[T.{group}]")
        if place is not None:
            weights[place] += weight
    value = float(weights @ effects.values)
    error = math.sqrt(max(float(weights @ effects.covariance @ weights), 0.0))
    return value, value - _Z * error, value + _Z * error
