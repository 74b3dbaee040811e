"""Questions that are asked only after certain answers, and the combinations that cannot occur.

A question with a condition has the category "does not apply", which is disguised like any other.
True records then have structural zeros (Bishop, Fienberg & Holland, 1975, ch. 5):

    the condition fails, but the question is answered
    the condition holds, but the question does not apply

An attribute that itself does not apply meets no condition. So if only some attributes of a chain
are in a table, an answer to the last is impossible where any of them rules it out, and "does not
apply" is impossible only where all attributes of its own condition are there and meet it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.arrays import Codes, Mask
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, DesignError, unknown

#: The category of a question that was not asked because its condition fails.
DOES_NOT_APPLY = "does not apply"


@dataclass(frozen=True)
class QuestionCondition:
    """`attribute` is asked only of those who gave one of these answers to each other attribute."""

    attribute: str
    answers: tuple[tuple[str, tuple[Label, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that decide."""
        return tuple(name for name, _ in self.answers)

    def to_dict(self) -> dict[str, list[Label]]:
        """The answers by attribute, as a design file has them."""
        return {name: list(labels) for name, labels in self.answers}

    def __str__(self) -> str:
        """In words: "smokes is yes and income is low or mid"."""
        clauses = (f"{name} is {' or '.join(map(str, labels))}" for name, labels in self.answers)
        return " and ".join(clauses)


Conditions = tuple[QuestionCondition, ...]


def conditions_of(given: Any, schema: Schema) -> Conditions:
    """The conditions that a mapping describes: attribute -> other attribute -> its answers.

    They are in the order of the schema. An attribute depends on earlier ones only.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise DesignError(
            f"asked_if must be a mapping from attributes to conditions, got {given!r}"
        )
    for name in given:
        if name not in schema:
            raise DesignError(unknown("attribute", name, schema.names, " in asked_if"))
    return tuple(_condition(name, given[name], schema) for name in schema.names if name in given)


def _condition(name: str, given: Any, schema: Schema) -> QuestionCondition:
    where = f"asked_if of {name!r}"
    if not isinstance(given, Mapping) or not given:
        raise DesignError(f"{where}: must be a mapping from attributes to answers, got {given!r}")
    if schema[name].find(DOES_NOT_APPLY) is None:
        raise DesignError(f"{where}: the attribute needs the category {DOES_NOT_APPLY!r}")
    answers = tuple((other, _answers(where, name, other, given[other], schema)) for other in given)
    return QuestionCondition(name, answers)


def _answers(where: str, name: str, other: Any, given: Any, schema: Schema) -> tuple[Label, ...]:
    if other not in schema:
        raise DesignError(unknown("attribute", other, schema.names, f" in {where}"))
    if schema.index(other) >= schema.index(name):
        raise DesignError(f"{where}: {other!r} is not asked before {name!r}")
    listed = given if isinstance(given, list | tuple) else [given]
    attribute = schema[other]
    for label in listed:
        if attribute.find(label) is None or label == DOES_NOT_APPLY:
            allowed = [c for c in attribute.categories if c != DOES_NOT_APPLY]
            raise DesignError(unknown("answer", label, allowed, f" of {other!r} in {where}"))
    codes = sorted({attribute.code(label) for label in listed})
    if not 0 < len(codes) < attribute.size:
        which = "every answer" if codes else "no answer"
        raise DesignError(f"{where}: {which} of {other!r} is listed; list some of them")
    return tuple(attribute.categories[code] for code in codes)


def answers_of(attribute: Attribute) -> tuple[Label, ...]:
    """The categories that people choose from: all but "does not apply"."""
    return tuple(c for c in attribute.categories if c != DOES_NOT_APPLY)


def impossible_cells(conditions: Conditions, schema: Schema) -> Mask | None:
    """Which cells of a table of these attributes cannot occur; None if all can."""
    implied = {c: _implied(c, conditions) for c in conditions if c.attribute in schema}
    linked = [c for c, answers in implied.items() if any(name in schema for name, _ in answers)]
    if not linked:
        return None
    impossible = np.zeros(schema.sizes, bool)
    for condition in linked:
        answered = _axis(schema, condition.attribute, answers_of(schema[condition.attribute]))
        for name, labels in implied[condition]:
            if name in schema:
                impossible |= answered & ~_axis(schema, name, labels)
        if all(name in schema for name in condition.names):
            met = [_axis(schema, name, labels) for name, labels in condition.answers]
            impossible |= ~answered & np.logical_and.reduce(np.broadcast_arrays(*met))
    return impossible


def _implied(
    condition: QuestionCondition, conditions: Conditions
) -> list[tuple[str, tuple[Label, ...]]]:
    """All answers that someone must have given who was asked, along chains of conditions."""
    by_name = {c.attribute: c for c in conditions}
    implied, left = dict.fromkeys(condition.answers), list(condition.answers)
    while left:
        name, _ = left.pop()
        answers = by_name[name].answers if name in by_name else ()
        further = [answer for answer in answers if answer not in implied]
        implied |= dict.fromkeys(further)
        left += further
    return list(implied)


def _axis(schema: Schema, name: str, labels: Iterable[Label]) -> Mask:
    """Whether an attribute has one of these labels, along its axis of a table."""
    attribute, axis = schema[name], schema.index(name)
    allowed = np.zeros(attribute.size, bool)
    allowed[[attribute.code(label) for label in labels]] = True
    return allowed.reshape([-1 if i == axis else 1 for i in range(len(schema))])


def linked_parts(
    conditions: Conditions, schema: Schema, throws: Iterable[Sequence[str]] = ()
) -> list[tuple[str, ...]]:
    """The attributes in parts that no condition ties to each other, in the order of the schema.

    `throws` are further attributes that stay together.
    """
    part = {name: {name} for name in schema.names}
    for names in [*((c.attribute, *c.names) for c in conditions), *throws]:
        joined = set().union(*(part[name] for name in names))
        part |= dict.fromkeys(joined, joined)
    distinct = {id(members): members for members in part.values()}
    return [tuple(n for n in schema.names if n in members) for members in distinct.values()]


def filled(
    codes: Codes, conditions: Conditions, schema: Schema, absent: Mask | None = None, first: int = 0
) -> tuple[Codes, Mask | None]:
    """True records with "does not apply" where a condition fails and no answer was given.

    `absent` are missing answers. A record that contradicts a condition is an error. Where a missing
    answer leaves open whether a question applies, nothing is filled in.
    """
    if not conditions:
        return codes, absent
    codes = codes.copy(order="K")
    missing = np.zeros(codes.shape, bool) if absent is None else absent.copy()
    for condition in conditions:
        column = schema.index(condition.attribute)
        blank = schema[condition.attribute].code(DOES_NOT_APPLY)
        places = [schema.index(name) for name in condition.names]
        met, known = _met(condition, schema, list(codes.T)), ~missing[:, places].T
        fails, holds = (known & ~met).any(axis=0), (known & met).all(axis=0)
        unanswered = fails & missing[:, column]
        codes[unanswered, column] = blank
        missing[unanswered, column] = False
        skipped = codes[:, column] == blank
        for wrong, what in (
            (fails & ~skipped, f"must be {DOES_NOT_APPLY!r}, unless"),
            (holds & skipped & ~missing[:, column], f"must not be {DOES_NOT_APPLY!r}, because"),
        ):
            if wrong.any():
                rule = f"attribute {condition.attribute!r} {what} {condition}"
                record = f"record {first + int(wrong.argmax())} (counting from 0)"
                raise DataError(f"{rule}; {record} contradicts this")
    return codes, None if absent is None else missing


def _met(condition: QuestionCondition, schema: Schema, codes: Sequence[Any]) -> Mask:
    """Whether each part of a condition is met, for columns of codes: parts x records."""
    parts = []
    for name, labels in condition.answers:
        allowed = [schema[name].code(label) for label in labels]
        parts.append(np.isin(codes[schema.index(name)], allowed))
    return np.stack(parts)


def applies(condition: QuestionCondition, schema: Schema, codes: Sequence[Any]) -> Mask:
    """Whether the question is asked, for columns of codes in the order of the schema."""
    return np.asarray(_met(condition, schema, codes).all(axis=0))
