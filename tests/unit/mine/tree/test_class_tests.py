"""Tests of the class with each attribute: the usual likelihood ratio if nothing is disguised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit.core.channel import matrix
from tacit.mine.tree.likelihood import class_tests, paired, smallest_p_value
from tacit.reconstruction import reconstruct

SCHEMA = Schema(
    [
        Attribute("a", ["no", "yes"]),
        Attribute("class", ["x", "y", "z"]),
        Attribute("b", ["p", "q", "r", "s"]),
    ]
)


def records(n: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(3)
    own = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    a = rng.random(n) < np.array([0.4, 0.45, 0.5])[own]
    return np.column_stack([a, own, rng.integers(0, 4, n)]).astype(np.uint8)


def test_undisguised_it_is_the_g_test_of_the_table() -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    found = class_tests(reconstruct(records(), design), "class")
    for name, column in (("a", 0), ("b", 2)):
        counts = np.zeros((3, SCHEMA[name].size))
        np.add.at(counts, (records()[:, 1], records()[:, column]), 1)
        expected = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        assert found[name][0] == pytest.approx(expected.statistic, rel=1e-6)
        assert found[name][1] == expected.dof


def test_disguise_makes_the_statistic_smaller() -> None:
    plain = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    hidden = Design(SCHEMA, [Group(["a", "class"], related(0.7)), Group(["b"], related(0.7))])
    reported = disguise(records(), hidden, np.random.default_rng(4))
    seen = class_tests(reconstruct(records(), plain), "class")["a"][0]
    assert 0 <= class_tests(reconstruct(reported, hidden), "class")["a"][0] < seen


def test_a_joint_matrix_has_a_test_for_each_of_its_attributes() -> None:
    joint = np.eye(12) * 0.6 + 0.4 / 12
    design = Design(
        SCHEMA, [Group(["class", "b"], matrix(joint.tolist())), Group(["a"], related(0.8))]
    )
    found = class_tests(
        reconstruct(disguise(records(), design, np.random.default_rng(5)), design), "class"
    )
    assert list(found) == ["a", "b"]
    assert all(statistic >= 0 for statistic, _ in found.values())


def test_the_smallest_p_value_counts_the_tests() -> None:
    assert smallest_p_value([(3.8415, 1), (0.0, 1)]) == pytest.approx(0.1, abs=1e-4)
    assert smallest_p_value([(0.1, 1), (0.0, 3)]) == 1


def test_paired_differences_have_the_mean_and_error_of_the_records() -> None:
    values, counts = np.array([1.0, 3.0]), np.array([2.0, 1.0])
    mean, error = paired(values, counts)
    each = np.array([1.0, 1.0, 3.0])
    assert mean == pytest.approx(each.mean())
    assert error == pytest.approx(each.std(ddof=1) / np.sqrt(3))
