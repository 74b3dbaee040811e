"""What people read: the page of a survey as a preview, and error pages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from html import escape
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.collect import http, page
from tacit.collect.page import html
from tacit.survey import Survey
from tacit.survey.fields import text_in

# Error pages for people: there is no such survey, or it accepts no answers now.
#
# The texts are those of the respondent's page, in the browser's preferred language of the survey.


#: The head is that of the respondent's page, without its script.
_HEAD = re.sub(r".*<script.*\n", "", page.content(page.HTML).decode().partition("  <body>")[0])
_PAGE = (
    _HEAD.replace("../../page/", "/page/")
    .replace('lang="en"', 'lang="{spoken}"')
    .replace("<title>Survey<", "<title>{head}<")
    + """  <body>
    <header>{survey}</header>
    <main class="step">
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  </body>
</html>
"""
)
_TITLE = '<p id="title" lang="{}" dir="auto">{}</p>'
_FIRST = "en"
_WORDS: dict[str, dict[str, Any]] = {
    name.removeprefix("words/").removesuffix(".json"): json.loads(page.content(name))
    for name in page.FILES
    if name.startswith("words/")
}


def words(language: str) -> dict[str, Any]:
    """The page's texts in a language; in English if there is no translation."""
    return _WORDS[spoken(language)]


def spoken(language: str) -> str:
    """The language of the page's texts for a language of a survey."""
    base = language.partition("-")[0]
    return base if base in _WORDS else _FIRST


def error_page(
    problem: http.ProblemType, scope: Scope, survey: Survey | None, today: date
) -> http.HttpResponse:
    """A problem as a page for people, as problem details for programs.

    The page names the survey, what is wrong, and from or until which day.
    """
    if b"text/html" not in (http.header(scope, b"accept") or b""):  # not a person's browser
        return problem.response
    language = language_of(scope, survey)
    phrases = words(language)
    name = None if survey is None else text_in(survey.title, language)
    title = phrases[f"{problem.name}.title"]
    content = _PAGE.format(
        spoken=spoken(language),
        head=escape(title if name is None else f"{name}: {title}"),
        survey="" if name is None else _TITLE.format(escape(language), escape(name)),
        title=escape(title),
        text=escape(_text(problem, phrases, survey, today)),
    )
    return http.HttpResponse(problem.status, http.HTML, content.encode())


def language_of(scope: Scope, survey: Survey | None) -> str:
    """The browser's preferred language among those of the survey, or of the page."""
    offered = (_FIRST, *_WORDS) if survey is None else survey.languages
    accepted = (http.header(scope, b"accept-language") or b"").decode("latin-1").lower()
    for preferred in _preferred_languages(accepted):
        for language in offered:
            if language.lower().partition("-")[0] == preferred:
                return language
    return offered[0]


def _preferred_languages(accepted: str) -> Sequence[str]:
    """The languages of an Accept-Language header without regions, best first."""
    weighted: list[tuple[float, int, str]] = []
    for part in accepted.split(","):
        language, _, parameter = part.partition(";")
        name, _, quality = parameter.partition("=")
        with suppress(ValueError):  # a quality that is not a number
            weight = float(quality) if name.strip() == "q" else 1.0
            if weight > 0:
                weighted.append((-weight, len(weighted), language.strip().partition("-")[0]))
    return [language for _, _, language in sorted(weighted)]


def _text(
    problem: http.ProblemType, phrases: dict[str, Any], survey: Survey | None, today: date
) -> str:
    text: str = phrases[f"{problem.name}.text"]
    opens, closes = (None, None) if survey is None else (survey.opens, survey.closes)
    ended = closes if closes is not None and closes < today else None
    day = {http.NOT_YET_OPEN.name: opens, http.CLOSED.name: ended}.get(problem.name)
    if day is None:
        return text
    month = phrases["months"].split()[day.month - 1]
    written = phrases["date"].format(day=day.day, month=month, year=day.year)
    return f"{phrases[f'{problem.name}.day'].format(day=written)} {text}"


_BODY = re.compile(rb"<body[^>]*>")
_BANNER = '\n    <p class="note" role="note" lang="{}">{}</p>'
_WRONG_METHOD = http.METHOD.response.with_headers((b"allow", b"GET, HEAD"))


def get_only(app: ASGIApp) -> ASGIApp:
    """Passes GET and HEAD to an application, and refuses other methods."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if scope["method"] in ("GET", "HEAD") else _WRONG_METHOD)(scope, receive, send)

    return respond


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Any other address."""
    await error_page(http.NOT_FOUND, scope, None, date.min)(scope, receive, send)


def preview_html(language: str) -> bytes:
    """The page with a banner: this is a preview."""
    banner = _BANNER.format(spoken(language), escape(words(language)["preview"])).encode()
    return _BODY.sub(lambda found: found[0] + banner, html())
