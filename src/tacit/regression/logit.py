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

from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.design import Design
from tacit.core.schema import Attribute, Label
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.reconstruction.likelihood import most_likely
from tacit.reconstruction.sampling.sample_columns import Sampling, SamplingArguments
from tacit.regression.covariates import CategoryColumn, NumberColumn
from tacit.regression.identification import check_collinear, unbounded_terms
from tacit.regression.logit_result import FROM_INFORMATION, LogitResult
from tacit.regression.newton import Maximum, maximum, solved
from tacit.regression.regression_problem import (
    RegressionProblem,
    exact_categories,
    regression_problem,
)
from tacit.regression.regression_sample import SANDWICH
from tacit.regression.report_likelihood import ReportLikelihood, cell_matrix
from tacit.regression.response_models import (
    Multinomial,
    ProportionalOdds,
    ResponseModel,
    WithOffset,
)
from tacit.regression.row_patterns import row_patterns


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
