"""Charts as matplotlib figures, without global state."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tacit.reproduce.section import NO_ESTIMATE, Chart, Curve

#: Colours that are distinct for colour-blind readers (Okabe & Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7b5ea7", "#6b6b6b")
MARKERS = "os^Dv"
#: Small enough to be readable on a phone.
SIZE = (5.0, 3.7)


def draw(chart: Chart) -> Figure:
    """The figure of a chart; it marks places where no estimate exists."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for one in chart.curves:
        _draw(axes, one)
    if chart.level is not None:
        name, height = chart.level
        axes.axhline(height, color="#999999", lw=0.8, ls=":", label=name)
    for place in sorted({x for one in chart.curves for x in _unknown(one)}):
        axes.axvline(place, color="#999999", lw=0.8, ls=(0, (1, 3)))
        axes.text(
            place, 0.02, f" {NO_ESTIMATE}", rotation=90, fontsize=7, color="#666666",
            transform=axes.get_xaxis_transform(), va="bottom", ha="left",
        )  # fmt: skip
    if chart.log:
        axes.set_yscale("log")
    if all(float(x).is_integer() for one in chart.curves for x in one.x):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def _draw(axes: object, one: Curve) -> None:
    values = [float("nan") if y is None else y for y in one.y]
    axes.plot(  # type: ignore[attr-defined]
        one.x,
        values,
        color=COLOURS[one.colour % len(COLOURS)],
        marker=MARKERS[one.colour % len(MARKERS)] if one.marks else None,
        ms=3.5,
        lw=1.4,
        ls="--" if one.dashed else "-",
        label=one.label,
    )


def _unknown(one: Curve) -> list[float]:
    return [x for x, y in zip(one.x, one.y, strict=True) if y is None]
