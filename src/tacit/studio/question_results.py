"""The results of a survey as values that pages, exports and the API show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.bounds import is_undisguised
from tacit.output.number_text import number_of
from tacit.reconstruction import Estimate, Reconstruction, simplex
from tacit.reconstruction.sampling.incomplete_patterns import answered
from tacit.studio.disclosure import shown_estimates, why_hidden
from tacit.studio.release import HELD_BACK, Release, next_release_at
from tacit.studio.result_warnings import misfit_text, safe_answer_text
from tacit.survey import Published
from tacit.survey.fields import text_in


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
    """One question with its answers.

    `effective` is the number of undisguised answers with the same standard errors. `possible` are
    the nearest shares between 0 and 1, if an estimate lies outside.
    """

    name: str
    text: str
    categories: tuple[CategoryResult, ...]
    misfit: str | None
    effective: float
    disguised: bool = True
    possible: tuple[float, ...] = ()
    safe_answers: str | None = None
    #: Records without an answer, which the shares leave out.
    missing: int = 0

    @property
    def outside(self) -> bool:
        """Whether an estimate is not a possible share."""
        return any(category.outside for category in self.categories)

    @property
    def half_width(self) -> float:
        """Half the width of the widest interval."""
        return max(one.high - one.low for one in self.categories) / 2


def question_results(release: Release) -> list[QuestionResult]:
    """Every question that is shown; conditional ones also among those to whom they apply."""
    return release.once("questions", lambda: [*_results(release)])


def hidden_questions(release: Release) -> list[tuple[str, str]]:
    """The texts of the questions that are not shown, and why."""
    texts = question_texts(release.survey).items()
    return [(text, why) for name, text in texts if (why := why_hidden(release, name)) is not None]


def _results(release: Release) -> Iterator[QuestionResult]:
    for name, text in question_texts(release.survey).items():
        if why_hidden(release, name) is None:
            whole = _result(release, name, text)
            yield whole
            yield from _asked(release, whole)


def _estimates(release: Release) -> Reconstruction:
    return release.once("estimates", lambda: shown_estimates(release))


def _asked(release: Release, whole: QuestionResult) -> list[QuestionResult]:
    """The answers of those to whom a conditional question applies."""
    conditions = {c.attribute: c for c in release.survey.design.conditions}
    if whole.name not in conditions:
        return []
    estimate = _estimates(release).asked(whole.name)
    if not np.isfinite(estimate.value).all():
        return []
    texts = labels(release.survey, whole.name)
    made = zip(estimate.cells(), estimate.value, *estimate.interval(), strict=True)
    categories = tuple(
        CategoryResult(texts[str(label)], float(share), float(low), float(high), None)
        for (label,), share, low, high in made
    )
    text = f"{whole.text} Of those to whom it applies ({conditions[whole.name]})"
    return [
        replace(
            whole,
            name=f"{whole.name} (asked)",
            text=text,
            categories=categories,
            effective=effective_respondents(estimate),
            possible=tuple(_possible(np.ravel(estimate.value)).tolist()),
            safe_answers=None,
        )
    ]


def result_notes(result: QuestionResult, records: int) -> list[str]:
    """What to know beside the estimates of a question from so many records."""
    found = []
    if result.missing:
        found.append(f"{result.missing:,} without an answer left out.")
    if result.disguised:
        number = f"{result.effective:,.0f}" if result.effective >= 1 else "fewer than one"
        ones = "answer" if number in ("1", "fewer than one") else "answers"
        many = number_of(records - result.missing, "disguised answer")
        found.append(f"{many} are as exact as {number} undisguised {ones}.")
    if result.outside:
        shares = [
            f"{one.label} {100 * share:.1f} %"
            for one, share in zip(result.categories, result.possible, strict=True)
        ]
        found.append(
            "An estimate below 0 or above 100 % comes from chance: the disguise adds noise, and "
            "the estimate subtracts the mean of the noise, so that it is right on average. It is "
            "shown as it is, because moving it would make it wrong on average. The interval "
            "contains the shares that the reports are compatible with. The nearest possible "
            f"shares are: {', '.join(shares)}."
        )
    return found + ([] if result.safe_answers is None else [result.safe_answers])


def effective_respondents(estimate: Estimate) -> float:
    """How many undisguised answers would give the same standard errors.

        n = sum of p (1 - p) / sum of squared standard errors

    over the categories, with shares moved to the nearest possible ones; p (1 - p) / se^2 if there
    are two. 0 if everybody seems to give the same answer: then any number has a smaller error.
    """
    shares = _possible(np.asarray(estimate.value).ravel())
    variance = float(np.sum(np.asarray(estimate.stderr) ** 2))
    return float(np.sum(shares * (1 - shares))) / variance if variance > 0 else 0.0


def _possible(shares: Array) -> Array:
    """Shares from 0 to 1 that sum to 1, near these."""
    clipped = np.clip(shares, 0, None)
    return np.asarray(clipped / clipped.sum())


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
    estimate = _estimates(release).table([name])
    low, high = estimate.interval()
    shares = np.asarray(estimate.value).ravel()
    reported = _reported(release, name)
    texts = labels(release.survey, name)
    made = zip(texts.values(), shares, np.ravel(low), np.ravel(high), reported, strict=True)
    categories = tuple(
        CategoryResult(label, float(share), float(low), float(high), known)
        for label, share, low, high, known in made
    )
    outside = any(one.outside for one in categories)
    possible = _estimates(release).table([name], simplex).value if outside else ()
    return QuestionResult(
        name,
        text,
        categories,
        misfit_text(estimate),
        effective_respondents(estimate),
        not is_undisguised(release.survey.design.group_of(name)),
        tuple(float(share) for share in np.ravel(possible)),
        safe_answer_text(release, name, categories[-1].label, estimate),
        estimate.n_left_out,
    )


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


def waiting_text(release: Release | None, records: int) -> str:
    """How many records are shown, and when more will be."""
    if release is None:
        needed = next_release_at(0)
        return f"There are no results yet: {number_of(records, 'record')} so far, {needed} needed."
    shown = release.counts.n_records
    if not release.open:
        late = records - shown
        unseen = f" {late:,} that came later are not shown." if late else ""
        return f"Results of {number_of(shown, 'record')}.{unseen}"
    left = max(0, next_release_at(shown) - records)
    return (
        f"Results of {number_of(shown, 'record')}. {records - shown:,} more are not shown yet: "
        f"results are updated in batches that leave out {HELD_BACK} records, so that no single "
        f"answer can be read from a change. The next update needs "
        f"{number_of(left, 'more record')}; once the survey is closed, all records are shown."
    )
