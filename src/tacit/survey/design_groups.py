"""From the groups of a survey file to those of its design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.design import Group


def attributes_of(questions: Sequence[Any], group: Any) -> tuple[str, ...]:
    """The attributes that a group of the file names, a multiple choice by each of its own."""
    own = {q.name: tuple(a.name for a in q.attributes) for q in questions}
    return tuple(name for named in group.questions for name in own.get(named, (named,)))


def design_groups(questions: Sequence[Any], group: Any) -> tuple[Group, ...]:
    """The design's groups for one of the file: one for all attributes, or one for each."""
    names = attributes_of(questions, group)
    thrown = [names] if group.throw == "once" else [(name,) for name in names]
    return tuple(Group(list(some), group.coin(some)) for some in thrown)
