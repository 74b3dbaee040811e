"""The planner's page: respondents, interval widths, power and privacy of a survey."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from tacit.errors import DataError, DesignError, SchemaError, unknown
from tacit.plan import SurveyPlan, Tradeoff, plan, tradeoff
from tacit.plan.subject import (
    EPSILON,
    OPEN_FAMILIES,
    OPTIMAL,
    POSTERIOR,
    YES_NO_FAMILIES,
    family_of_text,
    number_of_text,
    shares_of_texts,
)
from tacit.studio.line_figure import LineFigure, line_figure
from tacit.studio.site import Answer, PageRoute, PageVisit, Right
from tacit.survey import Published

#: Fields with numbers, and what errors call some of them.
NUMBERS = (
    *("width", "power", "null", "difference", "group_share", "epsilon", "odds"),
    *("worst_posterior", "level"),
)
_WORDS = {"width": "half the width of the interval", "null": "null prevalence"}
#: All fields.
FIELDS = (
    *("subject", "theta", "drawn", "categories", "n", "prevalence", *NUMBERS),
    *("by", "attribute", "compare", "axis", "questions"),
)
#: Families that a new form compares; the others are often the same channel by another name.
COMPARED = ("related", "unrelated")
#: Limits on the work of one page.
MOST_CATEGORIES, MOST_OPTIMAL, MOST_QUESTIONS = 12, 8, 8
#: How the plan itself is called among what it is compared with.
THIS_PLAN = "this plan"
_SURVEY = "survey:"
#: Numbers are exact: one with a large exponent would take all memory.
_LONGEST, _HUGE = 500, re.compile(r"[eE][+-]?[0-9_]{3}")


@dataclass(frozen=True)
class PlanForm:
    """The fields of a request, as text.

    Numbers are written as for `tacit plan`: 0.03, 1/5, or 3 %. An empty field is left out, and what
    is left out is solved for.
    """

    fields: Mapping[str, str]
    compare: Sequence[str] = COMPARED

    @property
    def filled(self) -> bool:
        """Whether there is anything to plan."""
        return bool(self._text("subject"))

    def page(self, surveys: Sequence[Published]) -> tuple[SurveyPlan, Tradeoff | None]:
        """The plan, and privacy against precision with as many respondents."""
        shares = shares_of_texts([part for part in self._text("prevalence").split(";") if part])
        self._check_size(shares)
        subject = self._subject(surveys)
        texts = {name: text for name in NUMBERS if (text := self._text(name))}
        given: dict[str, Any] = {
            name: number_of_text(text, _WORDS.get(name, name.replace("_", " ")))
            for name, text in texts.items()
        }
        sizes = {"prevalence": shares, "categories": self._categories}
        given |= {name: text for name in ("by", "attribute") if (text := self._text(name))}
        planned = plan(subject, n=self._whole("n"), **sizes, **given)
        return planned, self._compared(planned, shares, given.get("level", 0.95))

    def _subject(self, surveys: Sequence[Published]) -> Any:
        chosen = self._text("subject")
        if chosen.startswith(_SURVEY):
            slug = chosen.removeprefix(_SURVEY)
            by_slug = {survey.slug: survey for survey in surveys}
            if slug not in by_slug:
                raise DataError("there is no such survey, or you may not see it")
            if self._text("theta") or self._text("drawn"):
                raise DataError("theta and drawn are for a family; a survey has its own")
            return by_slug[slug]
        if chosen not in OPEN_FAMILIES:
            raise DataError(unknown("family", chosen, OPEN_FAMILIES))
        theta, drawn = self._text("theta") or None, self._text("drawn") or None
        if theta is None and drawn is None:
            return chosen
        if chosen == OPTIMAL:
            raise DataError("an optimal channel has no theta; give a bound on privacy")
        return family_of_text(chosen, theta, drawn, self._categories)

    def _compared(self, planned: SurveyPlan, shares: Any, level: float) -> Tradeoff | None:
        """Families beside the plan; one question with the shares of the plan's first one."""
        for name in self.compare:
            if name not in OPEN_FAMILIES:
                raise DataError(unknown("family", name, OPEN_FAMILIES))
        if not self.compare or isinstance(shares, Mapping):
            return None
        figure = self._text("axis") or EPSILON
        questions = self._whole("questions") or 1
        if questions > MOST_QUESTIONS:
            raise DataError(f"at most {MOST_QUESTIONS} questions are compared, got {questions}")
        size = self._categories or (len(shares) if isinstance(shares, list) else None)
        sizes: dict[str, Any] = {"questions": questions, "categories": size}
        fitting = [name for name in self.compare if name not in YES_NO_FAMILIES or (size or 2) == 2]
        candidates: dict[str, Any] = {name: name for name in fitting}
        if len(planned.design.schema) == 1 and questions == 1:
            candidates = {THIS_PLAN: planned.design.groups[0].coin} | candidates
        return tradeoff(
            candidates, n=planned.n, prevalence=shares, figure=figure, level=level, **sizes
        )

    @property
    def _categories(self) -> int | None:
        return self._whole("categories")

    def _check_size(self, shares: Any) -> None:
        lists = shares.values() if isinstance(shares, Mapping) else [shares]
        sizes = [len(given) for given in lists if isinstance(given, list)]
        optimal = OPTIMAL in (self._text("subject"), *self.compare)
        most, what = (MOST_OPTIMAL, " for an optimal channel") if optimal else (MOST_CATEGORIES, "")
        for size in (self._categories, *sizes):
            if size is not None and not 2 <= size <= most:
                raise DataError(
                    f"the number of answers{what} is from 2 to {most} on this page, got {size}; "
                    "tacit plan takes more"
                )

    def _text(self, name: str) -> str:
        text = self.fields.get(name, "").strip()
        if len(text) > _LONGEST or _HUGE.search(text):
            raise DataError(f"{name}: too long, or a number with too many digits")
        return text

    def _whole(self, name: str) -> int | None:
        text = self._text(name).replace(",", "")
        if not text:
            return None
        if not text.isascii() or not text.isdigit() or len(text) > 12:
            raise DataError(f"{name}: {text!r} is not a whole number such as 2000")
        return int(text)


def tradeoff_figure(compared: Tradeoff) -> LineFigure | None:
    """Width or respondents against privacy, a curve per candidate and number of groups."""
    several = compared.questions > 1 and compared.figure == EPSILON
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in compared.points:
        across = point.record_epsilon if several else point.epsilon
        across = point.worst_posterior if compared.figure == POSTERIOR else across
        label = point.candidate
        if compared.questions > 1:
            label += f", {point.groups} {'group' if point.groups == 1 else 'groups'}"
        points = curves.setdefault(label, [])
        if math.isfinite(across):
            points.append((across, 100 * point.width))
    drawn = {label: sorted(points) for label, points in curves.items()}
    scope = "a record" if several else "an answer"
    name = f"{compared.figure.replace('_', ' ')} of {scope}: further left is more private"
    return line_figure(drawn, name, "points", logarithmic=True)


#: What is wrong with a wish is said on the page.
_WRONG = (DataError, DesignError, SchemaError)


def show_plan(visit: PageVisit) -> Response:
    """The form, and the plan if it was filled in."""
    form, found, problem = _form(visit), None, None
    surveys = visit.studio.surveys(visit.person)
    if form.filled:
        try:
            found = form.page(surveys)
        except _WRONG as error:
            problem = str(error)
    planned, compared = found or (None, None)
    return visit.page(
        "plan.html",
        400 if problem else 200,
        surveys=surveys,
        form=form,
        planned=planned,
        compared=compared,
        figure=compared and tradeoff_figure(compared),
        problem=problem,
        families=OPEN_FAMILIES,
    )


def plan_json(visit: PageVisit) -> Answer:
    """A plan: what is left out of respondents, width, power and privacy is solved for."""
    form = _form(visit)
    if not form.filled:
        raise DataError("name a subject: a family, or survey:NAME")
    try:
        planned, compared = form.page(visit.studio.surveys(visit.person))
    except _WRONG as error:
        raise DataError(str(error)) from None
    return planned.to_dict() | {"tradeoff": compared and compared.to_dict()}


def _form(visit: PageVisit) -> PlanForm:
    given = visit.request.query_params
    compare = [name for name in given.getlist("compare") if name] if len(given) else list(COMPARED)
    return PlanForm(dict(given), compare)


#: The pages of this module with the rights that they need.
ROUTES = (PageRoute("GET", "/plan", Right.SIGNED_IN, show_plan),)
