"""What a plan assumes about the true answers: a distribution per question.

A prevalence is the share of one category, the last one unless another is named; the other
categories share the rest equally. Or it is a distribution over all categories. Answers to
different questions are assumed to be independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError, unknown

_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Assumption:
    """The distribution of one attribute; `category` is the code that the plan is about.

    None is any category: then the one with the widest interval counts.
    """

    attribute: Attribute
    shares: Array
    category: int | None

    @property
    def code(self) -> int:
        """The code of the category; an error if there is none."""
        if self.category is None:
            raise DataError(
                f"a comparison needs the category of {self.attribute.name!r} that is compared; "
                "give category, or one share as the prevalence"
            )
        return self.category

    @property
    def share(self) -> float:
        """The share of the category."""
        return float(self.shares[self.code])

    def at(self, share: float) -> Array:
        """The distribution with this share of the category, the others in proportion."""
        others = np.where(np.arange(self.attribute.size) == self.code, 0.0, self.shares)
        if not others.any():
            others = 1.0 - (np.arange(self.attribute.size) == self.code)
        moved = others / others.sum() * (1 - share)
        moved[self.code] = share
        return np.asarray(moved)


#: By the name of the attribute.
Assumptions = Mapping[str, Assumption]


def assume(attribute: Attribute, prevalence: Any, category: Any = None) -> Assumption:
    """The assumption that a prevalence describes; an error if it is no share or distribution."""
    code = None if category is None else attribute.code(category)
    if np.ndim(prevalence) == 0:
        share = check_share(prevalence, f"the prevalence of {attribute.name!r}")
        code = attribute.size - 1 if code is None else code
        shares = np.full(attribute.size, (1 - share) / (attribute.size - 1))
        shares[code] = share
        return Assumption(attribute, shares, code)
    shares = np.array([check_share(p, f"a share of {attribute.name!r}") for p in prevalence])
    if len(shares) != attribute.size or abs(float(shares.sum()) - 1) > _CLOSE:
        raise DataError(
            f"the prevalence of {attribute.name!r} must be one share, or {attribute.size} shares "
            f"that sum to 1; got {len(shares)} with the sum {shares.sum():.6g}"
        )
    return Assumption(attribute, shares / shares.sum(), code)


def assume_all(
    design: Design, prevalence: Any, category: Any = None, only: str | None = None
) -> dict[str, Assumption]:
    """An assumption per attribute; `category` is that of the attribute `only`."""
    if category is not None and only is None:
        if len(design.schema) > 1:
            raise DataError("category needs the attribute that it is one of; give attribute too")
        (only,) = design.schema.names
    given = prevalence if isinstance(prevalence, Mapping) else {}
    for name in given:
        if name not in design.schema:
            raise DataError(unknown("attribute", name, design.schema.names, " in prevalence"))
    default = 0.2 if isinstance(prevalence, Mapping) else prevalence
    assumptions = {}
    for attribute in design.schema:
        name = attribute.name
        stated = given.get(name, default)
        fits = np.ndim(stated) == 0 or name in given or name == only or len(design.schema) == 1
        chosen = category if name == only else None
        assumptions[name] = assume(attribute, stated if fits else 0.2, chosen)
    return assumptions


def check_share(value: Any, what: str) -> float:
    """A number from 0 to 1."""
    share = check_number(value, what)
    if not 0 <= share <= 1:
        raise DataError(f"{what} must lie between 0 and 1, got {value!r}")
    return share


def check_number(value: Any, what: str) -> float:
    """A number, not a truth value and not text."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__") or np.ndim(value):
        raise DataError(f"{what} must be a number, got {value!r}")
    return float(value)
