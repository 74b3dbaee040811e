"""logit: regression of a categorical outcome, disguised or not, on covariates and answers.

Maximum likelihood through the channel (METHODS 9): P(report | x) = sum_y M[report, y] p_y(x; b).
Two categories give a logit, more a multinomial logit, or proportional odds if they are ordered.
Disguised predictors are summed out, see `report_likelihood`.

Degenerate cases: a channel that cannot be reconstructed, collinear covariates and an outcome
without variation are errors. Where the likelihood has no maximum at finite coefficients
(separation), or where the search does not converge, the result has a warning.

References: Maddala (1983), Limited-dependent and qualitative variables, section 2.8 (disguised
binary outcome); van den Hout and van der Heijden (2002), International Statistical Review 70 (any
channel).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.design import Design
from tacit.core.schema import Attribute, Label
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.likelihood import most_likely
from tacit.reconstruction.sampling.sample_columns import Sampling, SamplingArguments
from tacit.regression.coefficients import CoefficientTable
from tacit.regression.data import CategoryColumn, NumberColumn
from tacit.regression.likelihood import (
    Multinomial,
    ProportionalOdds,
    ReportLikelihood,
    ResponseModel,
    WithOffset,
    cell_matrix,
    row_patterns,
)
from tacit.regression.maximum import (
    Maximum,
    check_collinear,
    maximum,
    profile_end,
    solved,
    unbounded_terms,
)
from tacit.regression.problem import (
    SANDWICH,
    RegressionProblem,
    check_fitted,
    disguise_lines,
    exact_categories,
    regression_problem,
)
from tacit.regression.terms import same_offset

# Average marginal effects: how much a covariate moves the probabilities of the true outcome.
#
# Probabilities are averaged over the records, and over the fitted distribution of the disguised
# predictors. Standard errors by the delta method; the records count as given.


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEffects(CoefficientTable):
    """One effect per covariate and category; two categories have the effect on the second."""


def marginal_effects(
    problem: RegressionProblem,
    likelihood: ReportLikelihood,
    theta: Array,
    covariance: Array,
    warnings: tuple[str, ...],
) -> MarginalEffects:
    """The effects of every covariate."""
    categories = likelihood.model.categories
    shown = range(1, 2) if len(categories) == 2 else range(len(categories))
    weights = _cell_weights(problem, likelihood, theta)
    names, values, slopes = [], [], []
    for change in problem.terms.changes():
        before = _mean_probabilities(likelihood, theta, change.before, weights)
        after = _mean_probabilities(likelihood, theta, change.after, weights)
        for y in shown:
            label = "" if len(categories) == 2 else f"{categories[y]}: "
            names.append(label + change.name)
            values.append((after[0][y] - before[0][y]) / change.distance)
            slopes.append((after[1][y] - before[1][y]) / change.distance)
    rows = np.array(slopes)
    of = f"{problem.name} = {categories[1]}" if len(categories) == 2 else problem.name
    return MarginalEffects(
        title=f"Average marginal effects on P({of}), {number_of(problem.n_records, 'record')}",
        names=tuple(names),
        values=np.array(values),
        covariance=rows @ covariance @ rows.T,
        nobs=problem.n_records,
        n_left_out=problem.n_left_out,
        warnings=warnings,
        df=np.inf if problem.sample is None else problem.sample.df,
    )


class CellWeights(NamedTuple):
    """pi_c(z) of the rows, the matrix z, and the share of the records that each row stands for."""

    shares: Array
    matrix: Array
    rows: Array


def _cell_weights(
    problem: RegressionProblem, likelihood: ReportLikelihood, theta: Array
) -> CellWeights:
    matrix = cell_matrix(problem.terms.matrices())
    rows = problem.row_counts / problem.row_counts.sum()
    cells = Multinomial(tuple(range(problem.n_cells)))
    if problem.n_cells == 1:
        return CellWeights(np.ones((len(matrix), 1)), matrix, rows)
    others = theta[likelihood.n_effects :]
    return CellWeights(cells.probabilities(cells.predictors(matrix, others)), matrix, rows)


def _mean_probabilities(
    likelihood: ReportLikelihood, theta: Array, matrices: tuple[Array, ...], weights: CellWeights
) -> tuple[Array, Array]:
    """Mean probability of each category, and its derivatives by all parameters."""
    model = likelihood.model
    effects = theta[: likelihood.n_effects]
    value = np.zeros(len(model.categories))
    slopes = np.zeros((len(model.categories), theta.size))
    n_cells = len(matrices)
    for cell, matrix in enumerate(matrices):
        share = weights.shares[:, cell, None] * weights.rows[:, None]
        predictors = model.predictors(matrix, effects)
        p, dp = model.probabilities(predictors), model.probability_slopes(predictors)
        value += (share * p).sum(axis=0)
        unit = np.eye(n_cells)[cell] - weights.shares
        for y in range(len(model.categories)):
            slopes[y, : effects.size] += model.gradient(matrix, share * dp[:, y])
            if n_cells > 1:
                moved = share * p[:, y, None] * unit[:, 1:]
                slopes[y, effects.size :] += (moved.T @ weights.matrix).ravel()
    return value, slopes


# A nested model, fitted to the reports that the full model uses.
#
# A likelihood-ratio test compares likelihoods of the same reports. If the full model has
# disguised
# predictors, the nested one gets their reports and their distribution too, without their effects.


def nested_maximum(
    full: RegressionProblem,
    nested: RegressionProblem,
    likelihood: ReportLikelihood,
    reports: Index,
    start: Array,
) -> Maximum:
    """The maximum of the nested model, with everything but its terms from the full model.

    `likelihood` and `reports` are those of the full model; `start` has the nested effects first.
    """
    own = nested.terms.matrices()
    matrices = tuple(own[place] for place in _places(full, nested))
    others = cell_matrix(full.terms.matrices())
    first, which = row_patterns((*matrices, others), reports)
    counts = np.bincount(which, full.row_counts).astype(np.float64)
    found = ReportLikelihood(
        likelihood.model,
        likelihood.channel,
        tuple(matrix[first] for matrix in matrices),
        reports[first],
        counts,
        others[first],
    )
    return maximum(found, start)


def _places(full: RegressionProblem, nested: RegressionProblem) -> list[int]:
    """The cell of the nested model in which each cell of the full model lies."""
    names = [a.name for a in full.disguised]
    kept = [a.name for a in nested.disguised]
    if not set(kept) <= set(names):
        raise DataError(
            "the other model is not nested in this one: only it has the disguised predictor "
            + repr(next(name for name in kept if name not in names))
        )
    sizes = tuple(a.size for a in nested.disguised)
    cells = itertools.product(*(range(a.size) for a in full.disguised))
    return [
        int(np.ravel_multi_index([cell[names.index(name)] for name in kept], sizes)) if kept else 0
        for cell in cells
    ]


# LogitResult: a fitted logit, with the names that statsmodels uses.


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


def logit(
    formula: str,
    data: Any,
    design: Design,
    covariates: Any = None,
    ordered: bool = False,
    robust: bool = False,
    **sampling: Unpack[SamplingArguments],
) -> LogitResult:
    """Regress a categorical outcome on covariates and on answers, disguised or not.

    `formula` is a text such as "smokes ~ age + C(region)"; it needs the extra `formula`. Its names
    are attributes of the design or other columns of `data`: a data frame, the path of a CSV or
    Parquet file, or what `reconstruct` takes, of which only the distinct rows are fetched. To do
    without formulas, give the name of the outcome alone and `covariates`: an array of records x
    covariates, or a mapping of names to columns; no constant is added.

    `ordered` fits proportional odds. `robust` gives sandwich standard errors. `weights`, `strata`
    and `clusters` say how people were sampled, as in `reconstruct`.

    >>> import numpy as np
    >>> from tacit import Attribute, Design, Group, Schema, forced
    >>> schema = Schema([Attribute("cheats", ["no", "yes"])])
    >>> design = Design(schema, [Group(["cheats"], forced("2/3", ["1/2", "1/2"]))])
    >>> reported = np.repeat([[0], [1], [0], [1]], [815, 497, 789, 334], axis=0)
    >>> women = np.repeat([0, 0, 1, 1], [815, 497, 789, 334])
    >>> constant = np.ones(len(women))
    >>> fit = logit("cheats", reported, design, covariates={"constant": constant, "women": women})
    >>> print(f"{fit.params['women']:.6f} ({fit.bse['women']:.6f})")
    -0.648702 (0.159425)
    """
    how = Sampling(**sampling)
    problem = regression_problem(formula, data, design, covariates, how, not ordered)
    model, channel, reports = _outcome_model(problem, ordered)
    matrices = problem.terms.matrices()
    _check_terms(problem, matrices, ordered)
    others = cell_matrix(matrices)
    first, which = row_patterns(matrices, reports)
    counts = np.bincount(which, problem.row_counts).astype(np.float64)
    if len(first) < len(reports):
        matrices, others = tuple(matrix[first] for matrix in matrices), others[first]
    likelihood = ReportLikelihood(model, channel, matrices, reports[first], counts, others)
    found = maximum(likelihood, _start(likelihood))
    information = solved(found.information, np.eye(found.theta.size))
    inverse = np.full_like(found.information, np.nan) if information is None else information
    covariance, errors = inverse, FROM_INFORMATION
    if problem.sample is not None:
        scores = likelihood.scores(found.theta)[which]
        refitted = partial(_refitted, likelihood, which, found.theta)
        covariance = problem.sample.covariance(found.theta, refitted, scores, inverse)
        errors = problem.sample.error_method
    elif robust:
        covariance, errors = inverse @ likelihood.outer_products(found.theta) @ inverse, SANDWICH
    result = _result(problem, likelihood, found, covariance)
    return replace(result, reports=reports, errors=errors)


def _refitted(likelihood: ReportLikelihood, which: Index, start: Array, weights: Array) -> Array:
    """The estimates with other weights of the records."""
    counts = np.bincount(which, weights).astype(np.float64)
    return maximum(replace(likelihood, counts=counts), start).theta


def _outcome_model(problem: RegressionProblem, ordered: bool) -> tuple[ResponseModel, Array, Any]:
    """The response model, M[report, outcome, cell], and the joint report of each record."""
    cells = problem.n_cells
    if isinstance(problem.outcome, Attribute):
        model = _model(problem, problem.outcome.categories, ordered)
        _check_varied(problem)
        return (
            model,
            problem.used.matrix.reshape(len(problem.used.matrix), -1, cells),
            problem.used.reports,
        )
    if ordered and isinstance(problem.outcome, CategoryColumn) and not problem.outcome.ordered:
        raise DataError(
            f"the order of the categories of {problem.name!r} is unknown; make it an attribute of "
            "the design, an ordered categorical column or numbers"
        )
    categories, codes = exact_categories(problem.name, problem.outcome, ordered)
    k, n_reports = len(categories), len(problem.used.matrix)
    channel = np.asarray(np.kron(np.eye(k), problem.used.matrix), np.float64)
    shape = (k * n_reports, k, cells)
    model = _model(problem, categories, ordered)
    return model, channel.reshape(shape), codes * n_reports + problem.used.reports


def _model(
    problem: RegressionProblem, categories: tuple[Label, ...], ordered: bool
) -> ResponseModel:
    kind = ProportionalOdds if ordered else Multinomial
    model: ResponseModel = kind(categories)
    return WithOffset(categories, model) if problem.terms.has_offset else model


def _check_varied(problem: RegressionProblem) -> None:
    if len(problem.used.matrix) > 1 and np.ptp(problem.used.reports) == 0:
        raise DataError(
            f"all {number_of(problem.n_records, 'report')} of the outcome {problem.name!r} are the "
            "same; a regression needs two or more categories"
        )


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
    one = np.ones((problem.n_rows, 1))
    widened = [np.concatenate([one, matrix], axis=1) for matrix in matrices]
    check_collinear(widened, ["the cut points", *names])


def _start(likelihood: ReportLikelihood) -> Array:
    """No effects, and the likeliest joint table of the outcome and the disguised predictors."""
    reported = np.bincount(likelihood.reports, likelihood.counts, len(likelihood.channel))
    n_reports, k, cells = likelihood.channel.shape
    matrix = likelihood.channel.reshape(n_reports, -1)
    joint = most_likely(matrix, reported / reported.sum()).reshape(k, cells)
    effects = likelihood.model.start(likelihood.matrices[0], joint.sum(axis=1))
    if cells == 1:
        return effects
    others = Multinomial(tuple(range(cells))).start(likelihood.cell_matrix, joint.sum(axis=0))
    return np.concatenate([effects, others])


def _result(
    problem: RegressionProblem,
    likelihood: ReportLikelihood,
    found: Maximum,
    covariance: Array,
) -> LogitResult:
    warnings = _warnings(likelihood, found, problem)
    if np.isnan(covariance).any():
        warnings.append("the information is singular at the estimate: standard errors are unknown")
    names = tuple(likelihood.model.parameter_names(problem.terms.names))
    shown = len(names)
    return LogitResult(
        title=_title(problem, likelihood.model),
        names=names,
        values=found.theta[:shown],
        covariance=covariance[:shown, :shown],
        nobs=problem.n_records,
        n_left_out=problem.n_left_out,
        warnings=tuple(warnings),
        llf=found.value,
        converged=found.converged,
        iterations=found.iterations,
        errors=FROM_INFORMATION,
        problem=problem,
        likelihood=likelihood,
        reports=likelihood.reports,
        theta=found.theta,
        full_covariance=covariance,
        df=np.inf if problem.sample is None else problem.sample.df,
    )


def _title(problem: RegressionProblem, model: ResponseModel) -> str:
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


def _warnings(
    likelihood: ReportLikelihood, found: Maximum, problem: RegressionProblem
) -> list[str]:
    warnings = []
    if not found.converged:
        warnings.append(
            f"not converged after {number_of(found.iterations, 'iteration')}: do not rely on the "
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
    unbounded = unbounded_terms(likelihood, found, names)
    if unbounded:
        warnings.append(
            f"separation: the likelihood has no maximum at finite values of "
            f"{', '.join(unbounded)}; these estimates and their errors are not valid; "
            "profile_conf_int() gives limits"
        )
    return warnings
