"""Free texts: questions outside the disguise, answered in the respondent's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from tacit.survey.field_types import Name, SurveyPart, Texts

if TYPE_CHECKING:
    from tacit.survey.group_problems import PlacedProblem
    from tacit.survey.survey import Survey

MOST_FREE_TEXTS, LONGEST_FREE_TEXT = 5, 2000
#: Control characters other than tabs and line breaks, and halves of surrogate pairs.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


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


def free_text_problems(survey: Survey) -> Iterator[PlacedProblem]:
    """The names of free texts are distinct."""
    taken = {question.name for question in survey.questions}
    for place, own in enumerate(survey.free_texts or ()):
        if own.name in taken:
            yield ("free_texts", place, "name"), f"the name {own.name!r} is taken"
        taken.add(own.name)
