"""Warnings: where single answers look safer than they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tacit.bounds import is_undisguised
from tacit.design import Group
from tacit.privacy import outward
from tacit.privacy.sent_answers import of_100, of_100_up
from tacit.privacy.sentences import UNRELATED, listed

if TYPE_CHECKING:
    from tacit.privacy.report import Report

#: A gain in guessing right that is worth a warning: of one answer, of a group's answers.
_WORTH, _TOGETHER = 0.005, 0.05
#: How many names a sentence lists.
_NAMED = 8


def warnings(report: Report) -> tuple[str, ...]:
    """Risks that single answers do not show; first of all that dependence is not known, if so."""
    first = [] if report.disclosure.warning is None else [report.disclosure.warning]
    return (
        *first,
        *_groups(report),
        *_at_once(report),
        *_whole(report),
        *_more_by_record(report),
    )


def _groups(report: Report) -> Iterator[str]:
    for group in report.design.groups:
        if math.isinf(report.design.channel(group.attributes).epsilon):
            yield _unbounded(report, group)


def _unbounded(report: Report, group: Group) -> str:
    """Why the epsilon of a group is infinite."""
    design = report.design
    names = listed([report.wording.quoted(name) for name in group.attributes])
    if is_undisguised(group):
        return f"Not disguised: {names}. What is sent is the truth."
    single = [design.channel(design.closure([name])).epsilon for name in group.attributes]
    if group.coin.family == "related" and all(map(math.isfinite, single)):
        return _one_coin(report, names, group)
    return f"Some reports of {names} rule out some true answers for certain: epsilon is infinite."


def _one_coin(report: Report, names: str, group: Group) -> str:
    """A related group of several attributes (METHODS 4, 12): all true, or all untrue."""
    if all(a.size == 2 for a in report.design.attributes_of(group)):
        return (
            f"One coin for {names}: a report is all true or all opposite. Whoever sees it knows "
            "for certain which answers agree with each other, and whoever also knows one of the "
            "true answers (a colleague, a spouse) knows all others for certain. Epsilon is "
            "infinite, though each answer alone is protected."
        )
    return (
        f"One coin for {names}: a report is true throughout or untrue throughout. Whoever sees it "
        "knows that the true answers are either exactly these or differ in every one. Whoever "
        "also knows one of the true answers (a colleague, a spouse) knows which: if the report is "
        "true, all others are revealed for certain. Epsilon is infinite, though each answer alone "
        "is protected."
    )


def _at_once(report: Report) -> Iterator[str]:
    """Groups whose answers are guessed right all at once far more often than one by one."""
    for group in report.groups:
        single = math.prod(report.attributes[name].alone.accuracy for name in group.names)
        if math.isfinite(group.epsilon) and group.alone.accuracy - single > _TOGETHER:
            names = listed([report.wording.quoted(name) for name in group.names])
            assumed = "" if report.prior.ties(group.names) else f" ({UNRELATED})"
            yield (
                f"One coin for {names}: their true answers are guessed right all at once in up to "
                f"{of_100_up(group.alone.accuracy)} of 100 cases{assumed}; the single answers, "
                f"each by its own report, suggest {of_100(single) or 'fewer than 1'}."
            )


def _whole(report: Report) -> Iterator[str]:
    record, attributes = report.record, report.attributes.values()
    safe = all(math.isfinite(scope.epsilon) for scope in attributes)
    if report.epsilon_disguised is not None:
        yield (
            "Some answers are sent undisguised. Epsilon of the disguised answers together: "
            f"{outward.epsilon(report.epsilon_disguised)}; including the undisguised answers: "
            "infinite."
        )
    elif safe and math.isinf(record.epsilon):
        yield (
            "Each answer alone looks protected (every epsilon is finite), but a whole record is "
            "not: its epsilon is infinite."
        )
    if record.from_record.worst_posterior >= 1 and record.exact:
        yield "There are records that give the truth away for certain."


def _more_by_record(report: Report) -> Iterator[str]:
    """Answers that go together reveal each other; only if dependence is known."""
    gains = {
        name: held.accuracy - report.attributes[name].alone.accuracy
        for name, held in report.disclosure.attributes.items()
        if held.accuracy is not None
    }
    gained = [name for name, gain in gains.items() if gain > _WORTH]
    most = sorted(gained, key=lambda name: -gains[name])[:_NAMED]
    told = [_gain(report, name) for name in gained if name in most]
    if told:
        left = len(gained) - len(told)
        more = f"; less about {left} more" if left else ""
        yield (
            "The whole reported record says more about an answer than its own report does. Best "
            f"guess right, of 100 cases: {', '.join(told)}{more}."
        )


def _gain(report: Report, name: str) -> str:
    held, alone = report.disclosure.attributes[name].accuracy, report.attributes[name].alone
    assert held is not None
    return f"{report.wording.quoted(name)} {of_100_up(held)} (alone {of_100(alone.accuracy)})"
