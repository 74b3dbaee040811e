"""Pages for surveys: the list, results, links, closing."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import RedirectResponse, Response

from tacit.errors import DataError, SurveyError
from tacit.studio.accounts import Role
from tacit.studio.disclosure import require_comparable
from tacit.studio.question_results import (
    hidden_questions,
    question_results,
    question_texts,
    result_notes,
    waiting_text,
)
from tacit.studio.release import FEWEST_SHOWN, Release, next_release_at
from tacit.studio.release_history import history_figures
from tacit.studio.result_warnings import group_warnings
from tacit.studio.site import PageVisit
from tacit.survey import Published, survey_from_text

MOST_LINKS = 100_000
#: Where surveys are: an address without spaces, quotes or commas, which would end a cell of CSV.
_BASE = re.compile(r"""https?://[^\s"',]+""")


def show_surveys(visit: PageVisit) -> Response:
    """The surveys of the account, with their numbers of records."""
    found = visit.studio.surveys(visit.person)
    states = [visit.studio.store.state(survey.survey.fingerprint) for survey in found]
    return visit.page("surveys.html", surveys=list(zip(found, states, strict=True)))


def show_results(visit: PageVisit) -> Response:
    """The state of a survey and the results of each question."""
    release, values = newest_release(visit)
    shown: dict[str, Any] = {"results": [], "fewest": FEWEST_SHOWN, "first": next_release_at(0)}
    if release is not None:
        points = visit.studio.history.of(visit.survey)
        shown |= {"results": question_results(release), "notes": result_notes}
        shown |= {"hidden": hidden_questions(release), "release": release}
        shown |= {"snapshot": visit.studio.releases.snapshot(visit.survey)}
        shown |= {"warnings": group_warnings(release, question_texts(visit.survey))}
        shown |= {"points": points, "figures": history_figures(points)}
    return visit.page("results.html", **shown, **values)


def close(visit: PageVisit) -> Response:
    """Close a survey for good, if its title was typed to confirm it."""
    close_survey(visit, visit.form.get("confirm", ""))
    return RedirectResponse(f"/surveys/{visit.survey.slug}", 303)


def freeze(visit: PageVisit) -> Response:
    """Open comparisons and models before closing, if the box was ticked to confirm it."""
    if visit.form.get("confirm") != "yes":
        raise DataError("tick the box to freeze a snapshot; it cannot be undone")
    frozen_snapshot(visit)
    return RedirectResponse(f"/surveys/{visit.survey.slug}/table", 303)


def frozen_snapshot(visit: PageVisit) -> Release:
    """The snapshot, which is made from the release that is shown now."""
    snapshot = visit.studio.releases.freeze(visit.survey)
    visit.record("snapshot frozen", f"{visit.survey.title}: {snapshot.counts.n_records} records")
    return snapshot


def invite(visit: PageVisit) -> Response:
    """One-time links as a file; they are shown only here."""
    links = new_links(visit, visit.form.get("n", ""), visit.form.get("base", ""))
    lines = "".join(f"{link}\n" for link in ["link", *links])
    return file_response(lines, "text/csv; charset=utf-8", f"{visit.survey.slug}-links.csv")


def close_survey(visit: PageVisit, confirm: str) -> None:
    """Close a survey for good; `confirm` must be its title."""
    if confirm.strip() != visit.survey.title.strip():
        raise DataError("type the title of the survey to close it; it cannot be opened again")
    visit.studio.store.close_survey(visit.survey.survey.fingerprint)
    visit.record("survey closed", visit.survey.title)


def new_links(visit: PageVisit, asked: str, base: str) -> list[str]:
    """New one-time links to an invited survey at an address."""
    if visit.survey.survey.access != "invited":
        raise DataError("the survey is open to anyone; links need access: invited")
    if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked[:9]) <= MOST_LINKS:
        raise DataError(f"the number of links is a whole number from 1 to {MOST_LINKS:,}")
    if not _BASE.fullmatch(base.strip()) or not base.isprintable():
        raise DataError("name the address of the surveys, such as https://survey.example.org")
    tokens = visit.studio.store.invite(visit.survey.survey.fingerprint, int(asked))
    visit.record("links made", f"{visit.survey.title}: {asked}")
    return [f"{base.strip().rstrip('/')}/s/{visit.survey.slug}/#{token}" for token in tokens]


def show_new(visit: PageVisit) -> Response:
    """The form for the text of a survey file."""
    return visit.page("new.html", text="", problems=[], checked=None)


def new(visit: PageVisit) -> Response:
    """Check the text of a survey file; publish it if that was asked for."""
    text = visit.form.get("text", "")
    try:
        checked = Published(survey_from_text(text))
    except SurveyError as error:
        problems = list(error.problems)
        return visit.page("new.html", 400, text=text, problems=problems, checked=None)
    if visit.form.get("action") != "publish":
        return visit.page("new.html", text=text, problems=[], checked=checked)
    visit.studio.store.register(checked)
    visit.studio.accounts.give(visit.person.id, checked.survey.fingerprint, Role.OWNER)
    visit.record("survey published", checked.title)
    return RedirectResponse(f"/surveys/{checked.slug}", 303)


def newest_release(visit: PageVisit) -> tuple[Release | None, dict[str, Any]]:
    """The release of the survey of a page, and what each page about it shows."""
    survey: Published = visit.survey
    release = visit.studio.releases.newest(survey)
    state = visit.studio.store.state(survey.survey.fingerprint)
    shown = 0 if release is None else release.counts.n_records
    role = visit.person.role(survey.survey.fingerprint)
    values = {
        "survey": survey,
        "state": state,
        "shown": shown,
        "note": waiting_text(release, state.records),
        "role": role,
    }
    return release, values


def released(visit: PageVisit) -> Release:
    """The release of the survey of a page; an error if there is none yet."""
    release, _ = newest_release(visit)
    if release is None:
        raise DataError(
            f"results are shown from {next_release_at(0)} records on, or from {FEWEST_SHOWN} once "
            "the survey is closed"
        )
    return release


def compared(visit: PageVisit) -> Release:
    """The release that tables of several questions come from; an error if they are not open yet."""
    return require_comparable(visit.studio.releases.comparable(visit.survey))


def file_response(content: str | bytes, kind: str, name: str) -> Response:
    """A file to save."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)
