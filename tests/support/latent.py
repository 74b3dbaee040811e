"""Latent classes to simulate: their joint distribution, true records, and brute-force reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import Design
from tacit.core.arrays import Array
from tests.support.tables import cells_of, reported_table


def joint_table(prior: Array, tables: Sequence[Array]) -> Array:
    """P(x) = sum_c P(c) prod_a P(x_a | c), one axis per attribute."""
    joint = np.asarray(prior)[:, None]
    for table in tables:
        joint = (joint[:, :, None] * table[:, None]).reshape(len(joint), -1)
    return np.asarray(joint.sum(axis=0)).reshape([table.shape[1] for table in tables])


def class_tables(prior: Array, tables: Sequence[Array]) -> list[Array]:
    """P(c, x) of each class, one axis per attribute."""
    ones = np.ones(1)
    return [p * joint_table(ones, [t[c : c + 1] for t in tables]) for c, p in enumerate(prior)]


def brute_reports(design: Design, prior: Array, tables: Sequence[Array]) -> tuple[Array, Array]:
    """P(y) and P(c | y) of every report, by listing every true record."""
    joint = np.stack(
        [reported_table(design, own).ravel() for own in class_tables(prior, tables)], axis=1
    )
    total = joint.sum(axis=1)
    return total, joint / np.where(total > 0, total, 1)[:, None]


def all_reports(design: Design) -> Any:
    """The codes of every report."""
    return np.asfortranarray(cells_of(design.reported.attributes), dtype=np.uint8)


def random_model(
    sizes: Sequence[int], n_classes: int, rng: np.random.Generator
) -> tuple[Array, list[Array]]:
    """Random shares and profiles."""
    tables = [rng.dirichlet(np.ones(size), n_classes) for size in sizes]
    return rng.dirichlet(np.full(n_classes, 5.0)), tables


def true_records(
    prior: Array, tables: Sequence[Array], n: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Records and their classes."""
    classes = rng.choice(len(prior), n, p=prior)
    columns = [(rng.random(n)[:, None] > t.cumsum(axis=1)[classes][:, :-1]).sum(1) for t in tables]
    return np.stack(columns, axis=1).astype(np.uint8), classes
