"""RecordPosterior: true records drawn given the reports, under a naive Bayes model.

A report gives P(c | y), the strategy s of each group's coin, P(s | c, y_G), and the true answers of
each unit, P(x_u | c, s, y_u), all by Bayes' rule (see `conditional_model`). A record is drawn in
this order. Where the coin probably kept the answers, the draw is the report, so that dependences
beyond naive Bayes are kept too; where it did not, the draw comes from the model (multiple
imputation: Rubin, 1987).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Codes, Index
from tacit.core.design import Design, Group
from tacit.core.label_codes import code_type
from tacit.models.block_units import Tables, UnitChannel, unit_channels
from tacit.models.conditional_model import CHUNK, ConditionalModel
from tacit.records import PatternTable


@dataclass(frozen=True, eq=False)
class UnitDraws:
    """P(true answers | class, reported answers) of a unit, cumulated.

    `sums` is flat: classes x reported cells x true cells, each row raised by its number.
    """

    channel: UnitChannel
    columns: tuple[int, ...]
    reported_sizes: tuple[int, ...]
    true_sizes: tuple[int, ...]
    sums: Array

    @classmethod
    def of(
        cls, channel: UnitChannel, columns: tuple[int, ...], sizes: tuple[int, ...], tables: Tables
    ) -> Self:
        """The draws of a unit whose reports have these columns and sizes."""
        own = tuple(tables[a].shape[1] for a in channel.attributes)
        joint = tables[channel.attributes[0]]
        for a in channel.attributes[1:]:
            joint = (joint[:, :, None] * tables[a][:, None]).reshape(len(joint), -1)
        chances = joint[:, None] * channel.matrix[None]
        chances = np.maximum(chances, TINY * (channel.matrix[None] > 0))
        chances /= chances.sum(axis=2, keepdims=True) + TINY
        rows = chances.reshape(-1, chances.shape[2]).cumsum(axis=1)
        rows[:, -1] = 1.0
        sums = (rows + np.arange(len(rows))[:, None]).ravel()
        return cls(channel, columns, sizes, own, sums)

    def draw(
        self, reports: Codes, classes: Index, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.intp], ...]:
        """The true answers to the attributes of the unit."""
        cell = np.zeros(len(reports), np.intp)
        for column, size in zip(self.columns, self.reported_sizes, strict=True):
            cell = cell * size + reports[:, column]
        row = classes * math.prod(self.reported_sizes) + cell
        width = math.prod(self.true_sizes)
        found = np.searchsorted(self.sums, row + rng.random(len(row)), side="right")
        found = np.clip(found - row * width, 0, width - 1)
        return np.unravel_index(found, self.true_sizes)


class GroupPosterior(NamedTuple):
    """P(s | c, y) of a group, cumulated, strategies x classes x patterns; and its units."""

    strategies: npt.NDArray[np.float32]
    units: tuple[tuple[UnitDraws, ...], ...]


@dataclass(frozen=True, eq=False)
class RecordPosterior:
    """P(c | y), cumulated, classes x patterns, and the posteriors of the groups."""

    reports: Codes
    classes: npt.NDArray[np.float32]
    groups: tuple[GroupPosterior, ...]
    sizes: tuple[int, ...]
    target: int
    kind: npt.DTypeLike

    @classmethod
    def of(
        cls, patterns: PatternTable, design: Design, target: str, prior: Array, tables: Tables
    ) -> Self:
        """The posterior under naive Bayes; the target's own table is the identity."""
        model = ConditionalModel(patterns, design, target)
        chunks = list(model.posterior(prior, tables, CHUNK))
        classes = np.concatenate([chunk.classes for chunk in chunks], axis=1)
        groups = []
        for g, group in enumerate(design.groups):
            shares = [c.by_strategy[g] / np.maximum(c.totals[g], TINY) for c in chunks]
            cumulated = np.concatenate(shares, axis=2).cumsum(axis=0).astype(np.float32)
            groups.append(GroupPosterior(cumulated, _units(design, group, patterns, tables)))
        return cls(
            patterns.patterns,
            classes.cumsum(axis=0).astype(np.float32),
            tuple(groups),
            design.schema.sizes,
            design.schema.index(target),
            code_type(design.schema),
        )

    def draw(self, rows: Index, rng: np.random.Generator) -> Codes:
        """A true record for each of these patterns."""
        cumulated = self.classes[:, rows]
        drawn = rng.random(len(rows), np.float32)
        classes = (drawn * cumulated[-1] >= cumulated[:-1]).sum(axis=0)
        found = np.empty((len(rows), len(self.sizes)), self.kind)
        reports = self.reports[rows]
        for group in self.groups:
            own = group.strategies[:, classes, rows]
            drawn = rng.random(len(rows), np.float32)
            strategy = (drawn * own[-1] >= own[:-1]).sum(axis=0)
            for s, units in enumerate(group.units):
                some = np.flatnonzero(strategy == s)
                for unit in units:
                    answers = unit.draw(reports[some], classes[some], rng)
                    for a, codes in zip(unit.channel.attributes, answers, strict=True):
                        found[some, a] = codes
        return found


def _units(
    design: Design, group: Group, patterns: PatternTable, tables: Tables
) -> tuple[tuple[UnitDraws, ...], ...]:
    """The units of each strategy that the coin may pick."""
    attributes = design.attributes_of(group)
    reported = group.coin.reported(attributes)
    places = [design.schema.index(a.name) for a in attributes]
    columns = [patterns.schema.index(a.name) for a in reported]
    found = []
    for weight, strategy in group.coin.strategies(attributes):
        if weight > 0:
            channels = unit_channels(strategy, places, attributes, len(reported))
            found.append(
                tuple(
                    UnitDraws.of(
                        channel,
                        tuple(columns[i] for i in channel.reports),
                        tuple(reported[i].size for i in channel.reports),
                        tables,
                    )
                    for channel in channels
                )
            )
    return tuple(found)
