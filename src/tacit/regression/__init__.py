"""Regression with disguised outcomes and predictors: `logit`, `linear`, `correlation`."""

from tacit.regression.linear import LinearResult, correlation, linear
from tacit.regression.logit import LogitResult, MarginalEffects, logit

__all__ = [
    "LinearResult",
    "LogitResult",
    "MarginalEffects",
    "correlation",
    "linear",
    "logit",
]
