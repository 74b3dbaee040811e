"""Survey: the frozen content of a survey file, with its schema and design."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from tacit.core.channel import truthful
from tacit.core.design import Design, Group
from tacit.core.schema import Schema
from tacit.output.json_documents import fingerprint_of
from tacit.output.number_text import number_of
from tacit.survey import questions as parts
from tacit.survey.device_model import DeviceModel
from tacit.survey.fields import Day, Language, Listed, OneOrMore, SurveyPart, Texts, text_in
from tacit.survey.groups import SurveyGroup, design_groups
from tacit.survey.logo import Logo
from tacit.survey.problems import problems
from tacit.survey.questions import MOST_FREE_TEXTS, Labels, Question

MOST_QUESTIONS = 500
MOST_WAVES = 24
#: Validation context that checks only single fields, not the relations between them.
UNCHECKED = "unchecked"


class Survey(SurveyPart):
    """A survey: texts in each language, questions, their disguise, who may answer and when.

    `read_survey` reads it from a file; its JSON gives an equal survey.
    """

    tacit: Literal["survey"] = Field(default="survey", description="The kind of the file.")
    version: Literal[1] = 1
    title: Texts
    introduction: Texts | None = Field(default=None, description="Shown before the questions.")
    consent: Texts | None = Field(
        default=None, description="What a respondent accepts by a tick before the first question."
    )
    thanks: Texts | None = Field(default=None, description="Shown after the answers are stored.")
    links: OneOrMore[parts.SurveyLink] | None = Field(
        default=None, description="Contact, imprint and the like, below the introduction."
    )
    logo: Logo | None = Field(default=None, description="A picture above the introduction.")
    languages: OneOrMore[Language] = Field(default=("en",), description="The first is the default.")
    device: Literal["browser", "coin", "die", "birth_month"] = Field(
        default="browser",
        description="What decides by chance: the page, or a coin, a die or a birth month.",
    )
    access: Literal["open", "invited"] = Field(
        default="open", description="Anyone may answer, or only people with a one-time link."
    )
    opens: Day | None = Field(default=None, description="First day on which answers are accepted.")
    closes: Day | None = Field(default=None, description="Last day on which answers are accepted.")
    quota: int | None = Field(default=None, ge=1, description="Closes after this many records.")
    waves: int | None = Field(
        default=None,
        ge=2,
        le=MOST_WAVES,
        description="How often the same people answer these questions in all, in this survey and "
        "others; once if left out.",
    )
    labels: Labels = Field(
        default_factory=dict, description="The texts of categories, for all questions."
    )
    questions: OneOrMore[Question] = Field(max_length=MOST_QUESTIONS)
    free_texts: Annotated[OneOrMore[parts.FreeText], Field(max_length=MOST_FREE_TEXTS)] | None = (
        Field(default=None, description="Text fields after the questions, outside the disguise.")
    )
    sections: OneOrMore[parts.SurveySection] | None = Field(
        default=None, description="Headings between questions."
    )
    groups: Listed[SurveyGroup] = Field(
        default=(), description="How questions are disguised; other questions are sent undisguised."
    )
    practice: parts.Practice | None = None
    comprehension: Listed[parts.Comprehension] = ()
    control: parts.Control | None = None
    model: DeviceModel | None = Field(
        default=None, description="A model that devices apply; they report whether it was right."
    )

    @model_validator(mode="after")
    def _sound(self, info: ValidationInfo) -> Survey:
        """Check the relations between fields; report every problem with its place."""
        placed = () if info.context == UNCHECKED else tuple(problems(self))
        if placed:
            text = "; ".join(message for _, message in placed)
            raise PydanticCustomError("problems", "{text}", {"text": text, "problems": placed})
        return self

    @property
    def invited(self) -> bool:
        """Whether only people with a one-time link may answer."""
        return self.access == "invited"

    @cached_property
    def record_schema(self) -> Schema:
        """The attributes of a record: one per question, or per category of a multiple choice."""
        return Schema([a for question in self.questions for a in question.attributes])

    @cached_property
    def design(self) -> Design:
        """The published design: schema and groups with exact fractions."""
        groups = [part for group in self.groups for part in design_groups(self.questions, group)]
        grouped = {name for group in groups for name in group.attributes}
        others = [name for name in self.record_schema.names if name not in grouped]
        groups += [Group([name], truthful()) for name in others]
        return Design(self.record_schema, groups, self.asked_if)

    @property
    def asked_if(self) -> dict[str, Mapping[str, tuple[str, ...]]]:
        """The answers after which each conditional attribute is asked."""
        return {a.name: q.asked_if for q in self.questions if q.asked_if for a in q.attributes}

    @property
    def terms(self) -> str:
        """Who may answer, when, and how many, in words."""
        days = f"until {self.closes}" if self.closes else "until somebody closes it"
        days = f"from {self.opens} {days}" if self.opens else days
        quota = f", {number_of(self.quota, 'record')} at most" if self.quota else ""
        return f"{self.access}, {days}{quota}"

    def label(self, question: Any, category: str, language: str) -> str:
        """The text of a category in a language."""
        texts = question.labels.get(category, self.labels.get(category, category))
        return text_in(texts, language)

    def attribute_texts(self, language: str, before_option: str = " ") -> dict[str, str]:
        """What is asked for each attribute: the question, and its option if it has several."""
        return {
            attribute.name: text_in(question.text, language)
            + (f"{before_option}{self.label(question, answer, language)}" * question.several)
            for question in self.questions
            for attribute, answer in zip(question.attributes, question.answers, strict=False)
        }

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Survey:
        """A copy with other values, without what was computed from the old ones."""
        copy = super().model_copy(update=update, deep=deep)
        for name in vars(copy).keys() - type(self).model_fields.keys():
            del vars(copy)[name]
        return copy

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, numbers as exact fractions."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_json(self) -> str:
        """The survey as a JSON survey file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of texts and design; the design also has its own fingerprint."""
        return fingerprint_of(self.to_dict())


def missing_together(survey: Survey) -> tuple[tuple[str, ...], ...]:
    """The reported attributes of each group of an optional question: all are missing, or none."""
    optional = {
        a.name for question in survey.questions if question.optional for a in question.attributes
    }
    design = survey.design
    return tuple(
        tuple(a.name for a in group.coin.reported(design.attributes_of(group)))
        for group in design.groups
        if not optional.isdisjoint(group.attributes)
    )


def optional_attributes(survey: Survey) -> set[str]:
    """The reported attributes that may be missing."""
    return {name for group in missing_together(survey) for name in group}


def json_schema() -> str:
    """The JSON Schema of a survey file, for editors and other programs."""
    schema: Mapping[str, Any] = Survey.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **schema}, indent=2, ensure_ascii=False) + "\n"
