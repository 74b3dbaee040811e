"""Groups that keep the truth or else disguise attribute by attribute, and draws from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.arrays import Mask
from tacit.channel.product import Factor
from tacit.errors import DataError
from tacit.privacy.kernels import Mixture, kernel_of
from tacit.privacy.prior import PriorTable

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NamedMixture(Mixture):
    """theta, and for each attribute B_a[reported, true] of the other strategy.

    A group of one attribute has theta = 0 and its matrix as B.
    """

    names: tuple[str, ...] = ()


def mixture_of(factor: Factor) -> NamedMixture:
    """The group's two strategies, or an error if it is not of this kind."""
    kernel, names = kernel_of(factor.channel), factor.names
    if len(names) == 1:
        return NamedMixture(0.0, 1.0, (kernel.entries,), names=names)
    found = kernel.mixture
    if found is None or not found.others:
        raise DataError(
            f"group [{', '.join(names)}] {factor.coin} has too many joint categories to be "
            "measured; make the group smaller"
        )
    return NamedMixture(found.theta, found.rest, found.others, names=names)


def draw_true(
    blocks: Sequence[PriorTable], draws: int, rng: np.random.Generator
) -> dict[str, Codes]:
    """True records of a prior whose tables are not stacked."""
    true: dict[str, Codes] = {}
    for block in blocks:
        flat = rng.choice(block.tables.size, draws, p=block.tables.ravel())
        codes = np.unravel_index(flat, block.tables.shape)
        true |= {n: c.astype(np.int32) for n, c in zip(block.names, codes, strict=True)}
    return true


def draw_reported(
    mixtures: Sequence[NamedMixture],
    kept: Mask,
    true: Mapping[str, Codes],
    rng: np.random.Generator,
) -> dict[str, Codes]:
    """Their reports; `kept` says for each record and group whether it keeps the truth."""
    reported: dict[str, Codes] = {}
    for mixture, held in zip(mixtures, kept.T, strict=True):
        for name, other in zip(mixture.names, mixture.others, strict=True):
            drawn = true[name].copy()
            for code, shares in enumerate(other.T):
                rows = np.flatnonzero((true[name] == code) & ~held)
                drawn[rows] = rng.choice(len(other), len(rows), p=shares / shares.sum())
            reported[name] = drawn
    return reported
