"""The families of scrambling by name: draw, read from a file, make a matrix of categories."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.families import Matrix, matrix
from tacit.core.channel.numbers import fraction
from tacit.core.exact_draws import source_of
from tacit.errors import DataError, DesignError, FileError, unknown
from tacit.output.json_documents import read_document
from tacit.quantitative import scrambling as cards
from tacit.quantitative.scrambling import FORMAT, Scrambling, numbers_of
from tacit.quantitative.square_waves import square_wave_of

#: Family -> the function that makes it from the parameters in a file.
FAMILIES: dict[str, Callable[..., Scrambling]] = {
    "additive": cards.additive,
    "multiplicative": cards.multiplicative,
    "bar_lev": cards.bar_lev,
    "eriksson": cards.eriksson,
    "square_wave": square_wave_of,
}


def scramble(true: Any, scrambling: Scrambling, rng: np.random.Generator | None = None) -> Array:
    """A reported number for each true one.

    `rng` None draws from the operating system's entropy: use it for answers of real people. All
    probabilities are exact. Sums and products are floating point: true numbers with more digits
    than the noise can show in the last digits which number was drawn, so round them first.
    """
    check_scrambling(scrambling)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise DataError(f"rng must be a numpy.random.Generator or None, got {rng!r}")
    numbers = numbers_of(true, "true numbers")
    scrambling.check_true(numbers)
    return scrambling.draw(numbers, source_of(rng))


def scrambling_from_json(text: str) -> Scrambling:
    """The scrambling that `to_json` describes."""
    content = read_document(text, FORMAT)
    family, given = content["family"], content["parameters"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise FileError(unknown("family", family, FAMILIES, " in the scrambling file"))
    make = FAMILIES[family]
    allowed = list(inspect.signature(make).parameters)
    if not isinstance(given, Mapping) or set(given) != set(allowed):
        raise FileError(f"the parameters of {family} must be {', '.join(allowed)}")
    return make(**given)


def check_scrambling(scrambling: object) -> None:
    """Raise DesignError if something else was given."""
    if not isinstance(scrambling, Scrambling):
        raise DesignError(
            f"scrambling must be one of {', '.join(FAMILIES)}, got {type(scrambling).__name__}"
        )


#: More reports are not practical for people.
_MOST_REPORTS = 200


def as_matrix(scrambling: Scrambling, numbers: Iterable[Any]) -> Matrix:
    """The coin of a group with one attribute, whose categories are these numbers in order.

    Reports are numbers as text, from the smallest to the largest. Column x of the matrix has the
    probabilities of all reports of the true number x. With it a design, a survey and the
    respondent's page can ask for the number, and everything that takes a design can estimate from
    the reports.

    >>> from tacit.quantitative import additive
    >>> as_matrix(additive([0, 1]), [0, 1]).to_dict()["matrix"]
    [['1/2', '0'], ['1/2', '1/2'], ['0', '1/2']]
    """
    check_scrambling(scrambling)
    if not isinstance(scrambling, cards.CardScrambling):
        raise DesignError(
            f"{scrambling.family} is not for cards and has no matrix; bin the numbers and use "
            "uniform_perturbation or frapp"
        )
    true = [fraction(number, "numbers: a number") for number in numbers]
    if len(set(true)) < max(2, len(true)):
        raise DataError("numbers must be at least two different numbers")
    scrambling.check_true(np.array([float(x) for x in true]))
    laws = [scrambling.law(x) for x in true]
    reports = sorted(set().union(*laws))
    if len(reports) > _MOST_REPORTS:
        raise DataError(
            f"{len(reports):,} different reports are possible, more than {_MOST_REPORTS}; take "
            "fewer numbers or cards"
        )
    rows = [[law.get(report, Fraction(0)) for law in laws] for report in reports]
    return matrix(rows, [str(report) for report in reports])
