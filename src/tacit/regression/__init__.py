"""Regression with disguised outcomes and predictors: `logit`, `linear`, `correlation`."""

from tacit.regression.linear import LinearResult, correlation, linear
from tacit.regression.logit import LogitResult, MarginalEffects, logit
from tacit.regression.terms import Factors

__all__ = [
    "Factors",
    "LinearResult",
    "LogitResult",
    "MarginalEffects",
    "correlation",
    "linear",
    "logit",
]
