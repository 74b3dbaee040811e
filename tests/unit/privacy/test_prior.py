from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related
from tacit.errors import DataError, TacitError
from tacit.privacy import Limits, prior_of, report
from tacit.reconstruction import inversion

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related(0.8)), Group(["income"], related(0.8))])
SMOKES, INCOME = [0.7, 0.3], [0.5, 0.3, 0.2]
JOINT = np.array([[0.4, 0.2, 0.1], [0.1, 0.1, 0.1]])


def table(prior: Any) -> Any:
    return prior_of(prior, DESIGN).table(SCHEMA.names)[:, 0].reshape(2, 3)


def test_a_prior_by_attribute_says_that_dependence_is_not_known() -> None:
    prior = {"income": INCOME, "smokes": {"yes": 0.3, "no": 0.7}}
    assert np.allclose(table(prior), np.outer(SMOKES, INCOME), rtol=1e-15)
    assert "how answers in different tables go together is not known" in (
        prior_of(prior, DESIGN).source
    )
    assert not prior_of(prior, DESIGN).ties_all
    assert prior_of(JOINT, DESIGN).ties_all


def test_a_joint_table_may_be_given_by_names_in_any_order() -> None:
    assert np.array_equal(table(JOINT), JOINT)
    assert np.array_equal(table({("income", "smokes"): JOINT.T}), JOINT)


def test_nothing_given_means_equally_likely() -> None:
    assert np.allclose(table(None), 1 / 6, rtol=1e-15)


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ({"smokes": [0.7, 0.4], "income": INCOME}, "the prior of smokes must sum to 1, but sums"),
        ({"smokes": [1.2, -0.2], "income": INCOME}, "must hold probabilities, got -0.2"),
        ({"smokes": [np.nan, 1], "income": INCOME}, "must hold probabilities"),
        ({"smokes": SMOKES}, "says nothing of attribute 'income'"),
        ({"smoke": SMOKES, "income": INCOME}, "did you mean 'smokes'"),
        ({"smokes": {"no": 1}, "income": INCOME}, "lacks the category 'yes'"),
        ({"smokes": {"no": 0.5, "maybe": 0.5}, "income": INCOME}, "unknown category 'maybe'"),
        ({"smokes": "often", "income": INCOME}, "must hold numbers"),
        ({"smokes": INCOME, "income": INCOME}, "has shape 3, need 'smokes' .2."),
        (
            {("smokes", "income"): JOINT, "smokes": SMOKES},
            "names attribute 'smokes' more than once",
        ),
        ({1: SMOKES}, "keys must be attributes"),
        (JOINT.T, "has shape 3x2"),
        (3, "has shape of one number"),
        (JOINT * 2, "the prior must sum to 1, but sums to 2"),
    ],
)
def test_a_prior_that_does_not_fit_is_an_error_that_says_why(prior: Any, said: str) -> None:
    with pytest.raises(TacitError, match=said):
        report(DESIGN, prior)


@pytest.fixture(scope="module")
def reported() -> Any:
    rng = np.random.default_rng(5)
    true = np.stack(np.unravel_index(rng.choice(6, 4000, p=JOINT.ravel()), (2, 3)), axis=1)
    return disguise(true, DESIGN, rng)


def test_an_estimated_prior_carries_its_uncertainty_along(reported: Any) -> None:
    estimate = reconstruct(reported, DESIGN).table(["smokes", "income"])
    found = report(DESIGN, estimate).record.from_record
    assert found.central is not None
    low, high = found.interval("map_privacy")
    assert low == found.map_privacy < found.central[1] < high
    assert found.interval("worst_posterior")[1] == found.worst_posterior > found.central[2]
    known = report(DESIGN, JOINT).record.from_record
    assert low <= known.map_privacy <= high


def test_draws_of_a_prior_spread_as_its_covariance_says(reported: Any) -> None:
    estimate = reconstruct(reported, DESIGN).table(["income"], inversion)
    (block,) = [
        b
        for b in prior_of(
            {"smokes": SMOKES, "income": estimate}, DESIGN, np.random.default_rng(1), 4000
        ).blocks
        if b.names == ("income",)
    ]
    assert block.tables.shape == (3, 4001)
    assert np.allclose(block.tables.sum(axis=0), 1, atol=1e-12)
    spread = block.tables[:, 1:].std(axis=1) / estimate.stderr
    # 4,000 draws: the standard error of a standard deviation is 1.1 %; six of them.
    assert np.abs(spread - 1).max() < 6 / np.sqrt(8000)


@pytest.mark.slow
def test_a_reconstruction_serves_as_a_prior_and_a_seed_changes_its_draws(reported: Any) -> None:
    found = reconstruct(reported, DESIGN)
    first, again, other = (
        report(DESIGN, found, limits=Limits(rng=np.random.default_rng(seed))).pse.record
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert "4,000 reported records" in report(DESIGN, found).basis()


def test_a_large_reconstruction_is_taken_group_by_group_where_that_is_small() -> None:
    schema = Schema([Attribute(f"q{i}", range(2)) for i in range(13)])
    names = schema.names
    groups = [Group(names[:2], related(0.8)), Group(names[2:], related(0.8))]
    design = Design(schema, groups)
    true = np.random.default_rng(2).integers(0, 2, (300, 13))
    true[:, 1] = true[:, 0]
    found = reconstruct(disguise(true, design, np.random.default_rng(3)), design)
    prior = prior_of(found, design, draws=5)
    assert [block.names for block in prior.blocks] == [names[:2], *((n,) for n in names[2:])]
    assert "how answers in different tables go together is not known" in prior.source
    assert prior.ties(names[:2])
    assert not prior.ties(names[2:])


def test_a_prior_of_other_categories_is_refused(reported: Any) -> None:
    estimate = reconstruct(reported, DESIGN).table(["smokes"])
    other = Schema([Attribute("smokes", ["yes", "no"])])
    with pytest.raises(DataError, match="other categories or another order"):
        report(Design(other, [Group(["smokes"], related(0.8))]), estimate)


def test_a_prior_made_for_another_design_is_refused() -> None:
    other = Design(SCHEMA.subset(["smokes"]), [Group(["smokes"], related(0.8))])
    with pytest.raises(DataError, match="another schema"):
        report(DESIGN, prior_of(None, other))


def test_single_answers_are_taken_from_their_own_tables_not_from_a_noisy_joint_one() -> None:
    names = [f"q{i}" for i in range(10)]
    schema = Schema([Attribute(name, ["no", "yes"]) for name in names])
    design = Design(schema, [Group([name], related(0.7)) for name in names])
    true = (np.random.default_rng(4).random((1000, 10)) < 0.05).astype(np.uint8)
    found = reconstruct(disguise(true, design, np.random.default_rng(5)), design)
    prior = prior_of(found, design, draws=2)
    for name in names:
        alone = found.table([name])
        assert np.allclose(prior.table([name])[:, 0], np.clip(alone.value, 0, 1))
    joint = prior.table(names)[:, 0].reshape((2,) * 10)
    margins = [joint.sum(axis=tuple(set(range(10)) - {i}))[0] for i in range(10)]
    assert min(margins) < 0.6  # the joint table is far from the truth, .95
