"""Support, confidence and lift with their standard errors and intervals, by the delta method.

For a rule with conditions A and conclusion B (METHODS 8), in terms of the weights g of a report:

    support     P(AB)              g_AB
    confidence  P(AB)/P(A)         (g_AB - confidence g_A) / P(A)
    lift        P(AB)/(P(A)P(B))   lift (g_AB/P(AB) - g_A/P(A) - g_B/P(B))

Intervals: of the support normal, of the confidence by Fieller's method, of the lift normal on the
logarithmic scale. Where nearly all or no records comply these are too short, since the spread of
few reports says little. The disguise only adds noise, so the intervals also contain those of Wilson
(1927) for as many undisguised records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.apriori.supports import RuleMoments, skewness, third_central
from tacit.reconstruction.interval import Interval, check_level


@dataclass(frozen=True, eq=False)
class RuleFigures:
    """Figures of several rules, estimated from `n_records` reported records."""

    moments: RuleMoments
    n_records: int

    @cached_property
    def estimates(self) -> dict[str, Array]:
        """Support, confidence and lift with their standard errors; support of the conditions.

        support = P(conditions and conclusion), conditions_support = P(conditions), confidence =
        P(conclusion | conditions), inside [0, 1], and lift = confidence / P(conclusion). A ratio is
        NaN if its denominator is not positive.
        """
        both, conditions, conclusion = self.moments.mean.T
        none, one = np.zeros_like(both), np.ones_like(both)
        share, whole = _ratio(both, conditions), _ratio(one, conditions)
        lift, alone = _ratio(share, conclusion), _ratio(one, conditions * conclusion)
        found = {"conditions_support": conditions}
        for name, value, slope in (
            ("support", both, [one, none, none]),
            ("confidence", np.clip(share, 0, 1), [whole, -share * whole, none]),
            ("lift", lift, [alone, -_ratio(lift, conditions), -_ratio(lift, conclusion)]),
        ):
            found[name], found[f"{name}_stderr"] = value, self._delta(np.stack(slope, axis=1))
        return found

    def excess(self, least: float) -> tuple[Array, Array, Array]:
        """P(AB) - least P(A), positive if the confidence exceeds `least`.

        With its standard error, at least that of undisguised records, and its skewness.
        """
        both, conditions, _ = self.moments.mean.T
        n, mean = self.n_records, both - least * conditions
        noise = self._delta(np.array([[1.0, -least, 0.0]]))
        floor = np.maximum(conditions, 0) * least * (1 - least) / n
        stderr = np.sqrt(np.maximum(noise**2, floor))
        third = self.moments.cubes @ np.array([1, -3 * least, 3 * least**2, -(least**3)])
        central = third_central(mean, n * noise**2 + mean**2, third)
        return mean, stderr, skewness(central, stderr, n)

    def intervals(self, level: float) -> dict[str, Interval]:
        """Limits of support, confidence and lift."""
        z, found = deviate(level), self.estimates
        return {
            "support": share_interval(found["support"], found["support_stderr"], self.n_records, z),
            "confidence": self._confidence_interval(z),
            "lift": self._lift_interval(z),
        }

    def _confidence_interval(self, z: float) -> Interval:
        """All c with (P(AB) - c P(A))^2 at most z^2 times its variance, with that of Wilson."""
        both, conditions, _ = self.moments.mean.T
        covariance = self.moments.covariance
        a = conditions**2 - z**2 * covariance[:, 1, 1]
        b = both * conditions - z**2 * covariance[:, 0, 1]
        root = np.sqrt(np.maximum(b**2 - a * (both**2 - z**2 * covariance[:, 0, 0]), 0))
        bounded = (a > 0) & (conditions > 0)
        wilson = _wilson(
            self.estimates["confidence"], np.maximum(conditions, 0) * self.n_records, z
        )
        lower = np.where(bounded, _ratio(b - root, np.where(bounded, a, 1.0)), 0.0)
        upper = np.where(bounded, _ratio(b + root, np.where(bounded, a, 1.0)), 1.0)
        return _joined(Interval(lower, upper), wilson)

    def _lift_interval(self, z: float) -> Interval:
        lift, stderr = self.estimates["lift"], self.estimates["lift_stderr"]
        known = lift > 0
        reach = np.exp(z * np.divide(stderr, lift, out=np.full_like(lift, np.nan), where=known))
        lower = np.where(known, lift / reach, 0.0)
        upper = np.where(known, lift * reach, np.maximum(lift + z * stderr, 0))
        return Interval(np.where(np.isnan(lift), np.nan, lower), upper)

    def _delta(self, slope: Array) -> Array:
        variance = np.einsum("ri,rij,rj->r", *_aligned(slope, self.moments.covariance))
        return np.asarray(np.sqrt(np.maximum(variance, 0)))


def share_interval(share: Array, stderr: Array, n_records: int, z: float) -> Interval:
    """The normal interval of shares of records, with that of Wilson."""
    wilson = _wilson(np.clip(share, 0, 1), np.full(len(share), float(n_records)), z)
    return _joined(Interval(share - z * stderr, share + z * stderr), wilson)


def _aligned(slope: Array, covariance: Array) -> tuple[Array, Array, Array]:
    whole = np.broadcast_to(slope, (len(covariance), slope.shape[1]))
    return whole, covariance, whole


def _ratio(above: Array, below: Array) -> Array:
    """above / below; NaN unless `below` is positive."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _wilson(share: Array, n: Array, z: float) -> Interval:
    """Limits of a binomial share."""
    middle = (n * share + z**2 / 2) / (n + z**2)
    reach = z * np.sqrt(n * share * (1 - share) + z**2 / 4) / (n + z**2)
    return Interval(middle - reach, middle + reach)


def _joined(one: Interval, other: Interval) -> Interval:
    """The interval that contains both, inside [0, 1]."""
    lower = np.clip(np.minimum(one.lower, other.lower), 0, 1)
    return Interval(lower, np.clip(np.maximum(one.upper, other.upper), 0, 1))


def deviate(level: float) -> float:
    """The normal deviate of a two-sided level; checks the level."""
    from scipy.special import ndtri  # slow to load

    check_level(level)
    return float(ndtri((1 + level) / 2))
