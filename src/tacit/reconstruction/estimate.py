"""Estimate: values with their standard errors, covariance and method; prints as a table.

Tables, probabilities, expectations, tree nodes and accuracies are means of the weights of reports:

    mean = sum_y p*(y) g(y),    Cov = (mean of g g^T - mean of g  mean of g^T) / n

`linear_estimate` computes them; `combine` joins independent estimates of the same quantity.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Label
from tacit.errors import DataError
from tacit.output.number_text import decimals, number_of, span, text
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction.hypothesis_test import HypothesisTest, misfit
from tacit.reconstruction.interval import Interval, ScoreTest, normal_interval, score_interval
from tacit.reconstruction.likelihood import Convergence
from tacit.records.sample import SampleRows

T = TypeVar("T")
Numbers = npt.NDArray[Any]
#: Rows of a printed table before it is cut.
_SHOWN = 40
_NUMBERS = ("estimate", "stderr", "lower", "upper")
#: A probability whose interval covers as much of [0, 1] is not known at all.
_WHOLE = 0.95
#: A variance below this share of that of a simple random sample is rounding.
_ROUNDING = 1e-9
#: Eigenvalues of a covariance below this share of the largest are rounding errors.
_NULL_EIGENVALUE = 1e-10
NOT_INFORMATIVE = "not informative"
NO_UPPER_LIMIT = "no upper limit: the reports allow a share of 0 or 1 in one of the groups"


@dataclass(frozen=True, eq=False)
class OnDemand(Generic[T]):
    """A result that is computed when first called. Only the result is pickled, not the records."""

    compute: Callable[[], T]

    def __call__(self) -> T:
        return self._result

    @cached_property
    def _result(self) -> T:
        return self.compute()

    def __reduce__(self) -> tuple[Any, ...]:
        return OnDemand, (partial(_same, self._result),)


def _same(result: T) -> T:
    return result


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(TabularResult):
    """A table of estimated quantities, one axis per attribute; no axis for a single number.

    `stderr`, `covariance` and intervals are always those of the unbiased estimate, whatever the
    method: values moved into the simplex are biased, have no normal distribution at its border,
    and may lie outside the interval of their cell. The covariance is 0 if all reports are alike;
    the standard error of an impossible value is then that at the nearest possible one.

    Intervals are normal, unless the estimate is a probability (`score_of`) or has its own limits
    (`interval_of`). In a sample with design weights or clusters, `simple` is the estimate as if
    these records were a simple random sample, and `df` the degrees of freedom of the variance.
    `no_effect` is the value of a comparison if groups do not differ.

    It is from `n_records` reported records; `n_left_out` had no answer. `convergence` says how the
    iteration of the method ended, if it has one. `errors_by` is the method of the errors, where it
    is not that of the values. `reported_of` computes the same shares among the reports, `fit_of`
    tests whether the reports contradict the design, `warning_of` says what is suspicious.
    """

    attributes: tuple[Attribute, ...]
    value: Array
    stderr: Array
    covariance_of: Callable[[], Array]
    method: str
    name: str
    n_records: int
    score_of: Callable[[], ScoreTest] | None = None
    interval_of: Callable[[float], Interval] | None = None
    simple: Estimate | None = None
    df: float = math.inf
    no_effect: float | None = None
    n_left_out: int = 0
    convergence: Convergence | None = None
    errors_by: str = ""
    reported_of: Callable[[], Array | None] | None = None
    fit_of: Callable[[], HypothesisTest] | None = None
    warning_of: Callable[[], str] | None = None

    @classmethod
    def of_covariance(
        cls,
        attributes: tuple[Attribute, ...],
        value: Array,
        covariance: Array,
        n_records: int,
        method: str,
        name: str,
    ) -> Estimate:
        """An estimate with normal intervals from its covariance matrix."""
        stderr = np.sqrt(np.maximum(covariance.diagonal(), 0)).reshape(value.shape)
        lazy = partial(np.asarray, covariance)
        return cls(attributes, value, stderr, lazy, method, name, n_records)

    def as_probability(self, third: Array | None = None, share: Array | None = None) -> Estimate:
        """The estimate with intervals inside [0, 1]; `third` is the mean of the cubed weights.

        `share` is that of the records that meet the undisguised conditions of each cell.
        """
        score = ScoreTest.of_noise(self.value, self.stderr, self.n_records, third, share)
        return self.with_score(score)

    def with_score(self, score: ScoreTest) -> Estimate:
        """The estimate with this score test, and standard errors that agree with it."""
        stderr = score.nearest_stderr(self.stderr)
        return replace(self, score_of=partial(_same, score), stderr=stderr)

    def with_tests(self, tests: Mapping[int, ScoreTest]) -> Estimate:
        """The estimate with these score tests in some of its cells, of simple random sampling."""
        if self.simple is not None:
            simple = self.simple.with_tests(tests)
            sample = simple.of_sample(self.covariance, self.df)
            return replace(self, simple=simple, score_of=sample.score_of, stderr=sample.stderr)
        score = self.score
        assert score is not None
        one, first = (1,), np.array([0])
        cells = [score.part(np.array([cell]), one) for cell in range(score.center.size)]
        for cell, test in tests.items():
            cells[cell] = test.part(first, one)
        columns = zip(*(vars(cell).values() for cell in cells), strict=True)
        joined = ScoreTest(*(np.concatenate(column, axis=-1) for column in columns))
        return self.with_score(joined.part(np.arange(len(cells)), score.center.shape))

    def of_sample(self, covariance: Array, df: float, weight_effect: float = 1.0) -> Estimate:
        """The estimate with the errors of a sample; its own are those of simple random sampling.

        Intervals of probabilities are those of as many records as have the same variance in a
        simple random sample; if there is no variance, the effect of the weights alone counts.
        """
        variance = np.maximum(covariance.diagonal(), 0).reshape(self.value.shape)
        sample = replace(
            self,
            stderr=np.sqrt(variance),
            covariance_of=partial(np.asarray, covariance),
            simple=self,
            df=df,
        )
        if self.score is None:
            return sample
        varies = (variance > _ROUNDING * self.stderr**2) & (self.stderr > 0)
        effect = np.where(varies, variance, 1.0) / np.where(varies, self.stderr, 1.0) ** 2
        # As many records of a simple random sample have the same variance.
        return sample.with_score(self.score.times(1 / np.where(varies, effect, weight_effect)))

    def scaled(self, low: float, high: float) -> Estimate:
        """The mean of a quantity that is `high` with this probability and `low` otherwise."""
        span = high - low
        return replace(
            self,
            value=low + span * self.value,
            stderr=span * self.stderr,
            covariance_of=partial(_scaled_covariance, self, span),
            simple=None if self.simple is None else self.simple.scaled(low, high),
            score_of=None,
            interval_of=partial(_scaled_interval, self, low, span),
            reported_of=None,
        )

    def part(self, positions: Index, attributes: tuple[Attribute, ...], name: str) -> Estimate:
        """Some cells of a table of probabilities, as a table of these attributes."""
        shape = tuple(a.size for a in attributes)
        return replace(
            self,
            attributes=attributes,
            value=self.value.ravel()[positions].reshape(shape),
            stderr=self.stderr.ravel()[positions].reshape(shape),
            covariance_of=partial(_covariance_part, self, positions),
            score_of=None if self.score is None else partial(self.score.part, positions, shape),
            simple=None if self.simple is None else self.simple.part(positions, attributes, name),
            name=name,
            reported_of=partial(_reported_part, self, positions, shape),
        )

    def contrast(self, value: Array, slopes: Array, name: str) -> Estimate:
        """A number that depends on the cells, with these derivatives; its interval is normal."""
        variance = np.full((1, 1), slopes @ self.covariance @ slopes)
        if self.simple is None:
            number = Estimate.of_covariance((), value, variance, self.n_records, self.method, name)
        else:
            number = self.simple.contrast(value, slopes, name).of_sample(variance, self.df)
        return replace(
            number, n_left_out=self.n_left_out, fit_of=self.fit_of, warning_of=self.warning_of
        )

    @property
    def covariance(self) -> Array:
        """Covariance matrix of the cells, flattened with the last attribute running fastest."""
        return self.covariance_of()

    @cached_property
    def score(self) -> ScoreTest | None:
        """How the estimate varies, if it is a probability."""
        return None if self.score_of is None else self.score_of()

    @property
    def design_effect(self) -> Array:
        """The variance by that of a simple random sample of as many records."""
        if self.simple is None:
            return np.ones_like(self.value)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.stderr / self.simple.stderr) ** 2)

    @property
    def n_effective(self) -> Array:
        """As many records of a simple random sample would have the same variance."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.n_records / self.design_effect)

    @property
    def fit(self) -> HypothesisTest | None:
        """Whether the reports contradict the design; None if the reports are not at hand."""
        return None if self.fit_of is None else self.fit_of()

    @property
    def reported(self) -> Array | None:
        """The same shares among the reports; None if reports have other categories."""
        return None if self.reported_of is None else self.reported_of()

    @property
    def warning(self) -> str:
        """What is suspicious about the estimate, if anything."""
        return "" if self.warning_of is None else self.warning_of()

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence limits, cell by cell; within [0, 1] for probabilities."""
        if self.interval_of is not None:
            return self.interval_of(level)
        if self.score is None:
            return normal_interval(self.value, self.stderr, level, self.df)
        return score_interval(self.score, level, self.df)

    def __float__(self) -> float:
        if self.attributes:
            raise DataError("a table is not one number; use .value")
        return float(self.value)

    def cells(self) -> list[tuple[Label, ...]]:
        """Labels of the cells, in the order of `value.ravel()`."""
        return list(itertools.product(*(a.categories for a in self.attributes)))

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The table as columns: labels, estimate, stderr, lower, upper.

        A column of labels gets underscores where an attribute is named like a column of numbers.
        """
        lower, upper = self.interval(level)
        labels = map(list, zip(*self.cells(), strict=True)) if self.attributes else ()
        numbers = dict(zip(_NUMBERS, (self.value, self.stderr, lower, upper), strict=True))
        names = free_names([a.name for a in self.attributes], numbers)
        result: dict[str, list[Any]] = dict(zip(names.values(), labels, strict=True))
        return result | {key: np.ravel(array).tolist() for key, array in numbers.items()}

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready table with method and convergence."""
        result: dict[str, Any] = {
            "name": self.name,
            "method": self.method,
            "n_records": self.n_records,
            "level": level,
            "attributes": [a.name for a in self.attributes],
            "table": self.columns(level),
        }
        if self.simple is not None:
            result["table"]["design_effect"] = np.ravel(self.design_effect).tolist()
        of_fit = ("statistic", "df", "pvalue") if self.fit is not None else ()
        further = {
            "n_left_out": self.n_left_out,
            "df": None if self.simple is None else self.df,
            "warning": self.warning,
            "convergence": None if self.convergence is None else vars(self.convergence),
            "fit": {key: getattr(self.fit, key) for key in of_fit},
        }
        return result | {key: value for key, value in further.items() if value}

    def to_table(self, level: float = 0.95) -> Table:
        """The table as a person reads it, under its caption."""
        columns = self.columns(level)
        estimates, errors, lower, upper = (columns.pop(name) for name in _NUMBERS)
        texts = map(self.value_text, estimates, errors, lower, upper)
        shown = texts, map(decimals, errors), map(span, lower, upper)
        heads = [*columns, "estimate", "std. error", f"{100 * level:g} % interval"]
        labels = [map(str, column) for column in columns.values()]
        rows = list(zip(*labels, *shown, strict=True))
        title = [misfit(self.fit), self.warning, self.caption()]
        if self.no_effect is not None and math.inf in upper:
            title.append(NO_UPPER_LIMIT)
        return Table(heads, rows, "\n".join(filter(None, title)), "l" * len(labels) + "rrr")

    def value_text(self, value: float, stderr: float, lower: float, upper: float) -> str:
        """A value as it is printed; without it where its interval is nearly all possible values."""
        if self.score is not None:
            whole = upper - lower >= _WHOLE
        elif self.no_effect == 0:
            whole = upper - lower >= 2 * _WHOLE
        else:
            whole = self.no_effect == 1 and lower <= 0 and math.isinf(upper)
        return NOT_INFORMATIVE if whole else decimals(value, stderr)

    def plot(self, level: float = 0.95) -> Figure:
        """Every estimate with its interval, beside the reported share; needs the extra `plot`."""
        return plot_estimates([self], level)

    def caption(self) -> str:
        """One line on what the table is."""
        records = number_of(self.n_records, "reported record")
        if self.n_left_out:
            records += f" ({self.n_left_out:,} without an answer left out)"
        text = f"{self.name} from {records}, by {self.method}"
        effects = self.design_effect[np.isfinite(self.design_effect)]
        if self.simple is not None and effects.size:
            low, high = f"{effects.min():.2f}", f"{effects.max():.2f}"
            text += f"; design effect {low}" + (f" to {high}" if low != high else "")
        if self.simple is not None:
            text += f"; {self.df:,.0f} degrees of freedom"
        if self.convergence is not None:
            ended = "converged" if self.convergence.converged else "NOT converged"
            text += f" ({ended} after {number_of(self.convergence.iterations, 'iteration')})"
        return f"{text}; errors by {self.errors_by}" if self.errors_by else text

    def shown(self) -> Table:
        return self.to_table().cut(_SHOWN)


def _covariance_part(whole: Estimate, positions: Index) -> Array:
    return np.asarray(whole.covariance[np.ix_(positions, positions)])


def _reported_part(whole: Estimate, positions: Index, shape: tuple[int, ...]) -> Array | None:
    reported = whole.reported
    return None if reported is None else reported.ravel()[positions].reshape(shape)


def _scaled_covariance(share: Estimate, span: float) -> Array:
    return np.asarray(span**2 * share.covariance)


def _scaled_interval(share: Estimate, low: float, span: float, level: float) -> Interval:
    return Interval(*(low + span * limit for limit in share.interval(level)))


def plot_estimates(estimates: Sequence[Estimate], level: float, shares: bool = False) -> Figure:
    """A panel per estimate; with `shares`, all are shares of people. Needs the extra `plot`."""
    with optional_imports():
        from tacit.reconstruction import plot

    return plot.plot_estimates(estimates, level, shares)


def free_names(names: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """Each name with the column it gets: its own, or underscores added until one is free.

    >>> free_names(["sex", "estimate", "estimate_"], ["estimate", "stderr"])
    {'sex': 'sex', 'estimate': 'estimate__', 'estimate_': 'estimate_'}
    """
    fixed = set(taken)
    used = fixed | set(names)
    columns = {}
    for name in names:
        column = name
        while name in fixed and column in used:
            column += "_"
        used.add(column)
        columns[name] = column
    return columns


def covariance_of_means(
    second: Array | float, first: Array | float, other: Array | float, n_records: int
) -> Array:
    """Covariance of two means over n records, from the mean of the product of their weights."""
    return np.asarray((second - first * other) / n_records)


def stderr_of_means(second: Array, mean: Array, n_records: int) -> Array:
    """Standard errors of means, from the means of the squared weights."""
    variance = covariance_of_means(second, mean, mean, n_records)
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def linear_estimate(
    blocks: Iterable[tuple[Numbers, Numbers]],
    name: str,
    attributes: tuple[Attribute, ...] = (),
    probability: bool = False,
    sample: SampleRows | None = None,
    true_products: Array | None = None,
) -> Estimate:
    """Mean weights of reports: one number, or a table with one axis per attribute.

    A block is the weights of some reports (reports x quantities, or reports for one quantity) and
    how often each report counts. Intervals are normal; those of a `probability` stay inside [0, 1]
    and assume that all true answers get the same noise. Reports of a `sample` come with the weights
    of its rows; `true_products` are described there.
    """
    parts = list(blocks) if sample is not None else blocks
    mean, covariance, n, third = mean_and_covariance(parts)
    value = mean.reshape(tuple(a.size for a in attributes))
    estimate = Estimate.of_covariance(attributes, value, covariance, n, "inversion", name)
    if probability:
        estimate = estimate.as_probability(third.reshape(value.shape))
    if sample is None:
        return estimate
    weights = np.concatenate([block.reshape(len(counts), -1) for block, counts in parts])
    covariance = sample.covariance(weights, true_products)
    return estimate.of_sample(covariance, sample.df, sample.weight_effect)


def mean_and_covariance(
    blocks: Iterable[tuple[Numbers, Numbers]],
) -> tuple[Array, Array, int, Array]:
    """Mean weights of reports, their covariance, the number of reports, and mean cubed weights."""
    n, total, squares, cubes = 0.0, np.zeros(1), np.zeros((1, 1)), np.zeros(1)
    for weights, counts in blocks:
        columns, times = weights.reshape(len(counts), -1).astype(np.float64), counts.astype(float)
        n += times.sum()
        total = total + times @ columns
        squares = squares + (columns.T * times) @ columns
        cubes = cubes + times @ columns**3
    mean, second = total / n, squares / n
    covariance = covariance_of_means(second, mean[:, None], mean, round(n))
    return mean, covariance, round(n), cubes / n


def combine(estimates: Sequence[Estimate]) -> Estimate:
    """The estimate of the same quantity from all records of independent estimates together.

    Generalised least squares: with estimates v_i and covariances C_i,

        C = (sum of C_i^-1)^-1,    v = C sum of C_i^-1 v_i.

    The designs may differ. The cells of a distribution sum to 1, so the C_i have no inverse in that
    direction; all v_i agree there, and the pseudoinverse leaves it alone. Only estimates are
    needed: organisations combine theirs without sharing records. Covariances are estimated, so the
    weights have errors, which matter only for few records. The population must be the same; nothing
    here checks it.
    """
    if not estimates:
        raise DataError("there are no estimates to combine; give at least one")
    first = estimates[0]
    for other in estimates[1:]:
        if (other.name, other.attributes) != (first.name, first.attributes):
            raise DataError(
                f"estimates of different quantities cannot be combined: {first.name}, {other.name}"
            )
        if other is first:
            raise DataError("an estimate was given twice; only independent ones can be combined")
    for estimate in estimates:
        if estimate.method != "inversion":
            raise DataError(f"only estimates by inversion can be combined, not {estimate.method}")
    start = first.value.ravel()
    inverses = [_inverse(np.atleast_2d(estimate.covariance)) for estimate in estimates]
    covariance = _inverse(np.sum(inverses, axis=0))
    pulls = [W @ (e.value.ravel() - start) for W, e in zip(inverses, estimates, strict=True)]
    value = (start + covariance @ np.sum(pulls, axis=0)).reshape(first.value.shape)
    n = sum(estimate.n_records for estimate in estimates)
    return Estimate.of_covariance(first.attributes, value, covariance, n, "inversion", first.name)


def _inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.pinv(matrix, rcond=_NULL_EIGENVALUE, hermitian=True))


def estimate_columns(
    estimates: Sequence[Estimate], level: float = 0.95, taken: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Several tables in one: the quantity, a column per attribute, the numbers.

    No column gets one of the names that are `taken`.
    """
    names = list(dict.fromkeys(a.name for estimate in estimates for a in estimate.attributes))
    heads = free_names(names, ["quantity", *_NUMBERS, *taken])
    columns: dict[str, list[Any]] = {key: [] for key in ("quantity", *heads.values(), *_NUMBERS)}
    for estimate in estimates:
        table = estimate.columns(level)
        n_cells = len(table["estimate"])
        columns["quantity"] += [estimate.name] * n_cells
        labels = dict(zip((a.name for a in estimate.attributes), table.values(), strict=False))
        for name, head in heads.items():
            columns[head] += map(text, labels[name]) if name in labels else [None] * n_cells
        for key in _NUMBERS:
            columns[key] += table[key]
    return columns
