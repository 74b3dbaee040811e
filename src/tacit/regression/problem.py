"""RegressionProblem: the outcome, the terms, the channel of the reports and the sample.

Records are every row of a frame, or distinct rows with their counts. Counts come from any engine
(see `records.engines`), from a count file or from a pattern table: only the attributes and columns
that a model uses are counted, where the records are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.design import Design, ProductChannel, check_design
from tacit.core.label_codes import absent_cells, decode, encode, with_no_answer
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, MissingAnswersError, unknown
from tacit.reconstruction.sampling import SampleData, Sampling
from tacit.reconstruction.tables import TableProblem
from tacit.records import (
    Origin,
    PatternTable,
    check_origin,
    check_origins,
    count_answers,
    count_reported,
    engine_of,
    read_frame,
)
from tacit.records.memory import grouped
from tacit.records.paths import ARROW, is_counts, is_pattern, is_remote, is_url
from tacit.records.sample import SampleRows
from tacit.regression.terms import (
    CategoryColumn,
    Column,
    Factors,
    MatrixTerms,
    ModelTerms,
    NumberColumn,
    as_categories,
    factor_text,
    formula_terms,
    matrix_terms,
    parsed,
    plain_column,
)

#: Entries of the channel of the reports that are used together.
MAX_ENTRIES = 2**22
#: Smaller entries of a channel are 0.
_ROUNDING = 1e-14
#: Share of a column's square that rounding leaves if other columns explain it.
_COLLINEAR = 1e-12


def exact_column(records: Any, attribute: Attribute, schema: Schema) -> Column:
    """An attribute that is not disguised."""
    cells, missing_cells = attribute_codes(records, schema, [attribute.name])
    codes, absent = cells[:, 0].astype(np.intp), missing_cells[:, 0]
    numeric = all(type(label) in (int, float) for label in attribute.categories)
    if numeric and attribute.missing is None:
        values = np.array(attribute.categories)[codes]
        return NumberColumn(np.where(absent, np.nan, values) if absent.any() else values)
    missing = -1 if attribute.missing is None else attribute.code(attribute.missing)
    return CategoryColumn(attribute.categories, np.where(absent | (codes == missing), -1, codes))


def attribute_codes(records: Any, schema: Schema, names: Sequence[str]) -> tuple[Codes, Mask]:
    """The codes of these reported attributes, records x names, and which answers are missing."""
    if isinstance(records, np.ndarray):
        codes = encode(records, schema)[:, [schema.index(name) for name in names]]
        return codes, np.zeros(codes.shape, bool)
    part = schema.subset(names)
    try:
        codes = encode(records, part)
    except MissingAnswersError:
        return absent_cells(encode(records, with_no_answer(part)), part)
    return codes, np.zeros(codes.shape, bool)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """A narwhals frame or an array of codes, and how many records each row stands for.

    No counts: every row is a record.
    """

    rows: Any
    counts: Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return () if isinstance(self.rows, np.ndarray) else tuple(self.rows.columns)


@dataclass(frozen=True, eq=False)
class EngineSource:
    """Records that an engine counts."""

    records: Any
    design: Design

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return engine_of(self.records, self.design.reported, design=self.design).column_names()

    def distinct(self, names: Sequence[str]) -> SourceRows:
        """The distinct rows of these attributes and columns."""
        schema, design = self.design.reported, self.design
        attributes = [name for name in names if name in design.schema] or [design.schema.names[0]]
        reports = design.channel(design.jointly_reported(attributes)).reported.names
        others = [name for name in names if name not in design.schema]
        used = schema.subset([name for name in schema.names if name in reports])
        try:
            return self._counted(used, others)
        except MissingAnswersError:
            return self._counted(with_no_answer(used), others)

    def _counted(self, schema: Schema, others: Sequence[str]) -> SourceRows:
        from tacit.core import frames

        engine, reported = engine_of(self.records, schema), self.design.reported
        if not others:
            return _rows(engine.patterns(), reported)
        by = engine.patterns_by(others)
        if by.in_order:  # every record by itself
            by = grouped(by.patterns.patterns, schema, by.columns)
        columns = frames.open_frame(by.columns)
        return _rows(by.patterns, reported, {n: frames.column(columns, n) for n in columns.columns})


RecordSource = SourceRows | EngineSource


def rows_of(source: RecordSource, names: Sequence[str], sampling: Sampling) -> SourceRows:
    """Rows with these attributes and columns, perhaps with others; a row per record in a sample."""
    if isinstance(source, EngineSource):
        rows = source.distinct(list(dict.fromkeys([*names, *sampling.columns])))
    else:
        rows = source
    if not sampling or rows.counts is None:
        return rows
    if not sampling.by_name:
        raise DataError("weights, strata and clusters of counted records must be names of columns")
    return SourceRows(rows.rows[np.repeat(np.arange(len(rows)), rows.counts.astype(np.intp))])


def _rows(
    counted: PatternTable, schema: Schema, columns: Mapping[str, Any] | None = None
) -> SourceRows:
    """Patterns as a frame of labels with other columns beside; missing answers are null."""
    from tacit.core import frames

    part = schema.subset(counted.schema.names)
    codes, absent = absent_cells(counted.patterns, part)
    table = decode(codes, part, "pyarrow", absent)
    for name, cells in (columns or {}).items():
        table = table.append_column(name, cells)
    return SourceRows(frames.open_frame(table), counted.counts.astype(np.float64))


def source_of(data: Any, design: Design) -> RecordSource:
    """The records that were given: a frame, an array of codes, or what `reconstruct` takes."""
    from tacit.core import frames

    if isinstance(data, PatternTable):
        if data.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return _rows(data.refuse(weights=True).with_no_answer(), design.reported)
    if is_counts(data) or (is_url(data) and "#" not in data):  # attributes of the design alone
        counted = partial(count_reported, data, design, True)
        table = count_answers(counted, design.reported)
        return _rows(table.with_no_answer(), design.reported)
    if is_remote(data) or is_url(data):
        return EngineSource(data, design)
    if isinstance(data, np.ndarray):
        return SourceRows(data)
    if not isinstance(data, str | os.PathLike):
        return SourceRows(frames.open_frame(data))
    path = Path(data)
    if path.is_dir() or is_pattern(path) or path.suffix in ARROW:  # several files are counted
        check_origins(path, design)
        return EngineSource(path, design)
    check_origin(path, Origin(design.fingerprint))
    return SourceRows(frames.open_frame(read_frame(path)))


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
        table = counts.reshape(sizes)
        return TableProblem(table, self.channel, n_attributes, total).weights()


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
        first, *others = self.terms.matrices
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
        return self.terms.matrices[0]


@dataclass(frozen=True, eq=False)
class RegressionRecords:
    """Rows of reported records, their design, and how people were sampled."""

    rows: SourceRows
    design: Design
    sampling: Sampling

    def column(self, name: str) -> Column | Attribute:
        """A column; the attribute itself if it is disguised."""
        if name not in self.design.schema:
            return plain_column(self.rows.rows, name)
        attribute = self.design.schema[name]
        if not self.design.is_exact(name):
            return attribute
        return exact_column(self.rows.rows, attribute, self.design.reported)

    def complete(self, columns: Sequence[Column | Attribute]) -> Mask:
        """The records without a missing cell."""
        complete = np.ones(len(self.rows), bool)
        disguised = [column.name for column in columns if isinstance(column, Attribute)]
        for column in columns:
            if not isinstance(column, Attribute):
                complete &= ~column.missing
        if disguised and complete.any():
            names = self.design.channel(self.design.jointly_reported(disguised)).reported.names
            _, absent = attribute_codes(self.rows.rows, self.design.reported, names)
            complete &= ~absent.any(axis=1)
        if not complete.any():
            raise DataError("every record has a missing cell in a column that the regression uses")
        return complete

    def sample(self, used: Mask) -> RegressionSample | None:
        """Weights, strata and clusters; None if it is a simple sample."""
        if not self.sampling:
            return None
        self.sampling.check(self.design)
        if self.sampling.fpc is not None:
            raise DataError(
                "fpc: a regression describes how answers come about, not the finite population "
                "that was sampled; leave fpc out"
            )
        rows = SampleData.of_frame(self.sampling, self.rows.rows).rows()
        return RegressionSample(rows.restricted(used), used)

    def reports(self, names: Sequence[str], used: Mask) -> UsedReports:
        """Channel and reports of these disguised attributes, for the records that are used."""
        counts = None if self.rows.counts is None else self.rows.counts[used]
        if not names:
            return UsedReports(None, np.zeros(int(used.sum()), np.intp), counts)
        for name in self.design.jointly_reported(names):
            if name not in names:
                raise DataError(
                    f"{', '.join(map(repr, names))} cannot be used without {name!r}: one matrix "
                    f"disguises their joint answer; add {name} to the formula"
                )
        channel = self.design.channel(names)
        channel.require_reconstructable()
        n_cells, sizes = math.prod(channel.true.sizes), channel.reported.sizes
        if n_cells * math.prod(sizes) > MAX_ENTRIES:
            raise DataError(
                f"{', '.join(names)} together have {n_cells:,} true cells, too many for one "
                "regression; use fewer disguised predictors"
            )
        reported = self.design.reported
        codes, _ = attribute_codes(self.rows.rows, reported, channel.reported.names)
        cells = np.ravel_multi_index(tuple(codes[used].T.astype(np.intp)), sizes)
        return UsedReports(channel, np.asarray(cells), counts)

    def problem(
        self, name: str, outcome: Column | Attribute, terms: ModelTerms, used: Mask
    ) -> RegressionProblem:
        """The problem of an outcome and terms."""
        disguised = [a.name for a in terms.disguised]
        if isinstance(outcome, Attribute):
            disguised = [name, *disguised]
        else:
            outcome = outcome.take(used)
        counts, reports = self.rows.counts, self.reports(disguised, used)
        left_out = round((~used).sum() if counts is None else counts[~used].sum())
        return RegressionProblem(name, outcome, terms, reports, left_out, self.sample(used))


@dataclass(frozen=True, eq=False)
class Regression(Sampling):
    """What to regress on what, and how people were sampled: the arguments of `logit`."""

    formula: str
    reported: Any
    design: Design
    covariates: Any = None

    def problem(self, intercept: bool = True) -> RegressionProblem:
        """The problem that the formula, or the outcome and a matrix of covariates, describes."""
        design, formula = self.design, self.formula
        check_design(design)
        source = source_of(self.reported, design)
        allowed = [*design.schema.names, *source.columns]
        if self.covariates is not None and formula not in allowed:
            remedy = "; with covariates= give its name alone"
            raise DataError(unknown("outcome", formula, allowed, remedy))
        if self.covariates is not None and not isinstance(self.covariates, Factors):
            records = RegressionRecords(rows_of(source, [formula], self), design, self)
            if isinstance(source, EngineSource) or source.counts is not None:
                raise DataError(
                    "covariates= has a row per record; give the records as a frame or an array"
                )
            return _from_matrix(formula, records, matrix_terms(self.covariates))
        disguised = [name for name in design.schema.names if not design.is_exact(name)]
        if self.covariates is None:
            text = parsed(formula, allowed, disguised)
        else:
            text = factor_text(formula, self.covariates, allowed)
        rows = rows_of(source, [text.outcome, *text.names], self)
        records = RegressionRecords(rows, design, self)
        plain = {name: records.column(name) for name in text.names if name not in disguised}
        hidden = tuple(a for a in design.schema if a.name in text.names and a.name in disguised)
        outcome = records.column(text.outcome)
        used = records.complete([*plain.values(), outcome, *hidden])
        columns = {n: c.take(used) for n, c in plain.items() if not isinstance(c, Attribute)}
        columns |= {n: as_categories(c) for n, c in columns.items() if n in text.categories}
        counts = None if rows.counts is None else rows.counts[used]
        terms = formula_terms(text, columns, hidden, int(used.sum()), intercept, counts)
        return records.problem(text.outcome, outcome, terms, used)


def _from_matrix(name: str, records: RegressionRecords, terms: MatrixTerms) -> RegressionProblem:
    design, n_records = records.design, len(records.rows)
    for covariate in terms.names:
        if covariate in design.schema and not design.is_exact(covariate):
            raise DataError(
                f"covariate {covariate!r} is a disguised answer, and covariates= are used as they "
                f"are; name it in a formula ({name} ~ {covariate}), or give known values another "
                "name"
            )
    (matrix,) = terms.matrices
    if len(matrix) != n_records:
        raise DataError(f"{n_records:,} records, but {len(matrix):,} rows of covariates")
    outcome = records.column(name)
    used = records.complete([outcome])
    if not used.all():
        raise DataError(f"outcome {name!r}: missing at record {int((~used).argmax())}")
    return records.problem(name, outcome, terms, used)


@dataclass(frozen=True, eq=False)
class Pair(Sampling):
    """Two columns or attributes, and how people were sampled."""

    first: str
    second: str
    reported: Any
    design: Design

    def problem(self) -> tuple[list[Column | Attribute], UsedReports, RegressionSample | None]:
        """Both columns or attributes, the reports of those that are disguised, and the sample."""
        first, second, design = self.first, self.second, self.design
        check_design(design)
        source = source_of(self.reported, design)
        allowed = [*design.schema.names, *source.columns]
        for name in (first, second):
            if name not in allowed:
                raise DataError(unknown("name", name, allowed))
        if first == second:
            raise DataError(f"a correlation needs two different names, got {first!r} twice")
        records = RegressionRecords(rows_of(source, [first, second], self), design, self)
        pair = [records.column(name) for name in (first, second)]
        used = records.complete(pair)
        disguised = [column.name for column in pair if isinstance(column, Attribute)]
        pair = [c if isinstance(c, Attribute) else c.take(used) for c in pair]
        return pair, records.reports(disguised, used), records.sample(used)
