"""Wording: what respondents read for attributes and categories, for the sentences of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tacit.core.schema import Label
from tacit.survey.fields import text_in

if TYPE_CHECKING:
    from tacit.survey import Survey


@dataclass(frozen=True)
class Wording:
    """Title of a survey, question of each attribute, label of each category; names if absent."""

    title: str | None = None
    questions: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Label, str]] = field(default_factory=dict)

    def question(self, name: str) -> str:
        """What is asked for an attribute."""
        return self.questions.get(name, name)

    def said(self, name: str, sentence: str) -> str:
        """A sentence about an attribute, after its question or name."""
        asked = self.question(name)
        if asked[-1] in ".?!":
            return f"{asked} {sentence[0].upper()}{sentence[1:]}"
        return f"{asked}: {sentence}"

    def quoted(self, name: str) -> str:
        """An attribute within a sentence: its question in quotation marks, or its name."""
        return f"“{self.questions[name]}”" if name in self.questions else name

    def label(self, name: str, category: Label) -> str:
        """The label of a category."""
        return self.labels.get(name, {}).get(category, str(category))


def wording_of(survey: Survey) -> Wording:
    """The wording of a survey, in English if it has that, else in its first language."""
    language = "en" if "en" in survey.languages else survey.languages[0]
    questions: dict[str, str] = {}
    labels: dict[str, dict[Label, str]] = {}
    for question in survey.questions:
        asked = text_in(question.text, language)
        several = question.kind == "multiple"
        for attribute, answer in zip(question.attributes, question.answers, strict=False):
            box = f" {survey.label(question, answer, language)}" if several else ""
            questions[attribute.name] = asked + box
            labels[attribute.name] = {
                category: survey.label(question, str(category), language)
                for category in attribute.categories
            }
    return Wording(text_in(survey.title, language), questions, labels)
