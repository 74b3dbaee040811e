"""Intervals of a rule's support and confidence, also if the same records chose the rule.

For a rule "if E then c", s = P(E) and x = P(E, c) are estimated from n reports. A support or
confidence p0 is inside the interval if

    support      (s - p0)^2    <=  z^2 (p0 (1 - p0) + D_EE) / n
    confidence   (x - p0 s)^2  <=  z^2 (s p0 (1 - p0) + D_cc - 2 p0 D_cE + p0^2 D_EE) / n

where D is what the disguise adds to the covariance of x and s in one report. The variance is that
under the hypothesis (Wilson, 1927), and the confidence is tested as a ratio (Fieller, 1954). So a
leaf with one class or few records has no interval of width 0, and a confidence whose support is
within noise may be anything. Estimates are first moved between their limits, closer to the truth.

If the records that chose the tree also give the estimates, their noise made the rule attractive.
z then makes the intervals of *all* rules that any tree could have hold together (Bonferroni): a
rule is a set of allowed categories for each attribute. Its size d counts the conditions: 1 for an
attribute with one category allowed, else the number of its excluded categories. With N_d rules of
size d and m intervals for each, an interval misses the truth with probability at most

    (1 - level) / ((d + 1) (d + 2) m N_d),

and the sum over all rules of all sizes is 1 - level. Nothing is assumed about how the tree was
grown or pruned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri_exp

from tacit.reconstruction.interval import Interval, check_level


class RuleNoise(NamedTuple):
    """What the disguise adds to the second moments of E and of (E, c) in one report."""

    support: float = 0.0
    both: float = 0.0
    right: float = 0.0


#: That of undisguised records.
NO_NOISE = RuleNoise()


def deviates(level: float, log_choices: float) -> float:
    """Standard errors to either side that one of exp(log_choices) intervals needs."""
    check_level(level)
    return -float(ndtri_exp(math.log1p(-level) - math.log(2) - log_choices))


def support_limits(support: float, noise: RuleNoise, n_records: int, z: float) -> Interval:
    """Limits of the support, inside [0, 1]."""
    q, s = z**2 / n_records, min(max(support, 0.0), 1.0)
    return _between_roots(1 + q, 2 * s + q, s**2 - q * max(noise.support, 0.0))


def confidence_limits(
    support: float, confidence: float, noise: RuleNoise, n_records: int, z: float
) -> Interval:
    """Limits of the confidence, inside [0, 1]; NaN if it is not known."""
    if math.isnan(confidence):
        return Interval(np.asarray(math.nan), np.asarray(math.nan))
    q, s = z**2 / n_records, support
    x = s * min(max(confidence, 0.0), 1.0)
    return _between_roots(
        s**2 + q * (s - noise.support),
        2 * x * s + q * (s - 2 * noise.both),
        x**2 - q * max(noise.right, 0.0),
    )


def _between_roots(square: float, linear: float, constant: float) -> Interval:
    """Where square p^2 - linear p + constant <= 0 within [0, 1]; everything if it is unbounded."""
    if square <= 0:
        return Interval(np.asarray(0.0), np.asarray(1.0))
    middle = linear / (2 * square)
    reach = math.sqrt(max(middle**2 - constant / square, 0.0))
    return Interval(*np.clip([middle - reach, middle + reach], 0.0, 1.0))


def size_of_rule(allowed: Sequence[int], sizes: Sequence[int]) -> int:
    """The conditions of a rule, from the numbers of allowed and of all categories.

    >>> size_of_rule([1, 2, 3], [3, 3, 3])
    2
    """
    pairs = zip(allowed, sizes, strict=True)
    return sum(min(1 if own == 1 else k - own, k - own) for own, k in pairs)


def log_choices(sizes: Sequence[int], n_classes: int, largest: int) -> list[float]:
    """Log of 1 / (share of the error that one interval gets), for rules of each size from 0 on.

    `sizes` are those of the features. With two classes the intervals of both are the same one,
    mirrored.
    """
    numbers = [1] + [0] * largest
    for k in sizes:
        own = [math.comb(k, j) for j in range(min(k - 1, largest + 1))]
        own = own if k > 2 else [1, 0]
        own[1:2] = [own[1] + k] if len(own) > 1 else []
        numbers = [
            sum(own[j] * numbers[d - j] for j in range(min(d, len(own) - 1) + 1))
            for d in range(largest + 1)
        ]
    intervals = 1 + (1 if n_classes == 2 else n_classes)
    # More conditions than there are attributes to set them on: no such rule, and no choice.
    return [
        math.log((d + 1) * (d + 2) * intervals * max(number, 1)) for d, number in enumerate(numbers)
    ]
