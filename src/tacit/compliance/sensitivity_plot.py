"""The figure of a sensitivity curve, made with matplotlib's objects alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from tacit.output.plot_style import BLUE, GREY, INK, RED, plain, short_label

if TYPE_CHECKING:
    from tacit.compliance.sensitivity import SensitivityCurve

_COLOURS, _LINES = (INK, BLUE, RED, GREY), ("-", "--", "-.", ":")


def plot_curve(curve: SensitivityCurve, level: float) -> Figure:
    """One line per category with its interval as a band; yes/no answers show the second only."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    columns = curve.columns(level)
    shape = curve.value.shape
    lower, upper = (np.reshape(columns[name], shape) for name in ("lower", "upper"))
    first = 1 if shape[1] == 2 else 0
    for place in range(first, shape[1]):
        label = short_label(str(curve.attribute.categories[place]))
        style: dict[str, Any] = {"color": _COLOURS[place % 4], "ls": _LINES[place // 4 % 4]}
        axes.plot(100 * curve.shares, 100 * curve.value[:, place], lw=1.6, label=label, **style)
        band = 100 * lower[:, place], 100 * upper[:, place]
        axes.fill_between(100 * curve.shares, *band, color=style["color"], alpha=0.15, lw=0)
    axes.set_xlabel(f"assumed {curve.share_name}, %")
    axes.set_ylabel(f"% of people, with {100 * level:g} % interval")
    axes.set_title(short_label(curve.attribute.name, 70), fontsize="medium", loc="left")
    axes.set_ylim(0, None)
    plain(axes, "both")
    axes.legend(frameon=False, fontsize="small")
    return figure
