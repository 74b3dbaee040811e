"""Scramblings against their definitions: exact probabilities, moments, files, errors."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.errors import DataError, DesignError, SingularChannelError, TacitError
from tacit.quantitative import (
    additive,
    bar_lev,
    distribution,
    eriksson,
    mean,
    multiplicative,
    scramble,
    scrambling_from_json,
    square_wave,
    variance,
)
from tacit.quantitative.families import Scrambling
from tacit.quantitative.smooth_distribution import WaveSums, sums_over_ranges
from tests.support.scramblings import SCRAMBLINGS, TRUE, law

every = pytest.mark.parametrize("name", SCRAMBLINGS)


@every
def test_the_probabilities_of_reports_sum_to_one(name: str) -> None:
    for x in TRUE:
        assert sum(law(SCRAMBLINGS[name], x).values()) == 1


@every
def test_the_moments_are_those_of_the_reports(name: str) -> None:
    scrambling = SCRAMBLINGS[name]
    m, origin, unit = scrambling.moments, scrambling.origin, scrambling.unit
    for x in TRUE:
        v = (x - origin) / unit
        reports = [((y - origin) / unit, share) for y, share in law(scrambling, x).items()]
        assert sum(u * share for u, share in reports) == m.slope * v + m.shift
        square = m.square * v**2 + m.linear * v + m.constant
        assert sum(u**2 * share for u, share in reports) == square


@every
def test_the_ratio_is_the_largest_of_any_report(name: str) -> None:
    scrambling = SCRAMBLINGS[name]
    laws = [law(scrambling, x) for x in TRUE]
    reports = {y for each in laws for y in each}
    possible = [[each.get(y, Fraction(0)) for each in laws] for y in reports]
    if any(min(row) == 0 for row in possible):
        assert scrambling.ratio is None
        assert scrambling.epsilon == math.inf
        assert scrambling.privacy.startswith("No epsilon: ")
    else:
        assert scrambling.ratio == max(max(row) / min(row) for row in possible)
        assert math.exp(scrambling.epsilon) >= float(scrambling.ratio) * (1 - 1e-12)
        assert scrambling.privacy.startswith("epsilon ")


@every
def test_a_scrambling_comes_back_from_its_json(name: str) -> None:
    scrambling = SCRAMBLINGS[name]
    again = scrambling_from_json(scrambling.to_json())
    assert again == scrambling
    assert hash(again) == hash(scrambling)
    assert again.to_json() == scrambling.to_json()
    assert again.fingerprint == scrambling.fingerprint


def test_other_parameters_have_another_fingerprint() -> None:
    assert len({each.fingerprint for each in SCRAMBLINGS.values()}) == len(SCRAMBLINGS)


@every
def test_every_scrambling_says_what_a_respondent_does(name: str) -> None:
    said = SCRAMBLINGS[name].instructions
    assert ("device has to draw" in said) == (name == "square_wave")


@every
def test_the_estimates_are_the_means_of_unbiased_weights(name: str) -> None:
    """Reports in exactly their expected numbers give the true mean and variance."""
    scrambling = SCRAMBLINGS[name]
    laws = [law(scrambling, x) for x in TRUE]
    common = math.lcm(*(share.denominator for each in laws for share in each.values()))
    reports = [
        float(y)
        for each in laws
        for y, share in each.items()
        for _ in range(int(share * common) if common < 10_000 else 0)
    ]
    if not reports:
        return
    n = len(reports)
    assert float(mean(reports, scrambling)) == pytest.approx(np.mean(TRUE))
    biased = np.var(TRUE) + float(mean(reports, scrambling).stderr) ** 2
    assert float(variance(reports, scrambling)) == pytest.approx(biased)
    assert mean(reports, scrambling).n_records == n


def test_without_noise_the_mean_and_its_error_are_the_usual_ones() -> None:
    x = np.random.default_rng(1).gamma(2, 10, 500)
    plain = additive([0])
    assert (scramble(x, plain, np.random.default_rng(2)) == x).all()
    found = mean(x, plain)
    assert float(found) == pytest.approx(x.mean())
    assert float(found.stderr) == pytest.approx(x.std(ddof=1) / math.sqrt(500))
    assert float(variance(x, plain)) == pytest.approx(x.var(ddof=1))
    even = mean(np.concatenate([x, -x]), plain)  # R: qt(.975, 999)
    low, high = even.interval()
    assert (high - low) / (2 * even.stderr) == pytest.approx(1.9623414611334)


def test_limits_of_skewed_numbers_are_quantiles_of_the_transformed_mean() -> None:
    """Hall's transform of (mean - limit) / stderr is a quantile of Student's t."""
    x, n = np.random.default_rng(1).gamma(2, 10, 500), 500
    found, off = mean(x, additive([0])), x - x.mean()
    skewness = (off**3).mean() / (off**2).mean() ** 1.5
    for limit, t in zip(found.interval(), (1.9647293909876, -1.9647293909876), strict=True):
        own = (float(found) - float(limit)) / float(found.stderr)
        terms = own + skewness * own**2 / (3 * n**0.5) + skewness**2 * own**3 / (27 * n)
        assert terms + skewness / (6 * n**0.5) == pytest.approx(t)  # R: qt(.975, 499)
    low, high = found.interval(0.01)
    assert low <= float(found) <= high


def test_the_sampler_is_repeatable_and_uses_entropy_without_a_generator() -> None:
    x = np.full(200, 10.0)
    one = [scramble(x, SCRAMBLINGS["square_wave"], np.random.default_rng(3)) for _ in range(2)]
    assert (one[0] == one[1]).all()
    assert (
        scramble(x, SCRAMBLINGS["square_wave"]) != scramble(x, SCRAMBLINGS["square_wave"])
    ).any()


def test_a_number_between_two_points_keeps_its_mean() -> None:
    wave = square_wave(12, 0, 8, 9)
    reported = scramble(np.full(40_000, 2.25), wave, np.random.default_rng(4))
    found = mean(reported, wave)
    assert abs(float(found) - 2.25) < 4.9 * float(found.stderr)  # false alarm 1e-6
    assert abs(float(found) - 2.0) > 4.9 * float(found.stderr)


def test_epsilon_of_the_square_wave_never_exceeds_what_was_asked_for() -> None:
    for given in (0.01, 0.5, 1, 2, 5, 12):
        wave = square_wave(given, 0, 1)
        assert given - 2e-4 < wave.epsilon <= given


def test_the_square_wave_equals_its_matrix() -> None:
    wave = square_wave(1, 0, 1, 20)
    sums = WaveSums(wave)
    matrix = np.array(
        [[float(share) for share in law(wave, v * wave.unit).values()] for v in range(20)]
    ).T
    np.testing.assert_allclose(sums.forward(np.eye(20)), matrix, atol=1e-15)
    np.testing.assert_allclose(sums.backward(np.eye(len(matrix))), matrix.T, atol=1e-15)


def test_ranges_share_out_every_point_once() -> None:
    for steps, bins in ((16, 2), (33, 5), (256, 10)):
        np.testing.assert_allclose(sums_over_ranges(steps, bins).sum(axis=0), 1)


def test_the_distribution_of_very_many_reports_is_the_true_one() -> None:
    wave = square_wave(4, 0, 1, 64)
    x = np.random.default_rng(5).beta(2, 4, 400_000)
    reported = scramble(x, wave, np.random.default_rng(6))
    found = distribution(reported, wave, bins=5)
    true = np.histogram(x, 5, (0, 1))[0] / len(x)
    np.testing.assert_allclose(found.value, true, atol=0.02)
    assert found.value.sum() == pytest.approx(1)
    assert found.convergence is not None
    assert found.convergence.converged
    assert found.to_table().text().startswith("distribution from 400,000 reported records")


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda: additive("x"), DesignError, "additive: noise must be a mapping"),
        (lambda: additive([]), DesignError, "at least one number"),
        (lambda: additive({1: "1/2", 2: "1/3"}), DesignError, "must sum to 1"),
        (lambda: additive(["a"]), DesignError, "additive: noise: a number must be a number"),
        (lambda: multiplicative([-1, 1]), SingularChannelError, "cannot be estimated"),
        (lambda: bar_lev("1/2", [-1]), SingularChannelError, "cannot be estimated"),
        (lambda: bar_lev(2, [1]), DesignError, "bar_lev: p must lie between 0 and 1"),
        (lambda: eriksson(0, [1]), SingularChannelError, "cannot be estimated"),
        (lambda: eriksson(0.5, [1], 1), DesignError, "listed must be True or False"),  # type: ignore[arg-type]
        (lambda: square_wave(0, 0, 1), DesignError, "epsilon must lie between 0.01 and 12"),
        (lambda: square_wave(1, 1, 1), DesignError, "low must be below high"),
        (lambda: square_wave(1, 0, 1, 4), DesignError, "steps must be a whole number from 8"),
        (lambda: scramble([1, 5], square_wave(1, 0, 2)), DataError, "5 in place 1 is not between"),
        (lambda: scramble([1], eriksson(0.5, [2], True)), DataError, "1 in place 0 is not on the"),
        (lambda: scramble([math.nan], additive([1])), DataError, "nan in place 0 is none"),
        (lambda: scramble(["a"], additive([1])), DataError, "must be a column of numbers"),
        (lambda: scramble([], additive([1])), DataError, "at least one number"),
        (lambda: scramble([1], "x"), DesignError, "scrambling must be one of"),  # type: ignore[arg-type]
        (lambda: scramble([1], additive([1]), 7), DataError, "rng must be"),  # type: ignore[arg-type]
        (lambda: mean([1], additive([1])), DataError, "at least two reported numbers"),
        (lambda: mean([1, 2.3456], square_wave(1, 0, 2, 9)), DataError, "2.3456 in place 1"),
        (lambda: distribution([1, 2], additive([1])), DesignError, "only square_wave tells"),
        (lambda: distribution([0], square_wave(1, 0, 1), 1), DataError, "bins must be a whole"),
        (lambda: mean([1, 2], additive([1])).interval(2), DataError, "the confidence level"),
    ],
)
def test_bad_input_is_one_clear_error(wrong: Any, error: type[TacitError], said: str) -> None:
    with pytest.raises(error, match=said):
        wrong()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"family": "addition"}, "unknown family 'addition'"),
        ({"parameters": {}}, "the parameters of additive must be noise"),
        ({"version": 2}, "upgrade tacit"),
        ({"tacit": "design"}, "not a scrambling file"),
    ],
)
def test_a_file_that_is_none_is_refused(change: dict[str, Any], said: str) -> None:
    content = json.loads(SCRAMBLINGS["additive"].to_json()) | change
    with pytest.raises(TacitError, match=said):
        scrambling_from_json(json.dumps(content))


def test_the_base_class_is_what_users_check_for() -> None:
    assert all(isinstance(each, Scrambling) for each in SCRAMBLINGS.values())
