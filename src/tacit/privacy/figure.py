"""Figures of privacy, drawn without a display and without global state."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tacit.privacy.scopes import Scope

if TYPE_CHECKING:
    from tacit.privacy.comparison import Comparison

#: Told apart also without colour: by shape and by filling. Blue and vermilion of Okabe & Ito.
INK, GREY, BLUE, RED = "#222222", "#767676", "#0072b2", "#d55e00"
#: Attributes shown; more would not be read.
_SHOWN = 30


def guesses(attributes: Mapping[str, Scope], record: Scope) -> Figure:
    """For each attribute and the record: how often the best guess is right, of 100."""
    least = sorted(attributes, key=lambda name: -attributes[name].from_record.accuracy)[:_SHOWN]
    shown = [(name, scope) for name, scope in attributes.items() if name in set(least)]
    scopes = [*shown, *([("whole record", record)] if len(attributes) > 1 else [])]
    figure = Figure(figsize=(5.4, 1.7 + 0.36 * len(scopes)), layout="constrained")
    axes = figure.add_subplot()
    _mark(axes, scopes, len(shown))
    axes.set_yticks(range(len(scopes)), [_short(name) for name, _ in scopes])
    axes.set_ylim(len(scopes) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("best guess is right, in 100 cases")
    if len(shown) < len(attributes):
        axes.set_title(f"the {len(shown)} least private of {len(attributes)}", fontsize="medium")
    plain(axes, "x")
    figure.legend(loc="outside upper left", ncols=1, frameon=False)
    return figure


def _mark(axes: Axes, scopes: Sequence[tuple[str, Scope]], n_attributes: int) -> None:
    """Three marks a line; the record has no report beside its own."""
    places = range(len(scopes))
    before = [100 * s.from_record.largest_prior for _, s in scopes]
    alone = [100 * s.alone.accuracy for _, s in scopes[:n_attributes]]
    held = [100 * s.from_record.accuracy for _, s in scopes]
    ring: dict[str, Any] = {"facecolor": "white", "edgecolor": BLUE, "linewidth": 1.8}
    axes.hlines(places, before, held, color=GREY, linewidth=1, zorder=1)
    axes.scatter(before, places, marker="|", s=90, color=INK, label="without a report")
    axes.scatter(alone, range(n_attributes), s=40, label="with its own report", zorder=4, **ring)
    label = "with the whole reported record"
    axes.scatter(held, places, marker="D", s=40, color=RED, label=label, zorder=3)


def plain(axes: Axes, grid: Literal["x", "y", "both"]) -> None:
    """A light grid and no frame."""
    axes.grid(axis=grid, color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(left=False)


def _short(name: str) -> str:
    """A label that leaves room for the data, and is not read as mathematics."""
    text = name if len(name) <= 28 else name[:27] + "…"
    return text.replace("$", r"\$")


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
