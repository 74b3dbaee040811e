"""Figures of estimates: each with its interval, beside the share among the reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tacit.core.arrays import Array, Mask
from tacit.output.plot_style import BLUE, GREY, INK, PALE, RED, plain, short_label
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import misfit

#: Rows that are shown of an estimate, and of all together; more would not be read.
MOST_ROWS, MOST_TOGETHER = 40, 80
#: A share further outside of 0 to 1 is not drawn; its interval is.
_OUTSIDE = 0.1


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """Labelled numbers with limits, from top to bottom; `hollow` marks are drawn as rings."""

    labels: Sequence[str]
    values: Array
    lower: Array
    upper: Array
    hollow: Mask | None = None

    def draw(self, axes: Axes, label: str) -> None:
        """A mark and a line per row; an arrow where a limit is infinite."""
        places = np.arange(len(self.labels))
        least, most = self._ends()
        ends = np.clip(self.lower, least, most), np.clip(self.upper, least, most)
        axes.hlines(places, *ends, color=BLUE, linewidth=1.6, zorder=3)
        for limits, own, sign in ((self.lower, ends[0], "<"), (self.upper, ends[1], ">")):
            open_ended = np.isinf(limits)
            axes.plot(own[open_ended], places[open_ended], sign, color=BLUE, ms=6, zorder=3)
        hollow = np.zeros(len(places), bool) if self.hollow is None else self.hollow
        ring: dict[str, Any] = {"color": BLUE, "ms": 6, "zorder": 4, "linestyle": "none"}
        for which, face in ((~hollow, BLUE), (hollow, "white")):
            if which.any():
                name = label if face == BLUE or hollow.all() else None
                own, rows = self.values[which], places[which]
                axes.plot(own, rows, "o", markerfacecolor=face, label=name, **ring)
        for place in places[np.isnan(self.lower)]:
            at: Any = ("axes fraction", "data")
            axes.annotate("unknown", (0.01, place), xycoords=at, color=GREY, va="center")
        axes.set_yticks(places, [short_label(text, 40) for text in self.labels])
        axes.set_ylim(len(places) - 0.5, -0.5)
        plain(axes, "x")

    def _ends(self) -> tuple[float, float]:
        """The range of what is finite."""
        every = np.concatenate([self.values, self.lower, self.upper])
        known = every[np.isfinite(every)]
        if not known.size:
            return 0.0, 1.0
        room = 0.5 * max(float(np.ptp(known)), 1e-9)
        return float(known.min()) - room, float(known.max()) + room


def plot_estimates(estimates: Sequence[Estimate], level: float, shares: bool = False) -> Figure:
    """A panel per estimate, one below the other; with `shares`, all are shares of people."""
    shown = _fitting(estimates)
    rows = [min(each.value.size, MOST_ROWS) for each in shown]
    height = 1.0 + sum(0.55 + 0.3 * n for n in rows)
    figure = Figure(figsize=(6.4, height), layout="constrained")
    every = [shares or _is_share(each) for each in shown]
    made = figure.subplots(
        len(shown),
        1,
        sharex="all" if len(set(every)) == 1 else "none",
        squeeze=False,
        height_ratios=[n + 0.6 for n in rows],
    )
    panels = list(made[:, 0])
    for axes, estimate, share in zip(panels, shown, every, strict=True):
        _draw(axes, estimate, level, 100.0 if share else 1.0)
    if len(set(every)) == 1:
        for axes in panels[:-1]:
            axes.set_xlabel("")
    if len(shown) < len(estimates):
        panels[-1].set_xlabel(f"the first {len(shown)} of {len(estimates)} tables")
    _finish(figure, panels, misfit(shown[0].fit))
    return figure


def _finish(figure: Figure, panels: Sequence[Axes], told: str) -> None:
    """One legend for all panels, and a misfit below them."""
    found: dict[str, Any] = {}
    for axes in panels:
        found |= {label: h for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    handles, labels = list(found.values()), list(found)
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False)
    if told:
        figure.supxlabel(told.partition(" (")[0], color=RED, fontsize="small")


def _is_share(estimate: Estimate) -> bool:
    """Whether this is a probability or a table of them, not a difference or a mean."""
    return estimate.score is not None or bool(estimate.attributes)


def _fitting(estimates: Sequence[Estimate]) -> list[Estimate]:
    """As many as fit in one figure; at least one."""
    total = np.cumsum([min(each.value.size, MOST_ROWS) for each in estimates])
    return list(estimates[: max(1, int((total <= MOST_TOGETHER).sum()))])


def _draw(axes: Axes, estimate: Estimate, level: float, scale: float) -> None:
    cells = slice(MOST_ROWS)
    lower, upper = (scale * np.ravel(end)[cells] for end in estimate.interval(level))
    values = scale * estimate.value.ravel()[cells]
    labels = [", ".join(map(str, labels)) for labels in estimate.cells()[cells]]
    if scale > 1:
        far = np.abs(values / scale - 0.5) > 0.5 + _OUTSIDE
        values = np.where(far, np.nan, values)
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=2)
    if estimate.reported is not None:
        reported = scale * estimate.reported.ravel()[cells]
        axes.barh(range(len(labels)), reported, 0.62, color=PALE, label="reported", zorder=1)
    IntervalRows(labels, values, lower, upper).draw(axes, f"estimate, {100 * level:g} % interval")
    if estimate.no_effect is not None:
        axes.axvline(estimate.no_effect, color=INK, linewidth=0.8, zorder=2)
    left = estimate.value.size - MOST_ROWS
    more = f"; {left} more cells" if left > 0 else ""
    title = short_label(estimate.name, 70)
    axes.set_title(f"{title}{more}", fontsize="medium", loc="left")
    axes.set_xlabel("% of people" if scale > 1 else "estimate")
