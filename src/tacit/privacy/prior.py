"""Prior: what an adversary knows of the true answers before any report.

A prior is a product of independent tables, each over one or several attributes. Every table
comes as a stack along its last axis: first the prior itself, then, where it was estimated, draws
that say how uncertain it is. A draw is normal with the covariance of the estimate, moved to the
nearest distribution (parametric bootstrap); figures computed on all of them carry the
uncertainty along, whatever their formula. Tables estimated apart are drawn apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.numbers import quotient
from tacit.core.conditions import DOES_NOT_APPLY, answers_of, impossible_cells, linked_parts
from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.errors import DataError, FileError, unknown
from tacit.output.json_documents import parse_json
from tacit.output.number_text import number_of
from tacit.privacy.risk import check_distribution, numbers
from tacit.reconstruction import Estimate, Reconstruction
from tacit.reconstruction.tables import project


@dataclass(frozen=True, eq=False)
class PriorTable:
    """A table over some attributes, independent of all others; priors along the last axis.

    `assumed` says that its margins are known, but not how its answers go together.
    """

    names: tuple[str, ...]
    tables: Array
    assumed: bool = False

    def marginal(self, names: Sequence[str]) -> PriorTable | None:
        """The block of those of its attributes that are wanted, in its own order."""
        remaining = tuple(name for name in self.names if name in names)
        dropped = tuple(i for i, name in enumerate(self.names) if name not in remaining)
        if not remaining:
            return None
        assumed = self.assumed and len(remaining) > 1
        return PriorTable(remaining, self.tables.sum(axis=dropped), assumed)


#: Attributes whose joint table would be larger are not tied.
MAX_TIED = 2**14
#: Rounds of iterative proportional fitting, and how well margins must agree at the end.
_ROUNDS, _AGREE = 500, 1e-6
#: Probability of impossible records that is rounding.
_ROUNDING = 1e-9


def tied_parts(design: Design) -> list[tuple[str, ...]]:
    """The attributes in parts: tied by conditions where their table is small, else one by one."""
    parts: list[tuple[str, ...]] = []
    for names in linked_parts(design.conditions, design.schema):
        small = math.prod(design.schema[name].size for name in names) <= MAX_TIED
        parts += [names] if small else [(name,) for name in names]
    return parts


def uniform_tables(design: Design) -> list[PriorTable]:
    """Every answer equally likely among those who are asked."""
    tables = []
    for names in tied_parts(design):
        schema = design.schema.subset(names)
        table = _possible(design, schema)
        for axis, attribute in enumerate(schema):
            shares = np.full(attribute.size, 1 / attribute.size)
            if attribute.name in design.asked_if:
                shares[:] = 1 / len(answers_of(attribute))
                shares[attribute.code(DOES_NOT_APPLY)] = 1.0  # certain where the condition fails
            table = table * shares.reshape([-1 if i == axis else 1 for i in range(len(schema))])
        table = table / table.sum()
        axes = [tuple(i for i in range(table.ndim) if i != axis) for axis in range(table.ndim)]
        tables.append(PriorTable(names, table[..., None], not _determined(table, axes)))
    return tables


def _possible(design: Design, schema: Schema) -> Array:
    impossible = impossible_cells(design.conditions, schema)
    return np.ones(schema.sizes) if impossible is None else (~impossible).astype(np.float64)


def tied_tables(blocks: Sequence[PriorTable], design: Design) -> list[PriorTable]:
    """The tables of a prior, those that conditions tie together as one.

    Estimated tables are not joined: their margins contradict each other by their errors.

    A table per attribute leaves out that an answer excludes others, and what follows from it would
    look more private than it is. So the attributes that conditions tie together share one table,
    which is 0 where a record cannot occur:

        nothing known    each question's answers equally likely among those who are asked
        known margins    the table with these margins by iterative proportional fitting (Deming &
                         Stephan, 1940), from their product on the cells that can occur
        joint tables     as given; an estimated one is restricted to the cells that can occur

    Margins and zeros determine the table of a question and its condition, or of a chain of
    conditions. Of two questions with the same condition they do not: how their answers go together
    is then assumed, which is no more than a guess. Tables of more than MAX_TIED cells stay apart;
    how their answers go together is not known either.
    """
    if not design.conditions:
        return list(blocks)
    tables = [_within(block, design) for block in blocks]
    for names in tied_parts(design):
        overlapping = [block for block in tables if set(block.names) & set(names)]
        joinable = all(
            set(block.names) <= set(names) and block.tables.shape[-1] == 1 for block in overlapping
        )
        if len(overlapping) > 1 and joinable:
            tables = [block for block in tables if block not in overlapping]
            tables.append(_fitted(names, overlapping, design))
    return tables


def _within(block: PriorTable, design: Design) -> PriorTable:
    """A table without records that cannot occur; a known one must have none."""
    possible = _possible(design, design.schema.subset(block.names))[..., None]
    inside = block.tables * possible
    total = inside.sum(axis=tuple(range(inside.ndim - 1)), keepdims=True)
    if inside.shape[-1] == 1 and float(total.min()) < 1 - _ROUNDING:
        cell = np.argwhere((block.tables > 0) & (possible == 0))[0]
        labels = (
            f"{name} {design.schema[name].categories[code]}"
            for name, code in zip(block.names, cell, strict=False)
        )
        raise DataError(
            f"the prior has records that cannot occur: {', '.join(labels)}; give them 0"
        )
    if float(total.min()) <= 0:
        raise DataError("the prior has only records that cannot occur")
    return PriorTable(block.names, inside / total, block.assumed)


def _fitted(names: Sequence[str], blocks: Sequence[PriorTable], design: Design) -> PriorTable:
    """The joint table with these margins, by iterative proportional fitting."""
    schema = design.schema.subset(names)
    margins = []  # along their axes of the table of all attributes
    for block in blocks:
        order = np.argsort([schema.index(name) for name in block.names])
        shape = [a.size if a.name in block.names else 1 for a in schema]
        margins.append(block.tables[..., 0].transpose(order).reshape(shape))
    axes = [tuple(i for i, n in enumerate(names) if n not in b.names) for b in blocks]
    table = math.prod(margins) * _possible(design, schema)
    for _ in range(_ROUNDS):
        for margin, others in zip(margins, axes, strict=True):
            margin_now = table.sum(axis=others, keepdims=True)
            table = table * quotient(margin, margin_now)
        gaps = (
            float(np.abs(table.sum(axis=others, keepdims=True) - margin).max())
            for margin, others in zip(margins, axes, strict=True)
        )
        if max(gaps) < _AGREE:
            assumed = any(b.assumed for b in blocks) or not _determined(table, axes)
            return PriorTable(tuple(names), (table / table.sum())[..., None], assumed)
    raise DataError(
        f"the prior's tables of {', '.join(names)} contradict their conditions: a question does "
        "not apply to exactly those who gave another answer before; give one table of all of them"
    )


def _determined(table: Array, axes: Sequence[tuple[int, ...]]) -> bool:
    """Whether no other table on the same cells has the same sums over each of these axes."""
    cells = np.argwhere(table > 0)
    rows = []
    for others in axes:
        _, sums = np.unique(np.delete(cells, others, axis=1), axis=0, return_inverse=True)
        rows.append(sums.ravel())
    if sum(int(row.max()) + 1 for row in rows) < len(cells):
        return False
    sums_of = np.concatenate([np.eye(int(row.max()) + 1)[:, row] for row in rows])
    return int(np.linalg.matrix_rank(sums_of)) == len(cells)


#: Draws of an estimated prior.
DRAWS = 200
#: An estimated joint table of more cells than this is replaced by smaller ones.
MAX_JOINT = 1024
#: How a prior of several tables says that it leaves their dependence open.
UNTIED = "; how answers in different tables go together is not known"
#: The same of one table with known margins, where conditions do not determine the rest.
ASSUMED = "; how the answers of those who are asked go together is not known"


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent blocks that cover a schema, and words about where they come from.

    `uniform` says that nothing is known: every category is taken as equally likely. `single` has
    the tables of single attributes where each was estimated by itself: a large joint table from
    few records changes when it is moved to the nearest distribution, and its margins with it.
    """

    schema: Schema
    blocks: tuple[PriorTable, ...]
    source: str
    uniform: bool = False
    single: tuple[PriorTable, ...] = ()

    @property
    def ties_all(self) -> bool:
        """Whether one table holds all attributes, so that the dependence between them is known."""
        return len(self.blocks) == 1 and not self.blocks[0].assumed

    def ties(self, names: Sequence[str]) -> bool:
        """Whether it is known how these attributes go together."""
        return any(
            set(names) <= set(block.names) and not (block.assumed and len(names) > 1)
            for block in self.blocks
        )

    @property
    def stacked(self) -> int:
        """Number of priors in the stack: 1 for a known prior."""
        return max(int(block.tables.shape[-1]) for block in self.blocks)

    def marginal(self, names: Sequence[str]) -> Prior:
        """The prior of some attributes."""
        tables = self.single if self.single and len(names) == 1 else self.blocks
        margins = [block.marginal(names) for block in tables]
        blocks = tuple(block for block in margins if block is not None)
        return Prior(self.schema, blocks, self.source)

    def at(self, i: int) -> list[PriorTable]:
        """The tables of one prior of the stack."""
        return [
            PriorTable(b.names, b.tables[..., min(i, b.tables.shape[-1] - 1)]) for b in self.blocks
        ]

    def part(self, start: int, end: int) -> Prior:
        """Some priors of the stack."""
        blocks = (
            replace(b, tables=b.tables[..., start:end] if b.tables.shape[-1] > 1 else b.tables)
            for b in self.blocks
        )
        return replace(self, blocks=tuple(blocks))

    def table(self, names: Sequence[str]) -> Array:
        """The joint table over these attributes in this order, flattened; a column a prior."""
        joint: Array = np.ones((1,) * (len(names) + 1))
        for block in self.marginal(names).blocks:
            axes = [list(names).index(name) for name in block.names]
            order = [*np.argsort(axes), len(axes)]
            shape = [self.schema[n].size if n in block.names else 1 for n in names]
            joint = joint * block.tables.transpose(order).reshape(*shape, -1)
        return joint.reshape(-1, joint.shape[-1])


def prior_of(
    prior: Any, design: Design, rng: np.random.Generator | None = None, draws: int = DRAWS
) -> Prior:
    """The prior that was given, checked.

    None: every category equally likely, among those who are asked. A mapping: for each attribute
    its probabilities (a list in the order of the categories, or a mapping from category), or for a
    tuple of attributes their joint table; tables are independent of each other, but for conditions
    between questions. An array with one axis per attribute: the joint table. An `Estimate` of
    `reconstruct(...).table(...)`, several of them, or the reconstruction itself: estimated, with
    its uncertainty.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    schema = design.schema
    if isinstance(prior, Prior):
        if prior.schema != schema:
            raise DataError("the prior was made for another schema than the design's")
        return prior
    source, single = "known", list[PriorTable]()
    if isinstance(prior, Reconstruction):
        reconstruction, prior = prior, _estimates(prior)
        if any(len(estimate.attributes) > 1 for estimate in prior):
            single = [
                _estimated(reconstruction.table([n]), schema, draws, rng) for n in schema.names
            ]
    if isinstance(prior, Estimate):
        prior = [prior]
    if prior is None:
        blocks = uniform_tables(design)
        source = "every category taken as equally likely"
        source += " among those who are asked" if design.conditions else ""
    elif isinstance(prior, list | tuple) and prior and all(isinstance(e, Estimate) for e in prior):
        blocks = [_estimated(e, schema, draws, rng) for e in prior]
        source = f"estimated from {number_of(prior[0].n_records, 'reported record')}"
    elif isinstance(prior, Mapping):
        blocks = [_given(key, value, schema, draws, rng) for key, value in prior.items()]
        if any(block.tables.shape[-1] > 1 for block in blocks):
            source = "estimated"
    else:
        blocks = [_table(prior, schema.names, schema, "the prior")]
    named = [name for block in blocks for name in block.names]
    for name in schema.names:
        if named.count(name) != 1:
            raise DataError(
                f"the prior {'names' if name in named else 'says nothing of'} attribute {name!r}"
                f"{' more than once' if name in named else ''}; each must be in one table"
            )
    blocks = tied_tables(blocks, design)
    untied = UNTIED if len(blocks) > 1 else ASSUMED if blocks[0].assumed else ""
    return Prior(schema, tuple(blocks), source + untied, prior is None, tuple(single))


def _estimates(reconstruction: Reconstruction) -> list[Estimate]:
    """The joint table of all attributes if it is small, else of each group, else of each one."""
    design = reconstruction.design
    if _estimable(design, design.schema.names):
        return [reconstruction.table(design.schema.names)]
    tied = [names for names in tied_parts(design) if len(names) > 1 and _estimable(design, names)]
    parts = [list(design.jointly_reported(names)) for names in tied]
    done = {name for names in parts for name in names}
    for group in design.groups:
        names = group.attributes
        if done.isdisjoint(names) and _estimable(design, names):
            parts.append(list(names))
        else:
            parts += [[name] for name in names if name not in done]
    return [reconstruction.table(names) for names in parts]


def _estimable(design: Design, names: Sequence[str]) -> bool:
    small = math.prod(design.schema[name].size for name in names) <= MAX_JOINT
    return small and design.channel(names).reconstructable


def _estimated(
    estimate: Estimate, schema: Schema, draws: int, rng: np.random.Generator
) -> PriorTable:
    names = tuple(a.name for a in estimate.attributes)
    if not names:
        raise DataError(f"{estimate.name} is one number; a prior needs .table([...])")
    for attribute in estimate.attributes:
        if schema[attribute.name] != attribute:
            raise DataError(
                f"the prior's attribute {attribute.name!r} is not the design's: "
                "other categories or another order"
            )
    values, vectors = np.linalg.eigh(estimate.covariance)
    # The symmetric root is the same on every machine; eigenvectors are not.
    spread = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    normal = rng.standard_normal((estimate.value.size, draws))
    value = estimate.value.reshape(-1, 1)
    stack = np.hstack([value, value + spread @ normal])
    tables = np.stack([project(column) for column in stack.T], axis=-1)
    return PriorTable(names, tables.reshape(*estimate.value.shape, draws + 1))


def _given(
    key: object, value: Any, schema: Schema, draws: int, rng: np.random.Generator
) -> PriorTable:
    names = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, tuple) else None
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"the prior's keys must be attributes or tuples of them, got {key!r}")
    for name in names:
        if name not in schema:
            raise DataError(unknown("attribute", name, schema.names, " in the prior"))
    if isinstance(value, Estimate):
        if tuple(a.name for a in value.attributes) != names:
            raise DataError(f"the prior of {key!r} is {value.name}")
        return _estimated(value, schema, draws, rng)
    what = f"the prior of {', '.join(names)}"
    if isinstance(value, Mapping) and len(names) == 1:
        attribute = schema[names[0]]
        by_code = {attribute.code(label): share for label, share in value.items()}
        for code, category in enumerate(attribute.categories):
            if code not in by_code:
                raise DataError(f"{what} lacks the category {category!r}")
        value = [by_code[code] for code in range(attribute.size)]
    return _table(value, names, schema, what)


def _table(value: Any, names: Sequence[str], schema: Schema, what: str) -> PriorTable:
    sizes = tuple(schema[name].size for name in names)
    table = numbers(value, what)
    if table.shape != sizes:
        raise DataError(
            f"{what} has shape {'x'.join(map(str, table.shape)) or 'of one number'}, need "
            + " x ".join(f"{n!r} ({k})" for n, k in zip(names, sizes, strict=True))
        )
    check_distribution(table.ravel(), what)
    return PriorTable(tuple(names), (table / table.sum())[..., None])


def prior_from_json(text: str) -> Any:
    """What `report` takes for a prior; its content is checked there.

    A prior file is an object with one distribution per attribute, as a list in the order of the
    categories or as an object from category to probability; or a list of joint tables:

        {"smokes": {"no": 0.7, "yes": 0.3}, "income": [0.5, 0.3, 0.2]}
        [{"attributes": ["smokes", "income"], "table": [[0.4, 0.2, 0.1], [0.1, 0.1, 0.1]]}]
    """
    content = parse_json(text, "prior file")
    if isinstance(content, list):
        tables: dict[tuple[str, ...], Any] = {}
        for i, item in enumerate(content):
            match item:
                case {"attributes": [*names], "table": table, **more} if not more and all(
                    isinstance(name, str) for name in names
                ):
                    if tuple(names) in tables:
                        raise FileError(f"the prior has two tables of {', '.join(names)}")
                    tables[tuple(names)] = table
                case _:
                    raise FileError(
                        f"[{i}] must be an object with 'attributes', which must be a list of "
                        f"names, and 'table', got {item!r:.60}"
                    )
        return tables
    if not isinstance(content, dict):
        raise FileError("a prior must be an object by attribute, or a list of joint tables")
    if isinstance(content.get("tacit"), str):
        raise FileError(f"not a prior file: it says that it is a {content['tacit']}")
    return content
