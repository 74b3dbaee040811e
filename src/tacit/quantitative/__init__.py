"""Numbers that are scrambled instead of binned: how, what it discloses, and what can be estimated.

`additive`, `multiplicative`, `bar_lev`, `eriksson` and `square_wave` describe how a number is
scrambled; `scramble` draws reported numbers; `mean`, `variance` and `distribution` estimate from
them. `as_matrix` makes cards and a few whole numbers a family for surveys. What scrambles does not
import what estimates.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.quantitative.families import *  # noqa: F403
    from tacit.quantitative.moments import *  # noqa: F403
    from tacit.quantitative.smooth_distribution import *  # noqa: F403

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.quantitative.families": (
            "Scrambling additive as_matrix bar_lev eriksson multiplicative scramble "
            "scrambling_from_json square_wave"
        ),
        "tacit.quantitative.moments": "mean variance",
        "tacit.quantitative.smooth_distribution": "distribution",
    },
)
