"""ChosenChannel: one channel of a front, described for respondents and ready for a design."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel import Coin, matrix
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DesignError
from tacit.optimize.decimal_matrices import Rows, rational
from tacit.optimize.front_problem import FrontProblem

#: Letters of a label; a survey file's names have at most 100, and a number may follow.
_LONGEST = 90


@dataclass(frozen=True)
class ReportedCategory:
    """One reported category: its label, how often it comes, and from which true answers.

    chances: the probability that someone with each true answer reports it.
    posterior: what a report of it says about the true answer.
    """

    label: str
    share: float
    chances: tuple[float, ...]
    posterior: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ChosenChannel:
    """A channel with its privacy, its error and the least error that any channel could have."""

    problem: FrontProblem
    matrix: Array
    privacy: float
    mse: float
    lower_bound: float

    @cached_property
    def rows(self) -> Rows:
        """The matrix as exact decimals: columns sum to 1, the bounds hold exactly."""
        return rational(self.matrix, self.problem)

    @property
    def square(self) -> bool:
        """Whether the true categories are what is reported."""
        return bool(self.matrix.shape[0] == self.matrix.shape[1])

    @property
    def _attributes(self) -> tuple[Attribute, ...]:
        """The attributes of the prior; numbered ones if it names none."""
        shape = self.problem.shape
        names = ["answer"] if len(shape) == 1 else [f"answer {i + 1}" for i in range(len(shape))]
        return self.problem.attributes or tuple(
            Attribute(name, [f"c{j + 1}" for j in range(size)])
            for name, size in zip(names, shape, strict=True)
        )

    @property
    def categories(self) -> list[str]:
        """Labels of the true categories; joint ones joined."""
        labels = itertools.product(*(a.categories for a in self._attributes))
        return [" & ".join(map(str, cell)) for cell in labels]

    @cached_property
    def reports(self) -> tuple[ReportedCategory, ...]:
        """Every reported category, with labels for people."""
        joint = self.matrix * self.problem.p
        shares = joint.sum(axis=1)
        posteriors = joint / shares[:, None]
        labels = self.categories if self.square else _labels(self.matrix, posteriors, self)
        return tuple(
            ReportedCategory(label, float(share), tuple(row.tolist()), tuple(posterior.tolist()))
            for label, share, row, posterior in zip(
                labels, shares, self.matrix, posteriors, strict=True
            )
        )

    def coin(self) -> Coin:
        """The channel as a coin with exact parameters."""
        labels = None if self.square else [report.label for report in self.reports]
        return matrix(self.rows, labels)

    def group(self, names: Sequence[str] | None = None) -> Group:
        """A group that disguises these attributes with the channel."""
        return Group(names or [a.name for a in self._attributes], self.coin())

    def design(self, attributes: Sequence[Attribute] | None = None) -> Design:
        """A design of these attributes alone, one group; those of the prior if it names them."""
        own = tuple(attributes) if attributes is not None else self._attributes
        sizes = tuple(a.size for a in own)
        if sizes != self.problem.shape:
            wanted, given = (" x ".join(map(str, each)) for each in (self.problem.shape, sizes))
            raise DesignError(
                f"the channel is for categories {wanted}, the attributes have {given}"
            )
        return Design(Schema(own), [Group([a.name for a in own], self.coin())])

    def survey_group(self, questions: Sequence[str] | None = None) -> dict[str, Any]:
        """The channel as a group of a survey file, for these questions, with decimals.

        At most 15 decimals are the same number as a float, so the survey's design is exactly
        this one.
        """
        coin = self.coin().to_dict() | {"matrix": [[float(m) for m in row] for row in self.rows]}
        return {"questions": list(questions or (a.name for a in self._attributes)), **coin}

    def describe(self) -> str:
        """What a respondent does, a line per report."""
        names = self.categories
        lines = [
            f"privacy {self.privacy:.4f}: the share of guesses from the report that are wrong; "
            f"mean squared error {self.mse:.4g}, at least {self.lower_bound:.4g} for any channel"
        ]
        for report in self.reports:
            chances = [
                f"{100 * chance:.2f} % of {name!r}"
                for chance, name in zip(report.chances, names, strict=True)
                if chance > 0
            ]
            never = " and nobody else" if len(chances) < len(names) else ""
            lines.append(f"{report.label!r} is reported by {', '.join(chances)}{never}")
        return "\n".join(lines)


def _labels(matrix: Array, posteriors: Array, choice: ChosenChannel) -> list[str]:
    """A label for each report: the answers it points to, those it points to less in brackets.

    A report points to the answers that can lead to it; under an epsilon bound, where all can, to
    those more likely to than the middle of the row (by logarithm). Equal labels are numbered.
    """
    names, labels = choice.categories, []
    used: dict[str, int] = {}
    bounded = choice.problem.epsilon is not None
    for row, posterior in zip(matrix, posteriors, strict=True):
        inside = row > (np.sqrt(row.min() * row.max()) if bounded else 0)
        strong = inside & ((posterior >= 0.999 * posterior.max()) | bounded)
        label = _label(*([names[i] for i in np.flatnonzero(s)] for s in (strong, inside & ~strong)))
        used[label] = used.get(label, 0) + 1
        labels.append(label if used[label] == 1 else f"{label} #{used[label]}")
    return labels


def _label(strong: list[str], weak: list[str]) -> str:
    """'a or b (or c)'; where that is too long for a name, the first one and how many more."""
    label = " or ".join(strong) + (f" (or {' or '.join(weak)})" if weak else "")
    if len(label) <= _LONGEST:
        return label
    others = len(strong) + len(weak) - 1
    return f"{strong[0][: _LONGEST - 20]}" + (f" or {others} more" if others else "")
