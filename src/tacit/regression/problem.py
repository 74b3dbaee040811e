"""RegressionProblem: the outcome, the terms, the channel of the reports and the sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.core.design import Design, ProductChannel, check_design
from tacit.core.schema import Attribute
from tacit.errors import DataError, unknown
from tacit.reconstruction.sampling.sampled_records import SampleData, Sampling
from tacit.reconstruction.tables import TableProblem
from tacit.records.sample import SampleRows
from tacit.regression import data
from tacit.regression.data import Column, RecordSource, SourceRows
from tacit.regression.terms import ModelTerms, formula_terms, matrix_terms, parsed

#: Entries of the channel of the reports that are used together.
MAX_ENTRIES = 2**22
#: Smaller entries of a channel are 0.
_ROUNDING = 1e-14
#: Share of a column's square that rounding leaves if other columns explain it.
_COLLINEAR = 1e-12


@dataclass(frozen=True, eq=False)
class RegressionSample:
    """Design weights, strata and clusters of the records of a regression.

    Coefficients solve the weighted equations sum w s(b) = 0 (pseudo-likelihood: Binder, 1983), and

        Cov(b) = A^-1 V(sum w s) A^-1

    with A the weighted information and V the variance between sampling units; see `linearised`. The
    jackknife and the bootstrap solve the equations again for each replicate. Records that are not
    `used` stay members of their strata and clusters, with weight zero.
    """

    rows: SampleRows
    used: Mask

    @property
    def weights(self) -> Array:
        """The weight of each record that is used; their mean is 1."""
        return self.rows.weight[self.used]

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
            all_scores = np.zeros((len(self.used), scores.shape[1]))
            all_scores[self.used] = scores
            total = np.asarray(self.rows.covariance(all_scores) * self.rows.weight.sum() ** 2)
            return np.asarray(inverse @ total @ inverse)
        covariance = np.zeros((estimate.size, estimate.size))
        for factors, scale in resamples:
            gap = refitted(self.weights * factors[self.used]) - estimate
            covariance += scale * np.outer(gap, gap)
        return covariance


def regression_sample(
    sampling: Sampling, records: Any, design: Design, used: Mask
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
    rows = SampleData.of_frame(sampling, records).rows()
    return RegressionSample(rows.restricted(used), used)


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
        n_attributes, total = len(self.channel.true), round(counts.sum())
        problem = TableProblem(counts.reshape(sizes), self.channel, n_attributes, total)
        unit = np.eye(counts.size).reshape(*sizes, -1)
        columns = [
            self.channel.to_true(problem.inverses, unit[..., report]).ravel()
            for report in range(counts.size)
        ]
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Records of a regression; a row may stand for several records.

    `outcome` is a column for an outcome that is not disguised, else its attribute. The channel in
    `used` is that of an outcome that is disguised, then of the predictors.
    """

    name: str
    outcome: Column | Attribute
    terms: ModelTerms
    used: UsedReports
    n_left_out: int
    sample: RegressionSample | None

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
        return math.prod(a.size for a in self.terms.disguised)

    @cached_property
    def cell_matrix(self) -> Array:
        """A constant, and the varied columns that do not depend on the disguised predictors."""
        first, *others = self.terms.matrices()
        if not others:
            return np.ones((len(first), 1))
        same = [
            column
            for i, column in enumerate(first.T)
            if np.ptp(column) > 0 and all(np.array_equal(column, m[:, i]) for m in others)
        ]
        columns = np.column_stack([np.ones(len(first)), *same])
        sizes = np.linalg.norm(columns, axis=0)
        cross = (columns / sizes).T @ (columns / sizes)
        independent: list[int] = []  # no linear combinations of columns before them
        for i in range(len(cross)):
            before, with_before = cross[np.ix_(independent, independent)], cross[independent, i]
            if cross[i, i] - with_before @ np.linalg.solve(before, with_before) > _COLLINEAR:
                independent.append(i)
        return columns[:, independent]

    @property
    def error_method(self) -> str:
        """How standard errors that do not rely on the model are computed, for people."""
        rows = None if self.sample is None else self.sample.rows
        return "sandwich" if rows is None or rows.resamples() is None else f"by {rows.errors}"

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance; infinite for a simple sample."""
        return np.inf if self.sample is None else self.sample.rows.df

    @property
    def disguises(self) -> list[str]:
        """How what the regression uses was disguised, for people."""
        factors = () if self.used.channel is None else self.used.channel.factors
        return [f"disguised: {', '.join(factor.names)} by {factor.coin}" for factor in factors]

    def prediction_matrix(self, true: Any) -> Array:
        """The model matrix of records with true answers; of the fitted records if None."""
        if true is not None:
            return self.terms.new_matrix(true)
        if self.n_cells > 1:
            raise DataError(
                "the true predictors of the fitted records are unknown; give predict() records "
                "with true answers"
            )
        if self.used.counts is not None:
            raise DataError("the model was fitted to counts; give predict() records")
        return self.terms.matrices()[0]


def regression_problem(
    formula: str,
    reported: Any,
    design: Design,
    covariates: Any,
    sampling: Sampling,
    intercept: bool = True,
) -> RegressionProblem:
    """The problem that a formula, or an outcome and a matrix of covariates, describes."""
    check_design(design)
    source = data.source_of(reported, design)
    if covariates is not None:
        return _from_matrix(formula, source, design, covariates, sampling)
    disguised = [name for name in design.schema.names if not design.is_exact(name)]
    text = parsed(formula, [*design.schema.names, *source.columns], disguised)
    records = data.rows_of(source, [text.outcome, *text.names], sampling)
    plain = {name: _column(records, name, design) for name in text.names if name not in disguised}
    hidden = tuple(a for a in design.schema if a.name in text.names and a.name in disguised)
    outcome = _outcome(records, text.outcome, design)
    used = _complete([*plain.values(), outcome, *hidden], records, design)
    columns = {name: column.take(used) for name, column in plain.items()}
    columns |= {n: data.as_categories(c) for n, c in columns.items() if n in text.categories}
    counts = None if records.counts is None else records.counts[used]
    terms = formula_terms(text, columns, hidden, int(used.sum()), intercept, counts)
    return _assembled(text.outcome, outcome, terms, design, records, used, sampling)


def _from_matrix(
    name: str, source: RecordSource, design: Design, covariates: Any, sampling: Sampling
) -> RegressionProblem:
    allowed = [*design.schema.names, *source.columns]
    if name not in allowed:
        raise DataError(unknown("outcome", name, allowed, "; with covariates= give its name alone"))
    records = data.rows_of(source, [name], sampling)
    if isinstance(source, data.EngineSource) or source.counts is not None:
        raise DataError("covariates= has a row per record; give the records as a frame or an array")
    terms, n_records = matrix_terms(covariates), len(records)
    for covariate in terms.names:
        if covariate in design.schema and not design.is_exact(covariate):
            raise DataError(
                f"covariate {covariate!r} is a disguised answer, and covariates= are used as they "
                f"are; name it in a formula ({name} ~ {covariate}), or give known values another "
                "name"
            )
    if len(terms.matrix) != n_records:
        raise DataError(f"{n_records:,} records, but {len(terms.matrix):,} rows of covariates")
    outcome = _outcome(records, name, design)
    used = _complete([outcome], records, design)
    if not used.all():
        raise DataError(f"outcome {name!r}: missing at record {int((~used).argmax())}")
    return _assembled(name, outcome, terms, design, records, used, sampling)


def _complete(columns: Sequence[Column | Attribute], records: SourceRows, design: Design) -> Mask:
    """The records without a missing cell; attributes are disguised."""
    complete = np.ones(len(records), bool)
    disguised = [column.name for column in columns if isinstance(column, Attribute)]
    for column in columns:
        if not isinstance(column, Attribute):
            complete &= ~column.missing
    if disguised and complete.any():
        names = design.channel(design.jointly_reported(disguised)).reported.names
        complete &= ~data.attribute_codes(records.native, design.reported, names)[1].any(axis=1)
    if not complete.any():
        raise DataError("every record has a missing cell in a column that the regression uses")
    return complete


def _assembled(
    name: str,
    outcome: Column | Attribute,
    terms: ModelTerms,
    design: Design,
    records: SourceRows,
    used: Mask,
    sampling: Sampling,
) -> RegressionProblem:
    disguised = [a.name for a in terms.disguised]
    if isinstance(outcome, Attribute):
        disguised = [name, *disguised]
    else:
        outcome = outcome.take(used)
    reports = _used_reports(disguised, design, records, used)
    left_out = (~used).sum() if records.counts is None else records.counts[~used].sum()
    sample = regression_sample(sampling, records.rows, design, used)
    return RegressionProblem(name, outcome, terms, reports, round(left_out), sample)


def _used_reports(
    names: Sequence[str], design: Design, records: SourceRows, used: Mask
) -> UsedReports:
    """Channel and reports of the disguised attributes, for the records that are used."""
    counts = None if records.counts is None else records.counts[used]
    if not names:
        return UsedReports(None, np.zeros(int(used.sum()), np.intp), counts)
    for name in design.jointly_reported(names):
        if name not in names:
            raise DataError(
                f"{', '.join(map(repr, names))} cannot be used without {name!r}: one matrix "
                f"disguises their joint answer; add {name} to the formula"
            )
    channel = design.channel(names)
    channel.require_reconstructable()
    n_cells = math.prod(channel.true.sizes)
    if n_cells * math.prod(channel.reported.sizes) > MAX_ENTRIES:
        raise DataError(
            f"{', '.join(names)} together have {n_cells:,} true cells, too many for one "
            "regression; use fewer disguised predictors"
        )
    codes, _ = data.attribute_codes(records.native, design.reported, channel.reported.names)
    cells = np.ravel_multi_index(tuple(codes[used].T.astype(np.intp)), channel.reported.sizes)
    return UsedReports(channel, np.asarray(cells), counts)


def pair_problem(
    first: str, second: str, reported: Any, design: Design, sampling: Sampling
) -> tuple[list[Column | Attribute], UsedReports, RegressionSample | None]:
    """Two columns or attributes, the reports of those that are disguised, and the sample."""
    check_design(design)
    source = data.source_of(reported, design)
    allowed = [*design.schema.names, *source.columns]
    for name in (first, second):
        if name not in allowed:
            raise DataError(unknown("name", name, allowed))
    if first == second:
        raise DataError(f"a correlation needs two different names, got {first!r} twice")
    records = data.rows_of(source, [first, second], sampling)
    pair = [_outcome(records, name, design) for name in (first, second)]
    used = _complete(pair, records, design)
    disguised = [column.name for column in pair if isinstance(column, Attribute)]
    reports = _used_reports(disguised, design, records, used)
    pair = [c if isinstance(c, Attribute) else c.take(used) for c in pair]
    return pair, reports, regression_sample(sampling, records.rows, design, used)


def _column(records: SourceRows, name: str, design: Design) -> Column:
    if name in design.schema:
        return data.exact_column(records.native, design.schema[name], design.reported)
    return data.plain_column(records.rows, name)


def _outcome(records: SourceRows, name: str, design: Design) -> Column | Attribute:
    if name in design.schema and not design.is_exact(name):
        return design.schema[name]
    return _column(records, name, design)
