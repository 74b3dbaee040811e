"""The groups of a survey file, one class per family, their coins and the design's groups."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from inspect import signature
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from tacit.core.channel import FAMILIES, Coin, unrelated
from tacit.core.channel.families import MOST_CARDS
from tacit.core.design import Group
from tacit.survey.fields import ByName, Exact, Name, OneOrMore, SurveyPart, Texts, TwoOrMore

Shares = TwoOrMore[Exact]


class Personal(SurveyPart):
    """A personal question unrelated to the sensitive one, and the known shares of its answers."""

    text: Texts
    distribution: Shares = Field(description="Known shares of the answers, in order.")
    answers: TwoOrMore[Texts] | None = Field(
        default=None,
        description="The texts of its answers, if they differ from the categories.",
    )


class _Group(SurveyPart):
    """Questions that are disguised in the same way."""

    #: What the family does, in the words of forms.
    meaning: ClassVar[str]

    questions: OneOrMore[Name]
    throw: Literal["once", "each"] = Field(
        default="once",
        description="One throw for all questions of the group, or one per question.",
    )
    family: str

    @property
    def report_names(self) -> tuple[str, ...]:
        """Names of reports that are not categories of the questions."""
        return ()

    @property
    def _parameters(self) -> tuple[str, ...]:
        """The parameters of the family's coin, the main one first."""
        return tuple(signature(FAMILIES[self.family]).parameters)

    def coin(self, names: tuple[str, ...]) -> Coin:
        """The coin for these attributes of the group."""
        return FAMILIES[self.family](*(getattr(self, key) for key in self._parameters))

    @property
    def main(self) -> str:
        """The key with the main parameter."""
        return next(iter(self._parameters), "family").rstrip("_")

    @property
    def movable(self) -> bool:
        """Whether that is a probability of the truth: a device may decide others near it."""
        return self.main in ("theta", "q", "p")

    def at(self, theta: Fraction) -> _Group:
        """The same group with another probability."""
        return self.model_copy(update={self.main: theta})


class TruthfulGroup(_Group):
    """No disguise."""

    meaning = "the true answer, not disguised"
    family: Literal["truthful"]


class _ThetaGroup(_Group):
    """The truth with probability theta."""

    theta: Exact


class RelatedGroup(_ThetaGroup):
    """The truth with probability theta, else another answer."""

    meaning = "the true answer with probability theta, otherwise another one"
    family: Literal["related"]


class UnrelatedGroup(_ThetaGroup):
    """The sensitive questions with probability theta, else the personal ones."""

    meaning = "the true answer with probability theta, otherwise that to a harmless question"
    family: Literal["unrelated"]
    personal: ByName[Personal] = Field(description="The personal question of each attribute.")

    def coin(self, names: tuple[str, ...]) -> Coin:
        return unrelated(self.theta, {name: self.personal[name].distribution for name in names})


class ForcedGroup(_ThetaGroup):
    """The truth with probability theta, else an answer that chance decides."""

    meaning = "the true answer with probability theta, otherwise one that chance sets"
    family: Literal["forced"]
    forced: Shares = Field(description="Probability of each category if chance decides.")


class _InnocentGroup(_Group):
    """An answer together with that to an innocent yes/no question with known share p."""

    p: Exact
    innocent: Texts = Field(description="The innocent question.")


class CrosswiseGroup(_InnocentGroup):
    """Whether the answer is the same as to an innocent yes/no question with known share p."""

    meaning = "whether two answers are the same, the other one being harmless"
    family: Literal["crosswise"]


class TriangularGroup(_InnocentGroup):
    """Whether the answer, or that to an innocent yes/no question with known share p, is yes."""

    meaning = "whether at least one of two answers is yes, the other one being harmless"
    family: Literal["triangular"]


class MangatGroup(_Group):
    """Yes is sent as yes; no with probability p, else also as yes."""

    meaning = "a true yes as yes, a true no sometimes as yes"
    family: Literal["mangat"]
    p: Exact


class MangatSinghGroup(_Group):
    """The truth, or another device that gives the truth with probability p."""

    meaning = "the true answer, or what a second device decides"
    family: Literal["mangat_singh"]
    truth: Exact = Field(description="Probability of the truth by the first device.")
    p: Exact = Field(description="Probability of the truth by the second device.")


class KukGroup(_Group):
    """The number of red cards among draws from the deck of the true answer."""

    meaning = "the number of red cards drawn, which depends on the true answer"
    family: Literal["kuk"]
    red_yes: Exact = Field(description="Share of red cards in the deck for yes.")
    red_no: Exact = Field(description="Share of red cards in the deck for no.")
    cards: int = Field(default=1, ge=1, le=MOST_CARDS, description="Number of draws.")

    @property
    def report_names(self) -> tuple[str, ...]:
        return tuple(str(number) for number in range(self.cards + 1))


class ChristofidesGroup(_Group):
    """A number from 1 to L if the answer is no, L + 1 minus the number if it is yes."""

    meaning = "a number drawn by chance, turned round for a true yes"
    family: Literal["christofides"]
    distribution: Shares = Field(description="Probability of each number from 1 to L.")

    @property
    def report_names(self) -> tuple[str, ...]:
        return tuple(str(number) for number in range(1, len(self.distribution) + 1))


class UniformGroup(_Group):
    """The truth with probability q, else any category with equal probability."""

    meaning = "the true answer with probability q, otherwise any"
    family: Literal["uniform_perturbation"]
    q: Exact


class FrappGroup(_Group):
    """The truth lambda times as likely as any other answer."""

    meaning = "the true answer lambda times as likely as each other one"
    family: Literal["frapp"]
    lambda_: Exact = Field(alias="lambda")


class MatrixGroup(_Group):
    """Any channel: a row per report, a column per true answer."""

    meaning = "any probabilities, as a matrix"
    family: Literal["matrix"]
    matrix: TwoOrMore[Shares]
    reported: TwoOrMore[Name] | None = Field(
        default=None, description="Names of the reports, if they differ from the categories."
    )

    @property
    def report_names(self) -> tuple[str, ...]:
        return self.reported or ()


SurveyGroup = Annotated[
    TruthfulGroup
    | RelatedGroup
    | UnrelatedGroup
    | ForcedGroup
    | CrosswiseGroup
    | TriangularGroup
    | MangatGroup
    | MangatSinghGroup
    | KukGroup
    | ChristofidesGroup
    | UniformGroup
    | FrappGroup
    | MatrixGroup,
    Field(discriminator="family"),
]
#: The class of each family.
GROUP_FAMILIES: dict[str, type[_Group]] = {
    family: cls
    for cls in get_args(get_args(SurveyGroup)[0])
    for family in get_args(cls.model_fields["family"].annotation)
}


def attributes_of(questions: Sequence[Any], group: Any) -> tuple[str, ...]:
    """The attributes of a group; a multiple choice has one per category."""
    names_of = {q.name: tuple(a.name for a in q.attributes) for q in questions}
    return tuple(name for named in group.questions for name in names_of.get(named, (named,)))


def design_groups(questions: Sequence[Any], group: Any) -> tuple[Group, ...]:
    """The design's groups for a group of the file: one for all attributes, or one per attribute."""
    names = attributes_of(questions, group)
    thrown = [names] if group.throw == "once" else [(name,) for name in names]
    return tuple(Group(list(some), group.coin(some)) for some in thrown)
