"""The schema of a record: its attributes in order, written as JSON or inferred from a frame.

An attribute is a question and its ordered categories. A code is the position of a category. Labels
are compared by their text: 1, 1.0 and "1" are the same label, so are True and "True"; False and 0
are not, nor are "1" and "1.0".
"""

from __future__ import annotations

import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import SchemaError, unknown
from tacit.output.number_text import text

Label = str | int | bool | float
T = TypeVar("T")

#: Python does not print integers of over 4,300 digits.
MOST_DIGITS = 1000
_ENDLESS = 10**MOST_DIGITS


@dataclass(frozen=True, init=False)
class Attribute:
    """A question and its ordered categories; the code of a category is its position.

    missing: the category that missing cells are coded as. Without one, they are an error.
    edges: cut points of a binned attribute, whose category i holds the values v with
    edges[i-1] < v <= edges[i], so there is one category more than edges, and after these the
    missing one if there is one. Its categories are text: a numeric column always holds values
    to be binned, a text column always holds categories.
    aliases: further words, one per category, by which records may name it. They are not part of
    what is published, so attributes that differ only in them are equal.
    """

    name: str
    categories: tuple[Label, ...]
    missing: Label | None = None
    edges: tuple[float, ...] = ()
    aliases: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        categories: Iterable[Label],
        missing: Label | None = None,
        edges: Iterable[float] = (),
        aliases: Sequence[str] = (),
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise SchemaError(f"the name of an attribute must be a non-empty text, got {name!r}")
        listed = in_order(categories, f"attribute {name!r}: categories")
        cuts = in_order(edges, f"attribute {name!r}: edges")
        vars(self).update(
            name=name,
            categories=tuple(_plain(label, name) for label in listed),
            edges=tuple(as_edge(edge, name) for edge in cuts),
            aliases=tuple(aliases),
        )
        self._check_categories()
        code = None if missing is None else self.code(missing, "as missing of")
        vars(self).update(missing=None if code is None else self.categories[code])
        if self.edges:
            self._check_edges()

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    def find(self, label: object) -> int | None:
        """The code of a category, or None if there is no such category."""
        plain = _unboxed(label)
        return self.codes.get(text(plain)) if _is_label(plain) else None

    def code(self, label: object, role: str = "of") -> int:
        """The code of a category; if there is none, an error that names the nearest one."""
        code = self.find(label)
        if code is None:
            where = f" {role} attribute {self.name!r}"
            raise SchemaError(unknown("category", _printable(label), self.categories, where))
        return code

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; missing and edges only if set."""
        plain: dict[str, Any] = {"name": self.name, "categories": list(self.categories)}
        if self.missing is not None:
            plain["missing"] = self.missing
        if self.edges:
            plain["edges"] = list(self.edges)
        return plain

    def __eq__(self, other: object) -> bool:
        """Same name, labels of the same type, missing and edges: True is not 1 here."""
        if not isinstance(other, Attribute):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash((self.name, self.categories))

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        kinds = tuple(type(label) for label in self.categories)
        return self.name, self.categories, kinds, self.missing, self.edges

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of every text that names a category; a category precedes an alias."""
        named = {text(label): code for code, label in enumerate(self.categories)}
        return {word: code for code, word in enumerate(self.aliases)} | named

    def _check_categories(self) -> None:
        if self.size < 2:
            raise SchemaError(
                f"attribute {self.name!r}: needs 2 or more categories, got {self.size}"
            )
        ((twice, times),) = Counter(map(text, self.categories)).most_common(1)
        if times > 1:
            raise SchemaError(
                f"attribute {self.name!r}: categories must be distinct as text, "
                f"{twice!r} comes more than once"
            )

    def _check_edges(self) -> None:
        at = f"attribute {self.name!r}"
        if any(high <= low for low, high in pairwise(self.edges)):
            raise SchemaError(f"{at}: edges must increase strictly, got {list(self.edges)}")
        expected = len(self.edges) + 1 + (self.missing is not None)
        if self.size != expected:
            raise SchemaError(
                f"{at}: {len(self.edges)} edges need {expected} categories "
                f"(one more than edges, and the missing one if any), got {self.size}"
            )
        if self.missing is not None and self.find(self.missing) != self.size - 1:
            raise SchemaError(f"{at}: the missing category of a binned attribute must be the last")
        for label in self.categories:
            if not isinstance(label, str):
                raise SchemaError(f"{at}: categories of a binned attribute must be text: {label!r}")


#: Learns a binned attribute from its name and the values of a column (see `quantiles` and `edges`).
BinningRule = Callable[[str, Array], Attribute]


def in_order(values: Iterable[T], what: str) -> Iterator[T]:
    """The items of a list or another ordered iterable; an error for anything else."""
    try:
        items = iter(values)
    except TypeError:
        items = None
    if items is None or isinstance(values, str | bytes | bytearray | set | frozenset):
        unordered = " (a set has no order)" if isinstance(values, set | frozenset) else ""
        raise SchemaError(f"{what} must be a list{unordered}, got {_printable(values)!r}")
    return items


def _is_label(label: object) -> bool:
    if type(label) is float:
        return math.isfinite(label)
    return type(label) in (str, int, bool) and not _is_endless(label)


def _is_endless(label: object) -> bool:
    return isinstance(label, int) and abs(label) >= _ENDLESS


def _printable(value: object) -> object:
    return f"an integer of over {MOST_DIGITS} digits" if _is_endless(value) else value


def _unboxed(label: object) -> Any:
    """NumPy scalars as plain values; whole decimals as integers."""
    if isinstance(label, Decimal) and label.is_finite() and label.adjusted() < MOST_DIGITS:
        return int(label) if label == label.to_integral_value() else label
    return label.item() if isinstance(label, np.generic) else label


def _plain(label: Label, name: str) -> Label:
    plain: Label = _unboxed(label)
    if not _is_label(plain):
        allowed = "a text, an integer, a boolean or a finite float"
        raise SchemaError(
            f"attribute {name!r}: a category must be {allowed}, got {_printable(label)!r}"
        )
    return plain


def as_edge(edge: float, name: str) -> float:
    """A finite number as float; the error names the attribute."""
    plain = _unboxed(edge)
    number = isinstance(plain, int | float) and not isinstance(plain, bool)
    if not number or not abs(plain) <= sys.float_info.max:
        shown = _printable(plain)
        raise SchemaError(f"attribute {name!r}: an edge must be a finite number, got {shown!r}")
    return float(plain)


@dataclass(frozen=True, init=False)
class Schema:
    """The attributes of a record, in order; at least one, with distinct names."""

    attributes: tuple[Attribute, ...]

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        listed = in_order(attributes, "the attributes of a schema")
        object.__setattr__(self, "attributes", tuple(listed))
        if not self.attributes:
            raise SchemaError("a schema needs at least one attribute")
        taken: set[str] = set()
        for i, attribute in enumerate(self.attributes):
            where = f"attributes[{i}]"
            if not isinstance(attribute, Attribute):
                raise SchemaError(f"{where}: must be an Attribute, got {type(attribute).__name__}")
            if attribute.name in taken:
                raise SchemaError(f"{where}: the name {attribute.name!r} is taken")
            taken.add(attribute.name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of categories of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def index(self, name: str) -> int:
        """The position of an attribute; an error that names the nearest one."""
        if name not in self:
            raise SchemaError(unknown("attribute", name, self.names))
        return self._positions[name]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def subset(self, names: Iterable[str]) -> Schema:
        """The schema of these attributes, in the order asked."""
        return Schema([self[name] for name in names])

    def without(self, name: str) -> Schema:
        """The schema of the other attributes."""
        return self.subset([other for other in self.names if other != name])

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.index(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._positions

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"attributes": [attribute.to_dict() for attribute in self.attributes]}

    @classmethod
    def from_dict(cls, plain: object) -> Schema:
        """The schema that to_dict wrote; an error names the place that is wrong."""
        listed = _fields(plain, "schema", ("attributes",))["attributes"]
        if not isinstance(listed, list):
            raise SchemaError(f"attributes: must be a list, got {type(listed).__name__}")
        return cls([_attribute(item, f"attributes[{i}]") for i, item in enumerate(listed)])

    @classmethod
    def infer(
        cls,
        frame: object,
        bins: Mapping[str, BinningRule] | None = None,
        missing: Label | None = None,
        max_categories: int = 64,
    ) -> Schema:
        """A schema of every column of a frame, inferred from its values.

        Text is sorted; ordered categoricals keep their declared categories and order; booleans
        are False, True; integers (also stored as floats) ascend. A column in `bins` is binned.
        Missing cells are an error unless `missing` names the category appended for them.
        """
        from tacit.core import frames

        rules = bins or {}
        records = frames.open_frame(frame)
        _check_options(rules, max_categories, records.columns)
        attributes = []
        for name in records.columns:
            column, bin_it = frames.column(records, name), f"pass bins={{{name!r}: quantiles(5)}}"
            advice = f"{bin_it} {_FROM_HERE}"
            if name in rules:
                attributes.append(_binned(name, column, rules[name], missing))
            else:
                attributes.append(_listed(name, column, missing, max_categories, advice))
        return cls(attributes)


def _fields(
    plain: object, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise SchemaError(f"{where}: must be an object, got {type(plain).__name__}")
    for key in plain:
        if key not in required + optional:
            raise SchemaError(unknown("key", key, required + optional, f" in {where}"))
    for key in required:
        if key not in plain:
            raise SchemaError(f"{where}: the key {key!r} is missing")
    return plain


def _attribute(plain: object, where: str) -> Attribute:
    fields = _fields(plain, where, ("name", "categories"), ("missing", "edges"))
    for key in ("categories", "edges"):
        if not isinstance(fields.get(key, []), list):
            kind = type(fields[key]).__name__
            raise SchemaError(f"{where}.{key}: must be a list, got {kind}")
    if "missing" in fields and fields["missing"] is None:
        raise SchemaError(f"{where}.missing: must be a category, got null")
    try:
        return Attribute(**fields)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None


# Rules that cut a numeric column into categories. A rule looks at the values once and gives an
# Attribute with edges. The attribute is what is kept: it is part of the schema and its JSON, and
# encode() applies it to numeric columns anywhere.


def median() -> BinningRule:
    """Two categories, at most the median and above it."""
    return quantiles(2)


def quantiles(n: int) -> BinningRule:
    """Up to n categories of about equally many records.

    The cuts are the 1/n, ..., (n-1)/n quantiles: the smallest v with F(v) >= i/n.
    Where F(v) = i/n exactly, the midpoint of v and the next value, so n = 2 is the usual median.
    Edges with no value between them collapse and none reaches the largest value, so every
    category is held by at least one record. A constant column is an error.
    Hyndman and Fan (1996), definition 2.
    """
    if type(n) is not int or n < 2:
        raise SchemaError(f"quantiles: n must be an integer of 2 or more, got {n!r}")

    def rule(name: str, values: Array) -> Attribute:
        seen = np.unique(_finite(name, values))
        if len(seen) < 2:
            raise SchemaError(f"column {name!r} is constant ({_shown(seen[0])}): nothing to cut")
        cuts = np.quantile(values, np.arange(1, n) / n, method="averaged_inverted_cdf")
        points = _apart(cuts, seen).tolist()
        return Attribute(name, _labels(points), edges=points)

    return rule


def edges(cuts: Iterable[float], labels: Iterable[str] | None = None) -> BinningRule:
    """Categories between given cut points; one label more than cuts where labels are given."""
    points = [as_edge(cut, "edges") for cut in in_order(cuts, "edges: cuts")]
    if not points:
        raise SchemaError("edges: needs at least one cut point")
    named = _labels(points) if labels is None else list(in_order(labels, "edges: labels"))
    Attribute("edges", named, edges=points)  # its errors are raised before any column is read

    def rule(name: str, values: Array) -> Attribute:
        return Attribute(name, named, edges=points)

    return rule


def _finite(name: str, values: Array) -> Array:
    floats = np.asarray(values, dtype=np.float64)
    absent, endless = (int(np.count_nonzero(f(floats))) for f in (np.isnan, np.isinf))
    if absent:
        raise SchemaError(
            f"column {name!r} has {absent} missing values; drop them, or pass missing='missing' "
            "to Schema.infer"
        )
    if endless:
        raise SchemaError(
            f"column {name!r} has {endless} infinite values; make them missing cells, or cut at "
            "given points: edges([...])"
        )
    if not floats.size:
        raise SchemaError(f"column {name!r} has no values to learn from")
    return floats


def _apart(cuts: Array, seen: Array) -> Array:
    """The cuts that split the sorted distinct values, one for each split; at least one."""
    below = np.searchsorted(seen, cuts, side="right")
    splits, first = np.unique(below, return_index=True)
    splitting = cuts[first[splits < len(seen)]]
    return splitting if splitting.size else seen[-2:-1]


def _labels(cuts: Sequence[float]) -> list[str]:
    """'<= 37', '37 < x <= 50', '> 50'."""
    shown = [_shown(cut) for cut in cuts]
    between = [f"{low} < x <= {high}" for low, high in pairwise(shown)]
    return [f"<= {shown[0]}", *between, f"> {shown[-1]}"]


def _shown(value: float) -> str:
    """The shortest text that reads back as the value; whole numbers without '.0'."""
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(float(value))


_FROM_HERE = "(from tacit.core.schema)"


def listed_attributes(records: object, missing: Label, most: int) -> list[Attribute]:
    """The columns of a frame as attributes that are not disguised; missing cells get a category."""
    from tacit.core import frames  # slow to load

    frame, advice = frames.open_frame(records), "make categories of its numbers first"
    columns = [(name, frames.column(frame, name)) for name in frame.columns]
    return [_listed(name, column, missing, most, advice) for name, column in columns]


def _check_options(rules: object, max_categories: object, columns: Sequence[str]) -> None:
    if not isinstance(rules, Mapping):
        example = "{'age': quantiles(5)}"
        raise SchemaError(f"bins must map columns to rules, such as {example}, got {rules!r}")
    for name, rule in rules.items():
        if not _is_rule(rule):
            allowed = "median(), quantiles(n) or edges(cuts) of tacit.core.schema"
            raise SchemaError(f"bins: the rule of column {name!r} must be {allowed}, got {rule!r}")
        if name not in columns:
            raise SchemaError(unknown("column", name, columns, " in bins"))
    if not isinstance(max_categories, int | np.integer) or max_categories < 2:
        raise SchemaError(f"max_categories must be an integer of 2 or more, got {max_categories!r}")


def _is_rule(rule: Any) -> bool:
    """Whether this can be called with a name and values; `median` itself cannot."""
    try:
        inspect.signature(rule).bind("name", np.empty(0))
    except (TypeError, ValueError):
        return False
    return True


def _binned(name: str, column: Any, rule: BinningRule, missing: Label | None) -> Attribute:
    """A numeric column cut by its rule; missing cells get a category of their own."""
    from tacit.core import frames  # slow to load

    if not frames.is_numeric(column):
        raise SchemaError(f"bins: column {name!r} is not numeric; leave it out of bins")
    values = frames.numbers(column)
    absent = np.isnan(values)
    label = _label_for(int(absent.sum()), name, missing)
    learned: object = rule(name, values[~absent])
    if not isinstance(learned, Attribute):
        raise SchemaError(f"bins: the rule of column {name!r} gave {learned!r}, not an Attribute")
    if label is None or learned.missing is not None:
        return learned
    return Attribute(name, [*learned.categories, label], missing=label, edges=learned.edges)


def _listed(
    name: str, column: Any, missing: Label | None, max_categories: int, bin_it: str
) -> Attribute:
    """A column whose distinct values are the categories; `bin_it` says what to do with numbers."""
    from tacit.core import frames  # slow to load

    seen = frames.distinct(column)
    count = np.bincount(seen.positions, minlength=len(seen.values))
    absent = np.array([value is None for value in seen.values])
    keep = ~absent if frames.is_ordered(column) else ~absent & (count > 0)
    values = [seen.values[i] for i in np.flatnonzero(keep)]
    categories = _in_order(column, name, values, bin_it)
    if len(categories) > max_categories:
        advice = bin_it if frames.is_numeric(column) else "leave it out or raise max_categories"
        raise SchemaError(
            f"column {name!r} holds {len(categories)} categories, over {max_categories}; {advice}"
        )
    label = _label_for(int(count[absent].sum()), name, missing)
    if label is not None and text(label) not in map(text, categories):
        categories.append(label)
    if len(categories) < 2:
        raise SchemaError(
            f"column {name!r} holds fewer than 2 categories ({categories}); leave it out, "
            "or write its Attribute by hand"
        )
    return Attribute(name, categories, missing=label)


def _in_order(column: Any, name: str, values: list[Any], bin_it: str) -> list[Any]:
    from tacit.core import frames  # slow to load

    if frames.is_boolean(column):
        return [False, True]
    if frames.is_ordered(column):
        return values
    if not frames.is_numeric(column):
        return sorted(values)
    if any(math.isinf(value) for value in values):
        raise SchemaError(
            f"column {name!r} holds infinite numbers; make them missing cells, or pass "
            f"bins={{{name!r}: edges([...])}} {_FROM_HERE}"
        )
    if not all(value == int(value) for value in values):
        raise SchemaError(f"column {name!r} holds numbers that are not whole; {bin_it}")
    return sorted(int(value) for value in values)


def _label_for(absent: int, name: str, missing: Label | None) -> Label | None:
    """The category of the missing cells; None if no cell is missing."""
    if absent and missing is None:
        raise SchemaError(
            f"column {name!r} has {absent} missing cells; pass missing='missing' to give them "
            "a category of their own, which is disguised like the others"
        )
    return missing if absent else None
