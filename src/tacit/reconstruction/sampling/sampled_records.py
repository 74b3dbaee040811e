"""Count the reported records of a sample, wherever they are, with their design weights.

Design weights, strata, clusters and population sizes are each the name of a column or, for records
in memory, one value per record. None of them may be a disguised answer: a weight that depends on a
true answer would reveal it, and a weight that depends on the report would follow chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.design import Design
from tacit.core.label_codes import FROM_0, encode
from tacit.core.schema import Schema
from tacit.errors import DataError, unknown
from tacit.output.number_text import number_of
from tacit.reconstruction.sampling.error_methods import linearised
from tacit.records import PatternTable, check_origins, engine_of
from tacit.records.keys import ordered_keys
from tacit.records.paths import is_counts, is_remote, is_url
from tacit.records.sample import ErrorMethod, SampleRows, joint_ranks

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
    reported: Any, design: Design, sampling: Sampling, schema: Schema | None = None
) -> PatternTable:
    """Patterns with sums of weights by stratum and cluster; `schema` if not the design's."""
    sampling.check(design)
    schema = design.reported if schema is None else schema
    if isinstance(reported, PatternTable) or is_counts(reported):
        raise DataError(
            "counts have no sampling weights, strata or clusters; give the reported records"
        )
    if isinstance(reported, str) or hasattr(reported, "__fspath__") or is_remote(reported):
        return _counted(reported, design, sampling, schema)
    from tacit.core import frames

    codes = encode(reported, schema)
    frame = reported if isinstance(reported, np.ndarray) else frames.open_frame(reported)
    return _grouped(schema, codes, SampleData.of_frame(sampling, frame).rows())


def _counted(reported: Any, design: Design, sampling: Sampling, schema: Schema) -> PatternTable:
    """The same through an engine, which counts by the columns of the sampling design."""
    if not is_remote(reported) and not is_url(reported):
        check_origins(reported, design)
    engine = engine_of(reported, schema, design=design)
    by = engine.patterns_by(sampling.columns)
    columns = {name: by.columns.column(name) for name in sampling.columns}
    listed = by.in_order and bool((by.patterns.counts == 1).all())
    number = None if listed else by.patterns.counts
    sample = SampleData(sampling, columns, len(by.patterns), number).rows()
    return _grouped(schema, by.patterns.patterns, sample)


def _grouped(schema: Schema, codes: Codes, sample: SampleRows) -> PatternTable:
    """Records joined where pattern, stratum, cluster and (without clusters) weight are the same."""
    keys = np.unique(ordered_keys(codes, schema.sizes), return_inverse=True)[1]
    first, which = joint_ranks([keys, *sample.keys()])
    return PatternTable.of_sample(schema, codes[first], sample.joined(first, which))
