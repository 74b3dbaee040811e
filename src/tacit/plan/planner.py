"""plan: solve for what is left out of respondents, interval width, power and privacy.

- Without n: the fewest respondents for a width, for a power, or for both.
- With n: the width to expect, and the power if there is a comparison.
- With n, a width or a power, and an open family: the most private parameter that reaches it.
- Bounds on the privacy of an answer set the parameter of an open family, and are checked for any
  other subject.

Comparisons: with a null prevalence; or between two groups, of which the second has the prevalence
and the first prevalence + difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from tacit.core.argument_checks import check_number
from tacit.core.channel import Coin, truthful
from tacit.core.design import Design
from tacit.errors import DataError, DesignError
from tacit.plan import expected, requirements
from tacit.plan import subject as subjects
from tacit.plan.expected import AnswerPrivacy, Assumptions, PlannedQuestion, PrivacyWish
from tacit.plan.requirements import AgainstNull, BetweenGroups, Comparison, Requirements
from tacit.plan.subject import ANSWER
from tacit.plan.survey_plan import QuestionPlan, SurveyPlan
from tacit.reconstruction.interval import check_level


def plan(
    subject: Any,
    n: int | None = None,
    width: float | None = None,
    prevalence: Any = 0.2,
    *,
    power: float | None = None,
    null: float | None = None,
    difference: float | None = None,
    by: str | None = None,
    group_share: float | None = None,
    epsilon: float | None = None,
    odds: float | None = None,
    worst_posterior: float | None = None,
    categories: int | None = None,
    attribute: str | None = None,
    category: Any = None,
    level: float = 0.95,
) -> SurveyPlan:
    """A plan of a survey; solves for what is left out, see the module.

    subject: a design, a survey or its file; a coin such as `related(0.7)`; or a family whose
    parameter is open, such as `related`, "optimal" or a function of theta. width: half the width
    of the interval, .03 is ± 3 points. prevalence: the share of one category (`category`, by
    default the last), or a distribution over all; for a design also a mapping from attribute to
    either. power: of the comparison with `null`, or of a `difference` between groups; the first
    group is known from elsewhere or is the last category of the attribute `by`. Its share of all is
    `group_share`, or what `prevalence` says about `by`, or half. level: of intervals; tests have
    the error rate 1 - level.

    >>> from tacit import related
    >>> plan(related(0.7), width=0.03, prevalence=0.2).n
    6365
    """
    check_level(level)
    requirements.check_respondents(n)
    compared: Comparison | None = None
    if null is not None and difference is not None:
        raise DataError("give null or difference, not both: they are two different comparisons")
    if null is not None:
        compared = AgainstNull(null)
    elif difference is not None:
        part = 0.5 if group_share is None else check_number("group_share", group_share)
        compared = BetweenGroups(check_number("difference", difference), by, part)
    elif by is not None:
        raise DataError("by needs a difference between the groups")
    required = Requirements(width, power, compared, level)
    wish = PrivacyWish(epsilon, odds, worst_posterior)
    design = subjects.design_of(subject)
    if design is not None:
        if categories is not None:
            raise DataError("categories is for a coin or a family; a design has its own")
        assumed = expected.assume_all(design, prevalence, category, attribute)
        stated = prevalence if isinstance(prevalence, Mapping) else {}
        if isinstance(compared, BetweenGroups) and by is not None and by in stated:
            groups = tuple(assumed[by].shares.tolist())
            if group_share is not None and not math.isclose(group_share, groups[-1]):
                raise DataError(
                    f"group_share is {group_share:g}, but the prevalence of {by!r} says "
                    f"{groups[-1]:g}; leave one of them out"
                )
            compared = replace(compared, share=groups[-1], groups=groups)
            required = replace(required, comparison=compared)
        for name in filter(None, (by, attribute)):
            design.schema.index(name)
        if attribute is not None and attribute == by:
            raise DataError(f"{by!r} makes the groups; give another attribute to compare")
        names = tuple(name for name in design.schema.names if name != by)
        names = names if attribute is None else (attribute,)
        questions = [PlannedQuestion(design, name, assumed) for name in names]
        return _fixed(questions, required, n, wish)
    if by is not None or attribute is not None:
        raise DataError("by and attribute name attributes of a design; a coin or a family has none")
    size = subjects.number_of_categories(subject, prevalence, categories)
    answer = expected.assume(
        subjects.one_question(truthful(), size).schema[ANSWER], prevalence, category
    )
    if isinstance(subject, Coin):
        design = subjects.one_question(subject, size)
        return _fixed([PlannedQuestion(design, ANSWER, {ANSWER: answer})], required, n, wish)
    # Optimal channels are bounded by what the wish bounds.
    by_posterior = list(wish.named) == [subjects.POSTERIOR]
    figure = subjects.POSTERIOR if by_posterior else subjects.EPSILON
    family = subjects.coin_family(subject, answer.shares.tolist(), figure)

    def one_question(step: int) -> Design:
        return subjects.one_question(family.make(step), size)

    layout = Layout({ANSWER: answer}, (ANSWER,), family.last, one_question)
    return _solved(family.name, layout, required, n, wish)


def _fixed(
    questions: Sequence[PlannedQuestion], required: Requirements, n: int | None, wish: PrivacyWish
) -> SurveyPlan:
    """Solve for n, or for what to expect from n."""
    compared = required.comparison
    for question in questions:
        if compared is not None:
            compared.check(question.own)
        question.channel.require_reconstructable()
    if n is None and not required.given:
        raise DataError("give n, or what it must reach: width, or power with a comparison")
    if n is not None and required.given:
        raise DataError(
            "nothing is left to solve for: the disguise, n and what it must reach are given; "
            "leave out n, leave out width and power, or give a family without its parameter"
        )
    for question in questions:
        if wish and question.group.disguised:
            wish.check(question.own)
            missed = wish.missed(question.privacy)
            if missed is not None:
                raise DesignError(
                    f"{question.name!r} with {subjects.coin_text(question.group.coin)} has "
                    f"{_figure(missed, question.privacy)}, more than the {wish.named[missed]:g} "
                    "allowed; disguise it more, or give a family without its parameter"
                )
    if n is not None:
        return _result(questions, required, n, "width and power" if compared else "width")
    needed = [required.respondents(question) for question in questions]
    return _result(questions, required, max(needed), "respondents", needed)


def _result(
    questions: Sequence[PlannedQuestion],
    required: Requirements,
    n: int,
    solved: str,
    needed: Sequence[int | None] = (),
) -> SurveyPlan:
    """The plan with n respondents."""
    plans, level, compared = [], required.level, required.comparison
    for question, respondents in zip_longest(questions, needed):
        own, disguised = question.own, question.group.disguised
        plan_of = QuestionPlan(
            attribute=question.name,
            coin=subjects.coin_text(question.group.coin),
            category=None if own.category is None else own.attribute.categories[own.category],
            prevalence=None if own.category is None else own.share,
            width=question.width(n, level),
            power=None if compared is None else compared.power(question, n, level),
            difference_width=(
                compared.width(question, n, level) if isinstance(compared, BetweenGroups) else None
            ),
            respondents=respondents,
            disguised=disguised,
            privacy=question.privacy,
            biases=question.biases(n) if disguised else (),
        )
        plans.append(plan_of)
    first = questions[0]
    return SurveyPlan(first.design, n, solved, required, first.assumed, tuple(plans))


@dataclass(frozen=True, eq=False)
class Layout:
    """Questions in groups: a design per step, from 1 (most private) to `last`; one step if fixed.

    `distinct` are the attributes whose widths may differ: one if all questions are alike.
    """

    assumed: Assumptions
    distinct: tuple[str, ...]
    last: int
    design: Callable[[int], Design]

    def question(self, step: int, name: str | None = None) -> PlannedQuestion:
        """A question with the parameter at a step; the first distinct one by default."""
        return PlannedQuestion(self.design(step), name or self.distinct[0], self.assumed)

    def most_accurate(self, wish: PrivacyWish) -> int | None:
        """The last step that is as private as wished; None if there is none."""

        def breaks(step: int) -> bool:
            return wish.missed(self.question(step).privacy) is not None

        if breaks(1):
            return None
        if not breaks(self.last):
            return self.last
        return requirements.smallest(breaks, 1, self.last) - 1


def _solved(
    family: str, layout: Layout, required: Requirements, n: int | None, wish: PrivacyWish
) -> SurveyPlan:
    """The parameter of a family by the wish for privacy, or by what n respondents must reach."""

    def questions(step: int) -> list[PlannedQuestion]:
        return [layout.question(step)]

    if wish:
        wish.check(layout.assumed[ANSWER])
        step = layout.most_accurate(wish)
        if step is not None:
            return _fixed(questions(step), required, n, PrivacyWish())
        first = layout.question(1)
        missed = wish.missed(first.privacy) or ""
        raise DesignError(
            f"{family} cannot reach {missed} {wish.named[missed]:g}: its most private coin here, "
            f"{subjects.coin_text(first.group.coin)}, has {_figure(missed, first.privacy)}"
        )
    if n is None or not required.given:
        raise DataError(
            f"the parameter of {family} is open: give n and a width or a power to "
            "solve for privacy, or bound the privacy by epsilon, odds or worst_posterior"
        )
    if required.comparison is not None:
        required.comparison.check(layout.assumed[ANSWER])

    def enough(step: int) -> bool:
        return required.met(layout.question(step), n)

    if not enough(layout.last):
        best = _result(questions(layout.last), required, n, "privacy")
        reached = f"a width of {best.width:.4f}"
        reached += "" if best.power is None else f" and a power of {best.power:.3f}"
        raise DataError(
            f"{n:,} respondents are too few, with any disguise by {family}: at best they give "
            f"{reached}"
        )
    step = requirements.smallest(enough, 0, layout.last)
    return _result(questions(step), required, n, "privacy")


def _figure(name: str, privacy: AnswerPrivacy) -> str:
    value = getattr(privacy, name)
    shown = "infinite" if math.isinf(value) else f"{value:.4g}"
    return f"{name} {shown}"
