"""The papers' equations come out as special cases, with their errata corrected (METHODS 7).

DZ: Du & Zhan 2003. ZM: Zhan & Matwin. SS: Soni & Shrivastva 2013. HD: Huang & Du 2008.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema
from tacit.core.arrays import Array
from tacit.core.channel import frapp, matrix, related, truthful, uniform_perturbation, unrelated
from tacit.reconstruction import inversion
from tests.support.tables import problem_of, random_table, reported_table

THETAS = [0.0, 0.2, 0.51, 0.7, 0.9, 1.0]
ROUNDING = 1e-14

# SS eq. 6 and 8 as printed: each entry is theta^(g - e) (1 - theta)^e, here its exponent e.
M2 = [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]
M3_PRINTED = [
    [0, 1, 1, 2, 1, 2, 2, 3],
    [1, 0, 2, 1, 2, 2, 3, 2],
    [1, 2, 0, 1, 2, 3, 1, 2],
    [2, 1, 1, 0, 3, 2, 2, 1],
    [1, 2, 2, 3, 0, 1, 1, 2],
    [2, 1, 3, 2, 1, 0, 2, 1],
    [2, 3, 1, 2, 1, 2, 0, 1],
    [3, 2, 2, 1, 2, 1, 1, 0],
]


def powers(exponents: list[list[int]], theta: float) -> Array:
    e = np.array(exponents)
    return np.asarray(theta ** (e.max() - e) * (1 - theta) ** e)


def corrected() -> list[list[int]]:
    """Entry (2, 6) of M3 should be theta^2 (1 - theta)."""
    exponents = [list(row) for row in M3_PRINTED]
    exponents[1][5] = 1
    return exponents


def binary(d: int) -> Schema:
    return Schema([Attribute(f"A{i + 1}", [1, 0]) for i in range(d)])


def grouped(groups: int, theta: float, each: int = 1) -> Design:
    schema = binary(groups * each)
    parts = [schema.names[i : i + each] for i in range(0, len(schema), each)]
    return Design(schema, [Group(part, related(theta)) for part in parts])


@pytest.mark.parametrize("theta", THETAS)
def test_soni_and_shrivastva_eq_4_to_8_for_one_two_and_three_groups(theta: float) -> None:
    one = np.array([[theta, 1 - theta], [1 - theta, theta]])
    for groups, expected in enumerate([one, powers(M2, theta), powers(corrected(), theta)], 1):
        design = grouped(groups, theta)
        M = design.channel(design.schema.names).matrix
        np.testing.assert_allclose(M, expected, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("theta", THETAS)
def test_soni_and_shrivastva_eq_9_for_four_groups_is_a_kronecker_product(theta: float) -> None:
    one = np.array([[theta, 1 - theta], [1 - theta, theta]])
    M = grouped(4, theta).channel(binary(4).names).matrix
    assert M.shape == (16, 16)
    np.testing.assert_allclose(M, reduce(np.kron, [one] * 4), rtol=0, atol=ROUNDING)


def test_the_printed_m3_is_no_channel() -> None:
    assert powers(M3_PRINTED, 0.7)[:, 5].sum() == pytest.approx(0.916)
    np.testing.assert_allclose(powers(corrected(), 0.7).sum(axis=0), 1, atol=ROUNDING)


def test_soni_and_shrivastva_eq_7_for_groups_of_several_attributes() -> None:
    """E_i is a conjunction over group i, its complement turns every condition of the group."""
    theta, design = 0.6, grouped(3, 0.6, each=2)
    true = random_table(1, design.schema.sizes)
    reported = reported_table(design, true)
    event = [(0, 1), (1, 1), (0, 0)]
    ends = [
        tuple(1 - v if flip else v for pair, flip in zip(event, flips, strict=True) for v in pair)
        for flips in np.ndindex(2, 2, 2)
    ]
    truth, seen = (np.array([table[end] for end in ends]) for table in (true, reported))
    np.testing.assert_allclose(seen, powers(corrected(), theta) @ truth, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("theta", [0.2, 0.6, 0.9])
def test_du_and_zhan_eq_3_one_group_and_an_undisguised_class(theta: float) -> None:
    schema = Schema([*binary(3), Attribute("class", ["a", "b", "c"])])
    design = Design(schema, [Group(binary(3).names, related(theta)), Group(["class"], truthful())])
    true = random_table(2, schema.sizes)
    seen = reported_table(design, true)
    solved = (theta * seen - (1 - theta) * seen[::-1, ::-1, ::-1]) / (2 * theta - 1)
    np.testing.assert_allclose(seen, theta * true + (1 - theta) * true[::-1, ::-1, ::-1])
    for names, expected in [
        (schema.names, solved),
        (binary(3).names, solved.sum(axis=3)),
        (("A3", "class"), solved.sum(axis=(0, 1))),
    ]:
        estimate = inversion(problem_of(design, seen * 500, names, 500))
        np.testing.assert_allclose(estimate.value, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("theta", [0.05, 0.5, 0.9])
def test_zhan_and_matwin_eq_1_with_known_personal_questions(theta: float) -> None:
    personal = np.array([[0.1, 0.2], [0.3, 0.4]])
    design = Design(binary(2), [Group(["A1", "A2"], unrelated(theta, personal.tolist()))])
    true = random_table(3, (2, 2))
    seen = theta * true + (1 - theta) * personal
    np.testing.assert_allclose(reported_table(design, true), seen, rtol=0, atol=ROUNDING)
    both = inversion(problem_of(design, seen * 500, ("A1", "A2"), 500))
    np.testing.assert_allclose(both.value, (seen - (1 - theta) * personal) / theta, atol=1e-13)
    one = inversion(problem_of(design, seen * 500, ("A2",), 500))
    expected = (seen.sum(axis=0) - (1 - theta) * personal.sum(axis=0)) / theta
    np.testing.assert_allclose(one.value, expected, atol=1e-13)


def test_zhan_and_matwin_each_expression_has_probability_one_half_an_attribute() -> None:
    """METHODS 6: a pair of attributes has 1/4."""
    design = Design(binary(2), [Group(["A1", "A2"], unrelated(0, ["1/2", "1/2"]))])
    np.testing.assert_array_equal(design.channel(["A1"]).matrix, np.full((2, 2), 1 / 2))
    np.testing.assert_array_equal(design.channel(["A1", "A2"]).matrix, np.full((4, 4), 1 / 4))


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("q", [Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)])
def test_huang_and_du_theorem_2_warner_up_and_frapp_are_one_family(n: int, q: Fraction) -> None:
    p = q + (1 - q) / n
    lambda_ = p * (n - 1) / (1 - p)
    assert p == lambda_ / (lambda_ + n - 1)
    attribute = (Attribute("x", [f"c{i}" for i in range(n)]),)
    warner, up, amplified = (
        coin.channel(attribute) for coin in (related(p), uniform_perturbation(q), frapp(lambda_))
    )
    expected = np.full((n, n), float((1 - p) / (n - 1)))
    np.fill_diagonal(expected, float(p))
    for channel in (warner, up, amplified):
        np.testing.assert_allclose(channel.matrix, expected, rtol=0, atol=ROUNDING)
        assert channel.ratio == lambda_
        assert channel.epsilon == warner.epsilon


def hand_made() -> tuple[Design, Array]:
    M = np.array([[0.8, 0.1, 0.2], [0.1, 0.7, 0.1], [0.1, 0.2, 0.7]])
    attribute = Attribute("x", ["c1", "c2", "c3"])
    return Design(Schema([attribute]), [Group(["x"], matrix(M))]), M


def test_huang_and_du_eq_2_inverts_the_matrix() -> None:
    design, M = hand_made()
    counts = np.array([420.0, 310.0, 270.0])
    estimate = inversion(problem_of(design, counts, ["x"], 1000))
    np.testing.assert_allclose(estimate.value, np.linalg.solve(M, counts / 1000), atol=1e-14)


def test_huang_and_du_theorem_6_corrected_is_the_mean_of_the_diagonal_covariance() -> None:
    """Printed, the covariances of i != j are counted twice and doubled; one is too many."""
    design, M = hand_made()
    true, n = np.array([0.5, 0.3, 0.2]), 10_000
    beta, seen = np.linalg.inv(M), M @ true
    variance = np.diag(seen * (1 - seen)) / n
    covariance = -(np.outer(seen, seen) - np.diag(seen**2)) / n
    once = np.diagonal(beta @ (variance + covariance) @ beta.T)
    printed = np.diagonal(beta @ (variance + 2 * covariance) @ beta.T)
    closed = (beta**2 @ seen - true**2) / n
    np.testing.assert_allclose(closed, once, rtol=1e-12)
    got = inversion(problem_of(design, seen * n, ["x"], n)).covariance
    np.testing.assert_allclose(np.diagonal(got), closed, rtol=1e-12)
    trace = np.trace(beta @ np.diag(seen) @ beta.T)
    assert np.trace(got) / 3 == pytest.approx((trace - true @ true) / (3 * n), rel=1e-12)
    assert printed.mean() != pytest.approx(closed.mean(), rel=0.05)
