"""The tables and sentences of a privacy report as text, rounded conservatively.

Two tables compare the adversaries, from weak to strong, by how often their best guess is right
and by the largest posterior that any report can lead to. A third one, for analysts, holds the
figures of the papers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tacit.core.design import Group
from tacit.core.schema import Label
from tacit.output import rounding
from tacit.output.table import Table
from tacit.privacy.published_model import AfterMining
from tacit.privacy.repeated import Repeated
from tacit.privacy.risk import FIGURES, NO_LIMIT, Figures
from tacit.privacy.scopes import Scope, SentAnswer, of_100, of_100_up

if TYPE_CHECKING:
    from tacit.privacy.report import Disclosed, Report
    from tacit.survey import Survey


UNKNOWN = "not known"
#: The same in the table for analysts, which has many narrow columns.
SHORT_UNKNOWN = "?"
#: What the columns of the adversaries mean.
_COLUMNS = (
    ("no report", "Knows only how common each answer is."),
    ("own report", "Sees the report of this answer alone."),
    ("whole record", "Sees all reported answers of a person, and knows how answers go together."),
    ("at most", "The same, an upper bound for any dependence between answers."),
    ("others known", "Also knows the person's other true answers, as a colleague or a spouse may."),
)
_WITH_MODEL = ("with model", "Sees all reported answers and holds the published model.")
_UNRELATED = (
    " Answers to different questions are taken as unrelated here; if they go together, the others "
    "may give the answer away."
)
_ESTIMATED = (
    " Estimated from the reported records; dependence that they do not show may give the answer "
    "away."
)
_NOT_IN_MODEL = " Answers that its rules do not tie together are taken as unrelated here."
#: What the figures for analysts mean.
FIGURE_WORDS = {
    "best guess right": "How often the most probable true answer is the true one.",
    "most certain": "The largest probability of a true answer that any report can lead to.",
    "epsilon": "A report changes the odds between any two true answers by at most exp(epsilon).",
    "PSE": "How often a guess drawn from the posterior is wrong (Zhan & Matwin).",
    "MAP": "How often the best guess is wrong: MAP privacy (Huang & Du).",
    "bits": "What a report tells about the true answer on average.",
}
_SIGNS = "* sees the whole reported record   + also knows the person's other true answers"
REPEATED_STAR = "* sees the whole reported records"
MINED = (
    "PSE after a model is published: PSE less what its rules recover, for someone who knows their "
    "conditions and for someone who does not (Zhan & Matwin)."
)


#: By the title of a table: the figure that it compares, its upper bound, and the same for someone
#: who holds the published model.
_COMPARED = {
    "best guess right": ("accuracy", "bound", "accuracy_with_model"),
    "most certain": ("worst_posterior", "worst_bound", "worst_with_model"),
}
_ROUNDED = {
    "pse": rounding.down,
    "map_privacy": rounding.down,
    "worst_posterior": rounding.up,
    "information": rounding.up,
}


def tables(report: Report) -> list[Table]:
    """All tables of a report."""
    listed = [*(adversary_table(report, title) for title in _COMPARED), analyst_table(report)]
    if report.after_mining:
        listed.append(mined_table(report.after_mining))
    if report.repeated is not None:
        listed.append(repeated_table(report.repeated, report.prior.ties_all))
    return listed


def notes(report: Report) -> list[str]:
    """What the tables mean."""
    words = [f"{name}: {what}" for name, what in (*columns(report), *FIGURE_WORDS.items())]
    lines = [*words, signs(analyst_table(report))]
    if report.after_mining:
        lines.append(MINED)
    if report.repeated is not None:
        lines += [REPEATED_STAR, report.repeated.caption()]
    return lines


def columns(report: Report) -> list[tuple[str, str]]:
    """The columns that compare adversaries, and what they mean."""
    *weaker, (others, what) = _COLUMNS
    estimated = "" if report.disclosure.assessment is None else _ESTIMATED
    what += _UNRELATED if report.takes_unrelated else estimated
    adversaries = [*weaker, (others, what)]
    if report.after_mining:
        name, what = _WITH_MODEL
        adversaries.append((name, what if report.prior.ties_all else what + _NOT_IN_MODEL))
    return adversaries


def _rows(report: Report) -> Iterator[tuple[str, Scope, Disclosed]]:
    """Each attribute, each group of several attributes and the record, as far as they differ."""
    for name, scope in report.attributes.items():
        yield name, scope, report.disclosure.attributes[name]
    groups = zip(report.groups, report.disclosure.groups, strict=True)
    for number, (scope, disclosed) in enumerate(groups, start=1):
        if len(scope.names) > 1:
            yield f"group {number}", scope, disclosed
    if len(report.attributes) > 1:
        yield "record", report.record, report.disclosure.record


def adversary_table(report: Report, title: str) -> Table:
    """How often the best guess is right, or the largest posterior, by adversary."""
    figure, bound, with_model = _COMPARED[title]
    rows = []
    for name, scope, disclosed in _rows(report):
        alone = scope.alone if report.prior.ties(scope.names) else None
        whole = _shown(getattr(disclosed, figure))
        if figure == "accuracy" and disclosed.accuracy is not None and disclosed.span is not None:
            low, high = disclosed.span
            whole = rounding.up(disclosed.accuracy, 2)
            whole += f" ({rounding.down(low, 2)} to {rounding.up(high, 2)})"
        row = [
            name,
            _shown(getattr(alone, "largest_prior", None)),
            "" if scope is report.record else _shown(getattr(alone, figure, None)),
            whole,
            _limit(getattr(disclosed, bound)),
        ]
        single = len(scope.names) == 1
        row.append(_shown(getattr(report.knowing_others[name], figure, None)) if single else "")
        if report.after_mining:
            mined = report.after_mining.get(name) if single else None
            row.append(_shown(getattr(mined, with_model, None), ""))
        rows.append(row)
    return Table([title, *(name for name, _ in columns(report))], rows)


def _shown(value: float | None, missing: str = UNKNOWN) -> str:
    """A figure of risk, or `missing` if there is none."""
    return missing if value is None else rounding.up(value)


def _limit(bound: float | None) -> str:
    """An upper bound; empty if not computed, and in words if it limits nothing."""
    if bound is None:
        return ""
    return rounding.up(bound) if bound < NO_LIMIT else "no limit"


def analyst_table(report: Report) -> Table:
    """The papers' figures: own report, whole record (*), other true answers known (+)."""
    guesses, heads = ("pse", "map_privacy"), ("epsilon", "PSE", "MAP", "bits")
    rows = []
    for name, scope, disclosed in _rows(report):
        alone = scope.alone if report.prior.ties(scope.names) else None
        own = _cells(alone, *guesses, "information")
        if scope is report.record:
            if report.epsilon_disguised is not None:
                rows.append(["disguised", rounding.epsilon(report.epsilon_disguised), *[""] * 7])
            own = ["", "", "" if alone is None else own[2]]
        whole = _cells(None if disclosed.accuracy is None else disclosed, *guesses)
        others = ["", ""]
        if len(scope.names) == 1:
            others = _cells(report.knowing_others[name], *guesses)
        rows.append([name, rounding.epsilon(scope.epsilon), *own, *whole, *others])
    return Table(("", *heads, "PSE*", "MAP*", "PSE+", "MAP+"), rows)


def signs(table: Table) -> str:
    """What the signs in the table for analysts mean."""
    unknown = any(SHORT_UNKNOWN in row for row in table.rows)
    return f"{_SIGNS}   {SHORT_UNKNOWN} not known" if unknown else _SIGNS


def _cells(figures: object, *names: str, unknown: str = SHORT_UNKNOWN) -> list[str]:
    """Figures of privacy rounded down, of risk rounded up."""
    values = ((name, getattr(figures, name, None)) for name in names)
    return [unknown if value is None else _ROUNDED[name](value) for name, value in values]


def scope_columns(report: Report) -> dict[str, list[Any]]:
    """Columns of numbers: own report, whole record (_from_record), others known (_knowing_others).

    What is not known is None.
    """
    disclosed = report.disclosure
    scopes: list[tuple[str, str, Scope, Disclosed | None]] = [
        *(("attribute", n, s, disclosed.attributes[n]) for n, s in report.attributes.items()),
        *(("group", f"group {i}", s, None) for i, s in enumerate(report.groups, start=1)),
        ("record", "record", report.record, disclosed.record),
    ]
    columns: dict[str, list[Any]] = {}
    for kind, name, scope, disclosure in scopes:
        row = {"scope": kind, "name": name, "epsilon": scope.epsilon, "exact": scope.exact}
        alone = scope.alone if report.prior.ties(scope.names) else None
        others = report.knowing_others.get(name) if kind == "attribute" else None
        for end, figures in (
            ("", alone),
            ("_from_record", scope.whole),
            ("_knowing_others", others),
        ):
            row |= {f + end: getattr(figures, f, None) for f in FIGURES}
        row["accuracy_from_record"] = getattr(disclosure, "accuracy", None)
        row["accuracy_bound"] = getattr(disclosure, "bound", None)
        for column, value in row.items():
            columns.setdefault(column, []).append(value)
    return columns


def mined_table(attributes: Mapping[str, AfterMining]) -> Table:
    """PSE before and after a model is published."""
    rows = [
        [name, *map(rounding.down, (mined.pse_before, mined.pse_known, mined.pse_unknown))]
        for name, mined in attributes.items()
    ]
    return Table(("model published", "PSE before", "after, known", "after, unknown"), rows)


def repeated_table(figures: Repeated, known: bool) -> Table:
    """After several reports of one person; `known`: how answers go together."""
    names = ("pse", "map_privacy", "worst_posterior")

    def whole(record: Figures | None) -> list[str]:
        return _cells(record, *names, unknown="") if known else [UNKNOWN] * 3

    rows = [
        [
            name,
            rounding.epsilon(figures.epsilon[name]),
            *_cells(alone, *names, unknown=""),
            *whole(figures.from_record[name]),
        ]
        for name, alone in figures.attributes.items()
    ]
    epsilon = rounding.epsilon(figures.record_epsilon)
    rows.append(["record", epsilon, "", "", "", *whole(figures.record)])
    heads = ("epsilon", "PSE", "MAP", "worst", "PSE*", "MAP*", "worst*")
    return Table((f"{figures.reports} reports", *heads), rows)


# Sentences for respondents. Each states what it assumes, and counts are rounded so that nothing
# sounds safer than it is.


#: Of more reported categories than this, only the least protected ones are named.
_TOLD = 3
#: The smallest gain that is mentioned: in guesses of an answer or in certainty; in guesses of all
#: answers of a group at once.
_WORTH, _TOGETHER = 0.005, 0.05
#: How many names a sentence lists.
_NAMED = 8
UNRELATED = "if answers to different questions were unrelated"
RELATED = " If answers go together, the others may give an answer away."
#: What a model is measured with, where dependence beyond its rules is not known.
_MODEL_ALONE = ", if answers that its rules do not tie together were unrelated"


def sentences(report: Report) -> tuple[str, ...]:
    """All waves if there are several, then about one of them: a sentence per attribute, the record,
    an adversary who knows other answers."""
    said = [_attribute(report, name) for name in report.design.schema.names]
    number = len(said)
    if report.repeated is not None:
        from tacit.survey.disclosure_bound import waves_sentence  # slow to import

        said.insert(0, waves_sentence(report.design, report.repeated.reports))
    if number > 1:
        said += [_record(report), _others_known(report), *_with_model(report)]
    return tuple(said)


def _common(report: Report, name: str | None = None) -> str:
    """What is assumed about how common answers are: all, or those to one question."""
    if report.prior.uniform:
        asked_if = report.design.asked_if
        size = 0 if name is None else report.design.schema[name].size - (name in asked_if)
        every = "all" if name is None else "both" if size == 2 else f"all {size}"
        some = bool(asked_if) if name is None else name in asked_if
        asked = " among those who are asked" if some else ""
        return f"if {every} answers were equally common{asked}"
    if report.prior.stacked > 1:
        return "with answers as common as estimated"
    return "if answers are as common as given"


def _attribute(report: Report, name: str) -> str:
    answers = report.answers[name]
    if all(answer.hidden <= 0 for answer in answers):
        return report.wording.said(name, "every answer that is sent gives the true one away.")
    shown = answers
    if len(answers) > _TOLD:
        shown = tuple(sorted(answers, key=lambda answer: answer.hidden)[:_TOLD])
    parts = [_sent(report, answer, i == 0) for i, answer in enumerate(shown)]
    left = len(answers) - len(shown)
    more = "; the other answer protects no less" if left else ""
    if left > 1:
        more = f"; the other {left} answers protect no less"
    assumed = _common(report, name)
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
    singular = count in (1, "fewer than 1", "none")
    if not first:
        return f"{people}, {count} {'does' if singular else 'do'}"
    why = "" if count == "none" else ", because chance decided what was sent"
    return f"{people}, {count} {'has' if singular else 'have'} another true answer{why}"


def _record(report: Report) -> str:
    record, number = report.disclosure.record, len(report.attributes)
    guessed = f"guesses {'both' if number == 2 else f'all {number}'} true answers right"
    if record.accuracy is None:
        any_dependence, disguised = "", report.bound_disguised
        if record.limit is not None:
            any_dependence = (
                f"; whatever that is, in at most {of_100_up(record.limit)} of 100 cases"
            )
        elif disguised is not None and disguised < NO_LIMIT:
            any_dependence = (
                "; undisguised answers could give all others away, and from the disguised answers "
                f"alone, any one of them is guessed right in at most {of_100_up(disguised)} of "
                f"100 cases ({_common(report)})"
            )
        elif record.bound is not None:
            any_dependence = "; no limit can be given"
        return (
            f"The record: how often someone who sees one whole reported record {guessed} is not "
            f"known, because it depends on how answers go together{any_dependence}."
        )
    span = ""
    if record.span is not None:
        span = f" ({of_100(record.span[0])} to {of_100_up(record.span[1])})"
    said = (
        f"The record: someone who sees one whole reported record and knows how answers go "
        f"together {guessed} in {'about' if span else 'up to'} "
        f"{of_100_up(record.accuracy)} of 100 cases{span}"
    )
    if record.confidence is not None and record.bound is not None:
        sure = f"{100 * record.confidence:g} % confidence"
        limit = f"at most in {of_100_up(record.bound)} of 100 ({sure})"
        return f"{said}; whatever the dependence between answers, {limit}."
    if not report.prior.ties_all:
        return f"{said}."
    before = of_100(report.record.from_record.largest_prior) or "fewer than 1"
    return f"{said}; without the record, in {before}."


def _others_known(report: Report) -> str:
    """The adversary who also knows the person's other true answers."""
    known = {n: figures for n, figures in report.knowing_others.items() if figures is not None}
    alone = {name: report.attributes[name].alone for name in known}
    gains = {
        name: max(
            figures.accuracy - alone[name].accuracy,
            figures.worst_posterior - alone[name].worst_posterior,
        )
        for name, figures in known.items()
    }
    assumed, beware = (f", {UNRELATED}", RELATED) if report.takes_unrelated else ("", "")
    who = "Someone who also knows a person's other true answers (a colleague, a spouse)"
    most, more = _most(gains)
    hidden = [name for name in report.knowing_others if name not in known]
    if hidden:
        beware = (
            f" How much more about {_quoted(report, hidden)} is not known; it may be everything."
        )
        if not most:
            return f"{who} may learn more.{beware}"
    if not most:
        return (
            f"{who} learns nothing more about an answer than its own report tells{assumed}.{beware}"
        )
    alike: dict[str, list[str]] = {}
    for name in most:
        figures, before = known[name], alone[name]
        said = (
            f"guessed right in up to {of_100_up(figures.accuracy)} of 100 cases, and up to "
            f"{_sure(figures.worst_posterior)} % sure (from its own report "
            f"{of_100_up(before.accuracy)} and {_sure(before.worst_posterior)} %)"
        )
        alike.setdefault(said, []).append(report.wording.quoted(name))
    gained = [f"{', '.join(names)}: {said}" for said, names in alike.items()]
    return f"{who} learns more{assumed}. {'; '.join(gained)}{more}.{beware}"


def _sure(posterior: float) -> str:
    return rounding.up(100 * posterior, 1)


def _with_model(report: Report) -> Iterator[str]:
    """The adversary who also holds the published model."""
    for name, mined in report.after_mining.items():
        if mined.accuracy_with_model is None or mined.worst_with_model is None:
            continue
        alone = report.attributes[name].alone
        raised = mined.accuracy_with_model - alone.accuracy > _WORTH
        if raised or mined.worst_with_model - alone.worst_posterior > _WORTH:
            yield report.wording.said(
                name,
                "once the model is published, and if its rules hold, someone who sees the whole "
                f"reported record guesses right in up to {of_100_up(mined.accuracy_with_model)} "
                f"of 100 cases (from its own report {of_100_up(alone.accuracy)}) and can be "
                f"{_sure(mined.worst_with_model)} % sure ({_sure(alone.worst_posterior)} %)"
                f"{'' if report.prior.ties_all else _MODEL_ALONE}.",
            )


def warnings(report: Report) -> tuple[str, ...]:
    """Risks that single answers do not show; first of all that dependence is not known, if so."""
    first = [] if report.disclosure.warning is None else [report.disclosure.warning]
    groups = zip(report.design.groups, report.groups, strict=True)
    unbounded = [_unbounded(report, group) for group, s in groups if math.isinf(s.epsilon)]
    return (*first, *unbounded, *_at_once(report), *_whole(report), *_more_by_record(report))


#: A related group of several attributes: all true, or all untrue.
_ALL_OPPOSITE = (
    "One coin for {}: a report is all true or all opposite. Whoever sees it knows "
    "for certain which answers agree with each other, and whoever also knows one of the "
    "true answers (a colleague, a spouse) knows all others for certain. Epsilon is "
    "infinite, though each answer alone is protected."
)
_ALL_UNTRUE = (
    "One coin for {}: a report is true throughout or untrue throughout. Whoever sees it "
    "knows that the true answers are either exactly these or differ in every one. Whoever "
    "also knows one of the true answers (a colleague, a spouse) knows which: if the report is "
    "true, all others are revealed for certain. Epsilon is infinite, though each answer alone "
    "is protected."
)


def _unbounded(report: Report, group: Group) -> str:
    """Why the epsilon of a group is infinite."""
    design, names = report.design, _quoted(report, group.attributes)
    if not group.disguised:
        return f"Not disguised: {names}. What is sent is the truth."
    single = [design.channel(design.jointly_reported([name])).epsilon for name in group.attributes]
    if group.coin.family == "related" and all(map(math.isfinite, single)):
        binary = all(a.size == 2 for a in design.attributes_of(group))
        return (_ALL_OPPOSITE if binary else _ALL_UNTRUE).format(names)
    return f"Some reports of {names} rule out some true answers for certain: epsilon is infinite."


def _at_once(report: Report) -> Iterator[str]:
    """Groups whose answers are guessed right all at once far more often than one by one."""
    for group in report.groups:
        single = math.prod(report.attributes[name].alone.accuracy for name in group.names)
        if math.isfinite(group.epsilon) and group.alone.accuracy - single > _TOGETHER:
            names = _quoted(report, group.names)
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
            f"{rounding.epsilon(report.epsilon_disguised)}; including the undisguised answers: "
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
    known = {
        name: (disclosed.accuracy, report.attributes[name].alone.accuracy)
        for name, disclosed in report.disclosure.attributes.items()
        if disclosed.accuracy is not None
    }
    most, more = _most({name: accuracy - alone for name, (accuracy, alone) in known.items()})
    pairs = ((report.wording.quoted(name), *known[name]) for name in most)
    phrases = [f"{name} {of_100_up(whole)} (alone {of_100(alone)})" for name, whole, alone in pairs]
    if phrases:
        yield (
            "The whole reported record says more about an answer than its own report does. Best "
            f"guess right, of 100 cases: {', '.join(phrases)}{more}."
        )


def _most(gains: Mapping[str, float]) -> tuple[list[str], str]:
    """The names with the largest gains worth mentioning, in their order, and words for the rest."""
    worth = {name: gain for name, gain in gains.items() if gain > _WORTH}
    largest = sorted(worth, key=lambda name: -worth[name])[:_NAMED]
    left = len(worth) - len(largest)
    return [n for n in worth if n in largest], f"; less about {left} more" if left else ""


def _quoted(report: Report, names: Sequence[str]) -> str:
    """Attributes with commas between; the first of many."""
    quoted, left = [report.wording.quoted(name) for name in names], len(names) - _NAMED
    return ", ".join(quoted) if left <= 1 else f"{', '.join(quoted[:_NAMED])} and {left} more"


@dataclass(frozen=True)
class Wording:
    """Title of a survey, question of each attribute, label of each category; names if absent."""

    title: str | None = None
    questions: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Label, str]] = field(default_factory=dict)

    def question(self, name: str) -> str:
        """What is asked for an attribute."""
        return self.questions.get(name, name)

    def said(self, name: str, sentence: str) -> str:
        """A sentence about an attribute, after its question or name."""
        question = self.question(name)
        if question[-1] in ".?!":
            return f"{question} {sentence[0].upper()}{sentence[1:]}"
        return f"{question}: {sentence}"

    def quoted(self, name: str) -> str:
        """An attribute within a sentence: its question in quotation marks, or its name."""
        return f"“{self.questions[name]}”" if name in self.questions else name

    def label(self, name: str, category: Label) -> str:
        """The label of a category."""
        return self.labels.get(name, {}).get(category, str(category))


def wording_of(survey: Survey) -> Wording:
    """The wording of a survey, in English if it has that, else in its first language."""
    from tacit.survey.fields import text_in  # slow to import

    language = "en" if "en" in survey.languages else survey.languages[0]
    questions: dict[str, str] = {}
    labels: dict[str, dict[Label, str]] = {}
    for question in survey.questions:
        wording = text_in(question.text, language)
        several = question.kind == "multiple"
        for attribute, answer in zip(question.attributes, question.answers, strict=False):
            box = f" {survey.label(question, answer, language)}" if several else ""
            questions[attribute.name] = wording + box
            labels[attribute.name] = {
                category: survey.label(question, str(category), language)
                for category in attribute.categories
            }
    return Wording(text_in(survey.title, language), questions, labels)
