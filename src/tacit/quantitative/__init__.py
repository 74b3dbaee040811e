"""Numbers that are scrambled instead of binned: how, what it discloses, and what can be estimated.

`additive`, `multiplicative`, `bar_lev`, `eriksson` and `square_wave` describe how a number is
scrambled; `scramble` draws reported numbers; `mean`, `variance` and `distribution` estimate from
them. `as_matrix` makes cards and a few whole numbers a family for surveys. What scrambles does not
import what estimates.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.quantitative.additive_scrambling import additive
    from tacit.quantitative.bar_lev_scrambling import bar_lev
    from tacit.quantitative.eriksson_scrambling import eriksson
    from tacit.quantitative.moment_estimates import mean, variance
    from tacit.quantitative.multiplicative_scrambling import multiplicative
    from tacit.quantitative.number_distribution import distribution
    from tacit.quantitative.number_matrix import as_matrix
    from tacit.quantitative.number_scramble import scramble, scrambling_from_json
    from tacit.quantitative.scrambling import Scrambling
    from tacit.quantitative.square_wave_scrambling import square_wave

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
        "tacit.quantitative.additive_scrambling": "additive",
        "tacit.quantitative.bar_lev_scrambling": "bar_lev",
        "tacit.quantitative.eriksson_scrambling": "eriksson",
        "tacit.quantitative.moment_estimates": "mean variance",
        "tacit.quantitative.multiplicative_scrambling": "multiplicative",
        "tacit.quantitative.number_distribution": "distribution",
        "tacit.quantitative.number_matrix": "as_matrix",
        "tacit.quantitative.number_scramble": "scramble scrambling_from_json",
        "tacit.quantitative.scrambling": "Scrambling",
        "tacit.quantitative.square_wave_scrambling": "square_wave",
    },
)
