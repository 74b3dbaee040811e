"""What models of records are made of, against the joint table, for every family and grouping."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from tacit import Design
from tacit.models.latent_classes import LatentClasses
from tacit.models.units import UnitLayout, UnitReports
from tacit.privacy.disclosure import Sample, agreement
from tacit.privacy.model_stack import class_model, group_cells, joint_groups, report_likelihoods
from tacit.privacy.moment_bound import GRID, PairMoments, _largest, moments
from tacit.privacy.scopes import joint_of_attribute, reports_of
from tacit.records import PatternTable
from tests.support.families import designs, seeds
from tests.support.tables import counts_of, kron_all, random_table


def reports_from(design: Design, seed: int, n: int = 500) -> UnitReports:
    """Reported records of a random population."""
    counts = counts_of(design, random_table(seed, design.schema.sizes), n, seed)
    cells = np.flatnonzero(counts)
    codes = np.stack(np.unravel_index(cells, counts.shape), axis=1)
    patterns = PatternTable(
        design.reported, codes.astype(np.uint8), counts.ravel()[cells].astype(np.int64)
    )
    return UnitReports(patterns, design)


def some_classes(layout: UnitLayout, seed: int, classes: int = 3) -> LatentClasses:
    rng = np.random.default_rng(seed)
    answers = [rng.dirichlet(np.ones(k), classes) for k in layout.sizes]
    return LatentClasses(rng.dirichlet(np.ones(classes)), answers)


@pytest.mark.slow
@given(designs(), seeds())
def test_the_channel_of_some_units_is_the_one_of_the_design(design: Design, seed: int) -> None:
    layout = UnitLayout(design)
    units = np.flatnonzero(np.random.default_rng(seed).random(len(layout.units)) < 0.6)
    chosen = [int(u) for u in units] or [0]
    names = [name for u in chosen for name in layout.units[u].names]
    expected = kron_all([f.channel.matrix for f in design.channel(names).factors])
    assert layout.matrix(chosen) == pytest.approx(expected, abs=1e-12)


@given(designs(), seeds())
def test_the_likelihood_of_a_report_under_classes_is_that_of_their_joint_table(
    design: Design, seed: int
) -> None:
    reports = reports_from(design, seed)
    model = some_classes(reports.layout, seed)
    assert model.joint().sum() == pytest.approx(1, abs=1e-9)
    sent = reports_of(joint_groups(reports.layout, model.joint()[..., None]))[..., 0]
    found = report_likelihoods(class_model(reports), model)
    assert found == pytest.approx(sent[group_cells(reports)], rel=1e-9, abs=1e-12)
    assert agreement(reports.layout, model) == pytest.approx(float((sent**2).sum()), rel=1e-9)


@given(designs(), seeds())
def test_sampled_posteriors_are_those_of_the_joint_table(design: Design, seed: int) -> None:
    layout = UnitLayout(design)
    model = some_classes(layout, seed)
    sample = Sample(layout, model, np.random.default_rng(seed), draws=40)
    part = joint_groups(layout, model.joint()[..., None])
    places = sent_cells(sample)
    for name in design.schema.names:
        joint = joint_of_attribute(part, name)[..., 0][(slice(None), *places)]
        best = (joint / joint.sum(axis=0)).max(axis=0)
        assert sample.attribute(name).best == pytest.approx(best.mean(), abs=1e-9)
        assert sample.attribute(name).worst == pytest.approx(best.max(), abs=1e-9)
    peaks = _peaks(design, layout, model, sample)
    found = sample.units(range(len(layout.units)))
    assert found.best <= peaks.mean() + 1e-9
    assert found.best >= 0.9 * peaks.mean()


def sent_cells(sample: Sample) -> tuple[np.ndarray, ...]:
    """Where each drawn report is in a table with one axis per group."""
    layout = sample.layout
    return tuple(
        np.ravel_multi_index(
            tuple(sample.codes[:, list(group.units)].T), [layout.reports[u] for u in group.units]
        )
        for group in layout.groups
    )


def _peaks(design: Design, layout: UnitLayout, model: LatentClasses, sample: Sample) -> np.ndarray:
    """The largest posterior of a whole record, for each drawn report."""
    matrix = kron_all([group.factor.channel.matrix for group in layout.groups])
    joint = np.maximum(matrix, 0) * model.joint().ravel()
    shape = [math.prod(group.factor.channel.reported_shape) for group in layout.groups]
    places = sent_cells(sample)
    rows = joint[np.ravel_multi_index(places, shape)]
    return np.asarray(rows.max(axis=1) / rows.sum(axis=1))


@given(designs(), seeds())
def test_no_step_of_the_fit_of_classes_lowers_the_likelihood(design: Design, seed: int) -> None:
    reports = reports_from(design, seed)
    model = class_model(reports).variant(2)
    classes = some_classes(reports.layout, seed, 2)
    before = model.step(model.join(classes.shares, classes.tables), 0.5)
    after = model.step(before.after, 0.5)
    assert after.log_likelihood >= before.log_likelihood - 1e-12


@given(seeds())
def test_moments_of_people_with_equal_reports_are_those_of_the_posterior(seed: int) -> None:
    """With as many people as one likes, chance is gone: E[q] and E[q^2] remain."""
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)  # the answer, all other reports
    matrix = 0.6 * np.eye(3) + 0.4 * rng.dirichlet(np.ones(3), 3).T
    sent = matrix @ joint
    own, others = (codes.ravel() for codes in np.indices(sent.shape))
    people = 1e12 * sent.ravel()
    found = moments(own, people, (others[:, None], [4]), matrix)
    shares = joint / joint.sum(axis=0)
    assert found.second == pytest.approx((shares**2 * joint.sum(axis=0)).sum(axis=1), abs=1e-4)
    assert found.high == pytest.approx(joint.sum(axis=1), abs=1e-4)
    assert (found.low <= found.high).all()


@pytest.mark.parametrize("share", [0.805, 0.905, 0.9525])
def test_the_bound_holds_between_points_of_its_grid_for_the_dependence_that_tells_most(
    share: float,
) -> None:
    """Other reports make yes or no this likely, each for half of all people: nothing else with the
    same moments tells as much. Moving it to the grid adds to its second moment, so that the bound
    may exceed it, but not by more than twice of that.
    """
    second = np.full(2, (share**2 + (1 - share) ** 2) / 2)
    half = np.full(2, 0.5)
    coin = np.array([[0.6, 0.4], [0.4, 0.6]])
    bound = _largest(PairMoments(second, half, half), np.arange(2), coin)
    moved = 1 / (4 * GRID[2] ** 2) / (2 * share - 1)
    assert share <= bound <= share + 2 * moved
