"""Short pages for people: there is no such survey, or it takes no answers now."""

from __future__ import annotations

from html import escape

from starlette.types import Scope

from tacit.service.collect.answers import HTML, Answer, header
from tacit.service.collect.problems import CLOSED, FULL, NOT_FOUND, NOT_YET_OPEN, Problem

#: Heading and sentence for each problem, by language.
_SAID = {
    "en": {
        NOT_FOUND.name: (
            "There is no survey here",
            "Please check the address. If it came in a message, copy all of it.",
        ),
        NOT_YET_OPEN.name: (
            "This survey is not open yet",
            "Please come back later. The invitation says when it opens.",
        ),
        CLOSED.name: (
            "This survey is closed",
            "It takes no more answers. Nothing about you was stored by opening this page.",
        ),
        FULL.name: (
            "This survey has all the answers it needs",
            "Thank you all the same. Nothing about you was stored by opening this page.",
        ),
    },
    "de": {
        NOT_FOUND.name: (
            "Hier ist keine Umfrage",
            "Bitte prüfen Sie die Adresse. Kam sie in einer Nachricht, kopieren Sie sie ganz.",
        ),
        NOT_YET_OPEN.name: (
            "Diese Umfrage ist noch nicht geöffnet",
            "Bitte kommen Sie später wieder. Die Einladung sagt, wann sie beginnt.",
        ),
        CLOSED.name: (
            "Diese Umfrage ist geschlossen",
            "Sie nimmt keine Antworten mehr an. Durch das Öffnen dieser Seite wurde nichts über "
            "Sie gespeichert.",
        ),
        FULL.name: (
            "Diese Umfrage hat genug Antworten",
            "Trotzdem vielen Dank. Durch das Öffnen dieser Seite wurde nichts über Sie "
            "gespeichert.",
        ),
    },
    "fr": {
        NOT_FOUND.name: (
            "Il n’y a pas d’enquête ici",
            "Vérifiez l’adresse. Si elle vient d’un message, copiez-la en entier.",
        ),
        NOT_YET_OPEN.name: (
            "Cette enquête n’est pas encore ouverte",
            "Revenez plus tard. L’invitation indique la date d’ouverture.",
        ),
        CLOSED.name: (
            "Cette enquête est close",
            "Elle n’accepte plus de réponses. Ouvrir cette page n’a rien enregistré sur vous.",
        ),
        FULL.name: (
            "Cette enquête a toutes les réponses nécessaires",
            "Merci tout de même. Ouvrir cette page n’a rien enregistré sur vous.",
        ),
    },
    "es": {
        NOT_FOUND.name: (
            "Aquí no hay ninguna encuesta",
            "Compruebe la dirección. Si llegó en un mensaje, cópiela entera.",
        ),
        NOT_YET_OPEN.name: (
            "Esta encuesta aún no está abierta",
            "Vuelva más tarde. La invitación dice cuándo se abre.",
        ),
        CLOSED.name: (
            "Esta encuesta está cerrada",
            "Ya no admite respuestas. Al abrir esta página no se guardó nada sobre usted.",
        ),
        FULL.name: (
            "Esta encuesta ya tiene todas las respuestas que necesita",
            "Gracias de todos modos. Al abrir esta página no se guardó nada sobre usted.",
        ),
    },
}
_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}</title>
<link rel="stylesheet" href="/page/style.css">
</head>
<body>
<main>
<h1>{heading}</h1>
<p>{sentence}</p>
</main>
</body>
</html>
"""


def notice(problem: Problem, scope: Scope) -> Answer:
    """The page for a problem, in a language that the browser asks for, else in English."""
    return _NOTICES[problem.name, _language(scope)]


def _made(problem: Problem, language: str) -> Answer:
    heading, sentence = map(escape, _SAID[language][problem.name])
    page = _PAGE.format(language=language, heading=heading, sentence=sentence)
    return Answer(problem.status, HTML, page.encode())


_NOTICES = {
    (problem.name, language): _made(problem, language)
    for problem in (NOT_FOUND, NOT_YET_OPEN, CLOSED, FULL)
    for language in _SAID
}


def _language(scope: Scope) -> str:
    """The first language asked for that is there."""
    asked = (header(scope, b"accept-language") or b"").decode("latin-1").lower()
    for part in asked.split(","):
        language = part.partition(";")[0].strip()[:2]
        if language in _SAID:
            return language
    return "en"
