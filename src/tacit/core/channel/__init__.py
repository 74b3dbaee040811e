"""One coin per group: the families of randomized response and the channels they make."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tacit.core.channel.channel import Channel
from tacit.core.channel.coin import Coin
from tacit.core.channel.keep_or_draw import (
    forced,
    frapp,
    mangat,
    triangular,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.core.channel.matrix import christofides, kuk, matrix
from tacit.core.channel.related import crosswise, mangat_singh, related
from tacit.errors import DesignError, TacitError, unknown

FAMILIES: dict[str, Callable[..., Coin]] = {
    family.__name__: family
    for family in (
        truthful,
        related,
        unrelated,
        uniform_perturbation,
        frapp,
        forced,
        crosswise,
        triangular,
        mangat,
        mangat_singh,
        kuk,
        christofides,
        matrix,
    )
}


def coin_from_dict(data: Any, where: str) -> Coin:
    """The coin that a design file describes; `where` names its place in the file."""
    if not isinstance(data, Mapping) or "family" not in data:
        raise DesignError(f"{where} must be an object with a 'family', got {data!r}")
    family = data["family"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise DesignError(unknown("family", family, FAMILIES, f" in {where}"))
    make = FAMILIES[family]
    allowed = {name.rstrip("_"): p for name, p in inspect.signature(make).parameters.items()}
    given = {key: value for key, value in data.items() if key != "family"}
    for key in given:
        if key not in allowed:
            raise DesignError(unknown("parameter", key, allowed, f" of {family} in {where}"))
    for key, parameter in allowed.items():
        if parameter.default is parameter.empty and key not in given:
            raise DesignError(f"{where}: {family} needs the parameter {key!r}")
    try:
        return make(**{allowed[key].name: value for key, value in given.items()})
    except TacitError as error:
        raise DesignError(f"{where}: {error}") from None


__all__ = [
    "FAMILIES",
    "Channel",
    "Coin",
    "christofides",
    "coin_from_dict",
    "crosswise",
    "forced",
    "frapp",
    "kuk",
    "mangat",
    "mangat_singh",
    "matrix",
    "related",
    "triangular",
    "truthful",
    "uniform_perturbation",
    "unrelated",
]
