"""What a plan is about: a design, a survey, a file, a coin, or a family with an open parameter.

An open family has steps from most to least private. A step is a parameter with four decimals, so
that a plan can be written into a survey file as it is printed. `optimal` is the best channel for
the assumed shares (`tacit.optimize`) under a bound on epsilon, in steps of .01, or on the worst
posterior, in steps of a thousandth of its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import channel
from tacit.core.argument_checks import check_whole
from tacit.core.channel import FAMILIES, Coin
from tacit.core.channel.families import Matrix, is_pair
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, DesignError, unknown
from tacit.records import read_design

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
    by_name = isinstance(given, str) or FAMILIES.get(name) is given
    if not by_name and callable(given):
        return CoinFamily(name.replace("<lambda>", "family"), _STEPS, lambda j: given(_theta(j)))
    if not by_name or name not in OPEN_FAMILIES:
        raise DesignError(unknown("family", name or given, OPEN_FAMILIES))
    if name == OPTIMAL and figure == POSTERIOR:

        def bounded(step: int) -> Coin:
            # Between the largest share and 1, rounded up to six decimals.
            delta = max(shares) + (1 - max(shares)) * step / _DELTAS
            return optimal_coin(shares, delta=min(1.0, math.ceil(1e6 * delta) / 1e6))

        return CoinFamily(name, _DELTAS, bounded)
    k = len(shares)
    alike = [Fraction(1, k)] * k
    makers: dict[str, tuple[int, Callable[[int], Coin]]] = {
        "related": (_STEPS - _STEPS // k, lambda j: channel.related(_theta(_STEPS // k + j))),
        "unrelated": (_STEPS, lambda j: channel.unrelated(_theta(j), alike)),
        "forced": (_STEPS, lambda j: channel.forced(_theta(j), alike)),
        "crosswise": (_STEPS // 2, lambda j: channel.crosswise(_theta(_STEPS // 2 - j))),
        "uniform_perturbation": (_STEPS, lambda j: channel.uniform_perturbation(_theta(j))),
        "frapp": (100 * _LARGEST_LAMBDA, lambda j: channel.frapp(1 + Fraction(j, 100))),
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

    return front(list(shares), 1000, delta, epsilon, Exact(privacy=[0.0]))[0].coin()


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


#: The attribute of a plan that is made for a coin or a family alone.
ANSWER = "answer"


def design_of(subject: Any) -> Design | None:
    """The design of a subject that has one: a design, a survey, a file or a chosen channel."""
    if isinstance(subject, Design):
        return subject
    families = [*FAMILIES, OPTIMAL]
    if isinstance(subject, Path) or (isinstance(subject, str) and subject not in families):
        path = Path(subject)
        if path.suffix.lower() in (".yaml", ".yml"):
            from tacit.survey import read_survey

            return read_survey(path).design
        if path.suffix.lower() == ".json":
            return read_design(path)
        raise DesignError(
            f"{str(path)!r} is neither a family ({', '.join(families)}) nor a file with a survey "
            "or a design (.yaml, .yml, .json)"
        )
    survey = getattr(subject, "survey", subject)
    design = getattr(survey, "design", None)
    design = design() if callable(design) else design
    return design if isinstance(design, Design) else None


def number_of_categories(subject: Any, prevalence: Any, categories: int | None) -> int:
    """The number of categories: as given, that of the distribution, or that of the coin; else 2."""
    if categories is not None:
        return check_whole("categories", categories, 2)
    if np.ndim(prevalence) == 1:
        return len(prevalence)
    fields = ("personal", "forced", "columns")
    shares = next((getattr(subject, name) for name in fields if hasattr(subject, name)), ())
    return max(2, len(shares)) if not shares or not is_pair(shares[0]) else 2


def one_question(coin: Coin, size: int) -> Design:
    """A design of one question."""
    return Design(Schema([Attribute(ANSWER, labels_of(size))]), [Group([ANSWER], coin)])


def labels_of(size: int) -> list[str]:
    """Labels of the categories of a question that is not written yet."""
    return ["no", "yes"] if size == 2 else [f"c{i + 1}" for i in range(size)]


DEFAULT_PREVALENCE = 0.2


def family_of_text(
    name: str, theta: str | None, drawn: str | None, categories: int | None, dashes: str = ""
) -> Any:
    """A coin of a family; without theta, a function from it to a coin.

    `drawn` is the distribution of the personal question or of forced answers, separated by commas;
    all alike if left out. Errors write names of options after `dashes`.
    """
    more: dict[str, Any] = {}
    if name in ("unrelated", "forced"):
        size = categories or 2
        shares: list[Any] = [f"1/{size}"] * size
        if drawn is not None:
            shares = [_fraction(part, f"{dashes}drawn") for part in drawn.split(",")]
        more = {"personal" if name == "unrelated" else "forced": shares}
    elif drawn is not None:
        raise DataError(f"{dashes}drawn is for unrelated and forced")
    if name in ("truthful", "matrix"):
        raise DataError(f"{dashes}theta: {name} has no such parameter")
    make = FAMILIES[name]
    if theta is not None:
        return make(_fraction(theta, f"{dashes}theta"), **more)

    def coin(value: Any) -> Coin:
        return make(value, **more)

    coin.__name__ = name
    return coin


def shares_of_texts(given: Sequence[str], dashes: str = "") -> Any:
    """One share, a distribution (separated by commas), or either by name (name=SHARE)."""
    named: dict[str, Any] = {}
    plain: list[Any] = []
    for text in given:
        name, separator, value = text.rpartition("=")
        parts = [number_of_text(part, f"{dashes}prevalence") for part in value.split(",")]
        share = parts[0] if len(parts) == 1 else parts
        if separator:
            named[name.strip()] = share
        else:
            plain.append(share)
    if len(plain) > 1 or (plain and named):
        raise DataError(
            f"{dashes}prevalence: give one share for all questions, or name=SHARE for each"
        )
    return named or (plain[0] if plain else DEFAULT_PREVALENCE)


def number_of_text(text: str, what: str) -> float:
    """A number such as 0.2, 1/5 or 20 %; errors call it `what`."""
    return float(_fraction(text, what))


def _fraction(text: str, what: str) -> Fraction:
    """The same, exact."""
    part = text.strip().removesuffix("%")
    try:
        number = Fraction(part.strip())
        float(number)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise DataError(
            f"{what}: {text.strip()!r} is not a number such as 0.2, 1/5 or 20 %"
        ) from None
    return number / 100 if part != text.strip() else number
