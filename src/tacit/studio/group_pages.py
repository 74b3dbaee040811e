"""Pages that compare groups: tables of two and of three questions."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from tacit.errors import DataError
from tacit.studio.accounts import Role
from tacit.studio.disclosure import AT_CLOSING
from tacit.studio.group_tables import group_table
from tacit.studio.question_results import labels, question_texts
from tacit.studio.site import PageRoute, PageVisit
from tacit.studio.small_groups import SMALLEST_GROUP
from tacit.studio.survey_pages import newest_release


def show_table(visit: PageVisit) -> Response:
    """Answers to one question in the groups of another, also within the layers of a third."""
    newest, values = newest_release(visit)
    release = visit.studio.releases.comparable(visit.survey)
    asked = {key: visit.request.query_params.get(key, "") for key in ("row", "column", "layer")}
    texts = question_texts(visit.survey)
    shown: dict[str, Any] = {"questions": texts, "table": None, "smallest": SMALLEST_GROUP, **asked}
    shown |= {"release": release, "newest": newest, "later": AT_CLOSING}
    if release is not None and any(asked.values()):
        if not asked["row"] or not asked["column"]:
            raise DataError("choose a question for the answers and one for the groups")
        by = [asked["layer"], asked["column"]] if asked["layer"] else [asked["column"]]
        table = group_table(release, asked["row"], by)
        shown |= {"table": table}
        shown |= {"words": {name: labels(visit.survey, name) for name in (asked["row"], *by)}}
    return visit.page("table.html", **shown, **values)


#: The pages of this module.
ROUTES = (PageRoute("GET", "/surveys/{survey}/table", Role.VIEWER, show_table),)
