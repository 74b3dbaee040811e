"""The groups of a survey file, one class per family, their coins and the design's groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, PlainSerializer

from tacit.channel import FAMILIES, Coin, unrelated
from tacit.design import Group
from tacit.survey.field_types import Exact, Name, SurveyPart, Texts, thawed

Shares = Annotated[tuple[Exact, ...], Field(strict=False, min_length=2)]


class Personal(SurveyPart):
    """A personal question unrelated to the sensitive one, and the known shares of its answers."""

    text: Texts
    distribution: Shares = Field(description="Known shares of the answers, in order.")
    answers: Annotated[tuple[Texts, ...], Field(strict=False, min_length=2)] | None = Field(
        default=None,
        description="The texts of its answers, if they differ from the categories.",
    )


class _Group(SurveyPart):
    """Questions that are disguised in the same way."""

    #: The fields that are the parameters of the family's coin, the main one first.
    parameters: ClassVar[tuple[str, ...]] = ()

    questions: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
    throw: Literal["once", "each"] = Field(
        default="once",
        description="One throw for all questions of the group, or one per question.",
    )
    family: str

    def coin(self, names: tuple[str, ...]) -> Coin:
        """The coin for these attributes of the group."""
        return FAMILIES[self.family](*(getattr(self, key) for key in self.parameters))

    def at(self, theta: Fraction) -> _Group | None:
        """The same group with another probability; None if it has no probability."""
        main = next(iter(self.parameters), None)
        return self.model_copy(update={main: theta}) if main in ("theta", "q") else None


class TruthfulGroup(_Group):
    """No disguise."""

    family: Literal["truthful"]


class RelatedGroup(_Group):
    """The truth with probability theta, else another answer."""

    parameters = ("theta",)
    family: Literal["related"]
    theta: Exact


class UnrelatedGroup(_Group):
    """The sensitive questions with probability theta, else the personal ones."""

    parameters = ("theta",)
    family: Literal["unrelated"]
    theta: Exact
    personal: Annotated[
        Mapping[str, Personal], AfterValidator(MappingProxyType), PlainSerializer(thawed)
    ] = Field(strict=False, description="The personal question of each attribute.")

    def coin(self, names: tuple[str, ...]) -> Coin:
        return unrelated(self.theta, {name: self.personal[name].distribution for name in names})


class ForcedGroup(_Group):
    """The truth with probability theta, else an answer that chance decides."""

    parameters = ("theta", "forced")
    family: Literal["forced"]
    theta: Exact
    forced: Shares = Field(description="Probability of each category if chance decides.")


class CrosswiseGroup(_Group):
    """Whether the answer is the same as to an innocent yes/no question with known share p."""

    parameters = ("p",)
    family: Literal["crosswise"]
    p: Exact
    innocent: Texts = Field(description="The innocent question.")


class UniformGroup(_Group):
    """The truth with probability q, else any category with equal probability."""

    parameters = ("q",)
    family: Literal["uniform_perturbation"]
    q: Exact


class FrappGroup(_Group):
    """The truth lambda times as likely as any other answer."""

    parameters = ("lambda_",)
    family: Literal["frapp"]
    lambda_: Exact = Field(alias="lambda")


class MatrixGroup(_Group):
    """Any channel: a row per report, a column per true answer."""

    parameters = ("matrix", "reported")
    family: Literal["matrix"]
    matrix: Annotated[tuple[Shares, ...], Field(strict=False, min_length=2)]
    reported: Annotated[tuple[Name, ...], Field(strict=False, min_length=2)] | None = Field(
        default=None, description="Names of the reports, if they differ from the categories."
    )


SurveyGroup = Annotated[
    TruthfulGroup
    | RelatedGroup
    | UnrelatedGroup
    | ForcedGroup
    | CrosswiseGroup
    | UniformGroup
    | FrappGroup
    | MatrixGroup,
    Field(discriminator="family"),
]


def attributes_of(questions: Sequence[Any], group: Any) -> tuple[str, ...]:
    """The attributes of a group; a multiple choice has one per category."""
    own = {q.name: tuple(a.name for a in q.attributes) for q in questions}
    return tuple(name for named in group.questions for name in own.get(named, (named,)))


def design_groups(questions: Sequence[Any], group: Any) -> tuple[Group, ...]:
    """The design's groups for a group of the file: one for all attributes, or one per attribute."""
    names = attributes_of(questions, group)
    thrown = [names] if group.throw == "once" else [(name,) for name in names]
    return tuple(Group(list(some), group.coin(some)) for some in thrown)
