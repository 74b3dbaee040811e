"""The questions of a survey, one class per kind, and their attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field

from tacit.core.conditions import DOES_NOT_APPLY
from tacit.core.schema import Attribute
from tacit.survey import fields
from tacit.survey.fields import ByName, Exact, Name, OneOrMore, SurveyPart, Texts, TwoOrMore

MOST_CATEGORIES = 1000
YES_NO = ("no", "yes")
MOST_FREE_TEXTS, LONGEST_FREE_TEXT = 5, 2000
#: Control characters other than tabs and line breaks, and halves of surrogate pairs.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

Categories = Annotated[TwoOrMore[Name], Field(max_length=MOST_CATEGORIES)]
#: The texts of categories by their names.
Labels = ByName[Texts]


class _Question(SurveyPart):
    """The common fields of all questions, and what their kinds differ in."""

    #: Answers that the kind itself has, not the survey file.
    fixed_answers: ClassVar[tuple[str, ...]] = ()
    #: Answers for which the respondents' page has words in every language that it speaks.
    page_words: ClassVar[tuple[str, ...]] = ()
    #: Whether each answer has an attribute of its own.
    several: ClassVar[bool] = False
    #: What its kinds mean, in the words of forms.
    meanings: ClassVar[Mapping[str, str]]

    name: Name = Field(description="The name of the attribute.")
    text: Texts = Field(description="The text of the question.")
    help: Texts | None = Field(default=None, description="An explanation below the question.")
    sensitive: bool = Field(
        default=True, description="Sensitive questions must be in a group that disguises them."
    )
    labels: Labels = Field(
        default_factory=dict, description="The texts of categories by their names."
    )
    asked_if: fields.AnswersBefore | None = Field(
        default=None,
        description="Asked only after these answers to earlier questions; to others it does not "
        "apply, which is disguised like an answer.",
    )
    optional: Annotated[bool | None, AfterValidator(lambda given: given or None)] = Field(
        default=None,
        description="Offers the choice not to answer, which is sent as it is: as missing.",
    )

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the answers to choose from."""
        return getattr(self, "categories", self.fixed_answers)

    @property
    def ordered(self) -> bool:
        """Whether the order of the answers has a meaning."""
        return False

    def problems(self) -> Iterator[tuple[str, str]]:
        """What is wrong between its fields: a key and a message."""
        yield from ()

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that are reported; "does not apply" is the last of their categories."""
        attributes = self._answered()
        if self.asked_if is None:
            return attributes
        # One more category; numbers are given as ranges then.
        return tuple(Attribute(a.name, [*a.categories, DOES_NOT_APPLY]) for a in attributes)

    def _answered(self) -> tuple[Attribute, ...]:
        """The attributes if everybody is asked."""
        return (Attribute(self.name, self.answers),)


class YesNo(_Question):
    """No or yes."""

    fixed_answers: ClassVar[tuple[str, ...]] = YES_NO
    page_words: ClassVar[tuple[str, ...]] = YES_NO
    meanings: ClassVar[Mapping[str, str]] = {"yes_no": "yes or no"}

    kind: Literal["yes_no"]


class Choice(_Question):
    """One of several categories; their order has a meaning if `ordered`."""

    meanings: ClassVar[Mapping[str, str]] = {
        "choice": "one of several answers",
        "ordered": "one of several answers in order",
    }

    kind: Literal["choice", "ordered"]
    categories: Categories

    @property
    def ordered(self) -> bool:
        return self.kind == "ordered"


class Number(_Question):
    """A number; only its range is reported: edges[i-1] < number <= edges[i]."""

    meanings: ClassVar[Mapping[str, str]] = {"number": "a number, used as a range"}

    kind: Literal["number"]
    edges: OneOrMore[float] = Field(
        max_length=MOST_CATEGORIES - 1, description="Increasing; a range includes its upper edge."
    )
    categories: Categories | None = Field(
        default=None, description="Names of the ranges, one more than edges."
    )
    minimum: float | None = Field(
        default=None,
        description="Smallest possible answer; the default is 0 if no edge is negative.",
    )
    maximum: float | None = Field(default=None, description="Largest possible answer.")

    @property
    def answers(self) -> tuple[str, ...]:
        return self.categories if self.categories is not None else _ranges(self.edges)

    @property
    def ordered(self) -> bool:
        return True

    def problems(self) -> Iterator[tuple[str, str]]:
        """Minimum and maximum must leave no range empty."""
        if self.minimum is not None and self.minimum > self.edges[0]:
            yield "minimum", f"must not be above the first edge, {self.edges[0]:.12g}"
        if self.maximum is not None and self.maximum <= self.edges[-1]:
            yield "maximum", f"must be above the last edge, {self.edges[-1]:.12g}"

    def _answered(self) -> tuple[Attribute, ...]:
        return (Attribute(self.name, self.answers, edges=self.edges),)


class Multiple(_Question):
    """Any number of categories: each becomes a yes/no attribute `question.category`."""

    page_words: ClassVar[tuple[str, ...]] = YES_NO
    several: ClassVar[bool] = True
    meanings: ClassVar[Mapping[str, str]] = {"multiple": "any number of several answers"}

    kind: Literal["multiple"]
    categories: OneOrMore[Name] = Field(max_length=MOST_CATEGORIES)

    def _answered(self) -> tuple[Attribute, ...]:
        return tuple(Attribute(f"{self.name}.{category}", YES_NO) for category in self.categories)


Question = Annotated[YesNo | Choice | Number | Multiple, Field(discriminator="kind")]
#: The class of each kind.
QUESTION_KINDS: dict[str, type[_Question]] = {
    kind: cls
    for cls in get_args(get_args(Question)[0])
    for kind in get_args(cls.model_fields["kind"].annotation)
}


class FreeText(SurveyPart):
    """A text field after the questions; what is written there is not disguised."""

    name: Name = Field(description="The name of the texts in exports.")
    text: Texts = Field(description="The text of the question.")
    help: Texts | None = Field(default=None, description="An explanation below the question.")
    letters: int = Field(
        default=1000, ge=1, le=LONGEST_FREE_TEXT, description="The longest text, in letters."
    )

    def problem(self, written: object) -> str | None:
        """Why this cannot be an answer; None if it can. Letters count as browsers count them."""
        if type(written) is not str or _UNWANTED.search(written):
            return "must be a text without control characters"
        if len(written.encode("utf-16-le")) // 2 > self.letters:
            return f"may have at most {self.letters:,} letters"
        return None


class Practice(SurveyPart):
    """A practice question; its answer is never sent."""

    text: Texts
    answers: TwoOrMore[Texts] = Field(max_length=20)
    explanation: Texts | None = None


class Comprehension(SurveyPart):
    """A question about the rules, asked before the survey; its answer is never sent."""

    text: Texts
    answers: TwoOrMore[Texts] = Field(max_length=20)
    correct: int = Field(ge=1, description="Number of the correct answer, from 1.")
    explanation: Texts | None = Field(default=None, description="Shown after a wrong answer.")


class SurveyLink(SurveyPart):
    """A link below the introduction, such as a contact or an imprint."""

    text: Texts
    address: Annotated[str, Field(pattern=r"^(https://|mailto:)\S+$", max_length=2000)] = Field(
        description="Begins with https:// or mailto:."
    )


class SurveySection(SurveyPart):
    """A heading above a question and those after it, with a text before the first of them."""

    first: Name = Field(description="The name of its first question.")
    title: Texts
    text: Texts | None = Field(default=None, description="Shown before the first question.")


class Control(SurveyPart):
    """A question with known true shares, which shows whether people follow the rules."""

    question: Name
    distribution: TwoOrMore[Exact] = Field(description="Known shares of its categories.")


def _ranges(edges: tuple[float, ...]) -> tuple[str, ...]:
    """'up to 7', 'over 7 to 14', 'over 14'."""
    shown = [f"{edge:.12g}" for edge in edges]
    between = [f"over {low} to {high}" for low, high in pairwise(shown)]
    return (f"up to {shown[0]}", *between, f"over {shown[-1]}")
