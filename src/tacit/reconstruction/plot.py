"""Figures of estimates: each with its interval, beside the share among the reports."""

from __future__ import annotations

from collections.abc import Sequence
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


def draw_intervals(
    axes: Axes, label: str, names: Sequence[str], numbers: Sequence[Array], hollow: Mask
) -> None:
    """A mark and a line per row, from top to bottom; an arrow where a limit is infinite.

    `numbers` are values, lower and upper limits; marks that are `hollow` are drawn as rings.
    """
    rows, (values, lower, upper) = np.arange(len(names)), numbers
    finite = np.concatenate(numbers)
    finite = finite[np.isfinite(finite)] if np.isfinite(finite).any() else np.array([0.0, 1.0])
    room = 0.5 * max(float(np.ptp(finite)), 1e-9)
    ends = [np.clip(limits, finite.min() - room, finite.max() + room) for limits in (lower, upper)]
    axes.hlines(rows, ends[0], ends[1], color=BLUE, linewidth=1.6, zorder=3)
    for limits, end, sign in ((lower, ends[0], "<"), (upper, ends[1], ">")):
        open_ended = np.isinf(limits)
        axes.plot(end[open_ended], rows[open_ended], sign, color=BLUE, ms=6, zorder=3)
    ring: dict[str, Any] = {"color": BLUE, "ms": 6, "zorder": 4, "linestyle": "none"}
    for which, face in ((~hollow, BLUE), (hollow, "white")):
        if which.any():
            name = label if face == BLUE or hollow.all() else None
            axes.plot(values[which], rows[which], "o", markerfacecolor=face, label=name, **ring)
    for row in rows[np.isnan(lower)]:
        at: Any = ("axes fraction", "data")
        axes.annotate("unknown", (0.01, row), xycoords=at, color=GREY, va="center")
    axes.set_yticks(rows, [short_label(text, 40) for text in names])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    plain(axes, "x")


def plot_estimates(estimates: Sequence[Estimate], level: float, shares: bool = False) -> Figure:
    """A panel per estimate, one below the other; with `shares`, all are shares of people."""
    rows = [min(estimate.value.size, MOST_ROWS) for estimate in estimates]
    n_panels = max(1, int((np.cumsum(rows) <= MOST_TOGETHER).sum()))  # as many as fit
    shown, rows = estimates[:n_panels], rows[:n_panels]
    # A probability or a table of them is a share, a difference or a mean is none.
    is_share = [shares or e.score is not None or bool(e.attributes) for e in shown]
    same_scale = len(set(is_share)) == 1
    height = 1.0 + sum(0.55 + 0.3 * n for n in rows)
    figure = Figure(figsize=(6.4, height), layout="constrained")
    heights = [n + 0.6 for n in rows]
    grid = figure.subplots(n_panels, 1, sharex=same_scale, squeeze=False, height_ratios=heights)
    panels = list(grid[:, 0])
    for axes, estimate, share in zip(panels, shown, is_share, strict=True):
        _draw(axes, estimate, level, 100.0 if share else 1.0)
    if same_scale:
        for axes in panels[:-1]:
            axes.set_xlabel("")
    if n_panels < len(estimates):
        panels[-1].set_xlabel(f"the first {n_panels} of {len(estimates)} tables")
    legend: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        legend |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(legend.values()), list(legend), loc="outside upper left", ncols=3, frameon=False
    )
    warning = misfit(shown[0].fit)
    if warning:
        figure.supxlabel(warning.partition(" (")[0], color=RED, fontsize="small")
    return figure


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
    numbers, filled = (values, lower, upper), np.zeros(len(labels), bool)
    draw_intervals(axes, f"estimate, {100 * level:g} % interval", labels, numbers, filled)
    if estimate.no_effect is not None:
        axes.axvline(estimate.no_effect, color=INK, linewidth=0.8, zorder=2)
    left = estimate.value.size - MOST_ROWS
    more = f"; {left} more cells" if left > 0 else ""
    title = short_label(estimate.name, 70)
    axes.set_title(f"{title}{more}", fontsize="medium", loc="left")
    axes.set_xlabel("% of people" if scale > 1 else "estimate")
