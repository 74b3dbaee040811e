"""Read survey files; every problem has its file, line and place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tacit.errors import FileError, SurveyError
from tacit.output.number_text import number_of
from tacit.records import read_text
from tacit.records.designs import described
from tacit.survey import problems as checks
from tacit.survey.groups import SurveyGroup
from tacit.survey.logo import embed_logo
from tacit.survey.questions import Question
from tacit.survey.survey import UNCHECKED, Survey
from tacit.survey.yaml_text import Place, PlacedProblem, SurveySource, parse

VERSION = 1
MOST_BYTES = 8 << 20
_ITEMS: dict[str, TypeAdapter[Any]] = {
    "questions": TypeAdapter(Question),
    "groups": TypeAdapter(SurveyGroup),
}
_STAND_IN: dict[str, dict[str, Any]] = {
    "questions": {"kind": "yes_no", "text": "?", "sensitive": False},
    "groups": {"family": "uniform_perturbation", "q": "1/2", "throw": "each"},
}


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
    problems = list(source.twice)
    try:
        survey = Survey.model_validate(source.data)
    except ValidationError as error:
        errors: list[Any] = error.errors()
        problems += [problem for raised in errors for problem in _problems(raised, source)]
        if all(raised["type"] != "problems" for raised in errors):
            problems += further_problems(source.data, problems)  # between the well-formed parts
    if problems:
        problems.sort(key=lambda problem: source.line(problem[0]))
        raise SurveyError(dict.fromkeys(source.at(*problem) for problem in problems))
    return survey


def _problems(error: Any, source: SurveySource) -> Iterator[PlacedProblem]:
    """Places and messages for an error of pydantic."""
    place = _place(error["loc"], source.data)
    context = error.get("ctx", {})
    match error["type"]:
        case "problems":
            yield from context["problems"]
        case "missing":
            yield place, f"the key {error['loc'][-1]!r} is missing"
        case "key":
            yield (*place, str(context["key"])), error["msg"]
        case "survey":
            yield place, error["msg"]
        case "union_tag_not_found":
            yield place, f"the key {context['discriminator']} is missing"
        case "union_tag_invalid":
            key = context["discriminator"].strip("'")
            what = f"must be one of {context['expected_tags']}, got {context['tag']!r:.60}"
            yield (*place, key), what
        case "too_short" | "too_long":
            # not reported if only the faulty items of a list are missing
            length = len(error["input"])
            least, most = context.get("min_length", 0), context.get("max_length", length)
            if length < least:
                yield place, f"needs at least {number_of(least, 'item')}, got {length}"
            if length > most:
                yield place, f"may have at most {most} items, got {length}"
        case _:
            message = error["msg"].replace("Input should be", "must be")
            value = error["input"]
            listed = isinstance(value, dict | list | tuple)
            shown = number_of(len(value), "item") if listed else f"{value!r:.60}"
            yield place, f"{message.replace('a valid tuple', 'a list')}, got {shown}"


def _place(loc: tuple[Any, ...], data: Any) -> Place:
    """Pydantic's path without the names of kinds and families that it inserts."""
    place: list[str | int] = []
    for step in loc:
        inside = isinstance(data, dict) and step in data
        if inside or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            data = data[step]
            place.append(step)
    return tuple(place)


# Partial validation -------------------------------------------------------------------------------
#
# Relations between parts can be checked only if each part is well-formed. So that one run lists all
# problems, malformed parts are omitted or replaced by a stand-in, and problems that a stand-in
# causes are dropped.


@dataclass
class _PartialValidation:
    """The well-formed rest of a file, and what its malformed parts leave unknown."""

    data: dict[str, Any]
    malformed: set[Place]
    #: The position in the file of each remaining item.
    numbers: dict[str, list[int]] = field(default_factory=dict)
    stand_ins: set[Place] = field(default_factory=set)
    trimmed: set[Place] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    nameless: bool = False
    ungrouped: bool = False

    def survey(self) -> Survey:
        """The survey without its malformed parts."""
        rest = {key: value for key, value in self.data.items() if (key,) not in self.malformed}
        rest.setdefault("title", "?")
        for key in _ITEMS:
            items = [self._item(key, *numbered) for numbered in enumerate(rest.get(key, []))]
            self.numbers[key] = [n for n, item in enumerate(items) if item is not None]
            rest[key] = [item for item in items if item is not None]
        return Survey.model_validate(rest, context=UNCHECKED)

    def _item(self, key: str, number: int, item: Any) -> Any:
        """An item of a list, its stand-in, or None if too little is known about it."""
        bad = (key, number) in self.malformed
        trimmed = {k: v for k, v in item.items() if (key, number, k) not in self.malformed}
        if bad and _well_formed(key, trimmed):
            self.trimmed.add((key, number))
            return trimmed
        if not bad:
            return item
        return self._question(number, item) if key == "questions" else self._group(number, item)

    def _group(self, number: int, item: dict[str, Any]) -> Any:
        named = item.get("questions")
        listed = named if isinstance(named, list) else []
        names = [name for name in listed if isinstance(name, str)]
        self.stand_ins.add(("groups", number))
        self.ungrouped |= not names or len(names) < len(listed)
        return {"questions": names, **_STAND_IN["groups"]} if names else None

    def _question(self, number: int, item: dict[str, Any]) -> Any:
        name = item.get("name")
        self.stand_ins.add(("questions", number))
        if not isinstance(name, str) or ("questions", number, "name") in self.malformed:
            self.nameless = True
            return None
        self.doubtful.add(name)
        return {"name": name, **_STAND_IN["questions"]}

    def in_file(self, problem: PlacedProblem) -> PlacedProblem | None:
        """A problem with its place in the file; None if a malformed part may cause it."""
        place, message = problem
        head = place[0]
        if (head,) in self.malformed or head not in self.data:
            return None
        if head in _ITEMS and len(place) > 1:
            place = (head, self.numbers[str(head)][int(place[1])], *place[2:])
        return None if self._due_to_malformed(place, message) else (place, message)

    def _due_to_malformed(self, place: Place, message: str) -> bool:
        """Whether a problem might disappear if the malformed parts were corrected."""
        if place[0] == "control" or place[2:3] == ("questions",):
            return self.nameless
        if place[2:3] == ("asked_if",):
            return self.nameless or self.ungrouped
        return (
            place[:2] in self.stand_ins
            or (checks.UNDISGUISED in message and (self.ungrouped or place in self.trimmed))
            or (checks.UNLABELLED in message and (*place, "labels") in self.malformed)
            or (place[0] == "labels" and bool(self.stand_ins))
        )


def further_problems(data: Any, problems: Sequence[PlacedProblem]) -> Iterator[PlacedProblem]:
    """More problems of a file, besides those of single fields."""
    places = {place for place, _ in problems}
    malformed = {place[:n] for place in places for n in range(1, len(place) + 1)}
    malformed -= {(key,) for key in _ITEMS} - places
    if not isinstance(data, dict) or ("questions",) in malformed or not _listed(data):
        return
    partial = _PartialValidation(data, malformed, ungrouped=("groups",) in malformed)
    try:
        survey = partial.survey()
    except ValidationError:
        return
    raised = [*checks.content_problems(survey, partial.doubtful)]
    if ("languages",) not in malformed and ("labels",) not in malformed:
        raised += checks.wording_problems(survey)
    yield from filter(None, map(partial.in_file, raised))


def _well_formed(key: str, item: dict[str, Any]) -> bool:
    try:
        _ITEMS[key].validate_python(item)
    except ValidationError:
        return False
    return True


def _listed(data: dict[str, Any]) -> bool:
    """Whether questions and groups are lists of objects."""
    lists = [data.get(key, []) for key in _ITEMS]
    listed = all(isinstance(items, list) for items in lists)
    return listed and all(isinstance(item, dict) for items in lists for item in items)
