"""Columns of a regression, formulas such as "smokes ~ age + C(region)", and model matrices.

A column has numbers, or categories with their order. A truthful attribute of the design keeps the
order of its categories; one whose labels are numbers is a number. Text is sorted; a categorical
column keeps its own order. Categories that no record uses are dropped, because their coefficients
could not be estimated.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index, Mask
from tacit.core.imports import optional_imports
from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, unknown

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers; NaN where a cell is missing."""

    values: npt.NDArray[Any]

    @property
    def missing(self) -> Mask:
        """Whether each cell is missing."""
        return np.asarray(np.isnan(self.values))

    def take(self, used: Mask) -> NumberColumn:
        """The column of these records."""
        return NumberColumn(self.values[used])


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Categories, and the code of each record; -1 where a cell is missing.

    `ordered` says whether the order of the categories means something.
    """

    categories: tuple[Label, ...]
    codes: npt.NDArray[np.signedinteger[Any]]
    ordered: bool = True

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def missing(self) -> Mask:
        """Whether each cell is missing."""
        return self.codes < 0

    def take(self, used: Mask) -> CategoryColumn:
        """The column of these records, without the categories that none of them uses."""
        codes = self.codes[used]
        present = np.unique(codes[codes >= 0])
        lookup = np.full(len(self.categories) + 1, -1, np.int32)
        lookup[present] = np.arange(len(present))
        names = tuple(self.categories[code] for code in present)
        return CategoryColumn(names, lookup[codes], self.ordered)


Column = NumberColumn | CategoryColumn


def plain_column(frame: nw.DataFrame[Any], name: str) -> Column:
    """A column that is no attribute of the design."""
    import pyarrow as pa

    from tacit.core import frames

    array = frames.column(frame, name)
    if frames.is_numeric(array):
        values = frames.numbers(array)
        if np.isinf(values).any():
            record = int(np.isinf(values).argmax())
            raise DataError(f"column {name!r}: infinite at record {record} (counting from 0)")
        whole = pa.types.is_integer(array.type) and not np.isnan(values).any()
        return NumberColumn(values.astype(np.int64) if whole else values)
    seen = frames.distinct(array)
    labels = sorted({value for value in seen.values if value is not None})
    if pa.types.is_dictionary(array.type):
        labels = list(dict.fromkeys(value for value in seen.values if value is not None))
    codes = {label: code for code, label in enumerate(labels)}
    lookup = np.array([codes.get(value, -1) for value in seen.values], np.int32)
    ordered = frames.is_ordered(array) or len(labels) < 3
    return CategoryColumn(tuple(labels), lookup[seen.positions], ordered)


def numbers_of(attribute: Attribute) -> Array | None:
    """The labels of an attribute as numbers; None if they are none."""
    kinds = {type(label) for label in attribute.categories}
    numeric = kinds <= {int, float} or kinds == {bool}
    return np.array(attribute.categories, np.float64) if numeric else None


def as_categories(column: Column) -> CategoryColumn:
    """A column of numbers as categories, in increasing order."""
    if isinstance(column, CategoryColumn):
        return column
    labels, codes = np.unique(column.values, return_inverse=True)
    return CategoryColumn(tuple(labels.tolist()), codes)


#: A disguised attribute as a category: C(name), or C(name, contrast).
_CATEGORY = re.compile(r"C\(\s*`?(?P<name>.+?)`?\s*(?:,.*)?\)", re.DOTALL)
#: A term whose coefficient is 1.
OFFSET = "offset"
#: Transforms of formulaic whose columns depend on all records, which must be counted for them.
_LEARNING = frozenset({"poly", "bs", "cr", "cs", "cc", "center", "scale", "standardize"})
_COLOUR = re.compile(r"\x1b\[[0-9;]*m|[⧛⧚]")


@dataclass(frozen=True, eq=False)
class FormulaText:
    """The outcome, the right side as formulaic has it or as factors, and the names that it uses.

    `categories` are those that it uses as C(name) only; `offsets` are terms such as offset(name).
    `learns` says whether a transform such as center() learns from the records.
    """

    outcome: str
    right: Any
    names: tuple[str, ...]
    categories: frozenset[str]
    offsets: frozenset[str]
    learns: bool


def parsed(formula: str, available: Collection[str], disguised: Collection[str]) -> FormulaText:
    """Parse a formula of available names; what is disguised may only be a category."""
    with optional_imports():
        import formulaic
        import formulaic.errors
        import pandas  # noqa: F401
    if not isinstance(formula, str):
        raise DataError(f"the formula must be a text such as 'smokes ~ age', got {formula!r}")
    left, _, right = formula.partition("~")
    outcome = left.strip().strip("`")
    if not outcome or not right.strip() or "~" in right:
        raise DataError(
            f"the formula must have the form 'outcome ~ covariates', got {formula!r}; "
            "to use a matrix of covariates, give covariates="
        )
    if outcome not in available:
        raise DataError(unknown("outcome", outcome, available, " in the formula"))
    try:
        terms = formulaic.Formula(right.strip())
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        raise DataError(f"the formula {formula!r} cannot be read: {_one_line(error)}") from None
    if not isinstance(terms, formulaic.SimpleFormula):
        raise DataError(f"the formula {formula!r} has several parts; give one model")
    uses = _uses(terms, available)
    needed = set().union(*uses.values())
    for name in sorted(needed):
        if name not in available:
            raise DataError(unknown("name", name, available, " in the formula"))
    if outcome in needed:
        raise DataError(f"{outcome!r} is on both sides of the formula {formula!r}")
    _check_uses(uses, needed & set(disguised))
    other = {name for expression, used in uses.items() for name in used if not _by_c(expression)}
    learns = any(call in _LEARNING for expression in uses for call in _calls(expression))
    names, categories = tuple(sorted(needed)), frozenset(needed - other)
    return FormulaText(outcome, terms, names, categories, _offsets(terms), learns)


def _uses(terms: Any, available: Collection[str]) -> dict[str, set[str]]:
    """The names in each expression of the formula, without those of transforms.

    formulaic itself lists no names within transforms that learn from the records.
    """
    from formulaic.transforms import TRANSFORMS
    from formulaic.utils.variables import Variable, get_required_variables

    functions = {*TRANSFORMS, OFFSET}
    uses = {}
    for factor in (factor for term in terms for factor in term.factors):
        names = {str(factor.expr)} if factor.eval_method.value == "lookup" else set()
        if factor.eval_method.value == "python":
            for variable in get_required_variables(factor.expr):
                name, value = str(variable.root), Variable.Role.VALUE in variable.root.roles
                if name not in functions or (value and name in available):
                    names.add(name)
        uses[str(factor.expr)] = names
    return uses


def _calls(expression: str) -> list[str]:
    return re.findall(r"(\w+)\s*\(", expression)


def _offsets(terms: Any) -> frozenset[str]:
    """The expressions of the form offset(...); each is a term of its own."""
    offsets = set()
    for term in terms:
        expressions = [str(factor.expr) for factor in term.factors]
        if any(OFFSET in _calls(expression) for expression in expressions):
            if len(expressions) > 1 or not expressions[0].startswith(f"{OFFSET}("):
                raise DataError(f"{':'.join(expressions)}: offset() must be a term of its own")
            offsets.add(expressions[0])
    return frozenset(offsets)


def _by_c(expression: str) -> str | None:
    """The name in C(name)."""
    match = _CATEGORY.fullmatch(expression)
    return match["name"] if match else None


def _check_uses(uses: dict[str, set[str]], disguised: Collection[str]) -> None:
    """A disguised attribute may only be a category: a transform would be one of its report."""
    for expression, used in uses.items():
        hidden = sorted(used & set(disguised))
        if hidden and expression != hidden[0] and _by_c(expression) not in hidden:
            name = hidden[0]
            raise DataError(
                f"{name!r} is disguised, so {expression!r} would be computed from reports, not "
                f"from true answers; it may only be a category: {name} or C({name})"
            )


def _one_line(error: Exception) -> str:
    """The message of formulaic without colours and line breaks."""
    return " ".join(_COLOUR.sub("", str(error)).split())


INTERCEPT = "Intercept"
#: Records from which a transform may learn, if they were counted.
_MOST_RECORDS = 10_000_000


@dataclass(frozen=True, eq=False)
class Change:
    """Two versions of all records, and the distance between them: 1, or that of a derivative."""

    name: str
    before: tuple[Array, ...]
    after: tuple[Array, ...]
    distance: float = 1.0


@dataclass(frozen=True, eq=False)
class MatrixTerms:
    """Columns that were given; a constant is among them only if it was given."""

    names: tuple[str, ...]
    #: The model matrix of the records, for each cell of the disguised predictors: there are none.
    matrices: tuple[Array]
    disguised: ClassVar[tuple[Attribute, ...]] = ()
    #: Whether the last column of the matrices is an offset, which has no name.
    has_offset: ClassVar[bool] = False

    def new_matrix(self, true: Any) -> Array:
        """The model matrix of other records, whose true answers are known."""
        (matrix,) = matrix_terms(true).matrices
        if matrix.shape[1] != len(self.names):
            raise DataError(f"need {len(self.names)} covariates, got {matrix.shape[1]}")
        return matrix

    def changes(self) -> Iterator[Change]:
        """What marginal effects compare, one after the other: each has copies of all records."""
        (matrix,) = self.matrices
        for i, column in enumerate(matrix.T):
            if np.ptp(column) > 0:
                step = 1e-5 * float(column.std())
                shift = step * np.eye(len(self.names))[i]
                low, high = matrix - shift, matrix + shift
                yield Change(self.names[i], (low,), (high,), 2 * step)


def matrix_terms(covariates: Any) -> MatrixTerms:
    """Covariates given as a mapping or frame of named columns, or as an array."""
    from tacit.core import frames

    names: tuple[str, ...] = ()
    if isinstance(covariates, np.ndarray | list | tuple):
        columns: Any = np.asarray(covariates)
        columns = columns[:, None] if columns.ndim == 1 else columns
        names = tuple(f"x{i + 1}" for i in range(columns.shape[-1]))
    else:
        given = covariates
        if not isinstance(covariates, Mapping):
            frame = frames.open_frame(covariates)
            given = {n: frames.numbers(frames.column(frame, n)) for n in frame.columns}
        names = tuple(str(name) for name in given)
        columns = np.column_stack([np.asarray(column) for column in given.values()])
    if columns.ndim != 2 or columns.dtype.kind not in "iufb" or not columns.shape[1]:
        raise DataError(
            "covariates must be numbers, records x covariates: an array, or a mapping of names to "
            f"columns; got {columns.dtype} of shape {columns.shape}"
        )
    matrix = np.ascontiguousarray(columns, np.float64)
    _check_finite(matrix, names)
    return MatrixTerms(names, (matrix,))


@dataclass(frozen=True)
class Factors:
    """Categorical predictors with their reference categories, instead of a formula.

    Each category but the reference has a coefficient; an interaction has one per pair of these.

    >>> Factors({"site": "north", "age": "18-29"}, [("site", "age")]).interactions
    [('site', 'age')]
    """

    references: Mapping[str, Label]
    interactions: Sequence[tuple[str, str]] = ()

    def coded(self, columns: Mapping[str, Column], intercept: bool) -> tuple[list[str], Array]:
        """The names and the model matrix of these columns."""
        dummies = {name: self._dummies(name, columns[name]) for name in self.references}
        parts = [*dummies.values()]
        for pair in self.interactions:
            if len({*pair}) < 2 or not {*pair} <= dummies.keys():
                raise DataError(f"an interaction is of two different predictors, got {pair!r}")
            (first, left), (second, right) = (dummies[name] for name in pair)
            products = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
            parts.append(([f"{a}:{b}" for a in first for b in second], products))
        if intercept:
            parts.insert(0, ([INTERCEPT], np.ones((len(parts[0][1]), 1))))
        names = [name for part_names, _ in parts for name in part_names]
        return names, np.ascontiguousarray(np.concatenate([part for _, part in parts], axis=1))

    def _dummies(self, name: str, column: Column) -> tuple[list[str], Array]:
        categories = as_categories(column).categories
        reference = self.references[name]
        if reference not in categories:
            raise DataError(unknown("reference", reference, categories, f" of {name!r}"))
        others = [code for code, label in enumerate(categories) if label != reference]
        codes = np.asarray(as_categories(column).codes, np.intp)
        names = [f"{name}[T.{categories[code]}]" for code in others]
        return names, np.eye(len(categories))[:, others][codes]


def factor_text(outcome: str, factors: Factors, available: Collection[str]) -> FormulaText:
    """Factors as the right side of a formula."""
    names = tuple(factors.references)
    if not names:
        raise DataError("factors need at least one predictor")
    for name in names:
        if name not in available:
            raise DataError(unknown("predictor", name, available))
    if outcome in names:
        raise DataError(f"{outcome!r} is the outcome and a predictor")
    return FormulaText(outcome, factors, names, frozenset(names), frozenset(), False)


#: The model matrix of columns of so many records.
MatrixOf = Callable[[Mapping[str, Column], int], Array]


@dataclass(frozen=True, eq=False)
class FormulaTerms:
    """The right side of a formula, or factors.

    A cell fixes the answers to the disguised predictors. Marginal effects of categories are against
    the `references`, or else the first.
    """

    matrix_of: MatrixOf
    names: tuple[str, ...]
    columns: dict[str, Column]
    disguised: tuple[Attribute, ...]
    n_records: int
    #: Whether the last column of the matrices is an offset, which has no name.
    has_offset: bool
    first: Array
    references: Mapping[str, Label]

    @cached_property
    def matrices(self) -> tuple[Array, ...]:
        """The model matrix of the records, for each cell of the disguised predictors."""
        return (self.first, *self._matrices({}, skipped=1))

    def _matrices(self, changed: dict[str, Column], skipped: int = 0) -> tuple[Array, ...]:
        """A matrix per cell, with columns that are `changed` in all of them."""
        n, fixed = self.n_records, self.columns | changed
        cells = itertools.product(*(range(a.size) for a in self.disguised))
        return tuple(
            self.matrix_of(_constants(self.disguised, cell, n) | fixed, n)
            for cell in itertools.islice(cells, skipped, None)
        )

    def new_matrix(self, true: Any) -> Array:
        """The model matrix of other records, whose true answers are known."""
        from tacit.core import frames

        hidden = [attribute.name for attribute in self.disguised]
        frames.warn_about_reports(true, hidden, frames.NEEDS_TRUTH)
        frame = frames.open_frame(true)
        columns = {name: _like(frame, name, column) for name, column in self.columns.items()}
        for attribute in self.disguised:
            codes = encode(true, Schema([attribute]))[:, 0]
            columns[attribute.name] = CategoryColumn(attribute.categories, codes.astype(np.intp))
        return self.matrix_of(columns, len(frame))

    def changes(self) -> Iterator[Change]:
        """What marginal effects compare, one after the other: each has copies of all records."""
        for name, column in self.columns.items():
            if isinstance(column, CategoryColumn):
                yield from self._differences(name, column.categories)
            elif np.ptp(column.values) > 0:
                step = 1e-5 * float(column.values.std())
                low, high = column.values.min() + step, column.values.max() - step
                inner = np.clip(column.values, low, high)  # splines end at the extreme values
                shifted = (NumberColumn(inner + sign * step) for sign in (-1, 1))
                before, after = (self._matrices({name: values}) for values in shifted)
                yield Change(name, before, after, 2 * step)
        for attribute in self.disguised:
            yield from self._differences(attribute.name, attribute.categories)

    def _differences(self, name: str, categories: tuple[Label, ...]) -> Iterator[Change]:
        """Every category against the reference, if everybody had the one or the other."""

        def alike(label: Label) -> tuple[Array, ...]:
            codes = np.full(self.n_records, categories.index(label))
            return self._matrices({name: CategoryColumn(categories, codes)})

        reference = self.references.get(name, categories[0])
        before = alike(reference)
        for label in categories:
            if label != reference:
                yield Change(f"{name}[T.{label}]", before, alike(label))


#: Named columns of a model matrix; one matrix per cell of the disguised predictors.
ModelTerms = MatrixTerms | FormulaTerms


def formula_terms(
    text: FormulaText,
    columns: dict[str, Column],
    disguised: tuple[Attribute, ...],
    n_records: int,
    intercept: bool,
    counts: Array | None,
) -> FormulaTerms:
    """The terms of a formula or factors; an ordered model has cut points, no intercept.

    `counts` says how many records each row stands for, if rows were counted.
    """
    first = columns | _constants(disguised, (0,) * len(disguised), n_records)
    if isinstance(text.right, Factors):
        factors = text.right
        names, matrix = factors.coded(first, intercept)
        matrix_of: MatrixOf = partial(_factor_matrix, factors, intercept)
        given = tuple(names), columns, disguised, n_records, False, matrix, factors.references
        return FormulaTerms(matrix_of, *given)
    spec = text.right
    if text.learns and counts is not None:
        spec = _learnt(spec, first, counts)
    spec, matrix = _materialised(spec, first, n_records)
    names = [str(name) for name in spec.column_names]
    offsets = tuple(i for i, name in enumerate(names) if name in text.offsets)
    shown = tuple(
        i for i, name in enumerate(names) if i not in offsets and (intercept or name != INTERCEPT)
    )
    if not shown:
        raise DataError("the formula has no covariates")

    titles, matrix = tuple(names[i] for i in shown), _shown(matrix, shown, offsets)
    matrix_of, has_offset = partial(_formula_matrix, spec, shown, offsets), bool(offsets)
    return FormulaTerms(matrix_of, titles, columns, disguised, n_records, has_offset, matrix, {})


def _factor_matrix(
    factors: Factors, intercept: bool, columns: Mapping[str, Column], _: int
) -> Array:
    return factors.coded(columns, intercept)[1]


def _formula_matrix(
    spec: Any,
    shown: Sequence[int],
    offsets: Sequence[int],
    columns: Mapping[str, Column],
    n_records: int,
) -> Array:
    return _shown(_materialised(spec, columns, n_records)[1], shown, offsets)


def _shown(matrix: Array, shown: Sequence[int], offsets: Sequence[int]) -> Array:
    """The columns of a model matrix, and the sum of the offsets, if there are any."""
    columns = matrix[:, list(shown)]
    if offsets:
        columns = np.column_stack([columns, matrix[:, list(offsets)].sum(axis=1)])
    return np.ascontiguousarray(columns)


def _learnt(spec: Any, columns: Mapping[str, Column], counts: Array) -> Any:
    """The specification with transforms that know every record."""
    total = round(counts.sum())
    if total > _MOST_RECORDS:
        raise DataError(
            f"the formula has a transform that learns from all {total:,} records, more than "
            f"{_MOST_RECORDS:,}; add its result as a column"
        )
    repeated = np.repeat(np.arange(len(counts)), counts.round().astype(np.intp))
    return _materialised(spec, columns, len(counts), repeated)[0]


def _materialised(
    spec: Any, columns: Mapping[str, Column], n: int, rows: Index | slice = slice(None)
) -> tuple[Any, Array]:
    """The specification and the matrix of these rows of the columns."""
    import pandas as pd
    from formulaic.errors import DataMismatchWarning, FormulaicError

    frame = pd.DataFrame(_series(columns), index=pd.RangeIndex(n)).iloc[rows]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            model_matrix = spec.get_model_matrix(
                frame, context={OFFSET: np.float64}, output="numpy", na_action="ignore"
            )
    except (FormulaicError, DataMismatchWarning, ValueError, TypeError) as error:
        raise DataError(f"the formula cannot be computed: {_one_line(error)}") from None
    matrix = np.asarray(model_matrix, np.float64)
    _check_finite(matrix, [str(name) for name in model_matrix.model_spec.column_names])
    return model_matrix.model_spec, matrix


def _check_finite(matrix: Array, names: Sequence[str]) -> None:
    good = np.isfinite(matrix)
    if not good.all():
        column = int((~good).any(axis=0).argmax())
        record = int((~good[:, column]).argmax())
        raise DataError(
            f"covariate {names[column]!r} is not a finite number at record {record} "
            "(counting from 0)"
        )


def _series(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Columns as pandas takes them."""
    import pandas as pd

    def series(column: Column) -> Any:
        if isinstance(column, NumberColumn):
            return column.values
        return pd.Categorical.from_codes(column.codes, categories=list(column.categories))

    return {name: series(column) for name, column in columns.items()}


def _constants(
    disguised: Sequence[Attribute], cell: Sequence[int], n_records: int
) -> dict[str, Column]:
    """Every record with the same answers to the disguised predictors."""
    answers = zip(disguised, cell, strict=True)
    return {a.name: CategoryColumn(a.categories, np.full(n_records, code)) for a, code in answers}


def _like(frame: Any, name: str, fitted: Column) -> Column:
    """A column of new records, with the categories of the fitted one."""
    if name not in frame.columns:
        raise DataError(unknown("column", name, frame.columns))
    column = plain_column(frame, name)
    if column.missing.any():
        raise DataError(
            f"column {name!r}: missing at record {int(column.missing.argmax())} (counting from 0)"
        )
    if isinstance(fitted, NumberColumn):
        if not isinstance(column, NumberColumn):
            raise DataError(f"column {name!r} must have numbers, as when the model was fitted")
        return column
    column = as_categories(column)
    codes = {label: code for code, label in enumerate(fitted.categories)}
    for label in column.take(np.ones(len(column.codes), bool)).categories:
        if label not in codes:
            raise DataError(unknown("category", label, fitted.categories, f" of column {name!r}"))
    lookup = np.array([codes.get(label, -1) for label in column.categories], np.int32)
    return CategoryColumn(fitted.categories, lookup[column.codes])
