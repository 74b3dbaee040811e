"""PriorTable: one table of a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.core.arrays import Array


@dataclass(frozen=True, eq=False)
class PriorTable:
    """A table over some attributes, independent of all others; priors along the last axis.

    `assumed` says that its margins are known, but not how its answers go together.
    """

    names: tuple[str, ...]
    tables: Array
    assumed: bool = False

    def marginal(self, names: Sequence[str]) -> PriorTable | None:
        """The block of those of its attributes that are wanted, in its own order."""
        kept = tuple(name for name in self.names if name in names)
        dropped = tuple(i for i, name in enumerate(self.names) if name not in kept)
        if not kept:
            return None
        return PriorTable(kept, self.tables.sum(axis=dropped), self.assumed and len(kept) > 1)
