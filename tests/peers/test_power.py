"""Power against published formulas and programs.

R's rr 1.4.2, `power.rr.test` (Blair, Imai & Zhou, 2015, "Design and Analysis of the Randomized
Response Technique", JASA 110, the section on power analyses): with P(yes) = c p + d the standard
error is se(p) = sqrt((c p + d)(1 - c p - d) / n) / c, and a test rejects at a distance of z se(p0).
The formula is written again here from that description. One number is published: its help page
(rr.sensitivequestions.org/reference/power.rr.test.html) shows 0.9868872 for a forced design.

Ulrich, Schroeter, Striegel & Simon (2012, "Asking sensitive questions: a statistical power analysis
of randomized response models", Psychological Methods 17, 623-641) use normal approximations too.

R's RRreg 0.7, `powerplot` (Heck & Moshagen, 2018), has no formula: it simulates surveys and counts
how often its regressions find a covariate. It applies where the covariate is a group: then the
test is that of b in logit P(carrier) = a + b group. Its power is that of a likelihood-ratio test,
which for large samples follows from the noncentral chi-squared distribution; this is used here
instead of a simulation.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from tacit.core.channel import Coin, crosswise, forced, related, unrelated
from tacit.plan import plan

NORMAL = NormalDist()
#: rr's design and its parameters, as c and d; and the same as a coin.
DESIGNS: dict[str, tuple[float, float, Coin]] = {
    "forced-known, p = 2/3, p1 = p0 = 1/6": (2 / 3, 1 / 6, forced("2/3", ["1/2", "1/2"])),
    "mirrored, p = 3/4": (1 / 2, 1 / 4, related("3/4")),
    "unrelated-known, p = 2/3, q = 1/3": (2 / 3, 1 / 9, unrelated("2/3", ["2/3", "1/3"])),
    "mirrored, p = 1/4 (crosswise)": (-1 / 2, 3 / 4, crosswise("1/4")),
}


def stderr(c: float, d: float, p: float, n: float) -> float:
    return math.sqrt((c * p + d) * (1 - c * p - d) / n) / abs(c)


def one_sample(
    c: float, d: float, p: float, null: float, n: float, alpha: float, sides: int
) -> float:
    """power.rr.test(type = "one.sample")."""
    reach = NORMAL.inv_cdf(1 - alpha / sides) * stderr(c, d, null, n)
    around = NormalDist(p, stderr(c, d, p, n))
    above = 1 - around.cdf(null + reach)
    return above + (around.cdf(null - reach) if sides == 2 else 0.0)


def two_sample(c: float, d: float, first: float, second: float, n: float, alpha: float) -> float:
    """power.rr.test(type = "two.sample", alternative = "two.sided"), n in each sample.

    The null hypothesis is the mean of both shares in both samples.
    """
    both = (first + second) / 2
    reach = NORMAL.inv_cdf(1 - alpha / 2) * math.sqrt(2) * stderr(c, d, both, n)
    spread = math.hypot(stderr(c, d, first, n), stderr(c, d, second, n))
    around = NormalDist(first - second, spread)
    return around.cdf(-reach) + 1 - around.cdf(reach)


def test_the_formula_gives_the_published_number() -> None:
    c, d, coin = DESIGNS["forced-known, p = 2/3, p1 = p0 = 1/6"]
    assert one_sample(c, d, 0.2, 0.0, 200, 0.01, sides=1) == pytest.approx(0.9868872, abs=5e-8)
    found = plan(coin, n=200, prevalence=0.2, null=0.0, level=0.99).power
    assert found == pytest.approx(0.9868872, abs=0.01)


@pytest.mark.parametrize("name", DESIGNS)
def test_one_sample_power_agrees_within_three_points(name: str) -> None:
    """tacit's test is exact, so a little less powerful than the normal one."""
    c, d, coin = DESIGNS[name]
    for n, null in ((400, 0.0), (400, 0.1), (1500, 0.1), (1500, 0.28), (4000, 0.16)):
        sides = 1 if null == 0 else 2
        expected = one_sample(c, d, 0.2, null, n, 0.05, sides)
        found = plan(coin, n=n, prevalence=0.2, null=null).power
        assert found == pytest.approx(expected, abs=0.03), (n, null)


@pytest.mark.parametrize("name", DESIGNS)
def test_respondents_for_a_power_agree_within_five_percent(name: str) -> None:
    """The exact test needs a few respondents more than the normal one."""
    c, d, coin = DESIGNS[name]
    found = plan(coin, power=0.8, prevalence=0.2, null=0.13).n
    numbers = np.arange(50, 5000)
    powers = np.array([one_sample(c, d, 0.2, 0.13, n, 0.05, 2) for n in numbers.tolist()])
    assert found == pytest.approx(numbers[np.argmax(powers >= 0.8)], rel=0.05)


@pytest.mark.parametrize("name", DESIGNS)
def test_two_sample_power_agrees_within_three_points(name: str) -> None:
    c, d, coin = DESIGNS[name]
    for n, difference in ((1000, 0.15), (3000, 0.1), (3000, -0.1), (8000, 0.06)):
        expected = two_sample(c, d, 0.2 + difference, 0.2, n / 2, 0.05)
        found = plan(coin, n=n, prevalence=0.2, difference=difference).power
        assert found == pytest.approx(expected, abs=0.03), (n, difference)


def likelihood_ratio_power(c: float, d: float, first: float, second: float, n: float) -> float:
    """The test of b in logit P(carrier) = a + b group, from its expected statistic."""
    shares = np.array([c * first + d, c * second + d])
    pooled = shares.mean()

    def likelihood(yes: float) -> float:
        return float(np.sum(shares * math.log(yes) + (1 - shares) * math.log(1 - yes)))

    full = float(np.sum(shares * np.log(shares) + (1 - shares) * np.log(1 - shares)))
    strength = n / 2 * 2 * (full - likelihood(float(pooled)))
    return float(ncx2.sf(chi2.isf(0.05, 1), 1, strength))


@pytest.mark.parametrize("name", DESIGNS)
def test_power_of_a_difference_is_that_of_a_logistic_regression(name: str) -> None:
    c, d, coin = DESIGNS[name]
    for n, difference in ((1000, 0.15), (3000, 0.1), (8000, 0.06)):
        expected = likelihood_ratio_power(c, d, 0.2 + difference, 0.2, n)
        found = plan(coin, n=n, prevalence=0.2, difference=difference).power
        assert found == pytest.approx(expected, abs=0.03), (n, difference)
