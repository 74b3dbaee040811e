"""scramble: draw reported numbers from true ones; and read a description from its file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.exact_draws import source_of
from tacit.errors import DataError, DesignError, FileError, unknown
from tacit.output.json_documents import read_document
from tacit.quantitative.additive_scrambling import additive
from tacit.quantitative.bar_lev_scrambling import bar_lev
from tacit.quantitative.eriksson_scrambling import eriksson
from tacit.quantitative.multiplicative_scrambling import multiplicative
from tacit.quantitative.scrambling import FORMAT, Scrambling, numbers_of
from tacit.quantitative.square_wave_scrambling import square_wave_of

#: Family -> the function that makes it from the parameters in a file.
FAMILIES: dict[str, Callable[..., Scrambling]] = {
    "additive": additive,
    "multiplicative": multiplicative,
    "bar_lev": bar_lev,
    "eriksson": eriksson,
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
