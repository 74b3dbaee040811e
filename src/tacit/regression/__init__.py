"""Regression with disguised outcomes and predictors: `logit`, `linear`, `correlation`."""

from tacit.regression.correlation import correlation
from tacit.regression.linear import LinearResult, linear
from tacit.regression.logit import logit
from tacit.regression.logit_result import LogitResult
from tacit.regression.marginal_effects import MarginalEffects

__all__ = [
    "LinearResult",
    "LogitResult",
    "MarginalEffects",
    "correlation",
    "linear",
    "logit",
]
