"""Short pages for people: there is no such survey, or it takes no answers now.

The words are those of the respondent's page.
"""

from __future__ import annotations

import json
from html import escape

from starlette.types import Scope

from tacit.service import page
from tacit.service.collect.answers import HTML, Answer, header
from tacit.service.collect.problems import CLOSED, FULL, NOT_FOUND, NOT_YET_OPEN, Problem

_PAGE = """<!doctype html>
<html lang="{language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <meta name="color-scheme" content="light dark">
    <title>{title}</title>
    <link rel="icon" href="/page/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="/page/style.css">
  </head>
  <body>
    <main>
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  </body>
</html>
"""
_FIRST = "en"
_WORDS = {
    name.removeprefix("words/").removesuffix(".json"): json.loads(page.content(name))
    for name in page.FILES
    if name.startswith("words/")
}


def notice(problem: Problem, scope: Scope) -> Answer:
    """The page for a problem, in a language that the browser asks for, else in English."""
    return _NOTICES[problem.name, _language(scope)]


def _made(problem: Problem, language: str) -> Answer:
    title, text = (escape(_WORDS[language][f"{problem.name}.{part}"]) for part in ("title", "text"))
    content = _PAGE.format(language=language, title=title, text=text)
    return Answer(problem.status, HTML, content.encode())


_NOTICES = {
    (problem.name, language): _made(problem, language)
    for problem in (NOT_FOUND, NOT_YET_OPEN, CLOSED, FULL)
    for language in _WORDS
}


def _language(scope: Scope) -> str:
    """The first language asked for that is there."""
    asked = (header(scope, b"accept-language") or b"").decode("latin-1").lower()
    for part in asked.split(","):
        language = part.partition(";")[0].strip()[:2]
        if language in _WORDS:
            return language
    return _FIRST
