"""reconstruct: records of any kind, wrong input, wide schemas, covariance."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.core.arrays import Array
from tacit.core.channel import matrix, related, truthful, uniform_perturbation
from tacit.errors import DataError, DesignError, SchemaError, SingularChannelError
from tacit.output.table import TabularResult
from tacit.reconstruction import METHODS, inversion
from tacit.reconstruction.tables import gls
from tacit.records import count
from tests.support.chance import FALSE_ALARM
from tests.support.families import attributes_of
from tests.support.tables import problem_of, random_table, reported_table

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
DESIGN = Design(
    SCHEMA, [Group(["smokes"], related(0.7)), Group(["income"], uniform_perturbation(0.5))]
)
CODES = np.array([[0, 0], [1, 2], [0, 1], [1, 1], [1, 0]] * 20, np.uint8)
TALL = [[0.5, 0.1, 0.1], [0.1, 0.5, 0.1], [0.1, 0.1, 0.5], [0.2, 0.2, 0.05], [0.1, 0.1, 0.25]]


def test_arrays_in_any_order_and_a_pattern_table_give_the_same() -> None:
    expected = reconstruct(CODES, DESIGN).table(SCHEMA.names).value
    for records in (np.asfortranarray(CODES), CODES.astype(np.int64), count(CODES, SCHEMA)):
        np.testing.assert_array_equal(
            reconstruct(records, DESIGN).table(SCHEMA.names).value, expected
        )
    assert reconstruct(CODES, DESIGN).n_records == 100


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (CODES + 5, "'smokes'.*code 5"),
        (CODES[:, :1], "2 attributes"),
        (CODES.astype(float), "integers"),
        (CODES[:0], "0 records"),
        (pd.DataFrame({"smokes": ["no"]}), "no column for attribute 'income'"),
        (pd.DataFrame({"smokes": ["n"], "income": ["low"]}), "unknown category 'n'"),
        (count(CODES[:, :1], SCHEMA.subset(["smokes"])), "another schema than the design's"),
        (None, "type NoneType"),
    ],
)
def test_records_that_do_not_fit_the_design_are_an_error(records: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        reconstruct(records, DESIGN)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["smokes", "smokes"], "'smokes' is asked for twice"),
        ([], "no attribute is asked for"),
        (3, "must be a list of names"),
        ({"smokes"}, "must be a list of names"),
        (["smoke"], "did you mean 'smokes'"),
    ],
)
def test_attributes_that_cannot_be_asked_for_are_an_error(names: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        reconstruct(CODES, DESIGN).table(names)


def test_a_table_beyond_memory_is_refused_before_it_is_made() -> None:
    schema = Schema(attributes_of((2,) * 30))
    rec = reconstruct(
        np.zeros((3, 30), np.uint8), Design(schema, [Group(schema.names, truthful())])
    )
    with pytest.raises(DataError, match=r"1,073,741,824 cells.*fewer attributes"):
        rec.table(schema.names)


def test_a_covariance_beyond_memory_is_refused() -> None:
    schema = Schema(attributes_of((2,) * 13))
    rec = reconstruct(
        np.zeros((3, 13), np.uint8), Design(schema, [Group(schema.names, truthful())])
    )
    with pytest.raises(DataError, match="8,192 cells is too large"):
        _ = rec.table(schema.names).covariance


def test_groups_that_are_fine_alone_but_not_together_are_an_error_that_says_so() -> None:
    schema = Schema(attributes_of((2,) * 8))
    groups = [Group([name], related(0.51)) for name in schema.names]
    rec = reconstruct(np.zeros((3, 8), np.uint8), Design(schema, groups))
    assert rec.table(["a0"]).value.shape == (2,)
    with pytest.raises(SingularChannelError, match="together magnify errors 3"):
        rec.table(schema.names)


def test_seventy_yes_no_attributes_have_tables_of_any_pair() -> None:
    """Their cells do not fit 64 bits; true pairs agree always, never, or half of the time."""
    schema = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(70)])
    design = Design(
        schema, [Group(schema.names[i : i + 10], related(0.9)) for i in range(0, 70, 10)]
    )
    rng = np.random.default_rng(11)
    base = rng.integers(0, 2, (3000, 1), dtype=np.uint8)
    true = np.tile(base, (1, 70))
    true[:, 35:] ^= 1
    rec = reconstruct(disguise(true, design, rng), design)
    assert rec.n_records == 3000
    truth = np.bincount(base[:, 0], minlength=2) / 3000
    for pair, expected in [
        (["q3", "q4"], np.diag(truth)),
        (["q69", "q1"], np.fliplr(np.diag(truth[::-1]))),
        (["q33", "q34"], np.diag(truth)),
    ]:
        estimate = rec.table(pair)
        reach = norm.isf(FALSE_ALARM / 24) * np.maximum(estimate.stderr, 1e-12)
        assert (np.abs(estimate.value - expected) <= reach).all(), pair


def test_the_inverse_of_gls_is_a_left_inverse_and_the_best_one() -> None:
    M, true = np.array(TALL), np.array([0.5, 0.3, 0.2])
    W = gls(M, M @ true, 100_000).entries
    np.testing.assert_allclose(W @ M, np.eye(3), atol=1e-12)
    D = np.diag(M @ true)
    best = np.linalg.solve(M.T @ np.linalg.solve(D, M), M.T @ np.linalg.inv(D))
    np.testing.assert_allclose(W, best, atol=1e-4)
    plain = np.linalg.pinv(M)
    assert np.trace(W @ D @ W.T) < np.trace(plain @ D @ plain.T)


def weights(design: Design, names: tuple[str, ...]) -> Array:
    """W of a whole design: what inversion makes of one reported record in each cell."""
    shape = design.reported.sizes
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    return np.stack([inversion(problem_of(design, u, names, 1)).value.ravel() for u in units], 1)


@pytest.mark.parametrize("names", [("a1", "a0"), ("a2",), ("a2", "a0")], ids=str)
def test_the_covariance_is_that_of_simulated_surveys(names: tuple[str, ...]) -> None:
    """Sample covariances of 20,000 surveys, normal to a good approximation, all within a joint
    false-alarm rate of 1e-6; covariances that are 15 % too small or large are found."""
    design = Design(
        Schema(attributes_of((2, 3, 2))),
        [Group(["a2", "a0"], matrix(np.eye(4) * 0.6 + 0.1)), Group(["a1"], related(0.7))],
    )
    n, surveys = 400, 20_000
    reported = reported_table(design, random_table(8, (2, 3, 2), sparse=False))
    stated = inversion(problem_of(design, reported * n, names, n)).covariance
    counts = np.random.default_rng(9).multinomial(n, reported.ravel() / reported.sum(), surveys)
    sample = np.cov(weights(design, names) @ counts.T / n)

    def apart(covariance: Array) -> float:
        scale = np.outer(np.diagonal(covariance), np.diagonal(covariance)) + covariance**2
        return float(np.max(np.abs(sample - covariance) / np.sqrt(scale / surveys)))

    limit = norm.isf(FALSE_ALARM / (2 * stated.size))
    assert apart(stated) <= limit
    assert apart(stated * 1.15) > limit
    assert apart(stated / 1.15) > limit


def test_a_certain_event_has_probability_one_without_doubt() -> None:
    found = reconstruct(CODES[:20], DESIGN).probability({"smokes": ["no", "yes"]})
    assert float(found) == pytest.approx(1, abs=1e-12)
    lower, upper = found.interval()
    assert upper - lower < 1e-6


def test_an_event_without_categories_is_an_error_that_names_the_attribute() -> None:
    with pytest.raises(SchemaError, match="no category of 'smokes'"):
        reconstruct(CODES, DESIGN).probability({"smokes": []})


@pytest.mark.parametrize("method", ["expectation", 3])
def test_an_unknown_method_is_an_error_that_lists_the_methods(method: Any) -> None:
    with pytest.raises(DataError, match="inversion, restricted, simplex, em; got"):
        reconstruct(CODES, DESIGN).table(["smokes"], method=method)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_by_its_name_is_that_method(name: str) -> None:
    rec = reconstruct(CODES, DESIGN)
    for given in (None, ["smokes"]):
        named, passed = (
            rec.table(["income"], method=method, given=given) for method in (name, METHODS[name])
        )
        assert named.to_dict() == passed.to_dict()


def test_one_name_alone_is_a_list_of_one() -> None:
    data = pd.DataFrame({"smokes": ["no", "yes"] * 50, "income": ["mid", "low"] * 50})
    rec = reconstruct(data.assign(town=["A", "A", "B", "B"] * 25), DESIGN, columns="town")
    results: list[Callable[[Any, Any], TabularResult]] = [
        lambda one, other: rec.table(one),
        lambda one, other: rec.table(one, given=other),
        lambda one, other: rec.expectation(len, one),
        lambda one, other: rec.homogeneity(one, across=other),
        lambda one, other: rec.goodness_of_fit(one, [0.5, 0.5]),
        lambda one, other: rec.independence(["smokes", "income"], given=other),
        lambda one, other: rec.trend(["smokes", "income"], given=other),
    ]
    for result in results:
        assert str(result("smokes", "town")) == str(result(["smokes"], ["town"]))


def test_every_result_is_a_table_and_a_dictionary_that_json_can_write() -> None:
    rec = reconstruct(CODES, DESIGN)
    results: list[Any] = [
        rec,
        rec.table("smokes"),
        rec.probability({"smokes": "yes"}),
        rec.difference({"smokes": "yes"}, between=({"income": "low"}, {"income": "high"})),
        rec.contrast(np.sum, [{"smokes": "yes"}]),
        rec.bounds({"smokes": "yes"}),
        rec.independence(["smokes", "income"]),
        rec.table("smokes").fit,
    ]
    for result in results:
        assert str(result) == str(result.to_table())
        assert result._repr_html_() == result.to_table().html()
        assert json.loads(json.dumps(result.to_dict()))["n_records"] == 100


def test_a_reconstruction_is_the_dictionary_of_its_attributes() -> None:
    unknown = Design(SCHEMA, [Group(["smokes"], related(0.5)), DESIGN.groups[1]])
    found = reconstruct(CODES, unknown).to_dict(0.9)
    assert found["level"] == 0.9
    income = reconstruct(CODES, unknown).table("income").to_dict(0.9)
    assert found["attributes"] == {"smokes": None, "income": income}


@pytest.mark.parametrize("use", [reconstruct, disguise])
def test_something_else_than_a_design_is_an_error_that_says_so(use: Any) -> None:
    with pytest.raises(DesignError, match="must be a Design, got dict"):
        use(CODES, DESIGN.to_dict())
