"""Joint tables by penalised EM: limits of the strength, the naive Bayes model, the channel."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise
from tacit.core.arrays import Array, Codes
from tacit.core.channel import Coin, frapp, matrix, related, truthful, uniform_perturbation
from tacit.core.channel.linear_maps import Mirror
from tacit.core.design import ProductChannel
from tacit.mine.tree.growth import CRITERIA, GrowthSettings
from tacit.mine.tree.likelihood import (
    TableReports,
    TreeChoice,
    fitted_table,
    maximised,
    naive_bayes_step,
    naive_bayes_table,
    penalised,
    with_uniform,
)
from tacit.reconstruction import reconstruct
from tacit.records import count

SCHEMA = Schema(
    [
        Attribute("a", ["no", "yes"]),
        Attribute("class", ["no", "yes"]),
        Attribute("b", ["x", "y", "z"]),
        Attribute("c", ["no", "yes"]),
    ]
)
NAMES = ("a", "b", "c")
JOINT = (np.eye(6) * 0.6 + 0.4 / 6).tolist()


def designed(coin: Coin) -> Design:
    return Design(
        SCHEMA, [Group(["a", "class", "c"], coin), Group(["b"], uniform_perturbation(0.6))]
    )


DESIGNS = {
    "related": designed(related(0.7)),
    "unrelated": designed(uniform_perturbation(0.5)),
    "truthful": designed(truthful()),
    "joint matrix": Design(
        SCHEMA, [Group(["class", "b"], matrix(JOINT)), Group(["a", "c"], related(0.8))]
    ),
}


def channel_of(design: Design) -> ProductChannel:
    return design.channel([*NAMES, "class"])


def any_table(seed: int = 1) -> Array:
    found = np.random.default_rng(seed).dirichlet(np.ones(24)).reshape(12, 2)
    return np.asarray(found)


def any_records(rng: np.random.Generator, n: int = 3000) -> Codes:
    cells = rng.choice(24, n, p=any_table().ravel())
    a, b, c, label = np.unravel_index(cells, (2, 3, 2, 2))
    return np.column_stack([a, label, b, c]).astype(np.uint8)


def reports_of(design: Design, n: int = 3000) -> TableReports:
    rng = np.random.default_rng(2)
    patterns = count(disguise(any_records(rng, n), design, rng), design.reported)
    return TableReports.of(channel_of(design), patterns)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_maps_are_the_channel_and_its_transpose(name: str) -> None:
    reports, table = reports_of(DESIGNS[name]), any_table()
    dense = reports.channel.matrix
    np.testing.assert_allclose(reports.reported(table), dense @ table.ravel(), rtol=0, atol=1e-14)
    ratio = np.zeros(len(dense))
    ratio[reports.cells] = reports.counts / reports.total / (dense @ table.ravel())[reports.cells]
    expected = table.ravel() * (dense.T @ ratio)
    np.testing.assert_allclose(reports.expected(table)[0].ravel(), expected, rtol=0, atol=1e-13)


def test_a_mirror_keeps_or_turns_everything() -> None:
    step = Mirror(0.7, 4)
    np.testing.assert_allclose(step.matrix(), 0.7 * np.eye(4) + 0.3 * np.eye(4)[::-1])
    np.testing.assert_allclose(step.power(2).matrix(), step.matrix() ** 2)
    assert step.T is step


@pytest.mark.parametrize("name", ["related", "unrelated", "truthful"])
def test_chances_of_the_reported_class_sum_to_one(name: str) -> None:
    channel = channel_of(DESIGNS[name])
    n_cells = math.prod(channel.reported.sizes)
    reports = TableReports(channel, np.arange(n_cells), np.ones(n_cells))
    chances = np.exp(reports.class_likelihoods(any_table()))
    axis = channel.reported.names.index("class")
    sums = chances.reshape(channel.reported.sizes).sum(axis=axis)
    np.testing.assert_allclose(sums, 1, rtol=0, atol=1e-12)


def test_a_very_strong_prior_is_the_result_and_a_weak_one_gives_the_reports() -> None:
    reports, prior = reports_of(DESIGNS["truthful"]), with_uniform(any_table(9))
    strong = penalised(reports, prior, 1e12, prior)
    np.testing.assert_allclose(strong, prior, rtol=1e-6)
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    seen = reports_of(design)
    weak = penalised(seen, prior, 1e-6, prior)
    shares = np.zeros(24)
    shares[seen.cells] = seen.counts / seen.total
    axes = [seen.channel.reported.names.index(n) for n in [*NAMES, "class"]]
    expected = shares.reshape(seen.channel.reported.sizes).transpose(axes).reshape(12, 2)
    np.testing.assert_allclose(weak, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", DESIGNS)
def test_em_does_not_lower_the_penalised_likelihood(name: str) -> None:
    reports, prior = reports_of(DESIGNS[name]), with_uniform(any_table(9))

    def objective(table: Array) -> float:
        likelihood = reports.expected(table)[1]
        return likelihood + 300 / reports.total * float((prior * np.log(table)).sum())

    assert objective(penalised(reports, prior, 300, prior)) > objective(prior)


def test_naive_bayes_keeps_a_table_of_its_own_kind() -> None:
    sizes = channel_of(DESIGNS["related"]).true.sizes[:-1]
    rng = np.random.default_rng(4)
    tables = [rng.dirichlet(np.ones(k), 2) for k in sizes]
    table = naive_bayes_table(np.array([0.3, 0.7]), tables)
    np.testing.assert_allclose(naive_bayes_step(sizes, 1e12)(table), table, rtol=0, atol=1e-9)
    reports = reports_of(DESIGNS["related"])
    found = maximised(reports, naive_bayes_step(sizes, reports.total), table)
    assert reports.expected(found)[1] > reports.expected(table)[1]
    assert found.sum() == pytest.approx(1)


def test_folds_share_out_all_reports_once() -> None:
    design = DESIGNS["related"]
    rng = np.random.default_rng(5)
    true = np.column_stack([rng.integers(0, k, 500) for k in SCHEMA.sizes]).astype(np.uint8)
    patterns = count(disguise(true, design, rng), design.reported)
    parts = list(patterns.folds(3, rng))
    assert sum(held.n_records for _, held in parts) == 500
    assert all(own.n_records + held.n_records == 500 for own, held in parts)


def test_the_fitted_table_is_a_distribution_close_to_the_truth() -> None:
    """With 60,000 mildly disguised reports, all cells are within .02."""
    design, rng = designed(related(0.9)), np.random.default_rng(6)
    cells = rng.choice(24, 60_000, p=any_table().ravel())
    a, b, c, own = np.unravel_index(cells, (2, 3, 2, 2))
    true = np.column_stack([a, own, b, c]).astype(np.uint8)
    found = fitted_table(reconstruct(disguise(true, design, rng), design), "class", NAMES, rng)
    assert found.table.sum() == pytest.approx(1)
    assert np.abs(found.table - any_table()).max() < 0.02


@pytest.mark.parametrize("seed", range(8))
def test_the_root_of_a_tree_has_the_digits_of_the_table(seed: int) -> None:
    """Saved models stay the same to the byte: the sum of the table, in its order in memory."""
    design = Design(SCHEMA, [Group(SCHEMA.names, frapp(8))])
    rng = np.random.default_rng(seed)
    reconstruction = reconstruct(disguise(any_records(rng), design, rng), design)
    fitted = fitted_table(reconstruction, "a", ["class", "b", "c"], np.random.default_rng(0))
    full = TreeChoice.of(fitted, GrowthSettings(CRITERIA["entropy"], 2.0, None)).full
    assert full.value[0].tolist() == fitted.table.sum(axis=0).tolist()
