"""How figures look, and the files they become. Figures are drawn without global state."""

from __future__ import annotations

import io
from typing import Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

#: Told apart also without colour: by shape and by filling. Blue and vermilion of Okabe & Ito.
INK, GREY, BLUE, RED = "#222222", "#767676", "#0072b2", "#d55e00"
#: Bars behind marks, and the grid.
PALE = "#dddddd"


def plain(axes: Axes, grid: Literal["x", "y", "both"]) -> None:
    """A light grid and no frame."""
    axes.grid(axis=grid, color=PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(left=False)


def curve_figure(across: str, up: str, title: str = "") -> tuple[Figure, Axes]:
    """A figure of curves with named axes, still empty."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title, fontsize=9, loc="left", wrap=True)
    axes.grid(alpha=0.25, which="both", lw=0.5)
    return figure, axes


def log_axis(axes: Axes, name: Literal["x", "y"]) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5."""
    axes.set(**{f"{name}scale": "log"})
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def short_label(name: str, most: int = 28) -> str:
    """Both ends of a long label, so that there is room for the data."""
    if len(name) <= most:
        return not_mathematics(name)
    first, last = most * 17 // 28, most // 2
    text = f"{name[:first].rsplit(' ', 1)[0]}… {name[-last:].split(' ', 1)[-1]}"
    return not_mathematics(text)


def not_mathematics(text: str) -> str:
    """Text that matplotlib does not read as mathematics."""
    return text.replace("$", r"\$")


def svg(figure: Figure) -> str:
    """The figure as an SVG element, text as text, the same every time."""
    stream = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.family": "sans-serif"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def figure_bytes(figure: Figure, suffix: str) -> bytes:
    """The figure as what goes in a file of this suffix: .svg, or one that matplotlib knows."""
    if suffix.lower() == ".svg":
        return svg(figure).encode()
    stream = io.BytesIO()
    figure.savefig(stream, format=suffix[1:].lower(), dpi=150, metadata={"Software": None})
    return stream.getvalue()
