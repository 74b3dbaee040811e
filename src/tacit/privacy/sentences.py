"""Sentences that a respondent understands, and warnings where single answers look safer than the
record is. Counts are rounded so that nothing sounds safer than it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tacit.design import Design, Group
from tacit.privacy.answers import Answer, of_100, of_100_up
from tacit.privacy.scopes import Scope, Scopes

#: An attribute with more reported categories has only the least protected ones told.
_TOLD = 3
#: A gain in guessing right that is worth a sentence: of one answer, of a group's answers.
_WORTH, _TOGETHER = 0.005, 0.05
#: More names than this are not read.
_NAMED = 8


def sentences(
    design: Design, scopes: Scopes, answers: Mapping[str, Sequence[Answer]]
) -> tuple[str, ...]:
    """One sentence an attribute, then the record as a whole."""
    told = [_attribute(name, answers[name]) for name in design.schema.names]
    if len(design.schema) > 1:
        told.append(_record(scopes.record, len(design.schema)))
    return tuple(told)


def _attribute(name: str, answers: Sequence[Answer]) -> str:
    if all(answer.hidden <= 0 for answer in answers):
        return f"{name}: every answer that is sent gives the true one away."
    least = sorted(answers, key=lambda answer: answer.hidden)[:_TOLD]
    shown = answers if len(answers) <= _TOLD else least
    parts = [_sent(answer, i == 0) for i, answer in enumerate(shown)]
    left = len(answers) - len(shown)
    more = f"; the other {left} answers protect no less" if left else ""
    return f"{name}: {'; '.join(parts)}{more}."


def _sent(answer: Answer, first: bool) -> str:
    people = f"of 100 people who send “{answer.reported}”"
    if not answer.own:
        sure = of_100_up(answer.certainty)
        return f"{people}, up to {sure} truly are “{answer.guess}”"
    count = of_100(answer.hidden)
    if count == 0:
        few = "none is" if answer.hidden <= 0 else "fewer than 1 is"
        return f"{people}, {few} lying by chance"
    verb = "is" if count == 1 else "are"
    return f"{people}, {count} {verb} lying by chance" if first else f"{people}, {count} {verb}"


def _record(record: Scope, n_attributes: int) -> str:
    figures = record.from_record
    before = of_100(figures.largest_prior)
    return (
        f"The record: whoever sees one whole reported record and guesses all {n_attributes} true "
        f"answers is right in up to {of_100_up(figures.accuracy)} of 100 cases; without the "
        f"record, in {before or 'fewer than 1'}."
    )


def warnings(design: Design, scopes: Scopes) -> tuple[str, ...]:
    """What single answers do not show, plainly."""
    return (*_groups(design), *_at_once(scopes), *_whole(scopes), *_more_by_record(scopes))


def _groups(design: Design) -> Iterator[str]:
    for group in design.groups:
        if math.isinf(design.channel(group.attributes).epsilon):
            yield _unbounded(design, group)


def _unbounded(design: Design, group: Group) -> str:
    """Why the epsilon of a group is infinite."""
    names = _listed(group.attributes)
    if group.coin.family == "truthful":
        return f"Not disguised: {names}. What is sent is the truth."
    single = [design.channel(design.closure([name])).epsilon for name in group.attributes]
    if group.coin.family == "related" and all(map(math.isfinite, single)):
        return _one_coin(design, names, group)
    return f"Some reports of {names} rule out some true answers for certain: epsilon is infinite."


def _one_coin(design: Design, names: str, group: Group) -> str:
    """A related group of several attributes (METHODS 4): all true, or all untrue."""
    if all(a.size == 2 for a in design.attributes_of(group)):
        return (
            f"One coin for {names}: a report is all true or all opposite. Whoever sees it knows "
            "the true answers up to their complement, so whether any two answers agree is "
            "disclosed for certain: epsilon is infinite, though each answer alone is protected."
        )
    return (
        f"One coin for {names}: a report is true throughout or untrue throughout. Whoever sees "
        "it knows that the true answers are either exactly these or differ in every one, so "
        "relations between answers are disclosed for certain: epsilon is infinite, though each "
        "answer alone is protected."
    )


def _at_once(scopes: Scopes) -> Iterator[str]:
    """Groups whose answers are found out all at once far more often than one by one."""
    for group in scopes.groups:
        single = math.prod(scopes.attributes[name].alone.accuracy for name in group.names)
        if math.isfinite(group.epsilon) and group.alone.accuracy - single > _TOGETHER:
            yield (
                f"One coin for {_listed(group.names)}: their true answers are guessed right all "
                f"at once in up to {of_100_up(group.alone.accuracy)} of 100 cases; the single "
                f"answers, each by its own report, suggest {of_100(single) or 'fewer than 1'}."
            )


def _whole(scopes: Scopes) -> Iterator[str]:
    record, attributes = scopes.record, scopes.attributes.values()
    safe = all(math.isfinite(scope.epsilon) for scope in attributes)
    if safe and math.isinf(record.epsilon):
        yield (
            "Each answer alone looks protected (every epsilon is finite), but a whole record is "
            "not: its epsilon is infinite."
        )
    if record.from_record.worst_posterior >= 1 and record.exact:
        yield "There are records that give the truth away for certain."


def _more_by_record(scopes: Scopes) -> Iterator[str]:
    """Answers that go together tell on each other."""
    gains = {n: s.from_record.accuracy - s.alone.accuracy for n, s in scopes.attributes.items()}
    gained = [name for name, gain in gains.items() if gain > _WORTH]
    most = sorted(gained, key=lambda name: -gains[name])[:_NAMED]
    told = [_gain(name, scopes.attributes[name]) for name in gained if name in most]
    if told:
        left = len(gained) - len(told)
        more = f"; less of {left} more" if left else ""
        yield (
            "The whole reported record says more of an answer than its own report does. Best "
            f"guess right, of 100 cases: {', '.join(told)}{more}."
        )


def _gain(name: str, scope: Scope) -> str:
    return f"{name} {of_100_up(scope.from_record.accuracy)} (alone {of_100(scope.alone.accuracy)})"


def _listed(names: Sequence[str]) -> str:
    """Names with commas between; the first of many."""
    left = len(names) - _NAMED
    return ", ".join(names) if left <= 1 else f"{', '.join(names[:_NAMED])} and {left} more"
