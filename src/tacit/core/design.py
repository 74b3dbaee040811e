"""Design: a schema and groups, each with one coin; it is published to respondents.

A design only describes: disguising, reconstructing and measuring privacy are functions that take
one. It is a frozen value; reading its JSON gives an equal one.

Groups throw independent coins, so the channel of any attributes is the Kronecker product of the
groups' own (`ProductChannel`). It is applied along the axes of a table, group by group, and never
built unless asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel import Channel, Coin, coin_from_dict
from tacit.core.channel.linear_maps import WORST_CONDITION, Linear, chain
from tacit.core.channel.numbers import ratio_product, sum_up
from tacit.core.channel.strategies import UnitChannel
from tacit.core.conditions import QuestionCondition, conditions_of
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DesignError, FileError, SchemaError, SingularChannelError, unknown
from tacit.output import rounding
from tacit.output.json_documents import DocumentFormat, check_document, fingerprint_of, parse_json
from tacit.output.number_text import number_of
from tacit.output.table import Table

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Factor:
    """One group's share: its channel and the axes it has in true and in reported tables."""

    names: tuple[str, ...]
    coin: Coin
    channel: Channel
    true_axes: Axes
    reported_axes: Axes

    def require_reconstructable(self) -> None:
        """Raise SingularChannelError, naming the group, its parameter and what would help."""
        if not self.channel.reconstructable:
            raise SingularChannelError(
                f"group [{', '.join(self.names)}] {self.coin} cannot be reconstructed: "
                + self.coin.remedy
            )


@dataclass(frozen=True)
class ProductChannel:
    """matrix[reported, true] of tables over `true`, as factors."""

    true: Schema
    reported: Schema
    factors: tuple[Factor, ...]

    @property
    def ratio(self) -> Fraction | None:
        """Largest within-row ratio; those of the groups multiply."""
        return ratio_product(factor.channel.ratio for factor in self.factors)

    @property
    def epsilon(self) -> float:
        """Local differential privacy of these attributes together; those of the groups add up."""
        return sum_up(factor.channel.epsilon for factor in self.factors)

    @property
    def condition(self) -> float:
        """Condition number; those of the groups multiply."""
        return math.prod(factor.channel.condition for factor in self.factors)

    @property
    def magnification(self) -> float:
        """By how much reconstruction may magnify an error; those of the groups multiply."""
        return math.prod(factor.channel.magnification for factor in self.factors)

    @property
    def reconstructable(self) -> bool:
        """Whether the true table can be told from the reported one."""
        return self.magnification < WORST_CONDITION

    def require_reconstructable(self) -> None:
        """Raise SingularChannelError unless all groups, and all together, can be told."""
        for factor in self.factors:
            factor.require_reconstructable()
        if not self.reconstructable:
            raise SingularChannelError(
                f"the groups together magnify errors {self.magnification:.2g}-fold, beyond what "
                "can be reconstructed; ask for fewer attributes at once or disguise them less"
            )

    def disguised(self, distribution: Array) -> Array:
        """The reported table that a true table leads to."""
        return self.to_reported([f.channel.forward for f in self.factors], distribution)

    def to_reported(self, maps: Sequence[Linear], table: Array) -> Array:
        """Apply one map a group, from true axes to reported axes."""
        axes = [(factor.true_axes, factor.reported_axes) for factor in self.factors]
        return apply(maps, table, axes, self.reported.sizes)

    def to_true(self, maps: Sequence[Linear], table: Array) -> Array:
        """Apply one map a group, from reported axes to true axes."""
        axes = [(factor.reported_axes, factor.true_axes) for factor in self.factors]
        return apply(maps, table, axes, self.true.sizes)

    @property
    def matrix(self) -> Array:
        """All entries, cells flattened with the last attribute running fastest."""
        units = np.eye(math.prod(self.true.sizes)).reshape(-1, *self.true.sizes)
        return np.stack([self.disguised(unit).ravel() for unit in units], axis=1)


def apply(
    maps: Sequence[Linear], table: Array, axes: Sequence[tuple[Axes, Axes]], shape: tuple[int, ...]
) -> Array:
    """Apply kron(maps): map i takes the axes axes[i][0] to the axes axes[i][1] of the result."""
    before = [axis for inward, _ in axes for axis in inward]
    flat = chain(maps, table.transpose(before).reshape(-1, 1))
    return arranged(flat, [outward for _, outward in axes], shape)


def arranged(flat: Array, groups: Sequence[Axes], shape: tuple[int, ...]) -> Array:
    """A flattened table in the order of the groups, each with these axes, in the order of axes."""
    axes = [axis for group in groups for axis in group]
    return flat.reshape([shape[axis] for axis in axes]).transpose(np.argsort(axes))


#: Categories of an attribute that a table shows.
_SHOWN = 12
FORMAT = DocumentFormat("design", "design file", (("attributes", "groups"),), ("asked_if",))


@dataclass(frozen=True)
class Group:
    """Attributes that are disguised with one coin."""

    attributes: tuple[str, ...]
    coin: Coin

    def __init__(self, attributes: Sequence[str], coin: Coin) -> None:
        unlisted = isinstance(attributes, str) or not isinstance(attributes, Iterable)
        names = () if unlisted else tuple(attributes)
        if not names or not all(isinstance(name, str) for name in names):
            came = attributes if unlisted else list(names)
            raise DesignError(f"a group needs a list of attribute names, got {came!r}")
        if not isinstance(coin, Coin):
            raise DesignError(f"a group needs a coin such as related(theta=0.7), got {coin!r}")
        object.__setattr__(self, "attributes", names)
        object.__setattr__(self, "coin", coin)

    @property
    def disguised(self) -> bool:
        """Whether the answers are not sent as they are."""
        return self.coin.family != "truthful"

    def __str__(self) -> str:
        return f"[{', '.join(self.attributes)}] {self.coin}"


@dataclass(frozen=True)
class Design:
    """A schema and a partition of its attributes into groups.

    `asked_if` has the conditions of questions that are asked only after certain answers to earlier
    ones, such as {"packs": {"smokes": ["yes"]}}. They have the category "does not apply".
    """

    schema: Schema
    groups: tuple[Group, ...]
    conditions: tuple[QuestionCondition, ...]

    def __init__(
        self,
        schema: Schema,
        groups: Sequence[Group],
        asked_if: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        listed = tuple(groups) if isinstance(groups, Iterable) else (None,)
        if not isinstance(schema, Schema) or not all(isinstance(g, Group) for g in listed):
            raise DesignError("a design needs a Schema and a list of Groups")
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "groups", listed)
        _check_partition(schema, self.groups)
        for group in self.groups:
            try:
                group.coin.check(self.attributes_of(group))
            except DesignError as error:
                raise DesignError(f"group [{', '.join(group.attributes)}]: {error}") from None
        _ = self.reported
        object.__setattr__(self, "conditions", conditions_of(asked_if, schema))

    @property
    def asked_if(self) -> dict[str, dict[str, list[Label]]]:
        """The answers after which each conditional attribute is asked, by attribute."""
        return {condition.attribute: condition.to_dict() for condition in self.conditions}

    def attributes_of(self, group: Group) -> tuple[Attribute, ...]:
        """The group's attributes, in its order."""
        return tuple(self.schema[name] for name in group.attributes)

    def group_of(self, name: str) -> Group:
        """The group that disguises this attribute."""
        self.schema.index(name)
        return self._group_by_name[name]

    @cached_property
    def _group_by_name(self) -> dict[str, Group]:
        return {name: group for group in self.groups for name in group.attributes}

    @cached_property
    def _reports(self) -> dict[str, Attribute]:
        """What each attribute is reported as; the attributes of a joint report share it."""
        reports_by_name: dict[str, Attribute] = {}
        for group in self.groups:
            reports = group.coin.reported(self.attributes_of(group))
            if len(reports) != len(group.attributes):
                if reports[0].name in self.schema:
                    raise DesignError(
                        f"{reports[0].name!r} is an attribute and also names the joint report of "
                        f"{', '.join(group.attributes)}; rename the attribute"
                    )
                reports *= len(group.attributes)
            reports_by_name |= zip(group.attributes, reports, strict=True)
        return reports_by_name

    @cached_property
    def reported(self) -> Schema:
        """The schema of reported records: the true one, unless a matrix has reports of its own.

        A joint report takes the position of its first attribute.
        """
        return Schema(list(dict.fromkeys(self._reports[name] for name in self.schema.names)))

    @property
    def report_meanings(self) -> list[str]:
        """What reports say, a sentence for all attributes with the same meaning."""
        names: dict[str, list[str]] = {}
        for group in self.groups:
            meaning = group.coin.report_meaning(self.attributes_of(group))
            names.setdefault(meaning, []).extend(group.attributes)
        return [f"reports of {_listed(listed)}: {meaning}" for meaning, listed in names.items()]

    def jointly_reported(self, names: Sequence[str]) -> tuple[str, ...]:
        """`names`, then whatever else must be reconstructed with them (joint matrix groups)."""
        attributes = _distinct(names)
        for name in attributes:
            group = self.group_of(name)
            if not group.coin.separable:
                attributes += tuple(other for other in group.attributes if other not in attributes)
        return attributes

    @property
    def epsilon(self) -> float:
        """Local differential privacy of a whole record, rounded up; those of the groups add up.

        It is infinite if a report can rule out a true answer, as with `truthful` groups and with
        `related` groups of several attributes. `tacit.privacy.report` says what that means.
        """
        return self.channel(self.schema.names).epsilon

    def is_exact(self, name: str) -> bool:
        """Whether reports of this attribute are the truth."""
        if not self.group_of(name).coin.separable:
            return False
        matrix = self.channel([name]).matrix
        return matrix.shape[0] == matrix.shape[1] and bool((matrix == np.eye(len(matrix))).all())

    def channel(self, names: Sequence[str]) -> ProductChannel:
        """The channel of these attributes, in this order, as a product of the groups' channels."""
        attributes = _distinct(names)
        true = self.schema.subset(attributes)
        reported = self.reported.subset(dict.fromkeys(self._reports[n].name for n in attributes))
        factors = []
        for group in self.groups:
            members = tuple(name for name in group.attributes if name in true)
            if members:
                positions = tuple(map(group.attributes.index, members))
                channel = group.coin.channel(self.attributes_of(group), positions)
                reports = dict.fromkeys(self._reports[name].name for name in members)
                axes = (tuple(map(true.index, members)), tuple(map(reported.index, reports)))
                factors.append(Factor(members, group.coin, channel, *axes))
        return ProductChannel(true, reported, tuple(factors))

    def unit_channels(self, group: Group) -> list[tuple[float, list[UnitChannel]]]:
        """What the group's coin may decide: its probability, and the channels of its units.

        Attributes are positions in the schema, reports positions among those of the group.
        """
        attributes = self.attributes_of(group)
        positions = [self.schema.index(name) for name in group.attributes]
        sizes = [a.size for a in attributes]
        reported = [a.size for a in group.coin.reported(attributes)]
        decisions = []
        for weight, strategy in group.coin.strategies(attributes):
            if weight > 0:
                units = strategy.unit_channels(sizes, reported)
                places = (tuple(positions[i] for i in unit.attributes) for unit in units)
                in_schema = zip(units, places, strict=True)
                decisions.append((float(weight), [u._replace(attributes=p) for u, p in in_schema]))
        return decisions

    def to_table(self) -> Table:
        """A row per attribute: its categories, its group and coin, and epsilon of its answer."""
        numbers = {name: n for n, g in enumerate(self.groups, start=1) for name in g.attributes}
        rows = [
            (
                attribute.name,
                _listed(attribute.categories),
                numbers[attribute.name],
                str(self.group_of(attribute.name).coin),
                rounding.epsilon(self.channel(self.jointly_reported([attribute.name])).epsilon),
            )
            for attribute in self.schema
        ]
        groups, answers = len(self.groups), len(self.schema)
        size = f"{number_of(answers, 'attribute')} in {number_of(groups, 'group')}"
        title = f"Design: {size}; epsilon of a record: {rounding.epsilon(self.epsilon)}"
        conditional = [f"{c.attribute} is asked if {c}" for c in self.conditions]
        note = "\n".join([*self.report_meanings, *conditional, f"fingerprint {self.fingerprint}"])
        return Table(
            ("attribute", "categories", "group", "coin", "epsilon"), rows, title, "llrlr", note
        )

    def __str__(self) -> str:
        return str(self.to_table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.to_table().html()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready description with exact numbers."""
        groups = [{"attributes": list(g.attributes), "coin": g.coin.to_dict()} for g in self.groups]
        conditional = {"asked_if": self.asked_if} if self.conditions else {}
        return {**FORMAT.header, **self.schema.to_dict(), "groups": groups, **conditional}

    def to_json(self) -> str:
        """The design file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Design:
        """The design that a design file describes, or that a published survey holds."""
        data = parse_json(text, FORMAT.name)
        if not isinstance(data, dict) or data.get("tacit") != "published-survey":
            return cls.from_dict(data)
        design = cls.from_dict(data.get("design"))
        if design.fingerprint != data.get("fingerprint"):
            raise FileError(
                "the design does not match the fingerprint: changed since it was published"
            )
        return design

    @classmethod
    def from_dict(cls, data: Any) -> Design:
        """The design that the content of a design file describes."""
        content = check_document(data, FORMAT)
        schema = Schema.from_dict({"attributes": content["attributes"]})
        groups = content["groups"]
        if not isinstance(groups, list):
            raise DesignError(f"groups must be a list, got {groups!r}")
        described = [_group_from_dict(item, f"groups[{i}]") for i, item in enumerate(groups)]
        return cls(schema, described, content.get("asked_if"))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the design in canonical form: the same for everyone who holds this design.

        The order of attributes, groups and categories is part of the design.
        """
        return fingerprint_of(self.to_dict())


def check_design(design: object) -> None:
    """Raise DesignError if something else was given for a design."""
    if not isinstance(design, Design):
        raise DesignError(f"design must be a Design, got {type(design).__name__}")


def _listed(categories: Sequence[object]) -> str:
    """Categories as text; of many, the first ones."""
    left = len(categories) - _SHOWN
    shown = ", ".join(map(str, categories[:_SHOWN]))
    return f"{shown}, and {left} more" if left > 0 else shown


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """`names` as a tuple; an error if there are none or one appears twice."""
    if isinstance(names, str | set | frozenset) or not isinstance(names, Iterable):
        raise SchemaError(f"attributes must be a list of names, got {names!r}")
    distinct = tuple(names)
    repeated = [name for i, name in enumerate(distinct) if name in distinct[:i]]
    if repeated or not distinct:
        what = f"{repeated[0]!r} is asked for twice" if repeated else "no attribute is asked for"
        raise SchemaError(f"{what}; name each attribute once, and at least one")
    return distinct


def _check_partition(schema: Schema, groups: tuple[Group, ...]) -> None:
    """Raise unless every attribute is in exactly one group."""
    seen: dict[str, int] = {}
    for number, group in enumerate(groups, start=1):
        for name in group.attributes:
            if name not in schema.names:
                raise DesignError(unknown("attribute", name, schema.names, f" in group {number}"))
            if name in seen:
                where = f"groups {seen[name]} and {number}" if seen[name] != number else "one group"
                raise DesignError(
                    f"attribute {name!r} appears twice, in {where}; each belongs to one group once"
                )
            seen[name] = number
    left = [name for name in schema.names if name not in seen]
    if left:
        raise DesignError(
            f"attribute {left[0]!r} is in no group; put it in one, with truthful() if it needs "
            "no disguise"
        )


def _group_from_dict(data: Any, where: str) -> Group:
    if not isinstance(data, Mapping) or set(data) != {"attributes", "coin"}:
        raise DesignError(f"{where} must be an object with 'attributes' and 'coin', got {data!r}")
    names = data["attributes"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DesignError(f"{where}.attributes must be a list of names, got {names!r}")
    return Group(names, coin_from_dict(data["coin"], f"{where}.coin"))
