"""CoinFamily: a family whose parameter is still open, in steps from most to least private.

A step is a parameter with four decimals, so that a plan can be written into a survey file as it is
printed. `optimal` is the best channel for the assumed shares under a bound on epsilon
(`tacit.optimize`), in steps of .01.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.channel import (
    FAMILIES,
    Coin,
    crosswise,
    forced,
    frapp,
    related,
    uniform_perturbation,
    unrelated,
)
from tacit.channel.matrix import Matrix
from tacit.errors import DesignError, unknown

#: Steps of a probability.
_STEPS = 10_000
#: frapp takes lambda in hundredths up to this, `optimal` epsilon up to this.
_LARGEST_LAMBDA, _LARGEST_EPSILON = 100_000, 12
OPTIMAL = "optimal"
OPEN_FAMILIES = (
    "related",
    "unrelated",
    "forced",
    "crosswise",
    "uniform_perturbation",
    "frapp",
    OPTIMAL,
)


@dataclass(frozen=True)
class CoinFamily:
    """Coins by step, from 1 (most private) to `last`."""

    name: str
    last: int
    make: Callable[[int], Coin]


def coin_family(given: Any, shares: Sequence[float]) -> CoinFamily:
    """The family of a name, a function such as `related`, or any function of theta.

    `shares` is the assumed distribution. `unrelated` and `forced` draw all categories alike;
    for another distribution give a function: lambda theta: forced(theta, [0.2, 0.8]).
    """
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    known = isinstance(given, str) or FAMILIES.get(name) is given
    if not known and callable(given):
        return CoinFamily(name.replace("<lambda>", "family"), _STEPS, lambda j: given(_theta(j)))
    if not known or name not in OPEN_FAMILIES:
        raise DesignError(unknown("family", name or given, OPEN_FAMILIES))
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
        OPTIMAL: (100 * _LARGEST_EPSILON, lambda j: optimal_coin(shares, j / 100)),
    }
    return CoinFamily(name, *makers[name])


def optimal_coin(shares: Sequence[float], epsilon: float) -> Coin:
    """The channel of least mean squared error for these shares under a bound on epsilon."""
    from tacit.optimize import Exact, front  # SciPy's solvers are slow to start

    found = front(list(shares), 1000, epsilon=epsilon, method=Exact(privacy=[0.0]))
    return found[0].coin()


def _theta(step: int) -> Fraction:
    return Fraction(step, _STEPS)


def coin_text(coin: Coin) -> str:
    """The coin with its parameter as a decimal, where that is short.

    >>> from tacit import related
    >>> coin_text(related("0.7341")), coin_text(related("2/3"))
    ('related(theta=0.7341)', 'related(theta=2/3)')
    """
    if isinstance(coin, Matrix):
        return f"matrix, {len(coin.rows)} reports"
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
