"""Read survey files; every problem has its file, line and place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tacit.errors import FileError, SurveyError
from tacit.output.number_text import number_of
from tacit.records import read_text
from tacit.records.designs import described
from tacit.survey.logo import embed_logo
from tacit.survey.salvage import further_problems
from tacit.survey.survey import Survey
from tacit.survey.yaml_source import Place, SurveySource, parse

VERSION = 1
MOST_BYTES = 8 << 20


def read_survey(path: str | Path) -> Survey:
    """Read a survey from a YAML or JSON file."""
    other = described(Path(path), "survey")
    if other is not None:
        raise FileError(f"{path}: not a survey file: {other}")
    text = read_text(path)
    if len(text) > MOST_BYTES:
        raise FileError(
            f"{path}: has over {MOST_BYTES >> 20} million characters, which is too many"
        )
    source = parse(text, str(path))
    embed_logo(source, Path(path).parent)
    return _validated(source)


def survey_from_text(text: str, name: str = "survey") -> Survey:
    """Read a survey from YAML or JSON text; errors use `name` as the name of the file.

    >>> survey_from_text("title: Smoking")
    Traceback (most recent call last):
        ...
    tacit.errors.SurveyError: survey:1: the key 'questions' is missing
    """
    return _validated(parse(text, name))


def survey_from_dict(data: Any, name: str = "survey") -> Survey:
    """The survey for plain values, as from `Survey.to_dict`."""
    return _validated(SurveySource(name, data))


def _check_header(source: SurveySource) -> None:
    """Refuse other files of tacit, and newer survey files."""
    if not isinstance(source.data, dict):
        raise SurveyError([source.at((), "a survey file must have keys such as title")])
    kind, version = source.data.get("tacit", "survey"), source.data.get("version", VERSION)
    if kind != "survey":
        raise SurveyError([source.at(("tacit",), f"must be 'survey', got {kind!r:.60}")])
    if type(version) is int and version > VERSION:
        what = f"is {version}, this tacit reads up to {VERSION}; upgrade tacit"
        raise SurveyError([source.at(("version",), what)])


def _validated(source: SurveySource) -> Survey:
    _check_header(source)
    found = list(source.twice)
    try:
        survey = Survey.model_validate(source.data)
    except ValidationError as error:
        errors: list[Any] = error.errors()
        found += [problem for raised in errors for problem in _told(raised, source)]
        if all(raised["type"] != "problems" for raised in errors):
            found += further_problems(source.data, found)  # between the well-formed parts
    if found:
        told = sorted(found, key=lambda problem: source.line(problem[0]))
        raise SurveyError(dict.fromkeys(source.at(*problem) for problem in told))
    return survey


def _told(error: Any, source: SurveySource) -> Iterator[tuple[Place, str]]:
    """Places and messages for an error of pydantic."""
    if error["type"] == "problems":
        yield from error["ctx"]["found"]
        return
    place = _place(error["loc"], source.data, error["type"] == "missing")
    known = error.get("ctx", {})
    match error["type"]:
        case "missing":
            yield place[:-1], f"the key {place[-1]!r} is missing"
        case "key":
            yield (*place, str(known["key"])), error["msg"]
        case "survey":
            yield place, error["msg"]
        case "union_tag_not_found":
            yield place, f"the key {known['discriminator']} is missing"
        case "union_tag_invalid":
            key = known["discriminator"].strip("'")
            what = f"must be one of {known['expected_tags']}, got {known['tag']!r:.60}"
            yield (*place, key), what
        case "too_short" | "too_long":
            yield from _length(place, error)
        case _:
            message = error["msg"].replace("Input should be", "must be")
            given = _brief(error["input"])
            yield place, f"{message.replace('a valid tuple', 'a list')}, got {given}"


def _length(place: Place, error: Any) -> Iterator[tuple[Place, str]]:
    """A list of the wrong length; not reported if only its faulty items are missing."""
    known, given = error["ctx"], len(error["input"])
    least, most = known.get("min_length", 0), known.get("max_length", given)
    if given < least:
        yield place, f"needs at least {number_of(least, 'item')}, got {given}"
    if given > most:
        yield place, f"may have at most {most} items, got {given}"


def _brief(value: Any) -> str:
    listed = isinstance(value, dict | list | tuple)
    return number_of(len(value), "item") if listed else f"{value!r:.60}"


def _place(loc: tuple[Any, ...], data: Any, missing: bool) -> Place:
    """Pydantic's path without the names of kinds and families that it inserts.

    If a key is missing, the last step is not in the data.
    """
    place: list[str | int] = []
    for position, step in enumerate(loc):
        inside = isinstance(data, dict) and step in data
        listed = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if inside or listed:
            data = data[step]
            place.append(step)
        elif missing and position == len(loc) - 1:
            place.append(step)
    return tuple(place)
