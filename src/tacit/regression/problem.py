"""RegressionSample: design weights, strata and clusters of the records of a regression.

Coefficients solve the weighted equations sum w s(b) = 0 (pseudo-likelihood: Binder, 1983), and

    Cov(b) = A^-1 V(sum w s) A^-1

with A the weighted information and V the variance between sampling units; see `linearised`. The
jackknife and the bootstrap solve the equations again for each replicate. Records that are left out
stay members of their strata and clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.core.design import Design, ProductChannel, check_design
from tacit.core.schema import Attribute, Label
from tacit.errors import DataError, unknown
from tacit.reconstruction.sampling.sample_columns import SampleData, Sampling
from tacit.reconstruction.sampling.sample_rows import SampleRows
from tacit.reconstruction.tables import TableProblem
from tacit.regression.data import (
    CategoryColumn,
    Column,
    FrameSource,
    NumberColumn,
    RecordSource,
    SourceRows,
    as_categories,
    attribute_codes,
    exact_column,
    plain_column,
    report_cells,
    source_of,
)
from tacit.regression.terms import FormulaTerms, ModelTerms, formula_terms, matrix_terms, parsed

#: How summaries call errors from the spread of the scores.
SANDWICH = "sandwich"


@dataclass(frozen=True, eq=False)
class RegressionSample:
    """A row per record; those that are left out weigh nothing."""

    rows: SampleRows
    kept: Mask

    @property
    def weights(self) -> Array:
        """The weight of each record that is used; their mean is 1."""
        return self.rows.weight[self.kept]

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.rows.df

    @property
    def error_method(self) -> str:
        """How standard errors were computed, for people."""
        if self.rows.resamples() is not None:
            return f"by {self.rows.errors}"
        return SANDWICH

    def covariance(
        self,
        estimate: Array,
        refitted: Callable[[Array], Array],
        scores: Array,
        inverse: Array,
    ) -> Array:
        """Covariance of estimates; `refitted` gives them for other weights of the records in use.

        Without replicates, from the scores and the inverse of the information.
        """
        resamples = self.rows.resamples()
        if resamples is None:
            return np.asarray(inverse @ self.total_covariance(scores) @ inverse)
        covariance = np.zeros((estimate.size, estimate.size))
        for factors, scale in resamples:
            gap = refitted(self.weights * factors[self.kept]) - estimate
            covariance += scale * np.outer(gap, gap)
        return covariance

    def total_covariance(self, scores: Array) -> Array:
        """Covariance of the weighted sum of scores, records in use x parameters."""
        every = np.zeros((len(self.kept), scores.shape[1]))
        every[self.kept] = scores
        return np.asarray(self.rows.covariance(every) * self.rows.weight.sum() ** 2)


def regression_sample(
    sampling: Sampling, records: Any, design: Design, kept: Mask
) -> RegressionSample | None:
    """The sample of records, an array of codes or an opened frame; None if it is a simple one."""
    if not sampling:
        return None
    sampling.check(design)
    if sampling.fpc is not None:
        raise DataError(
            "fpc: a regression describes how answers come about, not the finite population that "
            "was sampled; leave fpc out"
        )
    table: dict[str, Any] = {}
    if not isinstance(records, np.ndarray):
        from tacit.core import frames

        table = dict.fromkeys(records.columns)
        named = [name for name in sampling.columns if name in records.columns]
        table |= {name: frames.column(records, name) for name in named}
    rows = SampleData(sampling, table, None, len(records)).rows()
    return RegressionSample(rows.restricted(kept), kept)


# RegressionProblem: the outcome, the terms and the channel of the reports of a regression.


#: Entries of the channel of the reports that are used together.
MAX_ENTRIES = 2**22
#: Categories of an outcome that is not disguised.
MAX_CATEGORIES = 100
#: Different numbers of such an outcome, unless they are ordered.
MAX_NUMBERS = 10
#: Smaller entries of a channel are 0.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class UsedReports:
    """The channel of the disguised attributes in use, and the joint report of each record."""

    channel: ProductChannel | None
    reports: Index
    counts: Array | None = None

    @property
    def row_counts(self) -> Array:
        """How many records each row stands for."""
        return np.ones(len(self.reports)) if self.counts is None else self.counts

    @cached_property
    def matrix(self) -> Array:
        """M[report, true cell]."""
        if self.channel is None:
            return np.ones((1, 1))
        matrix = self.channel.matrix
        return np.where(matrix > _ROUNDING, matrix, 0.0)

    def inverse(self) -> Array:
        """The weights W[true cell, report]."""
        if self.channel is None:
            return np.ones((1, 1))
        sizes = self.channel.reported.sizes
        counts = np.bincount(self.reports, self.row_counts, math.prod(sizes)).astype(float)
        wanted, total = len(self.channel.true), round(counts.sum())
        problem = TableProblem(counts.reshape(sizes), self.channel, wanted, total)
        unit = np.eye(counts.size).reshape(*sizes, -1)
        columns = [
            self.channel.to_true(problem.inverses, unit[..., report]).ravel()
            for report in range(counts.size)
        ]
        return np.stack(columns, axis=1)

    @property
    def coins(self) -> tuple[str, ...]:
        """The names and the coin of each group."""
        factors = () if self.channel is None else self.channel.factors
        return tuple(f"{', '.join(factor.names)} by {factor.coin}" for factor in factors)


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Records of a regression; a row may stand for several records.

    `outcome` is a column for an outcome that is not disguised, else its attribute. The channel in
    `used` is that of an outcome that is disguised, then of the predictors.
    """

    name: str
    outcome: Column | Attribute
    terms: ModelTerms
    disguised: tuple[Attribute, ...]
    used: UsedReports
    n_left_out: int
    sample: RegressionSample | None = None

    @property
    def n_records(self) -> int:
        """The number of records that are used."""
        return self.n_rows if self.used.counts is None else round(self.used.counts.sum())

    @property
    def n_rows(self) -> int:
        """The number of rows of the model matrix."""
        return len(self.used.reports)

    @property
    def row_counts(self) -> Array:
        """How many records each row stands for; in a sample, design weights with a mean of 1."""
        return self.used.row_counts if self.sample is None else self.sample.weights

    @property
    def n_cells(self) -> int:
        """The number of joint answers to the disguised predictors."""
        return math.prod(a.size for a in self.disguised)


def regression_problem(
    formula: str,
    data: Any,
    design: Design,
    covariates: Any,
    sampling: Sampling,
    intercept: bool = True,
) -> RegressionProblem:
    """The problem that a formula, or an outcome and a matrix of covariates, describes."""
    check_design(design)
    source = source_of(data, design)
    if covariates is not None:
        problem, kept, records = _from_matrix(formula, source, design, covariates, sampling)
    else:
        problem, kept, records = _from_formula(formula, source, design, intercept, sampling)
    return replace(problem, sample=regression_sample(sampling, records.rows, design, kept))


def _from_formula(
    formula: str, source: RecordSource, design: Design, intercept: bool, sampling: Sampling
) -> tuple[RegressionProblem, Mask, SourceRows]:
    """The problem, which records it uses, and all records."""
    disguised = [name for name in design.schema.names if not design.is_exact(name)]
    text = parsed(formula, [*design.schema.names, *source.columns], disguised)
    records = source.rows_of([text.outcome, *text.names], sampling)
    plain = {name: _column(records, name, design) for name in text.names if name not in disguised}
    predictors = [name for name in design.schema.names if name in text.names and name in disguised]
    outcome = _outcome(records, text.outcome, design)
    kept = _complete([*plain.values(), outcome], len(records))
    asked = [*([text.outcome] if isinstance(outcome, Attribute) else []), *predictors]
    kept = _with_answers(kept, records, design, asked)
    used = {name: column.take(kept) for name, column in plain.items()}
    used |= {n: as_categories(c) for n, c in used.items() if n in text.categories}
    hidden = tuple(design.schema[name] for name in predictors)
    counts = None if records.counts is None else records.counts[kept]
    terms = formula_terms(text, used, hidden, int(kept.sum()), intercept, counts)
    return _assembled(text.outcome, outcome, terms, design, records, kept), kept, records


def _from_matrix(
    name: str, source: RecordSource, design: Design, covariates: Any, sampling: Sampling
) -> tuple[RegressionProblem, Mask, SourceRows]:
    known = [*design.schema.names, *source.columns]
    if name not in known:
        raise DataError(unknown("outcome", name, known, "; with covariates= give its name alone"))
    records = source.rows_of([name], sampling)
    if not isinstance(source, FrameSource):
        raise DataError("covariates= has a row per record; give the records as a frame or an array")
    terms, n_records = matrix_terms(covariates), len(records)
    for own in terms.names:
        if own in design.schema and not design.is_exact(own):
            raise DataError(
                f"covariate {own!r} is a disguised answer, and covariates= are used as they are; "
                f"name it in a formula ({name} ~ {own}), or give known values another name"
            )
    if len(terms.matrix) != n_records:
        raise DataError(f"{n_records:,} records, but {len(terms.matrix):,} rows of covariates")
    outcome = _outcome(records, name, design)
    asked = [name] if isinstance(outcome, Attribute) else []
    kept = _with_answers(_complete([outcome], n_records), records, design, asked)
    if not kept.all():
        raise DataError(f"outcome {name!r}: missing at record {int((~kept).argmax())}")
    return _assembled(name, outcome, terms, design, records, kept), kept, records


def _with_answers(kept: Mask, records: SourceRows, design: Design, asked: Sequence[str]) -> Mask:
    """The records that also have answers to these disguised attributes."""
    if not asked:
        return kept
    names = design.channel(design.closure(asked)).reported.names
    absent = attribute_codes(records.native, design.reported, names)[1]
    found = np.asarray(kept & ~absent.any(axis=1))
    if not found.any():
        raise DataError("every record has a missing cell in a column that the regression uses")
    return found


def _assembled(
    name: str,
    outcome: Column | Attribute,
    terms: ModelTerms,
    design: Design,
    records: SourceRows,
    kept: Mask,
) -> RegressionProblem:
    predictors = terms.disguised if isinstance(terms, FormulaTerms) else ()
    asked = [a.name for a in predictors]
    if isinstance(outcome, Attribute):
        asked = [name, *asked]
    else:
        outcome = outcome.take(kept)
    used = used_reports(asked, design, records, kept)
    left_out = (~kept).sum() if records.counts is None else records.counts[~kept].sum()
    return RegressionProblem(name, outcome, terms, predictors, used, round(left_out))


def used_reports(
    asked: Sequence[str], design: Design, records: SourceRows, kept: Mask
) -> UsedReports:
    """Channel and reports of the disguised attributes, for the records that are kept."""
    counts = None if records.counts is None else records.counts[kept]
    if not asked:
        return UsedReports(None, np.zeros(int(kept.sum()), np.intp), counts)
    _check_whole_groups(design, asked)
    channel = design.channel(asked)
    channel.require_reconstructable()
    entries = math.prod(channel.true.sizes) * math.prod(channel.reported.sizes)
    if entries > MAX_ENTRIES:
        raise DataError(
            f"{', '.join(asked)} together have {math.prod(channel.true.sizes):,} true cells, too "
            "many for one regression; use fewer disguised predictors"
        )
    reports = report_cells(records.native, design.reported, channel.reported)[kept]
    return UsedReports(channel, reports, counts)


class PairProblem(NamedTuple):
    """Two columns or attributes, and the reports of those that are disguised."""

    pair: tuple[Column | Attribute, Column | Attribute]
    used: UsedReports
    sample: RegressionSample | None


def pair_problem(
    first: str, second: str, data: Any, design: Design, sampling: Sampling
) -> PairProblem:
    """The problem of a correlation."""
    check_design(design)
    source = source_of(data, design)
    known = [*design.schema.names, *source.columns]
    for name in (first, second):
        if name not in known:
            raise DataError(unknown("name", name, known))
    if first == second:
        raise DataError(f"a correlation needs two different names, got {first!r} twice")
    records = source.rows_of([first, second], sampling)
    pair = [_outcome(records, name, design) for name in (first, second)]
    asked = [own.name for own in pair if isinstance(own, Attribute)]
    kept = _with_answers(_complete(pair, len(records)), records, design, asked)
    used = used_reports(asked, design, records, kept)
    left, right = (own if isinstance(own, Attribute) else own.take(kept) for own in pair)
    return PairProblem((left, right), used, regression_sample(sampling, records.rows, design, kept))


def check_fitted(problem: RegressionProblem) -> None:
    """Raise if the fitted records themselves cannot be predicted."""
    if problem.n_cells > 1:
        raise DataError(
            "the true predictors of the fitted records are unknown; give predict() records "
            "with true answers"
        )
    if problem.used.counts is not None:
        raise DataError("the model was fitted to counts; give predict() records")


def disguise_lines(problem: RegressionProblem) -> list[str]:
    """How what the regression uses was disguised, for people."""
    return [f"disguised: {coin}" for coin in problem.used.coins]


def exact_categories(name: str, column: Column, ordered: bool) -> tuple[tuple[Label, ...], Index]:
    """Categories and codes of an outcome that is not disguised."""
    found = as_categories(column)
    assert isinstance(found, CategoryColumn)
    if len(found.categories) > MAX_CATEGORIES:
        raise DataError(
            f"the outcome {name!r} has {len(found.categories):,} different values, more than the "
            f"{MAX_CATEGORIES} categories allowed; use linear for numbers"
        )
    if isinstance(column, NumberColumn) and not ordered and found.size > MAX_NUMBERS:
        raise DataError(
            f"the outcome {name!r} is a number with {found.size} different values, which logit "
            "would treat as categories without order; use linear, or ordered=True, or group it"
        )
    if len(found.categories) < 2:
        raise DataError(
            f"the outcome {name!r} has one category, {found.categories[0]!r}, in all records; "
            "a regression needs two or more"
        )
    return found.categories, found.codes.astype(np.intp)


def _column(records: SourceRows, name: str, design: Design) -> Column:
    if name in design.schema:
        return exact_column(records.native, design.schema[name], design.reported)
    return plain_column(records.rows, name)


def _outcome(records: SourceRows, name: str, design: Design) -> Column | Attribute:
    if name in design.schema and not design.is_exact(name):
        return design.schema[name]
    return _column(records, name, design)


def _complete(columns: Sequence[Column | Attribute], n_records: int) -> Mask:
    """The records without a missing cell."""
    kept = np.ones(n_records, bool)
    for column in columns:
        if isinstance(column, NumberColumn | CategoryColumn):
            kept &= ~column.missing
    if not kept.any():
        raise DataError("every record has a missing cell in a column that the regression uses")
    return kept


def _check_whole_groups(design: Design, asked: Sequence[str]) -> None:
    for name in design.closure(asked):
        if name not in asked:
            raise DataError(
                f"{', '.join(map(repr, asked))} cannot be used without {name!r}: one matrix "
                f"disguises their joint answer; add {name} to the formula"
            )
