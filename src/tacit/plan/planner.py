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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.core.bounds import is_undisguised
from tacit.core.channel import Coin, truthful
from tacit.core.design import Design
from tacit.errors import DataError, DesignError
from tacit.plan.assumptions import Assumptions, assume, assume_all, check_number
from tacit.plan.expected import AnswerPrivacy, PrivacyWish, answer_privacy, safe_answer_biases
from tacit.plan.requirements import (
    AgainstNull,
    BetweenGroups,
    Comparison,
    Requirements,
    check_respondents,
    smallest,
)
from tacit.plan.subject import (
    ANSWER,
    EPSILON,
    POSTERIOR,
    CoinFamily,
    coin_family,
    coin_text,
    design_of,
    number_of_categories,
    one_question,
)
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
    check_respondents(n)
    compared = _comparison(null, difference, by, group_share)
    wanted = Requirements(width, power, compared, level)
    wish = PrivacyWish(epsilon, odds, worst_posterior)
    given = design_of(subject)
    if given is not None:
        if categories is not None:
            raise DataError("categories is for a coin or a family; a design has its own")
        assumed = assume_all(given, prevalence, category, attribute)
        named = isinstance(prevalence, Mapping) and by in prevalence
        if named and isinstance(compared, BetweenGroups):
            wanted = replace(wanted, comparison=_of_prevalence(compared, assumed, group_share))
        return _Task(given, _names(given, attribute, by), assumed, wanted).fixed(n, wish)
    if by is not None or attribute is not None:
        raise DataError("by and attribute name attributes of a design; a coin or a family has none")
    own = _assumed(subject, prevalence, categories, category)
    if not isinstance(subject, Coin):
        return _OpenTask(_family(subject, own, wish), own, wanted).solved(n, wish)
    design = one_question(subject, own[ANSWER].attribute.size)
    return _Task(design, (ANSWER,), own, wanted).fixed(n, wish)


def _family(subject: Any, assumed: Assumptions, wish: PrivacyWish) -> CoinFamily:
    """The open family; optimal channels are bounded by what the wish bounds."""
    figure = POSTERIOR if list(wish.named) == [POSTERIOR] else EPSILON
    return coin_family(subject, assumed[ANSWER].shares.tolist(), figure)


def _comparison(
    null: float | None, difference: float | None, by: str | None, share: float | None
) -> Comparison | None:
    if null is not None and difference is not None:
        raise DataError("give null or difference, not both: they are two different comparisons")
    if null is not None:
        return AgainstNull(null)
    if difference is not None:
        part = 0.5 if share is None else check_number(share, "group_share")
        return BetweenGroups(check_number(difference, "difference"), by, part)
    if by is not None:
        raise DataError("by needs a difference between the groups")
    return None


def _of_prevalence(
    compared: BetweenGroups, assumed: Assumptions, share: float | None
) -> BetweenGroups:
    """The comparison of groups with the assumed shares of the attribute that makes them."""
    assert compared.by is not None
    groups = tuple(assumed[compared.by].shares.tolist())
    if share is not None and not math.isclose(share, groups[-1]):
        raise DataError(
            f"group_share is {share:g}, but the prevalence of {compared.by!r} says {groups[-1]:g}; "
            "leave one of them out"
        )
    return replace(compared, share=groups[-1], groups=groups)


def _names(design: Design, attribute: str | None, by: str | None) -> tuple[str, ...]:
    if by is not None:
        design.schema.index(by)
    if attribute is not None:
        design.schema.index(attribute)
        if attribute == by:
            raise DataError(f"{by!r} makes the groups; give another attribute to compare")
        return (attribute,)
    return tuple(name for name in design.schema.names if name != by)


@dataclass(frozen=True, eq=False)
class _Task:
    """A design, the attributes to plan for, and what must be reached."""

    design: Design
    names: tuple[str, ...]
    assumed: Assumptions
    wanted: Requirements

    def fixed(self, n: int | None, wish: PrivacyWish) -> SurveyPlan:
        """Solve for n, or for what to expect from n."""
        self._check()
        if n is None and not self.wanted.given:
            raise DataError("give n, or what it must reach: width, or power with a comparison")
        if n is not None and self.wanted.given:
            raise DataError(
                "nothing is left to solve for: the disguise, n and what it must reach are given; "
                "leave out n, leave out width and power, or give a family without its parameter"
            )
        for name in self.names:
            self._keep(name, wish)
        if n is not None:
            return self.result(n, "width and power" if self.wanted.comparison else "width")
        needed = [self.wanted.respondents(self.design, name, self.assumed) for name in self.names]
        return self.result(max(needed), "respondents", needed)

    def _check(self) -> None:
        for name in self.names:
            if self.wanted.comparison is not None:
                self.wanted.comparison.check(self.assumed[name])
            self.design.channel(self.design.jointly_reported([name])).require_reconstructable()

    def _keep(self, name: str, wish: PrivacyWish) -> None:
        """Raise if the answer is disguised and less private than wished."""
        if not wish or is_undisguised(self.design.group_of(name)):
            return
        wish.check(self.assumed[name])
        found = answer_privacy(self.design, name, self.assumed)
        missed = wish.missed(found)
        if missed is not None:
            raise DesignError(
                f"{name!r} with {coin_text(self.design.group_of(name).coin)} has "
                f"{_figure(missed, found)}, more than the {wish.named[missed]:g} allowed; "
                "disguise it more, or give a family without its parameter"
            )

    def result(self, n: int, solved: str, needed: Sequence[int] | None = None) -> SurveyPlan:
        """The plan with n respondents."""
        each = needed if needed is not None else [None] * len(self.names)
        questions = tuple(
            self._question(name, n, own) for name, own in zip(self.names, each, strict=True)
        )
        return SurveyPlan(self.design, n, solved, self.wanted, self.assumed, questions)

    def _question(self, name: str, n: int, needed: int | None) -> QuestionPlan:
        own, wanted = self.assumed[name], self.wanted
        place, compared = own.category, wanted.comparison
        power = between = None
        disguised = not is_undisguised(self.design.group_of(name))
        if compared is not None:
            power = wanted.expected_power(self.design, name, self.assumed, n)
            if isinstance(compared, BetweenGroups):
                between = compared.width(self.design, name, self.assumed, n, wanted.level)
        return QuestionPlan(
            attribute=name,
            coin=coin_text(self.design.group_of(name).coin),
            category=None if place is None else own.attribute.categories[place],
            prevalence=None if place is None else own.share,
            width=wanted.expected_width(self.design, name, self.assumed, n),
            power=power,
            difference_width=between,
            respondents=needed,
            disguised=disguised,
            privacy=answer_privacy(self.design, name, self.assumed),
            biases=safe_answer_biases(self.design, name, self.assumed, n) if disguised else (),
        )


def _assumed(subject: Any, prevalence: Any, categories: int | None, category: Any) -> Assumptions:
    """The assumption on the one question of a coin or a family."""
    size = number_of_categories(subject, prevalence, categories)
    own = one_question(truthful(), size).schema[ANSWER]
    return {ANSWER: assume(own, prevalence, category)}


@dataclass(frozen=True, eq=False)
class _OpenTask:
    """One question and a family whose parameter is open."""

    family: CoinFamily
    assumed: Assumptions
    wanted: Requirements

    def solved(self, n: int | None, wish: PrivacyWish) -> SurveyPlan:
        """The parameter by the wish for privacy, or by what n respondents must reach."""
        if wish:
            return self.task(self.most_accurate(wish)).fixed(n, PrivacyWish())
        if n is None or not self.wanted.given:
            raise DataError(
                f"the parameter of {self.family.name} is open: give n and a width or a power to "
                "solve for privacy, or bound the privacy by epsilon, odds or worst_posterior"
            )
        return self.task(self.most_private(n)).result(n, "privacy")

    def task(self, step: int) -> _Task:
        """The task with the parameter at a step."""
        design = one_question(self.family.make(step), self.assumed[ANSWER].attribute.size)
        return _Task(design, (ANSWER,), self.assumed, self.wanted)

    def most_accurate(self, wish: PrivacyWish) -> int:
        """The last step that is as private as wished."""
        wish.check(self.assumed[ANSWER])

        def privacy(step: int) -> AnswerPrivacy:
            return answer_privacy(self.task(step).design, ANSWER, self.assumed)

        def breaks(step: int) -> bool:
            return wish.missed(privacy(step)) is not None

        if breaks(1):
            coin, found = self.family.make(1), privacy(1)
            missed = str(wish.missed(found))
            raise DesignError(
                f"{self.family.name} cannot reach {missed} {wish.named[missed]:g}: its most "
                f"private coin here, {coin_text(coin)}, has {_figure(missed, found)}"
            )
        if not breaks(self.family.last):
            return self.family.last
        return smallest(breaks, 1, self.family.last) - 1

    def most_private(self, n: int) -> int:
        """The first step that reaches what is wanted from n respondents."""
        if self.wanted.comparison is not None:
            self.wanted.comparison.check(self.assumed[ANSWER])

        def enough(step: int) -> bool:
            return self.wanted.met(self.task(step).design, ANSWER, self.assumed, n)

        if not enough(self.family.last):
            best = self.task(self.family.last).result(n, "privacy")
            reached = f"a width of {best.width:.4f}"
            reached += "" if best.power is None else f" and a power of {best.power:.3f}"
            raise DataError(
                f"{n:,} respondents are too few, with any disguise by {self.family.name}: at best "
                f"they give {reached}"
            )
        return smallest(enough, 0, self.family.last)


def _figure(name: str, found: AnswerPrivacy) -> str:
    value = getattr(found, name)
    shown = "infinite" if math.isinf(value) else f"{value:.4g}"
    return f"{name} {shown}"
