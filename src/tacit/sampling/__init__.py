"""Samples of people: design weights, strata and clusters; how errors follow from them.

Methods for `reconstruct(..., errors=)`: `linearised` (the default), `jackknife`, `bootstrap`.
Weights for `reconstruct(..., weights=)`: `poststratify` and `rake` to known totals,
`response_cells` and `response_propensity` for missing answers.
"""

from tacit.sampling.adjusted_weights import AdjustedWeights
from tacit.sampling.bootstrap import bootstrap
from tacit.sampling.calibration import poststratify, rake
from tacit.sampling.jackknife import jackknife
from tacit.sampling.linearised import linearised
from tacit.sampling.response_weights import response_cells, response_propensity
from tacit.sampling.sample_rows import ErrorMethod

#: Every method by its name on the command line.
ERROR_METHODS: dict[str, ErrorMethod] = {
    "linearised": linearised,
    "jackknife": jackknife,
    "bootstrap": bootstrap(),
}

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
