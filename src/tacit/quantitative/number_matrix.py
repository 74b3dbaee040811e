"""as_matrix: card scrambling of a few whole numbers as a channel of categories.

Column x of the matrix has the probabilities of all reports of the true number x. With it a design,
a survey and the respondent's page can ask for the number, and everything that takes a design can
estimate from the reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core.channel.matrix import Matrix, matrix
from tacit.core.channel.numbers import fraction
from tacit.errors import DataError, DesignError
from tacit.quantitative.card_scrambling import CardScrambling, TruthOrScrambled
from tacit.quantitative.number_scramble import check_scrambling
from tacit.quantitative.scrambling import Scrambling

#: More reports are not practical for people.
_MOST_REPORTS = 200


def as_matrix(scrambling: Scrambling, numbers: Iterable[Any]) -> Matrix:
    """The coin of a group with one attribute, whose categories are these numbers in order.

    Reports are numbers as text, from the smallest to the largest.

    >>> from tacit.quantitative import additive
    >>> as_matrix(additive([0, 1]), [0, 1]).to_dict()["matrix"]
    [['1/2', '0'], ['1/2', '1/2'], ['0', '1/2']]
    """
    check_scrambling(scrambling)
    if not isinstance(scrambling, CardScrambling):
        raise DesignError(
            f"{scrambling.family} is not for cards and has no matrix; bin the numbers and use "
            "uniform_perturbation or frapp"
        )
    true = [fraction(number, "numbers: a number") for number in numbers]
    if len(set(true)) < max(2, len(true)):
        raise DataError("numbers must be at least two different numbers")
    scrambling.check_true(np.array([float(x) for x in true]))
    laws = [_law(scrambling, x) for x in true]
    reports = sorted(set().union(*laws))
    if len(reports) > _MOST_REPORTS:
        raise DataError(
            f"{len(reports):,} different reports are possible, more than {_MOST_REPORTS}; take "
            "fewer numbers or cards"
        )
    rows = [[law.get(report, Fraction(0)) for law in laws] for report in reports]
    return matrix(rows, [str(report) for report in reports])


def _law(scrambling: CardScrambling, x: Fraction) -> dict[Fraction, Fraction]:
    """The exact probability of each report of a true number."""
    combine: Any = scrambling.scrambled  # arithmetic that also works on fractions
    truth = scrambling.p if isinstance(scrambling, TruthOrScrambled) else Fraction(0)
    found = {x: truth} if truth else {}
    for card, share in zip(scrambling.noise.values, scrambling.noise.shares, strict=True):
        report = combine(x, card)
        found[report] = found.get(report, Fraction(0)) + (1 - truth) * share
    return {report: share for report, share in found.items() if share}
