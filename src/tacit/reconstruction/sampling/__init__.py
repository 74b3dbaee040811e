"""Samples of people: design weights, strata and clusters; how errors follow from them.

Methods for `reconstruct(..., errors=)`: `linearised` (the default), `jackknife`, `bootstrap`.
Weights for `reconstruct(..., weights=)`: `poststratify` and `rake` to known totals,
`response_cells` and `response_propensity` for missing answers.
"""

from tacit.reconstruction.sampling.adjusted_weights import (
    AdjustedWeights,
    poststratify,
    rake,
    response_cells,
    response_propensity,
)
from tacit.reconstruction.sampling.error_methods import (
    ERROR_METHODS,
    bootstrap,
    jackknife,
    linearised,
)

__all__ = [
    "ERROR_METHODS",
    "AdjustedWeights",
    "bootstrap",
    "jackknife",
    "linearised",
    "poststratify",
    "rake",
    "response_cells",
    "response_propensity",
]
