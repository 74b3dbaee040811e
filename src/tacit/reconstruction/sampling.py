"""Samples of people: design weights, strata and clusters; how errors follow from them.

Methods for `reconstruct(..., errors=)`: `linearised` (the default), `jackknife`, `bootstrap`. Units
are clusters, or records. A stratum with one unit is an error: its variance is unknown.

Design weights, strata, clusters and population sizes are each the name of a column or, for records
in memory, one value per record. None of them may be a disguised answer: a weight that depends on a
true answer would reveal it, and a weight that depends on the report would follow chance.

Weights for `reconstruct(..., weights=)`: `poststratify` and `rake` to known totals,
`response_cells` and `response_propensity` for missing answers. The margins and cells are those of
undisguised columns: the totals of a disguised answer would have to be compared with reports.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Index, Mask
from tacit.core.design import Design, check_design
from tacit.core.label_codes import FROM_0, encode
from tacit.core.schema import Schema
from tacit.errors import DataError, unknown
from tacit.output.number_text import number_of
from tacit.records import PatternTable, check_origins, engine_of
from tacit.records.keys import ordered_keys
from tacit.records.paths import is_counts, is_remote, is_url
from tacit.records.sample import (
    Calibration,
    ErrorMethod,
    Replicate,
    SampleRows,
    SampleUnits,
    UnitTotals,
    joint_ranks,
)

__all__ = [
    "ERROR_METHODS",
    "AdjustedWeights",
    "bootstrap",
    "jackknife",
    "linearised",
    "poststratify",
    "rake",
    "response_cells",
    "response_propensity",
]


#: Units up to which a regression is fitted again. With more, a refit differs from totals by less
#: than one part in this number.
_REFITS = 2_000
#: Numbers of a block of replicates.
_ENTRIES = 1 << 22


def linearised(totals: UnitTotals) -> Array:
    """Covariance of weighted means by linearisation (Taylor series).

        V = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (t_hc - t_h)^2 / (sum w)^2

    t_hc is the total of w_i (g_i - P) over the records of unit c in stratum h, t_h the mean of
    these totals in the stratum, n_h its number of units and f_h their share of the population's
    units (Woodruff, 1971; Binder, 1983).
    """
    units = totals.units
    n = units.n_units[:, None]
    means = units.by_stratum(totals.residual) / n
    off = totals.residual - means[units.stratum]
    scale = (1 - units.fraction) * units.n_units / (units.n_units - 1)
    weighted = off * (scale[units.stratum] * units.multiplicity)[:, None]
    return np.asarray(weighted.T @ off / totals.total_weight**2)


class Jackknife:
    """Covariance of weighted means from samples that each lack one sampling unit (JKn).

        V = sum over units of (1 - f_h) (n_h - 1) / n_h (P_(hc) - P)^2

    P_(hc) is the estimate without unit c of stratum h, whose other units weigh n_h / (n_h - 1)
    times as much (Rust & Rao, 1996). Replicates of means are not computed record by record: totals
    of units are enough. A regression is fitted again without each unit.
    """

    def __call__(self, totals: UnitTotals) -> Array:
        units = totals.units
        both = np.column_stack([totals.residual, totals.weight])
        strata = units.by_stratum(both)
        more = (units.n_units / (units.n_units - 1))[units.stratum][:, None]
        stratum = strata[units.stratum]
        without = strata.sum(axis=0) - stratum + more * (stratum - both)
        off = without[:, :-1] / without[:, -1:]
        weighted = off * self._scales(units)[:, None]
        return np.asarray(weighted.T @ off)

    def resamples(self, units: SampleUnits) -> Iterator[Replicate] | None:
        """The sample without each unit; None if there are more than 2,000."""
        if len(units.stratum) > _REFITS:
            return None
        return (self._without(units, unit) for unit in range(len(units.stratum)))

    def _without(self, units: SampleUnits, unit: int) -> Replicate:
        stratum, times = units.stratum[unit], units.multiplicity[unit]
        n = units.n_units[stratum]
        factors = np.where(units.stratum == stratum, n / (n - 1), 1.0)
        factors[unit] *= (times - 1) / times
        return Replicate(factors, float(self._scales(units)[unit]))

    @staticmethod
    def _scales(units: SampleUnits) -> Array:
        scale = (1 - units.fraction) * (units.n_units - 1) / units.n_units
        return np.asarray(scale[units.stratum] * units.multiplicity)

    def __str__(self) -> str:
        return "jackknife"


jackknife = Jackknife()


@dataclass(frozen=True)
class bootstrap:  # noqa: N801 - used like the functions linearised and jackknife
    """Covariance of weighted means from resampled sampling units.

    Each replicate draws n_h - 1 of the n_h units of a stratum with replacement; a unit that is
    drawn m times weighs

        1 + sqrt(1 - f_h) (m n_h / (n_h - 1) - 1)

    times as much (Rao & Wu, 1988; Rao, Wu & Yue, 1992). The same seed gives the same replicates.
    """

    replicates: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.replicates, int) or self.replicates < 2:
            raise DataError(f"replicates must be a whole number above 1, got {self.replicates!r}")

    def __call__(self, totals: UnitTotals) -> Array:
        rng = np.random.default_rng(self.seed)
        both = np.column_stack([totals.residual, totals.weight])
        step = max(1, _ENTRIES // len(both))
        covariance = np.zeros((totals.residual.shape[1],) * 2)
        for start in range(0, self.replicates, step):
            n = min(step, self.replicates - start)
            sums = _factors(totals.units, n, rng) @ both
            off = sums[:, :-1] / sums[:, -1:]
            covariance += off.T @ off
        return np.asarray(covariance / self.replicates)

    def resamples(self, units: SampleUnits) -> Iterator[Replicate]:
        """The resampled samples."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.replicates):
            factors = _factors(units, 1, rng)[0] / units.multiplicity
            yield Replicate(factors, 1 / self.replicates)

    def __str__(self) -> str:
        return f"bootstrap of {self.replicates:,} replicates"


def _factors(units: SampleUnits, replicates: int, rng: np.random.Generator) -> Array:
    """The sum of the factors of the records that each row of units stands for."""
    factors = np.empty((replicates, len(units.stratum)))
    for h, n in enumerate(units.n_units):
        members = np.flatnonzero(units.stratum == h)
        times = units.multiplicity[members]
        drawn = rng.multinomial(round(n) - 1, times / times.sum(), replicates)
        reach = np.sqrt(1 - units.fraction[h])
        factors[:, members] = times + reach * (drawn * n / (n - 1) - times)
    return factors


#: Every method by its name on the command line.
ERROR_METHODS: dict[str, ErrorMethod] = {
    "linearised": linearised,
    "jackknife": jackknife,
    "bootstrap": bootstrap(),
}


#: Values of one column: an Arrow array.
ArrowColumn = Any

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampling:
    """How the respondents were sampled, as given.

    What is computed from a sample is a subclass with its own arguments, see `function_of`.
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None
    fpc: Any = None
    errors: ErrorMethod = linearised

    def __post_init__(self) -> None:
        if not callable(self.errors):
            raise DataError(
                "errors must be linearised, jackknife or bootstrap() of "
                f"tacit.reconstruction.sampling, got {self.errors!r}"
            )

    def __bool__(self) -> bool:
        """Whether anything was given."""
        return any(value is not None for value in self._given.values())

    @property
    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("weights", "strata", "clusters", "fpc")}

    @property
    def columns(self) -> list[str]:
        """The names of columns."""
        given = (value for value in self._given.values() if isinstance(value, str))
        return list(dict.fromkeys(given))

    @property
    def by_name(self) -> bool:
        """Whether all that varies between records is given by the names of columns."""
        values = (self.weights, self.strata, self.clusters)
        return all(value is None or isinstance(value, str) for value in values)

    def check(self, design: Design) -> None:
        """Raise for a disguised answer."""
        for argument, value in self._given.items():
            if isinstance(value, str):
                check_undisguised(design, value, f"{argument}={value!r}")


def function_of(arguments: Callable[P, S], method: Callable[[S], R]) -> Callable[P, R]:
    """A function with the name and text of a method, and the arguments of its dataclass.

    So functions that take a sample state all of its arguments, which are written once.
    """

    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        return method(arguments(*args, **kwargs))

    update_wrapper(function, method)
    function.__qualname__ = function.__name__
    returns = signature(method).return_annotation
    function.__signature__ = signature(arguments).replace(return_annotation=returns)  # type: ignore[attr-defined]
    return function


def check_undisguised(design: Design, name: str, where: str) -> None:
    """Raise if this column is a disguised answer."""
    if name in design.schema and not design.is_exact(name):
        raise DataError(
            f"{where}: {name!r} is a disguised answer; a sampling weight must not depend on one: "
            "with the true answer it would reveal it, with the report it would follow chance. Use "
            "what was known before the question, such as a region"
        )


def _at_record(bad: Mask) -> str:
    return f"at record {int(bad.argmax())} {FROM_0}"


def labels_of(
    column: ArrowColumn, name: str, where: Callable[[Mask], str] = _at_record
) -> tuple[Index, list[Any]]:
    """The code of each record's label, and the labels; an error if one is missing."""
    from tacit.core import frames

    cells = frames.distinct(column)
    absent = np.array([value is None for value in cells.values])[cells.positions]
    if absent.any():
        raise DataError(f"{name}: missing {where(absent)}; every record needs a value")
    used, codes = np.unique(cells.positions, return_inverse=True)
    return codes.astype(np.intp), [cells.values[i] for i in used]


class SampleData:
    """The values of a sampling design, one per record or per counted row of records."""

    def __init__(self, sampling: Sampling, table: Any, n: int, number: Array | None = None) -> None:
        """`table` has the columns, as Arrow arrays by name; `number` the records of each row."""
        self._sampling, self._table, self._n = sampling, table, n
        self._counted = number is not None
        self.number = np.ones(n) if number is None else number.astype(np.float64)

    @classmethod
    def of_frame(cls, sampling: Sampling, frame: Any) -> SampleData:
        """Those of an opened frame, or of an array of codes, which has no columns."""
        columns: dict[str, Any] = {}
        if not isinstance(frame, np.ndarray):
            from tacit.core import frames

            columns = dict.fromkeys(frame.columns)
            named = [name for name in sampling.columns if name in columns]
            columns |= {name: frames.column(frame, name) for name in named}
        return cls(sampling, columns, len(frame))

    def rows(self) -> SampleRows:
        """The sample, a row per record."""
        weight = self.design_weights()
        stratum, strata = self._categories("strata")
        unit, n_units = self._clusters(stratum, strata)
        fraction = self._fractions(stratum, strata, n_units)
        scaled = weight * (self.number.sum() / (weight @ self.number))
        rows = SampleRows(
            stratum=stratum,
            unit=unit,
            number=self.number,
            weight=scaled * self.number,
            square=scaled**2 * self.number,
            full=scaled * self.number,
            n_units=n_units,
            fraction=fraction,
            errors=self._sampling.errors,
            calibration=getattr(self._sampling.weights, "calibration", None),
        )
        answered = getattr(self._sampling.weights, "answered", None)
        return rows if answered is None else rows.restricted(answered)

    def design_weights(self) -> Array:
        """The weight of each record, checked."""
        values = self._sampling.weights
        if values is None:
            return np.ones(self._n)
        weights = self._numbers("weights", values)
        for bad, what in (
            (~np.isfinite(weights), "is missing or not finite"),
            (weights == 0, "is 0"),
            (weights < 0, "is negative"),
        ):
            if bad.any():
                raise DataError(
                    f"weights: the sampling weight {what} {self._where(bad)}; every weight must be "
                    "a number above 0: leave out records that are not in the sample"
                )
        return weights

    def _numbers(self, argument: str, values: Any) -> Array:
        from tacit.core import frames

        if not isinstance(values, str):
            try:
                numbers = np.asarray(values, np.float64)
            except (TypeError, ValueError):
                raise DataError(f"{argument} must be numbers or the name of a column") from None
            self._check_length(argument, numbers)
            return numbers
        array = self._column(argument, values)
        if not frames.is_numeric(array):
            raise DataError(f"{argument}={values!r}: the column has no numbers")
        return frames.numbers(array)

    def _categories(self, argument: str) -> tuple[Index, list[Any]]:
        """The place of each record's label, and the labels."""
        import pyarrow as pa

        values = getattr(self._sampling, argument)
        if values is None:
            return np.zeros(self._n, np.intp), [None]
        if isinstance(values, str):
            array = self._column(argument, values)
        else:
            self._check_length(argument, np.asarray(values))
            try:
                array = pa.array(values)
            except pa.ArrowException as error:
                raise DataError(f"{argument} must be labels, one per record: {error}") from None
        return labels_of(array, argument, self._where)

    def _clusters(self, stratum: Index, strata: list[Any]) -> tuple[Index | None, Array]:
        """The cluster of each record, and the number of sampling units of each stratum."""
        unit = None
        if self._sampling.clusters is None:
            n_units = np.bincount(stratum, self.number, len(strata)).astype(np.float64)
        else:
            first, unit = joint_ranks([stratum, self._categories("clusters")[0]])
            n_units = np.bincount(stratum[first], minlength=len(strata)).astype(np.float64)
        if n_units.min() < 2:
            lonely = strata[int(n_units.argmin())]
            where = "the sample" if lonely is None else f"stratum {lonely!r}"
            raise DataError(
                f"{where} has one {self._unit}, so the variance within it is unknown; join it "
                "with a similar stratum"
            )
        return unit, n_units

    @property
    def _unit(self) -> str:
        return "record" if self._sampling.clusters is None else "cluster"

    def _fractions(self, stratum: Index, strata: list[Any], n_units: Array) -> Array:
        """The share of the population's units that were sampled, in each stratum."""
        given = self._sampling.fpc
        if given is None:
            return np.zeros(len(strata))
        sizes = self._populations(given, stratum, strata)
        for label, size, sampled in zip(strata, sizes, n_units, strict=True):
            if not np.isfinite(size) or size < sampled:
                what = number_of(round(sampled), self._unit)
                where = "" if label is None else f" of stratum {label!r}"
                raise DataError(
                    f"fpc: the population{where} has {size:,.6g}, fewer than the {what} sampled; "
                    "give the number of sampling units in the population of each stratum"
                )
        return np.asarray(n_units / sizes)

    def _populations(self, given: Any, stratum: Index, strata: list[Any]) -> Array:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return np.full(len(strata), float(given))
        if isinstance(given, Mapping):
            for label in strata:
                if label not in given:
                    raise DataError(f"fpc has no population size of {label!r}")
            return np.array([float(given[label]) for label in strata])
        by_record = self._numbers("fpc", given)
        sizes = np.full(len(strata), np.nan)
        sizes[stratum] = by_record
        if not np.array_equal(sizes[stratum], by_record):
            raise DataError(
                "fpc: the population size must be the same for all records of a stratum"
            )
        return sizes

    def _column(self, argument: str, name: str) -> ArrowColumn:
        if name not in self._table:
            raise DataError(f"{argument}: {unknown('column', name, list(self._table))}")
        return self._table[name]

    def _check_length(self, argument: str, values: Any) -> None:
        if values.shape != (self._n,) or self._counted:
            raise DataError(
                f"{argument} must be the name of a column, or one value for each of the "
                f"{self._n:,} records in memory; got shape {values.shape}"
            )

    def _where(self, bad: Mask) -> str:
        if self._counted:
            return f"for {number_of(round(float(self.number[bad].sum())), 'record')}"
        return _at_record(bad)


def count_sampled(
    reported: Any, design: Design, sampling: Sampling, schema: Schema
) -> PatternTable:
    """Patterns by a schema with sums of weights by stratum and cluster.

    Records are joined where pattern, stratum, cluster and (without clusters) weight are the same.
    """
    from tacit.core import frames

    sampling.check(design)
    if isinstance(reported, PatternTable) or is_counts(reported):
        raise DataError(
            "counts have no sampling weights, strata or clusters; give the reported records"
        )
    if isinstance(reported, str) or hasattr(reported, "__fspath__") or is_remote(reported):
        if not is_remote(reported) and not is_url(reported):
            check_origins(reported, design)
        by = engine_of(reported, schema, design=design).patterns_by(sampling.columns)
        columns = {name: by.columns.column(name) for name in sampling.columns}
        listed = by.in_order and bool((by.patterns.counts == 1).all())
        number = None if listed else by.patterns.counts
        codes = by.patterns.patterns
        data = SampleData(sampling, columns, len(by.patterns), number)
    else:
        codes = encode(reported, schema)
        frame = reported if isinstance(reported, np.ndarray) else frames.open_frame(reported)
        data = SampleData.of_frame(sampling, frame)
    sample = data.rows()
    keys = np.unique(ordered_keys(codes, schema.sizes), return_inverse=True)[1]
    first, which = joint_ranks([keys, *sample.keys()])
    return PatternTable.of_sample(schema, codes[first], sample.joined(first, which))


#: Raking ends when every margin agrees within this share.
_CLOSE, _ROUNDS = 1e-10, 10_000
#: Totals of two margins may differ by this share.
_SAME = 1e-6
#: Newton's steps of a logit; chances of an answer below the second are no base for a weight.
_STEPS, _LEAST = 100, 1e-3


@dataclass(frozen=True, eq=False)
class AdjustedWeights:
    """One weight per record, for `reconstruct(..., weights=)` on the same records.

    `numpy.asarray` gives the numbers. `calibration` makes errors smaller, because known totals do
    not vary; records that are not `answered` are left out.
    """

    values: Array
    calibration: Calibration | None = None
    answered: Mask | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype)


def _opened(
    data: Any, design: Design, names: Sequence[str], what: str, weights: Any
) -> tuple[Any, list[Any], Array]:
    """Records in memory or of a file as a frame, undisguised columns, and their design weights.

    The weights are 1 if there are none.
    """
    from tacit.core import frames

    check_design(design)
    if isinstance(data, np.ndarray):
        raise DataError("an array of codes has no undisguised columns; give a frame")
    if isinstance(data, str | os.PathLike):
        from tacit.records import read_frame  # Arrow is slow to start

        data = read_frame(Path(data))
    frame = frames.open_frame(data)
    if isinstance(names, str) or not len(names):
        raise DataError(f"{what} must be a list of at least one column, got {names!r}")
    for name in names:
        if name not in frame.columns:
            raise DataError(f"{what}: {unknown('column', name, frame.columns)}")
        check_undisguised(design, name, what)
    sampling = Sampling(weights=weights)
    sampling.check(design)
    start = SampleData.of_frame(sampling, frame).design_weights()
    return frame, [frames.column(frame, name) for name in names], start


class _Cells:
    """The cell of each record; the code of each cell and all labels, by column."""

    def __init__(self, names: Sequence[str], columns: Sequence[Any]) -> None:
        named = zip(names, columns, strict=True)
        labelled = [labels_of(column, f"column {name!r}") for name, column in named]
        first, self.cell = joint_ranks([codes for codes, _ in labelled])
        self.codes = [codes[first] for codes, _ in labelled]
        self.labels = [labels for _, labels in labelled]

    @property
    def tuples(self) -> list[tuple[Any, ...]]:
        """The labels of each cell."""
        columns = zip(self.codes, self.labels, strict=True)
        return list(zip(*([labels[i] for i in codes] for codes, labels in columns), strict=True))


def poststratify(
    data: Any, design: Design, by: Sequence[str], totals: Mapping[Any, float], weights: Any = None
) -> AdjustedWeights:
    """Weights that give every cell of undisguised columns its known total.

        w_i -> w_i F(cell of i),    so that sum of w over each cell = its known total

    The known totals do not vary from sample to sample: errors are those of the residuals of a
    weighted regression of the weights of reports on the cells (Deville & Särndal, 1992), with any
    method of errors.

    `totals` maps a label, or a tuple of labels if there are several columns, to the number or the
    share of people in the population. `weights` are design weights to start from.
    """
    _, columns, start = _opened(data, design, by, "by", weights)
    cells = _Cells(by, columns)
    labels = cells.tuples if len(by) > 1 else [label for (label,) in cells.tuples]
    cell_totals = _totals(", ".join(by), labels, totals)
    return _raked(start, cells.cell, [np.arange(len(cell_totals))], [cell_totals])


def rake(
    data: Any, design: Design, margins: Mapping[str, Mapping[Any, float]], weights: Any = None
) -> AdjustedWeights:
    """Weights that give every category of some undisguised columns its known total.

    The margins are met one after the other until all hold (Deming & Stephan, 1940). Errors are as
    in `poststratify`.

    `margins` maps a column to the numbers or shares of people by label.
    """
    if not isinstance(margins, Mapping) or not margins:
        raise DataError(f"margins must map columns to totals by label, got {margins!r}")
    names = list(margins)
    _, columns, start = _opened(data, design, names, "margins", weights)
    cells = _Cells(names, columns)
    named = zip(names, cells.labels, strict=True)
    totals = [_totals(name, labels, margins[name]) for name, labels in named]
    sums = [float(column.sum()) for column in totals]
    for name, total in zip(names, sums, strict=True):
        if abs(total - sums[0]) > _SAME * sums[0]:
            raise DataError(
                f"the totals of {names[0]!r} sum to {sums[0]:,.6g}, those of {name!r} to "
                f"{total:,.6g}; they must be the same population"
            )
    return _raked(start, cells.cell, cells.codes, totals)


def _totals(name: str, labels: Sequence[Any], totals: Mapping[Any, float]) -> Array:
    """The total of each label that occurs, checked."""
    if not isinstance(totals, Mapping):
        raise DataError(f"{name}: totals must map labels to numbers, got {totals!r}")
    for label in labels:
        if label not in totals:
            raise DataError(f"{name}: {unknown('label', label, totals, ' in the records')}")
    for label, total in totals.items():
        number = isinstance(total, int | float | np.number) and math.isfinite(total)
        if not number or total <= 0:
            raise DataError(f"{name}: the total of {label!r} must be above 0, got {total!r}")
        if label not in labels:
            raise DataError(
                f"{name}: no record has {label!r}, so no weight can give it its total; join it "
                "with another category"
            )
    return np.array([float(totals[label]) for label in labels])


def _raked(
    start: Array, cell: Index, codes: Sequence[Index], totals: Sequence[Array]
) -> AdjustedWeights:
    """Weights of records in cells with which all margins agree; each has a code per cell."""
    weights = np.bincount(cell, start).astype(np.float64)
    factors = np.ones(len(weights))
    for _ in range(_ROUNDS):
        off = 0.0
        for column, total in zip(codes, totals, strict=True):
            ratio = total / np.bincount(column, weights * factors, len(total))
            off = max(off, float(np.abs(ratio - 1).max()))
            factors = factors * ratio[column]
        if off < _CLOSE:
            margins = [np.eye(len(t))[of_cell] for t, of_cell in zip(totals, codes, strict=True)]
            calibration = Calibration(cell, np.concatenate(margins, axis=1))
            return AdjustedWeights(start * factors[cell], calibration)
    raise DataError(
        "raking did not converge: no weights agree with all margins; join categories with few "
        "records"
    )


def response_cells(
    data: Any, design: Design, items: Sequence[str], by: Sequence[str], weights: Any = None
) -> AdjustedWeights:
    """Weights by the share of people with answers to all `items` in each cell of columns `by`.

        w_i -> w_i / P(answer | undisguised columns)

    These weighting classes remove the bias of missing answers if people with the same columns
    answer independently of what they would answer (Little, 1986). Errors take the weights as given,
    which is usually conservative.

    `weights` are design weights to start from. Records without these answers are left out of every
    estimate that uses the result.
    """
    frame, columns, start = _opened(data, design, by, "by", weights)
    cells, answered = _Cells(by, columns), _answered(frame, design, items)
    share = np.bincount(cells.cell, start * answered) / np.bincount(cells.cell, start)
    if share.min() == 0:
        labels = cells.tuples[int(share.argmin())]
        where = ", ".join(f"{name} = {label}" for name, label in zip(by, labels, strict=True))
        raise DataError(f"nobody answered where {where}; join this cell with a similar one")
    return AdjustedWeights(np.where(answered, start / share[cells.cell], start), answered=answered)


def response_propensity(
    data: Any, design: Design, items: Sequence[str], by: Sequence[str], weights: Any = None
) -> AdjustedWeights:
    """Weights by a logit of having answers to all `items` on columns `by`, without interactions.

    It is the propensity to answer (Rosenbaum & Rubin, 1983).

    Numbers enter as they are, other columns as categories. The rest is as in `response_cells`.
    """
    frame, columns, start = _opened(data, design, by, "by", weights)
    answered = _answered(frame, design, items)
    parts = [_terms(column, name) for name, column in zip(by, columns, strict=True)]
    chance = _fitted(np.column_stack([np.ones(len(start)), *parts]), answered, start)
    if chance.min() < _LEAST:
        raise DataError(
            "some people had almost no chance to answer; use fewer columns, or join categories"
        )
    return AdjustedWeights(np.where(answered, start / chance, start), answered=answered)


def _answered(frame: Any, design: Design, items: Sequence[str]) -> Mask:
    from tacit.core import frames

    if isinstance(items, str) or not len(items):
        raise DataError(f"items must be a list of attributes, got {items!r}")
    reported = design.channel(design.jointly_reported(items)).reported.names
    absent = np.zeros(len(frame), bool)
    for name in reported:
        seen = frames.distinct(frames.column(frame, name))
        absent |= np.array([value is None for value in seen.values])[seen.positions]
    if absent.all():
        raise DataError(f"nobody answered {', '.join(items)}")
    return np.asarray(~absent)


def _terms(column: Any, name: str) -> Array:
    """A column of numbers, scaled, or indicators of all categories but the first."""
    from tacit.core import frames

    if frames.is_numeric(column):
        values = frames.numbers(column)
        if not np.isfinite(values).all():
            raise DataError(f"column {name!r}: a number is missing or infinite")
        spread = float(values.std())
        return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))[:, None]
    codes, labels = labels_of(column, f"column {name!r}")
    return np.eye(len(labels))[codes][:, 1:]


def _fitted(matrix: Array, answered: Mask, weights: Array) -> Array:
    """Chances of an answer by weighted maximum likelihood, with Newton's method."""
    slopes = np.zeros(matrix.shape[1])
    weights = weights / weights.mean()
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ slopes, -30, 30)))
        score = matrix.T @ (weights * (answered - chance))
        information = (matrix.T * (weights * chance * (1 - chance))) @ matrix
        step = np.linalg.lstsq(information, score, rcond=None)[0]
        slopes = slopes + step * min(1.0, 5 / max(float(np.abs(step).max()), TINY))
        if float(score @ step) < _CLOSE:
            return np.asarray(chance)
    raise DataError(
        "the model of who answers did not converge: some columns tell it with certainty; use "
        "fewer columns, or cells"
    )
