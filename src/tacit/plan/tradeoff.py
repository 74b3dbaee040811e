"""tradeoff: privacy against precision for families, parameters, groupings and optimal channels.

Each candidate gives a curve of points: for a family, the most accurate parameter under each bound
on epsilon or on the worst posterior; for a coin or a design, one point. With several questions,
each family is shown for each number of groups. Single answers are as precise in one group as in
many; pairs of answers and the privacy of a record are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import cycle
from typing import Any

import numpy as np

from tacit.core.argument_checks import check_share, check_whole
from tacit.core.channel import Coin, truthful
from tacit.core.design import Design, Group
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, DesignError, unknown
from tacit.output import rounding
from tacit.output.number_text import number_of
from tacit.output.table import Figure, Table, TabularResult
from tacit.plan import expected, requirements
from tacit.plan import subject as subjects
from tacit.plan.expected import PrivacyWish, assume_all
from tacit.plan.planner import Layout
from tacit.plan.requirements import Requirements
from tacit.plan.subject import EPSILON, POSTERIOR
from tacit.reconstruction.interval import check_level
from tacit.records import Progress


def _pair_width(layout: Layout, design: Design, n: int, level: float) -> float | None:
    """Half the width of the widest interval of a pair of planned categories.

    Pairs in one group and across two groups; None for a single question.
    """
    first, *others = design.groups
    pairs = [first.attributes[:2]] if len(first.attributes) > 1 else []
    pairs += [(first.attributes[0], others[-1].attributes[-1])] if others else []
    largest = []
    for pair in pairs:
        channel = design.channel(design.jointly_reported(pair))
        table = channel.disguised(expected.true_table(channel, layout.assumed))
        widths = expected.expected_widths(expected.estimate_from(channel, table, 2, n), level)
        codes = [layout.assumed[name].category for name in pair]
        cells = [slice(None) if None in codes else code for code in codes]
        largest.append(float(widths[tuple(cells)].max()))
    return max(largest, default=None)


def _layouts(
    subject: Any,
    number: int,
    prevalence: Any,
    categories: int | None,
    groups: Sequence[int],
    figure: str,
) -> Iterator[Layout]:
    """A layout per number of groups that the family allows; one for a design.

    `number` questions are alike; `figure` is the figure of privacy that bounds optimal channels.
    """
    given = subjects.design_of(subject)
    if given is not None:
        yield Layout(assume_all(given, prevalence), given.schema.names, 1, lambda _: given)
        return
    size = subjects.number_of_categories(subject, prevalence, categories)
    labels = subjects.labels_of(size)
    schema = Schema([Attribute(f"q{i + 1}", labels) for i in range(number)])
    plain = Design(schema, [Group(schema.names, truthful())])
    assumed = assume_all(plain, dict.fromkeys(schema.names, prevalence))
    first = schema.names[:1]
    make: Callable[[int], Coin]
    if isinstance(subject, Coin):
        last, make = 1, lambda _: subject
    else:
        family = subjects.coin_family(subject, assumed[first[0]].shares.tolist(), figure)
        last, make = family.last, lru_cache(maxsize=64)(family.make)

    def grouped(parts: list[list[str]], step: int) -> Design:
        return Design(schema, [Group(part, make(step)) for part in parts])

    refusal: DesignError | None = None
    n_layouts = 0
    for count in groups:
        parts = [part.tolist() for part in np.array_split(np.array(schema.names), count)]
        design = partial(grouped, parts)
        try:
            design(1)
        except DesignError as error:
            refusal = error  # a family for single questions only
            continue
        n_layouts += 1
        yield Layout(assumed, first, last, design)
    if refusal and not n_layouts:
        raise refusal


EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
#: Bounds on the worst posterior: this far from the largest share to 1.
_PARTS = (0.2, 0.4, 0.6, 0.8, 0.9)
#: The share of carriers whose bias is shown.
_CARRIERS = 0.1
#: Several families may be the same channel: dashes show the curve below.
_STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class TradeoffPoint:
    """One disguise: its privacy, and its precision with n respondents.

    `epsilon` is that of the least private answer; `width` is half the width of the widest interval
    of one answer, `pair_width` that of a pair of answers in the planned categories. `bias` is that
    if 10 % of carriers always give the safe answer.
    """

    candidate: str
    disguise: str
    groups: int
    epsilon: float
    record_epsilon: float
    worst_posterior: float
    respondents: int
    width: float
    pair_width: float | None
    bias: float | None

    @property
    def text(self) -> str:
        """The disguise, with the name of the candidate if it does not say so."""
        named = self.disguise.startswith(self.candidate)
        return self.disguise if named else f"{self.candidate}: {self.disguise}"


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff(TabularResult):
    """Points of all candidates, in the order given and by rising epsilon."""

    points: tuple[TradeoffPoint, ...]
    questions: int
    solved: str
    figure: str
    level: float

    def columns(self) -> dict[str, list[Any]]:
        """A row per point."""
        rows = [asdict(point) for point in self.points]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; an infinite number is None."""
        return rounding.finite(
            {
                "tacit": "tradeoff",
                "version": 1,
                "solved": self.solved,
                "questions": self.questions,
                "figure": self.figure,
                "level": self.level,
                "points": [asdict(point) for point in self.points],
            }
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where a record discloses more than its single answers."""
        if self.questions == 1 or all(math.isfinite(p.record_epsilon) for p in self.points):
            return ()
        return (
            "where the epsilon of a record is infinite, a report shows for certain how answers of "
            "a group go together",
        )

    def notes(self) -> list[str]:
        """Warnings, below the tables."""
        return [f"warning: {text}" for text in self.warnings]

    def to_table(self) -> Table:
        """The points as a person reads them."""
        several = self.questions > 1
        heads = ["disguise"] + ["groups"] * several + ["epsilon"] + ["record"] * several
        heads.append("posterior")
        heads += ["respondents", "width"] + ["pair"] * several + ["bias"]
        rows = []
        for point in self.points:
            row = [point.text] + [str(point.groups)] * several + [rounding.epsilon(point.epsilon)]
            row += [rounding.epsilon(point.record_epsilon)] * several
            row.append(rounding.up(point.worst_posterior))
            row += [f"{point.respondents:,}", f"± {100 * point.width:.2f}"]
            row += [f"± {100 * (point.pair_width or math.nan):.2f}"] * several
            row.append("" if point.bias is None else f"{100 * point.bias:+.2f}")
            rows.append(row)
        questions = number_of(self.questions, "question")
        title = (
            f"Privacy against {self.solved}: {questions}, {100 * self.level:g} % intervals, points "
            "of 100"
        )
        return Table(heads, rows, title, "l" + "r" * (len(heads) - 1))

    def plot(self) -> Figure:
        """Width or respondents against privacy, a curve per candidate; needs the extra `plot`."""
        with optional_imports():
            from tacit.output.plot_style import curve_figure, log_axis

        of_record = self.questions > 1 and self.figure == EPSILON
        shown, scope = self.figure.replace("_", " "), "a record" if of_record else "an answer"
        width = f"half the width of a {100 * self.level:g} % interval, points of 100"
        figure, axes = curve_figure(
            f"{shown} of {scope}: further left is more private",
            "respondents" if self.solved == "respondents" else width,
        )
        curves: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for point in self.points:
            height = float(point.respondents) if self.solved == "respondents" else 100 * point.width
            privacy = point.record_epsilon if of_record else getattr(point, self.figure)
            curves.setdefault((point.candidate, point.groups), []).append((privacy, height))
        for (name, groups), marker, style in zip(curves, cycle("os^Dv<>P"), cycle(_STYLES)):
            label = name if self.questions == 1 else f"{name}, {number_of(groups, 'group')}"
            points = [point for point in curves[name, groups] if math.isfinite(point[0])]
            if points:
                line = zip(*sorted(points), strict=True)
                axes.plot(*line, marker=marker, ms=4, ls=style, label=label)
            else:
                axes.plot([], [], label=f"{label}: epsilon is infinite")
        log_axis(axes, "y")
        axes.legend(frameon=False, fontsize=9)
        return figure


def tradeoff(
    candidates: Any,
    n: int | None = None,
    width: float | None = None,
    prevalence: Any = 0.2,
    *,
    questions: int = 1,
    groups: Sequence[int] | None = None,
    categories: int | None = None,
    figure: str = EPSILON,
    bounds: Sequence[float] | None = None,
    level: float = 0.95,
    progress: Progress = lambda _: None,
) -> Tradeoff:
    """Privacy against the width from n respondents, or against the respondents for a width.

    candidates: a list of what `plan` takes as its subject, or a mapping from names to these.
    A family is shown at each of `bounds` on the `figure` of privacy of one answer, "epsilon" or
    "worst_posterior"; a coin or a design as it is. `questions` are as many questions with the same
    shares, in each number of `groups` (1 and one per question by default). `progress` is called
    with the share that is done.

    >>> from tacit import related
    >>> found = tradeoff(["related", related(0.9)], n=1000, bounds=[1.0])
    >>> [(point.disguise, round(point.width, 3)) for point in found.points]
    [('related(theta=0.731)', 0.065), ('related(theta=0.9)', 0.035)]
    """
    check_level(level)
    if (n is None) == (width is None):
        raise DataError("give n or width, one of them: the other one is shown")
    requirements.check_respondents(n)
    check_whole("questions", questions, 1)
    required = Requirements(width, None, None, level)
    counts = sorted({1, questions} if groups is None else set(groups))
    if not counts or not all(type(g) is int and 1 <= g <= questions for g in counts):
        raise DataError(f"groups must be numbers from 1 to {questions}, got {groups!r}")
    wishes = _wishes(figure, bounds, prevalence)
    points: list[TradeoffPoint] = []
    named = _labelled(candidates)
    for done, (name, subject) in enumerate(named):
        progress(done / len(named))
        for layout in _layouts(subject, questions, prevalence, categories, counts, figure):
            steps = [1] if layout.last == 1 else map(layout.most_accurate, wishes)
            distinct = dict.fromkeys(step for step in steps if step is not None)
            points += [_point(name, layout, step, n, required) for step in distinct]
    if not points:
        raise DataError(f"no candidate keeps any of the bounds on {figure}; allow larger ones")
    solved = "width" if n is not None else "respondents"
    return Tradeoff(tuple(points), questions, solved, figure, level)


def _wishes(figure: str, bounds: Sequence[float] | None, prevalence: Any) -> list[PrivacyWish]:
    """The bounds as wishes, from strict to loose."""
    if figure not in (EPSILON, POSTERIOR):
        raise DataError(unknown("figure of privacy", figure, (EPSILON, POSTERIOR)))
    if bounds is None and figure == EPSILON:
        bounds = EPSILONS
    elif bounds is None:
        # From the share of the most common answer to a yes/no question, or of a distribution.
        shares = [0.5]
        if not isinstance(prevalence, Mapping):
            shares = [check_share("a prevalence", share) for share in np.ravel(prevalence).tolist()]
        largest = max(shares) if len(shares) > 1 else max(shares[0], 1 - shares[0])
        bounds = [largest + (1 - largest) * part for part in _PARTS]
    return [PrivacyWish(**{figure: bound}) for bound in sorted(bounds)]


def _labelled(candidates: Any) -> list[tuple[str, Any]]:
    if isinstance(candidates, Mapping):
        return [(str(name), subject) for name, subject in candidates.items()]
    if isinstance(candidates, str) or not isinstance(candidates, Sequence) or not candidates:
        raise DataError(
            f"candidates must be a list of coins, families or designs, got {candidates!r}"
        )
    labelled = []
    for number, subject in enumerate(candidates, 1):
        label = subject if isinstance(subject, str) else getattr(subject, "__name__", None)
        if isinstance(subject, Coin):
            label = subject.family
        label = f"design {number}" if label is None else label.replace("<lambda>", "family")
        labelled.append((label, subject))
    return labelled


def _point(
    name: str, layout: Layout, step: int, n: int | None, required: Requirements
) -> TradeoffPoint:
    design, names = layout.design(step), layout.design(step).schema.names
    questions = [layout.question(step, attribute) for attribute in layout.distinct]
    if n is None:
        n = max(required.respondents(question) for question in questions)
    biases = layout.question(step, names[0]).biases(n)
    return TradeoffPoint(
        candidate=name,
        disguise=", ".join(
            dict.fromkeys(subjects.coin_text(group.coin) for group in design.groups)
        ),
        groups=len(design.groups),
        epsilon=max(question.privacy.epsilon for question in questions),
        record_epsilon=design.channel(names).epsilon,
        worst_posterior=max(question.privacy.worst_posterior for question in questions),
        respondents=n,
        width=max(question.width(n, required.level) for question in questions),
        pair_width=_pair_width(layout, design, n, required.level),
        bias=next((bias.bias for bias in biases if bias.carriers == _CARRIERS), None),
    )
