"""Published: a frozen survey with its design and fingerprints, for page, server and analyst."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.core.design import Design
from tacit.core.label_codes import with_no_answer
from tacit.core.schema import Schema
from tacit.errors import FileError
from tacit.output.json_documents import DocumentFormat, fingerprint_of, read_document
from tacit.records import read_described
from tacit.survey.disclosure_bound import disclosure_bound
from tacit.survey.fields import text_in
from tacit.survey.reader import survey_from_dict
from tacit.survey.survey import Survey, optional_attributes

#: Letters of the survey's fingerprint that name it in addresses.
SLUG_LETTERS = 16
_KEYS = ("fingerprint", "survey_fingerprint", "survey", "design")
#: A file of version 1 has no bound, so it is computed when the file is read.
FORMAT = DocumentFormat(
    "published-survey",
    "published survey",
    (_KEYS, (*_KEYS, "disclosure_bound", "disclosure_fingerprint")),
)


@dataclass(frozen=True)
class Published:
    """A survey and the design it was published with; its JSON gives an equal value.

    `frozen_bound` is the disclosure bound as published; None to compute it. A newer version may
    know a better bound, but the one that respondents were shown stays.
    """

    survey: Survey
    frozen_bound: dict[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def design(self) -> Design:
        """The design that is promised to respondents."""
        return self.survey.design

    @cached_property
    def stored(self) -> Schema:
        """The schema of stored codes: where an answer may be missing, it has the code after the
        last category."""
        reported, optional = self.design.reported, optional_attributes(self.survey)
        wide = with_no_answer(reported)
        return Schema([(wide if name in optional else reported)[name] for name in reported.names])

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the design, which every record has."""
        return self.design.fingerprint

    @cached_property
    def disclosure_bound(self) -> dict[str, Any]:
        """The most that all answers together may reveal, whatever their dependence."""
        if self.frozen_bound is not None:
            return self.frozen_bound
        return disclosure_bound(self.design, self.survey.waves or 1)

    @property
    def slug(self) -> str:
        """The survey's name in addresses."""
        return self.survey.fingerprint[:SLUG_LETTERS]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the survey, its design, the fingerprints of both and the bound."""
        return {
            **FORMAT.header,
            "fingerprint": self.fingerprint,
            "survey_fingerprint": self.survey.fingerprint,
            "survey": self.survey.to_dict(),
            "design": self.design.to_dict(),
            "disclosure_bound": deepcopy(self.disclosure_bound),
            "disclosure_fingerprint": _fingerprint(self.survey, self.disclosure_bound),
        }

    def to_json(self) -> str:
        """The file that is published."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @property
    def title(self) -> str:
        """The survey's title in its first language."""
        return text_in(self.survey.title, self.survey.languages[0])

    @property
    def question_texts(self) -> dict[str, str]:
        """What is asked for each attribute, in the survey's first language."""
        return self.survey.attribute_texts(self.survey.languages[0])

    def question_of(self, name: str) -> Any:
        """The question of an attribute."""
        questions = self.survey.questions
        return next(q for q in questions if name in [a.name for a in q.attributes])

    def labels(self, name: str) -> dict[str, str]:
        """The texts of an attribute's categories in the survey's first language."""
        language = self.survey.languages[0]
        question = self.question_of(name)
        return {
            str(category): self.survey.label(question, str(category), language)
            for category in self.design.schema[name].categories
        }

    @classmethod
    def from_json(cls, text: str) -> Published:
        """Read a published survey; refused if any part has changed since."""
        data = read_document(text, FORMAT)
        bound = data.get("disclosure_bound")
        published = cls(survey_from_dict(data["survey"], "survey"), bound)
        if Design.from_dict(data["design"]) != published.design:
            raise FileError("the design does not follow from the survey; publish it again")
        for key, fingerprint in (
            ("fingerprint", published.fingerprint),
            ("survey_fingerprint", published.survey.fingerprint),
            ("disclosure_fingerprint", _fingerprint(published.survey, bound)),
        ):
            if key in data and data[key] != fingerprint:
                raise FileError(f"{key} does not match the content, which has changed since")
        return published


def _fingerprint(survey: Survey, bound: dict[str, Any] | None) -> str:
    """SHA-256 of a bound and the fingerprint of the survey that it belongs to."""
    return fingerprint_of([survey.fingerprint, bound])


def read_published(path: str | Path) -> Published:
    """The published survey in a file."""
    return read_described(path, Published.from_json, "published survey")


def publish(survey: Survey, out: str | Path) -> Published:
    """Write a survey to a new file; an existing file is accepted if it is the same survey."""
    from tacit.records import write_text  # Arrow is slow to start

    published = Published(survey)
    if Path(out).exists():
        with suppress(FileError):
            if read_published(out) == published:
                return published
        raise FileError(
            f"{out}: another file exists; a published survey is never overwritten, "
            "publish under another name"
        )
    write_text(out, published.to_json())
    return published
