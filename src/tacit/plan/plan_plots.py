"""Figures of plans, made with matplotlib's objects alone: `figure.savefig("plan.svg")`."""

from __future__ import annotations

import math
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tacit.output.number_text import number_of
from tacit.plan.coin_family import EPSILON

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tacit.plan.survey_plan import SurveyPlan
    from tacit.plan.tradeoff import Tradeoff, TradeoffPoint

#: Numbers of respondents on a curve, over this factor on either side of the planned one.
_POINTS, _FACTOR = 13, 8
#: Questions that get a curve of their own.
_MOST_CURVES = 8
#: Several families may be the same channel: dashes show the curve below.
_STYLES = ("-", "--", "-.", ":")


def plot_plan(found: SurveyPlan) -> Figure:
    """Half the width against respondents, a curve per question, and the bias of safe answers."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    around = found.n * np.geomspace(1 / _FACTOR, _FACTOR, _POINTS)
    numbers = sorted({max(1, round(each)) for each in around})
    for question in found.questions[:_MOST_CURVES]:
        name = question.attribute
        widths = [
            100 * found.requirements.expected_width(found.design, name, found.assumed, n)
            for n in numbers
        ]
        label = f"{name}: {question.coin}"
        (line,) = axes.plot(numbers, widths, lw=1.6, label=label)
        color = line.get_color()
        axes.plot([found.n], [100 * question.width], "o", ms=5, color=color)
        for bias in question.biases:
            if bias.carriers == 0.1:
                axes.axhline(100 * abs(bias.bias), lw=0.8, ls=":", color=color)
    _log_axis(axes, "x")
    _log_axis(axes, "y")
    axes.set_xlabel("respondents")
    axes.set_ylabel(f"half the width of a {100 * found.level:g} % interval, points of 100")
    title = f"{number_of(found.n, 'respondent')} planned; dotted: bias if 10 % of carriers deny"
    axes.set_title(title, fontsize=9, loc="left")
    axes.grid(alpha=0.25, lw=0.5, which="both")
    axes.legend(frameon=False, fontsize=9)
    return figure


def plot_tradeoff(found: Tradeoff) -> Figure:
    """Width or respondents against privacy; epsilon of a record if there are several questions."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    curves: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for point in found.points:
        height = float(point.respondents) if found.solved == "respondents" else 100 * point.width
        across = _privacy(found, point)
        curves.setdefault((point.candidate, point.groups), []).append((across, height))
    for (name, groups), marker, style in zip(curves, cycle("os^Dv<>P"), cycle(_STYLES)):
        label = name if found.questions == 1 else f"{name}, {number_of(groups, 'group')}"
        places = [place for place in curves[name, groups] if math.isfinite(place[0])]
        if not places:
            axes.plot([], [], label=f"{label}: epsilon is infinite")
            continue
        axes.plot(*zip(*sorted(places), strict=True), marker=marker, ms=4, ls=style, label=label)
    _log_axis(axes, "y")
    scope = "a record" if found.questions > 1 and found.figure == EPSILON else "an answer"
    name = found.figure.replace("_", " ")
    axes.set_xlabel(f"{name} of {scope}: further left is more private")
    confidence = f"{100 * found.level:g} % interval"
    shown = f"half the width of a {confidence}, points of 100"
    axes.set_ylabel("respondents" if found.solved == "respondents" else shown)
    axes.grid(alpha=0.25, lw=0.5, which="both")
    axes.legend(frameon=False, fontsize=9)
    return figure


def _privacy(found: Tradeoff, point: TradeoffPoint) -> float:
    if found.figure != EPSILON:
        return point.worst_posterior
    return point.record_epsilon if found.questions > 1 else point.epsilon


def _log_axis(axes: Axes, name: str) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5."""
    getattr(axes, f"set_{name}scale")("log")
    axis = getattr(axes, f"{name}axis")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())
