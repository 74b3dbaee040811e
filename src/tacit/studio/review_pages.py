"""The review of a draft before publishing: pages, promises, precision and every warning."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from tacit.collect import page
from tacit.output.number_text import number_of
from tacit.privacy import report
from tacit.privacy.report_text import wording_of
from tacit.studio.accounts import Role
from tacit.studio.design_text import survey_meta
from tacit.studio.overview import privacy
from tacit.studio.release import next_release_at
from tacit.studio.site import PageRoute, PageVisit, Right, has_right
from tacit.survey import Published, widths
from tacit.survey.disclosure_bound import waves_sentence
from tacit.survey.fields import text_in

#: Numbers of respondents whose precision is shown, besides the quota.
RESPONDENTS = (400, 1_000, 2_500)


def show_review(visit: PageVisit) -> Response:
    """What is published: what respondents see, what is promised, how exact results will be."""
    survey, problems = visit.draft.document.checked
    values: dict[str, Any] = {} if survey is None else review(survey)
    may_publish = has_right(visit.person, Right.PUBLISHER)
    return visit.page(
        "publish.html", survey=survey, problems=problems, may_publish=may_publish, **values
    )


def review(survey: Published) -> dict[str, Any]:
    """The values of the page."""
    private = report(survey.design, wording=wording_of(survey.survey))
    waves = survey.survey.waves
    sentences = [waves_sentence(survey.design, waves)] if waves else []
    numbers = sorted({*RESPONDENTS, *([survey.survey.quota] if survey.survey.quota else [])})
    access, *others = survey_meta(survey)
    *days, languages, questions = others
    return {
        "language": survey.survey.languages[0],
        "screens": screens(survey),
        "guesses": privacy(survey),
        "privacy": [*sentences, *private.sentences],
        "warnings": private.warnings,
        "respondents_planned": numbers,
        "precision": precision(survey, numbers),
        "facts": [
            ("Who", access),
            ("Open", ", ".join(days) or "until somebody closes it"),
            ("Questions", questions),
            ("Languages", languages),
            ("Results", f"from {next_release_at(0)} answers on, then in batches"),
        ],
    }


def precision(survey: Published, numbers: list[int]) -> list[tuple[str, str, list[float | None]]]:
    """For each question its disguise, and half the width of its widest interval."""
    design = survey.design
    columns = [widths(design, n) for n in numbers]
    rows = []
    for planned in zip(*columns, strict=True):
        group = design.group_of(planned[0].attribute)
        how = group.coin.family if group.disguised else "none"
        rows.append((planned[0].attribute, how, [width.half(width.worst) for width in planned]))
    return rows


def screens(survey: Published) -> list[dict[str, Any]]:
    """The introduction, a disguised and a direct question, and the last page, as on a phone."""
    terms, language = survey.survey, survey.survey.languages[0]
    name = f"words/{language}.json"
    words = json.loads(page.content(name if name in page.FILES else "words/en.json"))
    introduction = "" if terms.introduction is None else text_in(terms.introduction, language)
    first = {"title": survey.title, "text": introduction, "button": words["start"]}
    shown = [screen("Introduction", **first)]
    for disguised, caption in ((True, "A disguised question"), (False, "A direct question")):
        for question in terms.questions:
            group = survey.design.group_of(question.attributes[0].name)
            if group.disguised == disguised:
                answers = [terms.label(question, answer, language) for answer in question.answers]
                content = {"title": text_in(question.text, language), "answers": answers[:6]}
                more = number_of(len(answers) - 6, "more answer") if len(answers) > 6 else ""
                badge = {"badge": True, "disguised": disguised, "note": more}
                shown.append(screen(caption, **content, **badge, button=words["next"]))
                break
    last = {"title": words["review"], "text": words["reviewDisguised"], "button": words["send"]}
    return [*shown, screen("The last page before sending", **last)]


def screen(caption: str, **content: Any) -> dict[str, Any]:
    """A picture of a page."""
    empty = {"text": "", "answers": [], "note": "", "badge": False, "disguised": False}
    return empty | content | {"caption": caption}


#: The pages of this module with the rights that they need.
ROUTES = (PageRoute("GET", "/drafts/{draft}/publish", Role.VIEWER, show_review),)
