"""Samples of one attribute for tests of pooled samples and non-compliance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import Attribute, Design, Group, Schema
from tacit.compliance.mixture import ReportMixture
from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.reconstruction.likelihood import log_likelihood

YES_NO = Attribute("drug", ["no", "yes"])


def design_of(coin: Coin, attribute: Attribute = YES_NO) -> Design:
    """A design of one attribute."""
    return Design(Schema([attribute]), [Group([attribute.name], coin)])


def records_of(counts: Sequence[int]) -> Any:
    """Codes of one attribute with these counts."""
    return np.repeat(np.arange(len(counts)), counts)[:, None]


def sample(counts: Sequence[int], coin: Coin, attribute: Attribute = YES_NO) -> tuple[Any, Design]:
    """A pair (reported records, design)."""
    return records_of(counts), design_of(coin, attribute)


def log_likelihood_at(mixture: ReportMixture, shares: Array) -> float:
    """log L, without the multinomial coefficients."""
    return log_likelihood(mixture.reports, mixture.stacked @ shares)
