"""The figure of a sensitivity curve, made with matplotlib's objects alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from tacit.compliance.sensitivity import SensitivityCurve


def plot_curve(curve: SensitivityCurve, level: float) -> Figure:
    """One line per category with its interval as a band; yes/no answers show the second only."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    columns = curve.columns(level)
    shape = curve.value.shape
    lower, upper = (np.reshape(columns[name], shape) for name in ("lower", "upper"))
    first = 1 if shape[1] == 2 else 0
    for place in range(first, shape[1]):
        label = str(curve.attribute.categories[place])
        (line,) = axes.plot(curve.shares, curve.value[:, place], lw=1.6, label=label)
        axes.fill_between(
            curve.shares, lower[:, place], upper[:, place], color=line.get_color(), alpha=0.15, lw=0
        )
    axes.set_xlabel(f"assumed {curve.share_name}")
    axes.set_ylabel(f"estimate with {100 * level:g} % interval")
    axes.set_title(curve.attribute.name, fontsize=9, loc="left")
    axes.set_ylim(0, None)
    axes.grid(alpha=0.25, lw=0.5)
    axes.legend(frameon=False, fontsize=9)
    return figure
