"""LocallyPrivate: what has an epsilon of local differential privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from tacit.core.channel.numbers import log_up


class LocallyPrivate(ABC):
    """A disguise, known by the largest ratio of the probabilities of a report."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two true answers; None if none."""

    @property
    def epsilon(self) -> float:
        """Local differential privacy: log of `ratio`, rounded up; infinite without a limit."""
        return log_up(self.ratio)
