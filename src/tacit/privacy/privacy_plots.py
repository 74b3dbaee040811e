"""Figures of privacy, drawn without a display and without global state."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tacit.output.plot_style import BLUE, GREY, INK, RED, plain, short_label

if TYPE_CHECKING:
    from tacit.privacy.comparison import Comparison
    from tacit.privacy.report import Report

#: Attributes shown; more would not be read.
_SHOWN = 30


def guesses(report: Report) -> Figure:
    """For each attribute and the record: how often the best guess is right, of 100."""
    names = list(report.attributes)
    least = sorted(names, key=lambda name: -_knowing_others(report, name))[:_SHOWN]
    shown = [name for name in names if name in set(least)]
    held = report.disclosure.record
    marked = held.accuracy is not None or held.limit is not None
    record = ["whole record"] if len(names) > 1 and marked else []
    figure = Figure(figsize=(5.4, 2.1 + 0.36 * len([*shown, *record])), layout="constrained")
    axes = figure.add_subplot()
    _mark(axes, report, shown)
    labels = [short_label(report.wording.question(name)) for name in shown]
    axes.set_yticks(range(len(shown) + len(record)), [*labels, *record])
    axes.set_ylim(len(shown) + len(record) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("best guess is right, in 100 cases")
    if len(shown) < len(names):
        axes.set_title(f"the {len(shown)} least private of {len(names)}", fontsize="medium")
    plain(axes, "x")
    figure.legend(loc="outside upper left", ncols=1, frameon=False)
    return figure


def _mark(axes: Axes, report: Report, shown: Sequence[str]) -> None:
    """A mark per adversary; none where a figure is not known."""
    places = range(len(shown))
    before = [report.attributes[n].alone.largest_prior for n in shown]
    alone = [report.attributes[n].alone.accuracy for n in shown]
    others = [_knowing_others(report, name, 0.0) for name in shown]
    held = [report.disclosure.attributes[n] for n in shown]
    if len(report.attributes) > 1:
        held.append(report.disclosure.record)
    ends = [max(a, o, h.accuracy or 0) for a, o, h in zip(alone, others, held, strict=False)]
    axes.hlines(places, _of_100(before), _of_100(ends), color=GREY, linewidth=1, zorder=1)
    axes.scatter(_of_100(before), places, marker="|", s=90, color=INK, label="without a report")
    ring: dict[str, Any] = {"facecolor": "none", "edgecolor": BLUE, "linewidth": 1.8}
    axes.scatter(_of_100(alone), places, s=60, label="its own report", zorder=5, **ring)
    known = [(i, h.accuracy) for i, h in enumerate(held) if h.accuracy is not None]
    _scatter(axes, known, "the whole reported record", marker="D", s=40, color=RED, zorder=3)
    bounds = [(i, h.limit) for i, h in enumerate(held) if h.limit is not None]
    label = "the whole record, at most (any dependence)"
    _scatter(axes, bounds, label, marker=4, s=50, color=GREY, zorder=2)
    label = "the other true answers known"
    told = [(i, share) for i, share in enumerate(others) if share]
    _scatter(axes, told, label, marker="^", s=34, color=INK, zorder=4)


def _knowing_others(report: Report, name: str, missing: float = 1.0) -> float:
    """How often a guess is right if the other true answers are known, or `missing`."""
    known = report.knowing_others[name]
    return missing if known is None else known.accuracy


def _scatter(axes: Axes, points: Sequence[tuple[int, float]], label: str, **style: Any) -> None:
    """Marks at (line, share), with one entry in the legend if there are any."""
    if points:
        places, shares = zip(*points, strict=True)
        axes.scatter(_of_100(shares), places, label=label, **style)


def _of_100(shares: Sequence[float]) -> list[float]:
    return [100 * share for share in shares]


def svg(figure: Figure) -> str:
    """The figure as an SVG element, text as text, the same every time."""
    stream = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.family": "sans-serif"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def content(figure: Figure, suffix: str) -> bytes:
    """The figure as what goes in a file of this suffix: .svg, or one that matplotlib knows."""
    if suffix.lower() == ".svg":
        return svg(figure).encode()
    stream = io.BytesIO()
    figure.savefig(stream, format=suffix[1:].lower(), dpi=150, metadata={"Software": None})
    return stream.getvalue()


def curves(comparison: Comparison) -> Figure:
    """PSE of an attribute and MAP privacy of a record over theta, a line a scheme."""
    keys = list(dict.fromkeys((p.scheme, p.groups) for p in comparison.points))
    schemes = list(dict.fromkeys(scheme for scheme, _ in keys))
    most = max(groups for _, groups in keys)
    figure = Figure(figsize=(8.4, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    for scheme, groups in keys:
        colour = (BLUE, RED, INK, GREY)[schemes.index(scheme) % 4]
        style: dict[str, Any] = {
            "color": colour,
            "marker": "o^sDv*PX"[(groups - 1) % 8],
            "markersize": 4,
        }
        light = 0.35 + 0.65 * groups / most
        label = f"{scheme}, {groups} {'group' if groups == 1 else 'groups'}"
        right.plot(
            *comparison.curve(scheme, groups, "map_record"), label=label, alpha=light, **style
        )
        if groups == min(g for s, g in keys if s == scheme):
            left.plot(*comparison.curve(scheme, groups, "pse"), **style)
    left.set_title("one answer: PSE, any grouping")
    right.set_title("whole record: MAP privacy")
    for axes in (left, right):
        axes.set_xlabel("theta")
        axes.set_ylim(bottom=0)
        plain(axes, "both")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    return figure
