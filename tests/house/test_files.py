"""What a file of the project may be and hold."""

from __future__ import annotations

import re

MACHINE_PATH = re.compile(r"(?<![\w.~$})*])/(?:home|root|Users|work|opt|tmp)/\w|\b[A-Z]:\\Users\b")
REGISTRY = re.compile(
    r"https?://[\w.-]*(?:pypi\.org|pythonhosted\.org|npmjs\.\w+|anaconda\.\w+|/simple/)"
    r"|--(?:extra-)?index-url"
)
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")


def _lines_with(pattern: re.Pattern[str], texts: dict[str, str]) -> list[str]:
    """Where the pattern occurs, outside the house rules that spell it out."""
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts.items()
        if not name.startswith("tests/house/")
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine(texts: dict[str, str]) -> None:
    assert _lines_with(MACHINE_PATH, texts) == []


def test_no_file_names_a_package_registry(texts: dict[str, str]) -> None:
    assert _lines_with(REGISTRY, texts) == []


def test_nothing_is_marked_as_unfinished(texts: dict[str, str]) -> None:
    assert _lines_with(UNFINISHED, texts) == []


def test_the_patterns_find_what_they_are_for() -> None:
    """The rules above can fail."""
    assert MACHINE_PATH.search("open('/home/ann/data.csv')")
    assert MACHINE_PATH.search("see /tmp/notes")
    assert not MACHINE_PATH.search("#!/usr/bin/env bash")
    assert not MACHINE_PATH.search("docs/home/plan.md")
    assert REGISTRY.search("https://files.pythonhosted.org/packages/x.whl")
    assert REGISTRY.search("--index-url https://mirror.example/simple/")
    assert UNFINISHED.search("# TODO: later")
