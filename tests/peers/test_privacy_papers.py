"""Privacy figures of the papers: printed formulas, limits and theorems."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema
from tacit.core.arrays import Array
from tacit.core.channel import frapp, matrix, related, uniform_perturbation, unrelated
from tacit.errors import DataError
from tacit.privacy import check_delta, compare_schemes, figures, pse_curve, report
from tests.support.families import attributes_of, stochastic

#: Zhan & Matwin, section 5.3: the shares and the grid of their figure 6.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
THETAS = tuple(i / 10 for i in range(11))
ROUNDINGS = 1e-12
YES_NO = Schema([Attribute("a", ["0", "1"])])


def printed(theta: float, wa: float, wy: float) -> float:
    """Zhan & Matwin, journal section 4.1, components 1 to 4 as printed."""
    one = theta + (1 - theta) * wy
    zero = theta + (1 - theta) * (1 - wy)
    lie = (1 - theta) * (1 - wy)
    first = wa * one * lie * (1 - wa) / (one * wa + lie * (1 - wa))
    second = wa * lie * zero * (1 - wa) / (zero * (1 - wa) + lie * wa)
    other = (1 - theta) * wy
    third = (1 - wa) * other * one * wa / (one * wa + other * (1 - wa))
    fourth = (1 - wa) * zero * lie * wa / (zero * (1 - wa) + lie * wa)
    return first + second + third + fourth


def printed_in_eq_2(q: float, wa: float) -> float:
    """Zhan & Matwin, conference eq. 2, at Wy = 1/2; its first term lacks the factor Wy + 1 - Wy."""
    wy = 0.5
    first = (1 - wa) * wa * (1 - q) * (q + (1 - q) * wy)
    first /= (q + (1 - q) * wy) * wa + (1 - q) * (1 - wy) * (1 - wa)
    second = 2 * wa * (1 - wa) * (1 - q) * (1 - wy) * (q + (1 - q) * (1 - wy))
    second /= (q + (1 - q) * (1 - wy)) * (1 - wa) + (1 - q) * (1 - wy) * wa
    return first + second


def pse(theta: float, wa: float, wy: float = 0.5) -> float:
    design = Design(YES_NO, [Group(["a"], unrelated(theta, [1 - wy, wy]))])
    return report(design, {"a": [1 - wa, wa]}).pse.record


@pytest.mark.parametrize("wa", SHARES)
def test_at_a_half_the_curves_equal_the_printed_formulas(wa: float) -> None:
    curve = pse_curve(THETAS, wa)
    for theta, value in zip(THETAS, curve, strict=True):
        assert abs(value - printed(theta, wa, 0.5)) <= ROUNDINGS
        assert abs(value - printed_in_eq_2(theta, wa)) <= ROUNDINGS
        assert abs(value - pse(theta, wa)) <= ROUNDINGS


def test_away_from_a_half_the_printed_formula_is_wrong_and_ours_is_right() -> None:
    theta, wa, wy = 0.6, 0.3, 0.2
    truth = 0.0
    yes, no = (1 - theta) * wy + np.array([0.0, theta]), np.array([1 - wa, wa])
    for likely in (yes, 1 - yes):
        joint = likely * no
        truth += joint.sum() * (1 - ((joint / joint.sum()) ** 2).sum())
    assert abs(pse(theta, wa, wy) - truth) <= ROUNDINGS
    assert abs(float(pse_curve([theta], wa, wy)[0]) - truth) <= ROUNDINGS
    assert abs(printed(theta, wa, wy) - truth) > 0.01


@pytest.mark.parametrize(("wa", "wy"), list(product((0.1, 0.35, 0.5), (0.2, 0.5, 0.9))))
def test_pse_is_0_at_theta_1_and_that_of_the_prior_at_theta_0(wa: float, wy: float) -> None:
    assert pse(1, wa, wy) == 0
    assert abs(pse(0, wa, wy) - 2 * wa * (1 - wa)) <= ROUNDINGS


@pytest.mark.parametrize("wa", SHARES)
def test_pse_is_symmetric_in_the_share_and_not_in_theta(wa: float) -> None:
    for theta in THETAS:
        assert abs(pse(theta, wa) - pse(theta, round(1 - wa, 10))) <= ROUNDINGS
    assert abs(pse(0.2, wa) - pse(0.8, wa)) > 0.05


@pytest.mark.parametrize("wa", SHARES)
def test_pse_falls_with_theta_and_rises_towards_a_half(wa: float) -> None:
    assert (np.diff(pse_curve(THETAS, wa)) < 0).all()
    if wa < 0.5:
        assert (pse_curve(THETAS[:-1], wa) < pse_curve(THETAS[:-1], wa + 0.1)).all()


def single(coin: object, k: int) -> Array:
    attributes = attributes_of((k,))
    design = Design(Schema(attributes), [Group(["a0"], coin)])  # type: ignore[arg-type]
    return design.channel(["a0"]).factors[0].channel.matrix


@pytest.mark.parametrize("k", [2, 3, 4, 10])
def test_warner_up_and_frapp_make_the_same_channels(k: int) -> None:
    """Huang & Du, Theorem 2: p = q + (1-q)/n = lambda/(lambda+n-1)."""
    for q in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        p = q + (1 - q) / k
        lambda_ = p * (k - 1) / (1 - p)
        made = [single(coin, k) for coin in (related(p), uniform_perturbation(q), frapp(lambda_))]
        assert np.abs(made[0] - made[1]).max() <= ROUNDINGS
        assert np.abs(made[0] - made[2]).max() <= ROUNDINGS


def test_no_guess_beats_the_largest_posterior() -> None:
    """Huang & Du, Theorems 3 and 4: every consistent guess, and every mixture of guesses."""
    rng = np.random.default_rng(1)
    for k in (2, 3):
        channel = np.array(stochastic(rng, k + 1, k), dtype=np.float64)
        prior = rng.dirichlet(np.ones(k))
        joint = channel * prior
        guesses = product(range(k), repeat=k + 1)
        accuracies = [joint[np.arange(k + 1), list(guess)].sum() for guess in guesses]
        assert abs(max(accuracies) - (1 - figures(channel, prior).map_privacy)) <= ROUNDINGS
        mixed = (joint * rng.dirichlet(np.ones(k), k + 1)).sum()
        assert mixed <= max(accuracies)


def test_the_worst_posterior_is_never_below_the_largest_prior() -> None:
    """Huang & Du, Theorem 5; equality where a report tells nothing."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        k = int(rng.integers(2, 6))
        channel = rng.dirichlet(np.ones(k + 1), k).T
        prior = rng.dirichlet(np.ones(k))
        assert figures(channel, prior).worst_posterior >= prior.max()
    silent = np.full((3, 3), 1 / 3)
    assert abs(figures(silent, [0.7, 0.2, 0.1]).worst_posterior - 0.7) <= ROUNDINGS


def test_a_bound_below_the_largest_prior_is_impossible_and_says_why() -> None:
    check_delta(0.7, [0.7, 0.3])
    with pytest.raises(DataError, match=r"largest prior probability, 0\.99.*Theorem 5"):
        check_delta(0.9, [0.99, 0.01])


def test_map_privacy_is_at_least_1_minus_the_worst_posterior() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        found = figures(rng.dirichlet(np.ones(4), 4).T, rng.dirichlet(np.ones(4)))
        assert found.map_privacy >= 1 - found.worst_posterior - ROUNDINGS


def test_more_groups_hide_a_record_better_and_an_answer_no_better() -> None:
    """Soni & Shrivastva, abstract: by increasing the groups, the privacy level will increase."""
    schema = Schema(attributes_of((2, 2, 2, 2)))
    found = compare_schemes(schema, {n: [0.7, 0.3] for n in schema.names}, thetas=(0.6, 0.8))
    for scheme, theta in product(("related", "unrelated"), (0.6, 0.8)):
        own = [p for p in found.points if (p.scheme, p.theta) == (scheme, theta)]
        assert [p.groups for p in own] == [1, 2, 3, 4]
        assert (np.diff([p.map_record for p in own]) > 0).all()
        assert max(p.pse for p in own) - min(p.pse for p in own) <= ROUNDINGS


def test_related_peaks_at_a_half_and_unrelated_at_0() -> None:
    """Zhan & Matwin, section 6.1: the best privacy of the related-question model is at 1/2."""
    found = compare_schemes(Schema(attributes_of((2,))), [0.7, 0.3], groups=(1,))
    theta, related_pse = found.curve("related", 1, "pse")
    assert theta[int(np.argmax(related_pse))] == 0.5
    theta, unrelated_pse = found.curve("unrelated", 1, "pse")
    assert np.abs(np.array(unrelated_pse) - pse_curve(theta, 0.3)).max() <= ROUNDINGS


def test_one_related_group_gives_the_record_away_up_to_its_complement() -> None:
    schema = Schema(attributes_of((2, 2, 2)))
    alike = np.full((2, 2, 2), 1 / 8)
    found = report(Design(schema, [Group(schema.names, related(0.7))]), alike)
    assert all(math.isfinite(e) for e in found.epsilon.attributes.values())
    assert math.isinf(found.epsilon.record)
    assert abs(found.map_privacy.record - 0.3) <= ROUNDINGS
    assert any("a report is all true or all opposite" in said for said in found.warnings)
    apart = report(Design(schema, [Group([name], related(0.7)) for name in schema.names]), alike)
    assert apart.warnings == ()
    assert abs(apart.map_privacy.record - (1 - 0.7**3)) <= ROUNDINGS


def test_a_tall_matrix_is_measured_as_it_is_reported() -> None:
    coin = matrix([["1/2", 0], [0, "1/2"], ["1/2", "1/2"]], reported=["no", "yes", "pass"])
    found = report(Design(YES_NO, [Group(["a"], coin)]), [0.4, 0.6])
    assert abs(found.map_privacy.record - 0.2) <= ROUNDINGS
    assert found.worst_posterior.record == 1
    assert "the true answer of up to 60 is “1”" in found.sentences[0]
