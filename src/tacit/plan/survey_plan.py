"""SurveyPlan: what to expect from each question, and the privacy of the whole record."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.core.channel.numbers import sum_up
from tacit.core.conditions import DOES_NOT_APPLY, QuestionCondition
from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.core.schema import Label
from tacit.errors import DataError
from tacit.output import rounding
from tacit.output.number_text import number_of
from tacit.output.table import Figure, Table, TablesResult
from tacit.plan.expected import AnswerPrivacy, Assumptions, PlannedQuestion, SafeAnswerBias
from tacit.plan.requirements import Requirements
from tacit.plan.subject import coin_text

ANY = "any"
#: Numbers of respondents on a curve, over this factor on either side of the planned one.
_POINTS, _FACTOR = 13, 8
#: Questions that get a curve of their own.
_MOST_CURVES = 8


@dataclass(frozen=True)
class QuestionPlan:
    """One question: its assumed share, the interval and the power to expect, and its privacy.

    `width` is half the width of the interval. `respondents` are those that this question needs
    for what was asked for; None if their number was given. `category` is None if the widest
    interval of all categories counts.
    """

    attribute: str
    coin: str
    category: Label | None
    prevalence: float | None
    width: float
    power: float | None
    difference_width: float | None
    respondents: int | None
    disguised: bool
    privacy: AnswerPrivacy
    biases: tuple[SafeAnswerBias, ...]

    @property
    def tolerated(self) -> float | None:
        """The smallest shown share of carriers whose safe answers exceed the width, if any."""
        large = (bias.carriers for bias in self.biases if abs(bias.bias) > self.width)
        return next(large, None)


@dataclass(frozen=True, eq=False, repr=False)
class SurveyPlan(TablesResult):
    """A plan: what was solved for, each question, and the privacy of a record."""

    design: Design
    n: int
    solved: str
    requirements: Requirements
    assumed: Assumptions
    questions: tuple[QuestionPlan, ...]

    def __getitem__(self, attribute: str) -> QuestionPlan:
        by_name = {question.attribute: question for question in self.questions}
        if attribute not in by_name:
            raise DataError(f"the plan has no question {attribute!r}")
        return by_name[attribute]

    @property
    def level(self) -> float:
        """The confidence of the intervals."""
        return self.requirements.level

    @property
    def width(self) -> float:
        """Half the width of the widest interval."""
        return max(question.width for question in self.questions)

    @property
    def power(self) -> float | None:
        """The smallest power; None without a comparison."""
        return min((q.power for q in self.questions if q.power is not None), default=None)

    @property
    def epsilon(self) -> float:
        """Local differential privacy of the least private question that is disguised."""
        return self._largest("epsilon")

    @property
    def odds(self) -> float:
        """The largest factor by which the report of one disguised question changes odds."""
        return self._largest("odds")

    @property
    def worst_posterior(self) -> float:
        """The largest probability of an answer after the report of its disguised question."""
        return self._largest("worst_posterior")

    def _largest(self, figure: str) -> float:
        """Of the disguised questions; of all if none is."""
        disguised = [q for q in self.questions if q.disguised] or self.questions
        return max(float(getattr(question.privacy, figure)) for question in disguised)

    @property
    def record_epsilon(self) -> float:
        """Local differential privacy of the whole record: those of its groups add up."""
        return self.design.channel(self.design.schema.names).epsilon

    @property
    def disguised_epsilon(self) -> float:
        """The same for the disguised answers alone."""
        groups = [group for group in self.design.groups if group.disguised]
        return sum_up(self.design.channel(group.attributes).epsilon for group in groups)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where the plan is less safe than its widths and its single answers look."""
        exceeded = {q.tolerated for q in self.questions if q.tolerated is not None}
        warnings = []
        for share in sorted(exceeded):
            biases = [
                f"{q.attribute} ({100 * bias.bias:+.2f} points, planned ± {100 * q.width:.2f})"
                for q in self.questions
                for bias in q.biases
                if q.tolerated == share == bias.carriers
            ]
            warnings.append(
                f"if {100 * share:g} % of carriers always give the safe answer, the bias exceeds "
                "the planned interval, and more respondents do not help: " + ", ".join(biases)
            )
        if len(self.design.schema) > 1 and math.isinf(self.disguised_epsilon):
            warnings.append(
                "epsilon of the disguised answers together is infinite: a whole record discloses "
                "more than its single answers"
            )
        return (*warnings, *map(self._asked_warning, self.design.conditions))

    def _asked_warning(self, condition: QuestionCondition) -> str:
        """The interval of a conditional question among those who are asked."""
        name = condition.attribute
        attribute, shares = self.design.schema[name], self.assumed[name].shares
        share = 1 - float(shares[attribute.code(DOES_NOT_APPLY)])
        sentence = f"{name} is asked if {condition}; its interval is of shares of all respondents"
        if share <= 0:
            return f"{sentence}, and nobody is assumed to be asked"
        question = PlannedQuestion(self.design, name, self.assumed)
        width = question.width_among_asked(self.n, self.level)
        among = f"among the {100 * share:.1f} % assumed to be asked"
        return f"{sentence}; {among} it is ± {100 * width:.1f} points"

    def tables(self) -> list[Table]:
        """What to expect, the privacy, the bias of safe answers, and the budget of a record."""
        shown = [self.to_table(), self._privacy(), self._biases()]
        if len(self.design.schema) > 1:
            shown.append(self._budget())
        return [table for table in shown if table.rows]

    def notes(self) -> list[str]:
        """Warnings, below the tables."""
        return [f"warning: {text}" for text in self.warnings]

    def to_table(self) -> Table:
        """What to expect: a row per question; `tables` has the privacy and the biases too."""
        compared, needed = self.power is not None, self.questions[0].respondents is not None
        heads = ["question", "disguise", "answer", "share", "interval"]
        heads += ["power"] * compared + ["respondents needed"] * needed
        rows = []
        for question in self.questions:
            category = ANY if question.category is None else str(question.category)
            row = [question.attribute, question.coin, category, _percent(question.prevalence)]
            row.append(f"± {100 * question.width:.2f} points")
            row += [_percent(question.power)] * compared
            row += ["" if question.respondents is None else f"{question.respondents:,}"] * needed
            rows.append(row)
        title = (
            f"Plan for {number_of(self.n, 'respondent')}, {100 * self.level:g} % intervals; "
            f"solved for: {self.solved}"
        )
        title += f"\nPower {self.requirements.comparison}" if compared else ""
        return Table(heads, rows, title, "lllr" + "r" * (len(heads) - 4))

    def _privacy(self) -> Table:
        heads = ("question", "epsilon", "odds, at most", "worst posterior", "of this answer")
        rows = [
            [
                q.attribute,
                rounding.epsilon(q.privacy.epsilon),
                _times(q.privacy.odds),
                rounding.up(q.privacy.worst_posterior),
                "" if q.privacy.suspicion is None else rounding.up(q.privacy.suspicion),
            ]
            for q in self.questions
        ]
        return Table(heads, rows, "Privacy of each answer, from its own report")

    def _biases(self) -> Table:
        biased = [q for q in self.questions if q.biases]
        shares = [bias.carriers for bias in biased[0].biases] if biased else []
        heads = ["question", "planned", *(f"{100 * share:g} % of carriers" for share in shares)]
        rows = [
            [q.attribute, f"± {100 * q.width:.2f}"]
            + [f"{100 * bias.bias:+.2f}" for bias in q.biases]
            for q in biased
        ]
        return Table(heads, rows, "Bias in points if some carriers always give the safe answer")

    def _budget(self) -> Table:
        rows = [
            [
                ", ".join(group.attributes),
                coin_text(group.coin),
                rounding.epsilon(self.design.channel(group.attributes).epsilon),
            ]
            for group in self.design.groups
        ]
        if any(not group.disguised for group in self.design.groups):
            rows.append(["all disguised answers", "", rounding.epsilon(self.disguised_epsilon)])
        rows.append(["the whole record", "", rounding.epsilon(self.record_epsilon)])
        return Table(("group", "disguise", "epsilon"), rows, "Privacy budget of a record", "llr")

    def columns(self) -> dict[str, list[Any]]:
        """A row per question."""
        rows = [_plain(question) for question in self.questions]
        names = max(rows, key=len)
        return {name: [row.get(name) for row in rows] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; an infinite number is None."""
        compared = self.requirements.comparison
        content = {
            "tacit": "plan",
            "version": 1,
            "solved": self.solved,
            "respondents": self.n,
            "level": self.level,
            "width": self.width,
            "power": self.power,
            "comparison": None if compared is None else str(compared),
            "epsilon": self.epsilon,
            "odds": self.odds,
            "worst_posterior": self.worst_posterior,
            "record": {"epsilon": self.record_epsilon, "epsilon_disguised": self.disguised_epsilon},
            "questions": [_plain(question) for question in self.questions],
            "groups": [
                {
                    "attributes": list(group.attributes),
                    "coin": group.coin.to_dict(),
                    "epsilon": self.design.channel(group.attributes).epsilon,
                }
                for group in self.design.groups
            ],
            "warnings": list(self.warnings),
        }
        return rounding.finite(content)

    def plot(self) -> Figure:
        """Half the width of the intervals against the number of respondents; needs `plot`."""
        with optional_imports():
            from tacit.output.plot_style import curve_figure, log_axis

        width = f"half the width of a {100 * self.level:g} % interval, points of 100"
        respondents = number_of(self.n, "respondent")
        title = f"{respondents} planned; dotted: bias if 10 % of carriers deny"
        figure, axes = curve_figure("respondents", width, title)
        around = self.n * np.geomspace(1 / _FACTOR, _FACTOR, _POINTS)
        numbers = sorted({max(1, round(number)) for number in around})
        for question in self.questions[:_MOST_CURVES]:
            name = question.attribute
            planned = PlannedQuestion(self.design, name, self.assumed)
            widths = [100 * planned.width(n, self.level) for n in numbers]
            (line,) = axes.plot(numbers, widths, lw=1.6, label=f"{name}: {question.coin}")
            color = line.get_color()
            axes.plot([self.n], [100 * question.width], "o", ms=5, color=color)
            for bias in question.biases:
                if bias.carriers == 0.1:
                    axes.axhline(100 * abs(bias.bias), lw=0.8, ls=":", color=color)
        log_axis(axes, "x")
        log_axis(axes, "y")
        axes.legend(frameon=False, fontsize=9)
        return figure


def _plain(question: QuestionPlan) -> dict[str, Any]:
    plain = {name: value for name, value in vars(question).items() if name != "biases"}
    privacy = asdict(plain.pop("privacy"))
    return plain | privacy | {f"bias_{b.carriers:g}": b.bias for b in question.biases}


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _times(odds: float) -> str:
    return "without limit" if math.isinf(odds) else f"{rounding.up(odds, 2)}-fold"
