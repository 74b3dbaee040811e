"""Coins of every family and designs of them: fixed cases, random ones, Hypothesis strategies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tacit import Attribute, Design, Group, Schema
from tacit.core.channel import (
    Coin,
    christofides,
    crosswise,
    forced,
    frapp,
    kuk,
    mangat,
    mangat_singh,
    matrix,
    related,
    triangular,
    truthful,
    uniform_perturbation,
    unrelated,
)

Sizes = tuple[int, ...]
#: Coins worse than this are drawn again, so that a product of groups can be inverted to 1e-9.
TAMEST = 20.0


def attributes_of(sizes: Sizes, first: int = 0) -> tuple[Attribute, ...]:
    """a0, a1, ... with categories c0, c1, ..."""
    return tuple(
        Attribute(f"a{first + i}", [f"c{j}" for j in range(k)]) for i, k in enumerate(sizes)
    )


def shares(rng: np.random.Generator, k: int, least: int = 1) -> list[Fraction]:
    """A random distribution of exact fractions; `least` 0 allows zeros."""
    weights = rng.integers(least, 10, k)
    weights[rng.integers(k)] += 1
    return [Fraction(int(w), int(weights.sum())) for w in weights]


def stochastic(rng: np.random.Generator, rows: int, columns: int) -> list[list[Fraction]]:
    """A random matrix of exact fractions whose columns sum to 1, with a heavy diagonal."""
    weights = rng.integers(0, 8, (rows, columns)) + 3 * rows * np.eye(rows, columns, dtype=int)
    weights[columns:] += 1
    totals = weights.sum(axis=0)
    return [[Fraction(int(w), int(t)) for w, t in zip(row, totals, strict=True)] for row in weights]


def share(rng: np.random.Generator, low: float, high: float) -> Fraction:
    """A random fraction with a random denominator, between low and high."""
    return Fraction(rng.uniform(low, high)).limit_denominator(int(rng.integers(6, 1000)))


def _unrelated_by_name(a: tuple[Attribute, ...], rng: np.random.Generator) -> Coin:
    return unrelated(share(rng, 0.3, 1), {x.name: shares(rng, x.size) for x in a})


def _joint(a: tuple[Attribute, ...], rng: np.random.Generator) -> Any:
    sizes = [x.size for x in a]
    return np.array(shares(rng, math.prod(sizes), 0), dtype=object).reshape(sizes)


def _square(a: tuple[Attribute, ...], rng: np.random.Generator) -> Coin:
    cells = math.prod(x.size for x in a)
    return matrix(stochastic(rng, cells, cells))


def _tall(a: tuple[Attribute, ...], rng: np.random.Generator) -> Coin:
    cells = math.prod(x.size for x in a)
    return matrix(stochastic(rng, cells + int(rng.integers(1, 4)), cells))


def _kuk(rng: np.random.Generator, cards: int) -> Coin:
    return kuk(share(rng, 0.5, 1), share(rng, 0, 0.5), cards)


def _christofides(rng: np.random.Generator) -> Coin:
    return christofides(sorted(shares(rng, int(rng.integers(2, 6)))))


#: Family -> its random coin for these attributes.
MAKERS: dict[str, Any] = {
    "truthful": lambda a, rng: truthful(),
    "related": lambda a, rng: related(share(rng, 0, 1)),
    "unrelated, shared": lambda a, rng: unrelated(share(rng, 0.3, 1), shares(rng, a[0].size)),
    "unrelated, by name": _unrelated_by_name,
    "unrelated, joint": lambda a, rng: unrelated(share(rng, 0.3, 1), _joint(a, rng)),
    "uniform_perturbation": lambda a, rng: uniform_perturbation(share(rng, 0.2, 1)),
    "frapp above 1": lambda a, rng: frapp(share(rng, 3, 80)),
    "frapp below 1": lambda a, rng: frapp(share(rng, 0, 0.3)),
    "forced": lambda a, rng: forced(share(rng, 0.3, 1), {x.name: shares(rng, x.size) for x in a}),
    "crosswise": lambda a, rng: crosswise(share(rng, 0, 1)),
    "triangular": lambda a, rng: triangular(share(rng, 0, 0.7)),
    "mangat": lambda a, rng: mangat(share(rng, 0.3, 1)),
    "mangat_singh": lambda a, rng: mangat_singh(share(rng, 0, 1), share(rng, 0, 1)),
    "kuk, one card": lambda a, rng: _kuk(rng, 1),
    "kuk": lambda a, rng: _kuk(rng, int(rng.integers(2, 5))),
    "christofides": lambda a, rng: _christofides(rng),
    "matrix": _square,
    "matrix, m > n": _tall,
    "matrix, joint": _square,
}


def fits(family: str, sizes: Sizes) -> bool:
    """Whether the family can disguise a group of these sizes in the tests."""
    match family:
        case "unrelated, shared":
            return len(set(sizes)) == 1
        case "unrelated, joint":
            return len(sizes) >= 2
        case "crosswise" | "triangular" | "mangat" | "kuk, one card" | "kuk" | "christofides":
            return sizes == (2,)
        case "matrix":
            return len(sizes) == 1
        case "matrix, joint" | "matrix, m > n":
            return (len(sizes) == 2 if "joint" in family else True) and math.prod(sizes) <= 36
        case "frapp below 1":
            return math.prod(sizes) <= 6
        case "frapp above 1":
            return math.prod(sizes) <= 1000  # of more cells no lambda up to 80 is tame
        case _:
            return True


def random_coin(family: str, attributes: tuple[Attribute, ...], rng: np.random.Generator) -> Coin:
    """A coin of the family that can be reconstructed well."""
    while True:
        coin: Coin = MAKERS[family](attributes, rng)
        if coin.channel(attributes).condition <= TAMEST:
            return coin


@dataclass(frozen=True)
class Case:
    """A coin of a family and the attributes it disguises."""

    family: str
    coin: Coin
    attributes: tuple[Attribute, ...]

    @property
    def design(self) -> Design:
        return Design(
            Schema(self.attributes), [Group([a.name for a in self.attributes], self.coin)]
        )

    def __str__(self) -> str:
        return f"{self.family} on {'x'.join(str(a.size) for a in self.attributes)}"


SHAPES: tuple[Sizes, ...] = ((2,), (5,), (3, 2), (3, 3), (2, 2, 3))


def _case(family: str, sizes: Sizes) -> Case:
    attributes = attributes_of(sizes)
    rng = np.random.default_rng(len(family) * 100 + sum(sizes))
    return Case(family, random_coin(family, attributes, rng), attributes)


#: Every family on every shape that it fits.
CASES = [_case(family, sizes) for family in MAKERS for sizes in SHAPES if fits(family, sizes)]

HALF, NONE = Fraction(1, 2), Fraction(0)
ALIKE = [["1/2", "1/2"], ["1/2", "1/2"]]
#: A coin of each family that tells nothing, and the parameter that is to blame.
SINGULAR = [
    (Case("related", related(HALF), attributes_of((2, 3))), "theta=1/2"),
    (Case("related", related("1/5"), attributes_of((5,))), "theta=1/5"),
    (Case("unrelated", unrelated(0, [HALF, HALF]), attributes_of((2, 2))), "theta=0"),
    (Case("uniform_perturbation", uniform_perturbation(0), attributes_of((3,))), "q=0"),
    (Case("frapp", frapp(1), attributes_of((3, 2))), "lambda=1"),
    (Case("forced", forced(NONE, ["1/6", "5/6"]), attributes_of((2,))), "theta=0"),
    (Case("crosswise", crosswise(0.5), attributes_of((2,))), "p=1/2"),
    (Case("triangular", triangular(1), attributes_of((2,))), "p=1"),
    (Case("mangat", mangat(0), attributes_of((2,))), "p=0"),
    (Case("mangat_singh", mangat_singh("1/5", "3/8"), attributes_of((2,))), "truth=1/5, p=3/8"),
    (Case("kuk", kuk("1/3", "1/3", 2), attributes_of((2,))), "red_yes=1/3, red_no=1/3, cards=2"),
    (
        Case("christofides", christofides(["1/4", "1/2", "1/4"]), attributes_of((2,))),
        "distribution=[1/4, 1/2, 1/4]",
    ),
    (Case("matrix", matrix(ALIKE), attributes_of((2,))), "matrix=[[1/2, 1/2], [1/2, 1/2]]"),
]


@st.composite
def partitions(draw: st.DrawFn, n: int) -> list[list[int]]:
    """A random partition of range(n), members in random order."""
    order = draw(st.permutations(range(n)))
    cuts = draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))
    groups = [[order[0]]]
    for member, cut in zip(order[1:], cuts, strict=True):
        groups = [*groups, [member]] if cut else [*groups[:-1], [*groups[-1], member]]
    return groups


@st.composite
def designs(draw: st.DrawFn, max_attributes: int = 4, largest: int = 6) -> Design:
    """Any partition of a few attributes into groups, any family a group, k from 2 to `largest`."""
    sizes = tuple(draw(st.lists(st.integers(2, largest), min_size=1, max_size=max_attributes)))
    attributes = attributes_of(sizes)
    groups = []
    for members in draw(partitions(len(sizes))):
        own = tuple(attributes[i] for i in members)
        able = [f for f in MAKERS if fits(f, tuple(a.size for a in own))]
        family = draw(st.sampled_from(able))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        groups.append(Group([a.name for a in own], random_coin(family, own, rng)))
    return Design(Schema(attributes), groups)


def seeds() -> st.SearchStrategy[int]:
    """Seeds for random tables."""
    return st.integers(0, 2**32 - 1)
