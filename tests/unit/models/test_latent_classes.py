"""The likelihood of latent classes through a design, against listing every true record.

Derivatives are taken by the complex step: f'(x) = Im f(x + ih) / h, exact to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from tacit import Attribute, Design, Group, Schema, related, truthful
from tacit.models.latent_classes import LatentModel, n_parameters, ordered
from tacit.records import PatternTable
from tests.support.families import CASES, Case
from tests.support.grids import pairwise
from tests.support.latent import all_reports, brute_reports, random_model
from tests.support.tables import reported_table

CLOSE: dict[str, Any] = dict(rtol=1e-10, atol=1e-12)
CHOSEN = pairwise(CASES, lambda case: (case.family, tuple(a.size for a in case.attributes)))
every_case = pytest.mark.parametrize("case", CHOSEN)
N_CLASSES = 3


def design_of(case: Case) -> Design:
    """The case's group and another one."""
    other = Attribute("other", ["no", "yes", "none"])
    own = Group([a.name for a in case.attributes], case.coin)
    return Design(Schema([other, *case.attributes]), [own, Group(["other"], related(0.6))])


def counted(design: Design, expected: Any, rng: np.random.Generator) -> PatternTable:
    possible = expected > 0
    counts = rng.integers(1, 500, int(possible.sum()))
    return PatternTable(design.reported, np.asfortranarray(all_reports(design)[possible]), counts)


@every_case
def test_likelihood_and_posterior_are_those_of_brute_force(case: Case) -> None:
    design, rng = design_of(case), np.random.default_rng(5)
    prior, tables = random_model(design.schema.sizes, N_CLASSES, rng)
    expected, classes = brute_reports(design, prior, tables)
    model = LatentModel(counted(design, expected, rng), design, N_CLASSES)
    parameters = model.join(prior, tables)
    possible = expected > 0
    np.testing.assert_allclose(model.logs(parameters), np.log(expected[possible]), **CLOSE)
    np.testing.assert_allclose(model.classes(parameters), classes[possible], **CLOSE)


@every_case
def test_the_information_is_that_of_the_derivatives_of_brute_force(case: Case) -> None:
    design, rng = design_of(case), np.random.default_rng(6)
    logits = [rng.normal(0, 0.7, (2,)), *(rng.normal(0, 0.7, (2, k)) for k in design.schema.sizes)]
    prior, *tables = (softmax(part, axis=-1) for part in logits)
    expected, _ = brute_reports(design, prior, tables)
    patterns, possible = counted(design, expected, rng), expected > 0
    cells = np.eye(expected.size)[possible]
    units = np.eye(int(np.prod(design.schema.sizes))).reshape(-1, *design.schema.sizes)
    channel = np.stack([reported_table(design, unit).ravel() for unit in units], axis=1)
    scores = []
    for part in range(len(logits)):
        for place in np.ndindex(logits[part].shape):
            moved: list[Any] = [p.astype(complex) for p in logits]
            moved[part][place] += 1e-30j
            shares, *laws = (np.exp(p) / np.exp(p).sum(axis=-1, keepdims=True) for p in moved)
            joint: Any = shares[:, None]
            for law in laws:
                joint = (joint[:, :, None] * law[:, None]).reshape(2, -1)
            scores.append(np.log(cells @ (channel @ joint.sum(axis=0))).imag / 1e-30)
    stacked = np.array(scores)
    model = LatentModel(patterns, design, 2)
    found = model.information(prior, tables)
    by_hand = (stacked * patterns.counts) @ stacked.T
    np.testing.assert_allclose(found, by_hand, rtol=1e-8, atol=1e-8 * by_hand.max())


@every_case
def test_a_step_of_em_never_lowers_the_likelihood(case: Case) -> None:
    design, rng = design_of(case), np.random.default_rng(7)
    prior, tables = random_model(design.schema.sizes, N_CLASSES, rng)
    expected, _ = brute_reports(design, prior, tables)
    model = LatentModel(counted(design, expected, rng), design, N_CLASSES)
    point, reached = model.join(prior, tables), []
    for _ in range(10):
        step = model.step(point, 1e-6)
        point = step.after
        reached.append(step.log_likelihood)
    assert (np.diff(reached) >= -1e-12).all(), reached


def test_standard_errors_of_one_class_without_disguise_are_those_of_shares() -> None:
    schema = Schema([Attribute("a", ["x", "y", "z"]), Attribute("b", ["no", "yes"])])
    design = Design(schema, [Group(schema.names, truthful())])
    patterns = PatternTable(
        schema, all_reports(design), np.array([60, 40, 30, 20, 150, 100], dtype=np.int64)
    )
    model = LatentModel(patterns, design, 1)
    tables = [np.array([[0.25, 0.125, 0.625]]), np.array([[0.6, 0.4]])]
    covariance = model.covariance(model.join(np.ones(1), tables), 1e-12)
    p = np.concatenate([[1.0], tables[0][0], tables[1][0]])
    np.testing.assert_allclose(np.diagonal(covariance), p * (1 - p) / 400, atol=1e-12)


def test_what_the_reports_do_not_determine_has_no_standard_error() -> None:
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
    design = Design(schema, [Group(schema.names, related(0.8))])
    counts = np.full(8, 100, dtype=np.int64)
    model = LatentModel(PatternTable(schema, all_reports(design), counts), design, 2)
    same = [np.full((2, 2), 0.5)] * 3
    covariance = model.covariance(model.join(np.array([0.5, 0.5]), same), 1e-9)
    assert np.isnan(np.diagonal(covariance)).any()


def test_another_number_of_classes_or_other_counts_give_the_model_of_those() -> None:
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
    design = Design(schema, [Group(schema.names, related(0.8))])
    rng = np.random.default_rng(8)
    patterns = PatternTable(schema, all_reports(design), rng.integers(1, 50, 8))
    others = PatternTable(schema, all_reports(design), rng.integers(1, 50, 8))
    prior, tables = random_model(schema.sizes, 2, rng)
    made = LatentModel(patterns, design, 5).variant(2, others.counts)
    fresh = LatentModel(others, design, 2)
    point = fresh.join(prior, tables)
    np.testing.assert_array_equal(made.step(point, 1.0).after, fresh.step(point, 1.0).after)
    assert made.n_records == others.n_records


def test_classes_are_ordered_by_share_and_equal_ones_by_profile() -> None:
    prior = np.array([0.2, 0.4, 0.2, 0.2])
    table = np.array([[0.1, 0.9], [0.5, 0.5], [0.7, 0.3], [0.4, 0.6]])
    assert ordered(prior, [table]).tolist() == [1, 2, 3, 0]


def test_the_number_of_parameters() -> None:
    assert n_parameters((2, 3, 4), 3) == 2 + 3 * (1 + 2 + 3)
