"""What plans are given as text, on the command line and in forms: coins, shares and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tacit.core.channel import FAMILIES, Coin
from tacit.errors import DataError

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
