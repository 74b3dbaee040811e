"""What a published model lets others infer, against sums over all records written out."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, related
from tacit.privacy import Limits, prior_of
from tacit.privacy.prior import Prior, PriorTable
from tacit.privacy.published_model import Inference, class_prior, inferences

SCHEMA = Schema([Attribute("a", ["no", "yes"]), Attribute("b", [0, 1, 2]), Attribute("c", [0, 1])])
DESIGN = Design(SCHEMA, [Group([name], related("4/5")) for name in SCHEMA.names])
SHARES = np.array([0.7, 0.3])
TABLES = {
    "b": np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]),
    "c": np.array([[0.8, 0.2], [0.4, 0.6]]),
}
PRIOR = prior_of({"a": SHARES.tolist(), "b": [0.5, 0.3, 0.2], "c": [0.6, 0.4]}, DESIGN)


def joint() -> np.ndarray:
    return np.einsum("a,ab,ac->abc", SHARES, TABLES["b"], TABLES["c"])


def by_name(found: list[Inference]) -> dict[str, Inference]:
    return {one.known: one for one in found}


def test_naive_bayes_ties_the_answers_to_the_class() -> None:
    told = class_prior(PRIOR, "a", SHARES, TABLES, 100)
    assert told is not None
    assert np.allclose(told.table(["a", "b", "c"])[:, 0], joint().ravel())


def test_latent_classes_tie_all_answers() -> None:
    told = class_prior(PRIOR, None, SHARES, {"b": TABLES["b"], "c": TABLES["c"]}, 100)
    assert told is not None
    assert np.allclose(told.table(["b", "c"])[:, 0], joint().sum(axis=0).ravel())
    assert np.allclose(told.table(["a"])[:, 0], SHARES)


def test_too_large_a_table_is_not_made() -> None:
    assert class_prior(PRIOR, "a", SHARES, TABLES, 11) is None
    assert class_prior(PRIOR, "a", SHARES, TABLES, 12) is not None
    assert class_prior(PRIOR, None, SHARES, TABLES, 5) is None


def test_every_adversary_is_a_sum_over_records() -> None:
    told = class_prior(PRIOR, "a", SHARES, TABLES, 100)
    found = by_name(inferences(DESIGN, PRIOR, told, ["a"], Limits()))
    table = joint().reshape(2, -1)
    assert found["nothing"].accuracy == pytest.approx(0.7)
    assert found["report"].accuracy == pytest.approx(0.8)  # the report decides
    assert found["others"].accuracy == pytest.approx(table.max(axis=0).sum())
    assert found["others"].worst_posterior == pytest.approx((table / table.sum(axis=0)).max())
    own, rest = np.array([[0.8, 0.2], [0.2, 0.8]]), np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    reports = np.einsum("abc,xa,yb,zc->axyz", joint(), own, rest, own).reshape(2, -1)
    assert found["model"].accuracy == pytest.approx(reports.max(axis=0).sum())
    both = np.einsum("an,xa->axn", table, own).reshape(2, -1)
    assert found["all"].accuracy == pytest.approx(both.max(axis=0).sum())


def test_without_a_measured_model_only_two_adversaries_are_measured() -> None:
    assert set(by_name(inferences(DESIGN, PRIOR, None, ["a"], Limits()))) == {"nothing", "report"}


def test_answers_that_conditions_tie_keep_their_distribution_given_the_model() -> None:
    block = np.array([[0.5, 0.1], [0.1, 0.3]])  # b is not part of the model, but tied to c
    tied = PriorTable(("c", "extra"), block[..., None])
    schema = Schema([*SCHEMA.attributes, Attribute("extra", [0, 1])])
    singles = [PriorTable(("a",), SHARES[:, None]), PriorTable(("b",), np.ones((3, 1)) / 3)]
    prior = Prior(schema, (*singles, tied), "known")
    told = class_prior(prior, "a", SHARES, {"c": TABLES["c"]}, 100)
    assert told is not None
    given = block / block.sum(axis=1, keepdims=True)
    expected = np.einsum("a,ac,ce->ace", SHARES, TABLES["c"], given)
    assert np.allclose(told.table(["a", "c", "extra"])[:, 0], expected.ravel())
    assert np.allclose(told.table(["b"])[:, 0], 1 / 3)
