"""Recodings: categories of questions that are merged or left out, in tables and regressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError
from tacit.records import PatternTable
from tacit.survey.fields import undisplayable

#: The texts of categories by question.
Words = Mapping[str, Mapping[str, str]]
#: What a form says of a category: a group of its own, left out, or in a merged group.
OWN, LEFT_OUT, MERGED = "", "out", ("1", "2")


@dataclass(frozen=True)
class Recoding:
    """The groups of one question: a label each, with its categories; others are left out."""

    name: str
    groups: tuple[tuple[str, tuple[Any, ...]], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The groups."""
        return tuple(label for label, _ in self.groups)

    def label_of(self, text: str) -> str | None:
        """The group that is named so or has this category; None if there is none."""
        for label, categories in self.groups:
            if text == label or text in map(str, categories):
                return label
        return None

    def codes(self, attribute: Attribute) -> list[list[int]]:
        """The codes of the categories of each group."""
        return [list(map(attribute.code, categories)) for _, categories in self.groups]

    def changes(self, attribute: Attribute) -> bool:
        """Whether the groups are not simply the categories."""
        return [len(c) for _, c in self.groups] != [1] * attribute.size


def unchanged(attribute: Attribute) -> Recoding:
    """Every category is a group of its own."""
    groups = tuple((str(category), (category,)) for category in attribute.categories)
    return Recoding(attribute.name, groups)


def recoding_of_form(
    attribute: Attribute, fields: Mapping[str, str], words: Mapping[str, str]
) -> Recoding:
    """The groups that a form asks for.

    The field `NAME.K` says what the category with the code K counts as, and `NAME.merged1` names
    the first merged group, which is where the first of its categories was. `words` are the texts of
    the categories.
    """
    parts: dict[Any, list[Any]] = {}
    for code, category in enumerate(attribute.categories):
        chosen = fields.get(f"{attribute.name}.{code}", OWN)
        if chosen != LEFT_OUT:
            parts.setdefault(chosen if chosen in MERGED else code, []).append(category)
    texts = Counter(words.values())
    groups: list[tuple[str, tuple[Any, ...]]] = []
    for key, categories in parts.items():
        joined = " or ".join(_distinct(words[str(c)], str(c), texts) for c in categories)
        label = fields.get(f"{attribute.name}.merged{key}", "") if key in MERGED else ""
        if undisplayable(label) is not None:
            raise DataError(f"{attribute.name}: the name of a group has a control character")
        groups.append((" ".join(label.split())[:100] or joined, tuple(categories)))
    if len(groups) < 2:
        raise DataError(f"{attribute.name}: keep at least two groups")
    if len({label for label, _ in groups}) < len(groups):
        raise DataError(f"{attribute.name}: two groups have the same name")
    return Recoding(attribute.name, tuple(groups))


def _distinct(text: str, category: str, texts: Mapping[str, int]) -> str:
    """The text of a category, with its name if others have the same text."""
    return text if texts[text] == 1 else f"{text} ({category})"


def recodings_of_form(
    schema: Schema, names: Iterable[str], fields: Mapping[str, str], words: Words | None = None
) -> dict[str, Recoding]:
    """The groups of these questions that a form asks for; `words` are the texts of categories."""
    return {
        name: recoding_of_form(schema[name], fields, _words(schema[name], words))
        for name in names
        if name in schema
    }


def _words(attribute: Attribute, words: Words | None) -> Mapping[str, str]:
    if words is not None:
        return words[attribute.name]
    return {str(category): str(category) for category in attribute.categories}


def recoded(
    reported: PatternTable,
    design: Design,
    names: Sequence[str],
    recodings: Mapping[str, Recoding],
) -> tuple[PatternTable, Design]:
    """The reported records of these questions and their design, recoded under `column_name`.

    Only answers that are sent as they are can be recoded before the estimate: what a disguised
    report says depends on all categories. Records with a category that is left out are gone.
    """
    groups = [group for group in design.groups if not {*names}.isdisjoint(group.attributes)]
    together = [n for n in design.schema.names if any(n in group.attributes for group in groups)]
    attributes = {name: design.schema[name] for name in together}
    reports = Design(Schema(list(attributes.values())), groups).reported.names
    counts = reported.complete(reports).subset(reports)
    patterns, numbers = counts.patterns.copy(), counts.counts
    for name, recoding in recodings.items():
        if design.group_of(name).disguised:
            raise DataError(f"{name} is disguised: its categories cannot be merged here")
        new = np.full(attributes[name].size, -1)
        for k, codes in enumerate(recoding.codes(attributes[name])):
            new[codes] = k
        column = counts.schema.index(name)
        values = new[patterns[:, column]]
        patterns, numbers = patterns[values >= 0], numbers[values >= 0]
        patterns[:, column] = values[values >= 0]
        attributes[name] = Attribute(column_name(name), recoding.labels)
        groups = [
            Group([column_name(name)], group.coin) if name in group.attributes else group
            for group in groups
        ]
    smaller = Design(Schema(list(attributes.values())), groups)
    return PatternTable(smaller.reported, patterns, numbers), smaller


def column_name(name: str) -> str:
    """The column of a recoded question."""
    return f"{name}_groups"
