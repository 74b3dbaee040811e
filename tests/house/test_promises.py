"""Nothing that people read promises more than the figures of a design allow.

A disguised answer is evidence: somebody who sees it can guess, and a bound on that guess is stated
beside it. So no text says that nobody can know, or that answers are anonymous.
"""

from __future__ import annotations

import re

import pytest

#: Sentences that a stated bound contradicts, in the languages of the page.
PROMISE = re.compile(
    r"""(?ix)
    \b(?:nobody|no[ -]one)\ (?:else\ )?
        (?:knows|sees|(?:can|could|will)\ (?:tell|know|see|find|learn|identify|trace|link))\b
    | \bcannot\ be\ (?:known|traced|identified)\b | \bimpossible\ to\ (?:tell|know)\b
    | \bsays\ little\ about\ you\b | \bnever\ a\ person\b
    | \banonym
    | \bniemand\b (?!\ sonst) .{0,40}? \b(?:wissen|erkennen|sagen|weiß|erfahren)\b
    | \b(?:kann|weiß)\ niemand\b | \bsagt\ hier\ wenig\b
    | \bpersonne\ ne\ (?:peut|sait|sache|saura)\b | \ben\ dit\ peu\ sur\ vous\b
    | \bnadie\ (?:puede|pueda|sabe|sepa|sabrá)\b | \bdice\ poco\ sobre\ usted\b
    """
)
#: What respondents and the people who run surveys read.
READ = re.compile(
    r"README\.md|docs/[^/]+\.md|src/tacit/collect/page/.+\.(?:json|js|html)"
    r"|src/tacit/survey/example\.yaml|src/tacit/studio/templates/.+|src/tacit/cli/.+\.py"
    r"|src/tacit/studio/.+\.py|src/tacit/__init__\.py|pyproject\.toml|CITATION\.cff"
)


@pytest.mark.parametrize(
    "text",
    [
        "Nobody can tell what you truly answered.",
        "so nobody can tell who was asked",
        "nobody sees who was asked",
        "Your answers are anonymous.",
        "Niemand kann wissen, ob Sie das geantwortet haben.",
        "sodass niemand weiß, wer gefragt wurde",
        "Personne ne peut savoir ce que vous avez vraiment répondu",
        "Nadie puede saber qué respondió de verdad",
        "so a Yes here says little about you",
    ],
)
def test_the_pattern_finds_a_promise(text: str) -> None:
    assert PROMISE.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is sent is no proof.",
        "Zeigen Sie das Ergebnis niemandem.",
        "Only you see the result.",
        "A draft is a survey that nobody can answer.",
    ],
)
def test_the_pattern_lets_an_honest_text_pass(text: str) -> None:
    assert not PROMISE.search(text)


def test_no_text_promises_that_nobody_can_know(texts: dict[str, str]) -> None:
    pages = {name: text for name, text in texts.items() if READ.fullmatch(name)}
    found = []
    for name, text in pages.items():
        flat = re.sub(r"\s+", " ", text)
        found += [
            f"{name}: {flat[max(0, promise.start() - 60) : promise.end() + 30]}"
            for promise in PROMISE.finditer(flat)
        ]
    assert len(pages) > 100
    assert found == []
