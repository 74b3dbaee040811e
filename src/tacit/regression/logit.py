"""logit: regression of a categorical outcome, disguised or not, on covariates and answers.

Maximum likelihood through the channel: P(report | x) = sum_y M[report, y] p_y(x; b).
Two categories give a logit, more a multinomial logit, or proportional odds if they are ordered.
Disguised predictors are summed out, see `ReportLikelihood`.

Degenerate cases: a channel that cannot be reconstructed, collinear covariates and an outcome
without variation are errors. Where the likelihood has no maximum at finite coefficients
(separation), or where the search does not converge, the result has a warning.

References: Maddala (1983), Limited-dependent and qualitative variables, section 2.8 (disguised
binary outcome); van den Hout and van der Heijden (2002), International Statistical Review 70 (any
channel).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.likelihood import most_likely
from tacit.reconstruction.sampling import function_of
from tacit.regression.coefficients import CoefficientTable, check_alpha
from tacit.regression.likelihood import LogitModel, Multinomial, ProportionalOdds, ReportLikelihood
from tacit.regression.maximum import Maximum, check_collinear, maximum, profile_end, unbounded_terms
from tacit.regression.problem import Regression, RegressionProblem
from tacit.regression.terms import CategoryColumn, NumberColumn, as_categories

#: How standard errors are computed, unless something else is asked for.
FROM_INFORMATION = "from the observed information"
#: A nested model may have a larger likelihood by rounding only.
_ROUNDING = 1e-6
#: Categories of an outcome that is not disguised.
MAX_CATEGORIES = 100
#: Different numbers of such an outcome, unless they are ordered.
MAX_NUMBERS = 10


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEffects(CoefficientTable):
    """One effect per covariate and category; two categories have the effect on the second."""


@dataclass(frozen=True, eq=False, repr=False)
class LogitResult(CoefficientTable):
    """Coefficients of a logit, with the names that statsmodels uses.

    Those of the distribution of disguised predictors are not shown.
    """

    llf: float
    converged: bool
    errors: str
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
        self._require_likelihood("an information criterion")
        return 2 * self.n_parameters - 2 * self.llf

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        self._require_likelihood("an information criterion")
        return self.n_parameters * float(np.log(self.nobs)) - 2 * self.llf

    def _require_likelihood(self, what: str) -> None:
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
        self._require_likelihood("a profile interval")
        check_alpha(alpha)
        errors = np.sqrt(np.diag(self.full_covariance))
        steps = np.where(np.isfinite(errors), errors, 1.0).tolist()
        ends = [
            profile_end(self.likelihood, self.theta, index, sign * steps[index], alpha)
            for index in range(len(self.names))
            for sign in (-1, 1)
        ]
        return np.reshape(ends, (-1, 2))

    def predict(self, true: Any = None) -> Array:
        """Probabilities of the true outcome given the true covariates.

        One column per category; for two categories, the probability of the second alone. Without
        `true`, those of the fitted records, if no predictor is disguised.
        """
        model, matrix = self.likelihood.model, self.problem.prediction_matrix(true)
        chances = model.probabilities(model.predictors(matrix, self.values))
        return chances[:, 1] if chances.shape[1] == 2 else chances

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects: how much a covariate moves the probabilities of the outcome.

        For a number the mean derivative; for a category the mean difference from the first one, if
        everybody had the one or the other. Probabilities are averaged over the records, and over
        the fitted distribution of the disguised predictors. Standard errors by the delta method;
        the records count as given.
        """
        problem, categories = self.problem, self.likelihood.model.categories
        shown = range(1, 2) if len(categories) == 2 else range(len(categories))
        names, values, slopes = [], [], []
        for change in problem.terms.changes():
            before, after = map(self._mean_probabilities, (change.before, change.after))
            for y in shown:
                label = "" if len(categories) == 2 else f"{categories[y]}: "
                names.append(label + change.name)
                values.append((after[0][y] - before[0][y]) / change.distance)
                slopes.append((after[1][y] - before[1][y]) / change.distance)
        rows = np.array(slopes)
        of = f"{problem.name} = {categories[1]}" if len(categories) == 2 else problem.name
        title = f"Average marginal effects on P({of}), {number_of(problem.n_records, 'record')}"
        covariance = rows @ self.full_covariance @ rows.T
        effects = title, tuple(names), np.array(values), covariance
        return MarginalEffects(*effects, problem, self.warnings)

    @cached_property
    def _cell_shares(self) -> tuple[Array, Array]:
        """z and pi_c(z) of each row of the model matrix."""
        z = self.problem.cell_matrix
        return z, replace(self.likelihood, cell_matrix=z).cell_shares(self.theta)

    def _mean_probabilities(self, matrices: tuple[Array, ...]) -> tuple[Array, Array]:
        """Mean probability of each category, and its derivatives by all parameters."""
        model, n_effects = self.likelihood.model, self.likelihood.n_effects
        effects, n_cells = self.theta[:n_effects], len(matrices)
        rows = self.problem.row_counts / self.problem.row_counts.sum()
        z, shares = self._cell_shares
        means = np.zeros(len(model.categories))
        slopes = np.zeros((len(model.categories), self.theta.size))
        for cell, matrix in enumerate(matrices):
            share = shares[:, cell, None] * rows[:, None]
            predictors = model.predictors(matrix, effects)
            p, dp = model.probabilities(predictors), model.probability_slopes(predictors)
            means += (share * p).sum(axis=0)
            unit = np.eye(n_cells)[cell] - shares
            for y in range(len(model.categories)):
                slopes[y, :n_effects] += model.gradient(matrix, share * dp[:, y])
                moved = share * p[:, y, None] * unit[:, 1:]
                slopes[y, n_effects:] += (moved.T @ z).ravel()
        return means, slopes

    def compare_lr_test(self, nested: LogitResult) -> HypothesisTest:
        """Likelihood-ratio test of a nested model: this one with fewer terms.

        The nested model is fitted again to the reports that this one uses, if predictors are
        disguised.
        """
        self._require_likelihood("a likelihood-ratio test")
        models = [(r.problem.name, r.nobs, r.likelihood.model) for r in (self, nested)]
        outcomes = [(name, n, type(m), m.categories) for name, n, m in models]
        if outcomes[0] != outcomes[1]:
            raise DataError(
                "a likelihood-ratio test needs two models of the same outcome and the same records"
            )
        both = self.problem.terms, nested.problem.terms
        first, second = (t.matrices[0][:, -1] if t.has_offset else np.zeros(0) for t in both)
        if not np.array_equal(first, second):
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
        """The log-likelihood of a nested model for the reports of this one.

        If this model has disguised predictors, the nested one gets their reports and their
        distribution too, without their effects.
        """
        full, part = self.problem, nested.problem
        if full.n_cells == 1 and part.n_cells == 1:
            return nested.llf
        names, part_names = ([a.name for a in p.terms.disguised] for p in (full, part))
        for name in part_names:
            if name not in names:
                raise DataError(
                    "the other model is not nested in this one: only it has the disguised "
                    f"predictor {name!r}"
                )
        indexes = np.indices([a.size for a in full.terms.disguised]).reshape(len(names), -1)
        cells = np.zeros(full.n_cells, np.intp)  # of the nested model
        if part_names:
            axes = tuple(indexes[names.index(name)] for name in part_names)
            cells = np.ravel_multi_index(axes, [a.size for a in part.terms.disguised])
        matrices = [part.terms.matrices[cell] for cell in cells]
        model, channel = self.likelihood.model, self.likelihood.channel
        likelihood, _ = ReportLikelihood.of_rows(
            model, channel, matrices, full.cell_matrix, self.reports, full.row_counts
        )
        fit = maximum(likelihood, np.concatenate([nested.values, self.theta[len(self.names) :]]))
        if not fit.converged:
            raise DataError("the nested model did not converge for the reports of this one")
        return fit.value

    def is_constant(self, name: str) -> bool:
        cuts = len(self.likelihood.model.categories) - 1
        is_cut = self.likelihood.model.is_ordered and name in self.names[:cuts]
        return super().is_constant(name) or is_cut

    def notes(self) -> list[str]:
        fit = f"log-likelihood {self.llf:.4f}"
        if self.problem.sample is None:
            fit += f", AIC {self.aic:.2f}, BIC {self.bic:.2f}"
        return [f"{fit}; standard errors {self.errors}", *super().notes(), *self.problem.disguises]

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        return super().to_dict(alpha) | {
            "log_likelihood": self.llf,
            "aic": self.aic if self.problem.sample is None else None,
            "bic": self.bic if self.problem.sample is None else None,
            "converged": self.converged,
            "robust": self.robust,
        }


@dataclass(frozen=True, eq=False)
class LogitRegression(Regression):
    """The arguments of `logit`."""

    ordered: bool = False
    robust: bool = False

    def logit(self) -> LogitResult:
        """Regress a categorical outcome on covariates and on answers, disguised or not.

        `formula` is a text such as "smokes ~ age + C(region)"; it needs the extra `formula`. Its
        names are attributes of the design or other columns of `reported`: a data frame, the path of
        a CSV or Parquet file, or what `reconstruct` takes, of which only the distinct rows are
        fetched. To do without formulas, give the name of the outcome alone and `covariates`:
        `Factors`, or an array of records x covariates, or a mapping of names to columns; to these
        no constant is added.

        `ordered` fits proportional odds. `robust` gives sandwich standard errors. `weights`,
        `strata`, `clusters` and `errors` say how people were sampled, as in `reconstruct`; `fpc` is
        refused.

        >>> import numpy as np
        >>> from tacit import Attribute, Design, Group, Schema, forced
        >>> schema = Schema([Attribute("cheats", ["no", "yes"])])
        >>> design = Design(schema, [Group(["cheats"], forced("2/3", ["1/2", "1/2"]))])
        >>> reported = np.repeat([[0], [1], [0], [1]], [815, 497, 789, 334], axis=0)
        >>> women = np.repeat([0, 0, 1, 1], [815, 497, 789, 334])
        >>> covariates = {"constant": np.ones(len(women)), "women": women}
        >>> fit = logit("cheats", reported, design, covariates)
        >>> print(f"{fit.params['women']:.6f} ({fit.bse['women']:.6f})")
        -0.648702 (0.159425)
        """
        problem = self.problem(intercept=not self.ordered)
        model, channel, reports = _outcome_model(problem, self.ordered)
        matrices = problem.terms.matrices
        _check_terms(problem, matrices, self.ordered)
        likelihood, which = ReportLikelihood.of_rows(
            model, channel, matrices, problem.cell_matrix, reports, problem.row_counts
        )
        fit = maximum(likelihood, _start(likelihood))
        inverse = fit.inverse
        covariance, method = inverse, FROM_INFORMATION
        if problem.sample is not None:

            def refitted(row_weights: Array) -> Array:
                """The estimates with other weights of the records."""
                counts = np.bincount(which, row_weights).astype(np.float64)
                return maximum(replace(likelihood, counts=counts), fit.theta).theta

            scores = likelihood.scores(fit.theta)[which]
            covariance = problem.sample.covariance(fit.theta, refitted, scores, inverse)
            method = problem.error_method
        elif self.robust:
            scores = likelihood.scores(fit.theta)
            products = (scores * likelihood.counts[:, None]).T @ scores
            covariance, method = inverse @ products @ inverse, problem.error_method
        warnings = _warnings(likelihood, fit, problem)
        if np.isnan(covariance).any():
            warnings.append(
                "the information is singular at the estimate: standard errors are unknown"
            )
        names = tuple(model.parameter_names(problem.terms.names))
        return LogitResult(
            title=_title(problem, model),
            names=names,
            values=fit.theta[: len(names)],
            covariance=covariance[: len(names), : len(names)],
            problem=problem,
            warnings=tuple(warnings),
            llf=fit.value,
            converged=fit.converged,
            errors=method,
            likelihood=likelihood,
            reports=reports,
            theta=fit.theta,
            full_covariance=covariance,
        )


logit = function_of(LogitRegression, LogitRegression.logit)


def _outcome_model(problem: RegressionProblem, ordered: bool) -> tuple[LogitModel, Array, Index]:
    """The response model, M[report, outcome, cell], and the joint report of each record."""
    kind = ProportionalOdds if ordered else Multinomial
    outcome, matrix, reports = problem.outcome, problem.used.matrix, problem.used.reports
    if isinstance(outcome, Attribute):
        if len(matrix) > 1 and np.ptp(reports) == 0:
            raise DataError(
                f"all {number_of(problem.n_records, 'report')} of the outcome {problem.name!r} are "
                "the same; a regression needs two or more categories"
            )
        model = kind(outcome.categories, problem.terms.has_offset)
        return model, matrix.reshape(len(matrix), -1, problem.n_cells), reports
    if ordered and isinstance(outcome, CategoryColumn) and not outcome.ordered:
        raise DataError(
            f"the order of the categories of {problem.name!r} is unknown; make it an attribute of "
            "the design, an ordered categorical column or numbers"
        )
    column = as_categories(outcome)
    k = len(column.categories)
    if k > MAX_CATEGORIES:
        raise DataError(
            f"the outcome {problem.name!r} has {k:,} different values, more than the "
            f"{MAX_CATEGORIES} categories allowed; use linear for numbers"
        )
    if isinstance(outcome, NumberColumn) and not ordered and k > MAX_NUMBERS:
        raise DataError(
            f"the outcome {problem.name!r} is a number with {k} different values, which logit "
            "would treat as categories without order; use linear, or ordered=True, or group it"
        )
    if k < 2:
        raise DataError(
            f"the outcome {problem.name!r} has one category, {column.categories[0]!r}, in all "
            "records; a regression needs two or more"
        )
    channel = np.asarray(np.kron(np.eye(k), matrix), np.float64)
    shape = (k * len(matrix), k, problem.n_cells)
    codes = column.codes.astype(np.intp) * len(matrix) + reports
    return kind(column.categories, problem.terms.has_offset), channel.reshape(shape), codes


def _check_terms(problem: RegressionProblem, matrices: tuple[Array, ...], ordered: bool) -> None:
    """Raise for collinear covariates; cut points are like a constant."""
    names = problem.terms.names
    matrices = tuple(matrix[:, : len(names)] for matrix in matrices)
    if not ordered:
        check_collinear(matrices, names)
        return
    for name, column in zip(names, matrices[0].T, strict=True):
        if problem.n_cells == 1 and np.ptp(column) == 0:
            raise DataError(
                f"covariate {name!r} is constant; an ordered model has cut points instead: "
                "leave it out"
            )
    constant = np.ones((problem.n_rows, 1))
    widened = [np.concatenate([constant, matrix], axis=1) for matrix in matrices]
    check_collinear(widened, ["the cut points", *names])


def _start(likelihood: ReportLikelihood) -> Array:
    """No effects, and the likeliest joint table of the outcome and the disguised predictors."""
    reported = np.bincount(likelihood.reports, likelihood.counts, len(likelihood.channel))
    n_reports, k, cells = likelihood.channel.shape
    matrix = likelihood.channel.reshape(n_reports, -1)
    joint = most_likely(matrix, reported / reported.sum()).reshape(k, cells)
    effects = likelihood.model.start(likelihood.matrices[0], joint.sum(axis=1))
    shares = likelihood.cells.start(likelihood.cell_matrix, joint.sum(axis=0))
    return np.concatenate([effects, shares])


def _title(problem: RegressionProblem, model: LogitModel) -> str:
    kind = "Ordered logit" if model.is_ordered else "Logit"
    base = model.categories[0]
    what = f"{problem.name} ({model.categories[1]} against {base})"
    if len(model.categories) > 2:
        what = f"{problem.name} ({' < '.join(map(str, model.categories))})"
        if kind == "Logit":
            kind, what = "Multinomial logit", f"{problem.name} (against {base})"
    records = number_of(problem.n_records, "record")
    method = "maximum likelihood" if problem.sample is None else "weighted pseudo-likelihood"
    return f"{kind} of {what} from {records}, by {method}"


def _warnings(likelihood: ReportLikelihood, fit: Maximum, problem: RegressionProblem) -> list[str]:
    warnings = []
    if not fit.converged:
        warnings.append(
            f"not converged after {number_of(fit.iterations, 'iteration')}: do not rely on the "
            "estimates"
        )
    n_categories = len(likelihood.model.categories)
    unordered = n_categories > 2 and not likelihood.model.is_ordered
    if isinstance(problem.outcome, NumberColumn) and unordered:
        warnings.append(
            f"the outcome {problem.name!r} is a number with {n_categories} values, treated as "
            "categories without order; ordered=True keeps their order, linear their distances"
        )
    names = likelihood.model.parameter_names(problem.terms.names)
    unbounded = unbounded_terms(likelihood, fit, names)
    if unbounded:
        warnings.append(
            f"separation: the likelihood has no maximum at finite values of "
            f"{', '.join(unbounded)}; these estimates and their errors are not valid; "
            "profile_conf_int() gives limits"
        )
    return warnings
