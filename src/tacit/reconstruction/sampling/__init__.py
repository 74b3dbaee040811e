"""Samples of people: design weights, strata and clusters; how errors follow from them.

Methods for `reconstruct(..., errors=)`: `linearised` (the default), `jackknife`, `bootstrap`.
Weights for `reconstruct(..., weights=)`: `poststratify` and `rake` to known totals,
`response_cells` and `response_propensity` for missing answers.
"""

from tacit.reconstruction.sampling.adjusted_weights import AdjustedWeights
from tacit.reconstruction.sampling.bootstrap import bootstrap
from tacit.reconstruction.sampling.calibration import poststratify, rake
from tacit.reconstruction.sampling.jackknife import jackknife
from tacit.reconstruction.sampling.linearised import linearised
from tacit.reconstruction.sampling.response_weights import response_cells, response_propensity
from tacit.reconstruction.sampling.sample_rows import ErrorMethod

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
