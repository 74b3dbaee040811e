"""Plain English: expressions that we replaced do not come back.

Each pattern is a Python regular expression, matched without regard to case in all texts that a
person reads: source, page, docs and the names and docstrings of tests.
"""

from __future__ import annotations

import re

#: Expression -> what to write instead.
INSTEAD = {
    r"\bone an? (?:line|file|paper|session|module)\b": "one per ...",
    r"\bis heard\b": "is used",
    r"\bas near as\b": "within tolerance",
    r"\bmakes likely\b": "drawn from the posterior",
    r"\bclimb(?:s|ed|ing)?\b": "maximise, iterate",
    r"\bflatter": "understate risk, overstate privacy",
    r"\bfor the crowd\b": "the true distribution",
    r"\bhopes\b|\bspares\b|\bis spared\b": "optimistic; is not needed",
    r"\bis no other\b|\bknows? nothing\b|\bthe (?:reader|writer) left\b": "plain words",
    r"\bpace and a turn\b": "a direction and a curvature",
    r"\bcame between\b": "arrived in between",
    r"\bcannot be asked\b|\bfor want of\b": "is refused; without",
    r"\blying by chance\b": "chance decided the answer",
    r"\bwhat it promises\b": "its privacy",
    r"\bin force\b": "valid",
    r"\bas it stands\b": "unchanged",
    r"\bso long as\b": "while",
    r"\b(?:lest|thereof|therein|whereof|wherein|hence|henceforth|hitherto)\b": "plain words",
}
#: Names of modules, classes and functions that nobody could guess -> the new name.
FORMER = {
    "climbing": "squarem",
    "herd": "ChannelPopulation",
    "taker": "Service",
    "voice": "label_source",
}


def _found(pattern: str, texts: dict[str, str]) -> list[str]:
    """Lines with a match, outside the house rules that spell it out."""
    compiled = re.compile(pattern, re.IGNORECASE)
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts.items()
        if not name.startswith("tests/house/") and compiled.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if compiled.search(line)
    ]


def test_no_text_uses_an_expression_that_we_replaced(texts: dict[str, str]) -> None:
    any_of_them = re.compile("|".join(INSTEAD))  # one pass over all texts instead of one for each
    suspects = {name: text for name, text in texts.items() if any_of_them.search(text.lower())}
    found = {
        f"say: {new}": lines for old, new in INSTEAD.items() if (lines := _found(old, suspects))
    }
    assert found == {}


def test_no_file_or_identifier_has_a_former_name(texts: dict[str, str]) -> None:
    code = {name: text for name, text in texts.items() if name.endswith((".py", ".js"))}
    paths = "\n".join(texts)
    found = {
        f"{old} is now {new}": lines
        for old, new in FORMER.items()
        if (lines := _found(rf"(?<![a-z]){old}(?![a-z])", code | {"paths": paths}))
    }
    assert found == {}


def test_the_rules_find_what_they_are_for() -> None:
    assert _found(r"one an? line\b", {"a.md": "first\nOne a line."}) == ["a.md:2: One a line."]
    assert _found(r"one an? line\b", {"a.md": "someone aligned"}) == []
    assert _found(r"\bclimbing\b", {"paths": "src/climbing.py"})
