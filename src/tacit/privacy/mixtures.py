"""Groups that keep the truth or else disguise attribute by attribute, and draws from them.

    M[y, x] = theta [x = y] + rest prod_a B_a[y_a, x_a],      rest = 1 - theta

A group of one attribute is theta = 0 with its matrix as B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array, Mask
from tacit.channel.distribution import Independent
from tacit.channel.keep_or_draw import ReplacementChannel
from tacit.channel.product import Factor
from tacit.channel.related import AgreementChannel
from tacit.errors import DataError
from tacit.privacy.kernels import entries
from tacit.privacy.prior import PriorTable

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Mixture:
    """theta, and for each attribute B_a[reported, true] of the other strategy."""

    names: tuple[str, ...]
    theta: float
    rest: float
    others: tuple[Array, ...]


def mixture_of(factor: Factor) -> Mixture:
    """The group's two strategies, or an error if it is not of this kind."""
    channel, names = factor.channel, factor.names
    if len(names) == 1:
        return Mixture(names, 0.0, 1.0, (entries(channel),))
    if isinstance(channel, AgreementChannel):
        others = [(1 - np.eye(k)) / (k - 1) for k in channel.sizes]
        return Mixture(names, float(channel.theta), float(1 - channel.theta), tuple(others))
    if isinstance(channel, ReplacementChannel) and channel.theta >= 0:
        drawn = channel.drawn
        if isinstance(drawn, Independent):
            rows = [np.array(margin, dtype=np.float64) for margin in drawn.margins]
            others = [np.repeat(row[:, None], row.size, axis=1) for row in rows]
            return Mixture(names, float(channel.theta), float(1 - channel.theta), tuple(others))
    raise DataError(
        f"group [{', '.join(names)}] {factor.coin} has too many joint categories to be "
        "measured; make the group smaller"
    )


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
    mixtures: Sequence[Mixture],
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
