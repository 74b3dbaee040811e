"""CoinFamily: a family whose parameter is still open, in steps from most to least private.

A step is a parameter with four decimals, so that a plan can be written into a survey file as it is
printed. `optimal` is the best channel for the assumed shares (`tacit.optimize`) under a bound on
epsilon, in steps of .01, or on the worst posterior, in steps of a thousandth of its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.core.channel import (
    FAMILIES,
    Coin,
    crosswise,
    forced,
    frapp,
    related,
    uniform_perturbation,
    unrelated,
)
from tacit.core.channel.matrix import Matrix
from tacit.errors import DesignError, unknown

#: Steps of a probability.
_STEPS = 10_000
#: frapp takes lambda in hundredths up to this, `optimal` epsilon up to this.
_LARGEST_LAMBDA, _LARGEST_EPSILON = 100_000, 12
#: Steps of a bound on the worst posterior.
_DELTAS = 1000
OPTIMAL = "optimal"
#: The figures of privacy that an optimal channel can be bounded by.
EPSILON, POSTERIOR = "epsilon", "worst_posterior"
OPEN_FAMILIES = (
    "related",
    "unrelated",
    "forced",
    "crosswise",
    "uniform_perturbation",
    "frapp",
    OPTIMAL,
)
#: Those that need a question with two answers.
YES_NO_FAMILIES = ("crosswise",)


@dataclass(frozen=True)
class CoinFamily:
    """Coins by step, from 1 (most private) to `last`."""

    name: str
    last: int
    make: Callable[[int], Coin]


def coin_family(given: Any, shares: Sequence[float], figure: str = EPSILON) -> CoinFamily:
    """The family of a name, a function such as `related`, or any function of theta.

    `shares` is the assumed distribution, `figure` what bounds optimal channels. `unrelated` and
    `forced` draw all categories alike; for another distribution give a function such as
    lambda theta: forced(theta, [0.2, 0.8]).
    """
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    known = isinstance(given, str) or FAMILIES.get(name) is given
    if not known and callable(given):
        return CoinFamily(name.replace("<lambda>", "family"), _STEPS, lambda j: given(_theta(j)))
    if not known or name not in OPEN_FAMILIES:
        raise DesignError(unknown("family", name or given, OPEN_FAMILIES))
    if name == OPTIMAL and figure == POSTERIOR:
        return CoinFamily(name, _DELTAS, lambda j: optimal_coin(shares, delta=_delta(shares, j)))
    return _named(name, shares)


def _named(name: str, shares: Sequence[float]) -> CoinFamily:
    k = len(shares)
    alike = [Fraction(1, k)] * k
    makers: dict[str, tuple[int, Callable[[int], Coin]]] = {
        "related": (_STEPS - _STEPS // k, lambda j: related(_theta(_STEPS // k + j))),
        "unrelated": (_STEPS, lambda j: unrelated(_theta(j), alike)),
        "forced": (_STEPS, lambda j: forced(_theta(j), alike)),
        "crosswise": (_STEPS // 2, lambda j: crosswise(_theta(_STEPS // 2 - j))),
        "uniform_perturbation": (_STEPS, lambda j: uniform_perturbation(_theta(j))),
        "frapp": (100 * _LARGEST_LAMBDA, lambda j: frapp(1 + Fraction(j, 100))),
        OPTIMAL: (100 * _LARGEST_EPSILON, lambda j: optimal_coin(shares, epsilon=j / 100)),
    }
    return CoinFamily(name, *makers[name])


def optimal_coin(
    shares: Sequence[float], epsilon: float | None = None, delta: float | None = None
) -> Coin:
    """The channel of least mean squared error for these shares under a bound.

    delta bounds the worst posterior.
    """
    from tacit.optimize import Exact, front  # SciPy's solvers are slow to start

    found = front(list(shares), 1000, delta, epsilon, Exact(privacy=[0.0]))
    return found[0].coin()


def _delta(shares: Sequence[float], step: int) -> float:
    """A bound between the largest share and 1, rounded up to six decimals."""
    largest = max(shares)
    return min(1.0, math.ceil(1e6 * (largest + (1 - largest) * step / _DELTAS)) / 1e6)


def _theta(step: int) -> Fraction:
    return Fraction(step, _STEPS)


def coin_text(coin: Coin) -> str:
    """The coin with its parameter as a decimal, where that is short.

    >>> from tacit import related
    >>> coin_text(related("0.7341")), coin_text(related("2/3"))
    ('related(theta=0.7341)', 'related(theta=2/3)')
    """
    if isinstance(coin, Matrix):
        return "matrix"
    texts = {name: _short(value) for name, value in coin.to_dict().items() if name != "family"}
    return f"{coin.family}({', '.join(f'{name}={text}' for name, text in texts.items())})"


def _short(value: Any) -> str:
    """A short decimal, a list, or a note that it differs between questions."""
    if isinstance(value, dict):
        return "by question"
    if isinstance(value, list):
        return f"[{', '.join(_short(each) for each in value)}]"
    exact = Fraction(value)
    return f"{float(exact):g}" if 10**6 % exact.denominator == 0 else str(value)
