"""Find more problems in a survey file with malformed parts.

Relations between parts can be checked only if each part is well-formed. So that one run lists all
problems, malformed parts are omitted or replaced by a stand-in, and problems that a stand-in causes
are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tacit.survey.coins import SurveyGroup
from tacit.survey.group_problems import UNDISGUISED, PlacedProblem
from tacit.survey.questions import Question
from tacit.survey.survey import UNCHECKED, Survey
from tacit.survey.survey_problems import UNLABELLED, content_problems, wording_problems
from tacit.survey.yaml_source import Place

_ITEMS: dict[str, TypeAdapter[Any]] = {
    "questions": TypeAdapter(Question),
    "groups": TypeAdapter(SurveyGroup),
}
_LISTS = tuple(_ITEMS)
_STAND_IN: dict[str, dict[str, Any]] = {
    "questions": {"kind": "yes_no", "text": "?", "sensitive": False},
    "groups": {"family": "uniform_perturbation", "q": "1/2", "throw": "each"},
}


@dataclass
class _Salvage:
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
        kept = {key: value for key, value in self.data.items() if (key,) not in self.malformed}
        kept.setdefault("title", "?")
        for key in _LISTS:
            made = [self._item(key, *numbered) for numbered in enumerate(kept.get(key, []))]
            self.numbers[key] = [n for n, item in enumerate(made) if item is not None]
            kept[key] = [item for item in made if item is not None]
        return Survey.model_validate(kept, context=UNCHECKED)

    def _item(self, key: str, number: int, item: Any) -> Any:
        """An item of a list, its stand-in, or None if too little is known about it."""
        bad = (key, number) in self.malformed
        trimmed = {k: v for k, v in item.items() if (key, number, k) not in self.malformed}
        if bad and _well_formed(key, trimmed):
            self.trimmed.add((key, number))
            return trimmed
        if key == "questions":
            return self._question(number, item) if bad else item
        named = item.get("questions")
        doubted = isinstance(named, list) and any(map(self._doubts, named))
        return self._group(number, item) if bad or doubted else item

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

    def _doubts(self, name: Any) -> bool:
        return any(name == own or str(name).startswith(f"{own}.") for own in self.doubtful)

    def told(self, problem: PlacedProblem) -> PlacedProblem | None:
        """A problem with its place in the file; None if a malformed part may cause it."""
        place, message = problem
        head = place[0]
        if (head,) in self.malformed or head not in self.data:
            return None
        if head in _LISTS and len(place) > 1:
            place = (head, self.numbers[str(head)][int(place[1])], *place[2:])
        return None if self._due_to_this(place, message) else (place, message)

    def _due_to_this(self, place: Place, message: str) -> bool:
        """Whether a problem might disappear if the malformed parts were corrected."""
        if place[0] == "control":
            return self.nameless or self._doubts(self.data["control"].get("question"))
        if place[2:3] == ("asked_if",):
            named = self.data["questions"][place[1]].get("asked_if")
            return self.nameless or self.ungrouped or any(map(self._doubts, named or ()))
        if place[2:3] == ("questions",):
            named = self.data["groups"][place[1]]["questions"]
            return self.nameless or (len(place) > 3 and self._doubts(named[place[3]]))
        return (
            place[:2] in self.stand_ins
            or (UNDISGUISED in message and (self.ungrouped or place in self.trimmed))
            or (UNLABELLED in message and (*place, "labels") in self.malformed)
            or (place[0] == "labels" and bool(self.stand_ins))
        )


def further_problems(data: Any, told: Sequence[PlacedProblem]) -> Iterator[PlacedProblem]:
    """More problems of a file, besides those of single fields."""
    places = {place for place, _ in told}
    malformed = {place[:n] for place in places for n in range(1, len(place) + 1)}
    malformed -= {(key,) for key in _LISTS} - places
    if not isinstance(data, dict) or ("questions",) in malformed or not _listed(data):
        return
    found = _Salvage(data, malformed, ungrouped=("groups",) in malformed)
    try:
        survey = found.survey()
    except ValidationError:
        return
    raised = [*content_problems(survey)]
    if ("languages",) not in malformed and ("labels",) not in malformed:
        raised += wording_problems(survey)
    for problem in raised:
        kept = found.told(problem)
        if kept is not None:
            yield kept


def _well_formed(key: str, item: dict[str, Any]) -> bool:
    try:
        _ITEMS[key].validate_python(item)
    except ValidationError:
        return False
    return True


def _listed(data: dict[str, Any]) -> bool:
    """Whether questions and groups are lists of objects."""
    lists = [data.get(key, []) for key in _LISTS]
    listed = all(isinstance(items, list) for items in lists)
    return listed and all(isinstance(item, dict) for items in lists for item in items)
