"""What a reconstruction shows of itself: the distribution of each attribute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.errors import SingularChannelError
from tacit.output.number_text import UNKNOWN, decimals, number_of, span
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.fit import misfit
from tacit.records import PatternTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Rows of a summary before it is cut.
_SHOWN = 60


class ReconstructionSummary(TabularResult, ABC):
    """Each attribute alone; other tables are asked for."""

    patterns: PatternTable
    design: Design

    @abstractmethod
    def table(self, attributes: Sequence[str]) -> Estimate:
        """Joint distribution of the true answers to these attributes."""

    @property
    def n_records(self) -> int:
        """Number of reported records."""
        return self.patterns.n_records

    def plot(self, attributes: Sequence[str] | None = None, level: float = 0.95) -> Figure:
        """The distribution of each attribute with its intervals, beside the reported one.

        Needs the extra `plot`.
        """
        names = self.design.schema.names if attributes is None else attributes
        self.design.closure(names)  # an error if these are no names
        with optional_imports():
            from tacit.reconstruction.estimate_plot import plot_estimates

        return plot_estimates([self.table([name]) for name in names], level)

    def to_table(self, level: float = 0.95) -> Table:
        """The reported and the estimated share of every category."""
        rows: list[tuple[Any, ...]] = []
        told: dict[str, None] = {}
        for attribute in self.design.schema:
            if len(rows) >= _SHOWN:
                break
            try:
                found = self.table([attribute.name])
            except SingularChannelError:
                rows += [(attribute.name, str(c), *[UNKNOWN] * 4) for c in attribute.categories]
                continue
            told |= dict.fromkeys(filter(None, [misfit(found.fit), found.warning]))
            rows += _rows(attribute.name, found, level)
        records = number_of(self.n_records, "reported record")
        title = f"Each of {number_of(len(self.design.schema), 'attribute')} from {records}"
        heads = ("attribute", "category", "reported", "estimate", "std. error")
        table = Table(
            (*heads, f"{100 * level:g} % interval"), rows, "\n".join([*told, title]), "llrrrr"
        )
        return table.cut(_SHOWN)

    def __repr__(self) -> str:
        of = number_of(len(self.design.schema), "attribute")
        return f"<Reconstruction of {of} from {number_of(self.n_records, 'reported record')}>"


def _rows(name: str, found: Estimate, level: float) -> list[tuple[Any, ...]]:
    lower, upper = found.interval(level)
    reported = found.reported
    shown = np.full(found.value.shape, np.nan) if reported is None else reported
    numbers = zip(shown, found.value, found.stderr, lower, upper, strict=True)
    return [
        (name, str(label), decimals(r), decimals(v, e), decimals(e), span(float(lo), float(up)))
        for (label,), (r, v, e, lo, up) in zip(found.cells(), numbers, strict=True)
    ]
