"""ClassProfiles: shares of latent classes and P(category | class), with their errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Attribute, Label, Schema, text
from tacit.mine.block_units import Tables
from tacit.output.number_text import UNKNOWN, number_of
from tacit.output.table import Table
from tacit.reconstruction import Estimate
from tacit.reconstruction.estimate import free_names
from tacit.reconstruction.interval import Interval, normal_interval

_METHOD = "likelihood"


class ClassEstimate(Estimate):
    """Probabilities of classes, the first axis; intervals are normal, cut at 0 and 1."""

    def cells(self) -> list[tuple[Label, ...]]:
        """Labels of the cells; there may be one class, while an attribute has two categories."""
        others = (attribute.categories for attribute in self.attributes[1:])
        return list(itertools.product(range(len(self.value)), *others))

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence limits, cell by cell."""
        found = normal_interval(self.value, self.stderr, level)
        lower, upper = (np.clip(limit, 0, 1) for limit in found)
        return Interval(
            np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), 1.0, upper)
        )


@dataclass(frozen=True, eq=False)
class ClassProfiles:
    """Shares and tables (classes x categories) of latent classes of these attributes.

    `covariance_of` computes the covariance of all shares and then all cells of the tables.
    """

    schema: Schema
    prior: Array
    tables: Tables
    n_records: int
    covariance_of: Callable[[], Array]

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the shares and of the cells of the tables, flattened."""
        return self.covariance_of()

    @cached_property
    def attribute(self) -> Attribute:
        """The class as an attribute, with a name that no other attribute has."""
        name = free_names(["class"], self.schema.names)["class"]
        return Attribute(name, range(max(2, len(self.prior))))

    def shares(self) -> Estimate:
        """P(class)."""
        return self._estimate(self.prior, slice(0, len(self.prior)), (), "P(class)")

    def profile(self, name: str) -> Estimate:
        """P(category | class) of an attribute, classes x categories."""
        place = self.schema.index(name)
        stops = list(itertools.accumulate((t.size for t in self.tables), initial=len(self.prior)))
        own = slice(stops[place], stops[place + 1])
        return self._estimate(self.tables[place], own, (self.schema[name],), f"P({name} | class)")

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Every P(category | class) as columns; the shares of the classes have no attribute."""
        names = ("class", "attribute", "category", "estimate", "stderr", "lower", "upper")
        rows = []
        for name in (None, *self.schema.names):
            found = self.shares() if name is None else self.profile(name)
            numbers = [np.ravel(v) for v in (found.value, found.stderr, *found.interval(level))]
            for label, *figures in zip(found.cells(), *numbers, strict=True):
                category = None if name is None else text(label[1])
                rows.append((int(label[0]), name, category, *map(float, figures)))
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def to_table(self) -> Table:
        """A column per class: its share, and P(category | class) with one standard error."""
        classes = [f"class {c}" for c in range(len(self.prior))]
        found = self.shares()
        rows: list[tuple[Any, ...]] = [("share", "", *map(_plus_minus, found.value, found.stderr))]
        for attribute in self.schema:
            own = self.profile(attribute.name)
            for label, values, errors in zip(
                attribute.categories, own.value.T, own.stderr.T, strict=True
            ):
                rows.append((attribute.name, text(label), *map(_plus_minus, values, errors)))
        title = (
            f"{number_of(len(classes), 'latent class', 'latent classes')} from "
            f"{number_of(self.n_records, 'reported record')}; +- is one standard error"
        )
        return Table(("attribute", "category", *classes), rows, title, "ll" + "r" * len(classes))

    def notes(self) -> list[str]:
        """What the reports do not determine."""
        shares = self.shares()
        found = [
            f"the share of class {c} is within two standard errors of 0"
            for c in np.flatnonzero(shares.value < 2 * shares.stderr)
        ]
        if np.isnan(np.diagonal(self.covariance)).any():
            found.append("the reports do not determine all profiles; their errors are unknown")
        return found

    def _estimate(
        self, value: Array, own: slice, attributes: tuple[Attribute, ...], name: str
    ) -> Estimate:
        covariance = self.covariance[own, own]
        return ClassEstimate(
            attributes=(self.attribute, *attributes),
            value=value,
            stderr=np.sqrt(np.maximum(np.diagonal(covariance), 0)).reshape(value.shape),
            n_records=self.n_records,
            method=_METHOD,
            name=name,
            covariance_of=lambda: covariance,
        )


def _plus_minus(value: float, stderr: float) -> str:
    return f"{value:.3f} +- {UNKNOWN if np.isnan(stderr) else f'{stderr:.3f}'}"


def saved_covariance(stderr: Array) -> Array:
    """The covariance of a saved model: its standard errors; between cells it is not known."""
    return np.where(np.eye(len(stderr), dtype=bool), stderr**2, np.nan)
