"""The figure of a regression: coefficients with their intervals, and a line at 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from tacit.output.plot_style import INK, short_label
from tacit.reconstruction.plot import MOST_ROWS, IntervalRows

if TYPE_CHECKING:
    from tacit.regression.coefficient_table import CoefficientTable


def plot_coefficients(fit: CoefficientTable, alpha: float) -> Figure:
    """A row per coefficient; rings where 0 is inside of the interval. Constants are left out."""
    places = [i for i, name in enumerate(fit.names) if not fit.is_constant(name)]
    shown = np.array((places or list(range(len(fit.names))))[:MOST_ROWS])
    limits, values = fit.conf_int(alpha)[shown], fit.values[shown]
    hollow = (limits[:, 0] <= 0) & (limits[:, 1] >= 0)
    names = [fit.names[i] for i in shown]
    figure = Figure(figsize=(6.4, 1.2 + 0.3 * len(shown)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8, zorder=2)
    IntervalRows(names, values, limits[:, 0], limits[:, 1], hollow).draw(axes, "")
    axes.set_title(short_label(fit.title.partition(" from ")[0], 70), fontsize="medium", loc="left")
    left = len(places) - len(shown)
    more = f"; {left} more are not shown" if left > 0 else ""
    axes.set_xlabel(f"estimate with {100 - 100 * alpha:g} % interval{more}")
    return figure
