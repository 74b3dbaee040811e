"""Numbers that are scrambled instead of binned: how, what it discloses, and what can be estimated.

`additive`, `multiplicative`, `bar_lev`, `eriksson` and `square_wave` describe how a number is
scrambled; `scramble` draws reported numbers; `mean`, `variance` and `distribution` estimate from
them. `as_matrix` makes cards and a few whole numbers a family for surveys. What scrambles does not
import what estimates.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.quantitative.cards import additive, bar_lev, eriksson, multiplicative
    from tacit.quantitative.families import as_matrix, scramble, scrambling_from_json
    from tacit.quantitative.moments import mean, variance
    from tacit.quantitative.scrambling import Scrambling
    from tacit.quantitative.smooth_distribution import distribution
    from tacit.quantitative.square_waves import square_wave

__all__ = [
    "Scrambling",
    "additive",
    "as_matrix",
    "bar_lev",
    "distribution",
    "eriksson",
    "mean",
    "multiplicative",
    "scramble",
    "scrambling_from_json",
    "square_wave",
    "variance",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.quantitative.cards": "additive bar_lev eriksson multiplicative",
        "tacit.quantitative.families": "as_matrix scramble scrambling_from_json",
        "tacit.quantitative.moments": "mean variance",
        "tacit.quantitative.scrambling": "Scrambling",
        "tacit.quantitative.smooth_distribution": "distribution",
        "tacit.quantitative.square_waves": "square_wave",
    },
)
