"""The figure of a front: error against privacy, its lower bound, and Warner's scheme.

Made with matplotlib's objects alone, so nothing global is touched: `figure.savefig("front.svg")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from tacit.optimize.objectives import errors, privacies, unbeaten
from tacit.optimize.warner import Warner
from tacit.output.number_text import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tacit.optimize.fronts import Front
    from tacit.optimize.robustness import Robustness

_BLUE, _GREY, _RED = "#1f5fa8", "#6b6b6b", "#b3442c"


def plot_front(front: Front) -> Figure:
    """The figure; its axes are `figure.axes[0]`."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    marker = "o" if len(front) <= 60 else None
    name = f"{front.method}: {number_of(len(front), 'channel')}"
    axes.plot(front.privacy, front.mse, marker=marker, ms=3, lw=1.4, color=_BLUE, label=name)
    axes.plot(
        front.privacy, front.lower_bound, lw=1, ls=":", color=_GREY, label="lower bound (proved)"
    )
    if front.method != "Warner":
        problem = front.problem
        found = np.array(Warner(400).search(problem, lambda _: None).matrices)
        found = found.reshape(-1, problem.n, problem.n)
        values = privacies(found, problem.p)
        error = errors(found, problem.p, problem.n_records)
        kept = [i for i in unbeaten(values, error) if error[i] < 20 * front.mse.max()]
        if kept:
            axes.plot(values[kept], error[kept], lw=1, ls="--", color=_RED, label="Warner")
    _label(axes, front.caption())
    return figure


def _label(axes: Axes, caption: str) -> None:
    axes.set_yscale("log")
    axes.set_xlabel("privacy: how often the best guess from a report is wrong")
    axes.set_ylabel("mean squared error of the estimate")
    axes.set_title(caption, fontsize=9, loc="left", wrap=True)
    axes.grid(alpha=0.25, which="both", lw=0.5)
    axes.legend(frameon=False, fontsize=9)


def plot_robustness(found: Robustness, level: float) -> Figure:
    """The front as promised, with the range of what its channels really are."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    front, columns = found.front, found.columns(level)
    share = f"{100 * level:g} % of {number_of(len(found.priors), 'prior')}"
    middle = np.median(found.privacy, axis=0), np.median(found.mse, axis=0)
    sides = [
        np.abs(np.array([columns[f"{name}_low"], columns[f"{name}_high"]]) - at)
        for name, at in zip(("privacy", "mse"), middle, strict=True)
    ]
    axes.plot(front.privacy, front.mse, lw=1.4, color=_BLUE, label="as promised")
    axes.errorbar(
        *middle, xerr=sides[0], yerr=sides[1], fmt="o", ms=3, lw=0.8, color=_RED, label=share
    )
    _label(axes, found.caption())
    return figure
