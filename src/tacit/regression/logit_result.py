"""LogitResult: a fitted logit, with the names that statsmodels uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.errors import DataError
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.regression.coefficient_table import CoefficientTable
from tacit.regression.marginal_effects import MarginalEffects, marginal_effects
from tacit.regression.model_terms import same_offset
from tacit.regression.nested_models import nested_maximum
from tacit.regression.profile_intervals import profile_end
from tacit.regression.regression_problem import RegressionProblem, check_fitted, disguise_lines
from tacit.regression.report_likelihood import ReportLikelihood

#: How standard errors are computed, unless something else is asked for.
FROM_INFORMATION = "from the observed information"
#: A nested model may have a larger likelihood by rounding only.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class LogitResult(CoefficientTable):
    """Coefficients of a logit. Those of the distribution of disguised predictors are not shown."""

    llf: float
    converged: bool
    iterations: int
    errors: str
    problem: RegressionProblem
    likelihood: ReportLikelihood
    reports: Index
    theta: Array
    full_covariance: Array

    @property
    def robust(self) -> bool:
        """Whether standard errors hold also if the model is wrong."""
        return self.errors != FROM_INFORMATION

    @property
    def n_parameters(self) -> int:
        """All parameters, with those of the distribution of disguised predictors."""
        return self.theta.size

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        self._check_simple("an information criterion")
        return 2 * self.n_parameters - 2 * self.llf

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        self._check_simple("an information criterion")
        return self.n_parameters * float(np.log(self.nobs)) - 2 * self.llf

    def _check_simple(self, what: str) -> None:
        """Raise for what a weighted pseudo-likelihood does not have."""
        if self.problem.sample is not None:
            raise DataError(
                f"{what} needs a likelihood, which a sample with weights, strata or clusters does "
                "not have; use conf_int() and wald_test()"
            )

    def profile_conf_int(self, alpha: float = 0.05) -> Array:
        """Confidence limits by the profile likelihood, one row per coefficient.

        They need several fits per coefficient and need not be symmetric; infinite where the
        likelihood sets no limit.
        """
        self._check_simple("a profile interval")
        if not 0 < alpha < 1:
            raise DataError(f"alpha must be between 0 and 1, got {alpha!r}")
        errors = np.sqrt(np.diag(self.full_covariance))
        steps = np.where(np.isfinite(errors), errors, 1.0).tolist()
        ends = [
            [
                profile_end(self.likelihood, self.theta, place, sign * steps[place], alpha)
                for sign in (-1, 1)
            ]
            for place in range(len(self.names))
        ]
        return np.array(ends)

    def predict(self, data: Any = None) -> Array:
        """Probabilities of the true outcome given the true covariates.

        One column per category; for two categories, the probability of the second alone. Without
        `data`, those of the fitted records, if no predictor is disguised.
        """
        if data is None:
            check_fitted(self.problem)
        terms = self.problem.terms
        matrix = terms.matrices()[0] if data is None else terms.new_matrix(data)
        model = self.likelihood.model
        found = model.probabilities(model.predictors(matrix, self.values))
        return found[:, 1] if found.shape[1] == 2 else found

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects on the probabilities of the outcome.

        For a number the mean derivative; for a category the mean difference from the first one, if
        everybody had the one or the other.
        """
        return marginal_effects(
            self.problem, self.likelihood, self.theta, self.full_covariance, self.warnings
        )

    def compare_lr_test(self, nested: LogitResult) -> HypothesisTest:
        """Likelihood-ratio test of a nested model: this one with fewer terms.

        The nested model is fitted again to the reports that this one uses, if predictors are
        disguised.
        """
        self._check_simple("a likelihood-ratio test")
        models = [own.likelihood.model for own in (self, nested)]
        same = (
            self.problem.name == nested.problem.name
            and self.nobs == nested.nobs
            and models[0].categories == models[1].categories
            and models[0].is_ordered == models[1].is_ordered
        )
        if not same:
            raise DataError(
                "a likelihood-ratio test needs two models of the same outcome and the same records"
            )
        if not same_offset(self.problem.terms, nested.problem.terms):
            raise DataError("a likelihood-ratio test needs two models with the same offset")
        df = len(self.names) - len(nested.names)
        statistic = 2 * (self.llf - self._likelihood_of(nested))
        if df <= 0 or statistic < -_ROUNDING * abs(self.llf):
            raise DataError(
                "the other model is not nested in this one: it must be this model with fewer terms"
            )
        hypothesis = "the nested model holds"
        return HypothesisTest.of(hypothesis, "likelihood ratio", max(statistic, 0.0), df, self.nobs)

    def _likelihood_of(self, nested: LogitResult) -> float:
        """The log-likelihood of a nested model for the reports of this one."""
        if self.problem.n_cells == 1 and nested.problem.n_cells == 1:
            return nested.llf
        start = np.concatenate([nested.values, self.theta[len(self.names) :]])
        found = nested_maximum(self.problem, nested.problem, self.likelihood, self.reports, start)
        if not found.converged:
            raise DataError("the nested model did not converge for the reports of this one")
        return found.value

    def is_constant(self, name: str) -> bool:
        cuts = len(self.likelihood.model.categories) - 1
        is_cut = self.likelihood.model.is_ordered and name in self.names[:cuts]
        return super().is_constant(name) or is_cut

    def figures(self) -> list[str]:
        fit = f"log-likelihood {self.llf:.4f}"
        if self.problem.sample is None:
            fit += f", AIC {self.aic:.2f}, BIC {self.bic:.2f}"
        lines = [f"{fit}; standard errors {self.errors}", *super().figures()]
        return [*lines, *disguise_lines(self.problem)]

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        own = {
            "log_likelihood": self.llf,
            "aic": self.aic if self.problem.sample is None else None,
            "bic": self.bic if self.problem.sample is None else None,
            "converged": self.converged,
            "robust": self.robust,
        }
        return super().to_dict(alpha) | own
