"""Published estimators of scrambled numbers, beside their source."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.quantitative import bar_lev, eriksson, mean, multiplicative, scramble, square_wave
from tacit.quantitative.families import best_reach

RNG = np.random.default_rng(11)
X = RNG.gamma(2, 10, 300).round(2)
FACTORS = {"0.5": "0.5", "1.5": "0.25", 3: "0.25"}
THETA, SQUARE = 1.375, 2.9375  # mean and mean square of the factors


def test_eichhorn_and_hayre() -> None:
    """Eichhorn & Hayre (1983); RRTCS 0.0.4, EichhornHayre: r = z / mu, and the mean of r."""
    z = scramble(X, multiplicative(FACTORS), RNG)
    found = mean(z, multiplicative(FACTORS))
    assert float(found) == pytest.approx((z / THETA).mean())
    assert float(found.stderr) == pytest.approx((z / THETA).std(ddof=1) / math.sqrt(len(z)))


def test_the_variance_of_eichhorn_and_hayre() -> None:
    """Their equation: V = (sigma_y^2 + C^2 (sigma_y^2 + mu_y^2)) / n, C = sd(S) / E S."""
    n = 400_000
    x = np.random.default_rng(12).gamma(2, 10, n)
    z = scramble(x, multiplicative(FACTORS), np.random.default_rng(13))
    spread = (SQUARE - THETA**2) / THETA**2
    wanted = math.sqrt((200 + spread * (200 + 400)) / n)  # gamma(2, 10): mean 20, variance 200
    assert float(mean(z, multiplicative(FACTORS)).stderr) == pytest.approx(wanted, rel=0.02)


def test_bar_lev_bobovitch_and_boukai() -> None:
    """Bar-Lev et al. (2004); RRTCS 0.0.4, BarLev: r = z / ((1 - p) mu + p)."""
    z = scramble(X, bar_lev("0.6", FACTORS), RNG)
    found = mean(z, bar_lev("0.6", FACTORS))
    assert float(found) == pytest.approx((z / (0.4 * THETA + 0.6)).mean())


def test_eriksson_1973() -> None:
    """Eriksson (1973); RRTCS 0.0.4, Eriksson: r = (z - sum of q_j Q_j) / c, sum of q_j = 1 - c."""
    z = scramble(X, eriksson("0.7", [8, 3.2, 6.4, 4.8]), RNG)
    found = mean(z, eriksson("0.7", [8, 3.2, 6.4, 4.8]))
    assert float(found) == pytest.approx(((z - 0.3 * 5.6) / 0.7).mean())


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_the_reach_of_the_square_wave_maximises_the_information(epsilon: float) -> None:
    """Li et al. (2020), section 5.3: b maximises the mutual information for a uniform truth.

    Their bound is log(2 b + 1) - ... for the continuous wave; here by brute force over b, with the
    reports of a uniform truth counted as uniform, as they do.
    """
    d, r = 1000, math.exp(epsilon)
    b = np.arange(1, d // 2) / d
    near = r / (2 * b * r + 1)
    far = 1 / (2 * b * r + 1)
    information = np.log(2 * b + 1) + 2 * b * near * np.log(near) + far * np.log(far)
    best = best_reach(square_wave(epsilon, 0, 1, d).largest_ratio, d)
    assert abs(best - (1 + int(information.argmax()))) <= 1
