"""The results of a survey as values that pages, exports and the API show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.number_text import number_of
from tacit.reconstruction import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.sampling.incomplete_patterns import answered
from tacit.studio.release import Release
from tacit.survey import Published
from tacit.survey.field_types import text_in

#: A table of groups shows no group that is estimated to have fewer people than this.
SMALLEST_GROUP = 20


@dataclass(frozen=True)
class CategoryResult:
    """One answer: its text, its estimated share and interval, and the share of reports."""

    label: str
    share: float
    low: float
    high: float
    reported: float | None

    @property
    def outside(self) -> bool:
        """Whether the unbiased estimate is not a possible share."""
        return not 0 <= self.share <= 1


@dataclass(frozen=True)
class QuestionResult:
    """One question with its answers."""

    name: str
    text: str
    categories: tuple[CategoryResult, ...]
    misfit: str | None
    #: Records without an answer, which the shares leave out.
    missing: int = 0

    @property
    def outside(self) -> bool:
        """Whether an estimate is not a possible share."""
        return any(category.outside for category in self.categories)


def question_results(release: Release) -> list[QuestionResult]:
    """Every question of a survey; conditional ones also among those to whom they apply."""
    found = []
    for name, text in question_texts(release.survey).items():
        whole = _result(release, name, text)
        found += [whole, *_asked(release, whole)]
    return found


def _asked(release: Release, whole: QuestionResult) -> list[QuestionResult]:
    """The answers of those to whom a conditional question applies; none if they are too few."""
    conditions = {c.attribute: c for c in release.survey.design.conditions}
    if whole.name not in conditions:
        return []
    table = release.reconstruction.table([whole.name])
    people = float(np.ravel(table.value)[:-1].sum()) * table.n_records  # last: does not apply
    estimate = release.reconstruction.asked(whole.name)
    if people < SMALLEST_GROUP or not np.isfinite(estimate.value).all():
        return []
    texts = labels(release.survey, whole.name)
    made = zip(estimate.cells(), estimate.value, *estimate.interval(), strict=True)
    categories = tuple(
        CategoryResult(texts[str(label)], float(share), float(low), float(high), None)
        for (label,), share, low, high in made
    )
    text = f"{whole.text} Of those to whom it applies ({conditions[whole.name]})"
    return [replace(whole, name=f"{whole.name} (asked)", text=text, categories=categories)]


def crosstab(release: Release, row: str, column: str) -> tuple[Estimate, HypothesisTest]:
    """Shares of the answers to one question in the groups of another, and a test."""
    found = release.reconstruction
    return found.table([row], given=[column]), found.independence([row, column])


def shown_cells(release: Release, table: Estimate, column: str) -> list[dict[str, Any]]:
    """The rows of a table of groups; those of small groups have no numbers."""
    sizes = release.reconstruction.table([column])
    people = np.asarray(sizes.value) * (release.counts.n_records - sizes.n_left_out)
    small = {
        label
        for label, n in zip(release.survey.design.schema[column].categories, people, strict=True)
        if n < SMALLEST_GROUP
    }
    columns = table.columns()
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return [{**row, "suppressed": row[column] in small} for row in rows]


def labels(survey: Published, name: str) -> dict[str, str]:
    """The texts of an attribute's categories in the survey's first language."""
    language = survey.survey.languages[0]
    question = question_of(survey, name)
    return {
        str(category): survey.survey.label(question, str(category), language)
        for category in survey.design.schema[name].categories
    }


def question_texts(survey: Published) -> dict[str, str]:
    """What is asked for each attribute, in the survey's first language."""
    return {
        attribute.name: text
        for question in survey.survey.questions
        for attribute, text in zip(question.attributes, _texts(survey, question), strict=True)
    }


def _result(release: Release, name: str, text: str) -> QuestionResult:
    estimate = release.reconstruction.table([name])
    low, high = estimate.interval()
    shares = np.asarray(estimate.value).ravel()
    reported = _reported(release, name)
    texts = labels(release.survey, name)
    made = zip(texts.values(), shares, np.ravel(low), np.ravel(high), reported, strict=True)
    categories = tuple(
        CategoryResult(label, float(share), float(low), float(high), known)
        for label, share, low, high, known in made
    )
    fit = estimate.fit
    misfit = None
    if fit is not None and fit.pvalue < 0.001:
        misfit = (
            "These reports hardly fit the design (p < .001). Some people may not have followed the "
            "instructions, or the records come from another survey."
        )
    return QuestionResult(name, text, categories, misfit, estimate.n_left_out)


def _reported(release: Release, name: str) -> list[float | None]:
    """The shares of the reports, if reports have the same categories as answers."""
    true, schema = release.survey.design.schema[name], release.counts.schema
    if name not in schema.names or schema[name].categories != true.categories:
        return [None] * true.size
    counts = answered(release.counts, [name]).marginal([name])
    return [float(share) for share in counts / max(1, counts.sum())]


def question_of(survey: Published, name: str) -> Any:
    """The question of an attribute."""
    found = survey.survey.questions
    return next(q for q in found if name in [attribute.name for attribute in q.attributes])


def _texts(survey: Published, question: Any) -> list[str]:
    language = survey.survey.languages[0]
    text = text_in(question.text, language)
    if len(question.attributes) == 1 and question.kind != "multiple":
        return [text]
    options = [survey.survey.label(question, name, language) for name in question.answers]
    return [f"{text} {option}" for option in options]


def waiting_text(shown: int, records: int, needed: int) -> str:
    """How many records are shown, and when more will be."""
    if records == shown:
        return f"Results of {number_of(shown, 'record')}."
    left = max(0, needed - (records - shown))
    return (
        f"Results of {number_of(shown, 'record')}. {records - shown:,} newer ones are not shown "
        f"yet: results are updated in batches, so that no single answer can be read from a change. "
        f"The next update needs {number_of(left, 'more record')}."
    )
