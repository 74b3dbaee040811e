"""A survey in words: who may answer and when; its disguise, group by group; conditions."""

from __future__ import annotations

from datetime import date

from tacit.core.conditions import QuestionCondition
from tacit.core.design import Design, Group
from tacit.output.number_text import number_of
from tacit.reconstruction.tables import chains, estimable_together
from tacit.survey import Published

#: How days are written.
DAY = "%-d %B %Y"


def design_sentences(design: Design) -> list[str]:
    """How each group of questions is disguised, with every parameter."""
    groups = [_group_sentence(design, group) for group in design.groups]
    conditions = [_condition_sentence(design, condition) for condition in design.conditions]
    return [*groups, *conditions, *(_chain_sentence(design, names) for names in chains(design))]


def _group_sentence(design: Design, group: Group) -> str:
    names = ", ".join(group.attributes)
    several = len(group.attributes) > 1 and group.coin.family != "matrix"
    together = " One draw decides for all of these questions together." if several else ""
    coding = ""
    if group.coin.report_words:
        coding = f" A report is {group.coin.report_meaning(design.attributes_of(group))}."
    return f"{names}: {group.coin.methods_text}{together}{coding}"


def _condition_sentence(design: Design, condition: QuestionCondition) -> str:
    hidden = design.group_of(condition.attribute).disguised
    disguised = ", which was disguised like an answer" if hidden else ""
    return (
        f"{condition.attribute} was asked if {condition}. The respondent's device decided; for "
        f"others it filled in “does not apply”{disguised}."
    )


def _chain_sentence(design: Design, names: tuple[str, ...]) -> str:
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    if estimable_together(design.channel(names)):
        return (
            f"{listed} were estimated together, by restricted least squares on the combinations of "
            "answers that can occur (Theil, 1971). Every share and table of these questions is a "
            "margin of this one estimate."
        )
    return (
        f"{listed} have too many combinations of answers, or too much disguise, to be estimated "
        "together. Each table was estimated from its own questions, by restricted least squares on "
        "the combinations that can occur (Theil, 1971); so one share can differ between two tables."
    )


#: Names of languages in English, for those that the respondents' page speaks.
LANGUAGES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian"}


def survey_meta(survey: Published) -> list[str]:
    """Who may answer, when, in which languages, and how many questions."""
    terms = survey.survey
    access = "Invited people only" if terms.access == "invited" else "Anyone with the address"
    disguised = sum(
        any(survey.design.group_of(a.name).disguised for a in question.attributes)
        for question in terms.questions
    )
    quota = [f"at most {number_of(terms.quota, 'answer')}"] if terms.quota else []
    languages = ", ".join(LANGUAGES.get(code, code) for code in terms.languages)
    questions = f"{number_of(len(terms.questions), 'question')}, {disguised} disguised"
    return [access, *quota, *_days(terms.opens, terms.closes), languages, questions]


def _days(opens: date | None, closes: date | None) -> list[str]:
    if opens is not None and closes is not None:
        first = "%-d %B" if opens.year == closes.year else DAY
        return [f"{opens:{first}} to {closes:{DAY}}"]
    if opens is not None:
        return [f"from {opens:{DAY}}"]
    return [] if closes is None else [f"until {closes:{DAY}}"]
