"""Sentences for respondents. Each one states what it assumes, and counts are rounded so that
nothing sounds safer than it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tacit.privacy import outward
from tacit.privacy.sent_answers import SentAnswer, of_100, of_100_up
from tacit.privacy.whole_record import NO_LIMIT

if TYPE_CHECKING:
    from tacit.privacy.report import Report

#: Of more reported categories than this, only the least protected ones are named.
_TOLD = 3
#: The smallest gain, in guesses or in certainty, that is mentioned.
_WORTH = 0.005
#: How many names a sentence lists.
_NAMED = 8
UNRELATED = "if answers to different questions were unrelated"
RELATED = " If answers go together, the others may give an answer away."
#: What a model is measured with, where dependence beyond its rules is not known.
_NOT_IN_MODEL = ", if answers that its rules do not tie together were unrelated"


def sentences(report: Report) -> tuple[str, ...]:
    """One sentence per attribute, then the record, then an adversary who knows other answers."""
    told = [_attribute(report, name) for name in report.design.schema.names]
    if len(told) > 1:
        told += [_record(report), _others_known(report), *_with_model(report)]
    return tuple(told)


def _common(report: Report, size: int | None = None) -> str:
    """What is assumed about how common answers are, to a question of this many answers."""
    if report.prior.uniform:
        every = "all" if size is None else "both" if size == 2 else f"all {size}"
        return f"if {every} answers were equally common"
    if report.prior.stacked > 1:
        return "with answers as common as estimated"
    return "if answers are as common as given"


def _attribute(report: Report, name: str) -> str:
    answers = report.answers[name]
    if all(answer.hidden <= 0 for answer in answers):
        return report.wording.said(name, "every answer that is sent gives the true one away.")
    least = sorted(answers, key=lambda answer: answer.hidden)[:_TOLD]
    shown = answers if len(answers) <= _TOLD else least
    parts = [_sent(report, answer, i == 0) for i, answer in enumerate(shown)]
    left = len(answers) - len(shown)
    more = "" if not left else "; the other answer protects no less"
    if left > 1:
        more = f"; the other {left} answers protect no less"
    assumed = _common(report, report.design.schema[name].size)
    return report.wording.said(name, f"{'; '.join(parts)}{more} ({assumed}).")


def _sent(report: Report, answer: SentAnswer, first: bool) -> str:
    name = answer.attribute
    sent = report.wording.label(name, answer.reported) if answer.own else str(answer.reported)
    people = f"of 100 {'people ' if first else ''}who send “{sent}”"
    if not answer.own:
        truth = report.wording.label(name, answer.guess)
        return f"{people}, the true answer of up to {of_100_up(answer.certainty)} is “{truth}”"
    count: int | str = of_100(answer.hidden)
    if count == 0:
        count = "none" if answer.hidden <= 0 else "fewer than 1"
    one = count in (1, "fewer than 1", "none")
    if not first:
        return f"{people}, {count} {'does' if one else 'do'}"
    why = "" if count == "none" else ", because chance decided what was sent"
    return f"{people}, {count} {'has' if one else 'have'} another true answer{why}"


def _record(report: Report) -> str:
    held, number = report.disclosure.record, len(report.attributes)
    guessed = f"guesses {'both' if number == 2 else f'all {number}'} true answers right"
    if held.accuracy is None:
        return (
            f"The record: how often someone who sees one whole reported record {guessed} is not "
            f"known, because it depends on how answers go together{_limit(report)}."
        )
    span = "" if held.span is None else f" ({of_100(held.span[0])} to {of_100_up(held.span[1])})"
    said = (
        f"The record: someone who sees one whole reported record and knows how answers go "
        f"together {guessed} in {'about' if span else 'up to'} "
        f"{of_100_up(held.accuracy)} of 100 cases{span}"
    )
    if held.confidence is not None and held.bound is not None:
        sure = f"{100 * held.confidence:g} % confidence"
        limit = f"at most in {of_100_up(held.bound)} of 100 ({sure})"
        return f"{said}; whatever the dependence between answers, {limit}."
    if not report.prior.ties_all:
        return f"{said}."
    before = of_100(report.record.from_record.largest_prior) or "fewer than 1"
    return f"{said}; without the record, in {before}."


def _limit(report: Report) -> str:
    """What holds for any dependence between answers, as the end of a sentence."""
    bound, disguised = report.disclosure.record.bound, report.bound_disguised
    if bound is not None and bound < NO_LIMIT:
        return f"; whatever that is, in at most {of_100_up(bound)} of 100 cases"
    if disguised is not None and disguised < NO_LIMIT:
        return (
            "; undisguised answers could give all others away, and from the disguised answers "
            f"alone, any one of them is guessed right in at most {of_100_up(disguised)} of 100 "
            f"cases ({_common(report)})"
        )
    return "" if bound is None else "; no limit can be given"


def _others_known(report: Report) -> str:
    """The adversary who also knows the person's other true answers."""
    gains = dict(_gains(report))
    assumed, beware = (f", {UNRELATED}", RELATED) if report.takes_unrelated else ("", "")
    who = "Someone who also knows a person's other true answers (a colleague, a spouse)"
    hidden = [name for name, known in report.knowing_others.items() if known is None]
    if hidden:
        names = listed([report.wording.quoted(name) for name in hidden])
        beware = f" How much more about {names} is not known; it may be everything."
        if not gains:
            return f"{who} may learn more.{beware}"
    if not gains:
        return (
            f"{who} learns nothing more about an answer than its own report tells{assumed}.{beware}"
        )
    most = sorted(gains, key=lambda name: -gains[name])[:_NAMED]
    alike: dict[str, list[str]] = {}
    for name in (name for name in gains if name in most):
        alike.setdefault(_known(report, name), []).append(report.wording.quoted(name))
    told = [f"{', '.join(names)}: {said}" for said, names in alike.items()]
    left = len(gains) - len(most)
    more = f"; less about {left} more" if left else ""
    return f"{who} learns more{assumed}. {'; '.join(told)}{more}.{beware}"


def _gains(report: Report) -> Iterator[tuple[str, float]]:
    """Attributes about which known other answers tell more, and how much."""
    for name, known in report.knowing_others.items():
        if known is None:
            continue
        alone = report.attributes[name].alone
        gain = max(known.accuracy - alone.accuracy, known.worst_posterior - alone.worst_posterior)
        if gain > _WORTH:
            yield name, gain


def _known(report: Report, name: str) -> str:
    known, alone = report.knowing_others[name], report.attributes[name].alone
    assert known is not None
    sure, before = (outward.up(100 * f.worst_posterior, 1) for f in (known, alone))
    return (
        f"guessed right in up to {of_100_up(known.accuracy)} of 100 cases, and up to {sure} % "
        f"sure (from its own report {of_100_up(alone.accuracy)} and {before} %)"
    )


def _with_model(report: Report) -> Iterator[str]:
    """The adversary who also holds the published model."""
    for name, mined in report.after_mining.items():
        if mined.accuracy_with_model is None or mined.worst_with_model is None:
            continue
        alone = report.attributes[name].alone
        raised = mined.accuracy_with_model - alone.accuracy > _WORTH
        if raised or mined.worst_with_model - alone.worst_posterior > _WORTH:
            sure, before = (
                outward.up(100 * one, 1) for one in (mined.worst_with_model, alone.worst_posterior)
            )
            yield report.wording.said(
                name,
                "once the model is published, and if its rules hold, someone who sees the whole "
                f"reported record guesses right in up to {of_100_up(mined.accuracy_with_model)} "
                f"of 100 cases (from its own report {of_100_up(alone.accuracy)}) and can be "
                f"{sure} % sure ({before} %){'' if report.prior.ties_all else _NOT_IN_MODEL}.",
            )


def listed(names: Sequence[str]) -> str:
    """Names with commas between; the first of many."""
    left = len(names) - _NAMED
    return ", ".join(names) if left <= 1 else f"{', '.join(names[:_NAMED])} and {left} more"
